"""Searches as jobs in a SQLite file, which outlive the process that began them.

Each process that runs jobs holds a lock on a file of its own beside the database; the system lets go of it when the
process ends, however it ends, so that another one can tell and takes its jobs over.
"""

import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal
from uuid import uuid4

from filelock import FileLock, Timeout

from protatlas.blast.search import REMOTE_ENGINES, Search
from protatlas.errors import DependencyUnavailable, Field, ProtatlasError, kept_error
from protatlas.records import Record
from protatlas.reports import Report

LOG = logging.getLogger(__name__)
LOCK_TIMEOUT_S = 30.0
DAY_S = 86_400.0
REMOTE_FRESH_S = DAY_S
"""Age up to which the report of a service answers the same search again: its databases change by the week."""
KEPT_S = 30 * DAY_S
KEPT_JOBS = 1_000
LOCAL_RETRY_S, REMOTE_RETRY_S = 5.0, 60.0
State = Literal["queued", "sending", "running", "done", "failed", "cancelled"]
OVER: tuple[State, ...] = ("done", "failed", "cancelled")
COLUMNS = "rid, search, state, owner, remote_id, poll_s, begun_at, ended_at, report, error"
SCHEMA = """
CREATE TABLE IF NOT EXISTS job (rid TEXT PRIMARY KEY, search TEXT NOT NULL, state TEXT NOT NULL, owner TEXT NOT NULL,
                                remote_id TEXT, poll_s REAL NOT NULL, begun_at REAL NOT NULL, ended_at REAL,
                                report TEXT, error TEXT);
CREATE INDEX IF NOT EXISTS job_remote_id ON job (remote_id);
"""


class Job(Record):
    """A search and how far it is.

    `state` is `sending` from just before a query leaves for a service until its id is known. `remote_id` is that id,
    `poll_s` the least seconds between two polls. Times are seconds since 1970. `error` is the object of the error that
    ended it.
    """

    rid: str
    search: Search
    state: State
    owner: str
    remote_id: str | None
    poll_s: float
    begun_at: float
    ended_at: float | None
    report: Report | None
    error: dict[str, Field] | None

    @property
    def is_over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.state in OVER

    @property
    def shown_id(self) -> str:
        """Id that callers see: that of the service once it is known."""
        return self.remote_id or self.rid

    @property
    def failure(self) -> ProtatlasError | None:
        """The error that ended it."""
        return kept_error(self.error) if self.error else None

    def answers(self, now: float) -> bool:
        """Whether its report still answers the same search."""
        fresh = self.report is not None and (self.report.origin is None or now - (self.ended_at or 0) < REMOTE_FRESH_S)
        return self.state == "done" and fresh


class SearchRunning(DependencyUnavailable):
    """A search has not ended within the time that its caller would wait; it goes on."""

    retryable = True

    def __init__(self, job: Job, *, waited_s: float, now: str) -> None:
        super().__init__(
            f"The result of search {job.shown_id}, which still runs after {waited_s:g} s,",
            f"{now}Repeat the same call to join it, or ask blast_job for its result: it is not computed again.",
            rid=job.shown_id,
            retry_after_s=REMOTE_RETRY_S if job.search.engine in REMOTE_ENGINES else LOCAL_RETRY_S,
        )


