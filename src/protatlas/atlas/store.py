"""The seam to the vector store: points with two vectors and a payload, found by key, condition or nearness.

The payload fields that can be asked for are in `FIELDS`; truth values are the keywords "true" and "false" (Qdrant Edge
0.9 never matches a boolean). Conditions are a small neutral tree, so that the query
language above and the store below do not know each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any, Literal, Protocol, cast
from urllib.parse import urlsplit
from uuid import UUID

import numpy as np
import numpy.typing as npt
import qdrant_edge as qe

from protatlas.atlas.ranking import Ask, Hit, Payload, Scores, by_text, by_vectors, with_rest
from protatlas.errors import AtlasDamaged, InvalidInput
from protatlas.records import point_id

Float1D = npt.NDArray[np.float32]
Int1D = npt.NDArray[np.int32]
Value = str | int

EMBEDDING = "embedding"
FEATURES = "features"
MEMORY = qe.Memory.Cold
"""Everything is mapped from disk and read when asked for: the starter atlas opens in 0.3 s and 6 MB of memory of its
own instead of 1.0 s and 105 MB; the first query by a vector takes 20 ms longer, later ones do not."""
POINTS_AT_ONCE = 256

FIELDS: dict[str, Literal["keyword", "text", "integer", "float"]] = {
    "identifier": "keyword",
    "gene": "keyword",
    "word": "keyword",
    "domain": "keyword",
    "go": "keyword",
    "cluster": "keyword",
    "taxon": "integer",
    "organism_id": "integer",
    "length": "integer",
    "position": "integer",
    "reviewed": "keyword",
    "pct_characterized": "float",
    "title": "text",
    "text": "text",
    "protein_name": "text",
    "organism": "text",
    "lineage": "text",
}


@dataclass(frozen=True)
class Is:
    """The field has this value."""

    field: str
    value: Value


@dataclass(frozen=True)
class StartsWith:
    """A keyword of the field starts with this text."""

    field: str
    prefix: str


@dataclass(frozen=True)
class Words:
    """The text field holds all these words, in any order; as a phrase, one after the other."""

    field: str
    text: str
    phrase: bool = False


@dataclass(frozen=True)
class Between:
    """The number is within bounds, both included; null is unbounded."""

    field: str
    lowest: float | None
    highest: float | None


@dataclass(frozen=True)
class Every:
    """All parts hold; with no part, always."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True)
class Either:
    """At least one part holds."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: "Condition"


@dataclass(frozen=True)
class Keys:
    """The point has one of these keys."""

    keys: frozenset[str]


@dataclass(frozen=True)
class HasVectors:
    """The point carries vectors: it represents a cluster."""


Condition = Is | StartsWith | Words | Between | Every | Either | Not | Keys | HasVectors


@dataclass(frozen=True)
class SparseVector:
    """Sparse vector of unit length: ascending int32 indices and float32 values of the same length."""

    indices: Int1D
    values: Float1D

    @classmethod
    def unit(cls, indices: Int1D, values: Float1D) -> "SparseVector":
        """Vector of these values at length 1; no values stay no values."""
        norm = float(np.linalg.norm(values)) or 1.0
        return cls(indices.astype(np.int32), (values / norm).astype(np.float32))


@dataclass(frozen=True)
class Point:
    """A protein as it is stored; representatives carry vectors, other members do not."""

    key: str
    payload: dict[str, Any]
    embedding: Float1D | None = None
    features: SparseVector | None = None


@dataclass(frozen=True)
class Neighbour:
    """A point near the query: key, similarity (0 to 1, higher is closer) and its payload."""

    key: str
    similarity: float
    payload: dict[str, Any]


class Store(Protocol):
    """What an atlas asks of its store."""

    def retrieve(self, keys: Sequence[str]) -> dict[str, Payload]:
        """Payloads of the keys that are there."""

    def features(self, keys: Sequence[str]) -> dict[str, SparseVector]:
        """Feature vectors, of unit length, of the keys that have one."""

    def find(self, condition: Condition, *, ranking: str | None, limit: int) -> tuple[list[Payload], int]:
        """Payloads that satisfy a condition, by BM25 of `ranking` or in input order, and their total number."""

    def nearest(
        self,
        embedding: Float1D,
        features: SparseVector,
        *,
        weights: tuple[float, float],
        condition: Condition,
        limit: int,
    ) -> list[Neighbour]:
        """Points by falling weighted sum of the two cosines."""

    def close(self) -> None:
        """Let go of the files or the connection."""


@dataclass(frozen=True)
class QdrantServer:
    """Where a Qdrant server listens, such as `http://qdrant:6333`, and the key that it asks for."""

    url: str
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no address.

        Raises
        ------
        InvalidInput
            Without the address, which may hold a password.
        """
        if not self._is_address:
            raise InvalidInput(
                "store",
                "this is no address of a Qdrant server",
                "http://HOST:PORT or https://HOST:PORT, and a key, if any, in PROTATLAS_STORE_API_KEY",
            )
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise InvalidInput("PROTATLAS_STORE_API_KEY", "it has characters that no key has", "printable ASCII")

    @property
    def _is_address(self) -> bool:
        try:
            parts = urlsplit(self.url)
            is_given = bool(parts.hostname) and parts.port != 0
        except ValueError:  # brackets that do not close, a port beyond 65535
            return False
        return is_given and parts.scheme in ("http", "https") and not (parts.username or parts.query or parts.fragment)

    @property
    def has_port(self) -> bool:
        """Whether the address names a port; else it is that of the scheme for https, and 6333 for http."""
        parts = urlsplit(self.url)
        return parts.port is not None or parts.scheme == "https"


