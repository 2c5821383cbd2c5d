"""Encoders: a sequence becomes one vector a residue and one vector for the whole protein.

The embedded encoder is linear over k-mers. Each residue is the centre of up to five k-mers (exact or over a reduced
alphabet, contiguous or with gaps); each k-mer has a learned vector, kept as product-quantised codes (Jegou et al.
2011, doi:10.1109/TPAMI.2010.57). A protein's embedding is the whitened sum, a residue's representation the window
mean around it. How the vectors are fitted: `training/README.md`; what they score: `docs/models.md`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from protatlas.errors import AtlasDamaged, InvalidInput

Float1D: TypeAlias = npt.NDArray[np.float32]
Float2D: TypeAlias = npt.NDArray[np.float32]
Int2D: TypeAlias = npt.NDArray[np.int32]
Arrays: TypeAlias = Mapping[str, npt.NDArray[np.generic]]

EMBEDDED_PACK = Path(__file__).parent / "packs" / "default"
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Encoding:
    """What an encoder says of one protein.

    `residues` is float32 of shape (L, width), row i for residue i + 1; `embedding` is float32 of shape
    (embedding_width,), of length 1, or all 0 for a sequence too short or too odd to hold one known k-mer.
    """

    residues: Float2D
    embedding: Float1D


class Encoder(Protocol):
    """Anything that encodes one protein at a time; `max_length` in residues, None where there is no limit."""

    @property
    def id(self) -> str:
        """Name and version, with the hash of the weights."""

    @property
    def width(self) -> int:
        """Columns of `Encoding.residues`."""

    @property
    def embedding_width(self) -> int:
        """Length of `Encoding.embedding`."""

    @property
    def max_length(self) -> int | None:
        """Longest sequence in residues that it takes, None for no limit."""

    def encode(self, sequence: str) -> Encoding:
        """Residue representations and embedding of an upper-case sequence, whatever was encoded before."""


@dataclass(frozen=True)
class Channel:
    """One kind of k-mer: groups of letters that count as one, and the offsets from the centre residue."""

    groups: tuple[str, ...]
    offsets: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of distinct k-mers."""
        return int(len(self.groups) ** len(self.offsets))

    @cached_property
    def letters(self) -> npt.NDArray[np.int32]:
        """Group of each byte, int32 of shape (256,); -1 for a letter that is not one of the 20 amino acids."""
        table = np.full(256, -1, dtype=np.int32)
        for number, group in enumerate(self.groups):
            table[list(group.encode("ascii"))] = number
        return table

    def kmers(self, letters: npt.NDArray[np.uint8]) -> npt.NDArray[np.int32]:
        """K-mer centred on each residue, int32 of shape (L,); -1 over an end or a non-standard letter."""
        reach = max(abs(offset) for offset in self.offsets)
        padded = np.pad(self.letters[letters], reach, constant_values=-1)
        found = np.zeros(len(letters), dtype=np.int32)
        known = np.ones(len(letters), dtype=np.bool_)
        for offset in self.offsets:
            column = padded[reach + offset : reach + offset + len(letters)]
            known &= column >= 0
            found = found * len(self.groups) + column
        return np.where(known, found, -1).astype(np.int32)


# Reduced alphabets and offsets: chosen by retrieval on families that are not held out (training/README.md).
NINE = ("AST", "C", "DN", "EQ", "FYW", "G", "HKR", "ILMV", "P")
TWELVE = ("A", "C", "D", "EQ", "FYW", "G", "H", "IVLM", "KR", "N", "P", "ST")
CHANNELS = (
    Channel(tuple("ACDEFGHIKLMNPQRSTVWY"), (-1, 0, 1)),
    Channel(NINE, (-2, -1, 0, 1, 2)),
    Channel(NINE, (-3, -2, 0, 2, 3)),
    Channel(NINE, (-4, -1, 0, 1, 4)),
    Channel(TWELVE, (-2, -1, 1, 2)),
)


def kmer_ids(sequence: str) -> Int2D:
    """K-mer of each channel centred on each residue, int32 of shape (channels, L), numbered through all channels.

    -1 stands where a k-mer runs over an end or holds a letter other than the 20 amino acids.
    """
    letters = np.frombuffer(sequence.encode("ascii"), dtype=np.uint8)
    first, rows = 0, []
    for channel in CHANNELS:
        ids = channel.kmers(letters)
        rows.append(np.where(ids >= 0, ids + first, -1))
        first += channel.size
    return np.stack(rows).astype(np.int32)


def kmer_weights(ids: Int2D, idf: Float1D) -> Float2D:
    """Weight of each occurrence, float32 of the shape of `ids`.

    A k-mer that occurs n times weighs (1 + ln n) x IDF, shared by its occurrences; each channel has length 1.
    """
    weights = np.zeros(ids.shape, dtype=np.float32)
    for row, out in zip(ids, weights, strict=True):
        _, inverse, counts = np.unique(row, return_inverse=True, return_counts=True)
        n = counts[inverse].astype(np.float32)
        out[:] = np.where(row >= 0, idf[row], 0) * (1 + np.log(n)) / n
        out[:] = out / max(float(np.sqrt(np.sum(n * out**2))), 1e-6)
    return weights


def window_mean(rows: Float2D, width: int) -> Float2D:
    """Mean of each row and its neighbours in a centred window of odd `width`, shorter at the ends; same shape."""
    half = width // 2
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0, dtype=np.float64)])
    at = np.arange(len(rows))
    low, high = np.maximum(at - half, 0), np.minimum(at + half + 1, len(rows))
    means: Float2D = ((sums[high] - sums[low]) / (high - low)[:, None]).astype(np.float32)
    return means


