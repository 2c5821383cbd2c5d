"""The encode stage: vectors of every protein, in chunk files that survive a killed build."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import threadpool_limits

from protatlas.atlas.store import SparseVector
from protatlas.engines.encoders import Encoder
from protatlas.engines.features import FeatureSet

CHUNK = 256
"""Proteins in a chunk file: some 100,000 residues, a few seconds of work to lose."""


@dataclass(frozen=True)
class EncodedProteins:
    """Vectors of n proteins, in their order.

    `embeddings` is float32 (n, embedding width), unit rows; `profiles` holds the normalised feature values, (n,
    features); `active` is 1 where a feature counts as active, (n, features).
    """

    embeddings: npt.NDArray[np.float32]
    profiles: sparse.csr_array
    active: sparse.csr_array

    def features(self, row: int) -> SparseVector:
        """Feature vector of one protein at unit length."""
        return SparseVector.unit(self.profiles.indices[self._part(row)], self.profiles.data[self._part(row)])

    def norm(self, row: int) -> float:
        """Length of the profile of one protein: what its unit vector times it gives the normalised values again."""
        return float(np.linalg.norm(self.profiles.data[self._part(row)]))

    def _part(self, row: int) -> slice:
        return slice(self.profiles.indptr[row], self.profiles.indptr[row + 1])


def encode_proteins(
    sequences: Sequence[str],
    *,
    encoder: Encoder,
    features: FeatureSet,
    folder: Path,
    progress: Callable[[int], None],
) -> EncodedProteins:
    """Vectors of all sequences; chunks that `folder` already holds are read, the others computed and written there.

    Parameters
    ----------
    progress : callable
        Told the number of proteins that are done.
    """
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(sequences), CHUNK)

    def run(start: int) -> Path:
        path = folder / f"{start:09d}.npz"
        if not path.is_file():
            _write_chunk(path, _encode_chunk(sequences[start : start + CHUNK], encoder, features))
        return path

    paths = []
    # One BLAS thread for each of ours: threads of threads wait for each other.
    with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
        for start, path in zip(starts, pool.map(run, starts), strict=True):
            paths.append(path)
            progress(min(start + CHUNK, len(sequences)))
    return _gather(paths, features)


def _encode_chunk(
    sequences: Sequence[str], encoder: Encoder, features: FeatureSet
) -> dict[str, npt.NDArray[np.generic]]:
    """Arrays of a chunk: embeddings, and the profiles as row lengths, indices and values."""
    embeddings, profiles = [], []
    for sequence in sequences:
        encoding = encoder.encode(sequence)
        embeddings.append(encoding.embedding)
        profiles.append(features.profile(features.sae.activate(encoding.residues)))
    return {
        "embeddings": np.stack(embeddings),
        "lengths": np.array([len(profile.indices) for profile in profiles], np.int64),
        "indices": np.concatenate([profile.indices for profile in profiles]),
        "values": np.concatenate([profile.values for profile in profiles]),
    }


def _write_chunk(path: Path, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
    """Write a chunk so that its name exists only when it is whole."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]  # numpy's stub takes the keywords for `allow_pickle`
    partial.rename(path)


def _gather(paths: Sequence[Path], features: FeatureSet) -> EncodedProteins:
    """Vectors of all chunks in order."""
    chunks = []
    for path in paths:
        with np.load(path, allow_pickle=False) as arrays:
            chunks.append(dict(arrays))
    lengths, indices, values = (
        np.concatenate([chunk[name] for chunk in chunks]) for name in ("lengths", "indices", "values")
    )
    bounds = np.concatenate([[0], np.cumsum(lengths)])
    profiles = sparse.csr_array((values, indices, bounds), shape=(len(lengths), features.sae.size))
    active = profiles.copy()
    active.data = features.is_active(values).astype(np.float32)
    active.eliminate_zeros()
    return EncodedProteins(np.concatenate([chunk["embeddings"] for chunk in chunks]), profiles, active)
