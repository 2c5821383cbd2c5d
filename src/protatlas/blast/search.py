"""Local searches as jobs: identical ones are computed once, and one that takes long goes on after its caller left."""

import time
from collections import OrderedDict
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotDoneError
from hashlib import sha256
from threading import Lock
from typing import NamedTuple

from protatlas.engines.aligners import Aligner, Alignments, PhmmerAligner
from protatlas.errors import DependencyUnavailable

WORKERS = 2
"""Searches at a time; each takes one core."""
KEPT_SEARCHES = 256
RETRY_AFTER_S = 5.0
RID_DIGITS = 16
"""Hexadecimal digits of a request id: 64 bits, as good as unique among the kept searches."""


class SearchRunning(DependencyUnavailable):
    """A search has not ended within the time that its caller would wait; it goes on."""

    retryable = True

    def __init__(self, rid: str, waited_s: float) -> None:
        super().__init__(
            f"The result of search {rid}, which still runs after {waited_s:g} s,",
            "Repeat the same call to join it: it is not computed again.",
            rid=rid,
            retry_after_s=RETRY_AFTER_S,
        )


class Finished(NamedTuple):
    """A search that has ended: request id, outcome and the seconds that this caller waited."""

    rid: str
    alignments: Alignments
    elapsed_s: float


class LocalSearch:
    """Searches the sequences of one atlas, in this process.

    Parameters
    ----------
    sequences
        Pairs of key and upper-case sequence.
    aligner
        Computes the alignments; phmmer over `sequences` when it is not given.
    """

    def __init__(self, sequences: Iterable[tuple[str, str]], *, aligner: Aligner | None = None) -> None:
        self.aligner = aligner or PhmmerAligner(sequences)
        self._pool = ThreadPoolExecutor(max_workers=WORKERS, thread_name_prefix="search")
        self._searches: OrderedDict[str, Future[Alignments]] = OrderedDict()
        self._lock = Lock()

    def search(self, query: str, *, max_evalue: float, limit: int, max_wait_s: float) -> Finished:
        """Outcome of a search, from an identical one before it where there was one.

        Raises
        ------
        SearchRunning
            It takes longer than `max_wait_s`; a later identical call joins it.
        InvalidInput
            The query is too long for the aligner.
        """
        start = time.monotonic()
        rid = self._rid(query, max_evalue, limit)
        try:
            alignments = self._job(rid, query, max_evalue, limit).result(timeout=max_wait_s)
        except NotDoneError as error:
            raise SearchRunning(rid, max_wait_s) from error
        return Finished(rid, alignments, time.monotonic() - start)

    def close(self) -> None:
        """End the workers; a search under way still finishes, waiting ones do not begin."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _job(self, rid: str, query: str, max_evalue: float, limit: int) -> "Future[Alignments]":
        with self._lock:
            job = self._searches.get(rid)
            if job is None or (job.done() and job.exception() is not None):
                job = self._pool.submit(self.aligner.search, query, max_evalue=max_evalue, limit=limit)
                self._searches[rid] = job
            self._searches.move_to_end(rid)
            while len(self._searches) > KEPT_SEARCHES:
                self._searches.popitem(last=False)
        return job

    def _rid(self, query: str, max_evalue: float, limit: int) -> str:
        """Request id of a search; equal searches of one set have equal ids, and it does not reveal the query."""
        search = (query, max_evalue, limit, self.aligner.name, self.aligner.sequences, self.aligner.residues)
        return f"local-{sha256(repr(search).encode()).hexdigest()[:RID_DIGITS]}"