def unit(vector: Float1D) -> Float1D:
    """The vector at length 1; zeros stay zeros."""
    return (vector / max(float(np.linalg.norm(vector)), 1e-9)).astype(np.float32)


class KmerEncoder:
    """The embedded encoder over the arrays of its weight file.

    `idf` (k-mers,), `kept` ids of the k-mers that have a vector, `codes` uint8 (kept, parts), `codebook` (parts, 256,
    part width), `mean` (D,), `whiten` (D, E), `project` (D, P); a residue is `project`ed and averaged over each window
    of `windows`, scaled so that all windows vary alike, so `width` is P x windows.
    """

    max_length: int | None = None

    def __init__(self, arrays: Arrays, encoder_id: str) -> None:
        self.id = encoder_id
        self._idf = arrays["idf"].astype(np.float32)
        kept, codebook = arrays["kept"].astype(np.int32), arrays["codebook"].astype(np.float32)
        self._codes: npt.NDArray[np.uint8] = arrays["codes"].astype(np.uint8, copy=False)
        self._row = np.full(len(self._idf) + 1, -1, dtype=np.int32)  # the last one answers for id -1
        self._row[kept] = np.arange(len(kept), dtype=np.int32)
        self._codebook = codebook
        self._mean, self._whiten, self._project = (
            arrays[name].astype(np.float32) for name in ("mean", "whiten", "project")
        )
        self._windows = [int(width) for width in arrays["windows"].astype(np.int64)]
        self.width = self._project.shape[1] * len(self._windows)
        self.embedding_width = self._whiten.shape[1]

    def encode(self, sequence: str) -> Encoding:
        """See `Encoder.encode`."""
        ids = kmer_ids(sequence)
        rows, weights = self._row[ids], kmer_weights(ids, self._idf)
        weights[rows < 0] = 0
        local = np.zeros((len(sequence), self._project.shape[1]), dtype=np.float32)
        for row, weight in zip(rows, weights, strict=True):
            local += self._local[row] * weight[:, None]
        residues = [window_mean(local, width) * np.float32(width**0.5) for width in self._windows]
        return Encoding(residues=np.concatenate(residues, axis=1), embedding=self._embed(rows, weights))

    @cached_property
    def _local(self) -> Float2D:
        """Projected vector of each k-mer, float32 (kept, P); made on first use, in a fifth of a second."""
        parts, width = np.arange(len(self._codebook)), self._codebook.shape[2]
        table = np.empty((len(self._codes), self._project.shape[1]), dtype=np.float32)
        for at in range(0, len(table), 4096):
            vectors = self._codebook[parts, self._codes[at : at + 4096]].reshape(-1, len(parts) * width)
            table[at : at + 4096] = vectors @ self._project
        return table

    def _embed(self, rows: Int2D, weights: Float2D) -> Float1D:
        """Whitened embedding of the weighted sum of a protein's k-mer vectors; zeros when no k-mer was known."""
        known = weights > 0
        if not known.any():
            return np.zeros(self.embedding_width, dtype=np.float32)
        parts, centres, _ = self._codebook.shape
        cells = self._codes[rows[known]] + np.arange(parts, dtype=np.int32) * centres
        shares = np.bincount(cells.ravel(), weights=np.repeat(weights[known], parts), minlength=parts * centres)
        total = np.einsum("pc,pcw->pw", shares.reshape(parts, centres), self._codebook).ravel().astype(np.float32)
        return unit(((unit(total) - self._mean) @ self._whiten).astype(np.float32))


def file_hash(path: Path) -> str:
    """SHA-256 of a file, lowercase hex."""
    return sha256(path.read_bytes()).hexdigest()


def read_manifest(pack: Path) -> dict[str, object]:
    """Manifest of a model pack (`docs/models.md` says what it holds).

    Raises
    ------
    AtlasDamaged
        There is no readable manifest in the folder.
    """
    try:
        return dict(json.loads((pack / MANIFEST).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise AtlasDamaged(
            str(pack), f"{MANIFEST} is missing or not JSON", "Name a folder with a model pack."
        ) from error


def read_weights(pack: Path, part: str) -> tuple[dict[str, npt.NDArray[np.generic]], str]:
    """Arrays and id of `part` (`encoder` or `sae`) of a pack, after its SHA-256 was checked against the manifest.

    Raises
    ------
    AtlasDamaged
        The weights are missing or are not those that the manifest names.
    """
    entry = read_manifest(pack).get(part)
    if not isinstance(entry, dict):
        raise AtlasDamaged(str(pack), f"{MANIFEST} has no `{part}`", "Remake the pack.")
    path = pack / str(entry["file"])
    found = file_hash(path) if path.is_file() else "no file"
    if found != entry["sha256"]:
        problem = f"{path.name} has SHA-256 {found}, the manifest says {entry['sha256']}"
        raise AtlasDamaged(str(pack), problem, "Copy or remake the pack.")
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays), str(entry["id"])


def open_encoder(pack: Path | None = None) -> Encoder:
    """Encoder of a model pack, of the embedded one by default.

    Raises
    ------
    InvalidInput
        The pack's encoder is of a kind that this version does not run.
    AtlasDamaged
        The pack's weights are missing or changed.
    """
    folder = pack or EMBEDDED_PACK
    kind = read_manifest(folder).get("kind")
    if kind != "kmer-linear":
        raise InvalidInput("pack", f"its encoder is of kind {kind!r}", "a pack of kind 'kmer-linear'")
    arrays, encoder_id = read_weights(folder, "encoder")
    return KmerEncoder(arrays, encoder_id)
