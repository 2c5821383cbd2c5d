"""From FASTA files to an atlas, in stages, finished by one rename.

The stages are read, annotate, encode, cluster, index, write. All work is done in `NAME.atlas.partial`; a build that
was killed goes on there with the chunks that it had encoded, and the old atlas stays until the new one is whole.
"""

import json
import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
from filelock import FileLock

from protatlas import __version__
from protatlas.atlas import annotations, taxonomy
from protatlas.atlas import format as layout
from protatlas.atlas.clustering import cluster_by_features
from protatlas.atlas.encoding import EncodedProteins, encode_proteins
from protatlas.atlas.ingest import Report, read_proteins
from protatlas.atlas.plan import BuildPlan, Progress
from protatlas.atlas.points import payload_of
from protatlas.atlas.store import EdgeStore, Point
from protatlas.atlas.summaries import summarise
from protatlas.atlas.tables import write_tables
from protatlas.engines.domains import DomainScanner
from protatlas.engines.encoders import Encoder
from protatlas.engines.features import FeatureSet
from protatlas.errors import InvalidInput, ProtatlasError
from protatlas.records import Cluster, Domain, Protein
from protatlas.structures.coordinates import StructureArchive

POINTS_AT_ONCE = 1_000


def build_atlas(
    plan: BuildPlan, *, encoder: Encoder, features: FeatureSet, progress: Progress
) -> tuple[layout.Manifest, Report]:
    """Build the atlas of a plan; its manifest and the account of the records read.

    Two processes that build the same atlas take turns.

    Raises
    ------
    InvalidInput
        If an input cannot be read, the output exists and may not be replaced, or cannot be written; `NothingKept` if no
        record is a protein, `ProblemFound` if the plan is strict and one has a problem.
    """
    features.check_encoder(encoder)
    try:
        plan.output.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(plan.output.with_name(plan.output.name + ".lock")):
            if plan.output.exists() and not plan.overwrite:
                raise InvalidInput("output", f"{plan.output} exists", "a new path, or --overwrite to replace it")
            return _build(plan, encoder, features, progress)
    except ProtatlasError:
        raise
    except OSError as error:
        expected = "a folder that can be written, with room for the atlas; a repeated build goes on where it was"
        raise InvalidInput("output", f"{plan.output} cannot be written ({error})", expected) from error


def _build(
    plan: BuildPlan, encoder: Encoder, features: FeatureSet, progress: Progress
) -> tuple[layout.Manifest, Report]:
    sources = plan.sources()
    progress("read", 0, 1)
    proteins, report = read_proteins(plan.fasta, strict=plan.strict)
    if plan.secondary:
        proteins = annotations.with_secondary(proteins, annotations.read_secondary(plan.secondary))
    scratch = _scratch(plan, sources, features)
    progress("read", 1, 1)
    scanner = DomainScanner(plan.pfam) if plan.pfam else None
    proteins = _annotated(plan, proteins, scanner, progress)
    encoded = encode_proteins(
        [protein.sequence for protein in proteins],
        encoder=encoder,
        features=features,
        folder=scratch / "encoded",
        progress=lambda done: progress("encode", done, len(proteins)),
    )
    progress("cluster", 0, 1)
    owners = cluster_by_features(encoded.active, [protein.key for protein in proteins])
    clusters = _clusters(proteins, owners, has_domains=bool(plan.domains or plan.pfam))
    progress("cluster", 1, 1)
    atlas = scratch / "atlas"
    shutil.rmtree(atlas, ignore_errors=True)
    _index(atlas, proteins, owners, clusters, encoded, progress)
    progress("write", 0, 1)
    _write_files(atlas, plan, proteins, owners, clusters, features, report)
    families = scanner.families if scanner else plan.domain_families
    manifest = _manifest(plan, proteins, clusters, encoder, features, sources, families)
    layout.write_manifest(atlas, manifest)
    _publish(atlas, plan.output)
    shutil.rmtree(scratch)
    progress("write", 1, 1)
    return manifest, report


def _scratch(plan: BuildPlan, sources: Sequence[layout.Source], features: FeatureSet) -> Path:
    """Folder of the unfinished build; emptied unless it was begun from the same files by the same models."""
    scratch = plan.output.with_name(plan.output.name + ".partial")
    begun_from = json.dumps([features.sae.encoder_id, features.sae.id, *(source.sha256 for source in sources)])
    note = scratch / "begun_from.json"
    if not note.is_file() or note.read_text(encoding="utf-8") != begun_from:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        note.write_text(begun_from, encoding="utf-8")
    return scratch


def _annotated(
    plan: BuildPlan, proteins: list[Protein], scanner: DomainScanner | None, progress: Progress
) -> list[Protein]:
    """Proteins with the domains, GO terms and lineages of the plan."""
    domains = annotations.read_domains(plan.domains) if plan.domains else {}
    if scanner:
        domains = domains | dict(_scanned(scanner, proteins, progress))
    return annotations.annotate(
        proteins,
        domains=domains,
        go=annotations.read_go(plan.go) if plan.go else {},
        lineages=taxonomy.read_lineages(plan.lineages) if plan.lineages else {},
        taxon_ids=taxonomy.read_taxon_ids(plan.lineages) if plan.lineages else {},
    )


