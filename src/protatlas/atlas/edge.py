"""The store in this process: the points of an atlas in shards of Qdrant Edge, one after the other in input order.

A shard that is being written keeps about 10 kB of memory a point until it is closed, so many points take several: the
memory of a build is that of one shard.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import numpy as np
import qdrant_edge as qe

from protatlas.atlas.ranking import Ask, Hit, Payload, Scores, by_text, by_vectors, with_rest
from protatlas.atlas.store import (
    EMBEDDING,
    FEATURES,
    FIELDS,
    Between,
    Condition,
    Either,
    Every,
    Float1D,
    HasVectors,
    Is,
    Keys,
    Neighbour,
    Not,
    Point,
    SparseVector,
    StartsWith,
    Words,
)
from protatlas.errors import AtlasDamaged
from protatlas.records import point_id

MEMORY = qe.Memory.Cold
"""Everything is mapped from disk and read when asked for: the starter atlas opens in 0.3 s and 6 MB of memory of its
own instead of 1.0 s and 105 MB; the first query by a vector takes 20 ms longer, later ones do not."""
POINTS_AT_ONCE = 256
SHARD_POINTS = 100_000


class EdgeWriter:
    """Writes points, given in input order, to a path that does not exist yet.

    Parameters
    ----------
    embedding_width : int
        Length of the points' embeddings.
    shard_points : int
        Points after which a new shard begins.
    """

    def __init__(self, path: Path, *, embedding_width: int, shard_points: int = SHARD_POINTS) -> None:
        path.mkdir(parents=True)
        self._path, self._width, self._shard_points = path, embedding_width, shard_points
        self._written = self._in_shard = 0
        self._shard = self._next_shard()

    def add(self, points: Iterable[Point]) -> None:
        """Add points."""
        given = list(points)
        while given:
            if self._in_shard == self._shard_points:
                self._shard.finish()
                self._shard = self._next_shard()
            room = self._shard_points - self._in_shard
            part, given = given[:room], given[room:]
            self._shard.upsert(part)
            self._in_shard += len(part)

    def finish(self) -> None:
        """Build the indexes, write everything to disk and let go of the files."""
        self._shard.finish()

    def _next_shard(self) -> "Shard":
        shard = Shard.create(self._path / f"{self._written:05}", embedding_width=self._width)
        self._written, self._in_shard = self._written + 1, 0
        return shard


class EdgeStore:
    """The shards at a path, in input order.

    Where there are several, words are weighed by the statistics of their own shard, so a ranking by text may differ a
    little from that of one; all else is the same.
    """

    def __init__(self, shards: Sequence["Shard"]) -> None:
        self._shards = tuple(shards)

    @classmethod
    def load(cls, path: Path) -> "EdgeStore":
        """Store that was written at a path.

        Raises
        ------
        AtlasDamaged
            If the files are missing or not those of shards.
        """
        folders = sorted(path.iterdir()) if path.is_dir() else []
        if not folders:
            raise AtlasDamaged(str(path.parent), "its store is missing", "Build the atlas again.")
        try:
            return cls([Shard.load(folder) for folder in folders])
        except Exception as error:  # qdrant-edge 0.9 raises plain Exception for all that fails
            raise AtlasDamaged(
                str(path.parent), f"its store cannot be read ({error})", "Build the atlas again."
            ) from error

    def close(self) -> None:
        """Let go of the files."""
        for shard in self._shards:
            shard.close()

    def retrieve(self, keys: Sequence[str]) -> dict[str, Payload]:
        """Payloads of the keys that are there."""
        return {key: payload for shard in self._shards for key, payload in shard.retrieve(keys).items()}

    def features(self, keys: Sequence[str]) -> dict[str, SparseVector]:
        """See `Store.features`."""
        return {key: vector for shard in self._shards for key, vector in shard.features(keys).items()}

    def find(self, condition: Condition, *, ranking: str | None, limit: int) -> tuple[list[Payload], int]:
        """Payloads that satisfy a condition, by BM25 of `ranking` or in input order, and their total number."""
        where = _filter(condition)
        total = sum(shard.count(where) for shard in self._shards)
        if total == 0 or limit == 0:
            return [], total
        if not ranking:
            return self._in_order(where, limit), total
        keys = by_text(lambda size: self._hits(where, ranking, size), limit=limit)
        payloads = self.retrieve(keys)
        ranked = [payloads[key] for key in keys]
        return with_rest(ranked, lambda size: self._in_order(where, size), limit=min(limit, total)), total

    def _in_order(self, where: qe.Filter, limit: int) -> list[Payload]:
        found = list[Payload]()
        for shard in self._shards:
            if len(found) < limit:
                found += shard.in_order(where, limit - len(found))
        return found

    def _hits(self, where: qe.Filter, ranking: str, size: int) -> list[Hit]:
        found = [hit for shard in self._shards for hit in shard.hits(where, ranking, size)]
        return sorted(found, key=lambda hit: (-hit.score, hit.position))[:size]

    def nearest(
        self,
        embedding: Float1D,
        features: SparseVector,
        *,
        weights: tuple[float, float],
        condition: Condition,
        limit: int,
    ) -> list[Neighbour]:
        """Points by falling weighted sum of the two cosines, exact as `by_vectors` is."""
        queries, where = (_dense_query(embedding), _sparse_query(features)), _filter(condition)

        def scores(asks: Sequence[Ask]) -> list[Scores]:
            return [self._scores(queries[ask.vector], where, ask) for ask in asks]

        ranked = by_vectors(scores, weights=weights, limit=limit)
        payloads = self.retrieve([point.hex for point, _ in ranked])
        return [Neighbour(point.hex, similarity, payloads[point.hex]) for point, similarity in ranked]

    def _scores(self, query: qe.Query, where: qe.Filter, ask: Ask) -> Scores:
        found = [item for shard in self._shards for item in shard.scores(query, where, ask).items()]
        return dict(sorted(found, key=lambda item: -item[1])[: ask.size])

    def points(self) -> Iterator[Point]:
        """All points in input order, as they were added."""
        for shard in self._shards:
            yield from shard.points()


class Shard:
    """A shard of Qdrant Edge: points that lie one after the other in input order."""

    def __init__(self, shard: qe.EdgeShard) -> None:
        self._shard = shard

    @classmethod
    def create(cls, path: Path, *, embedding_width: int) -> "Shard":
        """Empty shard at a path that does not exist yet."""
        path.mkdir()
        flat = qe.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=10)
        vectors = {EMBEDDING: qe.EdgeVectorParams(embedding_width, qe.Distance.Dot, hnsw_config=flat, memory=MEMORY)}
        sparse = {FEATURES: qe.EdgeSparseVectorParams(memory=MEMORY)}
        shard = qe.EdgeShard.create(str(path), qe.EdgeConfig(vectors, sparse, wal_enabled=False))
        for name, kind in FIELDS.items():
            shard.update(qe.UpdateOperation.create_field_index(name, _index(kind)))
        return cls(shard)

    @classmethod
    def load(cls, path: Path) -> "Shard":
        """Shard that was written at a path."""
        return cls(qe.EdgeShard.load(str(path)))

    def upsert(self, points: Iterable[Point]) -> None:
        """Add points, replacing those of the same key."""
        self._shard.update(qe.UpdateOperation.upsert_points([_edge_point(point) for point in points]))

    def finish(self) -> None:
        """Build the indexes, write everything to disk and let go of the files."""
        self._shard.optimize()
        self._shard.flush()
        self._shard.close()

    def close(self) -> None:
        """Let go of the files."""
        self._shard.close()

    def retrieve(self, keys: Sequence[str]) -> dict[str, Payload]:
        """Payloads of the keys that are here."""
        records = self._shard.retrieve([point_id(key) for key in keys], with_payload=True, with_vector=False)
        return {_key(record): record.payload or {} for record in records}

    def features(self, keys: Sequence[str]) -> dict[str, SparseVector]:
        """Feature vectors of the keys that are here and have one."""
        records = self._shard.retrieve([point_id(key) for key in keys], with_payload=False, with_vector=[FEATURES])
        vectors = {_key(record): cast("dict[str, Any]", record.vector or {}) for record in records}
        return {key: _sparse(vector[FEATURES]) for key, vector in vectors.items() if FEATURES in vector}

    def count(self, where: qe.Filter) -> int:
        """Number of points that a filter lets through."""
        return self._shard.count(qe.CountRequest(filter=where))

    def in_order(self, where: qe.Filter, limit: int) -> list[Payload]:
        """Payloads that a filter lets through, in input order."""
        query = qe.QueryRequest(limit=limit, query=qe.OrderBy("position"), filter=where, with_payload=True)
        return [point.payload or {} for point in self._shard.query(query)]

    def hits(self, where: qe.Filter, ranking: str, size: int) -> list[Hit]:
        """Points that share a word with a text, best first."""
        query = qe.TextQuery("title", ranking)
        request = qe.QueryRequest(limit=size, query=query, filter=where, with_payload=["position"])
        found = self._shard.query(request)
        return [Hit(_key(point), point.score, cast("Payload", point.payload)["position"]) for point in found]

    def scores(self, query: qe.Query, where: qe.Filter, ask: Ask) -> Scores:
        """What is asked, of the points here."""
        if ask.among is not None:
            where = qe.Filter(must=[qe.HasIdCondition(cast("set[qe.PointId]", ask.among))])
        request = qe.QueryRequest(limit=ask.size, query=query, filter=where)
        return {cast("UUID", point.id): point.score for point in self._shard.query(request)}

    def points(self) -> Iterator[Point]:
        """All points in input order, as they were added."""
        for start in count(self._first_position(), POINTS_AT_ONCE):
            where = _filter(Between("position", start, start + POINTS_AT_ONCE - 1))
            request = qe.QueryRequest(
                limit=POINTS_AT_ONCE, query=qe.OrderBy("position"), filter=where, with_payload=True, with_vector=True
            )
            found = self._shard.query(request)
            yield from map(_point, found)
            if not found:
                return

    def _first_position(self) -> int:
        first = self.in_order(_filter(Every()), 1)
        return int(first[0]["position"]) if first else 0


def _point(stored: qe.ScoredPoint) -> Point:
    vectors = cast("dict[str, Any]", stored.vector) or {}
    if EMBEDDING not in vectors:
        return Point(_key(stored), stored.payload or {})
    embedding = np.asarray(vectors[EMBEDDING], np.float32)
    return Point(_key(stored), stored.payload or {}, embedding, _sparse(vectors[FEATURES]))


def _sparse(vector: qe.SparseVector) -> SparseVector:
    return SparseVector(np.asarray(vector.indices, np.int32), np.asarray(vector.values, np.float32))


def _key(point: qe.Record | qe.ScoredPoint) -> str:
    """Key of a stored point; its id is a UUID, as `_edge_point` wrote it."""
    return cast("UUID", point.id).hex


def _edge_point(point: Point) -> qe.Point:
    vectors: dict[str, Any] = {}
    if point.embedding is not None and point.features is not None:
        vectors = {
            EMBEDDING: point.embedding.tolist(),
            FEATURES: qe.SparseVector(point.features.indices.tolist(), point.features.values.tolist()),
        }
    return qe.Point(point_id(point.key), vectors, {"key": point.key, **point.payload})


def _dense_query(embedding: Float1D) -> qe.Query:
    return qe.Query.Nearest(embedding.tolist(), using=EMBEDDING)


def _sparse_query(features: SparseVector) -> qe.Query:
    return qe.Query.Nearest(qe.SparseVector(features.indices.tolist(), features.values.tolist()), using=FEATURES)


def _index(kind: str) -> Any:
    """Index parameters of Qdrant Edge for a kind of field."""
    match kind:
        case "keyword":
            return qe.KeywordIndexParams(prefix=True, memory=MEMORY)
        case "text":
            return qe.TextIndexParams(
                tokenizer=qe.TokenizerType.Word,
                lowercase=True,
                ascii_folding=True,
                phrase_matching=True,
                scoring=True,
                memory=MEMORY,
            )
        case "integer":
            return qe.IntegerIndexParams(lookup=True, range=True, memory=MEMORY)
        case _:
            return qe.FloatIndexParams(memory=MEMORY)


def _filter(condition: Condition) -> qe.Filter:
    """Filter of Qdrant Edge for a condition."""
    match condition:
        case Every(parts):
            return qe.Filter(must=[_filter(part) for part in parts])
        case Either(parts):
            return qe.Filter(should=[_filter(part) for part in parts])
        case Not(part):
            return qe.Filter(must_not=[_filter(part)])
        case Between(field, lowest, highest):
            return qe.Filter(must=[qe.FieldCondition(field, range=qe.RangeFloat(gte=lowest, lte=highest))])
        case Is(field, value):
            return qe.Filter(must=[qe.FieldCondition(field, match=qe.MatchValue(value))])
        case StartsWith(field, prefix):
            return qe.Filter(must=[qe.FieldCondition(field, match=qe.MatchPrefix(prefix))])
        case Words(field, text, phrase):
            words = qe.MatchPhrase(text) if phrase else qe.MatchText(text)
            return qe.Filter(must=[qe.FieldCondition(field, match=words)])
        case Keys(keys):
            return _with_ids(keys)
        case HasVectors():
            return qe.Filter(must=[qe.HasVectorCondition(EMBEDDING)])


@lru_cache(maxsize=8)
def _with_ids(keys: frozenset[str]) -> qe.Filter:
    """Filter of the points of these keys; a long list is asked for again and again."""
    return qe.Filter(must=[qe.HasIdCondition({point_id(key) for key in keys})])
