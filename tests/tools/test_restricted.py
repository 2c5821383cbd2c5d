"""What an operator restricts is not in any answer, whichever way the list was given, and the rest fills its place."""

import json
import shutil
from collections.abc import Iterator
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest

from protatlas.accession_index import build_accession_index
from protatlas.app import App
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.format import RESTRICTED
from protatlas.atlas.plan import BuildPlan
from protatlas.atlas.reader import Atlas
from protatlas.atlas.starter import starter_files
from protatlas.errors import AtlasDamaged, InvalidInput
from protatlas.restrictions import Restrictions
from tests.known_proteins import HBA, HBB, UBIQUITIN
from tests.tools.conftest import Call

SEQUENCE_TOOLS = (
    "esm_atlas_search_similar_protein_clusters",
    "esm_atlas_get_protein_details",
    "esm_atlas_get_cluster_info",
    "ui_show_protein_structure",
    "blast_sequence",
)
MUS = 10_088
"""The genus; records state the species."""
MOUSE = "OX=10090 "


def _parts(record: str) -> tuple[str, str, str]:
    """Accession, entry name and sequence of a FASTA record of UniProt."""
    header, *lines = record.splitlines()
    _, accession, name = header.split(maxsplit=1)[0].split("|")
    return accession, name, "".join(lines)


@pytest.fixture(scope="module")
def secrets(starter_records: list[str]) -> list[tuple[str, str, str]]:
    """The records that the list below restricts, told by their headers alone."""
    chosen = [r for r in starter_records if _parts(r)[0] == "P69905" or MOUSE in r or _parts(r)[2] == HBB]
    assert len(chosen) >= 4
    return [_parts(record) for record in chosen]


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lists") / "withheld.txt"
    key = md5(HBB.encode(), usedforsecurity=False).hexdigest().upper()
    path.write_text(
        f"\ufeff# what the lab withholds\r\np69905.3  # by accession\r\n\r\n{key}\r\ntaxon:{MUS} # with descendants\r\n"
        "Q99999\r\n",
        encoding="utf-8",
    )
    return path


@pytest.fixture(scope="module", params=["built into the atlas", "given to the server"])
def guarded(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    starter_records: list[str],
    models: App,
    atlas_path: Path,
    listed: Path,
) -> Iterator[App]:
    """The small atlas under the list."""
    if request.param == "given to the server":
        app = App(restricted=listed)
        app.open(atlas_path)
    else:
        folder = tmp_path_factory.mktemp("built")
        (folder / "again.fasta").write_text(starter_records[0], encoding="utf-8")
        plan = BuildPlan(
            fasta=(folder / "again.fasta",),
            output=Path(shutil.copytree(atlas_path, folder / "small.atlas")),
            name="small",
            domains=starter_files() / "domains.tsv.gz",
            restricted=listed,
            update=True,
        )
        build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)
        app = App()
        app.open(plan.output)
    yield app
    app.close()


def _answers(app: App, secrets: list[tuple[str, str, str]]) -> str:
    """JSON of what every tool answers to requests that would show the secrets, errors included."""
    call = Call(app, "auto")
    near = [sequence[:-1] + ("A" if sequence[-1] != "A" else "G") for _, _, sequence in secrets[:8]]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("esm_atlas_search_uniprot", {"query": query})
        for query in (
            "hemoglobin OR beta",
            "organism_id:10090",
            "taxonomy_id:10088",
            "gene:HBA1",
            "reviewed:true",
            "Mus*",
        )
    ]
    for accession, name, _ in secrets:
        asked += [("esm_atlas_search_uniprot", {"query": query}) for query in (f"accession:{accession}", f"id:{name}")]
        asked += [("esm_atlas_lookup_accession", {"accession": name})]
    for sequence in near:
        asked += [
            ("esm_atlas_search_similar_protein_clusters", {"sequence": sequence[:2_048], "top_k": 12}),
            ("blast_sequence", {"sequence": sequence, "hitlist_size": 500, "raw_report_chars": 50_000}),
            ("esm_atlas_get_protein_details", {"sequence": sequence[:2_048]}),
        ]
    names = {accession for accession, _, _ in secrets}
    indices = [
        feature.feature_index
        for feature in app.features.table
        if any(found.uniprot_id in names for found in feature.top_swissprot_activations)
    ]
    asked += [("esm_atlas_get_sae_feature_detail", {"feature_index": index}) for index in indices[:20]]
    asked += [
        (tool, {"sequence": hit.sequence})
        for tool in ("esm_atlas_get_cluster_info",)
        for hit in app.atlas.by_identifier("P02042") + app.atlas.by_identifier("P0CG48")
    ]
    return "\n".join(json.dumps(call.raw(tool, **arguments).model_dump(mode="json")) for tool, arguments in asked)


