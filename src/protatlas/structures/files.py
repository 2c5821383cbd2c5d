"""Coordinate files of any of the common formats: PDB, mmCIF and BinaryCIF, plain or gzipped, told by their content.

What comes out are the protein chains of the first model, without alternative conformations, hydrogens, ligands and
water, and where the file comes from.
"""

import gzip
import itertools
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import gemmi

from protatlas.structures.binarycif import BadBinaryCif, read_binary_cif
from protatlas.structures.mmcif import ATOM_ITEMS
from protatlas.structures.origin import Metric, Origin, Statements, origin_of, plddt_factor

GZIP = b"\x1f\x8b"
MAX_BYTES = 1 << 30
"""Size of an unpacked file; the largest entries of the PDB have a third of it."""
# Categories that are read of a BinaryCIF file, and the items of `atom_site` among them.
CATEGORIES = (
    "atom_site",
    "entity",
    "entity_poly",
    "entity_poly_seq",
    "struct_asym",
    "struct_conf",
    "struct_sheet_range",
    "struct",
    "entry",
    "exptl",
    "software",
    "database_2",
    "ma_qa_metric",
    "ma_qa_metric_global",
)
MAX_VALUE = 1e6
"""Coordinate (ångström) or B-factor; larger ones do not fit into 32 bits with three decimals."""
# Neighbouring C-alphas are 3.8 Å apart, 2.9 Å across a cis peptide bond.
BOND_REACH = 4.2
_EXTENSIONS = re.compile(r"(?i)(\.(pdb|ent|cif|mmcif|bcif|gz))+$")


class Span(NamedTuple):
    """A helix (`H`) or strand (`E`): residues from `first` to `last`, as numbered in the file."""

    state: str
    chain: str
    first: int
    last: int


class BadCoordinates(ValueError):
    """A file that holds no protein coordinates that can be read; the message says why."""


class Chain(NamedTuple):
    """A protein chain of a file.

    Attributes
    ----------
    name : str
        Its name, as authors call it.
    sequence : str
        Letters of all its residues, those without coordinates included where the file states them; X is unknown.
    residues : sequence
        Residues with a C-alpha.
    places : sequence of int
        0-based position of each residue in the sequence, ascending.
    states : sequence of str
        `H` for a residue in a helix, `E` in a strand, `-` else, as the file states.
    """

    name: str
    sequence: str
    residues: Sequence[gemmi.Residue]
    places: Sequence[int]
    states: Sequence[str]


class CoordinateFile(NamedTuple):
    """What a file holds; `plddt_factor` brings its B-factors to pLDDT of 0 to 100, null where they are none."""

    entry: str
    origin: Origin
    plddt_factor: float | None
    chains: Sequence[Chain]


