"""Rankings that are the same over every store: by two vectors at once, and by the words of a text.

A store answers with lists that are cut at a size; what is asked here grows until nothing outside them can reach the
result, and ties have an order of their own.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from uuid import UUID

CANDIDATES = 256
CANDIDATES_MAXIMUM = 8_192
TIES = 64
"""Points that are asked for beyond a ranked page, so that ties at its end are known."""

Payload = dict[str, Any]
Scores = dict[UUID, float]


class Ask(NamedTuple):
    """Scores by one of the two vectors: of the `size` nearest points, or, unconditionally, of those `among` alone."""

    vector: int
    size: int
    among: frozenset[UUID] | None = None


class Hit(NamedTuple):
    """A point that shares a word with a text: its BM25 score and its place in the input."""

    key: str
    score: float
    position: int


def by_vectors(
    scores: Callable[[Sequence[Ask]], list[Scores]], *, weights: tuple[float, float], limit: int
) -> list[tuple[UUID, float]]:
    """Points by falling weighted sum of two scores, clipped to 0 to 1, ties by id.

    Exact up to `CANDIDATES_MAXIMUM` candidates of each vector: the lists of each grow until no point outside them can
    reach the result (threshold algorithm: Fagin et al. 2003, doi:10.1016/S0022-0000(03)00026-6). A vector without
    weight is not asked.

    Parameters
    ----------
    scores
        The scores that each question asks for, best first; by a sparse vector only of points that share an index.
    """
    size = max(CANDIDATES, limit)
    weighing = [vector for vector, weight in enumerate(weights) if weight]
    if len(weighing) == 1:
        (found,) = scores([Ask(weighing[0], size)])
        return _sorted({point: weights[weighing[0]] * score for point, score in found.items()})[:limit]
    while True:
        lists = scores([Ask(vector, size) for vector in range(2)])
        ranked = _summed(scores, lists, weights)[:limit]
        unseen = sum(
            weight * min(found.values()) for weight, found in zip(weights, lists, strict=True) if len(found) == size
        )
        exhausted = len(lists[0]) < size or size >= CANDIDATES_MAXIMUM
        if exhausted or (len(ranked) == limit and ranked[-1][1] >= unseen):
            return ranked
        size *= 4


def _summed(
    scores: Callable[[Sequence[Ask]], list[Scores]], lists: list[Scores], weights: tuple[float, float]
) -> list[tuple[UUID, float]]:
    """All points of the lists with their similarity, 0 to 1, best first, ties by id."""
    union = lists[0].keys() | lists[1].keys()
    missing = [frozenset(union - found.keys()) for found in lists]
    asked = [vector for vector, points in enumerate(missing) if points]
    rest = scores([Ask(vector, len(missing[vector]), missing[vector]) for vector in asked]) if asked else []
    similarity = dict.fromkeys(union, 0.0)
    for found, weight in [*zip(lists, weights, strict=True), *zip(rest, [weights[v] for v in asked], strict=True)]:
        for point, score in found.items():
            similarity[point] += weight * score
    return _sorted(similarity)


def _sorted(similarity: Scores) -> list[tuple[UUID, float]]:
    """The points with their similarity clipped to 0 to 1, best first, ties by id."""
    clipped = [(point, min(1.0, max(0.0, total))) for point, total in similarity.items()]
    return sorted(clipped, key=lambda item: (-item[1], item[0].hex))


def by_text(hits: Callable[[int], list[Hit]], *, limit: int) -> list[str]:
    """Keys of the points with the best scores, ties in input order; exact up to `CANDIDATES_MAXIMUM` ties."""
    size = limit + TIES
    while True:
        found = hits(size)
        is_cut_in_a_tie = len(found) == size and found[limit - 1].score <= found[-1].score
        if not is_cut_in_a_tie or size >= CANDIDATES_MAXIMUM:
            return [hit.key for hit in sorted(found, key=lambda hit: (-hit.score, hit.position))[:limit]]
        size *= 4


def with_rest(ranked: list[Payload], in_order: Callable[[int], list[Payload]], *, limit: int) -> list[Payload]:
    """Ranked payloads, then, in input order, others that match but share no word with the text."""
    if len(ranked) == limit:
        return ranked
    seen = {payload["key"] for payload in ranked}
    return [*ranked, *(payload for payload in in_order(limit) if payload["key"] not in seen)][:limit]
