"""Tool calls through the official client, in memory, in both protocol eras."""

import json
import logging
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult, ImageContent, TextContent

from protatlas.tools.calls import Metrics
from protatlas.tools.schemas import codes
from tests.fakes import toys
from tests.known_proteins import UBIQUITIN

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def call(mode: Any, tool: str, **arguments: object) -> CallToolResult:
    async with Client(toys.server(), mode=mode) as client:
        return await client.call_tool(tool, {"sequence": UBIQUITIN, **arguments})


def error(result: CallToolResult) -> dict[str, Any]:
    """Error object of a failed call, after checking that both forms of it agree."""
    assert result.is_error
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert json.loads(content.text) == result.structured_content
    assert result.structured_content["code"] in codes()
    assert isinstance(result.structured_content["retryable"], bool)
    return dict(result.structured_content)


async def test_the_answer_is_the_same_in_text_and_structured_content(mode: str) -> None:
    result = await call(mode, "count", top_k=3.0)
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error
    assert json.loads(content.text) == result.structured_content
    assert result.structured_content["residues"] == len(UBIQUITIN)
    assert result.structured_content["top_k"] == 3
    assert ", " not in content.text


async def test_plain_tools_leave_the_event_loop_free(mode: str) -> None:
    assert (await call(mode, "count")).structured_content["on_main_thread"] is False
    assert (await call(mode, "count_async")).structured_content["on_main_thread"] is True


async def test_null_arguments_count_as_left_out(mode: str) -> None:
    result = await call(mode, "count", top_k=None, uncharacterized_only=None, view_options=None)
    assert (result.structured_content["top_k"], result.structured_content["representation"]) == (10, "cartoon")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"top_k": "3"}, "top_k"),
        ({"uncharacterized_only": "false"}, "uncharacterized_only"),
        ({"topk": 3}, "topk"),
        ({"sequence": 3}, "sequence"),
        ({"view_options": {"representation": "balls"}}, "view_options.representation"),
    ],
)
async def test_a_schema_violation_is_invalid_input(mode: str, arguments: dict[str, Any], named: str) -> None:
    answer = error(await call(mode, "count", **arguments))
    assert (answer["code"], answer["argument"], answer["retryable"]) == ("invalid_input", named, False)


async def test_a_sequence_that_is_too_long_gives_both_lengths(mode: str) -> None:
    answer = error(await call(mode, "count", sequence="A" * 2049))
    assert (answer["actual_length"], answer["max_length"]) == (2049, 2048)


async def test_a_call_without_arguments_names_what_is_missing(mode: Any) -> None:
    async with Client(toys.server(), mode=mode) as client:
        answer = error(await client.call_tool("count"))
    assert answer["argument"] == "sequence"


async def test_an_error_of_the_tool_keeps_its_code_and_sentence(mode: str) -> None:
    answer = error(await call(mode, "miss"))
    assert answer == {
        "code": "not_found",
        "message": "No cluster for that exact sequence in this atlas. Try another.",
        "retryable": False,
    }


@pytest.mark.parametrize("tool", ["break_down", "answer_wrongly"])
async def test_a_defect_is_internal_error_and_its_text_stays_inside(
    mode: str, tool: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = error(await call(mode, tool))
    assert answer["code"] == "internal_error"
    assert "secret" not in answer["message"]
    assert f"defect in tool={tool}" in caplog.text
    assert "Traceback" in caplog.text


async def test_no_log_holds_a_sequence(mode: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="protatlas")
    peptide = "PeptIde"
    for tool in ("count", "break_down"):
        await call(mode, tool)
        await call(mode, tool, sequence=peptide)
    await call(mode, "count", **{UBIQUITIN: 1})
    assert "tool=count code=ok" in caplog.text
    assert f"'sequence': {len(UBIQUITIN)}" in caplog.text
    assert UBIQUITIN[:12] not in caplog.text
    assert peptide not in caplog.text


async def test_an_answer_over_the_limit_is_refused_with_its_size(mode: str) -> None:
    answer = error(await call(mode, "flood"))
    assert answer["code"] == "resource_too_large"
    assert answer["actual_bytes"] > answer["max_bytes"] == 130_000


async def test_a_reply_carries_a_picture_and_the_data_of_the_view(mode: str) -> None:
    result = await call(mode, "show")
    text, picture = result.content
    assert isinstance(text, TextContent)
    assert isinstance(picture, ImageContent)
    assert picture.mime_type == "image/png"
    assert result.meta is not None
    assert result.meta["protatlas/structure"] == "coordinates"


async def test_an_unknown_tool_is_a_protocol_error(mode: Any) -> None:
    async with Client(toys.server(), mode=mode) as client:
        with pytest.raises(MCPError, match="Unknown tool") as caught:
            await client.call_tool("nope", {})
    assert caught.value.code == -32602


async def test_progress_rises_and_comes_before_the_result(mode: Any) -> None:
    reports: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, total, message))

    async with Client(toys.server(), mode=mode) as client:
        await client.call_tool("count_slowly", {"sequence": UBIQUITIN}, progress_callback=note)
    assert reports == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def test_without_a_token_progress_is_silent(mode: str) -> None:
    assert not (await call(mode, "count_slowly")).is_error


async def test_pages_are_listed_once_and_read_under_all_their_uris(mode: Any) -> None:
    async with Client(toys.server(), mode=mode) as client:
        listed = (await client.list_resources()).resources
        contents = [(await client.read_resource(uri)).contents[0] for uri in ("ui://toys/view/v1", "ui://old/view/v1")]
    assert [(page.uri, page.mime_type) for page in listed] == [("ui://toys/view/v1", "text/html;profile=mcp-app")]
    assert [content.uri for content in contents] == ["ui://toys/view/v1", "ui://old/view/v1"]
    assert {content.mime_type for content in contents} == {"text/html;profile=mcp-app"}
    assert listed[0].size == len(toys.PAGE.html)


async def test_an_unknown_resource_is_named_in_the_error(mode: Any) -> None:
    async with Client(toys.server(), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource("ui://nope")
    assert (caught.value.code, caught.value.data) == (-32602, {"uri": "ui://nope"})


async def test_prompts_and_templates_are_empty_lists(mode: Any) -> None:
    async with Client(toys.server(), mode=mode) as client:
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_resource_templates()).resource_templates == []


async def test_every_call_is_counted_by_tool_and_outcome(mode: Any) -> None:
    metrics = Metrics()
    async with Client(toys.server(metrics), mode=mode) as client:
        await client.call_tool("count", {"sequence": UBIQUITIN})
        await client.call_tool("count", {"sequence": UBIQUITIN})
        await client.call_tool("miss", {"sequence": UBIQUITIN})
    lines = list(metrics.exposition())
    assert 'protatlas_calls_total{tool="count",code="ok"} 2' in lines
    assert 'protatlas_calls_total{tool="miss",code="not_found"} 1' in lines
