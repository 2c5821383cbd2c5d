"""What is wrong with the arguments of a call, in sentences that a model can act on.

Nothing here repeats a sequence: long texts and long runs of letters are described by their length.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import cast

from pydantic import JsonValue, ValidationError
from pydantic_core import ErrorDetails

from protatlas.errors import InvalidArguments, InvalidInput
from protatlas.tools.schemas import Schema

LONGEST_QUOTE = 40
"""Characters of a wrong value that a message repeats."""

SEQUENCE_LIKE = re.compile(r"[A-Za-z*-]{15,}")
"""A run of letters that may be a protein or nucleotide sequence, and is never repeated."""

Location = tuple[str | int, ...]


def explain(error: ValidationError, *, arguments: Mapping[str, JsonValue], schema: Schema) -> InvalidInput:
    """Error of the contract for a failed validation: one sentence a problem, in the order of the model's fields.

    `arguments` are the values that were validated, `schema` is the input schema of their model.
    """
    problems = [_problem(detail, arguments, schema) for detail in error.errors(include_url=False)]
    return problems[0] if len(problems) == 1 else InvalidArguments(problems)


def _problem(detail: ErrorDetails, arguments: Mapping[str, JsonValue], schema: Schema) -> InvalidInput:
    cause = detail.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInput):
        return cause
    location = detail["loc"]
    if detail["type"] == "extra_forbidden":
        return _unknown(location, _node(schema, location[:-1]))
    node, name = _node(schema, location), _name(location)
    if detail["type"] == "json_invalid":
        return InvalidInput(name, "not valid Unicode text", "JSON values")
    if isinstance(cause, ValueError):
        return InvalidInput(name, _found(_value(arguments, location), location), str(cause))
    if detail["type"] == "missing":
        return InvalidInput(name, "missing", expected(node))
    value = _value(arguments, location)
    return InvalidInput(name, _found(value, location), expected(node), **_lengths(value, node))


def _unknown(location: Location, parent: Schema) -> InvalidInput:
    known = list(cast("dict[str, Schema]", parent.get("properties", {})))
    close = get_close_matches(str(location[-1]), known, n=1)
    found = f"unknown argument (the closest known one is `{close[0]}`)" if close else "unknown argument"
    names = _listed([f"`{name}`" for name in known], "and")
    return InvalidInput(_name(location), found, f"only {names}" if known else "no arguments")


def _lengths(value: JsonValue, node: Schema) -> dict[str, int]:
    """Fields of a length error: the contract wants both numbers beside the message."""
    longest = node.get("maxLength", node.get("maxItems"))
    if isinstance(value, str | list) and isinstance(longest, int) and len(value) > longest:
        return {"actual_length": len(value), "max_length": longest}
    return {}


def expected(node: Schema) -> str:
    """What a value must be, by its schema: "a whole number from 1 to 12"."""
    if isinstance(named := node.get("enum"), list):
        return _listed([f'"{name}"' for name in named], "or")
    if "const" in node:
        return f'"{node["const"]}"'
    match node.get("type"):
        case "integer":
            return f"a whole number{_range(node, 'minimum', 'maximum')}"
        case "number":
            return f"a number{_range(node, 'minimum', 'maximum')}"
        case "boolean":
            return "true or false, without quotes"
        case "string":
            shape = f" that matches {node['pattern']}" if "pattern" in node else ""
            return f"a text{_range(node, 'minLength', 'maxLength', ' characters')}{shape}"
        case "array":
            return f"a list{_range(node, 'minItems', 'maxItems', ' items')}"
        case "object":
            known = cast("dict[str, Schema]", node.get("properties", {}))
            return f"an object with {_listed([f'`{name}`' for name in known], 'and')}" if known else "an object"
        case _:
            return "a value of the input schema"


def _range(node: Schema, lowest: str, highest: str, unit: str = "") -> str:
    low, high = node.get(lowest), node.get(highest)
    if low is not None and high is not None:
        return f" {'of' if unit else 'from'} {low:,} to {high:,}{unit}"
    if high is not None:
        return f" of at most {high:,}{unit}"
    return f" of at least {low:,}{unit}" if low is not None else ""


def _found(value: JsonValue, location: Location) -> str:
    """What was passed, shortened, and by its length alone where it may be a sequence."""
    match value:
        case None:
            return "found null"
        case bool():
            return f"found {str(value).lower()}"
        case int() | float():
            return f"found the number {str(value)[:LONGEST_QUOTE]}"
        case str() if _is_quotable(value, location):
            return f'found the text "{value}"'
        case str():
            return f"found a text of {len(value):,} characters"
        case list():
            return f"found a list of {len(value):,} items"
        case _:
            return "found an object"


def _is_quotable(value: str, location: Location) -> bool:
    is_sequence = any("sequence" in str(part) for part in location)
    return bool(value) and len(value) <= LONGEST_QUOTE and not is_sequence and not SEQUENCE_LIKE.search(value)


def _name(location: Location) -> str:
    """Path of an argument as it is written in the call: `view_options.highlights[3].color`."""
    path = ""
    for part in location:
        text = str(part) if len(str(part)) <= LONGEST_QUOTE else f"(a name of {len(str(part)):,} characters)"
        path += f"[{part}]" if isinstance(part, int) else f".{text}" if path else text
    return path or "arguments"


def _node(schema: Schema, location: Iterable[str | int]) -> Schema:
    node = schema
    for part in location:
        inner = node.get("items", {}) if isinstance(part, int) else _member(node, part)
        node = cast("Schema", inner)
    return node


def _member(node: Schema, name: str) -> JsonValue:
    return cast("dict[str, JsonValue]", node.get("properties", {})).get(name, {})


def _value(arguments: Mapping[str, JsonValue], location: Location) -> JsonValue:
    value = cast("JsonValue", dict(arguments))
    for part in location:
        if isinstance(value, dict):
            value = value.get(str(part))
        elif isinstance(value, list) and isinstance(part, int):
            value = value[part]
    return value


def _listed(names: Sequence[str], link: str) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {link} {names[-1]}"
