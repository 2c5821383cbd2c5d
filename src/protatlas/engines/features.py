"""Sparse autoencoder features: residue activations, the profile of a protein, regions, and what each feature means.

z is a residue representation, a = (z - b_dec) W_enc + b_enc, of which what passes one threshold is kept and the rest is
0 (JumpReLU, Rajamanoharan et al. 2024, arXiv:2407.14435). A protein's profile is the maximum over its residues,
divided by the feature's maximum over the reference proteins, times its log10 IDF; of these the largest `profile_size`
are kept, since long proteins would otherwise resemble each other by the number of their features alone.
"""

import gzip
import zlib
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from protatlas.engines.encoders import (
    EMBEDDED_PACK,
    Arrays,
    Encoder,
    Float1D,
    Float2D,
    Int2D,
    read_manifest,
    read_weights,
)
from protatlas.errors import AtlasDamaged, InvalidInput
from protatlas.records import Feature, Region

Int1D: TypeAlias = npt.NDArray[np.int32]

TABLE = "features.jsonl.gz"
# A residue belongs to a region from this share of the feature's peak on the protein on; gaps of so many residues join.
REGION_SHARE = 0.5
REGION_GAP = 2
# Rows of residues that are multiplied at a time: 512 x 4,096 float32 are 8 MiB and stay in cache.
CHUNK = 512


class Activations(NamedTuple):
    """Features of each residue: `indices` int32 (L, k) and raw `values` float32 (L, k) >= 0; 0 marks an unused slot.

    k is the most features that one of the residues has, at least 1.
    """

    indices: Int2D
    values: Float2D

    def trace(self, feature_index: int) -> Float1D:
        """Raw activation of one feature on each residue, float32 (L,); 0 where it is silent."""
        highest: Float1D = np.where(self.indices == feature_index, self.values, 0).max(axis=1, initial=0)
        return highest


class Profile(NamedTuple):
    """Features of a protein: `indices` int32 (n,) ascending and normalised `values` float32 (n,) > 0."""

    indices: Int1D
    values: Float1D


@dataclass(frozen=True)
class Ranking:
    """How similar two proteins are.

    Attributes
    ----------
    dense, sparse : float
        Weights of the cosines of embeddings and of profiles, which add up to 1.
    shortlist : int
        So many of the nearest by these cosines are aligned with the query.
    alignment : float
        Weight of the alignment in the similarity, 0 to 1; 0 aligns nothing.
    half_bits : float
        Bits above chance at which an alignment counts half.
    """

    dense: float
    sparse: float
    shortlist: int = 0
    alignment: float = 0.0
    half_bits: float = 1.0

    def similarity(self, embedding_cosine: Float1D, profile_cosine: Float1D) -> Float1D:
        """Similarity by vectors, 0 to 1, float32 of the shape of the arguments; 1 where both cosines are 1."""
        mixed = self.dense * embedding_cosine + self.sparse * profile_cosine
        return np.clip(mixed, 0.0, 1.0).astype(np.float32)

    def aligned(self, similarity: Float1D, bits: Float1D) -> Float1D:
        """Similarity 0 to 1 from that by vectors and the bits above chance of the alignments, float32 alike.

        What is not aligned has 0 bits: its similarity is comparable.
        """
        aligned = bits / (bits + np.float32(self.half_bits))
        return ((1 - self.alignment) * similarity + self.alignment * aligned).astype(np.float32)


class Dictionary(Protocol):
    """Anything that reads sparse features off the residues of one encoder."""

    @property
    def id(self) -> str:
        """Name, with the hash of the weights."""

    @property
    def encoder_id(self) -> str:
        """Id of the encoder whose residues it reads."""

    @property
    def size(self) -> int:
        """Number of features."""

    def activate(self, residues: Float2D) -> Activations:
        """Features of each residue; `residues` is float32 (L, width of the encoder)."""


