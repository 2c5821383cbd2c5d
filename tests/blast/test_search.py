"""Searches as jobs: shared, kept, and going on when their caller stops waiting."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from protatlas.blast.search import LocalSearch, SearchRunning
from protatlas.engines.aligners import Alignments
from protatlas.errors import InvalidInput
from tests.known_proteins import UBIQUITIN

NOTHING = Alignments(hits=(), total=0, query_length=4, settings=())


class HeldAligner:
    """Aligner that answers when it is released, and counts what it was asked."""

    name, sequences, residues = "held", 1, 1

    def __init__(self) -> None:
        self.released = Event()
        self.asked = 0

    def search(self, query: str, *, max_evalue: float, limit: int) -> Alignments:  # noqa: ARG002  # the protocol's
        self.asked += 1
        self.released.wait()
        return NOTHING


def test_identical_searches_are_computed_once() -> None:
    aligner = HeldAligner()
    aligner.released.set()
    search = LocalSearch([], aligner=aligner)
    first, second = (search.search("MKTV", max_evalue=10, limit=10, max_wait_s=60) for _ in range(2))
    assert (first.rid, aligner.asked) == (second.rid, 1)
    search.close()


def test_other_limits_are_other_searches() -> None:
    aligner = HeldAligner()
    aligner.released.set()
    search = LocalSearch([], aligner=aligner)
    rids = {search.search("MKTV", max_evalue=10, limit=limit, max_wait_s=60).rid for limit in (5, 10)}
    assert (len(rids), aligner.asked) == (2, 2)
    search.close()


def test_search_goes_on_after_the_wait_and_the_same_call_joins_it() -> None:
    aligner = HeldAligner()
    search = LocalSearch([], aligner=aligner)
    with pytest.raises(SearchRunning) as caught:
        search.search("MKTV", max_evalue=10, limit=10, max_wait_s=0.001)
    aligner.released.set()
    finished = search.search("MKTV", max_evalue=10, limit=10, max_wait_s=60)
    answer = caught.value.answer()
    assert (answer["code"], answer["retryable"], answer["rid"]) == ("dependency_unavailable", True, finished.rid)
    assert (finished.alignments, aligner.asked) == (NOTHING, 1)
    search.close()


def test_concurrent_identical_searches_share_one_job() -> None:
    aligner = HeldAligner()
    search = LocalSearch([], aligner=aligner)
    with ThreadPoolExecutor(4) as callers:
        waiting = [callers.submit(search.search, "MKTV", max_evalue=10, limit=10, max_wait_s=60) for _ in range(4)]
        aligner.released.set()
        rids = {job.result().rid for job in waiting}
    assert (len(rids), aligner.asked) == (1, 1)
    search.close()


def test_failed_search_is_not_kept() -> None:
    search = LocalSearch([("ubiquitin", UBIQUITIN)])
    for _ in range(2):
        with pytest.raises(InvalidInput):
            search.search("M" * 4001, max_evalue=10, limit=10, max_wait_s=60)
    search.close()


def test_request_id_does_not_hold_the_query() -> None:
    search = LocalSearch([("ubiquitin", UBIQUITIN)])
    finished = search.search(UBIQUITIN, max_evalue=10, limit=10, max_wait_s=60)
    assert finished.rid.startswith("local-")
    assert len(finished.rid) == len("local-") + 16
    assert finished.alignments.hits[0].key == "ubiquitin"
    search.close()
