"""Small tools that show each behaviour of the protocol layer, and the server over them.

Run as `python -m tests.fakes.toys PORT` for HTTP and `python -m tests.fakes.toys` for stdio.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Literal

from mcp.server.lowlevel import Server
from pydantic import Field

from protatlas import logs
from protatlas.errors import NotFound
from protatlas.server import Page, build_server, http_app, serve_http, serve_stdio
from protatlas.tools.calls import Metrics
from protatlas.tools.registry import Answer, Arguments, Outcome, Progress, Reply, Tool
from tests.fakes.conformance_server import png


class Highlight(Arguments):
    author_residue_number: int = Field(ge=1, description="Residue.")
    color: str | None = Field(None, pattern="^#[0-9a-f]{6}$", description="Colour.")


class ViewOptions(Arguments):
    representation: Literal["cartoon", "surface"] = Field("cartoon", description="How it is drawn.")
    highlights: tuple[Highlight, ...] = Field((), max_length=3, description="Residues.")


class Count(Arguments):
    sequence: str = Field(min_length=1, max_length=2048, description="Amino-acid sequence.")
    top_k: int = Field(10, ge=1, le=12, description="Number of hits.")
    uncharacterized_only: bool = Field(False, description="Only unknown ones.")
    view_options: ViewOptions | None = Field(None, description="How to draw it.")


class Hit(Answer):
    title: str | None
    kind: Literal["near", "far"] | None = None


class Counted(Answer):
    residues: int
    top_k: int
    representation: str
    on_main_thread: bool
    score: float | None = None
    hits: tuple[Hit, ...] = ()


def count(_: object, arguments: Count) -> Counted:
    view = arguments.view_options or ViewOptions()
    return Counted(
        residues=len(arguments.sequence),
        top_k=arguments.top_k,
        representation=view.representation,
        on_main_thread=threading.current_thread() is threading.main_thread(),
    )


async def count_async(app: object, arguments: Count) -> Counted:
    return count(app, arguments)


def count_slowly(app: object, arguments: Count, progress: Progress) -> Counted:
    for done in (1, 2, 2, 3):
        progress.report(done, 3, f"step {done}")
    return count(app, arguments)


def wait(app: object, arguments: Count) -> Counted:
    """Takes as many tenths of a second as `top_k` says, and tells stderr when it begins."""
    sys.stderr.write("waiting\n")
    sys.stderr.flush()
    time.sleep(arguments.top_k / 10)
    return count(app, arguments)


def chatter(app: object, arguments: Count) -> Counted:
    sys.stdout.write("a library that prints\n")
    sys.stdout.flush()
    return count(app, arguments)


def break_down(_: object, arguments: Count) -> Counted:
    raise RuntimeError(f"secret of {arguments.sequence}")


def answer_wrongly(_: object, __: Count) -> Hit:
    return Hit(title="of another kind")


def miss(_: object, __: Count) -> Counted:
    raise NotFound("cluster", "that exact sequence", "this atlas", "Try another.")


def flood(app: object, arguments: Count) -> Counted:
    return count(app, arguments).model_copy(update={"hits": (Hit(title="x" * 130_000),)})


def show(app: object, arguments: Count) -> Reply:
    return Reply(count(app, arguments), images=(png(),), meta={"protatlas/structure": "coordinates"})


def tool(run: Callable[..., Outcome], *, has_progress: bool = False, ui: str | None = None) -> Tool[object, Count]:
    name = run.__name__
    return Tool(name, name.title(), f"Runs {name}.", Count, Counted, run, has_progress=has_progress, ui=ui)


TOOLS: tuple[Tool[object, Count], ...] = (
    tool(count),
    tool(count_async),
    tool(count_slowly, has_progress=True),
    tool(wait),
    tool(chatter),
    tool(break_down),
    tool(answer_wrongly),
    tool(miss),
    tool(flood),
    tool(show, ui="ui://toys/view/v1"),
)

PAGE = Page("ui://toys/view/v1", "View", "A page.", "<!doctype html><p>" + "a page " * 1000, ("ui://old/view/v1",))


def server(metrics: Metrics | None = None) -> Server[Any]:
    return build_server(object(), TOOLS, [PAGE], metrics=metrics)


def main() -> None:
    logs.configure()
    if len(sys.argv) == 1:
        serve_stdio(server())
        return
    metrics = Metrics()
    web = http_app(server(metrics), ready=lambda: True, metrics=metrics)
    serve_http(web, host="127.0.0.1", port=int(sys.argv[1]), shutdown_s=10)


if __name__ == "__main__":
    main()
