"""What the contract says of every tool, from the client's side."""

import json
from typing import Any

import anyio
import pytest
from mcp import Client

from protatlas.app import App
from protatlas.cli import viewer_page
from protatlas.server import build_server
from protatlas.tools import TOOLS
from tests.known_proteins import HBA
from tests.tools.conftest import Call

SEQUENCE_TOOLS = {
    "esm_atlas_search_similar_protein_clusters": 2_048,
    "esm_atlas_get_protein_details": 4_000,
    "esm_atlas_get_cluster_info": 4_000,
    "ui_show_protein_structure": 4_000,
}
LENGTH_CODES = ("sequence_too_long_for_features", "sequence_too_long_to_fold")
VALID: dict[str, dict[str, Any]] = {
    "esm_atlas_search_uniprot": {"query": "insulin"},
    "esm_atlas_lookup_accession": {"accession": "HBA_HUMAN"},
    "esm_atlas_search_similar_protein_clusters": {"sequence": HBA},
    "esm_atlas_get_protein_details": {"sequence": HBA},
    "esm_atlas_get_cluster_info": {"sequence": HBA},
    "esm_atlas_get_sae_feature_detail": {"feature_index": 1},
    "ui_show_protein_structure": {"sequence": HBA},
    "blast_sequence": {"sequence": HBA},
}
BEYOND = {"blast_job"}
"""Tools that the published servers do not have."""


def _listed(app: App) -> list[dict[str, Any]]:
    async def run() -> list[dict[str, Any]]:
        async with Client(build_server(app, TOOLS, [viewer_page()])) as client:
            tools = (await client.list_tools()).tools
            return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]

    return anyio.run(run)


def test_the_tools_of_the_contract_are_listed_within_25_kilobytes(app: App) -> None:
    listed = _listed(app)

    assert {tool["name"] for tool in listed} == set(VALID) | BEYOND
    assert len(json.dumps({"tools": listed}, separators=(",", ":")).encode()) <= 25_000


def test_every_argument_is_described_and_no_schema_needs_a_reference(app: App) -> None:
    for tool in _listed(app):
        text = json.dumps(tool["inputSchema"]) + json.dumps(tool["outputSchema"])
        assert not any(key in text for key in ("$ref", "$defs", "$dynamicRef"))
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["type"] == "object"
        assert tool["annotations"]["readOnlyHint"] is (tool["name"] not in BEYOND)
        for name, node in tool["inputSchema"]["properties"].items():
            assert node["description"], name
            assert isinstance(node["type"], str), name


@pytest.mark.parametrize("tool", VALID)
def test_an_unknown_argument_is_refused_by_name(call: Call, tool: str) -> None:
    error = call.error(tool, **VALID[tool], colour="red")

    assert error["code"] == "invalid_input"
    assert "colour" in error["message"]


@pytest.mark.parametrize("tool", VALID)
def test_a_missing_argument_is_named(call: Call, tool: str) -> None:
    (required,) = VALID[tool]

    error = call.error(tool)

    assert error["code"] == "invalid_input"
    assert required in error["message"]


@pytest.mark.parametrize("tool", VALID)
def test_a_wrong_type_is_refused_and_never_converted(call: Call, tool: str) -> None:
    ((required, value),) = VALID[tool].items()
    wrong = str(value) if isinstance(value, int) else 7

    error = call.error(tool, **{required: wrong})

    assert error["code"] == "invalid_input"
    assert required in error["message"]


@pytest.mark.parametrize(("tool", "longest"), SEQUENCE_TOOLS.items())
def test_one_letter_too_many_states_both_lengths(call: Call, tool: str, longest: int) -> None:
    error = call.error(tool, sequence="A" * (longest + 1))

    assert error["code"] == "invalid_input"
    assert error["actual_length"] == longest + 1
    assert error["max_length"] == longest


@pytest.mark.parametrize("tool", [*SEQUENCE_TOOLS, "blast_sequence"])
def test_an_illegal_letter_is_named_with_its_position(call: Call, tool: str) -> None:
    error = call.error(tool, sequence="MKTAYIAK1QR@QISFVKSHFSRQ".replace("1", ""))

    assert error["code"] == "invalid_input"
    assert "@" in error["message"]
    assert "11" in error["message"]


PASTED = {
    "FASTA from Windows": f">my query, please ignore\r\n{HBA[:60]} \r\n{HBA[60:]}\r\n\r\n",
    "GenBank block": "ORIGIN\n"
    + "".join(
        f"{at + 1:9} {' '.join(HBA[at : at + 60][block : block + 10].lower() for block in range(0, 60, 10))}\n"
        for at in range(0, len(HBA), 60)
    )
    + "//",
    "final stop, gaps and invisible characters": f"\ufeff{HBA[:9]}\u200b-{HBA[9:]}*",
    "columns": "\n".join(HBA),
}


