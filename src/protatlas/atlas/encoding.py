"""The encode stage: embedding and feature profile of every protein, in chunks that survive a killed build."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from protatlas.atlas.scratch import Arrays, Scratch, threads
from protatlas.atlas.store import Float1D, SparseVector
from protatlas.engines.encoders import Encoder
from protatlas.engines.features import FeatureSet
from protatlas.records import Protein

ENCODED = "encoded"


@dataclass(frozen=True)
class Vectors:
    """What the encoder and the features say of one protein.

    `embedding` is float32, shape (embedding width,), of unit length; `indices` and `values` are its feature profile.
    """

    embedding: Float1D
    indices: npt.NDArray[np.int32]
    values: Float1D

    @property
    def features(self) -> SparseVector:
        """Feature vector at unit length."""
        return SparseVector.unit(self.indices, self.values)

    @property
    def norm(self) -> float:
        """Length of the profile: what its unit vector times it gives the normalised values again."""
        return float(np.linalg.norm(self.values))


def encode_chunks(
    scratch: Scratch,
    chunks: int,
    *,
    stage: str,
    encoder: Encoder,
    features: FeatureSet,
    known: Callable[[str], Vectors | None],
    progress: Callable[[int], None],
) -> None:
    """Write the vectors of every chunk of proteins of a stage that is not there yet.

    Parameters
    ----------
    known : callable
        Vectors that an older atlas has for a key, of the same models; null for another.
    progress : callable
        Told the number of chunks that are done.
    """

    def work(number: int) -> None:
        proteins = scratch.proteins(stage, number)
        scratch.write_arrays(ENCODED, number, _arrays(_vectors(proteins, encoder, features, known)))

    scratch.for_each(ENCODED, chunks, work, progress, threads=threads())


def _vectors(
    proteins: list[Protein], encoder: Encoder, features: FeatureSet, known: Callable[[str], Vectors | None]
) -> list[Vectors]:
    """Vectors of proteins, in order; an embedding is rounded to float16, as the table of vectors keeps it."""
    found = {at: vectors for at, protein in enumerate(proteins) if (vectors := known(protein.key))}
    asked = [at for at in range(len(proteins)) if at not in found]
    for place, encoding in encoder.encode_many([proteins[at].sequence for at in asked]):
        profile = features.profile(features.sae.activate(encoding.residues))
        found[asked[place]] = Vectors(encoding.embedding.astype(np.float16), profile.indices, profile.values)
    return [found[at] for at in range(len(proteins))]


def _arrays(vectors: list[Vectors]) -> Arrays:
    """Arrays of a chunk: embeddings, and the profiles as row lengths, indices and values."""
    return {
        "embeddings": np.stack([vector.embedding for vector in vectors]),
        "lengths": np.array([len(vector.indices) for vector in vectors], np.int64),
        "indices": np.concatenate([vector.indices for vector in vectors]),
        "values": np.concatenate([vector.values for vector in vectors]),
    }


def chunk_vectors(scratch: Scratch, number: int) -> list[Vectors]:
    """Vectors of the proteins of a chunk that is there."""
    arrays = scratch.arrays(ENCODED, number) or {}
    bounds = np.concatenate([[0], np.cumsum(arrays["lengths"])])
    parts = [slice(start, stop) for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)]
    indices, values = arrays["indices"].astype(np.int32), arrays["values"].astype(np.float32)
    embeddings = arrays["embeddings"].astype(np.float32)
    return [Vectors(embeddings[row], indices[part], values[part]) for row, part in enumerate(parts)]


def active_features(scratch: Scratch, chunks: int, features: FeatureSet) -> sparse.csr_array:
    """1 where a feature counts as active on a protein, int8, shape (proteins, features)."""
    lengths, indices = [], []
    for number in range(chunks):
        arrays = scratch.arrays(ENCODED, number) or {}
        is_active = features.is_active(arrays["values"].astype(np.float32))
        owner = np.repeat(np.arange(len(arrays["lengths"])), arrays["lengths"].astype(np.int64))
        lengths.append(np.bincount(owner[is_active], minlength=len(arrays["lengths"])))
        indices.append(arrays["indices"][is_active].astype(np.int32))
    bounds = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
    columns = np.concatenate(indices)
    shape = (len(bounds) - 1, features.sae.size)
    return sparse.csr_array((np.ones(len(columns), np.int8), columns, bounds), shape=shape)
