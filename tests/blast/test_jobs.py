"""Searches as jobs: shared, kept, cancelled, and taken over from a process that ended."""

import json
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest

from protatlas.blast.jobs import DAY_S, JobStore, SearchRunning
from protatlas.blast.runner import Handle, Runner
from protatlas.blast.search import Search
from protatlas.engines.blastplus import Stopped
from protatlas.errors import DependencyUnavailable, InvalidInput, NotFound
from protatlas.reports import Database, Origin, Report
from tests.fakes.web_service import Clock
from tests.known_proteins import UBIQUITIN

SEARCH = Search(sequence=UBIQUITIN, engine="phmmer", database="globins", version="1")
ABOUT = {"engine": "held", "program": "blastp", "database": Database(name="globins"), "query_length": 76, "hits": ()}
REPORT = Report.model_validate({**ABOUT, "total": 0})
FOREVER_S = 60.0


class Held:
    """Work that ends when it is released, and notes what it was asked."""

    def __init__(self, report: Report = REPORT) -> None:
        self.released, self.begun = Event(), Event()
        self.asked: list[Search] = []
        self.report = report

    def __call__(self, search: Search, handle: Handle) -> Report:
        self.asked.append(search)
        self.begun.set()
        while not self.released.wait(0.01):
            if handle.stop.is_set():
                raise Stopped
        return self.report


class Desk:
    """A runner over one file with work that is held."""

    def __init__(self, file: Path, work: Held) -> None:
        self.clock = Clock()
        self.store = JobStore(file, clock=self.clock)
        self.work = work
        self.runner = Runner(self.store, work)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """File of the jobs."""
    return tmp_path / "state" / "jobs.sqlite"


@pytest.fixture
def desk(file: Path) -> Iterator[Desk]:
    made = Desk(file, Held())
    yield made
    made.work.released.set()
    made.runner.close()


def test_a_search_is_done_and_answers_the_same_search_again(desk: Desk) -> None:
    desk.work.released.set()
    first = desk.runner.wait(desk.runner.start(SEARCH).rid, timeout_s=FOREVER_S)
    again = desk.runner.start(SEARCH)
    assert (first.state, first.report, again.report) == ("done", REPORT, REPORT)
    assert len(desk.work.asked) == 1


def test_other_parameters_and_another_version_of_the_database_are_other_searches(desk: Desk) -> None:
    desk.work.released.set()
    others = [SEARCH.model_copy(update=change) for change in ({"limit": 11}, {"version": "2"}, {"max_evalue": 1e-3})]
    rids = {desk.runner.wait(desk.runner.start(search).rid, timeout_s=FOREVER_S).rid for search in (SEARCH, *others)}
    assert (len(rids), len(desk.work.asked)) == (4, 4)


def test_concurrent_identical_searches_share_one_job(desk: Desk) -> None:
    with ThreadPoolExecutor(4) as callers:
        jobs = list(callers.map(desk.runner.start, [SEARCH] * 4))
    desk.work.released.set()
    assert {desk.runner.wait(job.rid, timeout_s=FOREVER_S).state for job in jobs} == {"done"}
    assert len(desk.work.asked) == 1


def test_a_search_goes_on_after_the_wait_and_keeps_its_rid(desk: Desk) -> None:
    job = desk.runner.wait(desk.runner.start(SEARCH).rid, timeout_s=0)
    error = SearchRunning(job, waited_s=0, now="").answer()
    assert (error["code"], error["retryable"], error["rid"]) == ("dependency_unavailable", True, job.rid)
    desk.work.released.set()
    assert desk.runner.wait(str(error["rid"]), timeout_s=FOREVER_S).state == "done"


def test_the_request_id_does_not_hold_the_query(desk: Desk) -> None:
    rid = desk.runner.start(SEARCH).rid
    assert rid.startswith("local-")
    assert len(rid) == len("local-") + 16


def test_a_failure_keeps_its_code_and_sentence_and_the_next_call_begins_anew(file: Path) -> None:
    asked: list[Search] = []

    def refuse(search: Search, _: Handle) -> Report:
        asked.append(search)
        raise InvalidInput("sequence", "it is too long", "a shorter one", max_length=10)

    runner = Runner(JobStore(file), refuse)
    for _ in range(2):
        failure = runner.wait(runner.start(SEARCH).rid, timeout_s=FOREVER_S).failure
        assert isinstance(failure, InvalidInput)
        assert failure.answer() == InvalidInput("sequence", "it is too long", "a shorter one", max_length=10).answer()
    assert len(asked) == 2
    runner.close()


def test_a_defect_ends_the_job_without_its_text(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Search, __: Handle) -> Report:
        raise RuntimeError("secret")

    runner = Runner(JobStore(file), fail)
    job = runner.wait(runner.start(SEARCH).rid, timeout_s=FOREVER_S)
    assert job.error is not None
    assert job.error["code"] == "internal_error"
    assert "secret" not in str(job.error)
    assert "secret" in caplog.text
    runner.close()


