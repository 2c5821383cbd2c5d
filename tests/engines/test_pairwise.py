import numpy as np
import pytest

from protatlas.engines.pairwise import QueryAligner
from tests.known_proteins import HBA, UBIQUITIN

# Diagonal of BLOSUM62 (Henikoff and Henikoff 1992), for the letters of the peptides below.
SELF = {"M": 5, "K": 5, "T": 5, "A": 4, "Y": 7, "I": 4, "Q": 5, "R": 5, "S": 4, "F": 6, "V": 4, "H": 8, "W": 11, "L": 4}


def bits(score: float, query: int, target: int) -> float:
    """Bits of a raw score beyond log2(K m n), with the published lambda and K of BLOSUM62, 11 and 1."""
    return float((0.267 * score - np.log(0.041 * query * target)) / np.log(2))


def test_an_identical_peptide_scores_the_diagonal_of_the_matrix() -> None:
    peptide = "MKTAYIAKQRQISFVKSHFSRQ"
    expected = bits(sum(SELF[letter] for letter in peptide), 22, 22)
    assert QueryAligner(peptide).bits_above_chance([peptide])[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("gap", [1, 3])
def test_a_gap_costs_eleven_and_one_for_each_residue(gap: int) -> None:
    peptide = "MKTAYIAKQRQISFVKSHFSRQ"
    longer = peptide[:11] + "G" * gap + peptide[11:]
    score = sum(SELF[letter] for letter in peptide) - 11 - gap
    found = QueryAligner(peptide).bits_above_chance([longer])[0]
    assert found == pytest.approx(bits(score, 22, len(longer)), abs=1e-3)


def test_relatives_score_above_chance_and_strangers_at_it() -> None:
    beta = "MVHLTPEEKSAVTALWGKVNVDEVGGEALGRLLVVYPWTQRFFESFGDLSTPDAVMGNPKVKAHGKKVLGAFSDGLAHLDNLKGTFATLSELHCDKLHVDPENFRL"
    found = QueryAligner(HBA).bits_above_chance([beta, UBIQUITIN])
    assert found[0] > 60
    assert found[1] < 5
    assert found.dtype == np.float32


def test_letters_that_the_matrix_lacks_count_as_their_nearest() -> None:
    found = QueryAligner("MKTAYIAUQRQOSFVKSHFSRQ").bits_above_chance(
        ["MKTAYIACQRQKSFVKSHFSRQ", "MKTAYIAUQRQOSFVKSHFSRQ"]
    )
    assert found[0] == found[1] > 0
    assert np.isfinite(QueryAligner("*UOJBZX-").bits_above_chance(["MKT", "X", "*"])).all()


def test_nothing_to_align_is_no_score() -> None:
    assert QueryAligner(UBIQUITIN).bits_above_chance([]).shape == (0,)
