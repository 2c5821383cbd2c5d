"""Stored coordinates of a protein, and how a caller wants to see them.

Every coordinate file is BinaryCIF, or mmCIF in older archives, with one chain `A` whose residue numbers are 1 to N of
the protein's sequence. Residues without coordinates are simply not there. The B-factor column holds pLDDT on the scale
0 to 100 where the record has a mean pLDDT, else what the source has there, and 0 where it states none.
"""

import csv
import gzip
import io
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal
from zipfile import BadZipFile, ZipFile

from pydantic import ConfigDict, Field, ValidationError

from protatlas.errors import AtlasDamaged, HighlightMismatch, InvalidInput
from protatlas.records import Record, StoredStructure
from protatlas.structures.binarycif import BadBinaryCif, read_binary_cif
from protatlas.structures.mmcif import CHAIN, read_table, write_tables

Representation = Literal["cartoon", "surface"]
Orientation = Literal["front", "back", "left", "right", "top", "bottom"]
ColorBy = Literal["chain", "confidence", "feature"]
MAX_HIGHLIGHTS = 32
INDEX = "index.tsv"
BINARY, TEXT = "bcif", "cif"
# Categories of the stored files, in the order in which they are shown.
CATEGORIES = ("entry", "struct", "entity", "entity_poly", "struct_conf", "struct_sheet_range", "atom_site")


class Wish(Record):
    """Base of what a caller wishes: values are strict, since they come from outside."""

    model_config = ConfigDict(strict=True)


class Highlight(Wish):
    """One residue to point out."""

    chain_id: Annotated[
        str,
        Field(min_length=1, max_length=8, description="Always `A`."),
    ] = CHAIN
    author_residue_number: Annotated[
        int, Field(ge=1, le=4000, description="1 to N of the sequence passed, initiator Met included.")
    ]
    expected_residue: Annotated[
        str | None,
        Field(
            pattern="^[A-Za-z]{3}$",
            description="Three-letter code that must be there, such as `HIS`.",
        ),
    ] = None
    color: Annotated[str | None, Field(pattern="^#[0-9A-Fa-f]{6}$", description="Such as `#ff0000`.")] = None


class Camera(Wish):
    """Turns of the picture after its orientation, in degrees, and how close it is."""

    turn: Annotated[float, Field(ge=-360, le=360, description="Degrees about the vertical.")] = 0.0
    tilt: Annotated[float, Field(ge=-360, le=360, description="Degrees about the horizontal.")] = 0.0
    roll: Annotated[float, Field(ge=-360, le=360, description="Degrees about the line of sight.")] = 0.0
    zoom: Annotated[float, Field(ge=0.2, le=10, description="1 fits the whole, 2 is twice as large.")] = 1.0
    center_residue: Annotated[int | None, Field(ge=1, le=4000, description="Residue in the middle.")] = None


class View(Wish):
    """How a structure is drawn."""

    representation: Annotated[Representation, Field(description="Helices and strands, or the shape.")] = "cartoon"
    orientation: Annotated[Orientation, Field(description="Side; `front` lays the longest axis across.")] = "front"
    color_by: Annotated[
        ColorBy,
        Field(description="One colour, pLDDT bands, or activations of `feature_index`."),
    ] = "chain"
    highlights: Annotated[
        tuple[Highlight, ...], Field(max_length=MAX_HIGHLIGHTS, description="Up to 32 residues.")
    ] = ()
    visible_chain_ids: Annotated[
        tuple[str, ...] | None, Field(min_length=1, max_length=8, description="Chains to draw; by default all.")
    ] = None
    camera: Annotated[Camera | None, Field(description="After the orientation.")] = None


