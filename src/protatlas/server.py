"""The MCP server: Streamable HTTP and stdio over one table of tools.

Both protocol eras are served on one endpoint: the handshake revisions up to 2025-11-25, and 2026-07-28. Nothing is
kept between requests, so any process may answer any of them.
"""

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn

import anyio
import uvicorn
from mcp import MCPError, types
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from protatlas import __version__
from protatlas.tools.calls import Metrics, call
from protatlas.tools.registry import AppT, Tools, describe
from protatlas.tools.schemas import codes

MCP_PATH = "/mcp"

MAX_BODY_BYTES = 262_144
"""Largest request: the longest arguments of the contract are 4,000 residues and 32 highlights, far below."""

SHUTDOWN_S = 30
"""Seconds that calls in flight get to finish after SIGTERM."""

PAGE_TYPE = "text/html;profile=mcp-app"
"""MIME type of a page of MCP Apps (SEP-1865, revision 2026-01-26)."""

APPS_EXTENSION = "io.modelcontextprotocol/ui"

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")

CACHEABLE: tuple[CacheableMethod, ...] = (
    "server/discover",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "prompts/list",
)

CACHE_HINT = CacheHint(ttl_ms=3_600_000, scope="public")
"""Lists and pages change with the version of the server alone, and are the same for everybody."""

INSTRUCTIONS = """\
A protein atlas on the operator's own machine. A protein is identified by its amino-acid sequence (one-letter codes); \
names, genes, organisms and UniProt accessions lead to a sequence through esm_atlas_search_uniprot, other accessions \
through esm_atlas_lookup_accession. The sequence then goes to the tools for similar clusters, protein details, \
cluster membership, structure and BLAST. Residue positions are 1-based and inclusive in the sequence passed; pLDDT \
and pTM are 0 to 1. Labels of SAE features are hypotheses computed from annotations; label_reliability says how far \
they hold. Each answer names its source. Errors carry a stable code ({codes}), and retryable says \
whether the same call may succeed later.""".format(codes=", ".join(map(str, codes())))

Context = ServerRequestContext[Any, Any]


@dataclass(frozen=True)
class Page:
    """A page that hosts with MCP Apps show beside a result; `aliases` are further URIs that it is read under."""

    uri: str
    title: str
    description: str
    html: str
    aliases: tuple[str, ...] = ()


def build_server(
    app: AppT,
    tools: Tools[AppT],
    pages: Sequence[Page] = (),
    *,
    metrics: Metrics | None = None,
    instructions: str = INSTRUCTIONS,
) -> Server[Any]:
    """MCP server that runs `tools` on `app` and offers `pages` as resources."""
    counted = metrics or Metrics()
    by_name = {tool.name: tool for tool in tools}
    listed = types.ListToolsResult(tools=[describe(tool) for tool in tools])
    schemas = {tool.name: tool.input_schema for tool in listed.tools}

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool. Known ones: {', '.join(by_name)}.")
        return await call(tool, app, params.arguments, send=context.session.report_progress, metrics=counted)

    server = Server(
        "protatlas",
        version=__version__,
        title="protatlas",
        description="A protein atlas that people run themselves",
        instructions=instructions,
        cache_hints=dict.fromkeys(CACHEABLE, CACHE_HINT),
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=_no_prompts,
        on_list_resource_templates=_no_templates,
        **_resource_handlers(pages),
    )
    server.extensions[APPS_EXTENSION] = {}
    return server


