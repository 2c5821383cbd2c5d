from dataclasses import astuple

import numpy as np
import pytest

from benchmarks.baselines import kmer_cosines, missing_program, symmetric_bit_scores
from benchmarks.scoring import query_scores, score, score_with_intervals

FAMILIES = np.array(["a", "a", "a", "b", "b"])
# Pairs of one family: 0.9, 0.5, 0.2 and 0.6; of two: 0.7, 0.1, 0.3, 0.2, 0.0 and 0.4.
SIMILARITY = np.array(
    [
        [1.0, 0.9, 0.5, 0.7, 0.1],
        [0.9, 1.0, 0.2, 0.3, 0.2],
        [0.5, 0.2, 1.0, 0.0, 0.4],
        [0.7, 0.3, 0.0, 1.0, 0.6],
        [0.1, 0.2, 0.4, 0.6, 1.0],
    ],
    dtype=np.float32,
)


def test_scores_are_those_counted_by_hand() -> None:
    found = score(SIMILARITY, FAMILIES)

    # 0.9 beats all six, 0.6 and 0.5 five, 0.2 two and is level with one: 18.5 of 24.
    assert found.auc == pytest.approx(18.5 / 24)
    # The fourth protein is nearest to one of the other family.
    assert found.first == pytest.approx(4 / 5)
    # The two nearest of each of three, the nearest of each of two: 1/2, 1/2, 1/2, 0, 1.
    assert found.top == pytest.approx(2.5 / 5)
    # Members above the first false one: 1 of 2, 1 of 2, 1 of 2, 0 of 1, 1 of 1.
    assert found.sensitivity == pytest.approx(2.5 / 5)


def test_a_member_level_with_the_first_false_one_is_not_found_before_it() -> None:
    level = np.ones((4, 4), dtype=np.float32)

    assert query_scores(level, np.array([0, 0, 1, 1]))[:, 2].tolist() == [0, 0, 0, 0]
    assert score(level, np.array(["a", "a", "b", "b"])).auc == 0.5


def test_intervals_hold_the_value_and_are_the_same_each_time() -> None:
    random = np.random.default_rng(1)
    families = np.repeat([f"family {n}" for n in range(12)], 4)
    noise = random.normal(size=(48, 48))
    similarity = ((families[:, None] == families) + noise + noise.T).astype(np.float32)

    value, low, high = score_with_intervals(similarity, families, resamples=200)

    for between, least, most in zip(astuple(value), astuple(low), astuple(high), strict=True):
        assert least < between < most
    assert (value, low, high) == score_with_intervals(similarity, families, resamples=200)


def test_a_similarity_that_separates_the_families_has_an_interval_of_no_width() -> None:
    families = np.repeat(["a", "b", "c"], 3)
    perfect = (families[:, None] == families).astype(np.float32)

    assert [astuple(scores) for scores in score_with_intervals(perfect, families)] == [(1, 1, 1, 1)] * 3


def test_bit_scores_are_the_best_of_a_pair_averaged_over_both_directions() -> None:
    found = symmetric_bit_scores([(0, 1, 30.0), (0, 1, 20.0), (1, 0, 40.0), (1, 2, 10.0)], 3)

    assert found.tolist() == [[0, 35, 0], [35, 0, 5], [0, 5, 0]]


def test_kmer_cosines_add_up_to_five_for_the_same_sequence_and_none_for_another() -> None:
    one, other = "MKTAYIAKQRQISFVKSHFSRQ", "GGGGGWWWWWGGGGG"

    found = kmer_cosines([one, one, one, other], [one] * 3 + [other] * 3)

    assert found[0, 1] == pytest.approx(5)
    assert found[0, 3] == pytest.approx(0, abs=0.01)


def test_a_method_without_its_program_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")

    assert missing_program("blastp") == "makeblastdb"
    assert missing_program("kmers") is None