class Structure:
    """Coordinates of one protein with what is known of them.

    Parameters
    ----------
    content
        The coordinates as an mmCIF file, UTF-8.
    record
        Its provenance.
    """

    def __init__(self, content: bytes, record: StoredStructure) -> None:
        self.content = content
        self.record = record

    @property
    def file_name(self) -> str:
        """Name of the coordinate file."""
        return f"{self.record.protein_hash}.cif"

    @cached_property
    def sha256(self) -> str:
        """Lowercase hex SHA-256 of the coordinate file."""
        return sha256(self.content).hexdigest()

    @cached_property
    def residues(self) -> dict[int, str]:
        """Three-letter code of each residue that has a C-alpha, by its number, ascending."""
        found = {int(row["auth_seq_id"]): row["label_comp_id"] for row in self._alpha_carbons}
        return dict(sorted(found.items()))

    @cached_property
    def b_factors(self) -> dict[int, float]:
        """B factor of each C-alpha (pLDDT 0 to 100 where predicted) by residue number."""
        return {int(row["auth_seq_id"]): float(row["B_iso_or_equiv"]) for row in self._alpha_carbons}

    @cached_property
    def is_backbone_only(self) -> bool:
        """Whether no residue has an atom beyond N, CA, C and O."""
        return not any(row["label_atom_id"] == "CB" for row in self._atoms)

    @property
    def has_confidence(self) -> bool:
        """Whether the B-factor column holds pLDDT."""
        return self.record.mean_plddt is not None

    @cached_property
    def _atoms(self) -> list[dict[str, str]]:
        return read_table(self.content.decode("utf-8"), "atom_site")

    @property
    def _alpha_carbons(self) -> list[dict[str, str]]:
        return [row for row in self._atoms if row["label_atom_id"] == "CA" and row["auth_asym_id"] == CHAIN]