class SparseAutoencoder:
    """The encoder half of a sparse autoencoder with one threshold.

    Attributes
    ----------
    id, encoder_id : str
        Its own name with the hash of its weights, and the id of the one encoder whose residues it reads.
    size : int
        Number of features.
    """

    def __init__(self, arrays: Arrays, sae_id: str, encoder_id: str) -> None:
        self.id, self.encoder_id = sae_id, encoder_id
        self._weights = np.ascontiguousarray(arrays["w_enc"].astype(np.float32) * arrays["scale"].astype(np.float32))
        self._bias = arrays["b_enc"].astype(np.float32) - arrays["b_dec"].astype(np.float32) @ self._weights
        self._threshold = np.float32(arrays["threshold"].astype(np.float32))
        self.size = self._weights.shape[1]

    def activate(self, residues: Float2D) -> Activations:
        """Activations above the threshold of each residue, by feature; `residues` is float32 (L, encoder's width).

        Raises
        ------
        InvalidInput
            The residues have another width: they come from another encoder.
        """
        if residues.ndim != 2 or residues.shape[1] != len(self._weights):
            raise InvalidInput("residues", f"shape {residues.shape}", f"(L, {len(self._weights)}) of {self.encoder_id}")
        found, values = [], []
        for at in range(0, len(residues), CHUNK):
            raw = residues[at : at + CHUNK] @ self._weights
            raw += self._bias
            on = np.flatnonzero(raw > self._threshold)
            found.append(on + at * self.size)
            values.append(raw.ravel()[on])
        if not found:
            return by_residue(np.empty(0, np.intp), np.empty(0, np.int32), np.empty(0, np.float32), 0)
        residue, feature = np.divmod(np.concatenate(found), self.size)
        return by_residue(residue, feature.astype(np.int32), np.concatenate(values), len(residues))


def by_residue(residue: npt.NDArray[np.intp], feature: Int1D, value: Float1D, length: int) -> Activations:
    """Activations of a protein of `length` residues from a list of them, (n,) each, residues 0-based and ascending."""
    counts = np.bincount(residue, minlength=length)
    slots = max(int(counts.max(initial=0)), 1)
    slot = np.arange(len(residue)) - np.repeat(np.cumsum(counts) - counts, counts)
    indices, values = np.zeros((length, slots), dtype=np.int32), np.zeros((length, slots), dtype=np.float32)
    indices[residue, slot], values[residue, slot] = feature, value
    return Activations(indices, values)


class FeatureSet:
    """A sparse autoencoder with the statistics and labels of its features.

    Attributes
    ----------
    sae : Dictionary
    idf, maximum : float32 (size,)
        log10 inverse document frequency and raw maximum of each feature over the reference proteins.
    ranking : Ranking
        How cosines and alignment add up to a similarity.
    active_threshold : float
        Normalised value from which on a feature of the profile counts as active on a protein.
    profile_size : int
        Most features that a profile keeps.
    reference : str
        The proteins that maxima, frequencies and labels were counted over.
    """

    def __init__(
        self,
        sae: Dictionary,
        *,
        idf: Float1D,
        maximum: Float1D,
        ranking: Ranking,
        active_threshold: float,
        profile_size: int,
        reference: str,
        table: Callable[[], Sequence[Feature]],
    ) -> None:
        self.sae, self.idf, self.maximum, self.ranking = sae, idf, maximum, ranking
        self.active_threshold, self.profile_size, self.reference = active_threshold, profile_size, reference
        self._read_table = table
        self._factor = np.where(maximum > 0, np.maximum(idf, 0) / np.maximum(maximum, 1e-6), 0).astype(np.float32)

    @cached_property
    def table(self) -> Sequence[Feature]:
        """What each feature means, by feature index; read on first use."""
        return self._read_table()

    def profile(self, activations: Activations) -> Profile:
        """Largest normalised values of the features on the protein, at most `profile_size` (see the module)."""
        pooled = np.zeros(self.sae.size, dtype=np.float32)
        np.maximum.at(pooled, activations.indices.ravel(), activations.values.ravel())
        pooled *= self._factor
        best = np.argsort(-pooled, kind="stable")[: self.profile_size]
        indices = np.sort(best[pooled[best] > 0]).astype(np.int32)
        return Profile(indices, pooled[indices])

    def active(self, profile: Profile) -> frozenset[int]:
        """Features whose normalised value reaches `active_threshold`: the set that clusters compare."""
        return frozenset(profile.indices[self.is_active(profile.values)].tolist())

    def is_active(self, values: Float1D) -> npt.NDArray[np.bool_]:
        """Whether each of some normalised values reaches `active_threshold`, bool of their shape."""
        return values >= self.active_threshold

    def regions(self, activations: Activations, feature_index: int) -> tuple[Region, ...]:
        """Stretches where the feature reaches half of its peak on this protein, in order; empty where it is silent.

        Positions are 1-based and inclusive; stretches at most two residues apart are one; means are raw.
        """
        trace = activations.trace(feature_index)
        if not trace.any():
            return ()
        on = np.flatnonzero(trace >= REGION_SHARE * trace.max())
        runs = np.split(on, np.flatnonzero(np.diff(on) > REGION_GAP + 1) + 1)
        return tuple(_region(trace, int(run[0]), int(run[-1])) for run in runs)

    def check_encoder(self, encoder: Encoder) -> None:
        """Raise `InvalidInput` naming both ids unless the features belong to this encoder."""
        if encoder.id != self.sae.encoder_id:
            expected = f"the encoder it was trained on, {self.sae.encoder_id}"
            raise InvalidInput("sae", f"{self.sae.id} was given residues of {encoder.id}", expected)


