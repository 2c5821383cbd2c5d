"""The last step of a similarity search: alignment reorders the clusters that the vectors found."""

from collections.abc import Sequence

import numpy as np

from protatlas.engines.features import Ranking
from protatlas.engines.pairwise import QueryAligner


def by_alignment(sequence: str, found: Sequence[tuple[str, float]], *, ranking: Ranking) -> list[tuple[int, float]]:
    """Place in `found` and similarity of each candidate, most similar first, ties in their old order.

    Parameters
    ----------
    sequence
        The query.
    found
        Sequence and similarity by vectors of each candidate, best first. The identical sequence is wholly similar.
    """
    by_vectors = np.array([similarity for _, similarity in found], dtype=np.float32)
    if not found or not ranking.alignment:
        return list(enumerate(by_vectors.tolist()))
    targets = [target for target, _ in found]
    similarity = ranking.aligned(by_vectors, QueryAligner(sequence).bits_above_chance(targets))
    similarity[[target == sequence for target in targets]] = 1.0
    order = np.argsort(-similarity, kind="stable")
    return [(at, float(similarity[at])) for at in order.tolist()]
