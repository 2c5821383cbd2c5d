"""How an accession leads to its sequence: in the atlas or an accession index, by version, by secondary accession."""

from collections.abc import Iterator

import pytest

from protatlas.accession_index import build_accession_index
from protatlas.app import App
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.plan import BuildPlan
from tests.known_proteins import HBA, HBB, UBIQUITIN
from tests.tools.conftest import Call

MOUSE_HBA = HBA.replace("MVLSPADKTNVKAAWGK", "MVLSGEDKSNIKAAWGK")

HELD = (
    f">sp|P69905|HBA_HUMAN Hemoglobin subunit alpha OS=Homo sapiens OX=9606 GN=HBA1 PE=1 SV=2\n{HBA}\n"
    f">sp|P69905-2|HBA_HUMAN Isoform 2 of Hemoglobin subunit alpha OS=Homo sapiens OX=9606 GN=HBA1\n{HBA[20:]}\n"
    f">NP_000509.1 hemoglobin subunit beta [Homo sapiens]\n{HBB}\n"
    f">NP_032244.1 hemoglobin alpha [Mus musculus]\n{MOUSE_HBA[:-1]}\n"
    f">NP_032244.2 hemoglobin alpha [Mus musculus]\n{MOUSE_HBA}\n"
    f">639590277\n{UBIQUITIN[:40]}\n"
    f">1A3N_A alpha\n{HBA[1:]}\n>1A3N_a beta\n{HBB[1:]}\n"
)
INDEXED = (
    f">MGYP000261684433 FL=1\n{UBIQUITIN}\n>plate3|well|A01 mine\n{UBIQUITIN[:50]}\n>Q9ZZZ9 my own\n{UBIQUITIN[5:]}\n"
)
SECONDARY = "Secondary AC     Primary AC\n\nP01922           P69905\n"


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory, models: App) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("held")
    for name, text in (("held.faa", HELD), ("indexed.faa", INDEXED), ("sec_ac.txt", SECONDARY)):
        (folder / name).write_text(text, encoding="utf-8")
    plan = BuildPlan(
        fasta=(folder / "held.faa",), output=folder / "held.atlas", name="held", secondary=folder / "sec_ac.txt"
    )
    build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)
    build_accession_index([folder / "indexed.faa"], folder / "more.accessions", progress=lambda *_: None)
    app = App(accessions=folder / "more.accessions")
    app.open(plan.output)
    yield app
    app.close()


@pytest.fixture
def ask(held: App) -> Call:
    return Call(held, "auto")


@pytest.mark.parametrize(
    ("accession", "sequence", "database", "spelt"),
    [
        ("MGYP000261684433", UBIQUITIN, "MGnify", "MGYP000261684433"),
        ("  mgyp261684433\n", UBIQUITIN, "MGnify", "MGYP000261684433"),
        ("plate3|well|A01", UBIQUITIN[:50], "user", "plate3|well|A01"),
        ("ref|NP_000509.1|", HBB, "RefSeq", "NP_000509.1"),
        ("639590277", UBIQUITIN[:40], "IMG", "639590277"),
        ("1a3n:A", HBA[1:], "PDB", "1A3N_A"),
        ("1A3N_a", HBB[1:], "PDB", "1A3N_a"),
    ],
)
def test_an_accession_in_any_spelling_leads_to_its_sequence(
    ask: Call, accession: str, sequence: str, database: str, spelt: str
) -> None:
    answer = ask("esm_atlas_lookup_accession", accession=accession)

    assert (answer["sequence"], answer["database"], answer["accession"]) == (sequence, database, spelt)
    assert answer["sequence_length"] == len(sequence)


def test_an_answer_of_the_accession_index_says_so(ask: Call) -> None:
    answer = ask("esm_atlas_lookup_accession", accession="MGYP000261684433")

    assert answer["provenance"]["origin"] == "accession index"
    assert answer["provenance"]["atlas"] == "more"
    assert answer["notes"] == ["Read from indexed.faa."]
    assert answer["sent_to"] == []


def test_a_number_that_only_looks_like_an_img_gene_is_marked(ask: Call) -> None:
    answer = ask("esm_atlas_lookup_accession", accession="639590277")

    assert "does not say which database" in answer["notes"][0]


def test_an_accession_without_version_leads_to_the_newest_one_held(ask: Call) -> None:
    answer = ask("esm_atlas_lookup_accession", accession="NP_032244")

    assert answer["sequence"] == MOUSE_HBA
    assert answer["notes"] == ["NP_032244.2 is shown, the newest of 2 versions held."]


def test_a_version_that_is_not_held_is_not_found_and_the_held_ones_are_named(ask: Call) -> None:
    error = ask.error("esm_atlas_lookup_accession", accession="NP_032244.7")

    assert error["code"] == "not_found"
    assert "NP_032244.1, NP_032244.2" in error["message"]


def test_an_unknown_accession_names_the_atlas_and_the_index(ask: Call) -> None:
    error = ask.error("esm_atlas_lookup_accession", accession="MGYP000000000001")

    assert error["code"] == "not_found"
    assert "the atlas held and the accession index more" in error["message"]


@pytest.mark.parametrize("accession", ["P69905", "p69905-2", "A0A1V0QD85.3", "sp|P69905|HBA_HUMAN", "UniProtKB:P69905"])
def test_a_uniprot_accession_is_sent_to_the_search_tool(ask: Call, accession: str) -> None:
    error = ask.error("esm_atlas_lookup_accession", accession=accession)

    assert error["code"] == "invalid_input"
    assert "esm_atlas_search_uniprot" in error["message"]


@pytest.mark.parametrize(
    ("query", "accession", "sequence", "note"),
    [
        ("P69905", "P69905", HBA, None),
        ("P69905.2", "P69905", HBA, "version after the dot was ignored"),
        ("P69905-2", "P69905-2", HBA[20:], None),
        ("P69905-3", "P69905", HBA, "Isoform 3 of P69905 is not held"),
        ("p01922", "P69905", HBA, "P01922 is a secondary accession of P69905."),
        ("sp|P69905|HBA_HUMAN", "P69905", HBA, None),
        ("Q9ZZZ9", "Q9ZZZ9", UBIQUITIN[5:], "Read from indexed.faa."),
    ],
)
def test_a_uniprot_accession_finds_its_entry(
    ask: Call, query: str, accession: str, sequence: str, note: str | None
) -> None:
    answer = ask("esm_atlas_search_uniprot", query=query)

    (protein,) = answer["proteins"]
    assert (protein["accession"], protein["sequence"]) == (accession, sequence)
    assert any(note in found for found in answer["notes"]) if note else not answer["notes"]


def test_the_index_answers_while_the_atlas_is_being_built(held: App) -> None:
    assert held.accessions is not None
    waiting = App(accessions=held.accessions.path)
    waiting.wait_for("to be built first (encode: 3 %)")
    ask = Call(waiting, "auto")

    assert ask("esm_atlas_lookup_accession", accession="MGYP000261684433")["sequence"] == UBIQUITIN
    assert "encode: 3 %" in ask.error("esm_atlas_lookup_accession", accession="MGYP000000000001")["message"]
