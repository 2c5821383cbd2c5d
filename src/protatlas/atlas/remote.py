"""The store on a Qdrant server: the same answers as `EdgeStore`, from a collection that `upload_atlas` fills.

Needs Qdrant 1.20, whose text indexes rank by BM25 and whose keyword indexes match prefixes, as Qdrant Edge's do.
"""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from json import JSONDecodeError
from typing import Any, cast
from uuid import UUID

import numpy as np

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
    QdrantServer,
    SparseVector,
    StartsWith,
    Words,
)
from protatlas.errors import DependencyUnavailable
from protatlas.records import point_id

try:
    from qdrant_client import QdrantClient, models
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse
except ModuleNotFoundError as missing:
    raise DependencyUnavailable(
        "The client of Qdrant servers", 'Install it: pip install "protatlas[qdrant]", or leave --store away.'
    ) from missing

LOG = logging.getLogger(__name__)
OLDEST = (1, 20)
"""First version of the server that ranks by BM25 over a text index."""
PORT = 6333
TIMEOUT_S = 60
FORBIDDEN, MISSING, BUSY, FAILED = (401, 403), 404, 429, 500
INPUT_ORDER = models.OrderByQuery(order_by=models.OrderBy(key="position"))
EXACT = models.SearchParams(exact=True)


class ServerUnavailable(DependencyUnavailable):
    """The server does not answer now; the same call may succeed later."""

    retryable = True


