"""One suite for every store: what an atlas asks of it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from protatlas.atlas.edge import EdgeStore, EdgeWriter
from protatlas.atlas.remote import RemoteStore
from protatlas.atlas.store import (
    Between,
    Condition,
    Either,
    Every,
    HasVectors,
    Is,
    Keys,
    Not,
    Point,
    QdrantServer,
    SparseVector,
    StartsWith,
    Store,
    Words,
)
from protatlas.errors import AtlasDamaged
from tests.fakes.qdrant_server import FakeQdrant, running

WIDTH = 8
COUNT = 600


def _vectors(seed: int) -> tuple[np.ndarray, SparseVector]:
    random = np.random.default_rng(seed)
    embedding = random.normal(size=WIDTH).astype(np.float32)
    indices = np.sort(random.choice(50, 5, replace=False)).astype(np.int32)
    values = random.random(5).astype(np.float32) + np.float32(0.1)
    return embedding / np.linalg.norm(embedding), SparseVector(indices, values / np.linalg.norm(values))


def _point(row: int) -> Point:
    payload = {
        "record": str(row),
        "cluster_record": "",
        "position": row,
        "length": 100 + row,
        "gene": [f"g{row % 7}"],
        "reviewed": "true" if row % 2 else "false",
        "title": f"insulin {row}" if row < 3 else f"kinase {row}",
        "text": f"insulin {row} receptor" if row < 5 else f"protein kinase {row}",
        "pct_characterized": 0.0 if row % 3 else 50.0,
    }
    return Point(f"{row:032x}", payload, *_vectors(row))


def _all_points() -> Iterator[Point]:
    yield from map(_point, range(COUNT))
    yield Point("f" * 32, {"record": "member", "position": COUNT, "title": "member", "text": "member"})


def _edge(folder: Path, *, shard_points: int) -> EdgeStore:
    writer = EdgeWriter(folder / "store", embedding_width=WIDTH, shard_points=shard_points)
    writer.add(_all_points())
    writer.finish()
    return EdgeStore.load(folder / "store")


@contextmanager
def _in_process(folder: Path) -> Iterator[Store]:
    with closing(_edge(folder, shard_points=10_000)) as store:
        yield store


@contextmanager
def _in_shards(folder: Path) -> Iterator[Store]:
    with closing(_edge(folder, shard_points=77)) as store:
        yield store


@contextmanager
def _on_a_server(_: Path) -> Iterator[Store]:
    with running(FakeQdrant()) as address, closing(RemoteStore.connect(QdrantServer(address), "points")) as store:
        store.create(embedding_width=WIDTH)
        store.add(_all_points())
        yield store


@pytest.fixture(scope="module", params=[_in_process, _in_shards, _on_a_server])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with request.param(tmp_path_factory.mktemp("store")) as opened:
        yield opened


@pytest.fixture(scope="module", params=[_in_process, _on_a_server])
def whole_store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store whose points share their statistics of words; shards have them each of its own."""
    with request.param(tmp_path_factory.mktemp("store")) as opened:
        yield opened


def test_known_keys_come_back_and_unknown_ones_are_left_out(store: Store) -> None:
    found = store.retrieve([f"{3:032x}", "e" * 32])

    assert {key: payload["record"] for key, payload in found.items()} == {f"{3:032x}": "3"}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Is("gene", "g1"), [row for row in range(COUNT) if row % 7 == 1]),
        (StartsWith("gene", "g"), list(range(COUNT))),
        (Is("reviewed", "true"), [row for row in range(COUNT) if row % 2]),
        (Between("length", 110, 112), [10, 11, 12]),
        (Between("length", None, 101), [0, 1]),
        (Between("pct_characterized", None, 0), [row for row in range(COUNT) if row % 3]),
        (Words("text", "receptor insulin"), [0, 1, 2, 3, 4]),
        (Words("text", "receptor insulin", phrase=True), []),
        (Every((Is("gene", "g1"), Not(Is("reviewed", "true")))), [r for r in range(COUNT) if r % 7 == 1 and not r % 2]),
        (Either((Between("length", 100, 100), Between("length", 105, 105))), [0, 5]),
        (Keys(frozenset(f"{row:032x}" for row in (3, 8, 10_000))), [3, 8]),
        (Every((Between("length", None, 104), Not(Keys(frozenset({f"{3:032x}"}))))), [0, 1, 2, 4]),
        (Every((HasVectors(), Between("position", COUNT - 2, COUNT))), [COUNT - 2, COUNT - 1]),
    ],
)
def test_conditions_find_exactly_their_points_in_input_order(
    store: Store, condition: Condition, expected: list[int]
) -> None:
    found, total = store.find(condition, ranking=None, limit=COUNT)

    assert [int(payload["record"]) for payload in found] == expected
    assert total == len(expected)


