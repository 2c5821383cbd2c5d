"""BLAST at EMBL-EBI: a search from submission to report, and every way in which it is known to fail."""

import json
from itertools import pairwise

import pytest

from protatlas.errors import DependencyUnavailable, Indeterminate, InvalidInput, ProtatlasError, RateLimited
from protatlas.reports import Database
from protatlas.services.remote import RemoteQuery
from tests.fakes.ebi import error, output
from tests.fakes.ncbi import MAINTENANCE
from tests.fakes.web_service import Canned, Clock
from tests.known_proteins import UBIQUITIN
from tests.services.conftest import IDENTITY, Ebi

QUERY = RemoteQuery(sequence=UBIQUITIN)


def finish(ebi: Ebi, clock: Clock) -> str:
    """Id of a search that has been polled to its end."""
    job = ebi.client.submit(QUERY)
    while (state := ebi.client.poll(job)).phase == "running":
        clock.sleep(state.ask_again_s)
    return job


def test_a_search_gives_the_report_that_ncbi_gives(ebi: Ebi, clock: Clock) -> None:
    report = ebi.client.fetch(finish(ebi, clock))

    best, second = report.hits
    assert (best.accession, best.title, best.organism, best.taxid) == ("P0CG48", "A protein", "Homo sapiens", 9606)
    assert (second.best.identical, second.best.columns) == (44, 76)
    assert report.database == Database(
        name="uniprotkb_swissprot", date="2026-10-07T02:09:00+00:00", sequences=573_661, residues=207_922_125
    )
    assert (report.program, report.query_length, report.total) == ("blastp", 76, None)


def test_identical_columns_are_counted_and_gaps_too(ebi: Ebi, clock: Clock) -> None:
    job = finish(ebi, clock)
    found = output("MQIF", [("P0CG48", "MQIF")])
    found["hits"][0]["hit_hsps"][0] |= {"hsp_qseq": "MQ-IF", "hsp_mseq": "M+ I ", "hsp_hseq": "MEKIL"}
    ebi.service.next.extend([Canned(b"<types><type><identifier>json</identifier></type></types>")])
    ebi.service.next.append(Canned(json.dumps(found).encode()))

    (hit,) = ebi.client.fetch(job).hits

    assert (hit.best.identical, hit.best.positive, hit.best.gaps, hit.best.columns) == (2, 3, 1, 5)


def test_a_submission_carries_the_mail_address_and_the_nearest_wider_steps(ebi: Ebi) -> None:
    ebi.client.submit(RemoteQuery(sequence=UBIQUITIN, database="swissprot", max_evalue=0.005, limit=12))

    (asked,) = ebi.service.asked
    assert asked.form == {
        "email": IDENTITY.email,
        "program": "blastp",
        "stype": "protein",
        "sequence": UBIQUITIN,
        "database": "uniprotkb_swissprot",
        "scores": "20",
        "alignments": "20",
        "exp": "1e-2",
    }
    assert asked.headers["user-agent"].startswith("protatlas/")


def test_contacts_are_a_second_apart_and_polls_five(ebi: Ebi, clock: Clock) -> None:
    ebi.service.waits = 10

    ebi.client.fetch(finish(ebi, clock))

    times = [asked.at for asked in ebi.service.asked]
    polls = [asked.at for asked in ebi.service.asked if "/status/" in asked.path]
    assert min(later - sooner for sooner, later in pairwise(times)) >= 1
    assert min(later - sooner for sooner, later in pairwise(polls)) >= 5


def test_a_search_without_hits_has_an_empty_report(ebi: Ebi, clock: Clock) -> None:
    ebi.service.subjects = []

    assert ebi.client.fetch(finish(ebi, clock)).hits == ()


# What goes wrong


def test_a_refused_search_quotes_the_description_of_ebi(ebi: Ebi) -> None:
    ebi.service.next.append(
        Canned(error("Invalid parameters: <br/>Sequence -&gt; Error in reading input sequence."), status=400)
    )

    with pytest.raises(InvalidInput, match="Sequence -> Error in reading input sequence"):
        ebi.client.submit(QUERY)


