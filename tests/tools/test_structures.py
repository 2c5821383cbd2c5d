import base64
import gzip
import hashlib

import pytest
from mcp import types

from protatlas.app import App
from tests.known_proteins import HBA
from tests.tools.conftest import Call

TOOL = "ui_show_protein_structure"
FOLDLESS = "MKMHIHELSVYIFVTAKASGHTPGMMEDVKVSHIHDDHVRYVDEHMDEWRDVEKRVENTCPWYTIIWSPFPACCSCNQEKTWSCSEFLTDASNQWACSF"
"""A made-up sequence."""
MISMATCH = "A highlighted residue identity does not match the structure."


@pytest.fixture
def has_globin(app: App) -> None:
    """The atlas stores coordinates of haemoglobin alpha."""
    key = hashlib.md5(HBA.encode(), usedforsecurity=False).hexdigest()
    assert app.atlas.structure_record(key) is not None


def _coordinates(result: types.CallToolResult) -> bytes:
    assert result.meta is not None
    packed = result.meta["protatlas/coordinates"]
    return gzip.decompress(base64.b64decode(packed["data"]))


@pytest.mark.usefixtures("has_globin")
def test_a_stored_structure_comes_as_picture_descriptor_and_coordinates(call: Call) -> None:
    result = call.raw(TOOL, sequence=HBA)

    answer = result.structured_content
    assert answer is not None
    assert answer["preview_status"] == "ready"
    assert answer["descriptor"]["sha256"] == hashlib.sha256(_coordinates(result)).hexdigest()
    assert answer["descriptor"]["source"]["kind"] == "atlas"
    assert answer["descriptor"]["source"]["structure_kind"] == "experimental"
    assert not answer["descriptor"]["source"]["folded_on_miss"]
    picture = result.content[1]
    assert isinstance(picture, types.ImageContent)
    assert picture.mime_type == "image/png"
    assert base64.b64decode(picture.data).startswith(b"\x89PNG\r\n")


@pytest.mark.usefixtures("has_globin")
def test_the_number_of_the_mature_chain_is_refused_with_a_hint(call: Call) -> None:
    wrong = {"chain_id": "A", "author_residue_number": 58, "expected_residue": "HIS", "color": "#ff0000"}

    error = call.error(TOOL, sequence=HBA, view_options={"highlights": [wrong]})

    assert error["code"] == "invalid_input"
    assert error["message"] == MISMATCH
    assert "59" in error["hint"]


@pytest.mark.usefixtures("has_globin")
def test_the_number_of_the_sequence_passed_is_highlighted(call: Call) -> None:
    right = {"chain_id": "A", "author_residue_number": 59, "expected_residue": "HIS", "color": "#ff0000"}

    answer = call(TOOL, sequence=HBA, view_options={"highlights": [right]})

    assert answer["preview_status"] == "ready"


def test_without_coordinates_and_folding_engine_the_answer_says_so(call: Call) -> None:
    error = call.error(TOOL, sequence=FOLDLESS)

    assert error["code"] == "dependency_unavailable"
    assert "no folding engine" in error["message"]


def test_a_long_sequence_without_coordinates_is_too_long_to_fold(call: Call) -> None:
    error = call.error(TOOL, sequence=(FOLDLESS * 10)[:701])

    assert error["code"] == "sequence_too_long_to_fold"
    assert error["actual_length"] == 701
    assert error["max_length"] == 700


def test_more_than_32_highlights_are_refused(call: Call) -> None:
    highlights = [{"chain_id": "A", "author_residue_number": number} for number in range(1, 34)]

    error = call.error(TOOL, sequence=HBA, view_options={"highlights": highlights})

    assert error["code"] == "invalid_input"
    assert "32" in error["message"]


def test_unknown_and_mistyped_view_options_are_refused(call_once: Call) -> None:
    for options in (
        {"colour": "chain"},
        {"representation": "ribbon"},
        {"highlights": [{"author_residue_number": "5"}]},
    ):
        error = call_once.error(TOOL, sequence=HBA, view_options=options)
        assert error["code"] == "invalid_input"


@pytest.mark.usefixtures("has_globin")
def test_a_feature_paints_the_structure(call_once: Call) -> None:
    feature = call_once("esm_atlas_get_protein_details", sequence=HBA)["sae_features"][0]["feature_index"]
    plain = call_once.raw(TOOL, sequence=HBA)

    painted = call_once.raw(TOOL, sequence=HBA, view_options={"color_by": "feature", "feature_index": feature})

    assert painted.content[1] != plain.content[1]
