"""The server over real sockets and pipes, as a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from protatlas.server import http_app
from protatlas.tools.calls import Metrics
from tests.fakes import toys
from tests.known_proteins import UBIQUITIN

ROOT = Path(__file__).parents[1]
ERAS = ["legacy", "auto"]
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

TIMEOUT_S = 60.0
"""Far above what any step takes: only a hang reaches it."""


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Served:
    """A running server: its address, and its log as far as it was read."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.log = ""
        self.url = self.read_until("Uvicorn running on ").split("running on ")[1].split()[0]

    def read_until(self, words: str) -> str:
        """Read the log up to the line that holds some words, and return that line."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line
            if words in line:
                return line
        raise AssertionError(f"The server ended before it said {words!r}:\n{self.log}")

    def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        return httpx2.request(method, f"{self.url}{path}", timeout=TIMEOUT_S, **options)

    def post(self, method: str, params: dict[str, Any], **headers: str) -> httpx2.Response:
        """Send one request of the 2025-11-25 revision."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.request("POST", "/mcp", json=body, headers=HEADERS | headers)

    def call(self, tool: str, **arguments: object) -> httpx2.Response:
        return self.post("tools/call", {"name": tool, "arguments": {"sequence": UBIQUITIN, **arguments}})


@contextmanager
def started(command: list[str]) -> Iterator[Served]:
    """The server of a command, ended by its process id."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield Served(process)
        finally:
            process.kill()


def serving() -> AbstractContextManager[Served]:
    """The toys, served on a port of their own."""
    return started([sys.executable, "-m", "tests.fakes.toys", "0"])


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving() as server:
        yield server


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_calls_over_http_in_both_eras(served: Served, era: Any) -> None:
    reports: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async with Client(f"{served.url}/mcp", mode=era) as client:
        assert client.protocol_version == {"legacy": "2025-11-25", "auto": "2026-07-28"}[era]
        answer = await client.call_tool("count_slowly", {"sequence": UBIQUITIN}, progress_callback=note)
        refusal = await client.call_tool("count", {"sequence": UBIQUITIN, "top_k": "3"})
    assert answer.structured_content["residues"] == len(UBIQUITIN)
    assert reports == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]
    assert refusal.is_error
    assert refusal.structured_content["code"] == "invalid_input"


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_the_official_client_calls_over_stdio_in_both_eras(era: Any) -> None:
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "tests.fakes.toys"], cwd=ROOT, env=dict(os.environ)
    )
    async with Client(command, mode=era) as client:
        quiet = await client.call_tool("count", {"sequence": UBIQUITIN})
        loud = await client.call_tool("chatter", {"sequence": UBIQUITIN})
        failed = await client.call_tool("miss", {"sequence": UBIQUITIN})
    for result in (quiet, loud):
        assert isinstance(result, CallToolResult)
        assert result.structured_content["residues"] == len(UBIQUITIN)
    assert failed.structured_content["code"] == "not_found"


def test_a_stale_session_id_is_served(served: Served) -> None:
    answer = served.post(
        "tools/call",
        {"name": "count", "arguments": {"sequence": UBIQUITIN}},
        **{"Mcp-Session-Id": "of-a-server-that-is-gone", "MCP-Protocol-Version": "2025-11-25"},
    )
    assert answer.status_code == 200
    assert f'"residues":{len(UBIQUITIN)}' in answer.text


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25"])
def test_a_client_gets_the_revision_that_it_asks_for(served: Served, revision: str) -> None:
    client = {"name": "test", "version": "1"}
    answer = served.post("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": client})
    assert f'"protocolVersion":"{revision}"' in answer.text


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "OPTIONS"])
def test_only_post_is_allowed_on_the_mcp_path(served: Served, method: str) -> None:
    answer = served.request(method, "/mcp", headers=HEADERS)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_a_large_body_is_refused(served: Served) -> None:
    assert served.call("count", sequence="A" * 262_144).status_code == 413


def test_a_foreign_host_or_origin_is_refused_and_a_local_one_served(served: Served) -> None:
    assert served.post("tools/list", {}, Host="evil.example").status_code == 421
    assert served.post("tools/list", {}, Origin="http://evil.example").status_code == 403
    assert served.post("tools/list", {}, Origin="http://localhost:6274").status_code == 200


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        ("mcp.example.org", "https://example.org", 200),
        ("mcp.example.org:8443", "https://example.org", 200),
        ("mcp.example.org", "https://other.example", 403),
        ("example.org", "https://example.org", 421),
    ],
)
async def test_further_hosts_and_origins_can_be_allowed(host: str, origin: str, status: int) -> None:
    web = http_app(
        toys.server(),
        ready=lambda: True,
        metrics=Metrics(),
        allowed_hosts=["mcp.example.org"],
        allowed_origins=["https://example.org"],
    )
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    transport = httpx2.ASGITransport(web)
    async with web.router.lifespan_context(web), httpx2.AsyncClient(transport=transport) as client:
        headers = HEADERS | {"Host": host, "Origin": origin}
        answer = await client.post("http://127.0.0.1/mcp", json=body, headers=headers)
    assert answer.status_code == status


def test_a_body_that_is_not_json_is_an_error_of_the_client(served: Served) -> None:
    nested = "[" * 100_000
    for body in ("{", nested, '{"jsonrpc": "2.0"}', "[]"):
        assert served.request("POST", "/mcp", content=body, headers=HEADERS).status_code == 400


def test_health_and_readiness(served: Served) -> None:
    assert served.request("GET", "/health").json()["status"] == "ok"
    assert served.request("GET", "/ready").json() == {"status": "ready"}


@pytest.mark.anyio
async def test_a_server_whose_atlas_is_not_open_is_alive_and_not_ready() -> None:
    web = http_app(toys.server(), ready=lambda: False, metrics=Metrics())
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(web), base_url="http://127.0.0.1") as client:
        assert (await client.get("/health")).status_code == 200
        assert (await client.get("/ready")).status_code == 503


def test_metrics_count_calls_by_tool_and_outcome(served: Served) -> None:
    served.call("miss")
    metrics = served.request("GET", "/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'protatlas_calls_total{tool="miss",code="not_found"} 1' in metrics.text.splitlines()


def test_long_answers_travel_compressed(served: Served) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    uri = "ui://toys/view/v1"
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "resources/read", "Mcp-Name": uri}
    answer = served.post("resources/read", {"uri": uri, "_meta": meta}, **headers)
    assert answer.headers["content-encoding"] == "gzip"
    assert "a page a page" in answer.json()["result"]["contents"][0]["text"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM that a process can handle")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_a_call_in_flight_is_finished_when_the_server_is_told_to_end(ending: signal.Signals) -> None:
    with serving() as server, ThreadPoolExecutor() as pool:
        waiting: Future[httpx2.Response] = pool.submit(server.call, "wait", top_k=12)
        server.read_until("waiting")
        assert server.request("GET", "/health").status_code == 200
        assert not waiting.done()
        server.process.send_signal(ending)
        assert f'"residues":{len(UBIQUITIN)}' in waiting.result(TIMEOUT_S).text
        _, rest = server.process.communicate(timeout=TIMEOUT_S)
        assert server.process.returncode == 0
    log = server.log + rest
    assert "call tool=wait code=ok" in log
    assert UBIQUITIN not in log
