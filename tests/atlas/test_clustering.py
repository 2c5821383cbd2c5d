import numpy as np
import pytest
from scipy import sparse

from protatlas.atlas.clustering import cluster_by_features


def _active(sets: list[set[int]], features: int = 64) -> sparse.csr_array:
    dense = np.zeros((len(sets), features), np.float32)
    for row, members in enumerate(sets):
        dense[row, sorted(members)] = 1
    return sparse.csr_array(dense)


def _jaccard(first: set[int], second: set[int]) -> float:
    return len(first & second) / len(first | second)


def test_sets_with_jaccard_of_six_tenths_are_one_cluster_and_sets_below_are_not() -> None:
    together = [set(range(8)), set(range(2, 8))]
    apart = [set(range(20, 28)), set(range(24, 32))]
    assert _jaccard(*together) == 0.75
    assert _jaccard(*apart) < 0.6

    owners = cluster_by_features(_active([*together, *apart]), ["a", "b", "c", "d"])

    assert owners[0] == owners[1]
    assert owners[2] != owners[3]


def test_proteins_without_active_features_stay_alone() -> None:
    owners = cluster_by_features(_active([set(), set(), {1, 2}]), ["a", "b", "c"])

    assert owners.tolist() == [0, 1, 2]


def _random_sets() -> tuple[list[set[int]], list[str]]:
    random = np.random.default_rng(7)
    seeds = [set(random.choice(64, 12, replace=False).tolist()) for _ in range(30)]
    sets = [seed ^ set(random.choice(64, 2, replace=False).tolist()) for seed in seeds for _ in range(6)]
    return sets, [f"{row:032x}" for row in random.permutation(len(sets))]


def test_every_member_has_jaccard_of_six_tenths_with_its_representative() -> None:
    sets, keys = _random_sets()

    owners = cluster_by_features(_active(sets), keys)

    assert all(_jaccard(sets[row], sets[owner]) >= 0.6 for row, owner in enumerate(owners.tolist()))
    assert all(owners[owner] == owner for owner in owners.tolist())
    assert len(set(owners.tolist())) < len(sets) / 2


@pytest.mark.parametrize("seed", [1, 2])
def test_clusters_do_not_depend_on_the_order_of_the_proteins(seed: int) -> None:
    sets, keys = _random_sets()
    order = np.random.default_rng(seed).permutation(len(sets)).tolist()

    first = cluster_by_features(_active(sets), keys)
    second = cluster_by_features(_active([sets[row] for row in order]), [keys[row] for row in order])

    by_key = {keys[row]: keys[owner] for row, owner in enumerate(first.tolist())}
    assert {keys[order[row]]: keys[order[owner]] for row, owner in enumerate(second.tolist())} == by_key
