"""BLAST at NCBI: a search from submission to report, and every way in which it is known to fail."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from protatlas.errors import (
    DependencyUnavailable,
    Indeterminate,
    InvalidInput,
    NotFound,
    ProtatlasError,
    RateLimited,
    ResourceTooLarge,
)
from protatlas.reports import Database
from protatlas.services.etiquette import Etiquette
from protatlas.services.ncbi import NcbiBlast
from protatlas.services.remote import RemoteQuery
from tests.fakes.ncbi import MAINTENANCE, REFUSED, STATE, tree, zipped
from tests.fakes.web_service import Canned, Clock, Manner
from tests.known_proteins import UBIQUITIN
from tests.services.conftest import IDENTITY, Ncbi

QUERY = RemoteQuery(sequence=UBIQUITIN)
DNA = "ATGCAGATCTTCGTGAAAACCCTGACCGGCAAAACCATC"
CPU_LIMIT = "[blastsrv4.REAL]: Error: CPU usage limit was exceeded, resulting in SIGXCPU (24)."
SIZE_LIMIT = "[blastsrv4.REAL]: Error: Process size limit exceeded, resulting in SIGXFSZ (25)."


def finish(ncbi: Ncbi, clock: Clock) -> str:
    """RID of a search that has been polled to its end."""
    rid = ncbi.client.submit(QUERY)
    while (state := ncbi.client.poll(rid)).phase == "running":
        clock.sleep(state.ask_again_s)
    return rid


def failure(ncbi: Ncbi, rid: str, *answers: Canned) -> ProtatlasError:
    """Error of fetching a report when NCBI gives these answers."""
    ncbi.service.next.extend(answers)
    with pytest.raises(ProtatlasError) as caught:
        ncbi.client.fetch(rid)
    assert caught.value.fields["rid"] == rid
    return caught.value


def page(report: object) -> Canned:
    return Canned(json.dumps({"BlastOutput2": [{"report": report}]}).encode(), media_type="application/json")


def test_a_search_gives_hits_with_numbers_and_says_how_it_was_done(ncbi: Ncbi, clock: Clock) -> None:
    report = ncbi.client.fetch(finish(ncbi, clock))

    assert [hit.accession for hit in report.hits] == ["P0CG48", "Q15843"]
    assert [hit.best.identical for hit in report.hits] == [76, 44]
    assert report.database == Database(name="swissprot", sequences=573_661, residues=207_922_125)
    assert report.statistics == {"hsp_len": 48, "eff_space": 3_000_000_000}
    assert (report.engine, report.query_length) == ("BLASTP 2.17.0+", 76)
    assert "matrix = BLOSUM62" in report.settings
    assert report.origin is not None
    assert report.origin.address == f"{ncbi.address}/Blast.cgi"


def test_every_request_names_the_tool_and_the_mail_address(ncbi: Ncbi, clock: Clock) -> None:
    ncbi.client.fetch(finish(ncbi, clock))

    assert {(asked.form["tool"], asked.form["email"]) for asked in ncbi.service.asked} == {
        ("protatlas", IDENTITY.email)
    }
    assert all(asked.headers["user-agent"].startswith("protatlas/") for asked in ncbi.service.asked)


def test_the_sequence_travels_in_the_body_of_one_request_alone(ncbi: Ncbi, clock: Clock) -> None:
    ncbi.client.fetch(finish(ncbi, clock))

    assert [asked.method for asked in ncbi.service.asked if UBIQUITIN in str(asked)] == ["POST"]


def test_a_slow_queue_is_polled_once_a_minute_and_contacted_once_in_ten_seconds(ncbi: Ncbi, clock: Clock) -> None:
    ncbi.service.waits = 20

    ncbi.client.fetch(finish(ncbi, clock))

    (polls,) = ncbi.service.polls.values()
    assert len(polls) == 21
    assert ncbi.service.impolite == []


def test_the_first_poll_waits_for_the_estimate_but_never_more_than_a_minute(ncbi: Ncbi, clock: Clock) -> None:
    ncbi.service.estimate = 7_838

    rid = ncbi.client.submit(QUERY)

    assert ncbi.client.poll(rid).ask_again_s == pytest.approx(60)
    assert len(ncbi.service.asked) == 1
    clock.sleep(60)
    ncbi.client.poll(rid)
    assert len(ncbi.service.asked) == 2


def test_a_poll_that_comes_too_early_is_not_sent(ncbi: Ncbi, clock: Clock) -> None:
    rid = ncbi.client.submit(QUERY)
    clock.sleep(20)
    ncbi.client.poll(rid)
    clock.sleep(5)

    state = ncbi.client.poll(rid)

    assert state.phase == "running"
    assert state.ask_again_s == pytest.approx(55)
    assert len(ncbi.service.asked) == 2


def test_a_search_goes_on_after_a_restart(ncbi: Ncbi, clock: Clock, record: Path) -> None:
    rid = ncbi.client.submit(QUERY)
    ncbi.client.close()
    again = Etiquette(record, clock=clock, sleep=clock.sleep)

    with closing(NcbiBlast(IDENTITY, again, url=f"{ncbi.address}/Blast.cgi")) as client:
        assert client.poll(rid).ask_again_s == pytest.approx(18)
        clock.sleep(18)
        assert client.poll(rid).phase == "running"
        clock.sleep(60)
        assert client.poll(rid).phase == "finished"
        assert len(client.fetch(rid).hits) == 2
    assert ncbi.service.impolite == []


def test_a_search_without_hits_has_an_empty_report(ncbi: Ncbi, clock: Clock) -> None:
    ncbi.service.subjects = []
    ncbi.service.message = "No hits found"

    report = ncbi.client.fetch(finish(ncbi, clock))

    assert (report.hits, report.message) == ((), "No hits found")


@pytest.mark.parametrize("files", [1, 2])
def test_a_zip_is_read_when_it_has_one_report(ncbi: Ncbi, clock: Clock, files: int) -> None:
    rid = finish(ncbi, clock)
    document = {"BlastOutput2": {"report": tree(UBIQUITIN, ncbi.service.subjects)}}
    ncbi.service.next.extend([Canned(zipped(*[document] * files))] * 2)

    if files == 1:
        assert len(ncbi.client.fetch(rid).hits) == 2
    else:
        with pytest.raises(DependencyUnavailable, match="instead of a whole report"):
            ncbi.client.fetch(rid)


# What goes wrong at the submission


@pytest.mark.parametrize(
    "message",
    [
        "Message ID#32 Error: Query contains no data: Query contains no sequence data",
        "Message ID#24 Error: Failed to read the Blast query: Nucleotide FASTA provided for protein sequence",
    ],
)
def test_a_refused_query_quotes_the_message_of_ncbi_and_is_not_polled(ncbi: Ncbi, message: str) -> None:
    ncbi.service.next.append(Canned(REFUSED.format(message=message).encode()))

    with pytest.raises(InvalidInput, match=message.partition(": ")[2]):
        ncbi.client.submit(QUERY)
    assert len(ncbi.service.asked) == 1


def test_a_maintenance_page_instead_of_a_request_id_is_not_taken_for_one(ncbi: Ncbi) -> None:
    ncbi.service.next.append(Canned(MAINTENANCE))

    with pytest.raises(DependencyUnavailable, match="a page for people instead of a request id") as caught:
        ncbi.client.submit(QUERY)
    assert caught.value.retryable
    assert "temporarily" not in caught.value.message


@pytest.mark.parametrize("manner", ["silent", "dropped", "truncated"])
def test_a_submission_without_a_whole_answer_is_indeterminate_and_not_sent_again(ncbi: Ncbi, manner: Manner) -> None:
    ncbi.service.next.append(Canned(b"<html>" + b" " * 100, manner=manner))

    with pytest.raises(Indeterminate, match="may run there; it was not sent again"):
        ncbi.client.submit(QUERY)
    assert [asked.form["CMD"] for asked in ncbi.service.asked] == ["Put"]


@pytest.mark.parametrize("status", [500, 502, 504])
def test_a_submission_answered_by_a_gateway_error_is_indeterminate(ncbi: Ncbi, status: int) -> None:
    ncbi.service.next.append(Canned(status=status))

    with pytest.raises(Indeterminate, match=f"status {status}"):
        ncbi.client.submit(QUERY)
    assert len(ncbi.service.asked) == 1


def test_a_submission_that_finds_nobody_says_that_nothing_was_sent(etiquette: Etiquette) -> None:
    with (
        closing(NcbiBlast(IDENTITY, etiquette, url="http://127.0.0.1:9/Blast.cgi")) as client,
        pytest.raises(DependencyUnavailable, match="nothing was sent") as caught,
    ):
        client.submit(QUERY)
    assert caught.value.retryable


@pytest.mark.parametrize(
    ("query", "says"),
    [
        (RemoteQuery(sequence=""), "it is empty"),
        (RemoteQuery(sequence="@@@@ 1234"), "other characters than letters"),
        (RemoteQuery(sequence=">a\nMQIFVK\n>b\nMQIF"), "other characters than letters"),
        (RemoteQuery(sequence="XXXXXXXX"), "wildcards alone"),
        (RemoteQuery(sequence=DNA), "it is a nucleotide sequence"),
        (RemoteQuery(sequence=UBIQUITIN, program="blastx"), "no nucleotides"),
        (RemoteQuery(sequence=UBIQUITIN, database="core_nt"), "core_nt holds nucleotide sequences"),
        (RemoteQuery(sequence=DNA, program="blastn", database="swissprot"), "swissprot holds protein sequences"),
    ],
)
def test_a_senseless_query_never_leaves_this_machine(ncbi: Ncbi, query: RemoteQuery, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        ncbi.client.submit(query)
    assert ncbi.service.asked == []


@pytest.mark.parametrize(
    ("query", "database"),
    [
        (QUERY, "swissprot"),
        (RemoteQuery(sequence=DNA, program="blastn"), "core_nt"),
        (RemoteQuery(sequence=DNA, program="blastn", database="nt"), "nt"),
        (RemoteQuery(sequence=UBIQUITIN, database="my_own"), "my_own"),
    ],
)
def test_the_database_is_the_one_asked_for_or_that_of_the_program(
    ncbi: Ncbi, query: RemoteQuery, database: str
) -> None:
    ncbi.client.submit(query)

    assert ncbi.service.asked[0].form["DATABASE"] == database


@pytest.mark.parametrize(("asked", "sent"), [(None, "200000"), (0.001, "0.001")])
def test_a_peptide_is_searched_with_the_settings_for_short_queries(ncbi: Ncbi, asked: float | None, sent: str) -> None:
    ncbi.client.submit(RemoteQuery(sequence="MQIFVKTLT", max_evalue=asked))

    form = ncbi.service.asked[0].form
    assert (form["WORD_SIZE"], form["FILTER"], form["COMPOSITION_BASED_STATISTICS"]) == ("2", "F", "0")
    assert form["EXPECT"] == sent


# What goes wrong while a search runs


def test_a_lost_request_id_is_said_to_be_lost_after_one_poll(ncbi: Ncbi, clock: Clock) -> None:
    rid = ncbi.client.submit(QUERY)
    ncbi.service.forget()
    clock.sleep(60)

    with pytest.raises(NotFound, match=f"{rid}.*Submit it again") as caught:
        ncbi.client.poll(rid)
    assert caught.value.fields["rid"] == rid
    assert len(ncbi.service.polls[rid]) == 1


def test_a_failed_search_is_not_taken_for_a_lost_one(ncbi: Ncbi, clock: Clock) -> None:
    rid = ncbi.client.submit(QUERY)
    clock.sleep(60)
    ncbi.service.next.append(Canned(STATE.format(status="FAILED", more="", rid=rid).encode()))

    with pytest.raises(DependencyUnavailable, match="gave up on it") as caught:
        ncbi.client.poll(rid)
    assert (caught.value.retryable, caught.value.fields["rid"]) == (False, rid)


@pytest.mark.parametrize(
    "answer",
    [
        Canned(MAINTENANCE),
        Canned(STATE.format(status="", more="", rid="A").encode()),
        Canned(status=504),
        Canned(manner="silent"),
        Canned(manner="dropped"),
    ],
    ids=["maintenance", "empty status", "504", "silent", "dropped"],
)
def test_a_poll_without_an_answer_leaves_the_search_as_it_is(ncbi: Ncbi, clock: Clock, answer: Canned) -> None:
    rid = ncbi.client.submit(QUERY)
    clock.sleep(60)
    ncbi.service.next.append(answer)

    with pytest.raises(DependencyUnavailable) as caught:
        ncbi.client.poll(rid)
    assert caught.value.retryable
    assert caught.value.fields["rid"] == rid
    while (state := ncbi.client.poll(rid)).phase == "running":
        clock.sleep(state.ask_again_s)
    assert ncbi.service.impolite == []


def test_a_request_id_of_another_kind_is_refused_here(ncbi: Ncbi) -> None:
    with pytest.raises(InvalidInput, match="no request id of NCBI"):
        ncbi.client.poll("RID = RTOE")
    assert ncbi.service.asked == []


def test_a_request_id_of_somebody_else_can_be_polled(ncbi: Ncbi) -> None:
    ncbi.service.searches["THEIRS01016"] = {"QUERY": UBIQUITIN}

    assert ncbi.client.poll("THEIRS01016").phase == "running"


def test_cancelling_says_that_ncbi_goes_on(ncbi: Ncbi) -> None:
    rid = ncbi.client.submit(QUERY)

    assert ncbi.client.cancel(rid) is False
    assert len(ncbi.service.asked) == 1


# What goes wrong with a report: never a silent zero


@pytest.mark.parametrize("message", [CPU_LIMIT, SIZE_LIMIT, f"{CPU_LIMIT} No hits found"])
def test_a_search_stopped_at_a_limit_is_an_error_with_advice(ncbi: Ncbi, clock: Clock, message: str) -> None:
    error = failure(ncbi, finish(ncbi, clock), page(tree(UBIQUITIN, [], message=message)))

    assert (error.code, error.retryable) == ("dependency_unavailable", False)
    assert "does not mean that there are no hits" in error.message
    assert "smaller database" in error.message


def test_another_message_of_an_error_is_no_empty_report(ncbi: Ncbi, clock: Clock) -> None:
    message = "Error: Failed to collect db stats for nr. No hits found"

    error = failure(ncbi, finish(ncbi, clock), page(tree(UBIQUITIN, [], message=message)))

    assert "Failed to collect db stats" in error.message


BROKEN = {
    "maintenance": Canned(MAINTENANCE),
    "page said to be JSON": Canned(MAINTENANCE, media_type="application/json"),
    "empty ZIP": Canned(zipped()),
    "no ZIP at all": Canned(b"PK\x03\x04"),
    "cut ZIP": Canned(zipped({"BlastOutput2": {"report": tree(UBIQUITIN, [])}})[:200]),
    "cut JSON": Canned(b'{"BlastOutput2": [{"report": {"program": "blastp"'),
    "nothing": Canned(b""),
    "other JSON": Canned(b'{"hits": []}'),
    "no statistics": page({"program": "blastp", "results": {"search": {"query_len": 76, "hits": []}}}),
    "no hits though there are": page(tree(UBIQUITIN, [])),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_report_is_fetched_twice_and_then_an_error(ncbi: Ncbi, clock: Clock, answer: Canned) -> None:
    rid = finish(ncbi, clock)
    before = len(ncbi.service.asked)

    error = failure(ncbi, rid, answer, answer)

    assert (error.code, error.retryable) == ("dependency_unavailable", True)
    assert "instead of a whole report" in error.message
    assert len(ncbi.service.asked) == before + 2


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_report_that_is_whole_the_second_time_is_taken(ncbi: Ncbi, clock: Clock, answer: Canned) -> None:
    rid = finish(ncbi, clock)
    ncbi.service.next.append(answer)

    assert len(ncbi.client.fetch(rid).hits) == 2
    assert ncbi.service.impolite == []


@pytest.mark.parametrize(
    "answer",
    [
        Canned(status=503),
        Canned(status=504),
        Canned(status=429, headers={"Retry-After": "30"}),
        Canned(manner="silent"),
        Canned(manner="dropped"),
        Canned(b"{" * 1000, manner="truncated"),
    ],
    ids=["503", "504", "429", "silent", "dropped", "truncated"],
)
def test_a_fetch_that_fails_in_passing_is_repeated(ncbi: Ncbi, clock: Clock, answer: Canned) -> None:
    rid = finish(ncbi, clock)
    ncbi.service.next.append(answer)

    assert len(ncbi.client.fetch(rid).hits) == 2
    assert ncbi.service.impolite == []


def test_a_fetch_that_always_fails_gives_up_after_three_attempts(ncbi: Ncbi, clock: Clock) -> None:
    rid = finish(ncbi, clock)
    before = len(ncbi.service.asked)

    error = failure(ncbi, rid, *[Canned(status=503)] * 3)

    assert (error.code, error.retryable) == ("dependency_unavailable", True)
    assert len(ncbi.service.asked) == before + 3
    assert ncbi.service.impolite == []


def test_a_report_asked_for_too_early_says_that_the_search_runs(ncbi: Ncbi) -> None:
    error = failure(ncbi, ncbi.client.submit(QUERY))

    assert (error.retryable, error.fields["retry_after_s"]) == (True, 60)


def test_a_report_of_a_lost_search_is_not_empty(ncbi: Ncbi, clock: Clock) -> None:
    rid = finish(ncbi, clock)
    ncbi.service.forget()

    assert failure(ncbi, rid).code == "not_found"


def test_a_report_that_is_too_large_is_not_read(ncbi: Ncbi, clock: Clock) -> None:
    error = failure(ncbi, finish(ncbi, clock), Canned(b" " * 200_000))

    assert isinstance(error, ResourceTooLarge)


# Limits of NCBI


def test_after_a_refusal_ncbi_is_left_alone_for_an_hour(ncbi: Ncbi, clock: Clock) -> None:
    ncbi.service.next.append(Canned(status=403))
    with pytest.raises(DependencyUnavailable, match="refused this machine"):
        ncbi.client.submit(QUERY)

    with pytest.raises(DependencyUnavailable, match="refused this machine"):
        ncbi.client.submit(QUERY)

    assert len(ncbi.service.asked) == 1
    clock.sleep(3_601)
    assert ncbi.client.submit(QUERY)


@pytest.mark.parametrize("status", [429, 503])
def test_a_long_pause_that_ncbi_asks_for_is_kept(ncbi: Ncbi, clock: Clock, status: int) -> None:
    ncbi.service.next.append(Canned(status=status, headers={"Retry-After": "600"}))
    with pytest.raises(RateLimited) as caught:
        ncbi.client.submit(QUERY)

    assert caught.value.fields["retry_after_s"] == 600
    with pytest.raises(RateLimited):
        ncbi.client.submit(QUERY)
    assert len(ncbi.service.asked) == 1
    clock.sleep(600)
    assert ncbi.client.submit(QUERY)


def test_the_hundred_and_first_search_of_a_day_is_not_sent(ncbi: Ncbi) -> None:
    for _ in range(100):
        ncbi.client.submit(QUERY)

    with pytest.raises(RateLimited, match="100 searches in 24 hours") as caught:
        ncbi.client.submit(QUERY)

    assert caught.value.fields["retry_after_s"] == pytest.approx(86_400 - 990, abs=1)
    assert len(ncbi.service.asked) == 100
