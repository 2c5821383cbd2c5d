"""The client's side: calls through the official client, in memory, in both protocol eras."""

import json
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, types

from protatlas.app import App
from protatlas.cli import viewer_page
from protatlas.server import build_server
from protatlas.tools import TOOLS

Era = Literal["auto", "legacy"]


class Call:
    """Calls tools and keeps to what a client sees."""

    def __init__(self, app: App, era: Era) -> None:
        self._app, self._era = app, era

    def raw(self, name: str, /, **arguments: Any) -> types.CallToolResult:
        """Whole result of a call."""

        async def run() -> types.CallToolResult:
            async with Client(build_server(self._app, TOOLS, [viewer_page()]), mode=self._era) as client:
                return await client.call_tool(name, arguments)

        return anyio.run(run)

    def __call__(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Answer of a call that succeeds; text and structured content are the same object."""
        result = self.raw(name, **arguments)
        answer = _same_object(result)
        assert not result.is_error, answer
        return answer

    def error(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Error object of a call that fails."""
        result = self.raw(name, **arguments)
        answer = _same_object(result)
        assert result.is_error, answer
        assert isinstance(answer["message"], str)
        assert isinstance(answer["retryable"], bool)
        return answer


def _same_object(result: types.CallToolResult) -> dict[str, Any]:
    first = result.content[0]
    assert isinstance(first, types.TextContent)
    answer: dict[str, Any] = json.loads(first.text)
    assert answer == result.structured_content
    return answer


@pytest.fixture(params=["auto", "legacy"])
def call(request: pytest.FixtureRequest, app: App) -> Call:
    """Calls the tools of the small atlas."""
    return Call(app, request.param)


@pytest.fixture
def call_once(app: App) -> Call:
    """Calls the tools of the small atlas in the newest era alone, for what does not depend on it."""
    return Call(app, "auto")