def _shown(answers: str, secrets: list[tuple[str, str, str]]) -> list[str]:
    return [text for secret in secrets for text in secret if text in answers]


def test_no_answer_of_any_tool_holds_a_restricted_protein(
    app: App, guarded: App, secrets: list[tuple[str, str, str]]
) -> None:
    assert len(_shown(_answers(app, secrets), secrets)) > 2 * len(secrets)

    answers = _answers(guarded, secrets)

    assert not _shown(answers, secrets)


@pytest.mark.parametrize("tool", SEQUENCE_TOOLS)
def test_a_request_by_sequence_is_restricted_and_names_nothing(
    guarded: App, tool: str, secrets: list[tuple[str, str, str]]
) -> None:
    for accession, name, sequence in [secret for secret in secrets if len(secret[2]) <= 700]:
        error = Call(guarded, "auto").error(tool, sequence=f"{sequence.lower()}*")
        assert (error["code"], error["retryable"]) == ("restricted", False)
        assert accession not in str(error)
        assert name not in str(error)


def test_a_request_by_accession_is_restricted(guarded: App, secrets: list[tuple[str, str, str]]) -> None:
    ask = Call(guarded, "auto")

    for accession, name, _ in secrets:
        assert ask.error("esm_atlas_search_uniprot", query=accession)["code"] == "restricted"
        assert ask.error("esm_atlas_search_uniprot", query=f"accession:{accession}")["code"] == "restricted"
        assert ask.error("esm_atlas_lookup_accession", accession=name)["code"] == "restricted"
    assert ask.error("esm_atlas_search_uniprot", query="P69905-2")["code"] == "restricted"
    assert ask.error("esm_atlas_search_uniprot", query="Q99999")["code"] == "restricted"


def test_lists_are_filled_with_what_is_shown_and_count_what_is_not(
    app: App, guarded: App, secrets: list[tuple[str, str, str]]
) -> None:
    withheld = {accession for accession, _, _ in secrets}
    query = HBA[:-1] + "A"
    tool = "esm_atlas_search_similar_protein_clusters"
    all_hits, hits = (Call(one, "auto")(tool, sequence=query, top_k=12) for one in (app, guarded))

    without = [hit["protein_accession"] for hit in all_hits["hits"] if hit["protein_accession"] not in withheld]
    assert hits["returned"] == len(hits["hits"]) == 12
    assert hits["restricted_count"] == 12 - len(without) > 0
    assert [hit["protein_accession"] for hit in hits["hits"]][: len(without)] == without
    assert hits["total"] < all_hits["total"]


def test_totals_of_a_search_do_not_count_what_is_withheld(app: App, guarded: App) -> None:
    mice, none = (Call(one, "auto")("esm_atlas_search_uniprot", query="organism_id:10090") for one in (app, guarded))
    every, shown = (Call(one, "auto")("esm_atlas_search_uniprot", query="length:[1 TO 9999]") for one in (app, guarded))

    assert mice["total_results"] > 0
    assert (none["total_results"], none["proteins"]) == (0, [])
    assert none["restricted_count"] == min(6, mice["total_results"])
    assert "restricted by the operator" in none["notes"][0]
    assert every["restricted_count"] == 0
    assert len(shown["proteins"]) == 6
    assert shown["total_results"] == guarded.atlas.count < every["total_results"]


