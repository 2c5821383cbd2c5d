"""What a tool is: its models, how clients see it, and how raw arguments become the values that it runs on.

A tool's argument model derives from `Arguments` and its result model from `Answer`; nested models do too. The
schemas that clients read, and the strictness of the values, come from these models alone.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, cast

from mcp import types
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from protatlas.tools.problems import explain
from protatlas.tools.schemas import Schema, input_schema, output_schema


class Arguments(BaseModel):
    """Base of argument models: strict values, no unknown names.

    An optional argument may be declared `X | None = None`; clients see the plain type X.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


LAYOUT = 4
"""Characters of pasted text that a residue may take, with header, line breaks and numbers."""


def sequence_field(*, max_residues: int, description: str) -> Any:
    """Field of a sequence argument: the limit that clients read holds for residues, pasted text may be longer."""
    return Field(
        min_length=1,
        max_length=LAYOUT * max_residues,
        description=description,
        json_schema_extra={"maxLength": max_residues},
    )


class Answer(BaseModel):
    """Base of result models: checked when they are built, frozen after."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Reply:
    """A result with more than its JSON object.

    Attributes
    ----------
    answer : Answer
        The object in `structuredContent` and in the first text.
    images : tuple of bytes
        PNG files that the model sees after the text.
    meta : mapping
        `_meta` of the result: for the view of the tool, not for the model.
    """

    answer: Answer
    images: tuple[bytes, ...] = ()
    meta: Mapping[str, JsonValue] = field(default_factory=dict)


class Progress(Protocol):
    """Tells a waiting client how far a call is. Silent when the client did not ask; callable from any thread."""

    def report(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Send `done` of `total` (null: unknown). A value that is not above the last one is not sent."""


AppT = TypeVar("AppT")
ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)
Result = Reply | Answer
Outcome = Result | Awaitable[Result]


@dataclass(frozen=True)
class Tool(Generic[AppT, ArgumentsT]):
    """One row of the table of tools.

    Attributes
    ----------
    name, title, description : str
        As clients see them, the description in one line however it was broken.
    arguments, answer : type
        The two models.
    run : callable
        `run(app, arguments)`, or `run(app, arguments, progress)` with `has_progress`. A plain function runs in a
        worker thread, an `async` one on the event loop, where it must not compute for long.
    has_progress : bool
        Whether `run` takes a `Progress`.
    open_world : bool
        Whether an answer may come from outside this machine.
    ends_work : bool
        Whether it may end something that others wait for; all else only reads.
    ui : str or None
        URI of the page that shows the result in hosts with MCP Apps.
    meta : mapping
        Further `_meta` of the tool.
    """

    name: str
    title: str
    description: str
    arguments: type[ArgumentsT]
    answer: type[Answer]
    run: Callable[[AppT, ArgumentsT], Outcome] | Callable[[AppT, ArgumentsT, Progress], Outcome]
    has_progress: bool = False
    open_world: bool = False
    ends_work: bool = False
    ui: str | None = None
    meta: Mapping[str, JsonValue] = field(default_factory=dict)

    def start(self, app: AppT, arguments: ArgumentsT, progress: Progress) -> Outcome:
        """Run the tool on parsed arguments: its result, or the awaitable of it for an `async` one."""
        run = cast("Callable[..., Outcome]", self.run)
        return run(app, arguments, progress) if self.has_progress else run(app, arguments)


Tools = Sequence[Tool[AppT, Any]]
"""The table of tools over one kind of application."""


def describe(tool: Tool[AppT, ArgumentsT]) -> types.Tool:
    """Tool as `tools/list` shows it. Its output schema covers the success and the error object."""
    page: dict[str, JsonValue] = {"ui": {"resourceUri": tool.ui, "visibility": ["model"]}} if tool.ui else {}
    meta = page | dict(tool.meta)
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=" ".join(tool.description.split()),
        input_schema=input_schema(tool.arguments),
        output_schema=output_schema(tool.answer),
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.ends_work,
            destructive_hint=tool.ends_work or None,  # the other two say nothing of tools that only read
            idempotent_hint=tool.ends_work or None,
            open_world_hint=tool.open_world,
        ),
        _meta=meta or None,
    )


def parse(tool: Tool[AppT, ArgumentsT], raw_arguments: Mapping[str, JsonValue] | None) -> ArgumentsT:
    """Arguments of a call as the model of the tool.

    Null means left out, at every level; a number such as 3.0 is accepted for an integer; nothing else is converted.

    Raises
    ------
    InvalidInput
        With a sentence for each problem.
    """
    schema = input_schema(tool.arguments)
    arguments = cast("dict[str, JsonValue]", _normalised(dict(raw_arguments or {}), schema))
    try:
        return tool.arguments.model_validate_json(json.dumps(arguments), strict=True)
    except ValidationError as error:
        raise explain(error, arguments=arguments, schema=schema) from None


def _normalised(value: JsonValue, schema: Schema) -> JsonValue:
    """Value without the known names that hold null, and with whole floats as integers where the schema wants them."""
    if isinstance(value, dict):
        known = cast("dict[str, Schema]", schema.get("properties", {}))
        kept = {name: inner for name, inner in value.items() if inner is not None or name not in known}
        return {name: _normalised(inner, known.get(name, {})) for name, inner in kept.items()}
    if isinstance(value, list):
        items = cast("Schema", schema.get("items", {}))
        return [_normalised(item, items) for item in value] if items else value
    if isinstance(value, float) and schema.get("type") == "integer" and value.is_integer():
        return int(value)
    return value
