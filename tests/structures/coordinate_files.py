"""Coordinate files in every format, written by gemmi and python-ihm, and an independent reader of BinaryCIF."""

import gzip
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import gemmi
import ihm.format_bcif

from protatlas.structures.coordinates import Structure

NUMBERS = {"Cartn_x", "Cartn_y", "Cartn_z", "B_iso_or_equiv", "occupancy"}


def chain_of(structure: Structure, name: str, *, shift: int = 0) -> gemmi.Chain:
    """Chain of a stored structure under another name, its residue numbers shifted."""
    block = gemmi.cif.read_string(structure.content.decode("utf-8")).sole_block()
    chain = gemmi.make_structure_from_block(block)[0]["A"].clone()
    chain.name = name
    for residue in chain:
        residue.seqid.num = (residue.seqid.num or 0) + shift
        residue.subchain = ""
        residue.label_seq = None
    return chain


def assembled(
    chains: Sequence[gemmi.Chain], said: Mapping[str, str], *, sequences: Sequence[str] = ()
) -> gemmi.Structure:
    """Structure of chains that says something of itself, with the full sequences of the chains where they are given."""
    structure = gemmi.Structure()
    structure.name = said.get("_entry.id", "")
    model = structure.find_or_add_model(1)
    for chain in chains:
        model.add_chain(chain)
    structure.setup_entities()
    for chain, sequence in zip(structure[0], sequences, strict=False):
        names = gemmi.expand_one_letter_sequence(sequence, gemmi.ResidueKind.AA)
        structure.get_entity_of(chain.get_polymer()).full_sequence = names
    structure.assign_label_seq_id()
    for key, value in said.items():
        structure.info[key] = value
    return structure


def pdb(structure: gemmi.Structure) -> bytes:
    """PDB text."""
    text: str = structure.make_pdb_string()
    return text.encode("ascii")


def cif_block(structure: gemmi.Structure) -> gemmi.cif.Block:
    """mmCIF block."""
    return structure.make_mmcif_document().sole_block()


def cif(structure: gemmi.Structure) -> bytes:
    """mmCIF text."""
    return cif_block(structure).as_string().encode("utf-8")


def bcif(structure: gemmi.Structure) -> bytes:
    """BinaryCIF of python-ihm."""
    return bcif_of(cif_block(structure))


def bcif_of(block: gemmi.cif.Block) -> bytes:
    """An mmCIF block as BinaryCIF, by python-ihm."""
    packed = io.BytesIO()
    writer = ihm.format_bcif.BinaryCifWriter(packed)
    writer.start_block(block.name)
    for category in block.get_mmcif_category_names():
        table = block.get_mmcif_category(category)
        with writer.loop(category.removesuffix("."), list(table)) as loop:
            for row in zip(*table.values(), strict=True):
                loop.write(**{item: _value(item, value) for item, value in zip(table, row, strict=True)})
    writer.flush()
    return packed.getvalue()


def _value(item: str, value: str | bool | None) -> object:
    if value is None or value is False:
        return ihm.unknown if value is None else None
    return float(value) if item in NUMBERS else value


WRITERS: Mapping[str, Callable[[gemmi.Structure], bytes]] = {
    "x.pdb": pdb,
    "x.ent.gz": lambda structure: gzip.compress(pdb(structure)),
    "x.cif": cif,
    "x.cif.gz": lambda structure: gzip.compress(cif(structure)),
    "x.bcif": bcif,
    "x.bcif.gz": lambda structure: gzip.compress(bcif(structure)),
}


def positions(structure: Structure) -> dict[tuple[int, str], list[float]]:
    """Coordinates by residue number and atom name, read by gemmi from the text that renderers get."""
    block = gemmi.cif.read_string(structure.content.decode("utf-8")).sole_block()
    chain = gemmi.make_structure_from_block(block)[0]["A"]
    return {(residue.seqid.num or 0, atom.name): atom.pos.tolist() for residue in chain for atom in residue}


class _Atoms:
    """Handler of python-ihm for the rows of `atom_site`."""

    not_in_file = omitted = unknown = None

    def __init__(self) -> None:
        self.found: dict[tuple[int, str], list[float]] = {}

    def __call__(
        self, auth_seq_id: int, label_atom_id: str, cartn_x: float, cartn_y: float, cartn_z: float
    ) -> str:  # python-ihm takes items and types from here
        self.found[auth_seq_id, label_atom_id] = [cartn_x, cartn_y, cartn_z]
        return label_atom_id


def positions_by_ihm(content: bytes) -> dict[tuple[int, str], list[float]]:
    """Coordinates by residue number and atom name of a BinaryCIF file."""
    atoms = _Atoms()
    ihm.format_bcif.BinaryCifReader(io.BytesIO(content), {"_atom_site": atoms}).read_file()
    return atoms.found


def put(folder: Path, name: str, content: bytes) -> Path:
    """Write a file, with its folders."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