def _resource_handlers(pages: Sequence[Page]) -> dict[str, Any]:
    by_uri = {uri: page for page in pages for uri in (page.uri, *page.aliases)}
    listed = types.ListResourcesResult(resources=[_resource(page) for page in pages])

    async def list_resources(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        return listed

    async def read_resource(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        if uri not in by_uri:
            known = ", ".join(by_uri) or "none"
            raise MCPError(types.INVALID_PARAMS, f"Resource not found. Known ones: {known}.", {"uri": uri})
        content = types.TextResourceContents(uri=uri, mime_type=PAGE_TYPE, text=by_uri[uri].html)
        return types.ReadResourceResult(contents=[content])

    return {"on_list_resources": list_resources, "on_read_resource": read_resource}


def _resource(page: Page) -> types.Resource:
    name = page.uri.removeprefix("ui://")
    size = len(page.html.encode())
    return types.Resource(
        uri=page.uri, name=name, title=page.title, description=page.description, mime_type=PAGE_TYPE, size=size
    )


async def _no_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    return types.ListPromptsResult(prompts=[])


async def _no_templates(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    return types.ListResourceTemplatesResult(resource_templates=[])


def http_app(
    server: Server[Any],
    *,
    host: str = "127.0.0.1",
    ready: Callable[[], bool],
    metrics: Metrics,
    allowed_hosts: Sequence[str] = (),
    allowed_origins: Sequence[str] = (),
    routes: Sequence[BaseRoute] = (),
) -> Starlette:
    """Application with `/mcp`, `/health`, `/ready`, `/metrics` and further `routes`.

    Requests are refused unless their `Host` is this machine's loopback, `host`, or one of `allowed_hosts`, and their
    `Origin`, where a browser sent one, is a page of this machine or one of `allowed_origins`. Hosts count with any
    port; an origin names its port, or ends in `:*` for any. `ready` says whether the atlas is open.
    """
    guard = TransportSecuritySettings(
        allowed_hosts=_with_ports([*LOOPBACK, host, *allowed_hosts]),
        allowed_origins=_with_ports([f"http://{name}" for name in LOOPBACK]) + list(allowed_origins),
    )
    web = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        json_response=False,
        stateless_http=True,
        max_request_body_size=MAX_BODY_BYTES,
        transport_security=guard,
        custom_starlette_routes=_status_routes(ready, metrics),
    )
    web.router.routes.extend(routes)
    web.add_middleware(GZipMiddleware, minimum_size=1024, compresslevel=6)
    web.add_middleware(PostOnly)
    return web


def _with_ports(names: Sequence[str]) -> list[str]:
    return [form for name in names for form in (name, f"{name}:*")]


def _status_routes(ready: Callable[[], bool], metrics: Metrics) -> list[Route]:
    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok", "version": __version__})

    async def readiness(_: Request) -> JSONResponse:
        is_ready = ready()
        return JSONResponse({"status": "ready" if is_ready else "starting"}, status_code=200 if is_ready else 503)

    async def exposition(_: Request) -> PlainTextResponse:
        text = "\n".join([*metrics.exposition(), ""])
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4")

    return [Route("/health", health), Route("/ready", readiness), Route("/metrics", exposition)]


class PostOnly:
    """Answers 405 to every method but POST on the MCP path.

    The SDK answers a GET of a stateless server with an endless empty stream, which nothing ever closes.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http" and scope["path"].rstrip("/") == MCP_PATH and scope["method"] != "POST":
            refusal = PlainTextResponse("Only POST is served here.", status_code=405, headers={"Allow": "POST"})
            await refusal(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def serve_http(web: ASGIApp, *, host: str, port: int, shutdown_s: int = SHUTDOWN_S) -> None:
    """Serve until SIGTERM or SIGINT; calls in flight get `shutdown_s` seconds to finish."""
    config = uvicorn.Config(
        web,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=shutdown_s,
    )
    # Answers to the handshake revisions are streams that sse-starlette would cut at the signal; all of ours end soon.
    AppStatus.enable_automatic_graceful_drain = False
    # uvicorn raises the signal again once it has shut down; by then the work is done and the exit is a clean one.
    signal.signal(signal.SIGTERM, lambda *_: None)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run()


def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over stdin and stdout, until it closes them."""

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    logging.getLogger(__name__).info("serving over stdio")
    with suppress(KeyboardInterrupt):
        anyio.run(serve)


def leave() -> NoReturn:
    """End the process at once, well.

    A build of an atlas or an abandoned call may still run in threads that the interpreter would wait for, minutes long.
    Nothing is lost with them: a build goes on where it was, and calls only read.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
