"""A lab's own file from ingest to the tools: identifiers come back as they were given, and batches change nothing."""

from pathlib import Path

import pytest

from protatlas.app import App
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.plan import BuildPlan
from tests.known_proteins import HBA, HBB, UBIQUITIN
from tests.tools.conftest import Call

LONG = (HBA + HBB) * 5 + HBA[:55]
PIPES = {
    "gnl|extdb|pgaptmp_000002": HBA,
    "tr|LOCAL0001|MYPROT_X": UBIQUITIN,
    "plate3|well|A01": HBB,
    "plate3|well|A02": HBB[:60] + UBIQUITIN,
}


def _atlas(models: App, folder: Path, records: dict[str, str]) -> App:
    fasta = folder / "set A & B (v2).faa"
    folder.mkdir(parents=True)
    fasta.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in records.items()), encoding="utf-8")
    plan = BuildPlan(fasta=(fasta,), output=folder / "atlas data (1)", name="own")
    build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)
    app = App()
    app.open(plan.output)
    return app


@pytest.mark.parametrize("tool", ["esm_atlas_search_similar_protein_clusters", "blast_sequence"])
def test_every_protein_finds_itself_first_under_its_own_identifier(models: App, tmp_path: Path, tool: str) -> None:
    ask = Call(_atlas(models, tmp_path / "my files", PIPES), "auto")

    for name, sequence in PIPES.items():
        first = ask(tool, sequence=sequence)["hits"][0]
        accession = first.get("protein_accession", first.get("accession"))
        known = ask("esm_atlas_lookup_accession", accession=accession)
        assert known["sequence"] == sequence
        assert ask("esm_atlas_lookup_accession", accession=name)["sequence"] == sequence


def test_a_protein_is_embedded_the_same_alone_and_beside_a_long_one(models: App, tmp_path: Path) -> None:
    beside = _atlas(models, tmp_path / "beside", {"ubq": UBIQUITIN, "long": LONG, "hbb": HBB})
    alone = _atlas(models, tmp_path / "alone", {"ubq": UBIQUITIN})

    for app in (beside, alone):
        hits = Call(app, "auto")("esm_atlas_search_similar_protein_clusters", sequence=UBIQUITIN)["hits"]
        assert hits[0]["protein_accession"] == "ubq"
        assert 0.999 <= hits[0]["similarity_score"] <= 1


def test_uncommon_residues_stay_in_place_from_file_to_answer(models: App, tmp_path: Path) -> None:
    selenoprotein = HBA[:46] + "U" + HBA[46:]
    ask = Call(_atlas(models, tmp_path / "own", {"sec": selenoprotein, "hbb": HBB}), "auto")

    assert ask("esm_atlas_lookup_accession", accession="sec")["sequence"][46] == "U"
    hits = ask("esm_atlas_search_similar_protein_clusters", sequence=selenoprotein)["hits"]
    assert hits[0]["protein_accession"] == "sec"
