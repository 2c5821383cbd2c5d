"""`protatlas serve` as its users run it: a process over a real atlas, by HTTP and by stdio."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from protatlas.atlas.store import QdrantServer
from protatlas.atlas.upload import upload_atlas
from tests.fakes.qdrant_server import FakeQdrant, running
from tests.known_proteins import HBA
from tests.test_server_http import Served, started
from tests.tools.test_contract import VALID

HIGHLIGHTS_33 = {"highlights": [{"author_residue_number": number} for number in range(1, 34)]}
COMMAND = [sys.executable, "-m", "protatlas", "serve"]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def served(atlas_path: Path) -> Iterator[Served]:
    with started([*COMMAND, "--atlas", str(atlas_path), "--port", "0"]) as server:
        yield server


async def every_tool(client: Client) -> dict[str, Any]:
    """Answers of all tools on human haemoglobin, each checked against its own output schema."""
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    answers: dict[str, Any] = {}

    async def ask(tool: str, **arguments: object) -> Any:
        result = await client.call_tool(tool, arguments)
        assert not result.is_error, result.structured_content
        jsonschema.validate(result.structured_content, schemas[tool])
        answers[tool] = result.structured_content
        return result.structured_content

    found = await ask("esm_atlas_search_uniprot", query="P69905")
    sequence = found["proteins"][0]["sequence"]
    await ask("esm_atlas_lookup_accession", accession="HBA_HUMAN")
    await ask("esm_atlas_search_similar_protein_clusters", sequence=sequence)
    details = await ask("esm_atlas_get_protein_details", sequence=sequence)
    await ask("esm_atlas_get_cluster_info", sequence=sequence)
    await ask("esm_atlas_get_sae_feature_detail", feature_index=details["sae_features"][0]["feature_index"])
    await ask("ui_show_protein_structure", sequence=sequence)
    search = await ask("blast_sequence", sequence=sequence)
    job = await ask("blast_job", rid=search["rid"], action="result")
    assert job["result"]["hits"] == search["hits"]
    assert set(answers) == set(schemas)
    return answers


@pytest.mark.anyio
async def test_every_tool_answers_with_the_points_on_a_qdrant_server(atlas_path: Path) -> None:
    with running(FakeQdrant()) as address:
        upload_atlas(atlas_path, QdrantServer(address), progress=lambda *_: None)
        command = [*COMMAND, "--atlas", str(atlas_path), "--store", address, "--port", "0"]
        with started(command) as remote:
            async with Client(f"{remote.url}/mcp") as client:
                answers = await every_tool(client)

    assert answers["esm_atlas_search_uniprot"]["proteins"][0]["accession"] == "P69905"


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_every_tool_answers_over_http_as_its_schema_says(served: Served, era: Any) -> None:
    async with Client(f"{served.url}/mcp", mode=era) as client:
        answers = await every_tool(client)
    assert answers["esm_atlas_search_uniprot"]["proteins"][0]["accession"] == "P69905"


MISTAKES: list[tuple[str, dict[str, object], str, str]] = [
    *((name, {**arguments, "colour": "red"}, "invalid_input", "colour") for name, arguments in VALID.items()),
    *((name, {}, "invalid_input", next(iter(arguments))) for name, arguments in VALID.items()),
    ("esm_atlas_search_uniprot", {"query": "x" * 501}, "invalid_input", "500"),
    ("esm_atlas_search_uniprot", {"query": "insulin", "size": 7}, "invalid_input", "6"),
    ("esm_atlas_search_uniprot", {"query": "insulin", "size": "3"}, "invalid_input", "size"),
    ("esm_atlas_lookup_accession", {"accession": "x" * 129}, "invalid_input", "128"),
    ("esm_atlas_lookup_accession", {"accession": "MGYP000261684433"}, "not_found", "MGYP000261684433"),
    ("esm_atlas_search_similar_protein_clusters", {"sequence": "A" * 2_049}, "invalid_input", "2,048"),
    ("esm_atlas_search_similar_protein_clusters", {"sequence": HBA, "top_k": 13}, "invalid_input", "12"),
    ("esm_atlas_get_protein_details", {"sequence": "A" * 4_001}, "invalid_input", "4,000"),
    ("esm_atlas_get_protein_details", {"sequence": "MKT@AYIAKQR"}, "invalid_input", "'@'"),
    ("esm_atlas_get_protein_details", {"sequence": "MKTAYIAKQR" * 250}, "sequence_too_long_for_features", "2500"),
    ("esm_atlas_get_cluster_info", {"sequence": "MKTAYIAKQR"}, "not_found", "cluster"),
    ("esm_atlas_get_sae_feature_detail", {"feature_index": 16_384}, "invalid_input", "16,383"),
    ("ui_show_protein_structure", {"sequence": "MKTAYIAKQR" * 71}, "sequence_too_long_to_fold", "700"),
    ("ui_show_protein_structure", {"sequence": "MKTAYIAKQR"}, "dependency_unavailable", "folding engine"),
    ("ui_show_protein_structure", {"sequence": HBA, "view_options": HIGHLIGHTS_33}, "invalid_input", "32"),
    ("blast_sequence", {"sequence": "ATGC" * 30}, "invalid_input", "nucleotide"),
    ("blast_sequence", {"sequence": HBA, "program": "tblastn"}, "dependency_unavailable", "tblastn"),
    ("blast_job", {"colour": "red"}, "invalid_input", "colour"),
    ("blast_job", {"rid": "local-0", "action": "stop"}, "invalid_input", "action"),
    ("blast_job", {}, "invalid_input", "stdio"),
    ("blast_job", {"rid": "local-0000000000000000"}, "not_found", "local-0000000000000000"),
]


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_every_mistake_has_its_code_and_sentence_over_http(served: Served, era: Any) -> None:
    async with Client(f"{served.url}/mcp", mode=era) as client:
        for tool, arguments, code, words in MISTAKES:
            result = await client.call_tool(tool, arguments)

            error = result.structured_content
            assert result.is_error, (tool, words)
            assert error is not None
            assert json.loads(result.content[0].text) == error  # type: ignore[union-attr]  # the first is the JSON text
            assert error["code"] == code, (tool, error)
            assert words in error["message"], (tool, error)


@pytest.mark.anyio
async def test_every_tool_answers_over_stdio(atlas_path: Path) -> None:
    command = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "--stdio", "--atlas", str(atlas_path)], env=dict(os.environ)
    )
    async with Client(command) as client:
        answers = await every_tool(client)
    assert answers["esm_atlas_get_cluster_info"]["cluster_size"] >= 1


def test_the_product_is_ready_and_serves_its_viewer(served: Served) -> None:
    assert served.request("GET", "/ready").status_code == 200
    for uri in ("ui://protatlas/structure-viewer/v1", "ui://biohub-public/structure-viewer/v1"):
        page = served.post("resources/read", {"uri": uri})
        assert page.status_code == 200
        assert "text/html;profile=mcp-app" in page.text
