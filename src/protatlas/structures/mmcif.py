"""mmCIF text of one chain: a writer and a light reader of tables. Standard library only.

The category and item names are those of the PDBx/mmCIF dictionary (https://mmcif.wwpdb.org).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple, Protocol, TypeVar

THREE_LETTER = {
    "A": "ALA",
    "C": "CYS",
    "D": "ASP",
    "E": "GLU",
    "F": "PHE",
    "G": "GLY",
    "H": "HIS",
    "I": "ILE",
    "K": "LYS",
    "L": "LEU",
    "M": "MET",
    "N": "ASN",
    "P": "PRO",
    "Q": "GLN",
    "R": "ARG",
    "S": "SER",
    "T": "THR",
    "V": "VAL",
    "W": "TRP",
    "Y": "TYR",
    "X": "UNK",
}
BACKBONE = ("N", "CA", "C", "O")
CHAIN = "A"
ATOM_ITEMS = (
    "group_PDB",
    "id",
    "type_symbol",
    "label_atom_id",
    "label_alt_id",
    "label_comp_id",
    "label_asym_id",
    "label_entity_id",
    "label_seq_id",
    "pdbx_PDB_ins_code",
    "Cartn_x",
    "Cartn_y",
    "Cartn_z",
    "occupancy",
    "B_iso_or_equiv",
    "auth_seq_id",
    "auth_asym_id",
    "pdbx_PDB_model_num",
)
# DSSP: alpha, 3-10 and pi helices; extended strands (doi:10.1002/bip.360221211).
HELIX_STATES, STRAND_STATES = "HGI", "E"
_TOKEN = re.compile(
    r"(?<!\S)'(?P<single>.*?)'(?=\s|\Z)|(?<!\S)\"(?P<double>.*?)\"(?=\s|\Z)|(?P<comment>(?<!\S)#.*)|(?P<bare>\S+)"
)
# Values that need no quotes: no blank, no reserved start, no keyword (https://www.iucr.org/resources/cif/spec).
_BARE = re.compile(r"(?i)(?!data_|save_|loop_|stop_|global_)[^\s_#$'\"\[\];][^\s]*")

Point = tuple[float, float, float]


class Located(Protocol):
    """Whatever has a number in a chain and a DSSP state."""

    @property
    def number(self) -> int: ...  # noqa: D102 - said above

    @property
    def state(self) -> str: ...  # noqa: D102


AnyResidue = TypeVar("AnyResidue", bound=Located)


class Residue(NamedTuple):
    """One residue with its backbone, or with more atoms.

    Attributes
    ----------
    number : int
        1-based position in the sequence of the protein.
    letter : str
        One-letter code of the residue in the coordinates.
    atoms : sequence of points
        Positions in ångström, in the order of `names`.
    state : str
        DSSP state, `-` or `C` for a loop.
    b_factor : float
        B factor, or pLDDT on the scale 0 to 100; 0 where the source states none.
    names : sequence of str
        Names of the atoms, the first letter being the element.
    """

    number: int
    letter: str
    atoms: Sequence[Point]
    state: str = "-"
    b_factor: float = 0.0
    names: Sequence[str] = BACKBONE


def write_chain(name: str, title: str, residues: Sequence[Residue]) -> bytes:
    """Text of an mmCIF file with one chain A whose residues are numbered as given, with its helices and strands."""
    blocks = [
        f"data_{name}",
        f"_entry.id {name}",
        f"_struct.entry_id {name}",
        f"_struct.title {_quoted(title)}",
        "_entity.id 1",
        "_entity.type polymer",
        "_entity_poly.entity_id 1",
        "_entity_poly.type polypeptide(L)",
        *_helices(residues),
        *_strands(residues),
        *_table("atom_site", ATOM_ITEMS, _atom_rows(residues)),
    ]
    return ("\n".join(blocks) + "\n").encode("ascii")


def write_tables(name: str, tables: Mapping[str, Mapping[str, Sequence[str]]]) -> bytes:
    """Text of an mmCIF file with one data block: item to values of each category, which has a row or more."""
    lines = [f"data_{name}"]
    for category, table in tables.items():
        rows = [" ".join(map(_bare_or_quoted, row)) for row in zip(*table.values(), strict=True)]
        if len(rows) == 1:
            lines += [f"_{category}.{item} {_bare_or_quoted(values[0])}" for item, values in table.items()]
        else:
            lines += _table(category, tuple(table), rows)
    return ("\n".join(lines) + "\n").encode("utf-8")


def read_table(text: str, category: str) -> list[dict[str, str]]:
    """Rows of one category (`atom_site`) as item name to value, in file order; empty where the file has none."""
    prefix = f"_{category}."
    tokens = _Tokens(text)
    pairs: dict[str, str] = {}
    for value, quoted in tokens:
        if quoted:
            continue
        if value.lower() == "loop_":
            rows = _loop_rows(tokens, prefix)
            if rows:
                return rows
        elif value.startswith(prefix):
            pairs[value.removeprefix(prefix)] = next(tokens)[0]
    return [pairs] if pairs else []


def _loop_rows(tokens: "_Tokens", prefix: str) -> list[dict[str, str]]:
    names: list[str] = []
    while tokens.at_name():
        names.append(next(tokens)[0])
    values: list[str] = []
    while tokens.at_value():
        values.append(next(tokens)[0])
    if not names or not names[0].startswith(prefix):
        return []
    items = [name.removeprefix(prefix) for name in names]
    return [dict(zip(items, values[at : at + len(items)], strict=True)) for at in range(0, len(values), len(items))]


class _Tokens(Iterator[tuple[str, bool]]):
    """Tokens of a CIF text, each with whether it was quoted, and a look at the one that comes next."""

    def __init__(self, text: str) -> None:
        self._found = list(_split(text))
        self._next = 0

    def __next__(self) -> tuple[str, bool]:
        if self._next == len(self._found):
            raise StopIteration
        self._next += 1
        return self._found[self._next - 1]

    def at_name(self) -> bool:
        return self._next < len(self._found) and self._is_name(self._found[self._next])

    def at_value(self) -> bool:
        if self._next == len(self._found):
            return False
        value, quoted = self._found[self._next]
        reserved = value.lower() == "loop_" or value.lower().startswith(("data_", "save_"))
        return quoted or not (reserved or value.startswith("_"))

    @staticmethod
    def _is_name(token: tuple[str, bool]) -> bool:
        return not token[1] and token[0].startswith("_")


def _split(text: str) -> Iterator[tuple[str, bool]]:
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith(";"):
            rest = takewhile(lambda line: not line.startswith(";"), lines)
            yield "\n".join([line[1:], *rest]), True
        elif "'" in line or '"' in line or "#" in line:
            found = [match for match in _TOKEN.finditer(line) if match["comment"] is None]
            yield from ((match[match.lastgroup or "bare"], match.lastgroup != "bare") for match in found)
        else:
            yield from ((word, False) for word in line.split())


def _atom_rows(residues: Sequence[Residue]) -> Iterator[str]:
    number = 0
    for residue in residues:
        for name, (x, y, z) in zip(residue.names, residue.atoms, strict=True):
            number += 1
            yield (
                f"ATOM {number} {name[0]} {name} . {THREE_LETTER[residue.letter]} {CHAIN} 1 {residue.number} ? "
                f"{x:.2f} {y:.2f} {z:.2f} 1 {residue.b_factor:g} {residue.number} {CHAIN} 1"
            )


def _helices(residues: Sequence[Residue]) -> list[str]:
    rows = [
        f"HELX_P HELX_P{at} {_ends(first, last)}" for at, (first, last) in enumerate(runs(residues, HELIX_STATES), 1)
    ]
    return _table("struct_conf", ("conf_type_id", "id", *END_ITEMS), rows) if rows else []


def _strands(residues: Sequence[Residue]) -> list[str]:
    rows = [f"1 {at} {_ends(first, last)}" for at, (first, last) in enumerate(runs(residues, STRAND_STATES), 1)]
    return _table("struct_sheet_range", ("sheet_id", "id", *END_ITEMS), rows) if rows else []


END_ITEMS = tuple(
    f"{end}_{item}"
    for end in ("beg", "end")
    for item in ("label_comp_id", "label_asym_id", "label_seq_id", "auth_comp_id", "auth_asym_id", "auth_seq_id")
)


def _ends(first: Residue, last: Residue) -> str:
    names = [f"{THREE_LETTER[end.letter]} {CHAIN} {end.number}" for end in (first, last)]
    return f"{names[0]} {names[0]} {names[1]} {names[1]}"


def runs(residues: Sequence[AnyResidue], states: str) -> Iterator[tuple[AnyResidue, AnyResidue]]:
    """First and last residue of each stretch whose states are in `states`, in chain order; a gap ends a stretch."""
    first = previous = None
    for residue in residues:
        is_inside = residue.state in states
        is_joined = previous is not None and residue.number == previous.number + 1
        if first is not None and previous is not None and not (is_inside and is_joined):
            yield first, previous
            first = None
        if is_inside and first is None:
            first = residue
        previous = residue
    if first is not None and previous is not None:
        yield first, previous


def _table(category: str, items: Sequence[str], rows: "Iterator[str] | Sequence[str]") -> list[str]:
    return ["loop_", *(f"_{category}.{item}" for item in items), *rows, "#"]


def _bare_or_quoted(text: str) -> str:
    return text if _BARE.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", " ").replace("\n", " ") + "'"
