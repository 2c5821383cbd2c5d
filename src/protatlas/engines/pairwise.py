"""Scores of local alignments of one sequence with a few hundred others, in milliseconds (Smith-Waterman, by pyopal)."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyopal
from scoring_matrices import ScoringMatrix  # type: ignore[attr-defined]  # its stubs do not say that they export it

Float1D: TypeAlias = npt.NDArray[np.float32]

MATRIX, GAP_OPEN, GAP_EXTEND = "BLOSUM62", 11, 1
"""The settings of blastp: a gap of n residues costs 11 + n (pyopal counts the first residue in its opening)."""
LAMBDA, KAPPA = 0.267, 0.041
"""Karlin-Altschul parameters of these settings (Altschul et al. 1997, doi:10.1093/nar/25.17.3389)."""
STANDARD = "ACDEFGHIKLMNPQRSTVWYBZX"
ALIKE = {"U": "C", "O": "K", "J": "L"}
"""Residues that the matrix does not know, as their nearest ones; any other letter counts as X."""
LETTERS = str.maketrans(
    {letter: ALIKE.get(letter, "X") for letter in map(chr, range(33, 127)) if letter not in STANDARD}
)


class QueryAligner:
    """A sequence that others are aligned with.

    Parameters
    ----------
    sequence
        Upper-case letters, at least one.
    """

    def __init__(self, sequence: str) -> None:
        self._query = sequence.translate(LETTERS)
        self._aligner = pyopal.Aligner(
            ScoringMatrix.from_name(MATRIX), gap_open=GAP_OPEN + GAP_EXTEND, gap_extend=GAP_EXTEND
        )

    def bits_above_chance(self, targets: Sequence[str]) -> Float1D:
        """Bits by which the best local alignment with each target beats chance, float32 (targets,) >= 0.

        That is log2(1 / E) for two sequences of these lengths, E = K m n exp(-lambda S): 0 where unrelated sequences
        of these lengths score as well.
        """
        if not targets:
            return np.zeros(0, dtype=np.float32)
        known = [target.translate(LETTERS) for target in targets]
        database = pyopal.Database(known, alphabet=self._aligner.alphabet)
        scores = np.array([found.score for found in self._aligner.align(self._query, database)], dtype=np.float64)
        pairs = float(len(self._query)) * np.array([len(target) for target in known], dtype=np.float64)
        bits: Float1D = ((LAMBDA * scores - np.log(KAPPA * pairs)) / np.log(2)).astype(np.float32)
        return np.maximum(bits, np.float32(0))
