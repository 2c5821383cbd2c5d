"""Serves the fixtures that the official conformance suite asks for by name, through the product's own server.

Run as `python -m tests.fakes.conformance_server PORT`. Only fixtures of capabilities that protatlas offers are here.
"""

import sys
import zlib
from struct import pack

from pydantic import Field

from protatlas import logs
from protatlas.errors import NotFound
from protatlas.server import Page, build_server, http_app, serve_http
from protatlas.tools.calls import Metrics
from protatlas.tools.registry import Answer, Arguments, Progress, Reply, Tool


class Nothing(Arguments):
    pass


class Text(Answer):
    text: str = Field(description="What the fixture says.")


def png() -> bytes:
    """One red pixel."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return pack(">I", len(content)) + kind + content + pack(">I", zlib.crc32(kind + content))

    header = pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\x00\xff\x00\x00")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def say(_: object, __: Nothing) -> Text:
    return Text(text="This is a simple text response for testing.")


def show(_: object, __: Nothing) -> Reply:
    return Reply(Text(text="One red pixel."), images=(png(),))


def fail(_: object, __: Nothing) -> Text:
    raise NotFound("fixture", "this call", "the conformance suite", "It fails on purpose.")


def wait(_: object, __: Nothing, progress: Progress) -> Text:
    for done in (0, 50, 100):
        progress.report(done, 100)
    return Text(text="done")


TOOLS: tuple[Tool[object, Nothing], ...] = (
    Tool("test_simple_text", "Text", "Answers a text.", Nothing, Text, say),
    Tool("test_image_content", "Image", "Answers a picture.", Nothing, Text, show),
    Tool("test_error_handling", "Error", "Fails.", Nothing, Text, fail),
    Tool("test_tool_with_progress", "Progress", "Reports progress.", Nothing, Text, wait, has_progress=True),
)

PAGE = Page("test://static-text", "Text", "A page with a text.", "This is the content of the static text resource.")


def main() -> None:
    logs.configure()
    metrics = Metrics()
    server = build_server(object(), TOOLS, [PAGE], metrics=metrics)
    serve_http(http_app(server, ready=lambda: True, metrics=metrics), host="127.0.0.1", port=int(sys.argv[1]))


if __name__ == "__main__":
    main()