@pytest.mark.parametrize("tool", [*SEQUENCE_TOOLS, "blast_sequence"])
@pytest.mark.parametrize("pasted", PASTED.values(), ids=PASTED)
def test_what_people_paste_is_the_sequence(call_once: Call, tool: str, pasted: str) -> None:
    def about(answer: dict[str, Any]) -> dict[str, Any]:
        told = ("notes", "provenance", "structure", "warnings", "statistics", "elapsed_seconds", "raw_report")
        return {name: value for name, value in answer.items() if name not in told}

    assert about(call_once(tool, sequence=pasted)) == about(call_once(tool, sequence=HBA))


@pytest.mark.parametrize(("tool", "longest"), SEQUENCE_TOOLS.items())
def test_the_limit_counts_residues_and_not_the_layout(call_once: Call, tool: str, longest: int) -> None:
    protein = (HBA * 40)[:longest]
    lines = "\n".join(protein[at : at + 60] for at in range(0, longest, 60))
    pasted = f">{'a long header ' * 20}\n{lines}\n"

    result = call_once.raw(tool, sequence=pasted)

    assert result.structured_content is not None
    assert result.structured_content.get("code") in (None, *LENGTH_CODES, "not_found")
    if result.is_error and result.structured_content["code"] in LENGTH_CODES:
        assert result.structured_content["actual_length"] == longest


@pytest.mark.parametrize("tool", [*SEQUENCE_TOOLS, "blast_sequence"])
@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("MetGlnIlePheValLysThrLeuThrGlyLysThrIleThr", "three-letter codes"),
        ("P69905", "the accession P69905"),
        ("hemoglobin subunit alpha", "reads as words"),
        (f"{HBA[:30]}*{HBA[30:]}", "position 31"),
        ("AUGGCCAUUGUAAUGGGCCGCUGA", "nucleotide"),
    ],
)
def test_what_is_ambiguous_is_refused_with_what_was_seen(call_once: Call, tool: str, text: str, seen: str) -> None:
    error = call_once.error(tool, sequence=text)

    assert error["code"] == "invalid_input"
    assert seen in error["message"]
    assert "Expected" in error["message"]


@pytest.mark.parametrize("tool", [*SEQUENCE_TOOLS, "blast_sequence"])
def test_two_records_dna_and_an_empty_sequence_are_refused(call_once: Call, tool: str) -> None:
    for text, seen in ((f">a\n{HBA}\n>b\n{HBA}", "record"), ("ATGC" * 20, "nucleotide"), (" \n", "no residues")):
        error = call_once.error(tool, sequence=text)
        assert error["code"] == "invalid_input"
        assert seen in error["message"].lower()
        assert HBA not in error["message"]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("esm_atlas_search_uniprot", {"query": "x" * 501}),
        ("esm_atlas_search_uniprot", {"query": ""}),
        ("esm_atlas_search_uniprot", {"query": "insulin", "size": 7}),
        ("esm_atlas_search_uniprot", {"query": "insulin", "size": 0}),
        ("esm_atlas_search_uniprot", {"query": "insulin", "size": "3"}),
        ("esm_atlas_lookup_accession", {"accession": "x" * 129}),
        ("esm_atlas_search_similar_protein_clusters", {"sequence": HBA, "top_k": 13}),
        ("esm_atlas_search_similar_protein_clusters", {"sequence": HBA, "uncharacterized_only": "false"}),
        ("esm_atlas_get_sae_feature_detail", {"feature_index": 1.5}),
        ("blast_sequence", {"sequence": HBA, "expect": -1}),
        ("blast_sequence", {"sequence": HBA, "program": "psiblast"}),
    ],
)
def test_values_outside_their_limits_are_invalid(call: Call, tool: str, arguments: dict[str, Any]) -> None:
    assert call.error(tool, **arguments)["code"] == "invalid_input"


def test_a_whole_float_is_an_integer(call: Call) -> None:
    answer = call("esm_atlas_search_uniprot", query="insulin", size=2.0)

    assert answer["num_results"] == 2


@pytest.mark.parametrize("tool", VALID)
def test_every_answer_says_where_it_comes_from_and_that_nothing_was_sent(call: Call, tool: str) -> None:
    answer = call(tool, **VALID[tool])

    assert answer["provenance"]["atlas"] == "small"
    assert answer["sent_to"] == []


def test_a_server_whose_atlas_is_being_built_says_how_far_it_is() -> None:
    waiting = App()
    waiting.wait_for("to be built first (encode: 40 %)")

    for era in ("auto", "legacy"):
        error = Call(waiting, era).error("esm_atlas_search_uniprot", query="insulin")
        assert error["code"] == "dependency_unavailable"
        assert error["retryable"] is True
        assert "40 %" in error["message"]
        assert error["retry_after_s"] > 0


def test_a_server_whose_atlas_could_not_be_built_says_why_and_not_to_ask_again() -> None:
    failed = App()
    failed.give_up("It could not be built: no room.")

    error = Call(failed, "auto").error("esm_atlas_search_uniprot", query="insulin")

    assert error["code"] == "dependency_unavailable"
    assert error["retryable"] is False
    assert "no room" in error["message"]


def test_a_defect_is_an_internal_error_and_its_text_stays_in_the_log(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(type(app.atlas), "search", broken)

    error = Call(app, "auto").error("esm_atlas_search_uniprot", query="insulin")

    assert error["code"] == "internal_error"
    assert "secret" not in json.dumps(error)