def test_a_page_instead_of_an_id_is_not_taken_for_one(ebi: Ebi) -> None:
    ebi.service.next.append(Canned(MAINTENANCE))

    with pytest.raises(DependencyUnavailable, match="instead of the id of a search"):
        ebi.client.submit(QUERY)


@pytest.mark.parametrize("answer", [Canned(manner="silent"), Canned(manner="dropped"), Canned(status=502)])
def test_a_submission_without_an_answer_is_indeterminate_and_not_sent_again(ebi: Ebi, answer: Canned) -> None:
    ebi.service.next.append(answer)

    with pytest.raises(Indeterminate):
        ebi.client.submit(QUERY)
    assert len(ebi.service.asked) == 1


@pytest.mark.parametrize("status", ["FAILURE", "NOT_FOUND"])
def test_a_failed_search_is_not_taken_for_a_lost_one(ebi: Ebi, clock: Clock, status: str) -> None:
    ebi.service.ends_as = status
    ebi.service.waits = 0

    with pytest.raises(ProtatlasError) as caught:
        finish(ebi, clock)

    assert caught.value.code == {"FAILURE": "dependency_unavailable", "NOT_FOUND": "not_found"}[status]
    assert not caught.value.retryable
    assert str(caught.value.fields["rid"]).startswith("ncbiblast-R")


@pytest.mark.parametrize("answer", [Canned(b"ERROR"), Canned(b""), Canned(MAINTENANCE), Canned(status=503)])
def test_a_poll_without_an_answer_leaves_the_search_as_it_is(ebi: Ebi, clock: Clock, answer: Canned) -> None:
    job = ebi.client.submit(QUERY)
    clock.sleep(5)
    ebi.service.next.append(answer)

    with pytest.raises(DependencyUnavailable) as caught:
        ebi.client.poll(job)

    assert caught.value.retryable
    clock.sleep(5)
    assert ebi.client.poll(job).phase == "finished"


def test_a_search_that_has_no_json_says_what_it_has(ebi: Ebi, clock: Clock) -> None:
    ebi.service.types = ["out", "error"]

    with pytest.raises(DependencyUnavailable, match="no report, only: out, error"):
        ebi.client.fetch(finish(ebi, clock))


def test_a_report_asked_for_too_early_says_that_the_search_runs(ebi: Ebi) -> None:
    job = ebi.client.submit(QUERY)

    with pytest.raises(DependencyUnavailable, match="still runs"):
        ebi.client.fetch(job)


BROKEN = {
    "page": Canned(MAINTENANCE),
    "cut": Canned(json.dumps(output(UBIQUITIN, [])).encode()[:300]),
    "no hits field": Canned(json.dumps({**output(UBIQUITIN, []), "hits": None}).encode()),
    "other JSON": Canned(b"{}"),
}


@pytest.mark.parametrize("answer", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_report_is_fetched_twice_and_then_an_error(ebi: Ebi, clock: Clock, answer: Canned) -> None:
    job = finish(ebi, clock)
    types = Canned(b"<types><type><identifier>json</identifier></type></types>")
    ebi.service.next.extend([types, answer, answer])

    with pytest.raises(DependencyUnavailable, match="instead of a whole report") as caught:
        ebi.client.fetch(job)
    assert caught.value.retryable


def test_the_thirty_first_search_at_a_time_waits(ebi: Ebi, clock: Clock) -> None:
    jobs = [ebi.client.submit(QUERY) for _ in range(30)]
    with pytest.raises(RateLimited, match="30 searches at a time"):
        ebi.client.submit(QUERY)

    ebi.service.waits = 0
    clock.sleep(1)
    ebi.client.poll(jobs[0])

    assert ebi.client.submit(QUERY)


def test_an_id_of_another_kind_is_refused_here(ebi: Ebi) -> None:
    with pytest.raises(InvalidInput, match="no search id of EBI"):
        ebi.client.poll("../../status")
    assert ebi.service.asked == []


def test_cancelling_says_that_ebi_goes_on(ebi: Ebi) -> None:
    assert ebi.client.cancel(ebi.client.submit(QUERY)) is False
