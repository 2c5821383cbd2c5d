"""Plain JSON schemas of argument and answer models, as every client can read them.

Pydantic writes nested models as `$ref` into `$defs` and optional values as `anyOf` with null. Several clients drop
`$defs` before a model sees the schema, so everything is written in place here and every argument gets a plain `type`.
"""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import cast

from pydantic import BaseModel, JsonValue

from protatlas.errors import ProtatlasError

Schema = dict[str, JsonValue]

NULL = {"type": "null"}

DEEPEST = 12
"""Levels of nesting at which a model is taken to contain itself; no answer of the contract has more than six."""


def codes() -> list[JsonValue]:
    """Stable codes of the contract, sorted: those of `ProtatlasError` and its descendants."""
    found, waiting = set[str](), [ProtatlasError]
    while waiting:
        kind = waiting.pop()
        found.add(kind.code)
        waiting.extend(kind.__subclasses__())
    return [*sorted(found)]


ERROR_SCHEMA: Mapping[str, JsonValue] = MappingProxyType(
    {
        "type": "object",
        "properties": {
            "code": {"type": "string"},
            "message": {"type": "string"},
        },
        "required": ["code", "message"],
    }
)


@cache
def input_schema(model: type[BaseModel]) -> Schema:
    """Input schema of an argument model: no references, every argument with one plain type, unknown names forbidden.

    An optional argument shows the type that it has when given; null means the same as leaving it out.
    """
    written = model.model_json_schema(mode="validation")
    schema = _Plain(written, is_input=True).node(written)
    schema.setdefault("properties", {})
    return schema


@cache
def output_schema(model: type[BaseModel]) -> Schema:
    """Output schema of a tool: its success object or the error object of the contract.

    Fields that may be null say so in their `type`. Later versions may add fields, so none are forbidden; which fields
    are required is said of the object itself and not of those inside it, where all always are, to keep the list short.
    """
    written = model.model_json_schema(mode="serialization")
    success = _Plain(written, is_input=False).node(written)
    return {"type": "object", "anyOf": [success, dict(ERROR_SCHEMA)]}


class _Plain:
    """Rewrites the nodes of one schema that pydantic wrote."""

    def __init__(self, written: Schema, *, is_input: bool) -> None:
        self._definitions = cast("dict[str, Schema]", written.get("$defs", {}))
        self._is_input = is_input

    def node(self, written: Schema, *, depth: int = 0) -> Schema:
        """Node with references and alternatives written in place, without the titles and docstrings of models."""
        if depth > DEEPEST:
            raise TypeError("A model that contains itself has no schema without references.")
        schema = self._resolved(written)
        if "properties" in schema:
            properties = cast("dict[str, Schema]", schema["properties"])
            schema["properties"] = {name: self._property(name, node, depth) for name, node in properties.items()}
            if self._is_input and schema.get("additionalProperties") is not False:
                raise TypeError("A model of arguments must forbid unknown names; derive it from Arguments.")
            if not self._is_input:
                schema.pop("additionalProperties", None)
                if depth:
                    schema.pop("required", None)
        for key in ("items", "additionalProperties"):
            if isinstance(inner := schema.get(key), dict):
                schema[key] = self.node(inner, depth=depth + 1)
        if "prefixItems" in schema:
            parts = cast("list[Schema]", schema["prefixItems"])
            schema["prefixItems"] = [self.node(part, depth=depth + 1) for part in parts]
        return schema

    def _property(self, name: str, written: Schema, depth: int) -> Schema:
        schema = self.node(written, depth=depth + 1)
        if "description" in written:
            schema["description"] = written["description"]
        if self._is_input and not isinstance(schema.get("type"), str):
            raise TypeError(f"The argument `{name}` needs one plain type; its schema is {schema}.")
        return schema

    def _resolved(self, written: Schema) -> Schema:
        """Copy of a node without `$ref`, `anyOf`, `title`, `description` and a null default."""
        schema = {key: value for key, value in written.items() if key not in {"$defs", "title", "description"}}
        if schema.get("default", 0) is None or not self._is_input:
            schema.pop("default", None)
        if (reference := schema.pop("$ref", None)) is not None:
            target = self._definitions[str(reference).removeprefix("#/$defs/")]
            return self._resolved(target) | schema
        if (alternatives := schema.pop("anyOf", None)) is not None:
            return self._one_of(cast("list[Schema]", alternatives)) | schema
        return schema

    def _one_of(self, alternatives: list[Schema]) -> Schema:
        branches = [self._resolved(branch) for branch in alternatives if branch != NULL]
        if len(branches) > 1:
            if self._is_input or any(branch.keys() != {"type"} for branch in branches):
                raise TypeError(f"Alternatives other than null have no plain schema: {alternatives}.")
            branches = [{"type": [branch["type"] for branch in branches]}]
        schema = branches[0]
        if not self._is_input and NULL in alternatives:
            schema = _with_null(schema)
        return schema


def _with_null(schema: Schema) -> Schema:
    """Schema that also accepts null."""
    kinds = schema.get("type", [])
    widened = schema | {"type": [*(kinds if isinstance(kinds, list) else [kinds]), "null"]}
    if "const" in widened:
        widened["enum"] = [widened.pop("const")]
    if isinstance(named := widened.get("enum"), list):
        widened["enum"] = [*named, None]
    return widened
