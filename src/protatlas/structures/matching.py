"""Which chains fit which proteins: stretches of both with the same residues, in the same order.

A chain and a protein are laid on each other without gaps; of each such diagonal the stretch of the highest sum is kept
(+1 an equal residue, -4 another, 0 an unknown one), and the stretches that follow each other in both make the match. So
a chain may lack residues, have some that the protein has not (a tag, a fusion partner), and differ in single ones.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

LETTERS = b"ACDEFGHIKLMNPQRSTVWY"
CODES = np.full(256, -1, np.int64)
CODES[np.frombuffer(LETTERS, np.uint8)] = np.arange(len(LETTERS))
# A stretch begins where this many residues are equal. Two differences in 50 residues, the most that are accepted, leave
# equal runs of 16, which hold a whole word of every eighth position.
WORD, STRIDE, SHORT = 8, 8, 100
MISMATCH = -4
MAX_STRETCHES = 50
"""Best stretches that are joined; more come from repeats alone."""
MIN_IDENTITY, MIN_RESIDUES, MIN_SHORT_CHAIN, MIN_SHORT_COVER = 0.95, 50, 20, 0.9


class Stretch(NamedTuple):
    """Where a chain lies on a protein: 0-based starts of both and the length in residues."""

    protein_start: int
    chain_start: int
    length: int


class Fit(NamedTuple):
    """How the residues with coordinates fit: how many lie on the protein, and how many of these are equal to it."""

    residues: int
    equal: int

    @property
    def identity(self) -> float:
        """Share of equal residues, 0 to 1."""
        return self.equal / self.residues if self.residues else 0.0

    def is_accepted(self, observed: int) -> bool:
        """Whether the stretches are long and equal enough, for a chain of so many residues with coordinates."""
        is_whole_short_chain = observed >= MIN_SHORT_CHAIN and self.residues >= MIN_SHORT_COVER * observed
        return self.identity >= MIN_IDENTITY and (self.residues >= MIN_RESIDUES or is_whole_short_chain)


def whole(sequence: str) -> tuple[Stretch, ...]:
    """The match of a chain whose full sequence is that of the protein."""
    return (Stretch(0, 0, len(sequence)),)


def places_on_protein(stretches: Sequence[Stretch], places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Index of each residue of a chain, by its place there, that lies on the protein, and its 0-based place on that."""
    for index, place in enumerate(places):
        for protein_start, chain_start, length in stretches:
            if 0 <= place - chain_start < length:
                yield index, protein_start + place - chain_start


def fit(protein: str, chain: str, stretches: Sequence[Stretch], places: Sequence[int]) -> Fit:
    """Fit of the residues at the places of a chain, those that have coordinates."""
    equal = [chain[places[index]] == protein[at] for index, at in places_on_protein(stretches, places)]
    return Fit(len(equal), sum(equal))


class ChainIndex:
    """Words of chains, to find those that share a stretch with a protein.

    Parameters
    ----------
    chains
        Sequences of chains, X for unknown residues.
    """

    def __init__(self, chains: Sequence[str]) -> None:
        self._chains = chains
        parts = [self._indexed(chain) for chain in chains]
        words = np.concatenate([words for words, _ in parts]) if parts else np.empty(0, np.int64)
        owners = np.repeat(np.arange(len(chains)), [len(words) for words, _ in parts])
        offsets = np.concatenate([offsets for _, offsets in parts]) if parts else np.empty(0, np.int64)
        order = np.argsort(words, kind="stable")
        self._words, self._owners, self._offsets = words[order], owners[order], offsets[order]

    @staticmethod
    def _indexed(chain: str) -> tuple[Ints, Ints]:
        words = _words(chain)
        offsets = np.arange(0, len(words), STRIDE if len(chain) >= SHORT else 1)
        offsets = offsets[words[offsets] >= 0]
        return words[offsets], offsets

    def matches(self, protein: str) -> Iterator[tuple[int, tuple[Stretch, ...]]]:
        """Number of each chain that shares a word with the protein, ascending, and its stretches there."""
        words = _words(protein)
        left, right = (np.searchsorted(self._words, words, side) for side in ("left", "right"))
        counts = np.where(words >= 0, right - left, 0)
        positions = np.repeat(np.arange(len(words)), counts)
        rows = np.repeat(left - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        pairs = np.unique(np.column_stack([self._owners[rows], positions - self._offsets[rows]]), axis=0)
        for number in np.unique(pairs[:, 0]).tolist():
            shifts = pairs[pairs[:, 0] == number, 1].tolist()
            yield number, _joined(_stretches(protein, self._chains[number], shifts))


def _words(sequence: str) -> Ints:
    """Code of the word at each offset, shape (length - WORD + 1,); -1 where it holds an unknown letter."""
    codes = CODES[np.frombuffer(sequence.encode("ascii"), np.uint8)]
    if len(codes) < WORD:
        return np.empty(0, np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(codes, WORD)
    values = windows @ (len(LETTERS) ** np.arange(WORD, dtype=np.int64))
    return np.where((windows < 0).any(axis=1), -1, values)


def _stretches(protein: str, chain: str, shifts: Sequence[int]) -> list[tuple[int, Stretch]]:
    """Sum and stretch of the best part of each diagonal (protein position minus chain position)."""
    letters, others = (np.frombuffer(text.encode("ascii"), np.uint8) for text in (protein, chain))
    unknown = ord("X")
    found = []
    for shift in shifts:
        start, end = max(0, shift), min(len(protein), len(chain) + shift)
        mine, other = letters[start:end], others[start - shift : end - shift]
        scores = np.where((mine == unknown) | (other == unknown), 0, np.where(mine == other, 1, MISMATCH))
        sums = np.concatenate([[0], np.cumsum(scores)])
        gains = sums - np.minimum.accumulate(sums)
        last = int(gains.argmax())
        first = int(sums[: last + 1].argmin())
        if gains[last] >= WORD:
            found.append((int(gains[last]), Stretch(start + first, start + first - shift, last - first)))
    return found


def _joined(found: Sequence[tuple[int, Stretch]]) -> tuple[Stretch, ...]:
    """Stretches of the highest sum that follow each other in both; an overlap is cut off the later one."""
    kept = sorted(found, key=lambda item: (-item[0], item[1]))[:MAX_STRETCHES]
    ordered = sorted(kept, key=lambda item: item[1])
    best: list[tuple[int, tuple[Stretch, ...]]] = []
    for gain, stretch in ordered:
        options: list[tuple[int, tuple[Stretch, ...]]] = [(gain, (stretch,))]
        for before, path in best:
            if cut := _after(path[-1], stretch):
                options.append((before + gain - (stretch.length - cut.length), (*path, cut)))
        best.append(max(options, key=lambda option: option[0]))
    return max(best, key=lambda option: option[0])[1] if best else ()


def _after(before: Stretch, stretch: Stretch) -> Stretch | None:
    """What is left of a stretch after an earlier one, null where less than a word is."""
    ends = before.protein_start + before.length, before.chain_start + before.length
    overlap = max(0, ends[0] - stretch.protein_start, ends[1] - stretch.chain_start)
    if stretch.length - overlap < WORD or overlap >= min(before.length, stretch.length):
        return None
    protein_start, chain_start, length = stretch
    return Stretch(protein_start + overlap, chain_start + overlap, length - overlap)
