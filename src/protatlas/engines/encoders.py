"""Encoders: a sequence becomes one vector a residue and one vector for the whole protein.

The embedded encoder is a small convolutional network, run by NumPy: a residue's representation depends on the 66
residues to either side, a protein's embedding on all of them. How it is trained: `training/README.md`; what it scores:
`docs/models.md`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    (embedding_width,), of length 1, or all 0 for a sequence without one of the 20 amino acids.
    """

    residues: Float2D
    embedding: Float1D


class Encoder(Protocol):
    """Anything that encodes proteins; `max_length` in residues, None where there is no limit."""

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

    def encode_many(self, sequences: Sequence[str]) -> Iterator[tuple[int, Encoding]]:
        """Place and encoding of each sequence, in the order that suits the encoder, each as `encode` gives it."""


LETTERS = "ACDEFGHIKLMNPQRSTVWY"
"""The letters that the embedded encoder reads; any other one, and what lies beyond an end, counts as nothing."""
DILATIONS = (1, 2, 4, 8, 16, 32)
"""Distance of the three taps of each residual convolution: with the first one a residue sees 66 to either side."""
CHUNK = 1_024
"""Residues that are encoded at a time: the layers of a chunk stay in cache."""


class ConvolutionEncoder:
    """The embedded encoder: a convolution over letters, then residual dilated ones, over the arrays of its weight file.

    `first` (taps, 20, C), `block_N` (3, C, C) for each of `DILATIONS`, `residue` (C, width), `protein`
    (C, embedding_width), and a `..._bias` of each. A residue is the projected last layer at length 1, the embedding
    the projected mean of the last layer at length 1. It is deterministic and takes any length.
    """

    max_length: int | None = None

    def __init__(self, arrays: Arrays, encoder_id: str) -> None:
        self.id = encoder_id
        layer = {name: values.astype(np.float32) for name, values in arrays.items()}
        blank = np.zeros((len(layer["first"]), 1, layer["first"].shape[2]), dtype=np.float32)
        self._first, self._first_bias = np.concatenate([layer["first"], blank], axis=1), layer["first_bias"]
        self._blocks = [
            (distance, layer[f"block_{n}"].reshape(-1, layer[f"block_{n}"].shape[2]), layer[f"block_{n}_bias"])
            for n, distance in enumerate(DILATIONS)
        ]
        self._residue, self._protein = ((layer[name], layer[f"{name}_bias"]) for name in ("residue", "protein"))
        self.width, self.embedding_width = len(self._residue[1]), len(self._protein[1])
        self._codes = np.full(256, len(LETTERS), dtype=np.intp)
        self._codes[list(LETTERS.encode("ascii"))] = np.arange(len(LETTERS))
        self._reach = len(self._first) // 2 + sum(DILATIONS)

    def encode(self, sequence: str) -> Encoding:
        """See `Encoder.encode`."""
        codes = self._codes[np.frombuffer(sequence.encode("ascii"), dtype=np.uint8)]
        residues = np.empty((len(codes), self.width), dtype=np.float32)
        total = np.zeros(len(self._first_bias), dtype=np.float64)
        for start in range(0, len(codes), CHUNK):
            low, high = max(start - self._reach, 0), min(start + CHUNK + self._reach, len(codes))
            hidden = self._hidden(codes[low:high])[start - low : start - low + CHUNK]
            total += hidden.sum(axis=0)
            residues[start : start + CHUNK] = units(hidden @ self._residue[0] + self._residue[1])
        if not np.any(codes < len(LETTERS)):
            return Encoding(residues, np.zeros(self.embedding_width, dtype=np.float32))
        mean = (total / len(codes)).astype(np.float32)
        return Encoding(residues, units((mean @ self._protein[0] + self._protein[1])[None])[0])

    def encode_many(self, sequences: Sequence[str]) -> Iterator[tuple[int, Encoding]]:
        """See `Encoder.encode_many`."""
        return enumerate(map(self.encode, sequences))

    def _hidden(self, codes: npt.NDArray[np.intp]) -> Float2D:
        """Last layer of a stretch of letters, float32 (L, C); beyond its ends there is nothing."""
        taps = len(self._first)
        padded = np.pad(codes, taps // 2, constant_values=len(LETTERS))
        hidden = np.zeros((len(codes), len(self._first_bias)), dtype=np.float32)
        for tap, table in enumerate(self._first):
            hidden += table[padded[tap : tap + len(codes)]]
        hidden += self._first_bias
        np.maximum(hidden, 0, out=hidden)
        for distance, weights, bias in self._blocks:
            hidden += convolve(hidden, weights, bias, distance)
        return hidden


def convolve(rows: Float2D, weights: Float2D, bias: Float1D, distance: int) -> Float2D:
    """ReLU of the convolution with taps at -distance, 0 and +distance; rows (L, C), weights (3 x C, C), bias (C,)."""
    width = rows.shape[1]
    beside = np.zeros((len(rows), 3 * width), dtype=np.float32)
    beside[distance:, :width] = rows[:-distance]
    beside[:, width : 2 * width] = rows
    beside[:-distance, 2 * width :] = rows[distance:]
    made: Float2D = beside @ weights
    made += bias
    np.maximum(made, 0, out=made)
    return made


def units(rows: Float2D) -> Float2D:
    """Each row at length 1, float32 of the same shape; zeros stay zeros."""
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    scaled: Float2D = (rows / np.maximum(length, 1e-9)).astype(np.float32)
    return scaled


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
    if kind != "convolution":
        raise InvalidInput("pack", f"its encoder is of kind {kind!r}", "a pack of kind 'convolution'")
    arrays, encoder_id = read_weights(folder, "encoder")
    return ConvolutionEncoder(arrays, encoder_id)
