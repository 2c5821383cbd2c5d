from itertools import pairwise

import pytest

from protatlas.atlas.aligning import by_alignment
from protatlas.engines.features import Ranking
from tests.known_proteins import HBA, UBIQUITIN

RANKING = Ranking(dense=0, sparse=1, shortlist=3, alignment=0.5, half_bits=30)
NEAR_HBA = HBA[:60] + HBA[60:].replace("A", "G")


def test_a_relative_by_alignment_passes_a_stranger_with_more_features_in_common() -> None:
    ranked = by_alignment(HBA, [(UBIQUITIN, 0.4), (NEAR_HBA, 0.3)], ranking=RANKING)

    assert [at for at, _ in ranked] == [1, 0]
    assert ranked[0][1] > 0.5
    assert ranked[1][1] == pytest.approx(0.2, abs=0.05)


def test_the_identical_sequence_is_wholly_similar_however_short() -> None:
    assert by_alignment("MKT", [("MKV", 0.9), ("MKT", 0.8)], ranking=RANKING)[0] == (1, 1.0)


def test_without_alignment_the_order_of_the_vectors_stays() -> None:
    ranked = by_alignment(HBA, [(UBIQUITIN, 0.4), (NEAR_HBA, 0.25)], ranking=Ranking(dense=0, sparse=1))

    assert [at for at, _ in ranked] == [0, 1]
    assert [score for _, score in ranked] == [pytest.approx(0.4), pytest.approx(0.25)]


def test_equally_similar_ones_keep_their_order_and_scores_fall() -> None:
    ranked = by_alignment(HBA, [(UBIQUITIN, 0.4), (UBIQUITIN, 0.4), (NEAR_HBA, 0.1)], ranking=RANKING)

    assert [at for at, _ in ranked] == [2, 0, 1]
    assert all(first[1] >= second[1] for first, second in pairwise(ranked))


def test_no_candidate_is_no_hit() -> None:
    assert by_alignment(HBA, [], ranking=RANKING) == []