def _region(trace: Float1D, first: int, last: int) -> Region:
    """Region of the 0-based inclusive stretch of a trace, float32 (L,)."""
    part = trace[first : last + 1]
    peak = first + int(part.argmax()) + 1
    return Region(start=first + 1, end=last + 1, peak_residue=peak, mean_activation=float(part.mean()))


class FeatureRecords(Sequence[Feature]):
    """Records of features by feature index that are made when they are asked for."""

    @overload
    def __getitem__(self, index: int) -> Feature: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Feature, ...]: ...

    def __getitem__(self, index: int | slice) -> Feature | tuple[Feature, ...]:
        """Feature of an index, or features of a slice."""
        at = range(len(self))[index]
        return tuple(map(self._record, at)) if isinstance(at, range) else self._record(at)

    @abstractmethod
    def _record(self, at: int) -> Feature:
        """Record of a feature from 0 to `len(self) - 1`."""


class FeatureTable(FeatureRecords):
    """What each feature means, by feature index: JSON lines that become records when they are asked for.

    Raises
    ------
    AtlasDamaged
        The file is missing or damaged, or does not hold `size` features in order.
    """

    def __init__(self, path: Path, size: int) -> None:
        self._path = path
        try:
            with gzip.open(path) as stream:
                self._lines = stream.read().splitlines()
        except (OSError, EOFError, zlib.error) as error:
            raise self._damaged("the feature table cannot be read") from error
        if len(self._lines) != size:
            raise self._damaged(f"it holds {len(self._lines)} features and not {size}")

    def __len__(self) -> int:
        """Size of the dictionary."""
        return len(self._lines)

    def _record(self, at: int) -> Feature:
        feature = Feature.model_validate_json(self._lines[at])
        if feature.feature_index != at:
            raise self._damaged(f"line {at + 1} is of feature {feature.feature_index}")
        return feature

    def _damaged(self, problem: str) -> AtlasDamaged:
        return AtlasDamaged(str(self._path), problem, "Copy or remake the pack.")


def open_features(pack: Path | None = None) -> FeatureSet:
    """Features of a model pack, of the embedded one by default.

    Raises
    ------
    AtlasDamaged
        The weights are missing or changed.
    InvalidInput
        The sparse autoencoder belongs to another encoder than the pack's; the message names both.
    """
    folder = pack or EMBEDDED_PACK
    manifest = read_manifest(folder)
    encoder, entry, rules = (_entry(folder, manifest, name) for name in ("encoder", "sae", "ranking"))
    arrays, sae_id = read_weights(folder, "sae")
    sae = SparseAutoencoder(arrays, sae_id, str(entry["encoder_id"]))
    if encoder["id"] != sae.encoder_id:
        raise InvalidInput(
            "sae", f"{sae.id} in a pack of {encoder['id']}", f"the encoder it was trained on, {sae.encoder_id}"
        )
    reference = f"{entry['reference']} Swiss-Prot proteins (release 2014_01), one of each 50 % identity cluster"
    numbers = {name: float(str(value)) for name, value in rules.items()}
    return FeatureSet(
        sae,
        idf=arrays["idf"].astype(np.float32),
        maximum=arrays["maximum"].astype(np.float32),
        ranking=Ranking(
            dense=numbers["dense"],
            sparse=numbers["sparse"],
            shortlist=int(numbers.get("shortlist", 0)),
            alignment=numbers.get("alignment", 0.0),
            half_bits=numbers.get("half_bits", 1.0),
        ),
        active_threshold=numbers["active_threshold"],
        profile_size=int(numbers["profile_size"]),
        reference=reference,
        table=lambda: FeatureTable(folder / TABLE, sae.size),
    )


def _entry(folder: Path, manifest: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Object `name` of a manifest."""
    entry = manifest.get(name)
    if not isinstance(entry, dict):
        raise AtlasDamaged(str(folder), f"the manifest has no `{name}`", "Copy or remake the pack.")
    return entry
