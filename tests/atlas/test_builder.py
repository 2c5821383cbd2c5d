import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from protatlas.app import App
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.format import Manifest
from protatlas.atlas.ingest import Report
from protatlas.atlas.plan import BuildPlan
from protatlas.atlas.reader import Atlas
from protatlas.atlas.store import SparseVector
from protatlas.engines.features import Ranking
from protatlas.errors import AtlasDamaged, DependencyUnavailable, InvalidInput
from protatlas.records import protein_hash
from protatlas.tools.proteins import SearchArguments, search_uniprot
from tests.known_proteins import HBB, UBIQUITIN

SHORT = "MKTAYIAK"


def _build(models: App, folder: Path, text: str, **more: object) -> tuple[Path, Manifest, Report]:
    fasta = folder / "proteins.fasta"
    fasta.write_text(text, encoding="utf-8")
    plan = BuildPlan(fasta=(fasta,), output=folder / "own.atlas", name="own", **more)  # type: ignore[arg-type]  # passed on
    manifest, report = build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)
    return plan.output, manifest, report


def test_every_record_is_accounted_for_and_equal_sequences_are_one_protein(models: App, tmp_path: Path) -> None:
    same = f">hbb_1\n{HBB}\n>hbb_2\n{HBB}\n>hbb_lower\n{HBB.lower()}\n>hbb_1\n{HBB}\n"

    path, manifest, report = _build(models, tmp_path, f"{same}>ubq\n{UBIQUITIN}\n>empty\n>short\n{SHORT}\n")

    assert (report.records_read, report.proteins, report.exact_duplicates, report.merged_sequences) == (7, 3, 1, 2)
    assert [(skip.identifier, skip.line) for skip in report.skipped] == [("empty", 11)]
    assert manifest.proteins == 3
    assert json.loads((path / "report.json").read_text(encoding="utf-8"))["records_read"] == 7
    atlas = Atlas.open(path)
    assert {atlas.by_identifier(name)[0].sequence for name in ("hbb_1", "hbb_2", "HBB_LOWER")} == {HBB}


def test_every_record_of_a_sequence_is_found_by_its_own_names(models: App, tmp_path: Path) -> None:
    first = ">sp|P68871|HBB_HUMAN Hemoglobin subunit beta OS=Homo sapiens OX=9606 GN=HBB"
    second = ">sp|P68872|HBB_PANPA Hemoglobin beta chain OS=Pan paniscus OX=9597 GN=HBX"

    path, _, _ = _build(models, tmp_path, f"{first}\n{HBB}\n{second}\n{HBB}\n")

    app = App()
    app.open(path)
    for query in ("P68872", "gene:HBX", "organism_id:9597", 'organism_name:"Pan paniscus"', "HBB_PANPA"):
        (found,) = search_uniprot(app, SearchArguments(query=query)).proteins
        assert found.sequence == HBB
        assert {found.accession, *found.same_sequence} == {"P68871", "P68872"}
    (asked,) = search_uniprot(app, SearchArguments(query="P68872")).proteins
    assert (asked.accession, asked.organism, asked.organism_id) == ("P68872", "Pan paniscus", 9597)


def test_cluster_sizes_add_up_to_the_proteins(models: App, tmp_path: Path) -> None:
    variants = "".join(f">v{row}\n{HBB[:row]}A{HBB[row + 1 :]}\n" for row in range(20, 60, 4))

    path, manifest, _ = _build(models, tmp_path, f"{variants}>ubq\n{UBIQUITIN}\n>short\n{SHORT}\n")

    clusters = pq.read_table(path / "tables" / "clusters.parquet").to_pylist()
    proteins = pq.read_table(path / "tables" / "proteins.parquet").to_pylist()
    assert sum(cluster["size"] for cluster in clusters) == manifest.proteins == 12
    assert len(clusters) == manifest.clusters < 12
    for cluster in clusters:
        members = [protein for protein in proteins if protein["cluster"] == cluster["representative"]]
        assert len(members) == cluster["size"]


def test_an_identifier_of_two_sequences_keeps_both_and_is_reported(models: App, tmp_path: Path) -> None:
    path, _, report = _build(models, tmp_path, f">PK1\n{HBB}\n>PK1\n{UBIQUITIN}\n")

    assert [conflict.identifier for conflict in report.conflicts] == ["PK1"]
    assert set(report.conflicts[0].protein_hashes) == {protein_hash(HBB), protein_hash(UBIQUITIN)}
    assert {protein.sequence for protein in Atlas.open(path).by_identifier("PK1")} == {HBB, UBIQUITIN}


def test_identifiers_are_never_file_names(models: App, tmp_path: Path) -> None:
    names = ("../../escape", "/etc/passwd", "CON", "a/b\\c", "..", "x" * 5000, "-rf", "$(touch pwned)", "a b")
    text = "".join(f">{name}\n{HBB[row:]}\n" for row, name in enumerate(names))

    path, manifest, _ = _build(models, tmp_path, text)

    assert manifest.proteins == len(names)
    atlas = Atlas.open(path)
    assert all(atlas.by_identifier(name.split()[0]) for name in names)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["own.atlas", "own.atlas.lock", "proteins.fasta"]


