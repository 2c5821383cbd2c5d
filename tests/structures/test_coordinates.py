import gzip
from base64 import b64decode
from hashlib import sha256
from pathlib import Path

import gemmi
import numpy as np
import pytest
from pydantic import ValidationError

from protatlas.errors import AtlasDamaged, HighlightMismatch, InvalidInput
from protatlas.records import StoredStructure, protein_hash
from protatlas.structures.coordinates import (
    Camera,
    Highlight,
    Structure,
    StructureArchive,
    View,
    check_highlights,
    check_view,
    view_warnings,
    viewer_payload,
)
from protatlas.structures.mmcif import THREE_LETTER, Residue, write_chain
from tests.known_proteins import HBA

# P69905 of UniProt, initiator methionine included.


def predicted(plddt: float) -> Structure:
    content = write_chain("x", "model", [Residue(1, "M", [(0.0, 0.0, 0.0)] * 4, b_factor=plddt)])
    record = StoredStructure(
        protein_hash=protein_hash("M"),
        entry="x",
        chain="A",
        kind="predicted",
        method=None,
        first=1,
        last=1,
        residues=1,
        identity=1,
        mean_plddt=plddt / 100,
    )
    return Structure(content, record)


def test_residues_have_the_numbers_of_the_sequence(haemoglobin: Structure) -> None:
    expected = {number: THREE_LETTER[letter] for number, letter in enumerate(HBA, 1) if number > 1}
    assert haemoglobin.residues == expected


def test_every_archived_structure_agrees_with_its_record_by_gemmi(archive: StructureArchive) -> None:
    for key in sorted(archive.records)[::60]:
        structure = archive.load(key)
        assert structure is not None
        block = gemmi.cif.read_string(structure.content.decode("ascii")).sole_block()
        chain = gemmi.make_structure_from_block(block)[0]["A"]
        numbers = [residue.seqid.num for residue in chain]
        assert (numbers[0], numbers[-1], len(numbers)) == (
            structure.record.first,
            structure.record.last,
            structure.record.residues,
        )
        assert structure.residues == {residue.seqid.num: residue.name for residue in chain}


def test_neighbouring_alpha_carbons_are_one_peptide_bond_apart(ubiquitin: Structure) -> None:
    block = gemmi.cif.read_string(ubiquitin.content.decode("ascii")).sole_block()
    chain = gemmi.make_structure_from_block(block)[0]["A"]
    positions = np.array([residue["CA"][0].pos.tolist() for residue in chain])
    steps = np.linalg.norm(np.diff(positions, axis=0), axis=1)
    assert steps == pytest.approx(3.8, abs=0.15)


def test_literature_number_without_initiator_met_is_refused_with_a_hint(haemoglobin: Structure) -> None:
    distal = Highlight(author_residue_number=58, expected_residue="HIS", color="#ff0000")
    with pytest.raises(HighlightMismatch) as caught:
        check_highlights(haemoglobin, [distal])
    assert caught.value.message == "A highlighted residue identity does not match the structure."
    assert caught.value.fields["found_residue"] == "GLY"
    assert "Residue 59 is HIS" in str(caught.value.fields["hint"])


def test_number_in_the_sequence_is_accepted_in_any_case(haemoglobin: Structure) -> None:
    check_highlights(haemoglobin, [Highlight(author_residue_number=59, expected_residue="his")])


def test_a_wrong_residue_without_a_neighbour_that_fits_has_no_hint(haemoglobin: Structure) -> None:
    with pytest.raises(HighlightMismatch) as caught:
        check_highlights(haemoglobin, [Highlight(author_residue_number=59, expected_residue="TRP")])
    assert caught.value.fields["hint"] is None


@pytest.mark.parametrize(
    ("view", "named"),
    [
        (View(highlights=(Highlight(author_residue_number=1),)), "span residues 2 to 142"),
        (View(highlights=(Highlight(chain_id="B", author_residue_number=59),)), "no chain 'B'"),
        (View(visible_chain_ids=("A", "B")), "no chain 'B'"),
        (View(camera=Camera(center_residue=143)), "residue 143 has no coordinates"),
        (View(color_by="feature"), "feature_index"),
    ],
)
def test_what_the_structure_cannot_show_is_refused_by_name(haemoglobin: Structure, view: View, named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        check_view(haemoglobin, view)


@pytest.mark.parametrize("color", ["red", "#ff00", "#ff00000", "url(x)"])
def test_a_colour_is_six_hex_digits(color: str) -> None:
    with pytest.raises(ValidationError):
        Highlight(author_residue_number=1, color=color)


def test_a_view_takes_32_highlights_and_no_more() -> None:
    highlight = Highlight(author_residue_number=1)
    assert len(View(highlights=(highlight,) * 32).highlights) == 32
    with pytest.raises(ValidationError):
        View(highlights=(highlight,) * 33)


def test_viewer_gets_the_file_that_the_checksum_names(haemoglobin: Structure) -> None:
    payload = viewer_payload(haemoglobin)
    content = gzip.decompress(b64decode(payload["data"]))
    assert content == haemoglobin.content
    assert payload["sha256"] == sha256(content).hexdigest() == haemoglobin.sha256
    assert payload == viewer_payload(haemoglobin)


def test_confidence_of_an_experimental_structure_is_said_to_be_absent(haemoglobin: Structure) -> None:
    assert any("no pLDDT" in warning for warning in view_warnings(haemoglobin, View(color_by="confidence")))
    assert not any("no pLDDT" in warning for warning in view_warnings(predicted(90), View(color_by="confidence")))


def test_b_factors_of_a_prediction_are_plddt_up_to_100() -> None:
    structure = predicted(87.5)
    assert structure.b_factors == {1: 87.5}
    assert structure.record.mean_plddt == pytest.approx(0.875)


def test_unknown_protein_has_no_structure(archive: StructureArchive) -> None:
    assert archive.load("0" * 32) is None


def test_a_file_that_is_no_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "structures.zip"
    path.write_bytes(b"no zip")
    with pytest.raises(AtlasDamaged, match=r"structures\.zip"):
        StructureArchive(path)