def test_a_cancelled_search_ends_and_can_be_begun_again(desk: Desk) -> None:
    rid = desk.runner.start(SEARCH).rid
    desk.work.begun.wait()
    assert desk.runner.cancel(rid).state == "cancelled"
    desk.work.released.set()
    assert desk.runner.wait(desk.runner.start(SEARCH).rid, timeout_s=FOREVER_S).state == "done"


def test_cancelling_what_is_done_changes_nothing(desk: Desk) -> None:
    desk.work.released.set()
    rid = desk.runner.wait(desk.runner.start(SEARCH).rid, timeout_s=FOREVER_S).rid
    assert desk.runner.cancel(rid).state == "done"


def test_an_unknown_rid_is_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound, match="local-0000"):
        desk.runner.get("local-0000")


def test_running_searches_are_listed_oldest_first(desk: Desk) -> None:
    rids = []
    for limit in (1, 2, 3):
        rids.append(desk.runner.start(SEARCH.model_copy(update={"limit": limit})).rid)
        desk.clock.sleep(1)
    assert [job.rid for job in desk.runner.running()] == rids


def test_two_processes_share_a_search(desk: Desk, file: Path) -> None:
    rid = desk.runner.start(SEARCH).rid
    other = Desk(file, Held())
    assert other.runner.start(SEARCH).rid == rid
    assert other.runner.resume() == []
    desk.work.released.set()
    assert other.runner.wait(rid, timeout_s=FOREVER_S).report == REPORT
    assert other.work.asked == []
    other.runner.close()


def test_the_report_of_a_service_is_asked_for_again_after_a_day(file: Path) -> None:
    origin = Origin(service="NCBI", search="ABCDEFGH016", address="https://x", retrieved_at="2026-12-01")
    desk = Desk(file, Held(REPORT.model_copy(update={"origin": origin})))
    desk.work.released.set()
    search = SEARCH.model_copy(update={"engine": "ncbi"})
    for wait_s in (0.0, DAY_S / 2, DAY_S):
        desk.clock.sleep(wait_s)
        desk.runner.wait(desk.runner.start(search).rid, timeout_s=FOREVER_S)
    assert len(desk.work.asked) == 2
    desk.runner.close()


@pytest.mark.skipif(os.name != "posix", reason="permissions of the file are those of POSIX")
def test_only_the_owner_may_read_the_searches(desk: Desk, file: Path) -> None:
    desk.runner.start(SEARCH)
    assert file.stat().st_mode & 0o077 == 0


def test_a_file_that_cannot_be_kept_is_named(tmp_path: Path) -> None:
    file = tmp_path / "jobs.sqlite"
    file.write_text("not a database, and long enough to be read as one" * 100, encoding="ascii")
    runner = Runner(JobStore(file), Held())
    with pytest.raises(DependencyUnavailable, match=r"jobs\.sqlite"):
        runner.start(SEARCH)
    runner.close()


def _begin_and_hang(file: Path, folder: Path) -> None:
    """What a server does that is killed in the middle of a search."""

    def hang(_: Search, handle: Handle) -> Report:
        handle.sent("ABCDEFGH016")
        (folder / "begun").touch()
        handle.stop.wait()
        raise Stopped

    def vanish(_: Search, handle: Handle) -> Report:
        handle.sending()
        (folder / "sending").touch()
        handle.stop.wait()
        raise Stopped

    Runner(JobStore(file), hang).start(SEARCH.model_copy(update={"engine": "ncbi"}))
    Runner(JobStore(file), vanish).start(SEARCH.model_copy(update={"engine": "ebi"}))
    Event().wait()


def test_a_search_whose_process_was_killed_is_taken_up_again_with_its_id(file: Path, tmp_path: Path) -> None:
    server = multiprocessing.get_context("spawn").Process(target=_begin_and_hang, args=(file, tmp_path))
    server.start()
    while not ((tmp_path / "begun").exists() and (tmp_path / "sending").exists()):
        assert server.is_alive()
    assert server.pid is not None
    os.kill(server.pid, signal.SIGKILL)
    server.join()

    seen: list[str | None] = []

    def go_on(_: Search, handle: Handle) -> Report:
        seen.append(handle.job.remote_id)
        return REPORT

    runner = Runner(JobStore(file), go_on)
    by_engine = {job.search.engine: job.rid for job in runner.resume()}
    taken_up, lost = (runner.wait(by_engine[engine], timeout_s=FOREVER_S) for engine in ("ncbi", "ebi"))

    assert (taken_up.state, taken_up.report, seen) == ("done", REPORT, ["ABCDEFGH016"])
    assert lost.error is not None
    assert (lost.state, lost.error["code"]) == ("failed", "indeterminate")
    assert json.dumps(lost.error).count("not sent again") == 1
    runner.close()
