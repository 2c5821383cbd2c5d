"""A Qdrant server on a real socket, answered by the local mode of qdrant-client.

It takes the requests that protatlas sends and no others. The local mode has no indexes but those that texts are ranked
by, and folds no accents: `ascii_folding` is left away here, and other indexes are.

Run as `python -m tests.fakes.qdrant_server PORT` for one to try by hand.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from pydantic import BaseModel, TypeAdapter
from qdrant_client import QdrantClient, models
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

VERSION = "1.20.0"
SCHEMAS: TypeAdapter[models.PayloadSchemaParams] = TypeAdapter(models.PayloadSchemaParams)


class FakeQdrant:
    """The server: `local` holds its collections, `upserts` counts the points that were sent to it."""

    def __init__(self, *, api_key: str | None = None, version: str = VERSION) -> None:
        self.local = QdrantClient(":memory:")
        self.upserts = 0
        self.fails_after: int | None = None
        self._api_key = api_key
        self._version = version
        self.app = Starlette(
            routes=[
                Route("/", self._root),
                Route("/collections/{name}/exists", self._exists),
                Route("/collections/{name}", self._create, methods=["PUT"]),
                Route("/collections/{name}/index", self._index, methods=["PUT"]),
                Route("/collections/{name}/points", self._upsert, methods=["PUT"]),
                Route("/collections/{name}/points", self._retrieve, methods=["POST"]),
                Route("/collections/{name}/points/count", self._count, methods=["POST"]),
                Route("/collections/{name}/points/query", self._query, methods=["POST"]),
                Route("/collections/{name}/points/query/batch", self._query_batch, methods=["POST"]),
            ]
        )

    async def _body(self, request: Request) -> tuple[str, dict[str, Any]]:
        """Name of the collection and body of a request that may be answered."""
        if self._api_key and request.headers.get("api-key") != self._api_key:
            raise _Refused(401, "Must provide an API key")
        name = request.path_params["name"]
        is_new = request.method == "PUT" and request.url.path.endswith(name)
        if not is_new and not request.url.path.endswith("/exists") and not self.local.collection_exists(name):
            raise _Refused(404, f"Not found: Collection `{name}` doesn't exist!")
        return name, await request.json() if await request.body() else {}

    async def _root(self, _: Request) -> Response:
        return JSONResponse({"title": "qdrant - vector search engine", "version": self._version})

    async def _exists(self, request: Request) -> Response:
        name, _ = await self._body(request)
        return _result({"exists": self.local.collection_exists(name)})

    async def _create(self, request: Request) -> Response:
        name, body = await self._body(request)
        asked = models.CreateCollection.model_validate(body)
        self.local.create_collection(
            name, vectors_config=asked.vectors, sparse_vectors_config=asked.sparse_vectors or {}
        )
        return _result(True)

    async def _index(self, request: Request) -> Response:
        name, body = await self._body(request)
        schema = SCHEMAS.validate_python(body["field_schema"])
        if isinstance(schema, models.TextIndexParams):
            assert schema.ascii_folding
            plain = schema.model_copy(update={"ascii_folding": None})
            self.local.create_payload_index(name, body["field_name"], field_schema=plain)
        return _result({"operation_id": 0, "status": "completed"})

    async def _upsert(self, request: Request) -> Response:
        name, body = await self._body(request)
        points = models.PointsList.model_validate(body).points
        if self.fails_after is not None and self.upserts + len(points) > self.fails_after:
            raise _Refused(503, "Service unavailable")
        self.upserts += len(points)
        self.local.upsert(name, points)
        return _result({"operation_id": 0, "status": "completed"})

    async def _retrieve(self, request: Request) -> Response:
        name, body = await self._body(request)
        asked = models.PointRequest.model_validate(body)
        found = self.local.retrieve(
            name, asked.ids, with_payload=bool(asked.with_payload), with_vectors=asked.with_vector or False
        )
        return _result(found)

    async def _count(self, request: Request) -> Response:
        name, body = await self._body(request)
        asked = models.CountRequest.model_validate(body)
        return _result(self.local.count(name, count_filter=asked.filter, exact=bool(asked.exact)))

    async def _query(self, request: Request) -> Response:
        name, body = await self._body(request)
        return _result(self._answer(name, models.QueryRequest.model_validate(body)))

    async def _query_batch(self, request: Request) -> Response:
        name, body = await self._body(request)
        searches = models.QueryRequestBatch.model_validate(body).searches
        assert all(asked.params and asked.params.exact for asked in searches)
        return _result([self._answer(name, asked) for asked in searches])

    def _answer(self, name: str, asked: models.QueryRequest) -> models.QueryResponse:
        return self.local.query_points(
            name,
            query=asked.query,
            using=asked.using,
            query_filter=asked.filter,
            limit=asked.limit or 10,
            with_payload=asked.with_payload or False,
        )


class _Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, _Refused)
    return JSONResponse({"status": {"error": error.reason}, "time": 0.0}, status_code=error.status)


def _result(value: object) -> Response:
    if isinstance(value, BaseModel):
        plain: object = value.model_dump(mode="json")
    elif isinstance(value, list):
        plain = [entry.model_dump(mode="json") for entry in value]
    else:
        plain = value
    return JSONResponse({"result": plain, "status": "ok", "time": 0.0})


@contextmanager
def running(fake: FakeQdrant, *, port: int = 0) -> Iterator[str]:
    """Address of the server while it runs in a thread of this process."""
    fake.app.add_exception_handler(_Refused, _refuse)
    server = uvicorn.Server(uvicorn.Config(fake.app, host="127.0.0.1", port=port, log_level="error"))
    socket = server.config.bind_socket()
    thread = threading.Thread(target=server.run, kwargs={"sockets": [socket]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{socket.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        socket.close()
        fake.local.close()


if __name__ == "__main__":
    with running(FakeQdrant(), port=int(sys.argv[1])) as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        threading.Event().wait()