class RemoteStore:
    """A collection of a Qdrant server."""

    def __init__(self, client: QdrantClient, server: QdrantServer, collection: str) -> None:
        self._client = client
        self._server = server
        self.collection = collection

    @classmethod
    def connect(cls, server: QdrantServer, collection: str) -> "RemoteStore":
        """Store of that collection, there or not.

        Raises
        ------
        DependencyUnavailable
            If the server does not answer, refuses the key, or is older than 1.20.
        """
        if server.api_key and server.url.startswith("http:"):
            LOG.warning("the key of %s travels unencrypted: reach it by https outside a private network", server.url)
        client = QdrantClient(
            url=server.url,
            port=None if server.has_port else PORT,
            headers={"api-key": server.api_key} if server.api_key else None,
            timeout=TIMEOUT_S,
            check_compatibility=False,
        )
        store = cls(client, server, collection)
        with store._answering():
            version = client.info().version
        numbers = re.match(r"(\d+)\.(\d+)", version)
        if not numbers or (int(numbers[1]), int(numbers[2])) < OLDEST:
            client.close()
            oldest = ".".join(map(str, OLDEST))
            raise DependencyUnavailable(
                f"Qdrant {oldest} at {server.url}", f"The server is {version}. Update it to {oldest} or newer."
            )
        return store

    @classmethod
    def open(cls, server: QdrantServer, collection: str, *, points: int) -> "RemoteStore":
        """Store of a collection that is complete.

        Raises
        ------
        DependencyUnavailable
            If the server cannot be asked, has no such collection, or another number of points in it.
        """
        store = cls.connect(server, collection)
        found = store.count()
        if found != points:
            store.close()
            holds = "There is none." if found is None else f"It has {found:,} points instead of {points:,}."
            raise DependencyUnavailable(
                f"The complete collection {collection} at {server.url}", f"{holds} {store._upload}"
            )
        return store

    def create(self, *, embedding_width: int) -> None:
        """Make the collection with its indexes, where it is not there yet, for unit vectors of that width."""
        flat = models.HnswConfigDiff(m=0)
        with self._answering():
            if not self._client.collection_exists(self.collection):
                self._client.create_collection(
                    self.collection,
                    vectors_config={
                        EMBEDDING: models.VectorParams(
                            size=embedding_width, distance=models.Distance.DOT, hnsw_config=flat
                        )
                    },
                    sparse_vectors_config={FEATURES: models.SparseVectorParams()},
                )
            for name, kind in FIELDS.items():
                self._client.create_payload_index(self.collection, name, field_schema=_index(kind), wait=True)

    def add(self, points: Iterable[Point]) -> None:
        """Add points, replacing those of the same key."""
        structs = [_struct(point) for point in points]
        with self._answering():
            self._client.upsert(self.collection, points=structs, wait=True)

    def count(self) -> int | None:
        """Number of points, null where there is no such collection."""
        with self._answering():
            if not self._client.collection_exists(self.collection):
                return None
            return self._client.count(self.collection, exact=True).count

    def held(self, keys: Sequence[str]) -> set[str]:
        """Those of the keys that are there."""
        ids = [str(point_id(key)) for key in keys]
        with self._answering():
            found = self._client.retrieve(self.collection, ids, with_payload=False, with_vectors=False)
        return {_key(record) for record in found}

    def close(self) -> None:
        """Let go of the connection."""
        self._client.close()

    def retrieve(self, keys: Sequence[str]) -> dict[str, Payload]:
        """Payloads of the keys that are there."""
        ids = [str(point_id(key)) for key in keys]
        with self._answering():
            records = self._client.retrieve(self.collection, ids, with_payload=True, with_vectors=False)
        return {_key(record): record.payload or {} for record in records}

    def features(self, keys: Sequence[str]) -> dict[str, SparseVector]:
        """See `Store.features`."""
        ids = [str(point_id(key)) for key in keys]
        with self._answering():
            records = self._client.retrieve(self.collection, ids, with_payload=False, with_vectors=[FEATURES])
        return {
            _key(record): _features(record)
            for record in records
            if FEATURES in cast("dict[str, Any]", record.vector or {})
        }

    def find(self, condition: Condition, *, ranking: str | None, limit: int) -> tuple[list[Payload], int]:
        """Payloads that satisfy a condition, by BM25 of `ranking` or in input order, and their total number."""
        where = _filter(condition)
        with self._answering():
            total = self._client.count(self.collection, count_filter=where, exact=True).count
        if total == 0 or limit == 0:
            return [], total
        if not ranking:
            return self._in_order(where, limit), total
        keys = by_text(lambda size: self._hits(where, ranking, size), limit=limit)
        payloads = self.retrieve(keys)
        ranked = [payloads[key] for key in keys]
        return with_rest(ranked, lambda size: self._in_order(where, size), limit=min(limit, total)), total

    def _in_order(self, where: models.Filter, limit: int) -> list[Payload]:
        with self._answering():
            found = self._client.query_points(
                self.collection, query=INPUT_ORDER, query_filter=where, limit=limit, with_payload=True
            )
        return [point.payload or {} for point in found.points]

    def _hits(self, where: models.Filter, ranking: str, size: int) -> list[Hit]:
        with self._answering():
            found = self._client.query_points(
                self.collection,
                query=models.TextQuery(text=ranking),
                using="title",
                query_filter=where,
                limit=size,
                with_payload=["position"],
            )
        return [Hit(_key(point), point.score, cast("Payload", point.payload)["position"]) for point in found.points]

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
        queries = ((EMBEDDING, embedding.tolist()), (FEATURES, _sparse(features)))
        where = _filter(condition)

        def scores(asks: Sequence[Ask]) -> list[Scores]:
            requests = [_request(queries[ask.vector], where, ask) for ask in asks]
            with self._answering():
                answers = self._client.query_batch_points(self.collection, requests=requests)
            return [{_uuid(point): point.score for point in answer.points} for answer in answers]

        return self._neighbours(by_vectors(scores, weights=weights, limit=limit))

    def _neighbours(self, ranked: list[tuple[UUID, float]]) -> list[Neighbour]:
        """The ranked points with what is stored of them."""
        ids = [str(point) for point, _ in ranked]
        with self._answering():
            found = self._client.retrieve(self.collection, ids, with_payload=True, with_vectors=False)
        records = {_uuid(record): record for record in found}
        return [Neighbour(point.hex, similarity, records[point].payload or {}) for point, similarity in ranked]

    @property
    def _upload(self) -> str:
        return f"Run `protatlas upload ATLAS --store {self._server.url}`; what is there already is kept."

    @contextmanager
    def _answering(self) -> Iterator[None]:
        """Turn what goes wrong on the way to the server into an error that names its address."""
        who = f"The Qdrant server at {self._server.url}"
        try:
            yield
        except (ResponseHandlingException, JSONDecodeError) as error:
            reason = type(getattr(error, "source", error)).__name__
            raise ServerUnavailable(
                who, f"It does not answer as one ({reason}). Start it, or correct --store (PROTATLAS_STORE)."
            ) from error
        except UnexpectedResponse as error:
            raise self._refused(who, error.status_code or FAILED) from error
        except ResourceExhaustedResponse as error:
            raise self._refused(who, BUSY) from error

    def _refused(self, who: str, status: int) -> DependencyUnavailable:
        if status in FORBIDDEN:
            return DependencyUnavailable(who, "It refuses the key: set PROTATLAS_STORE_API_KEY to one of its own.")
        if status == MISSING:
            return DependencyUnavailable(who, f"It has no collection {self.collection}. {self._upload}")
        kind = ServerUnavailable if status == BUSY or status >= FAILED else DependencyUnavailable
        return kind(who, f"It answered with status {status}; its log says why.")


