"""Fit the embedded encoder: IDF, SVD of k-mer counts, whitening within clusters, product quantisation."""

import numpy as np
import scipy.linalg
import scipy.sparse

from protatlas.engines.encoders import CHANNELS, kmer_ids, kmer_weights

KMERS = sum(channel.size for channel in CHANNELS)
LONGEST = 600
SEEN = 3
SHRINKAGE = 0.2


def inverse_frequencies(sequences: list[str]) -> np.ndarray:
    """ln(N / proteins with the k-mer), float32 (k-mers,); 0 for those seen in fewer than `SEEN` proteins."""
    seen = np.zeros(KMERS, dtype=np.int64)
    for sequence in sequences:
        ids = np.unique(kmer_ids(sequence[:LONGEST]))
        seen[ids[ids >= 0]] += 1
    return np.where(seen >= SEEN, np.log(len(sequences) / np.maximum(seen, 1)), 0).astype(np.float32)


def count_matrix(sequences: list[str], idf: np.ndarray) -> scipy.sparse.csr_matrix:
    """TF-IDF weights, each channel of length 1, float32 (proteins, k-mers)."""
    columns, weights, starts = [], [], [0]
    for sequence in sequences:
        ids = kmer_ids(sequence[:LONGEST])
        kept = ids >= 0
        columns.append(ids[kept])
        weights.append(kmer_weights(ids, idf)[kept])
        starts.append(starts[-1] + int(kept.sum()))
    parts = np.concatenate(weights), np.concatenate(columns), np.array(starts)
    matrix = scipy.sparse.csr_matrix(parts, shape=(len(sequences), KMERS))
    matrix.sum_duplicates()
    return matrix


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