class StructureArchive:
    """Coordinate files of an atlas in one zip: `index.tsv` and for each of its rows a `<protein_hash>.bcif` or `.cif`.

    Parameters
    ----------
    path
        The zip file.

    Raises
    ------
    AtlasDamaged
        If the file cannot be read or its index has other columns than `StoredStructure`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            rows = csv.DictReader(io.StringIO(self._read(INDEX)[1].decode("utf-8")), delimiter="\t")
            records = [StoredStructure.model_validate(_filled(row)) for row in rows]
        except ValidationError as error:
            raise self._damaged(f"its index.tsv has {error.error_count()} wrong values") from error
        self.records = {record.protein_hash: record for record in records}

    def load(self, protein_hash: str) -> Structure | None:
        """Structure of a protein; None where the archive has none."""
        record = self.records.get(protein_hash)
        if record is None:
            return None
        name, content = self.raw(protein_hash)
        try:
            return Structure(_text(content) if name.endswith(BINARY) else content, record)
        except BadBinaryCif as error:
            raise self._damaged(f"{name} cannot be read") from error

    def raw(self, protein_hash: str) -> tuple[str, bytes]:
        """Name and bytes of the coordinate file of a protein that has one."""
        return self._read(f"{protein_hash}.{BINARY}", f"{protein_hash}.{TEXT}")

    def _read(self, *names: str) -> tuple[str, bytes]:
        """Name and bytes of the first of the files that is there."""
        try:
            with ZipFile(self.path) as archive:
                name = next((name for name in names if name in archive.NameToInfo), names[-1])
                return name, archive.read(name)
        except (OSError, BadZipFile, KeyError, NotImplementedError) as error:
            raise self._damaged(f"{names[-1]} cannot be read") from error

    def _damaged(self, problem: str) -> AtlasDamaged:
        return AtlasDamaged(str(self.path), problem, "Build the atlas again.")


def check_archive(path: Path) -> None:
    """Refuse a file that is no archive of structures.

    Raises
    ------
    InvalidInput
        If it cannot be read as one.
    """
    try:
        StructureArchive(path)
    except AtlasDamaged as error:
        expected = "a folder of PDB, mmCIF and BinaryCIF files, or the structures.zip of an atlas"
        raise InvalidInput("structures", f"{path} is no archive of structures", expected) from error


def _text(content: bytes) -> bytes:
    """A BinaryCIF file as mmCIF, which all that draw it understand."""
    return write_tables(*read_binary_cif(content, CATEGORIES))


def _filled(row: Mapping[str, str]) -> dict[str, str | None]:
    return {column: value or None for column, value in row.items()}


def check_view(structure: Structure, view: View, *, feature_values: Sequence[float] | None = None) -> None:
    """Refuse a view that the structure cannot show.

    Raises
    ------
    InvalidInput
        If a chain or a residue of the view has no coordinates, or feature colours come without values.
    HighlightMismatch
        If a highlighted residue is another than expected.
    """
    for chain_id in view.visible_chain_ids or ():
        _check_chain("visible_chain_ids", chain_id)
    check_highlights(structure, view.highlights)
    if view.camera and view.camera.center_residue is not None:
        _check_covered(structure, "camera.center_residue", view.camera.center_residue)
    if view.color_by == "feature" and feature_values is None:
        raise InvalidInput("color_by", "`feature` came without a feature_index", "a feature_index beside it")


def check_highlights(structure: Structure, highlights: Sequence[Highlight]) -> None:
    """Refuse highlights that do not fit the residues of the structure; the first wrong one is named.

    Raises
    ------
    InvalidInput
        If the chain is not A or the residue has no coordinates.
    HighlightMismatch
        If `expected_residue` is another than the residue there.
    """
    for highlight in highlights:
        _check_chain("highlights.chain_id", highlight.chain_id)
        _check_identity(structure, highlight)
        _check_covered(structure, "highlights.author_residue_number", highlight.author_residue_number)


def _check_chain(argument: str, chain_id: str) -> None:
    if chain_id != CHAIN:
        raise InvalidInput(argument, f"there is no chain {chain_id!r}", f"`{CHAIN}`, the only chain of the coordinates")


def _check_covered(structure: Structure, argument: str, number: int) -> None:
    if number not in structure.residues:
        first, last = min(structure.residues), max(structure.residues)
        raise InvalidInput(
            argument,
            f"residue {number} has no coordinates in {structure.record.entry}",
            f"a residue that has them; they span residues {first} to {last} of the sequence",
        )


def _check_identity(structure: Structure, highlight: Highlight) -> None:
    number, expected = highlight.author_residue_number, (highlight.expected_residue or "").upper()
    found = structure.residues.get(number)
    if not expected or found is None or found == expected:
        return
    raise HighlightMismatch(
        chain_id=highlight.chain_id,
        residue_number=number,
        expected=expected,
        found=found,
        hint=_numbering_hint(structure, number, expected),
    )


def _numbering_hint(structure: Structure, number: int, expected: str) -> str | None:
    """Where the expected residue is when the caller counts the mature chain, without its initiator methionine."""
    if structure.residues.get(number + 1) != expected:
        return None
    return (
        f"Residue {number + 1} is {expected}. Numbers in the literature often leave out the initiator methionine; "
        "here residue 1 is the first letter of the sequence passed."
    )


def view_warnings(structure: Structure, view: View) -> list[str]:
    """What a reader of the picture should know; empty where nothing is amiss."""
    record, warnings = structure.record, []
    if record.identity < 1:
        other = round((1 - record.identity) * record.residues)
        warnings.append(
            f"{record.entry} chain {record.chain} has another residue at {other} of {record.residues} places."
        )
    if structure.is_backbone_only:
        warnings.append("The coordinates hold the backbone only (N, CA, C, O): there are no side chains.")
    if view.color_by == "confidence" and not structure.has_confidence:
        reason = "An experimental structure" if record.kind == "experimental" else f"{record.entry}"
        warnings.append(f"{reason} has no pLDDT: the picture is grey.")
    return warnings


def viewer_payload(structure: Structure) -> dict[str, str]:
    """Coordinates as the viewer page takes them: format, encoding, data, SHA-256 of the decoded file."""
    data = b64encode(gzip.compress(structure.content, compresslevel=9, mtime=0)).decode("ascii")
    return {"format": "mmcif", "encoding": "gzip+base64", "data": data, "sha256": structure.sha256}
