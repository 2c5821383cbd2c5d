"""The tool `blast_sequence` on a small atlas of proteins that are well known."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from protatlas.app import App
from protatlas.blast.jobs import SearchRunning
from protatlas.blast.searches import Searches
from protatlas.engines import blastplus
from protatlas.errors import DependencyUnavailable, InvalidInput, NotFound, ProtatlasError
from protatlas.headers import parse_header
from protatlas.records import Protein
from protatlas.tools.blast import BLAST_JOB, BLAST_SEQUENCE, BlastAnswer, JobAnswer, blast_job, blast_sequence
from protatlas.tools.registry import parse
from tests.blast.conftest import searches_at, target_of
from tests.blast.test_blastplus import UBIQUITIN_GENE
from tests.known_proteins import HBA, HBB, UBIQUITIN

RECORDS = {
    "sp|P69905|HBA_HUMAN Hemoglobin subunit alpha OS=Homo sapiens OX=9606 GN=HBA1": HBA,
    "sp|P68871|HBB_HUMAN Hemoglobin subunit beta OS=Homo sapiens OX=9606 GN=HBB": HBB,
    "gnl|extdb|pgaptmp_000002 ubiquitin": UBIQUITIN,
    "plate3|well|A01": HBA[:100] + "W" + HBA[101:],
    "plate3|well|A02": HBB[:100] + "W" + HBB[101:],
}


@dataclass(frozen=True)
class SmallAtlas:
    """The part of an atlas that the tool asks."""

    proteins: dict[str, Protein]
    name: str = "globins"
    version: str = "2026-01-01T00:00:00Z"

    def refuse_restricted(self, key: str) -> None:
        pass

    def proteins_by_key(self, keys: Sequence[str]) -> dict[str, Protein]:
        return {key: self.proteins[key] for key in keys if key in self.proteins}


@dataclass(frozen=True)
class SmallApp:
    """The part of an application that the tool asks."""

    atlas: SmallAtlas
    blast: Searches
    lists_jobs: bool = True


class Told:
    """Progress that keeps what it was told."""

    def __init__(self) -> None:
        self.messages: list[str | None] = []

    def report(self, done: float, total: float | None = None, message: str | None = None) -> None:  # noqa: ARG002
        self.messages.append(message)


def small_app(records: dict[str, str], folder: Path) -> App:
    proteins = []
    for header, sequence in records.items():
        parsed = parse_header(header)
        proteins.append(
            Protein(
                sequence=sequence,
                accessions=parsed.identifiers,
                header=header,
                **parsed.model_dump(include={"source", "protein_name", "organism", "organism_id", "gene", "reviewed"}),
            )
        )
    atlas = SmallAtlas({protein.key: protein for protein in proteins})
    sequences = {protein.key: protein.sequence for protein in proteins}
    target = target_of(sequences, folder, name=atlas.name, version=atlas.version)
    return cast("App", SmallApp(atlas, searches_at(folder, target)))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    made = small_app(RECORDS, tmp_path_factory.mktemp("state"))
    yield made
    made.blast.close()


def call(app: App, **arguments: JsonValue) -> BlastAnswer:
    return asyncio.run(blast_sequence(app, parse(BLAST_SEQUENCE, arguments), Told()))


def test_alpha_globin_finds_itself_and_beta_with_their_names(app: App) -> None:
    answer = call(app, sequence=HBA)
    first = answer.hits[0]
    assert (first.accession, first.title) == ("P69905", "Hemoglobin subunit alpha")
    assert (first.organism, first.taxid) == ("Homo sapiens", 9606)
    assert (first.identity_pct, first.coverage_pct, first.length) == (100.0, 100.0, 142)
    beta = next(hit for hit in answer.hits if hit.accession == "P68871")
    assert beta.identity_pct == pytest.approx(43, abs=1.5)
    assert beta.coverage_pct > 95


@pytest.mark.parametrize("header", RECORDS)
def test_each_record_is_its_own_first_hit_under_an_identifier_of_its_header(app: App, header: str) -> None:
    assert call(app, sequence=RECORDS[header]).hits[0].accession == parse_header(header).accession


def test_fasta_and_genbank_text_give_the_same_answer_as_plain_residues(app: App) -> None:
    plain = call(app, sequence=UBIQUITIN)
    block = (
        "        1 mqifvktltg ktitleveps dtienvkaki qdkegippdq qrlifagkql edgrtlsdyn\n       61 iqkestlhlv lrlrgg\n//"
    )
    for pasted in (f">my query\r\n{UBIQUITIN[:50]}\r\n{UBIQUITIN[50:]}\r\n", block, UBIQUITIN.lower()):
        answer = call(app, sequence=pasted)
        assert (answer.hits, answer.rid, answer.query_length) == (plain.hits, plain.rid, 76)


def test_counts_are_honest(app: App) -> None:
    answer = call(app, sequence=HBA, expect=1e-6, hitlist_size=1)
    assert (answer.returned, answer.hitCount, len(answer.hits), answer.truncated) == (1, 1, 1, True)
    assert answer.total == call(app, sequence=HBA, expect=1e-6).returned == 4


def test_no_relative_is_an_empty_list_with_total_zero(app: App) -> None:
    answer = call(app, sequence="WWWWWWCWWWWWWHWWWWWW" * 2, expect=0.001)
    assert (answer.hits, answer.total, answer.truncated, answer.status) == ((), 0, False, "READY")


def test_report_is_cut_where_the_caller_asks(app: App) -> None:
    whole = call(app, sequence=HBA, raw_report_chars=50_000)
    cut = call(app, sequence=HBA, raw_report_chars=100)
    none = call(app, sequence=HBA, raw_report_chars=0)
    assert (whole.raw_report_truncated, cut.raw_report_truncated, none.raw_report_excerpt) == (False, True, "")
    assert cut.raw_report_excerpt == whole.raw_report_excerpt[:100]


def test_answer_names_engine_database_and_that_nothing_left_the_machine(app: App) -> None:
    answer = call(app, sequence=UBIQUITIN)
    assert "phmmer" in answer.engine
    assert (answer.database, answer.database_sequences, answer.sent_to) == ("atlas", 5, ())
    assert answer.provenance.atlas == "globins"
    assert any("do not compare with those of BLAST" in note for note in answer.notes)


def test_short_query_says_how_it_was_searched(app: App) -> None:
    assert any("PAM30" in note for note in call(app, sequence=UBIQUITIN[:12]).notes)


def test_ten_hits_stay_under_8_kB(tmp_path: Path) -> None:  # noqa: N802  # the unit's spelling
    variants = {
        f"sp|P{number}0000|HBA_X Hemoglobin subunit alpha variant {number} OS=Homo sapiens neanderthalensis OX=63221": (
            f"{HBA[:number]}W{HBA[number + 1 :]}"
        )
        for number in range(12)
    }
    app = small_app(variants, tmp_path)
    answer = call(app, sequence=HBA)
    app.blast.close()
    assert answer.returned == 10
    assert len(json.dumps(answer.model_dump(mode="json")).encode()) < 8_000


def test_every_field_of_the_published_tool_is_there(app: App) -> None:
    fields = {"rid", "hits", "total", "status", "program", "database", "hitCount", "returned", "truncated"}
    fields |= {"elapsed_seconds", "raw_report_excerpt", "raw_report_truncated"}
    assert fields <= set(call(app, sequence=UBIQUITIN).model_dump())


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"sequence": "ATGCAGATCTTCGTGAAAACCCTGACC"}, InvalidInput, "blastx"),
        ({"sequence": f">a\n{HBA}\n>b\n{HBB}"}, InvalidInput, "2 FASTA records"),
        ({"sequence": "@@@@ 1234"}, InvalidInput, "'@' at position 1"),
        ({"sequence": ""}, InvalidInput, "sequence"),
        ({"sequence": "M" * 4001}, InvalidInput, "4,001 residues"),
        ({"sequence": HBA, "program": "psiblast"}, InvalidInput, "program"),
        ({"sequence": HBA, "hitlist_size": 0}, InvalidInput, "hitlist_size"),
        ({"sequence": HBA, "expect": 0}, InvalidInput, "expect"),
        ({"sequence": HBA, "raw_report_chars": 50_001}, InvalidInput, "raw_report_chars"),
        ({"sequence": HBA, "poll_interval": 0.5}, InvalidInput, "poll_interval"),
        ({"sequence": HBA, "matrix": "PAM30"}, InvalidInput, "matrix"),
        ({"sequence": HBA, "megablast": True}, InvalidInput, "megablast"),
        ({"sequence": HBA, "program": "blastx"}, InvalidInput, "no nucleotide"),
        ({"sequence": HBA, "program": "tblastn"}, DependencyUnavailable, "There is no nucleotide database yet"),
        ({"sequence": HBA, "database": "swissprot"}, NotFound, "There are: atlas."),
        ({"sequence": HBA, "database": "swissprot"}, NotFound, "--ncbi-email"),
        ({"sequence": HBA, "engine": "ncbi"}, DependencyUnavailable, "BLAST at NCBI is not available"),
    ],
)
def test_what_cannot_be_answered_is_an_error_that_says_why(
    app: App, arguments: dict[str, JsonValue], error: type[ProtatlasError], said: str
) -> None:
    with pytest.raises(error) as caught:
        call(app, **arguments)
    assert said in caught.value.message


@pytest.mark.parametrize("database", ["atlas", "globins", None])
def test_the_atlas_answers_to_its_names(app: App, database: str | None) -> None:
    assert call(app, sequence=UBIQUITIN, database=database, engine="local", expect=1e-6).returned == 1


def job(app: App, **arguments: JsonValue) -> JobAnswer:
    return blast_job(app, parse(BLAST_JOB, arguments))


def test_a_search_that_is_done_gives_its_result_again_by_its_rid(app: App) -> None:
    answer = call(app, sequence=HBA)
    again = job(app, rid=answer.rid, action="result").result
    assert again is not None
    assert again["hits"] == answer.model_dump(mode="json")["hits"]
    assert job(app, rid=answer.rid).state == "done"


def test_a_call_that_waits_too_short_keeps_the_rid_and_the_job_gives_the_result(app: App) -> None:
    with pytest.raises(SearchRunning) as caught:
        call(app, sequence=HBB[:120], max_wait=1e-9)
    rid = str(caught.value.fields["rid"])
    app.blast.runner.wait(rid, timeout_s=60)
    result = job(app, rid=rid, action="result").result
    assert result is not None
    assert result["hits"][0]["accession"] == "P68871"


def test_a_waiting_call_is_told_how_far_its_search_is(app: App) -> None:
    told = Told()
    asyncio.run(blast_sequence(app, parse(BLAST_SEQUENCE, {"sequence": HBA[:70]}), told))
    assert told.messages


def test_a_client_that_hangs_up_stops_waiting_and_the_search_goes_on(app: App) -> None:
    async def hang_up() -> None:
        waiting = asyncio.create_task(blast_sequence(app, parse(BLAST_SEQUENCE, {"sequence": HBA[:90]}), Told()))
        await asyncio.sleep(0)
        waiting.cancel()
        with suppress(asyncio.CancelledError):
            await waiting

    asyncio.run(hang_up())
    answer = call(app, sequence=HBA[:90])
    assert answer.hits[0].accession == "P69905"


def test_a_job_that_nobody_knows_is_not_found(app: App) -> None:
    for action in ("status", "result", "cancel"):
        with pytest.raises(NotFound, match="ABCDEFGH016"):
            job(app, rid="ABCDEFGH016", action=action)


def test_running_searches_are_listed_to_the_one_user_of_stdio_alone(app: App) -> None:
    assert job(app).running == ()
    stranger = cast("App", SmallApp(cast("SmallAtlas", app.atlas), app.blast, lists_jobs=False))
    with pytest.raises(InvalidInput, match="rid"):
        job(stranger)


def test_a_database_of_the_user_is_searched_under_its_name(app: App, tmp_path: Path) -> None:
    fasta = tmp_path / "set A & B.faa"
    fasta.write_text(f">plate3|well|B07 my variant OS=Homo sapiens OX=9606\n{HBB}\n", encoding="ascii")
    made = app.blast.databases.add("mine", [fasta], molecule="protein")
    answer = call(app, sequence=HBB, database="mine")
    assert [(hit.accession, hit.taxid) for hit in answer.hits] == [("plate3|well|B07", 9606)]
    assert (answer.database, answer.database_version, answer.provenance.origin) == ("mine", made.version, "database")
    app.blast.databases.remove("mine")


@pytest.mark.skipif(not blastplus.is_installed(), reason="BLAST+ is not installed")
def test_a_gene_finds_its_protein_in_the_atlas_by_blastx(app: App) -> None:
    answer = call(app, sequence=UBIQUITIN_GENE, program="blastx", expect=1e-3)
    (hit,) = answer.hits
    assert (hit.accession, hit.identity_pct, hit.query_start, hit.query_end) == ("pgaptmp_000002", 100.0, 1, 228)
    assert answer.engine.startswith("BLASTX")


def test_the_e_value_of_the_caller_wins_for_short_queries_too(app: App) -> None:
    wide, narrow = call(app, sequence=UBIQUITIN[:9]), call(app, sequence=UBIQUITIN[:9], expect=1e-30)
    assert wide.hits[0].accession == "pgaptmp_000002"
    assert (narrow.hits, narrow.total) == ((), 0)
