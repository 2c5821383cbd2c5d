"""Schemas that every client can read, and arguments that are what they say."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, Field

from protatlas.errors import InvalidInput
from protatlas.tools.registry import Answer, Arguments, Tool, describe, parse
from protatlas.tools.schemas import codes, input_schema, output_schema
from tests.fakes.toys import TOOLS, Count, Counted, Hit
from tests.known_proteins import UBIQUITIN

COUNT = TOOLS[0]


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a schema."""
    if isinstance(schema, dict):
        yield schema
        for inner in schema.values():
            yield from nodes(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from nodes(inner)


def refusal(arguments: dict[str, Any]) -> InvalidInput:
    with pytest.raises(InvalidInput) as caught:
        parse(COUNT, arguments)
    return caught.value


@pytest.mark.parametrize("schema", [input_schema(Count), output_schema(Counted)])
def test_schemas_hold_no_references(schema: dict[str, Any]) -> None:
    keys = {key for node in nodes(schema) for key in node}
    assert not keys & {"$ref", "$defs", "$dynamicRef"}


def test_every_argument_has_one_plain_type_and_a_description() -> None:
    properties = [node["properties"] for node in nodes(input_schema(Count)) if "properties" in node]
    described = [argument for group in properties for argument in group.values()]
    assert len(described) == 8  # four of the call, two of its view, two of a highlight
    assert all(isinstance(argument["type"], str) and argument["description"] for argument in described)


def test_unknown_names_are_forbidden_at_every_level_of_the_input() -> None:
    objects = [node for node in nodes(input_schema(Count)) if node.get("type") == "object"]
    assert [node["additionalProperties"] for node in objects] == [False, False, False]


def test_a_field_named_title_stays_in_the_output_schema() -> None:
    schema: Any = output_schema(Counted)
    success = schema["anyOf"][0]
    hit = success["properties"]["hits"]["items"]
    assert hit["properties"]["title"] == {"type": ["string", "null"]}
    assert hit["properties"]["kind"] == {"type": ["string", "null"], "enum": ["near", "far", None]}


def test_output_schema_covers_success_and_error() -> None:
    schema = describe(COUNT).output_schema
    assert schema is not None
    success, error = schema["anyOf"]
    assert schema["type"] == success["type"] == error["type"] == "object"
    assert error["properties"]["code"] == {"type": "string"}


def test_the_ten_codes_of_the_contract_are_all_there() -> None:
    assert set(codes()) == {
        "invalid_input",
        "not_found",
        "restricted",
        "rate_limited",
        "dependency_unavailable",
        "indeterminate",
        "sequence_too_long_to_fold",
        "sequence_too_long_for_features",
        "resource_too_large",
        "internal_error",
    }


def test_tools_are_announced_as_read_only_and_the_view_names_its_page() -> None:
    described = {tool.name: describe(tool) for tool in TOOLS}
    hints = described["show"].annotations
    assert hints is not None
    assert (hints.read_only_hint, hints.destructive_hint, hints.idempotent_hint) == (True, None, None)
    assert described["show"].meta == {"ui": {"resourceUri": "ui://toys/view/v1", "visibility": ["model"]}}
    assert described["count"].meta is None


def test_a_model_that_contains_itself_is_refused() -> None:
    class Nested(Answer):
        inner: "Nested | None" = None

    Nested.model_rebuild(_types_namespace={"Nested": Nested})
    with pytest.raises(TypeError, match="contains itself"):
        output_schema(Nested)


def test_an_argument_of_two_types_is_refused() -> None:
    class Either(Arguments):
        size: int | str = Field(description="Size.")

    tool: Tool[object, Either] = Tool("either", "Either", "Either.", Either, Hit, lambda _, __: Hit(title=None))
    with pytest.raises(TypeError, match="plain schema"):
        describe(tool)


def test_a_nested_model_that_takes_any_name_is_refused() -> None:
    class Loose(BaseModel):
        size: int = Field(description="Size.")

    class Outer(Arguments):
        loose: Loose = Field(description="Sizes.")

    with pytest.raises(TypeError, match="must forbid unknown names"):
        input_schema(Outer)


def test_a_nested_model_of_the_library_is_read_strictly_too() -> None:
    class Lenient(BaseModel):
        model_config = ConfigDict(extra="forbid")
        size: int = Field(description="Size.")

    class Outer(Arguments):
        inner: Lenient = Field(description="Sizes.")

    tool: Tool[object, Outer] = Tool("outer", "Outer", "Outer.", Outer, Hit, lambda _, __: Hit(title=None))
    with pytest.raises(InvalidInput, match=r"`inner\.size`: found the text \"5\""):
        parse(tool, {"inner": {"size": "5"}})
    assert parse(tool, {"inner": {"size": 5.0}}).inner.size == 5


def test_null_means_left_out_at_every_level() -> None:
    arguments = parse(
        COUNT,
        {
            "sequence": "M",
            "top_k": None,
            "uncharacterized_only": None,
            "view_options": {"representation": None, "highlights": [{"author_residue_number": 1, "color": None}]},
        },
    )
    assert (arguments.top_k, arguments.uncharacterized_only) == (10, False)
    assert arguments.view_options is not None
    assert arguments.view_options.representation == "cartoon"
    assert arguments.view_options.highlights[0].color is None
    assert parse(COUNT, {"sequence": "M", "view_options": None}).view_options is None


def test_a_whole_float_is_an_integer() -> None:
    assert parse(COUNT, {"sequence": "M", "top_k": 3.0}).top_k == 3


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"top_k": "3"}, '`top_k`: found the text "3". Expected a whole number from 1 to 12.'),
        ({"top_k": 3.5}, "`top_k`: found the number 3.5. Expected a whole number from 1 to 12."),
        ({"top_k": True}, "`top_k`: found true. Expected a whole number from 1 to 12."),
        ({"top_k": 13}, "`top_k`: found the number 13. Expected a whole number from 1 to 12."),
        ({"top_k": float("nan")}, "`top_k`: found the number nan. Expected a whole number from 1 to 12."),
        (
            {"uncharacterized_only": "false"},
            '`uncharacterized_only`: found the text "false". Expected true or false, without quotes.',
        ),
        ({"sequence": ""}, "`sequence`: found a text of 0 characters. Expected a text of 1 to 2,048 characters."),
        (
            {"view_options": {"representation": "balls"}},
            '`view_options.representation`: found the text "balls". Expected "cartoon" or "surface".',
        ),
        (
            {"view_options": {"highlights": [{"author_residue_number": 1, "color": "red"}]}},
            '`view_options.highlights[0].color`: found the text "red". Expected a text that matches ^#[0-9a-f]{6}$.',
        ),
        (
            {"view_options": {"highlights": [{"color": "#ff0000"}]}},
            "`view_options.highlights[0].author_residue_number`: missing. Expected a whole number of at least 1.",
        ),
        (
            {"view_options": []},
            "`view_options`: found a list of 0 items. Expected an object with `representation` and `highlights`.",
        ),
        (
            {"topk": 3},
            "`topk`: unknown argument (the closest known one is `top_k`). "
            "Expected only `sequence`, `top_k`, `uncharacterized_only` and `view_options`.",
        ),
        (
            {"organism": None},
            "`organism`: unknown argument. Expected only `sequence`, `top_k`, `uncharacterized_only` and "
            "`view_options`.",
        ),
    ],
)
def test_a_wrong_argument_is_named_with_what_was_found_and_expected(arguments: dict[str, Any], sentence: str) -> None:
    assert refusal({"sequence": UBIQUITIN} | arguments).message == sentence


