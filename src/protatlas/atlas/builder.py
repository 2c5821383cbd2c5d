"""From FASTA files to an atlas, in stages, finished by one rename.

The stages are read, deduplicate, domains, annotate, encode (with the features), cluster, structures, index (with the
tables and the labels of clusters) and check. All work is done in `NAME.atlas.partial`, in chunks
(`protatlas.atlas.scratch`): a build that was killed goes on with what is there, and the old atlas stays until the new
one is whole.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from filelock import FileLock

from protatlas import __version__
from protatlas.atlas import format as layout
from protatlas.atlas.annotating import annotate_chunks, find_domains
from protatlas.atlas.clustering import Int1D, cluster_by_features, cluster_by_identity
from protatlas.atlas.encoding import active_features, encode_chunks
from protatlas.atlas.indexing import Counts, check_atlas, write_atlas
from protatlas.atlas.ingest import PROTEINS, Report, deduplicate, read_records
from protatlas.atlas.plan import BuildPlan, Progress
from protatlas.atlas.scratch import Scratch, threads
from protatlas.atlas.structuring import store_structures
from protatlas.atlas.tables import VectorTable, read_proteins_table
from protatlas.engines.domains import DomainScanner
from protatlas.engines.encoders import Encoder
from protatlas.engines.features import FeatureSet
from protatlas.errors import InvalidInput, ProtatlasError
from protatlas.records import Protein
from protatlas.restrictions import Restrictions
from protatlas.structures.coordinates import StructureArchive, check_archive

OWNERS = "owners"


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
    if plan.restricted:
        Restrictions.read(plan.restricted)
    if plan.structures and not plan.structures.is_dir():
        check_archive(plan.structures)
    try:
        plan.output.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(plan.output.with_name(plan.output.name + ".lock")):
            old = _old_atlas(plan, encoder, features)
            return _Build(plan, old, encoder, features, progress).run()
    except ProtatlasError:
        raise
    except OSError as error:
        expected = "a folder that can be written, with room for the atlas; a repeated build goes on where it was"
        raise InvalidInput("output", f"{plan.output} cannot be written ({error})", expected) from error


def _old_atlas(plan: BuildPlan, encoder: Encoder, features: FeatureSet) -> layout.Manifest | None:
    """Manifest of the atlas that the plan adds to, null where it begins a new one."""
    if not plan.update:
        if plan.output.exists() and not plan.overwrite:
            raise InvalidInput("output", f"{plan.output} exists", "a new path, --overwrite to replace it, or --update")
        return None
    old = layout.read_manifest(plan.output)
    if (old.encoder, old.features) != (encoder.id, features.sae.id):
        found = (
            f"{plan.output} was built by {old.encoder} and {old.features}, not by {encoder.id} and {features.sae.id}"
        )
        raise InvalidInput("update", found, "the models that built it, or a new atlas from all files")
    if (old.with_domains is not None) != plan.has_domains:
        found = (
            f"{plan.output} was built with{'out' if old.with_domains is None else ''} domains, the new files are not"
        )
        raise InvalidInput("update", found, "the same choice of --pfam or --domains as for the old atlas")
    return old


@dataclass
class _Build:
    """One build: every method is a stage that finds its earlier chunks again."""

    plan: BuildPlan
    old: layout.Manifest | None
    encoder: Encoder
    features: FeatureSet
    progress: Progress

    def run(self) -> tuple[layout.Manifest, Report]:
        """All stages, in order."""
        report = self._read()
        chunks = self.scratch.chunks_of(report.proteins)
        families = self._domains(chunks, report)
        annotate_chunks(self.scratch, chunks, self.plan, progress=self._chunks("annotate", report))
        self._encode(chunks, report)
        keys = [protein.key for protein in self.scratch.each_protein(PROTEINS, chunks)]
        owners = self._cluster(chunks, keys)
        report = self._store_structures(chunks, report)
        atlas = self.scratch.folder / "atlas"
        shutil.rmtree(atlas, ignore_errors=True)
        counts = write_atlas(
            atlas,
            self.scratch,
            chunks,
            owners,
            keys=keys,
            features=self.features,
            embedding_width=self.encoder.embedding_width,
            has_domains=self.plan.has_domains,
            progress=lambda done: self.progress("index", done, report.proteins),
        )
        self.progress("check", 0, 1)
        if structures := self._structures:
            shutil.copyfile(structures, atlas / layout.STRUCTURES)
        if restricted := self._restricted:
            (atlas / layout.RESTRICTED).write_text(restricted, encoding="utf-8")
        (atlas / layout.REPORT).write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
        check_atlas(atlas, counts, keys)
        manifest = self._manifest(atlas, counts, families, keys)
        layout.write_manifest(atlas, manifest)
        _publish(atlas, self.plan.output)
        shutil.rmtree(self.scratch.folder)
        self.progress("check", 1, 1)
        return manifest, report

    @cached_property
    def sources(self) -> tuple[layout.Source, ...]:
        """Every input file; those of the old atlas first."""
        return (*(self.old.sources if self.old else ()), *self.plan.sources())

    @cached_property
    def scratch(self) -> Scratch:
        """Folder of the unfinished build; emptied unless it was begun from the same files by the same models."""
        folder = self.plan.output.with_name(self.plan.output.name + ".partial")
        begun_from = json.dumps(
            {
                "models": [self.features.sae.encoder_id, self.features.sae.id],
                "choices": [self.plan.strict, self.plan.taxonomy, self.plan.clusters],
                "old": self.old and self.old.version,
                "files": [source.sha256 for source in self.sources],
            }
        )
        note = folder / "begun_from.json"
        if not note.is_file() or note.read_text(encoding="utf-8") != begun_from:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            note.write_text(begun_from, encoding="utf-8")
        return Scratch(folder)

    @cached_property
    def _structures(self) -> Path | None:
        """Archive of coordinates: that of the plan, or made of its folder, else that of the old atlas."""
        if self._structure_folder:
            return self.scratch.folder / layout.STRUCTURES
        return self.plan.structures or self._old_structures

    @cached_property
    def _old_structures(self) -> Path | None:
        old = self.plan.output / layout.STRUCTURES
        return old if self.old and old.is_file() else None

    @cached_property
    def _structure_folder(self) -> Path | None:
        return self.plan.structures if self.plan.structures and self.plan.structures.is_dir() else None

    def _store_structures(self, chunks: int, report: Report) -> Report:
        """Make the archive of the folder of coordinates, where there is one; report with the account of its files."""
        if self._structure_folder is None:
            return report
        progress = partial(self.progress, "structures")
        found = store_structures(
            self.scratch, chunks, self._structure_folder, base=self._old_structures, progress=progress
        )
        return report.model_copy(update={"structures": found})

    @cached_property
    def _restricted(self) -> str:
        """Entries of the old atlas and of the plan that nobody is shown, one a line; empty where there are none."""
        old = self.plan.output / layout.RESTRICTED
        lists = [old if self.old and old.is_file() else None, self.plan.restricted]
        return "".join(f"{entry}\n" for path in lists if path for entry in Restrictions.read(path).entries)

    def _read(self) -> Report:
        known: Iterator[Protein] = read_proteins_table(self.plan.output / layout.TABLES) if self.old else iter(())
        try:
            read = read_records(
                self.plan.fasta,
                self.scratch,
                known=known,
                strict=self.plan.strict,
                progress=lambda done: self.progress("read", done, None),
            )
        except InvalidInput:
            shutil.rmtree(self.scratch.folder)
            raise
        self.progress("read", read.written, read.written)
        return deduplicate(self.scratch, read, progress=lambda done: self.progress("deduplicate", done, read.written))

    def _domains(self, chunks: int, report: Report) -> int | None:
        """Find the domains; the number of families looked for, where it is known."""
        if self.plan.pfam is None:
            return self.plan.domain_families or (self.old.domain_families if self.old else None)
        scanner = DomainScanner(self.plan.pfam, cpus=threads())
        progress = self._chunks("domains", report)
        find_domains(self.scratch, chunks, scanner, from_atlas=report.from_atlas, progress=progress)
        return scanner.families

    def _encode(self, chunks: int, report: Report) -> None:
        known = VectorTable(self.plan.output / layout.TABLES) if self.old else None
        encode_chunks(
            self.scratch,
            chunks,
            stage=PROTEINS,
            encoder=self.encoder,
            features=self.features,
            known=known.get if known else lambda _: None,
            progress=self._chunks("encode", report),
        )

    def _cluster(self, chunks: int, keys: Sequence[str]) -> Int1D:
        self.progress("cluster", 0, 1)
        if not self.scratch.has(OWNERS, 0):
            if self.plan.clusters == "identity":
                pairs = ((protein.key, protein.sequence) for protein in self.scratch.each_protein(PROTEINS, chunks))
                owners = cluster_by_identity(pairs, self.scratch.folder / "linclust")
            else:
                owners = cluster_by_features(active_features(self.scratch, chunks, self.features), keys)
            self.scratch.write_arrays(OWNERS, 0, {OWNERS: owners})
        self.progress("cluster", 1, 1)
        return (self.scratch.arrays(OWNERS, 0) or {})[OWNERS].astype(np.int64, copy=False)

    def _chunks(self, stage: str, report: Report) -> Callable[[int], None]:
        """Progress of a stage in proteins, told in chunks."""
        return partial(_told, self.progress, stage, self.scratch.chunk, report.proteins)

    def _manifest(self, atlas: Path, counts: Counts, families: int | None, keys: Sequence[str]) -> layout.Manifest:
        return layout.Manifest(
            format_version=layout.FORMAT_VERSION,
            protatlas_version=__version__,
            name=self.plan.name,
            built=datetime.now(UTC),
            proteins=counts.proteins,
            clusters=counts.clusters,
            residues=counts.residues,
            with_domains=counts.with_domains if self.plan.has_domains else None,
            domain_families=families,
            with_lineage=counts.with_lineage,
            unknown_taxa=counts.unknown_taxa,
            structures=_stored(self._structures, keys),
            encoder=self.encoder.id,
            features=self.features.sae.id,
            embedding_width=self.encoder.embedding_width,
            feature_count=self.features.sae.size,
            clustering=self.plan.clusters,
            sources=self.sources,
            files=layout.checksums(atlas),
        )


def _told(progress: Progress, stage: str, chunk: int, proteins: int, done: int) -> None:
    progress(stage, min(done * chunk, proteins), proteins)


def _stored(structures: Path | None, keys: Sequence[str]) -> int:
    """Number of proteins that the archive has coordinates for."""
    if structures is None:
        return 0
    stored = StructureArchive(structures).records
    return sum(key in stored for key in keys)


def _publish(atlas: Path, output: Path) -> None:
    """Put the finished atlas in its place; an old one there is moved away first and removed last."""
    old = output.with_name(output.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if output.exists():
        output.rename(old)
    atlas.rename(output)
    shutil.rmtree(old, ignore_errors=True)