def _request(query: tuple[str, Any], where: models.Filter, ask: Ask) -> models.QueryRequest:
    if ask.among is not None:
        where = models.Filter(must=[models.HasIdCondition(has_id=[str(point) for point in ask.among])])
    using, vector = query
    return models.QueryRequest(query=vector, using=using, filter=where, limit=ask.size, params=EXACT)


def _uuid(point: models.Record | models.ScoredPoint) -> UUID:
    return UUID(str(point.id))


def _key(point: models.Record | models.ScoredPoint) -> str:
    return _uuid(point).hex


def _features(record: models.Record) -> SparseVector:
    vector = cast("dict[str, models.SparseVector]", record.vector)[FEATURES]
    return SparseVector(np.asarray(vector.indices, np.int32), np.asarray(vector.values, np.float32))


def _struct(point: Point) -> models.PointStruct:
    vectors: dict[str, Any] = {}
    if point.embedding is not None and point.features is not None:
        vectors = {EMBEDDING: point.embedding.tolist(), FEATURES: _sparse(point.features)}
    payload = {"key": point.key, **point.payload}
    return models.PointStruct(id=str(point_id(point.key)), vector=vectors, payload=payload)


def _sparse(features: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=features.indices.tolist(), values=features.values.tolist())


def _index(kind: str) -> models.PayloadSchemaParams:
    """Index parameters of a Qdrant server for a kind of field: those of `EdgeStore`."""
    match kind:
        case "keyword":
            return models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, prefix=True)
        case "text":
            return models.TextIndexParams(
                type=models.TextIndexType.TEXT,
                tokenizer=models.TokenizerType.WORD,
                lowercase=True,
                ascii_folding=True,
                phrase_matching=True,
                scoring=True,
            )
        case "integer":
            return models.IntegerIndexParams(type=models.IntegerIndexType.INTEGER, lookup=True, range=True)
        case _:
            return models.FloatIndexParams(type=models.FloatIndexType.FLOAT)


def _filter(condition: Condition) -> models.Filter:
    """Filter of a Qdrant server for a condition."""
    match condition:
        case Every(parts):
            return models.Filter(must=[_filter(part) for part in parts])
        case Either(parts):
            return models.Filter(should=[_filter(part) for part in parts])
        case Not(part):
            return models.Filter(must_not=[_filter(part)])
        case Between(field, lowest, highest):
            return _field(field, range=models.Range(gte=lowest, lte=highest))
        case Is(field, value):
            return _field(field, match=models.MatchValue(value=value))
        case StartsWith(field, prefix):
            return _field(field, match=models.MatchPrefix(prefix=prefix))
        case Words(field, text, phrase):
            words = models.MatchPhrase(phrase=text) if phrase else models.MatchText(text=text)
            return _field(field, match=words)
        case Keys(keys):
            return _with_ids(keys)
        case HasVectors():
            return models.Filter(must=[models.HasVectorCondition(has_vector=EMBEDDING)])


def _field(key: str, **condition: Any) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key=key, **condition)])


@lru_cache(maxsize=8)
def _with_ids(keys: frozenset[str]) -> models.Filter:
    """Filter of the points of these keys; a long list is asked for again and again."""
    return models.Filter(must=[models.HasIdCondition(has_id=[str(point_id(key)) for key in keys])])