def test_the_total_counts_what_the_limit_leaves_out(store: Store) -> None:
    found, total = store.find(Is("reviewed", "true"), ranking=None, limit=2)

    assert len(found) == 2
    assert total == COUNT // 2


def test_a_ranking_puts_titles_with_its_words_first_and_loses_no_other_match(store: Store) -> None:
    found, total = store.find(Words("text", "insulin"), ranking="insulin", limit=10)

    assert {payload["record"] for payload in found[:3]} == {"0", "1", "2"}
    assert {payload["record"] for payload in found[3:]} == {"3", "4"}
    assert total == 5


def test_equal_ranks_keep_the_input_order_at_any_limit(whole_store: Store) -> None:
    for limit in (5, 40, 200):
        found, total = whole_store.find(Is("reviewed", "true"), ranking="kinase", limit=limit)

        assert [payload["position"] for payload in found] == list(range(3, 3 + 2 * limit, 2))
        assert total == COUNT // 2


@pytest.mark.parametrize("weights", [(1.0, 0.0), (0.5, 0.5), (0.1, 0.9), (0.0, 1.0)])
def test_nearest_equals_the_ranking_over_all_points(store: Store, weights: tuple[float, float]) -> None:
    embedding, features = _vectors(10_000)
    dense = np.zeros(50, np.float32)
    dense[features.indices] = features.values
    scores = {}
    for row in range(COUNT):
        own, sparse = _vectors(row)
        scores[f"{row:032x}"] = weights[0] * float(own @ embedding) + weights[1] * float(
            dense[sparse.indices] @ sparse.values
        )
    expected = sorted(scores, key=lambda key: -scores[key])[:10]

    found = store.nearest(embedding, features, weights=weights, condition=Every(), limit=10)

    assert [neighbour.key for neighbour in found] == expected
    assert found[0].similarity == pytest.approx(scores[expected[0]], abs=1e-5)


def test_nearest_keeps_to_its_condition_and_leaves_out_members_without_vectors(store: Store) -> None:
    embedding, features = _vectors(3)

    found = store.nearest(embedding, features, weights=(0.5, 0.5), condition=Is("gene", "g3"), limit=COUNT)

    assert found[0].key == f"{3:032x}"
    assert found[0].similarity == pytest.approx(1.0, abs=1e-5)
    assert {int(neighbour.key, 16) % 7 for neighbour in found} == {3}
    assert len(found) == len([row for row in range(COUNT) if row % 7 == 3])


def test_a_folder_that_is_no_store_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(AtlasDamaged, match=str(tmp_path)):
        EdgeStore.load(tmp_path / "store")


def test_features_are_those_that_were_stored_and_unknown_keys_are_left_out(store: Store) -> None:
    keys = [f"{row:032x}" for row in (7, 3)]

    found = store.features([*keys, "f" * 32])

    assert sorted(found) == sorted(keys)
    for row, key in zip((7, 3), keys, strict=True):
        _, stored = _vectors(row)
        np.testing.assert_array_equal(found[key].indices, stored.indices)
        np.testing.assert_allclose(found[key].values, stored.values, rtol=1e-6)
