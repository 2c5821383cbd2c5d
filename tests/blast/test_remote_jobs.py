"""Searches at services as jobs: over real sockets to services that run here; time passes by sleeping alone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import NamedTuple

import pytest

from protatlas.blast.databases import Databases
from protatlas.blast.jobs import Job, JobStore
from protatlas.blast.search import Search
from protatlas.blast.searches import Searches
from protatlas.errors import DependencyUnavailable, NotFound
from protatlas.services.ebi import EbiBlast
from protatlas.services.etiquette import Etiquette
from protatlas.services.http import Identity
from protatlas.services.ncbi import NcbiBlast
from protatlas.services.remote import RemoteBlast
from tests.fakes.ebi import BASE, FakeEbi
from tests.fakes.ncbi import MAINTENANCE, STATE, FakeNcbi, tree
from tests.fakes.web_service import Canned, Clock, FakeService, running
from tests.known_proteins import UBIQUITIN

IDENTITY = Identity("curator@institute.example")
FOREVER_S = 60.0
SEARCH = Search(sequence=UBIQUITIN, engine="ncbi", database="swissprot")


class Place(NamedTuple):
    """A service, and where searches over it keep their files."""

    service: FakeNcbi
    address: str
    folder: Path
    clock: Clock

    @contextmanager
    def searches(self) -> Iterator[Searches]:
        """Searches of one process."""
        etiquette = Etiquette(self.folder / "contacts.sqlite", clock=self.clock, sleep=self.clock.sleep)
        client = NcbiBlast(IDENTITY, etiquette, url=f"{self.address}/Blast.cgi", timeout_s=0.3)
        made = searches_with(self.folder, self.clock, ncbi=client)
        yield made
        made.close()


def searches_with(folder: Path, clock: Clock, **remotes: RemoteBlast) -> Searches:
    def pause(_: Event, seconds: float) -> None:
        clock.sleep(seconds)

    store = JobStore(folder / "jobs.sqlite", clock=clock)
    return Searches(store, Databases(folder / "databases"), folder=folder, remotes=remotes, pause=pause)


@pytest.fixture
def ncbi(tmp_path: Path) -> Iterator[Place]:
    clock = Clock()
    service = FakeNcbi(clock)
    with running(service) as address:
        yield Place(service, address, tmp_path, clock)


def finished(searches: Searches, search: Search = SEARCH) -> Job:
    return searches.runner.wait(searches.runner.start(search).rid, timeout_s=FOREVER_S)


def puts(service: FakeService) -> int:
    return sum(asked.form.get("CMD") == "Put" for asked in service.asked)


def test_a_search_at_ncbi_is_begun_polled_and_fetched(ncbi: Place) -> None:
    ncbi.service.waits = 3
    with ncbi.searches() as searches:
        job = finished(searches)
    assert job.report is not None
    assert [hit.accession for hit in job.report.hits] == ["P0CG48", "Q15843"]
    assert (job.report.total, job.report.database.name, job.state) == (2, "swissprot", "done")
    assert job.shown_id == job.remote_id
    assert job.remote_id is not None
    assert job.remote_id in ncbi.service.searches


def test_polls_are_a_minute_apart_or_more_where_the_caller_asks(ncbi: Place) -> None:
    ncbi.service.waits = 3
    with ncbi.searches() as searches:
        searches.runner.wait(searches.runner.start(SEARCH, poll_s=90).rid, timeout_s=FOREVER_S)
    polls = [asked.at for asked in ncbi.service.asked if asked.form.get("FORMAT_OBJECT") == "SearchInfo"]
    assert len(polls) == 4
    assert all(later - earlier >= 90 for earlier, later in pairwise(polls[1:]))


def test_the_same_search_is_answered_without_asking_again(ncbi: Place) -> None:
    with ncbi.searches() as searches:
        first = finished(searches)
        contacts = len(ncbi.service.asked)
        assert finished(searches) == first
    with ncbi.searches() as after_a_restart:
        assert finished(after_a_restart) == first
    assert len(ncbi.service.asked) == contacts


def test_a_restart_goes_on_with_the_search_and_does_not_send_it_twice(ncbi: Place) -> None:
    ncbi.service.waits = 10**9
    with ncbi.searches() as searches:
        job = searches.runner.start(SEARCH)
        while not (known := searches.runner.get(job.rid).remote_id):
            pass
    ncbi.service.waits = 0
    with ncbi.searches() as again:
        (taken,) = again.runner.resume()
        done = again.runner.wait(taken.rid, timeout_s=FOREVER_S)
    assert (done.state, done.remote_id, puts(ncbi.service)) == ("done", known, 1)


def test_a_page_instead_of_the_report_is_an_error_and_the_next_call_fetches_again(ncbi: Place) -> None:
    with ncbi.searches() as searches:
        ncbi.service.reports.extend([Canned(MAINTENANCE)] * 2)
        job = finished(searches)
        assert (job.state, job.report) == ("failed", None)
        assert isinstance(job.failure, DependencyUnavailable)
        assert job.failure.retryable
        assert finished(searches).state == "done"
    assert puts(ncbi.service) == 1


def test_a_report_stopped_at_a_limit_is_never_empty(ncbi: Place) -> None:
    stopped = tree(UBIQUITIN, [], message="Error: CPU usage limit was exceeded SIGXCPU (24)")
    ncbi.service.reports.append(Canned(json.dumps({"BlastOutput2": [{"report": stopped}]}).encode()))
    with ncbi.searches() as searches:
        job = finished(searches)
    assert job.failure is not None
    assert "does not mean that there are no hits" in job.failure.message


def test_a_lost_rid_ends_the_search_and_is_named(ncbi: Place) -> None:
    ncbi.service.states.append(Canned(STATE.format(status="UNKNOWN", more="", rid="x").encode()))
    with ncbi.searches() as searches:
        job = finished(searches)
        assert isinstance(job.failure, NotFound)
        assert job.remote_id is not None
        assert job.remote_id in job.failure.message
        assert finished(searches).state == "done"
    assert puts(ncbi.service) == 2


def test_a_search_of_another_place_is_fetched_by_its_rid(ncbi: Place) -> None:
    ncbi.service.searches["THEIRS01016"] = {"QUERY": UBIQUITIN}
    ncbi.service.waits = 0
    with ncbi.searches() as searches:
        assert [hit.accession for hit in searches.fetch("THEIRS01016").hits] == ["P0CG48", "Q15843"]


def test_cancelling_stops_the_polls(ncbi: Place) -> None:
    ncbi.service.waits = 10**9
    with ncbi.searches() as searches:
        rid = searches.runner.start(SEARCH).rid
        future = searches.runner.ended(rid)
        while not searches.runner.get(rid).remote_id:
            pass
        assert searches.runner.cancel(rid).state == "cancelled"
        assert future is not None
        future.result(timeout=FOREVER_S)
        assert searches.runner.get(rid).state == "cancelled"


def test_a_search_at_ebi_is_a_job_too(tmp_path: Path) -> None:
    clock = Clock()
    with running(FakeEbi(clock)) as address:
        etiquette = Etiquette(tmp_path / "contacts.sqlite", clock=clock, sleep=clock.sleep)
        searches = searches_with(tmp_path, clock, ebi=EbiBlast(IDENTITY, etiquette, url=f"{address}{BASE}"))
        job = finished(searches, SEARCH.model_copy(update={"engine": "ebi"}))
        searches.close()
    assert job.report is not None
    assert job.report.origin is not None
    assert (job.report.origin.service, [hit.accession for hit in job.report.hits]) == ("EMBL-EBI", ["P0CG48", "Q15843"])