def _scanned(
    scanner: DomainScanner, proteins: list[Protein], progress: Progress
) -> Iterator[tuple[str, tuple[Domain, ...]]]:
    """Domains of each protein by its key."""
    found = scanner.scan((protein.key, protein.sequence) for protein in proteins)
    for done, (key, domains) in enumerate(found, start=1):
        progress("domains", done, len(proteins))
        yield key, domains


def _clusters(proteins: Sequence[Protein], owners: npt.NDArray[np.int64], *, has_domains: bool) -> dict[int, Cluster]:
    """Cluster by the row of its representative."""
    members: dict[int, list[Protein]] = defaultdict(list)
    for protein, owner in zip(proteins, owners.tolist(), strict=True):
        members[owner].append(protein)
    return {owner: summarise(proteins[owner], found, has_domains=has_domains) for owner, found in members.items()}


def _index(
    atlas: Path,
    proteins: Sequence[Protein],
    owners: npt.NDArray[np.int64],
    clusters: dict[int, Cluster],
    encoded: EncodedProteins,
    progress: Progress,
) -> None:
    """Write the store: all proteins, the representatives with their vectors."""
    store = EdgeStore.create(atlas / layout.STORE, embedding_width=encoded.embeddings.shape[1])
    for start in range(0, len(proteins), POINTS_AT_ONCE):
        rows = range(start, min(start + POINTS_AT_ONCE, len(proteins)))
        store.add(_points(rows, proteins, owners, clusters, encoded))
        progress("index", rows.stop, len(proteins))
    store.finish()
    store.close()


def _points(
    rows: Iterable[int],
    proteins: Sequence[Protein],
    owners: npt.NDArray[np.int64],
    clusters: dict[int, Cluster],
    encoded: EncodedProteins,
) -> Iterator[Point]:
    for row in rows:
        cluster = clusters.get(row)
        payload = payload_of(proteins[row], position=row, representative=proteins[owners[row]].key, cluster=cluster)
        if cluster:
            payload["profile_norm"] = encoded.norm(row)
            yield Point(proteins[row].key, payload, encoded.embeddings[row], encoded.features(row))
        else:
            yield Point(proteins[row].key, payload)


def _write_files(
    atlas: Path,
    plan: BuildPlan,
    proteins: Sequence[Protein],
    owners: npt.NDArray[np.int64],
    clusters: dict[int, Cluster],
    features: FeatureSet,
    report: Report,
) -> None:
    """Write the tables, the sequences by key, the structures and the report."""
    write_tables(
        atlas / layout.TABLES,
        proteins=proteins,
        representatives=[proteins[owner].key for owner in owners.tolist()],
        clusters=list(clusters.values()),
        features=features.table,
    )
    with (atlas / layout.SEQUENCES).open("w", encoding="ascii") as stream:
        stream.writelines(f">{protein.key}\n{protein.sequence}\n" for protein in proteins)
    if plan.structures:
        shutil.copyfile(plan.structures, atlas / layout.STRUCTURES)
    (atlas / layout.REPORT).write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _manifest(
    plan: BuildPlan,
    proteins: Sequence[Protein],
    clusters: dict[int, Cluster],
    encoder: Encoder,
    features: FeatureSet,
    sources: tuple[layout.Source, ...],
    domain_families: int | None,
) -> layout.Manifest:
    has_domains = bool(plan.domains or plan.pfam)
    return layout.Manifest(
        format_version=layout.FORMAT_VERSION,
        protatlas_version=__version__,
        name=plan.name,
        built=datetime.now(UTC),
        proteins=len(proteins),
        clusters=len(clusters),
        residues=sum(len(protein.sequence) for protein in proteins),
        with_domains=sum(bool(protein.domains) for protein in proteins) if has_domains else None,
        domain_families=domain_families,
        with_lineage=sum(bool(protein.lineage) for protein in proteins),
        structures=_stored(plan.structures, proteins),
        encoder=encoder.id,
        features=features.sae.id,
        embedding_width=encoder.embedding_width,
        feature_count=features.sae.size,
        sources=sources,
    )


def _stored(structures: Path | None, proteins: Sequence[Protein]) -> int:
    """Number of proteins that the archive has coordinates for."""
    if structures is None:
        return 0
    stored = StructureArchive(structures).records
    return sum(protein.key in stored for protein in proteins)


def _publish(atlas: Path, output: Path) -> None:
    """Put the finished atlas in its place; an old one there is moved away first and removed last."""
    old = output.with_name(output.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if output.exists():
        output.rename(old)
    atlas.rename(output)
    shutil.rmtree(old, ignore_errors=True)