class JobStore:
    """Jobs in a file that is made at the first use; processes that share it share the jobs.

    Parameters
    ----------
    path
        The SQLite file. It holds the sequences that were searched: only its owner may read it.
    clock
        Seconds since 1970.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self.clock = clock
        self.owner = uuid4().hex
        self._lock: FileLock | None = None

    def close(self) -> None:
        """Let others take over what this process runs."""
        if self._lock is not None:
            self._lock.release()
            Path(self._lock.lock_file).unlink(missing_ok=True)
            self._lock = None

    def get(self, rid: str) -> Job | None:
        """Job of a request id, of this machine or of a service."""
        with self._transaction() as record:
            return self._one(record, "rid = ?1 OR remote_id = ?1 ORDER BY begun_at DESC", rid)

    def open_jobs(self) -> list[Job]:
        """Jobs that are not over, oldest first."""
        with self._transaction() as record:
            rows = record.execute(
                f"SELECT {COLUMNS} FROM job WHERE state NOT IN (?, ?, ?) ORDER BY begun_at", OVER
            ).fetchall()
        return [_job(row) for row in rows]

    def claim(self, search: Search, *, poll_s: float) -> tuple[Job, bool]:
        """Job of a search, and whether this process has to run it.

        A report that still answers is not made again, and a job that runs is joined. One that failed or was cancelled
        begins anew; where the service may still have the result, with the id that it has there.
        """
        self._hold()
        now = self.clock()
        with self._transaction() as record:
            self._trim(record, now)
            known = self._one(record, "rid = ?1", search.rid)
            if known and (known.answers(now) or (not known.is_over and self._is_alive(known.owner))):
                return known, False
            remote_id = known.remote_id if known and (not known.is_over or _may_fetch(known)) else None
            begun_at = known.begun_at if known and not known.is_over else now
            record.execute(
                f"INSERT OR REPLACE INTO job ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, NULL, NULL, NULL)",
                (
                    search.rid,
                    search.model_dump_json(),
                    known.state if known and not known.is_over else "queued",
                    self.owner,
                    remote_id,
                    poll_s,
                    begun_at,
                ),
            )
            job = self._one(record, "rid = ?1", search.rid)
        assert job is not None
        return job, True

    def take_orphans(self) -> list[Job]:
        """Jobs whose processes have ended, which are this one's now."""
        self._hold()
        with self._transaction() as record:
            rows = record.execute(f"SELECT {COLUMNS} FROM job WHERE state NOT IN (?, ?, ?)", OVER).fetchall()
            orphans = [job for job in map(_job, rows) if job.owner != self.owner and not self._is_alive(job.owner)]
            for job in orphans:
                record.execute("UPDATE job SET owner = ? WHERE rid = ?", (self.owner, job.rid))
        return [job.model_copy(update={"owner": self.owner}) for job in orphans]

    def note(self, rid: str, state: State, *, remote_id: str | None = None) -> None:
        """Note how far a job is that is not over, and its id at the service."""
        with self._transaction() as record:
            record.execute(
                "UPDATE job SET state = ?, remote_id = coalesce(?, remote_id) WHERE rid = ? AND state NOT IN (?, ?, ?)",
                (state, remote_id, rid, *OVER),
            )

    def end(self, rid: str, state: State, *, report: Report | None = None, error: ProtatlasError | None = None) -> None:
        """Note that a job is over; one that is over already stays as it is."""
        with self._transaction() as record:
            record.execute(
                "UPDATE job SET state = ?, ended_at = ?, report = ?, error = ? "
                "WHERE rid = ? AND state NOT IN (?, ?, ?)",
                (
                    state,
                    self.clock(),
                    report.model_dump_json() if report else None,
                    json.dumps(error.answer()) if error else None,
                    rid,
                    *OVER,
                ),
            )

    def _hold(self) -> None:
        """Hold the lock that tells others that this process lives."""
        if self._lock is None:
            path = self._owner_file(self.owner)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(path, thread_local=False)
            self._lock.acquire()

    def _owner_file(self, owner: str) -> Path:
        return self._path.with_name(f"{self._path.name}.owners") / f"{owner}.lock"

    def _is_alive(self, owner: str) -> bool:
        """Whether the process of an owner still runs."""
        if owner == self.owner:
            return True
        path = self._owner_file(owner)
        if not path.exists():
            return False
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            return True
        lock.release()
        path.unlink(missing_ok=True)
        return False

    def _trim(self, record: sqlite3.Connection, now: float) -> None:
        record.execute("DELETE FROM job WHERE ended_at < ?", (now - KEPT_S,))
        record.execute(
            "DELETE FROM job WHERE rid IN (SELECT rid FROM job WHERE ended_at IS NOT NULL ORDER BY ended_at DESC "
            "LIMIT -1 OFFSET ?)",
            (KEPT_JOBS,),
        )

    def _one(self, record: sqlite3.Connection, where: str, rid: str) -> Job | None:
        row = record.execute(f"SELECT {COLUMNS} FROM job WHERE {where} LIMIT 1", (rid,)).fetchone()
        return _job(row) if row else None

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """The jobs, locked against other processes."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if not self._path.exists():
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(self._path, timeout=LOCK_TIMEOUT_S, isolation_level=None)) as record:
                record.executescript(SCHEMA)
                record.execute("BEGIN IMMEDIATE")
                with record:
                    yield record
        except (sqlite3.Error, OSError) as error:
            raise DependencyUnavailable(
                f"The file of BLAST jobs at {self._path}",
                f"SQLite says: {error}. Move the file away or make its folder writable.",
            ) from error


def _may_fetch(job: Job) -> bool:
    """Whether a service may still give the result of a job that failed here."""
    return job.state == "failed" and bool(job.error and job.error["retryable"])


def _job(row: tuple[str, ...]) -> Job:
    names = [name.strip() for name in COLUMNS.split(",")]
    found = dict(zip(names, row, strict=True))
    return Job(
        search=Search.model_validate_json(found.pop("search")),
        report=Report.model_validate_json(text) if (text := found.pop("report")) else None,
        error=json.loads(text) if (text := found.pop("error")) else None,
        **found,
    )
