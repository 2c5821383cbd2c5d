"""Fit the embedded encoder: IDF, SVD of k-mer counts, whitening within clusters, product quantisation."""

import numpy as np
import scipy.linalg
import scipy.sparse

from protatlas.engines.encoders import CHANNELS, kmer_ids

KMERS = sum(channel.size for channel in CHANNELS)
FIRST = np.concatenate([[0], np.cumsum([channel.size for channel in CHANNELS])])
LONGEST = 600
SEEN = 3
SHRINKAGE = 0.5


def count_matrix(sequences: list[str]) -> scipy.sparse.csr_matrix:
    """How often each protein has each k-mer, float32 (proteins, k-mers)."""
    columns, starts = [], [0]
    for sequence in sequences:
        ids = kmer_ids(sequence[:LONGEST])
        columns.append(ids[ids >= 0])
        starts.append(starts[-1] + len(columns[-1]))
    ones = np.ones(starts[-1], dtype=np.float32)
    matrix = scipy.sparse.csr_matrix((ones, np.concatenate(columns), np.array(starts)), shape=(len(sequences), KMERS))
    matrix.sum_duplicates()
    return matrix


def inverse_frequencies(counts: scipy.sparse.csr_matrix) -> np.ndarray:
    """ln(N / proteins with the k-mer), float32 (k-mers,); 0 for those seen in fewer than `SEEN` proteins."""
    seen = np.bincount(counts.indices, minlength=KMERS)
    return np.where(seen >= SEEN, np.log(counts.shape[0] / np.maximum(seen, 1)), 0).astype(np.float32)


def weigh(counts: scipy.sparse.csr_matrix, idf: np.ndarray) -> scipy.sparse.csr_matrix:
    """(1 + ln count) x IDF, each channel of each protein of length 1, as `kmer_weights` has it; same shape."""
    weights = (1 + np.log(counts.data)) * idf[counts.indices]
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    cell = rows * len(CHANNELS) + np.searchsorted(FIRST, counts.indices, side="right") - 1
    length = np.sqrt(np.bincount(cell, weights=weights**2, minlength=counts.shape[0] * len(CHANNELS)))
    weights = (weights / np.maximum(length[cell], 1e-6)).astype(np.float32)
    return scipy.sparse.csr_matrix((weights, counts.indices, counts.indptr), shape=counts.shape)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    """Each row at length 1."""
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def singular_vectors(matrix: scipy.sparse.csr_matrix, *, width: int, passes: int, seed: int) -> np.ndarray:
    """Right singular vectors by randomised SVD (Halko et al. 2011, doi:10.1137/090771806), (k-mers, width)."""
    start = np.random.default_rng(seed).standard_normal((matrix.shape[0], width + 32)).astype(np.float32)
    right = matrix.T @ start
    for _ in range(passes):
        left, _ = np.linalg.qr(matrix @ right)
        right = matrix.T @ left
    orthogonal, triangle = np.linalg.qr(right)
    turn, _, _ = np.linalg.svd(triangle)
    return np.ascontiguousarray((orthogonal @ turn[:, :width]).astype(np.float32))


def within_covariance(rows: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Covariance of the rows around the mean of their group, over groups of two and more."""
    _, inverse, counts = np.unique(groups, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), rows.shape[1]))
    np.add.at(sums, inverse, rows)
    kept = counts[inverse] > 1
    apart = (rows - (sums / counts[:, None])[inverse])[kept]
    return apart.T @ apart / max(len(apart) - int((counts > 1).sum()), 1)


def whitening(rows: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Map that makes the shrunk within-group covariance the identity, best separating directions first (LDA)."""
    inside = within_covariance(rows, groups)
    inside = (1 - SHRINKAGE) * inside + SHRINKAGE * np.trace(inside) / len(inside) * np.eye(len(inside))
    apart = rows - rows.mean(axis=0)
    values, vectors = scipy.linalg.eigh(apart.T @ apart / len(apart), inside)
    return vectors[:, np.argsort(-values)].astype(np.float32)


def nearest(rows: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Index of the nearest centre of each row, uint8 (rows,)."""
    half = 0.5 * (centres**2).sum(axis=1)
    parts = [np.argmax(rows[at : at + 8192] @ centres.T - half, axis=1) for at in range(0, len(rows), 8192)]
    return np.concatenate(parts).astype(np.uint8)


def quantise(
    vectors: np.ndarray, importance: np.ndarray, *, part: int, rounds: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Codes uint8 (k-mers, parts) and codebook (parts, 256, part) by k-means on k-mers drawn by importance."""
    random = np.random.default_rng(seed)
    drawn = random.choice(len(vectors), size=32_768, p=importance / importance.sum())
    codes, books = [], []
    for start in range(0, vectors.shape[1], part):
        rows = np.ascontiguousarray(vectors[:, start : start + part])
        sample = rows[drawn]
        centres = sample[random.choice(len(sample), size=256, replace=False)].copy()
        for _ in range(rounds):
            found = nearest(sample, centres)
            counts = np.bincount(found, minlength=256)
            sums = np.stack([np.bincount(found, weights=column, minlength=256) for column in sample.T], axis=1)
            centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres).astype(np.float32)
        codes.append(nearest(rows, centres))
        books.append(centres)
    return np.stack(codes, axis=1), np.stack(books)