def test_the_filter_of_the_store_and_the_records_agree_on_every_protein(app: App, guarded: App) -> None:
    keys = [key for key, _ in app.atlas.sequences()]
    proteins = app.atlas.proteins_by_key(keys)
    allowed = {key for key, protein in proteins.items() if not guarded.atlas.restrictions.covers(protein)}

    assert set(guarded.atlas.proteins_by_key(keys)) == allowed
    assert {key for key, _ in guarded.atlas.sequences()} == allowed
    assert guarded.atlas.count == len(allowed)
    assert guarded.blast.atlas is not None
    assert {key for key, _ in guarded.blast.atlas.records()} == allowed
    assert guarded.atlas.withheld.proteins == len(proteins) - len(allowed)


def test_an_entry_that_fits_nothing_is_named(guarded: App) -> None:
    assert guarded.atlas.withheld.unmatched == ("Q99999",)


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory, models: App) -> Path:
    """Atlas in which variants of ubiquitin make one cluster, one of them of an organism with a taxon id."""
    folder = tmp_path_factory.mktemp("family")
    variants = [UBIQUITIN, UBIQUITIN + "A", UBIQUITIN + "G", UBIQUITIN + "S"]
    (folder / "own.faa").write_text(
        "".join(f">own{at} ubiquitin OX={100 + at}\n{sequence}\n" for at, sequence in enumerate(variants))
        + f">hbb globin\n{HBB}\n",
        encoding="utf-8",
    )
    plan = BuildPlan(fasta=(folder / "own.faa",), output=folder / "own.atlas", name="own")
    build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)
    return plan.output


def _guarded(atlas: Path, folder: Path, entries: str, accessions: Path | None = None) -> App:
    (folder / "list.txt").write_text(entries, encoding="utf-8")
    app = App(restricted=folder / "list.txt", accessions=accessions)
    app.open(atlas)
    return app


def test_a_restricted_representative_hands_its_place_to_a_shown_member(family: Path, tmp_path: Path) -> None:
    whole = Atlas.open(family).cluster(md5(UBIQUITIN.encode(), usedforsecurity=False).hexdigest())
    assert whole is not None
    representative, cluster = whole
    assert cluster.size == 4
    guarded = Call(_guarded(family, tmp_path, representative.accession), "auto")
    member = next(name for name in ("own0", "own1", "own2") if name != representative.accession)
    sequence = guarded("esm_atlas_lookup_accession", accession=member)["sequence"]

    shown = guarded("esm_atlas_get_cluster_info", sequence=sequence)

    assert shown["accession"] != representative.accession
    assert shown["protein_hash"] != representative.key
    assert shown["cluster_size"] == 3


def test_a_cluster_is_described_by_its_shown_members_alone(family: Path, tmp_path: Path) -> None:
    whole = Atlas.open(family).cluster(md5(UBIQUITIN.encode(), usedforsecurity=False).hexdigest())
    assert whole is not None
    other = next(name for name in ("own0", "own1") if name != whole[0].accession)
    guarded = Call(_guarded(family, tmp_path, other), "auto")

    hits = guarded("esm_atlas_search_similar_protein_clusters", sequence=UBIQUITIN + "T")

    assert hits["hits"][0]["protein_accession"] == whole[0].accession
    assert hits["hits"][0]["cluster_size"] == 3
    assert hits["restricted_count"] == 0