def test_what_was_changed_in_a_record_is_counted_and_kept(models: App, tmp_path: Path) -> None:
    masked = UBIQUITIN[:40] + UBIQUITIN[40:].lower()

    path, _, report = _build(models, tmp_path, f">a\n{HBB}*\n>b\n{HBB[:30]}-{HBB[30:]}*\n>c\n{masked}\n")

    stop, gaps = "the final stop '*' was dropped", "gap characters were dropped; positions count residues"
    mask = "lower-case residues (a soft mask) were read as upper case"
    assert report.notes == {stop: 2, gaps: 1, mask: 1}
    table = {row["accessions"][0]: row for row in pq.read_table(path / "tables" / "proteins.parquet").to_pylist()}
    assert (table["a"]["notes"], table["a"]["soft_masked"]) == ([stop], False)
    assert (table["c"]["notes"], table["c"]["soft_masked"]) == ([mask], True)


def test_an_atlas_without_domains_says_unknown_and_not_zero(models: App, tmp_path: Path) -> None:
    path, manifest, _ = _build(models, tmp_path, f">hbb\n{HBB}\n")
    atlas = Atlas.open(path)
    found = atlas.cluster(protein_hash(HBB))
    assert found is not None
    embedding = models.encoder.encode(HBB).embedding
    features = SparseVector(np.array([1], np.int32), np.array([1.0], np.float32))

    assert manifest.with_domains is None
    assert found[1].pct_characterized is None
    with pytest.raises(DependencyUnavailable, match="--pfam"):
        atlas.similar_clusters(HBB, embedding, features, ranking=Ranking(1, 0), uncharacterized=True, limit=1)


class _KilledError(Exception):
    """Stands for a kill in the middle of a stage."""


@pytest.mark.parametrize("killed", ["read", "deduplicate", "annotate", "encode", "cluster", "index", "check"])
def test_a_killed_build_leaves_no_atlas_and_the_next_one_finishes_it(models: App, tmp_path: Path, killed: str) -> None:
    fasta = tmp_path / "proteins.fasta"
    fasta.write_text("".join(f">v{row}\n{HBB[row:]}\n" for row in range(40)), encoding="utf-8")
    plan = BuildPlan(fasta=(fasta,), output=tmp_path / "own.atlas", name="own")

    def kill(stage: str, done: int, total: int | None) -> None:  # noqa: ARG001 - the form that a builder calls
        if stage == killed:
            raise _KilledError

    with pytest.raises(_KilledError):
        build_atlas(plan, encoder=models.encoder, features=models.features, progress=kill)
    left = plan.output.exists()
    manifest, _ = build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)

    assert not left
    assert manifest.proteins == 40
    assert Atlas.open(plan.output).count == 40
    assert not plan.output.with_name("own.atlas.partial").exists()


def test_an_atlas_is_replaced_only_when_asked(models: App, tmp_path: Path) -> None:
    _build(models, tmp_path, f">hbb\n{HBB}\n")

    with pytest.raises(InvalidInput, match="--overwrite"):
        _build(models, tmp_path, f">ubq\n{UBIQUITIN}\n")
    path, _, _ = _build(models, tmp_path, f">ubq\n{UBIQUITIN}\n", overwrite=True)

    assert Atlas.open(path).by_identifier("ubq")


def test_an_output_that_cannot_be_written_is_refused_by_name(models: App, tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("", encoding="utf-8")
    fasta = tmp_path / "proteins.fasta"
    fasta.write_text(f">hbb\n{HBB}\n", encoding="utf-8")
    plan = BuildPlan(fasta=(fasta,), output=tmp_path / "occupied" / "own.atlas", name="own")

    with pytest.raises(InvalidInput, match=r"own\.atlas cannot be written"):
        build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)


def test_paths_with_blanks_and_brackets_are_fine(models: App, tmp_path: Path) -> None:
    folder = tmp_path / "my proteins (v2) & more"
    folder.mkdir()

    path, _, _ = _build(models, folder, f">hbb\n{HBB}\n>ubq\n{UBIQUITIN}\n")

    assert Atlas.open(path).count == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda path: (path / "manifest.json").unlink(), "no manifest.json"),
        (lambda path: (path / "manifest.json").write_text("{", encoding="utf-8"), "not a manifest"),
        (lambda path: (path / "manifest.json").write_text('{"format_version": 99}', encoding="utf-8"), "99"),
        (lambda path: shutil.rmtree(path / "store"), "store"),
    ],
)
def test_a_damaged_foreign_or_newer_atlas_is_refused_by_name(
    atlas_path: Path, tmp_path: Path, change: object, words: str
) -> None:
    copy = tmp_path / "copy.atlas"
    shutil.copytree(atlas_path, copy)
    change(copy)  # type: ignore[operator]  # parametrised

    with pytest.raises(AtlasDamaged, match=words) as refused:
        Atlas.open(copy)

    assert str(copy) in str(refused.value)


def test_an_atlas_of_another_model_is_opened_but_not_searched_by_sequence(atlas_path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other.atlas"
    shutil.copytree(atlas_path, copy)
    manifest = json.loads((copy / "manifest.json").read_text(encoding="utf-8"))
    manifest |= {"encoder": "other-encoder", "embedding_width": 1152}
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    app = App()
    app.open(copy)

    with pytest.raises(DependencyUnavailable, match=r"other-encoder.*1152") as refused:
        app.analyse(HBB)

    assert app.encoder.id in str(refused.value)
    assert app.atlas.by_identifier("P69905")