class EdgeStore:
    """A Qdrant Edge shard in this process."""

    def __init__(self, shard: qe.EdgeShard) -> None:
        self._shard = shard

    @classmethod
    def create(cls, path: Path, *, embedding_width: int) -> "EdgeStore":
        """Empty store at a path that does not exist yet, for unit vectors of that width."""
        path.mkdir(parents=True)
        flat = qe.HnswIndexConfig(m=0, ef_construct=4, full_scan_threshold=10)
        vectors = {EMBEDDING: qe.EdgeVectorParams(embedding_width, qe.Distance.Dot, hnsw_config=flat, memory=MEMORY)}
        sparse = {FEATURES: qe.EdgeSparseVectorParams(memory=MEMORY)}
        shard = qe.EdgeShard.create(str(path), qe.EdgeConfig(vectors, sparse, wal_enabled=False))
        for name, kind in FIELDS.items():
            shard.update(qe.UpdateOperation.create_field_index(name, _index(kind)))
        return cls(shard)

    @classmethod
    def load(cls, path: Path) -> "EdgeStore":
        """Store that was written at a path.

        Raises
        ------
        AtlasDamaged
            If the files are missing or not those of a shard.
        """
        try:
            return cls(qe.EdgeShard.load(str(path)))
        except Exception as error:  # qdrant-edge 0.9 raises plain Exception for all that fails
            raise AtlasDamaged(
                str(path.parent), f"its store cannot be read ({error})", "Build the atlas again."
            ) from error

    def add(self, points: Iterable[Point]) -> None:
        """Add points, replacing those of the same key."""
        self._shard.update(qe.UpdateOperation.upsert_points([_edge_point(point) for point in points]))

    def finish(self) -> None:
        """Build the indexes of vectors and write everything to disk."""
        self._shard.optimize()
        self._shard.flush()

    def close(self) -> None:
        """Let go of the files."""
        self._shard.close()

    def retrieve(self, keys: Sequence[str]) -> dict[str, Payload]:
        """Payloads of the keys that are there."""
        records = self._shard.retrieve([point_id(key) for key in keys], with_payload=True, with_vector=False)
        return {_key(record): record.payload or {} for record in records}

    def features(self, keys: Sequence[str]) -> dict[str, SparseVector]:
        """See `Store.features`."""
        records = self._shard.retrieve([point_id(key) for key in keys], with_payload=False, with_vector=[FEATURES])
        vectors = {_key(record): cast("dict[str, Any]", record.vector or {}) for record in records}
        return {key: _sparse(vector[FEATURES]) for key, vector in vectors.items() if FEATURES in vector}

    def find(self, condition: Condition, *, ranking: str | None, limit: int) -> tuple[list[Payload], int]:
        """Payloads that satisfy a condition, by BM25 of `ranking` or in input order, and their total number."""
        where = _filter(condition)
        total = self._shard.count(qe.CountRequest(filter=where))
        if total == 0 or limit == 0:
            return [], total
        if not ranking:
            return self._in_order(where, limit), total
        keys = by_text(lambda size: self._hits(where, ranking, size), limit=limit)
        payloads = self.retrieve(keys)
        ranked = [payloads[key] for key in keys]
        return with_rest(ranked, lambda size: self._in_order(where, size), limit=min(limit, total)), total

    def _in_order(self, where: qe.Filter, limit: int) -> list[Payload]:
        query = qe.QueryRequest(limit=limit, query=qe.OrderBy("position"), filter=where, with_payload=True)
        return [point.payload or {} for point in self._shard.query(query)]

    def _hits(self, where: qe.Filter, ranking: str, size: int) -> list[Hit]:
        query = qe.TextQuery("title", ranking)
        request = qe.QueryRequest(limit=size, query=query, filter=where, with_payload=["position"])
        found = self._shard.query(request)
        return [Hit(_key(point), point.score, cast("Payload", point.payload)["position"]) for point in found]

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

        return self._neighbours(by_vectors(scores, weights=weights, limit=limit))

    def _scores(self, query: qe.Query, where: qe.Filter, ask: Ask) -> Scores:
        if ask.among is not None:
            where = qe.Filter(must=[qe.HasIdCondition(cast("set[qe.PointId]", ask.among))])
        request = qe.QueryRequest(limit=ask.size, query=query, filter=where)
        return {cast("UUID", point.id): point.score for point in self._shard.query(request)}

    def _neighbours(self, ranked: list[tuple[UUID, float]]) -> list[Neighbour]:
        """The ranked points with what is stored of them."""
        ids: list[qe.PointId] = [point for point, _ in ranked]
        records = {record.id: record for record in self._shard.retrieve(ids, with_payload=True, with_vector=False)}
        return [Neighbour(point.hex, similarity, records[point].payload or {}) for point, similarity in ranked]

    def points(self) -> Iterator[Point]:
        """All points in input order, as they were added."""
        for first in count(0, POINTS_AT_ONCE):
            where = _filter(Between("position", first, first + POINTS_AT_ONCE - 1))
            request = qe.QueryRequest(
                limit=POINTS_AT_ONCE, query=qe.OrderBy("position"), filter=where, with_payload=True, with_vector=True
            )
            found = self._shard.query(request)
            yield from map(_point, found)
            if not found:
                return


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
