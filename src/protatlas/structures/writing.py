"""The coordinates of a protein as an archive keeps them: a BinaryCIF file with one chain, numbered as the protein."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import gemmi
import numpy as np

from protatlas.structures.binarycif import Values, write_binary_cif
from protatlas.structures.mmcif import ATOM_ITEMS, CHAIN, END_ITEMS, runs

# Selenomethionine stands for methionine in crystals; its selenium takes the place of the sulphur.
SELENIUM = {("MSE", "SE"): ("SD", "S")}
STANDARD = {"MSE": "MET"}


class Placed(NamedTuple):
    """A residue of a file with its number in the protein (1-based), and its state (`H`, `E` or `-`)."""

    number: int
    residue: gemmi.Residue
    state: str


class _Atom(NamedTuple):
    placed: Placed
    name: str
    element: str
    atom: gemmi.Atom


def write_structure(key: str, title: str, residues: Sequence[Placed], *, factor: float | None) -> bytes:
    """BinaryCIF of residues, in their order.

    Parameters
    ----------
    factor
        What the B-factors are multiplied by to be pLDDT of 0 to 100; null where they stay as they are.
    """
    tables: dict[str, Mapping[str, Values]] = {
        "entry": {"id": [key]},
        "struct": {"entry_id": [key], "title": [title]},
        "entity": {"id": ["1"], "type": ["polymer"]},
        "entity_poly": {"entity_id": ["1"], "type": ["polypeptide(L)"]},
    }
    if helices := list(runs(residues, "H")):
        ids = [f"HELX_P{at}" for at in range(1, len(helices) + 1)]
        tables["struct_conf"] = {"conf_type_id": ["HELX_P"] * len(helices), "id": ids} | _ends(helices)
    if strands := list(runs(residues, "E")):
        ids = [str(at) for at in range(1, len(strands) + 1)]
        tables["struct_sheet_range"] = {"sheet_id": ["1"] * len(strands), "id": ids} | _ends(strands)
    tables["atom_site"] = _atoms(residues, 1.0 if factor is None else factor)
    return write_binary_cif(key, tables)


def _name(residue: gemmi.Residue) -> str:
    return STANDARD.get(residue.name, residue.name)


def _ends(stretches: Sequence[tuple[Placed, Placed]]) -> dict[str, list[str]]:
    rows = [[value for end in ends for value in (_name(end.residue), CHAIN, str(end.number)) * 2] for ends in stretches]
    return {item: list(values) for item, values in zip(END_ITEMS, zip(*rows, strict=True), strict=True)}


def _atoms(residues: Sequence[Placed], factor: float) -> dict[str, Values]:
    atoms = [
        _Atom(placed, *SELENIUM.get((placed.residue.name, atom.name), (atom.name, atom.element.name)), atom)
        for placed in residues
        for atom in placed.residue
    ]
    positions = np.array([of.atom.pos.tolist() for of in atoms], np.float64)
    numbers = np.array([of.placed.number for of in atoms], np.int64)
    names = [_name(of.placed.residue) for of in atoms]
    hetero = ["ATOM" if gemmi.find_tabulated_residue(name).is_standard() else "HETATM" for name in names]
    values: dict[str, Values] = {
        "group_PDB": hetero,
        "id": np.arange(1, len(atoms) + 1),
        "type_symbol": [of.element for of in atoms],
        "label_atom_id": [of.name for of in atoms],
        "label_alt_id": ["."] * len(atoms),
        "label_comp_id": names,
        "label_asym_id": [CHAIN] * len(atoms),
        "label_entity_id": ["1"] * len(atoms),
        "label_seq_id": numbers,
        "pdbx_PDB_ins_code": ["?"] * len(atoms),
        "Cartn_x": positions[:, 0],
        "Cartn_y": positions[:, 1],
        "Cartn_z": positions[:, 2],
        "occupancy": np.array([of.atom.occ for of in atoms], np.float64),
        "B_iso_or_equiv": np.array([of.atom.b_iso * factor for of in atoms], np.float64),
        "auth_seq_id": numbers,
        "auth_asym_id": [CHAIN] * len(atoms),
        "pdbx_PDB_model_num": np.ones(len(atoms), np.int64),
    }
    return {item: values[item] for item in ATOM_ITEMS}
