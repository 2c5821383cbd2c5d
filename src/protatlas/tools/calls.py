"""One call of a tool, from raw arguments to the result on the wire: the only place where errors become answers."""

import asyncio
import logging
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from inspect import iscoroutinefunction
from math import inf
from time import perf_counter
from typing import Any

import anyio.to_thread
from anyio import BrokenResourceError, ClosedResourceError
from mcp import types
from pydantic import JsonValue
from pydantic_core import from_json, to_json

from protatlas.errors import InternalError, ProtatlasError, ResourceTooLarge
from protatlas.logs import failure
from protatlas.tools.registry import AppT, Outcome, Reply, Tool, parse

MAX_TEXT_BYTES = 130_000
"""Longest text of an answer. Claude's apps cut a tool result at about 150,000 characters and replace it by a pointer
to a file (reported for claude.ai and Claude Desktop, read 2026-11-30)."""

Send = Callable[[float, float | None, str | None], Awaitable[None]]
"""Sends one progress notification: done, total, message. Does nothing when the client gave no token."""

LOG = logging.getLogger(__name__)


class Metrics:
    """Counts of the calls since the start, by tool and outcome (`ok` or an error code), and the time they took."""

    def __init__(self) -> None:
        self._calls: Counter[tuple[str, str]] = Counter()
        self._seconds: dict[str, float] = {}

    def count(self, tool: str, code: str, seconds: float) -> None:
        """Add one call."""
        self._calls[tool, code] += 1
        self._seconds[tool] = self._seconds.get(tool, 0.0) + seconds

    def exposition(self) -> Iterator[str]:
        """Lines in the text format of Prometheus."""
        yield "# HELP protatlas_calls_total Calls of a tool by outcome."
        yield "# TYPE protatlas_calls_total counter"
        for (tool, code), calls in sorted(self._calls.items()):
            yield f'protatlas_calls_total{{tool="{tool}",code="{code}"}} {calls}'
        yield "# HELP protatlas_call_seconds_total Time spent in the calls of a tool."
        yield "# TYPE protatlas_call_seconds_total counter"
        for tool, seconds in sorted(self._seconds.items()):
            yield f'protatlas_call_seconds_total{{tool="{tool}"}} {seconds:.6f}'


async def call(
    tool: Tool[AppT, Any], app: AppT, raw_arguments: Mapping[str, JsonValue] | None, *, send: Send, metrics: Metrics
) -> types.CallToolResult:
    """Result of one call. Every failure is a result too, with `isError` and the error object of the contract."""
    started = perf_counter()
    code, result = await _outcome(tool, app, raw_arguments, send)
    seconds = perf_counter() - started
    metrics.count(tool.name, code, seconds)
    lengths = {name: len(value) for name, value in _sized(tool, raw_arguments or {})}
    LOG.info("call tool=%s code=%s ms=%.1f lengths=%s", tool.name, code, 1000 * seconds, lengths)
    return result


async def _outcome(
    tool: Tool[AppT, Any], app: AppT, raw_arguments: Mapping[str, JsonValue] | None, send: Send
) -> tuple[str, types.CallToolResult]:
    try:
        arguments = parse(tool, raw_arguments)
        async with _relayed(send) as progress:
            answered = await _answered(tool, partial(tool.start, app, arguments, progress))
        return "ok", _success(tool, answered)
    except ProtatlasError as error:
        return error.code, _failure(error)
    except Exception as defect:  # noqa: BLE001 - the seam: a defect becomes internal_error, its text stays in the log
        LOG.error("defect in tool=%s\n%s", tool.name, failure(defect, _texts(raw_arguments)))
        return InternalError.code, _failure(InternalError())


async def _answered(tool: Tool[AppT, Any], start: Callable[[], Outcome]) -> Reply:
    """Reply of a tool, computed in a worker thread unless the tool is `async`."""
    is_async = iscoroutinefunction(tool.run)
    outcome = start() if is_async else await anyio.to_thread.run_sync(start, abandon_on_cancel=True)
    result = await outcome if isinstance(outcome, Awaitable) else outcome
    reply = result if isinstance(result, Reply) else Reply(result)
    if not isinstance(reply.answer, tool.answer):
        raise TypeError(f"{tool.name} declares {tool.answer.__name__} and answered {type(reply.answer).__name__}.")
    return reply


def _success(tool: Tool[AppT, Any], reply: Reply) -> types.CallToolResult:
    text = reply.answer.model_dump_json(by_alias=True)
    if (size := len(text.encode())) > MAX_TEXT_BYTES:
        raise ResourceTooLarge(
            f"The answer of {tool.name}",
            actual_bytes=size,
            max_bytes=MAX_TEXT_BYTES,
            next_step="Ask for fewer or shorter items.",
        )
    pictures = [types.ImageContent(data=b64encode(png).decode(), mime_type="image/png") for png in reply.images]
    return types.CallToolResult(
        content=[types.TextContent(text=text), *pictures],
        structured_content=from_json(text),
        _meta=dict(reply.meta) or None,
    )


def _failure(error: ProtatlasError) -> types.CallToolResult:
    answer = {name: value for name, value in error.answer().items() if value is not None}
    text = to_json(answer).decode()
    return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=answer, is_error=True)


def _sized(
    tool: Tool[AppT, Any], raw_arguments: Mapping[str, JsonValue]
) -> Iterator[tuple[str, str | list[JsonValue]]]:
    """Known arguments that have a length. Unknown names are the client's text and stay out of the log."""
    for name in tool.arguments.model_fields:
        if isinstance(value := raw_arguments.get(name), str | list):
            yield name, value


def _texts(value: JsonValue | Mapping[str, JsonValue]) -> Iterator[str]:
    """All texts in raw arguments that are long enough to tell something."""
    if isinstance(value, str) and len(value) > 4:
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)


class _Relay:
    """`Progress` that hands reports from any thread to the event loop, in order and rising."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._highest = -inf
        self.queue: asyncio.Queue[tuple[float, float | None, str | None] | None] = asyncio.Queue()

    def report(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Queue a report; one after the end of the call, or not above the last one, is dropped."""
        with self._lock, suppress(RuntimeError):
            if done > self._highest:
                self._highest = done
                self._loop.call_soon_threadsafe(self.queue.put_nowait, (done, total, message))


@asynccontextmanager
async def _relayed(send: Send) -> AsyncIterator[_Relay]:
    """Progress of one call; on leaving, what was reported has been sent, so that the result comes last."""
    relay = _Relay()
    sender = asyncio.create_task(_sent(relay, send))
    try:
        yield relay
        relay.queue.put_nowait(None)
        await sender
    finally:
        sender.cancel()


async def _sent(relay: _Relay, send: Send) -> None:
    while (report := await relay.queue.get()) is not None:
        with suppress(BrokenResourceError, ClosedResourceError):  # the client has gone; the call goes on
            await send(*report)