def read_coordinates(path: Path, *, name: str) -> CoordinateFile:
    """Protein chains of a file.

    Parameters
    ----------
    name
        Path as the user knows it; it may say which program made the file.

    Raises
    ------
    BadCoordinates
        If the file cannot be read, is of none of the formats, or has no protein.
    """
    try:
        structure, said, strands = _parsed(_content(path))
        said = said._replace(texts=[*said.texts, name])
        return _collected(structure, said, strands, fallback=_EXTENSIONS.sub("", path.name))
    except BadBinaryCif as error:
        raise BadCoordinates(f"the BinaryCIF cannot be read ({error})") from error
    except (OSError, EOFError, zlib.error) as error:
        raise BadCoordinates(f"it cannot be read ({error})") from error
    except BadCoordinates:
        raise
    except (RuntimeError, ValueError, IndexError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        raise BadCoordinates(f"its format is broken ({lines[0]})") from error


def _content(path: Path) -> bytes:
    with path.open("rb") as stream:
        is_packed = stream.read(2) == GZIP
    with gzip.open(path) if is_packed else path.open("rb") as source:
        content = source.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise BadCoordinates(f"it has more than {MAX_BYTES >> 20:,} MiB")
    return content.removeprefix(b"\xef\xbb\xbf")


def _parsed(content: bytes) -> tuple[gemmi.Structure, Statements, list[Span]]:
    if re.match(rb"(\s|#[^\n]*\n)*data_", content, re.IGNORECASE):
        block = next((block for block in gemmi.cif.read_string(content) if _has_atoms(block)), None)
    elif content[:1] and content[0] & 0xF0 in (0x80, 0xD0) and b"dataBlocks" in content:
        block = _block(content)
    elif re.search(rb"^(ATOM  |HETATM)", content, re.MULTILINE):
        structure = gemmi.read_pdb_string(content)
        return structure, _statements_of_pdb(structure), []
    else:
        raise BadCoordinates("it is neither PDB, mmCIF nor BinaryCIF with coordinates")
    if block is None or not _has_atoms(block):
        raise BadCoordinates("it has no atoms")
    return gemmi.make_structure_from_block(block), _statements_of_cif(block), _model_strands(block)


def _has_atoms(block: gemmi.cif.Block) -> bool:
    return bool(block.find_values("_atom_site.id"))


def _block(content: bytes) -> gemmi.cif.Block:
    """A BinaryCIF file as the mmCIF block that it stands for."""
    name, tables = read_binary_cif(content, CATEGORIES)
    block = gemmi.cif.Block(name)
    for category, table in tables.items():
        kept = {item: values for item, values in table.items() if category != "atom_site" or item in ATOM_ITEMS}
        columns = [[None if value == "?" else False if value == "." else value for value in of] for of in kept.values()]
        block.set_mmcif_category(f"_{category}.", dict(zip(kept, columns, strict=True)))
    return block


def _statements_of_pdb(structure: gemmi.Structure) -> Statements:
    said = dict(structure.info)
    methods = [method.strip() for method in said.get("_exptl.method", "").split(";") if method.strip()]
    return Statements(methods, [said.get("_struct.title", ""), said.get("_entry.id", "")], [])


def _statements_of_cif(block: gemmi.cif.Block) -> Statements:
    methods = _strings(block, "_exptl.", "method")
    programs = [f"{name} v{version.lstrip('vV')}" for name, version in _strings(block, "_software.", "name", "version")]
    titles = [text for (text,) in (*_strings(block, "_struct.", "title"), *_strings(block, "_entry.", "id"))]
    databases = [text for (text,) in _strings(block, "_database_2.", "database_id")]
    values = {
        key: _number(value) for key, value in _strings(block, "_ma_qa_metric_global.", "metric_id", "metric_value")
    }
    metrics = [
        Metric(name if kind in ("", "other") else kind, mode, values.get(key))
        for key, mode, name, kind in _strings(block, "_ma_qa_metric.", "id", "mode", "name", "type")
    ]
    return Statements([text for (text,) in methods if text], [*programs, *titles, *databases], metrics)


def _strings(block: gemmi.cif.Block, category: str, *items: str) -> list[list[str]]:
    """Rows of a table, with an empty text for what is absent, unknown or not applicable."""
    table = block.get_mmcif_category(category)
    length = max((len(values) for values in table.values()), default=0)
    columns = [[value or "" for value in table.get(item, [""] * length)] for item in items]
    return [list(row) for row in zip(*columns, strict=True) if any(row)]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _collected(
    structure: gemmi.Structure, said: Statements, strands: Sequence[Span], *, fallback: str
) -> CoordinateFile:
    structure.setup_entities()
    structure.assign_label_seq_id()
    structure.remove_alternative_conformations()
    structure.remove_hydrogens()
    chains = list(_chains(structure, [*_spans(structure), *strands]))
    if not chains:
        raise BadCoordinates("it has no protein chain")
    origin, factor = origin_of(said), None
    if origin.kind != "experimental" and origin.doubt is None:
        factor, doubt = plddt_factor([b_factor(residue) for chain in chains for residue in chain.residues])
        origin = origin._replace(doubt=doubt)
    return CoordinateFile(_entry(dict(structure.info).get("_entry.id", "")) or fallback, origin, factor, chains)


def _entry(name: str) -> str:
    """Name of an entry; PDB ids in capitals. Placeholders of programs are none."""
    name = name.strip()
    if name.lower() in ("", "?", ".", "xxxx", "model", "unknown", "string"):
        return ""
    return name.upper() if re.fullmatch(r"\d\w{3}|(?i:pdb_)\w{8}", name) else name


def b_factor(residue: gemmi.Residue) -> float:
    """B-factor of the C-alpha."""
    return float(residue.find_atom("CA", "*").b_iso)


def _is_located(atom: gemmi.Atom) -> bool:
    """Whether the numbers of an atom are some; a file may have `?` or `NaN` for them."""
    return all(abs(value) < MAX_VALUE for value in (*atom.pos.tolist(), atom.occ, atom.b_iso))


def _alpha_carbon(residue: gemmi.Residue) -> gemmi.Atom | None:
    """C-alpha of a residue; an ion of calcium is none."""
    return residue.find_atom("CA", "*", gemmi.Element("C"))


def _chains(structure: gemmi.Structure, spans: Sequence[Span]) -> Iterator[Chain]:
    for chain in structure[0]:
        polymer = chain.get_polymer()
        if not polymer or polymer.check_polymer_type() != gemmi.PolymerType.PeptideL:
            continue
        residues = [of for of in polymer.first_conformer() if _alpha_carbon(of) and all(map(_is_located, of))]
        if not residues:
            continue
        entity = structure.get_entity_of(polymer)
        sequence, places = _placed(residues, entity.full_sequence if entity else [])
        yield Chain(chain.name, sequence, residues, places, _states(chain.name, residues, spans))


def _placed(residues: Sequence[gemmi.Residue], stated: Sequence[str]) -> tuple[str, list[int]]:
    """Sequence of a chain and the place of each residue in it: as stated, else by numbers, else by distances."""
    letters = [_letter(residue.name) for residue in residues]
    labels = [residue.label_seq or 0 for residue in residues]
    if stated and all(0 < label <= len(stated) for label in labels):
        return "".join(_letter(gemmi.Entity.first_mon(name)) for name in stated), [label - 1 for label in labels]
    places = _places_by_number(residues) or _places_by_distance(residues)
    sequence = ["X"] * (places[-1] + 1)
    for place, letter in zip(places, letters, strict=True):
        sequence[place] = letter
    return "".join(sequence), places


def _letter(name: str) -> str:
    """One-letter code of a residue, of a modified one that of its parent."""
    letter = gemmi.find_tabulated_residue(name).one_letter_code.upper()
    return letter if letter.isalpha() else "X"


def _places_by_number(residues: Sequence[gemmi.Residue]) -> list[int] | None:
    """Places by residue numbers, null where these do not count the residues of the chain."""
    numbers = [residue.seqid.num or 0 for residue in residues]
    has_codes = any(residue.seqid.icode != " " for residue in residues)
    steps = [after - before for before, after in itertools.pairwise(numbers)]
    is_odd = any(step < 1 or (step > 1 and bonded) for step, bonded in zip(steps, _bonded(residues), strict=True))
    if has_codes or is_odd or numbers[-1] - numbers[0] > 10 * len(numbers) + 1_000:
        return None
    return [number - numbers[0] for number in numbers]


def _places_by_distance(residues: Sequence[gemmi.Residue]) -> list[int]:
    """Places in a row, with one left free wherever the chain is broken."""
    places = [0]
    for bonded in _bonded(residues):
        places.append(places[-1] + (1 if bonded else 2))
    return places


def _bonded(residues: Sequence[gemmi.Residue]) -> list[bool]:
    """Whether each residue is close enough to the next one to be bound to it."""
    positions = [residue.find_atom("CA", "*").pos for residue in residues]
    return [after.dist(before) <= BOND_REACH for before, after in itertools.pairwise(positions)]


def _spans(structure: gemmi.Structure) -> list[Span]:
    """Stated helices and strands; of a residue in both the helix counts."""
    helices = [("H", helix.start, helix.end) for helix in structure.helices]
    strands = [("E", strand.start, strand.end) for sheet in structure.sheets for strand in sheet.strands]
    return [
        Span(state, start.chain_name, start.res_id.seqid.num or 0, end.res_id.seqid.num or 0)
        for state, start, end in (*helices, *strands)
    ]


def _model_strands(block: gemmi.cif.Block) -> list[Span]:
    """Strands among the rows of `struct_conf`, where AlphaFold DB has them."""
    items = ("conf_type_id", "beg_auth_asym_id", "beg_auth_seq_id", "end_auth_seq_id")
    rows = [row for row in _strings(block, "_struct_conf.", *items) if row[0].startswith("STRN")]
    return [Span("E", chain, int(first), int(last)) for _, chain, first, last in rows]


def _states(chain: str, residues: Sequence[gemmi.Residue], spans: Sequence[Span]) -> list[str]:
    own = [span for span in spans if span.chain == chain]
    numbers = [residue.seqid.num or 0 for residue in residues]
    return [next((span.state for span in own if span.first <= number <= span.last), "-") for number in numbers]