def test_a_missing_argument_is_named() -> None:
    expected = "`sequence`: missing. Expected a text of 1 to 2,048 characters."
    assert refusal({}).message == expected
    assert refusal({"sequence": None}).message == expected


def test_a_length_error_carries_both_numbers_and_never_the_sequence() -> None:
    error = refusal({"sequence": "MKTAYIAKQR" * 300})
    assert error.fields == {"argument": "sequence", "actual_length": 3000, "max_length": 2048}
    assert "MKTAY" not in error.message


def test_a_sequence_in_the_wrong_place_is_not_repeated() -> None:
    assert UBIQUITIN[:20] not in refusal({"sequence": "M", "top_k": UBIQUITIN[:20]}).message
    assert UBIQUITIN not in refusal({"sequence": "M", UBIQUITIN: 1}).message
    assert "PEPTIDE" not in refusal({"sequence": ["PEPTIDE"]}).message


def test_each_problem_gets_a_sentence_up_to_six() -> None:
    two = refusal({"sequence": "M", "top_k": 0, "uncharacterized_only": 1})
    assert two.message.count("Expected") == 2
    many = refusal({f"argument_{number}": 1 for number in range(9)})
    assert many.message.count("Expected") == 6
    assert many.message.endswith("And 4 more.")


def test_broken_unicode_is_invalid_input() -> None:
    assert refusal({"sequence": "\ud800"}).message == "`arguments`: not valid Unicode text. Expected JSON values."