@pytest.mark.parametrize("entry", ["UPI0000000001", "own0", "taxon:100", md5(UBIQUITIN.encode()).hexdigest()])
def test_a_restricted_sequence_is_withheld_by_atlas_and_accession_index_alike(
    family: Path, tmp_path: Path, entry: str
) -> None:
    (tmp_path / "more.faa").write_text(f">UPI0000000001 status=active\n{UBIQUITIN}\n>mine\n{HBA}\n", encoding="utf-8")
    build_accession_index([tmp_path / "more.faa"], tmp_path / "more.accessions", progress=lambda *_: None)
    ask = Call(_guarded(family, tmp_path, entry, tmp_path / "more.accessions"), "auto")

    assert ask.error("esm_atlas_lookup_accession", accession="UPI0000000001")["code"] == "restricted"
    assert ask.error("esm_atlas_lookup_accession", accession="own0")["code"] == "restricted"
    assert ask("esm_atlas_lookup_accession", accession="mine")["sequence"] == HBA


def test_an_accession_index_alone_keeps_to_the_list(tmp_path: Path) -> None:
    (tmp_path / "more.faa").write_text(f">UPI0000000001 x\n{UBIQUITIN}\n>mine OX=9606\n{HBA}\n", encoding="utf-8")
    build_accession_index([tmp_path / "more.faa"], tmp_path / "more.accessions", progress=lambda *_: None)
    (tmp_path / "list.txt").write_text("UPI0000000001\ntaxon:9606\n", encoding="utf-8")
    app = App(accessions=tmp_path / "more.accessions", restricted=tmp_path / "list.txt", expects_atlas=False)

    for accession in ("UPI0000000001", "mine"):
        error = Call(app, "auto").error("esm_atlas_lookup_accession", accession=accession)
        assert error["code"] == "restricted"


def test_an_update_keeps_the_list_of_the_atlas_and_adds_to_it(tmp_path: Path, models: App) -> None:
    for name, text in (
        ("a.faa", f">a\n{UBIQUITIN}\n>b\n{HBA}\n"),
        ("c.faa", f">c\n{HBB}\n"),
        ("a.txt", "a"),
        ("c.txt", "c"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for letter, is_update in (("a", False), ("c", True)):
        plan = BuildPlan(
            fasta=(tmp_path / f"{letter}.faa",),
            output=tmp_path / "own.atlas",
            name="own",
            restricted=tmp_path / f"{letter}.txt",
            update=is_update,
        )
        build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)

    atlas = Atlas.open(tmp_path / "own.atlas")

    assert {sequence for _, sequence in atlas.sequences()} == {HBA}
    assert (atlas.withheld.proteins, atlas.withheld.unmatched) == (2, ())


@pytest.mark.parametrize("change", ["edited", "removed"])
def test_an_atlas_whose_list_was_changed_is_refused(tmp_path: Path, models: App, change: str) -> None:
    (tmp_path / "own.faa").write_text(f">ubq\n{UBIQUITIN}\n", encoding="utf-8")
    (tmp_path / "list.txt").write_text("ubq\n", encoding="utf-8")
    plan = BuildPlan(
        fasta=(tmp_path / "own.faa",), output=tmp_path / "own.atlas", name="own", restricted=tmp_path / "list.txt"
    )
    build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)
    own = plan.output / RESTRICTED
    own.write_bytes(own.read_bytes()[::-1])
    if change == "removed":
        own.unlink()

    with pytest.raises(AtlasDamaged, match=RESTRICTED):
        Atlas.open(plan.output)


@pytest.mark.parametrize("line", ["taxon:human", "Homo sapiens", "taxid:9606", "taxon:", "OX=9606"])
def test_a_line_that_is_no_entry_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    (tmp_path / "list.txt").write_text(f"# list\nP69905\n{line}\n", encoding="utf-8")

    with pytest.raises(InvalidInput, match=r"line 3 of list\.txt"):
        Restrictions.read(tmp_path / "list.txt")


def test_a_list_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no file"):
        App(restricted=tmp_path / "list.txt")
