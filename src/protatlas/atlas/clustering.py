"""Clusters of proteins that share their active features.

As in the public ESM Atlas (Candido et al. 2026, bioRxiv 2026.06.03.729735): two proteins are linked when the Jaccard
index of their sets of active features is 0.6 or more. Candidates come from MinHash with banding (Broder 1997; Leskovec
et al., Mining of Massive Datasets, chapter 3) and each is checked exactly. Results depend neither on the order of the
proteins nor on threads: the key decides every tie.
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse

from protatlas.atlas.scratch import threads
from protatlas.engines.linclust import linclust

Int1D = npt.NDArray[np.int64]

JACCARD_MINIMUM = 0.6
BANDS = 32
ROWS = 3
"""32 bands of 3: a pair at Jaccard 0.6 becomes a candidate with probability 1 - (1 - 0.6^3)^32 = 0.9996."""
BUCKET_LIMIT = 64
"""In a bucket with more members each is paired with the bucket's first member by key only, as linclust does."""
PAIR_BATCH = 20_000
MEDOID_LIMIT = 2_000
"""Larger clusters keep the protein with most links: their members are not all compared with each other."""
SEED = 20_260_603


def cluster_by_features(active: sparse.csr_array, keys: Sequence[str]) -> Int1D:
    """Row number of each protein's representative.

    Parameters
    ----------
    active : csr_array, shape (n, features)
        1 where a feature is active on a protein. A protein without active features is a cluster of its own.
    keys : sequence of str, length n
        Keys of the proteins, all distinct.

    Returns
    -------
    ndarray, dtype int64, shape (n,)
        A representative points to itself; every other member has Jaccard >= 0.6 with its representative, which is the
        one of those that could be it whose Jaccard indices with the others have the highest sum.
    """
    order = np.argsort(np.asarray(keys))
    ranked = sparse.csr_array(active[order])
    representatives = _medoids(ranked, _greedy(_linked(ranked), len(keys)))
    result = np.empty(len(keys), np.int64)
    result[order] = order[representatives]
    return result


def cluster_by_identity(proteins: Iterable[tuple[str, str]], folder: Path) -> Int1D:
    """Row number of each protein's representative, by sequence identity (`protatlas.engines.linclust`).

    Parameters
    ----------
    proteins
        Key and sequence of each; their order does not matter.
    folder
        Folder for the program's files, made and removed here.
    """
    given = list(proteins)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    owners = linclust(sorted(given), folder, threads=threads())
    shutil.rmtree(folder)
    row_of = {key: row for row, (key, _) in enumerate(given)}
    return np.array([row_of[owners[key]] for key, _ in given], np.int64)


def _linked(active: sparse.csr_array) -> npt.NDArray[np.int64]:
    """Distinct pairs of rows (i < j) that share a MinHash band and whose Jaccard index reaches the minimum.

    Each band's pairs are checked before the next is drawn, so that memory holds one band's candidates and the links:
    int64, shape (pairs, 2).
    """
    rows = np.flatnonzero(np.diff(active.indptr))
    linked = np.empty(0, np.int64)
    if len(rows) == 0:
        return linked.reshape(0, 2)
    random = np.random.default_rng(SEED)
    for _ in range(BANDS):
        found = _bucket_pairs(rows, _signature(active, rows, random), count=active.shape[0])
        found = np.setdiff1d(found, linked, assume_unique=True)
        linked = np.union1d(linked, found[_is_linked(active, found)])
    return np.column_stack(np.divmod(linked, active.shape[0]))


def _signature(active: sparse.csr_array, rows: Int1D, random: np.random.Generator) -> npt.NDArray[np.uint64]:
    """One number for the smallest ranks of each row's active features under `ROWS` random orders of the features."""
    starts, signature = active.indptr[rows], np.zeros(len(rows), np.uint64)
    for _ in range(ROWS):
        # 32 bits: the array of a rank for each active feature is the largest here.
        ranks = random.permutation(active.shape[1]).astype(np.uint32)
        smallest = np.minimum.reduceat(ranks[active.indices], starts).astype(np.uint64)
        signature = signature * np.uint64(active.shape[1]) + smallest
    return signature


def _bucket_pairs(rows: Int1D, signature: npt.NDArray[np.uint64], *, count: int) -> Int1D:
    """Pairs of rows i < j with equal signature, each as i * count + j; rows are ascending."""
    order = np.argsort(signature, kind="stable")
    bounds = np.flatnonzero(np.diff(signature[order])) + 1
    found = [np.empty(0, np.int64)]
    for bucket in np.split(rows[order], bounds):
        if len(bucket) > BUCKET_LIMIT:
            found.append(bucket[0] * count + bucket[1:])
        elif len(bucket) > 1:
            first, second = np.triu_indices(len(bucket), 1)
            found.append(bucket[first] * count + bucket[second])
    return np.concatenate(found)


def _is_linked(active: sparse.csr_array, pairs: Int1D) -> npt.NDArray[np.bool_]:
    """Whether the exact Jaccard index of each pair reaches the minimum, shape (pairs,)."""
    sizes, result = np.diff(active.indptr), np.empty(len(pairs), np.bool_)
    for start in range(0, len(pairs), PAIR_BATCH):
        first, second = np.divmod(pairs[start : start + PAIR_BATCH], active.shape[0])
        shared = np.asarray(active[first].multiply(active[second]).sum(axis=1, dtype=np.int32)).ravel()
        result[start : start + PAIR_BATCH] = shared >= JACCARD_MINIMUM * (sizes[first] + sizes[second] - shared)
    return result


def _greedy(pairs: npt.NDArray[np.int64], count: int) -> Int1D:
    """Representative of each row: rows with most links first, ties by row, take all their free neighbours."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    graph = sparse.csr_array((np.ones(len(both), np.int8), (both[:, 0], both[:, 1])), shape=(count, count))
    degrees = np.diff(graph.indptr)
    representative = np.full(count, -1, np.int64)
    for row in np.lexsort((np.arange(count), -degrees)):
        if representative[row] >= 0:
            continue
        neighbours = graph.indices[graph.indptr[row] : graph.indptr[row + 1]]
        representative[neighbours[representative[neighbours] < 0]] = row
        representative[row] = row
    return representative


def _medoids(active: sparse.csr_array, representative: Int1D) -> Int1D:
    """The same clusters, each represented by the member closest to the others that is linked with all of them."""
    order = np.argsort(representative, kind="stable")
    bounds = np.flatnonzero(np.diff(representative[order])) + 1
    result = representative.copy()
    for members in np.split(order, bounds):
        if 2 < len(members) <= MEDOID_LIMIT:
            result[members] = members[_medoid(active[members])]
    return result


def _medoid(active: sparse.csr_array) -> int:
    """Row with the highest sum of Jaccard indices among those that reach the minimum with every row; ties by row."""
    counts = active.astype(np.int32)
    shared = (counts @ counts.T).toarray()
    sizes = shared.diagonal()
    union = sizes[:, None] + sizes[None, :] - shared
    is_linked = (shared >= JACCARD_MINIMUM * union).all(axis=1)
    totals = np.where(is_linked, np.round((shared / union).sum(axis=1), 9), -1)
    return int(totals.argmax())
