"""Scores of a similarity against families, with bootstrap intervals over the families."""

from dataclasses import astuple, dataclass

import numpy as np
import numpy.typing as npt

Similarity = npt.NDArray[np.float32]
Float1D = npt.NDArray[np.float64]
Int1D = npt.NDArray[np.int64]

RESAMPLES = 400
SEED = 20_260_101
TOP = 10


@dataclass(frozen=True)
class Scores:
    """AUC, P@1, P@k and sensitivity up to the first false positive, each 0 to 1, higher is better."""

    auc: float
    first: float
    top: float
    sensitivity: float

    def __str__(self) -> str:
        """The four scores as columns."""
        return "  ".join(f"{value:.3f}" for value in astuple(self))


class _Pairs:
    """Pairs of proteins, with the place of each pair of two families among the pairs of one, by mean similarity."""

    def __init__(self, similarity: Similarity, families: Int1D) -> None:
        rows, columns = np.triu_indices(len(families), 1)
        both = (similarity[rows, columns] + similarity[columns, rows]) / 2
        values, (left, right) = both, (families[rows], families[columns])
        same = left == right
        steps, self.place = np.unique(values[same], return_inverse=True)
        self.family = left[same]
        # Cell 2i lies below step i, cell 2i + 1 is level with it.
        cells = np.searchsorted(steps, values[~same], "left") + np.searchsorted(steps, values[~same], "right")
        order = np.argsort(cells, kind="stable")
        self.cells, self.others = cells[order], (left[~same][order], right[~same][order])
        self.size = 2 * len(steps) + 1

    def auc(self, weights: Float1D) -> float:
        """ROC AUC where each family counts `weights` times, float (families,); ties count half."""
        one, other = self.others
        below = np.bincount(self.cells, weights[one] * weights[other], minlength=self.size)
        beaten = np.cumsum(below) - below / 2
        counts = weights[self.family]
        # A positive on step i beats the cells up to 2i, and is level with cell 2i + 1.
        return float(counts @ beaten[2 * self.place + 1] / (counts.sum() * below.sum()))


def query_scores(similarity: Similarity, families: Int1D) -> npt.NDArray[np.float64]:
    """P@1, P@k and sensitivity of each query left out of the set, float (n, 3).

    P@k counts right ones among the top min(10, family size - 1); equal similarities keep the order of the set.
    Sensitivity is the share of the family that is strictly more similar than the first protein of another.
    """
    hidden = similarity.astype(np.float64)
    np.fill_diagonal(hidden, -np.inf)
    found = np.empty((len(families), 3))
    for query, row in enumerate(hidden):
        same = families == families[query]
        members = int(same.sum()) - 1
        ranked = same[np.argsort(-row, kind="stable")[: min(TOP, members)]]
        first_false = row[~same].max()
        found[query] = ranked[0], ranked.mean(), (row[same] > first_false).sum() / members
    return found


def score(similarity: Similarity, families: npt.NDArray[np.str_]) -> Scores:
    """Scores of a similarity of queries (rows) to targets, float (n, n), for families (n,) of two proteins and more.

    AUC takes the mean of both directions of a pair.
    """
    return score_with_intervals(similarity, families, resamples=0)[0]


def score_with_intervals(
    similarity: Similarity, families: npt.NDArray[np.str_], *, resamples: int = RESAMPLES
) -> tuple[Scores, Scores, Scores]:
    """Scores, and the ends of their 95 % percentile intervals over families drawn with replacement."""
    names, codes = np.unique(families, return_inverse=True)
    pairs, queries = _Pairs(similarity, codes), query_scores(similarity, codes)
    totals = np.stack([np.bincount(codes, column) for column in queries.T], axis=1)
    sizes = np.bincount(codes)

    def weighted(weights: Float1D) -> Float1D:
        return np.append(pairs.auc(weights), weights @ totals / (weights @ sizes))

    value = weighted(np.ones(len(names)))
    random = np.random.default_rng(SEED)
    drawn = [random.multinomial(len(names), np.full(len(names), 1 / len(names))) for _ in range(resamples)]
    low, high = value, value
    # A draw of one family alone has no pair of two.
    kept = [weighted(weights.astype(np.float64)) for weights in drawn if (weights > 0).sum() > 1]
    if kept:
        low, high = np.percentile(kept, [2.5, 97.5], axis=0)
    return Scores(*value.tolist()), Scores(*low.tolist()), Scores(*high.tolist())
