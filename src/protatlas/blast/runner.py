"""Runs jobs in threads of this process, takes over those of processes that ended, and waits for any of them."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDoneError
from threading import Event, Lock

from protatlas.blast.jobs import Job, JobStore, State
from protatlas.blast.search import REMOTE_ENGINES, Search
from protatlas.engines.blastplus import Stopped
from protatlas.errors import Indeterminate, InternalError, NotFound, ProtatlasError
from protatlas.reports import Report

LOG = logging.getLogger(__name__)
LOCAL_WORKERS = 2
"""Searches on this machine at a time."""
REMOTE_WORKERS = 30
"""Searches at services at a time: EBI's limit, of which each waits most of its time."""
LOOK_AGAIN_S = 0.25
"""How often a job of another process is looked at."""


class Handle:
    """What the work of a job may tell while it runs.

    Attributes
    ----------
    stop : Event
        Set when the job is cancelled.
    job : Job
        As it was when the work began.
    """

    def __init__(self, job: Job, store: JobStore) -> None:
        self.job = job
        self.stop = Event()
        self.message = "waits for its turn"
        self._store = store

    def sending(self) -> None:
        """Note, before a query leaves, that it may have left."""
        self._store.note(self.job.rid, "sending")

    def sent(self, remote_id: str) -> None:
        """Note the id that a service gave."""
        self._store.note(self.job.rid, "running", remote_id=remote_id)


Work = Callable[[Search, Handle], Report]


class Runner:
    """Jobs of one file, done by `work`."""

    def __init__(self, store: JobStore, work: Work) -> None:
        self._store = store
        self._work = work
        self._pools = [
            ThreadPoolExecutor(LOCAL_WORKERS, thread_name_prefix="search"),
            ThreadPoolExecutor(REMOTE_WORKERS, thread_name_prefix="remote"),
        ]
        self._running: dict[str, tuple[Handle, Future[None]]] = {}
        self._lock = Lock()
        self._is_closing = False

    def close(self) -> None:
        """End the workers. What runs may be taken over by another process, or by the next start."""
        self._is_closing = True
        for handle, _ in list(self._running.values()):
            handle.stop.set()
        for pool in self._pools:
            pool.shutdown(wait=False, cancel_futures=True)
        self._store.close()

    def start(self, search: Search, *, poll_s: float = 0.0) -> Job:
        """Job of a search: a new one, one that runs already, or one whose report still answers."""
        with self._lock:
            job, is_ours = self._store.claim(search, poll_s=poll_s)
            if is_ours:
                self._submit(job)
        return job

    def resume(self) -> list[Job]:
        """Take over the jobs of processes that have ended; which they were."""
        with self._lock:
            orphans = self._store.take_orphans()
            for job in orphans:
                LOG.info("taking up search %s again", job.rid)
                self._submit(job)
        return orphans

    def get(self, rid: str) -> Job:
        """Job of a request id.

        Raises
        ------
        NotFound
            There is none, or it is forgotten.
        """
        job = self._store.get(rid)
        if job is None:
            raise NotFound("search", rid, "the searches of this machine", "Begin it again with blast_sequence.")
        return job

    def running(self) -> list[Job]:
        """Jobs that are not over, of all processes, oldest first."""
        return self._store.open_jobs()

    def message(self, rid: str) -> str:
        """What a job of this process does just now; empty for others."""
        found = self._running.get(rid)
        return found[0].message if found else ""

    def cancel(self, rid: str) -> Job:
        """Cancel a job: what runs on this machine ends, and its result is dropped."""
        job = self.get(rid)
        self._store.end(job.rid, "cancelled")
        if found := self._running.get(job.rid):
            found[0].stop.set()
        return self.get(job.rid)

    def ended(self, rid: str) -> "Future[None] | None":
        """Future of a job of this process, done when the job is over; None for others."""
        found = self._running.get(rid)
        return found[1] if found else None

    def wait(self, rid: str, *, timeout_s: float) -> Job:
        """Job after its end, or as it is after `timeout_s`."""
        until = time.monotonic() + timeout_s
        while not (job := self.get(rid)).is_over and (left := until - time.monotonic()) > 0:
            if future := self.ended(job.rid):
                try:
                    future.result(timeout=left)
                except NotDoneError:
                    continue
            else:
                time.sleep(min(left, LOOK_AGAIN_S))
        return job

    def _submit(self, job: Job) -> None:
        handle = Handle(job, self._store)
        pool = self._pools[job.search.engine in REMOTE_ENGINES]
        self._running[job.rid] = handle, pool.submit(self._do, handle)

    def _do(self, handle: Handle) -> None:
        job = handle.job
        try:
            if job.state == "sending" and job.remote_id is None:
                raise Indeterminate(
                    f"the search {job.rid}",
                    "This machine stopped while it was sent; it is not sent again by itself. Repeat the call to begin "
                    "a new one.",
                    rid=job.rid,
                )
            if handle.stop.is_set():
                return
            if job.remote_id or job.search.engine not in REMOTE_ENGINES:
                self._store.note(job.rid, "running")
            report = self._work(job.search, handle)
            self._store.end(job.rid, "done", report=report)
        except Stopped:
            self._ends_badly(job, "cancelled")
        except ProtatlasError as error:
            self._ends_badly(job, "failed", error)
        except Exception:  # the seam of the worker: a defect ends the job, not the thread
            if not self._is_closing:
                LOG.exception("defect in search %s", job.rid)
            self._ends_badly(job, "failed", InternalError())
        finally:
            with self._lock:
                self._running.pop(job.rid, None)

    def _ends_badly(self, job: Job, state: State, error: ProtatlasError | None = None) -> None:
        """Note that a job is over, unless it only ends with this process: then it stays for the next one."""
        if not self._is_closing:
            self._store.end(job.rid, state, error=error)
