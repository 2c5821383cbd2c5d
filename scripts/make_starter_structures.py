r"""Make data/starter/structures.zip: structures of the starter proteins, from the chains of promod3-data.

Needs Debian 12's `promod3` and `python3-promod3` (`apt-get install -y --no-install-recommends promod3 python3-promod3`)
and runs under the system's Python with this source tree on its path:

    PYTHONPATH=src /usr/bin/python3 scripts/make_starter_structures.py --fasta data/starter/proteins.fasta.gz \
        --pdb FOLDER/usr/share/EMBOSS/test/data/structure/2hhb.ent \
        --part P0CG48:1-76 P69905:2-142 P68871:2-147 P00698:19-147

The database holds the backbone of the longest gap-free segment of each chain, without B factors. `--pdb` adds whole
PDB files: 2HHB comes from Debian's `emboss-test` (`dpkg-deb -x emboss-test_*.deb FOLDER`), because the only haemoglobin
alpha of the database is a mutant at the distal histidine. `--part` adds mature chains, which people paste as often.

`--sifts` names `pdb_chain_cath_uniprot.csv` and `pdb_chain_enzyme.csv` of the `enzymm` wheel (`enzymm/data/`); with
them the script prints for how many matches the PDB-to-UniProt mapping of SIFTS names the same accession. That mapping
takes no part in the choice.

The rule. A chain and a protein are laid on each other without gaps; of each such diagonal the stretch of the highest
sum is kept (+1 an equal residue, -4 another). It counts when its residues are equal in 95 % or more and it has 50
residues, or 90 % of a shorter chain of 20 or more. A protein takes the stretch with the most equal residues, then the
highest identity, then the first chain by name. Residues get the numbers of the protein.
"""

import argparse
import csv
import gzip
import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from hashlib import md5
from itertools import groupby, pairwise
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from promod3 import loop

from protatlas.structures.mmcif import BACKBONE, THREE_LETTER, Residue, write_chain

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
# Two differences in 50 residues leave an equal stretch of 16; one in 20 leaves 10.
WORD = 10
MIN_IDENTITY, MIN_RESIDUES, MIN_SHORT_CHAIN, MIN_SHORT_COVER = 0.95, 50, 20, 0.9
MISMATCH = -4
COLUMNS = (
    "protein_hash",
    "entry",
    "chain",
    "kind",
    "method",
    "first",
    "last",
    "residues",
    "identity",
    "mean_plddt",
    "ptm",
    "model",
)

Codes = NDArray[np.int64]


class Chain(NamedTuple):
    """A gap-free stretch of one chain; `read` gives `length` of its residues from the 0-based `start` on."""

    entry: str
    name: str
    sequence: str
    read: Callable[[int, int], Sequence[Residue]]


class Match(NamedTuple):
    """A stretch of a chain on a protein: 0-based starts of both, length in residues, number of equal residues."""

    chain: Chain
    protein_start: int
    chain_start: int
    length: int
    equal: int

    @property
    def identity(self) -> float:
        """Share of equal residues, 0 to 1."""
        return self.equal / self.length


class WordIndex(NamedTuple):
    """Words of all chains, sorted, each with the chain and the 0-based offset it stands at."""

    words: Codes
    chains: Codes
    offsets: Codes


def main() -> None:
    """Write the archive and print what was matched."""
    arguments = _arguments()
    proteins = dict(read_fasta(arguments.fasta))
    proteins |= dict(cut(proteins, part) for part in arguments.part)
    database = loop.LoadStructureDB()
    chains = [chain for path in arguments.pdb for chain in read_pdb(path)] + list(read_chains(database))
    index = index_words(chains)
    matches = {sequence: match for sequence in proteins if (match := best_match(sequence, chains, index))}
    archive = pack(matches)
    arguments.out.write_bytes(archive)
    print(f"{len(proteins)} proteins, {len(matches)} with a structure, {len(archive)} bytes in {arguments.out}")
    print(f"{sum(match.length for match in matches.values())} residues")
    if arguments.sifts:
        print(confirm(proteins, matches, read_sifts(arguments.sifts)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fasta", type=Path, nargs="+", required=True, help="proteins (FASTA, also .gz)")
    parser.add_argument("--pdb", type=Path, nargs="*", default=[], help="further structures (PDB files)")
    parser.add_argument("--part", nargs="*", default=[], help="mature chains of the proteins: ACCESSION:FIRST-LAST")
    parser.add_argument("--sifts", type=Path, nargs="*", help="the two pdb_chain_*.csv of enzymm")
    parser.add_argument("--out", type=Path, default=Path("data/starter/structures.zip"))
    return parser.parse_args()


def read_fasta(paths: Sequence[Path]) -> Iterator[tuple[str, str]]:
    """Sequence and header of each record."""
    for path in paths:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
        for record in ("\n" + text).split("\n>")[1:]:
            header, _, lines = record.partition("\n")
            yield "".join(lines.split()).upper().rstrip("*"), header


def cut(proteins: dict[str, str], part: str) -> tuple[str, str]:
    """Sequence and name of `ACCESSION:FIRST-LAST` (1-based, inclusive)."""
    accession, first, last = re.fullmatch(r"(\w+):(\d+)-(\d+)", part).groups()
    whole = next(sequence for sequence, header in proteins.items() if accession in re.split(r"[|\s]", header))
    return whole[int(first) - 1 : int(last)], f"{accession} {part}"


def read_chains(database: loop.StructureDB) -> Iterator[Chain]:
    """Chains of the database in its order."""
    for index in range(database.GetNumCoords()):
        info = database.GetCoordInfo(index)
        sequence = database.GetSequence(loop.FragmentInfo(index, 0, info.size))
        yield Chain(info.id.upper(), info.chain_name, sequence, partial(read_database, database, index))


def read_database(database: loop.StructureDB, index: int, start: int, length: int) -> list[Residue]:
    """Backbone of a stretch of a chain, in the frame of the PDB entry (ångström)."""
    part = loop.FragmentInfo(index, start, length)
    letters, states = database.GetSequence(part), database.GetDSSPStates(part)
    backbone = database.GetBackboneList(part, letters)
    shift = np.array([*database.GetCoordInfo(index).shift])
    getters = (backbone.GetN, backbone.GetCA, backbone.GetC, backbone.GetO)
    return [
        Residue(
            number=start + at + 1,
            letter=letter if letter in THREE_LETTER else "X",
            atoms=[tuple(np.array([*get(at)]) - shift) for get in getters],
            state=state,
        )
        for at, (letter, state) in enumerate(zip(letters, states, strict=True))
    ]


def read_pdb(path: Path) -> Iterator[Chain]:
    """Gap-free stretches of the chains of a PDB file (format 3.30, columns as documented by wwPDB)."""
    lines = path.read_text(encoding="ascii").splitlines()
    states = _pdb_states(lines)
    atoms = [line for line in lines if line.startswith("ATOM") and line[16] in " A" and line[26] == " "]
    residues = [_pdb_residue(list(group), states) for _, group in groupby(atoms, key=itemgetter(slice(17, 26)))]
    starts = [0, *(at for at in range(1, len(residues)) if not _is_next(*residues[at - 1 : at + 1])), len(residues)]
    for start, end in pairwise(starts):
        stretch = [residue for _, residue in residues[start:end]]
        letters = "".join(residue.letter for residue in stretch)
        yield Chain(lines[0][62:66], residues[start][0], letters, partial(_slice, stretch))


def _slice(residues: Sequence[Residue], start: int, length: int) -> Sequence[Residue]:
    return residues[start : start + length]


def _is_next(before: tuple[str, Residue], after: tuple[str, Residue]) -> bool:
    return before[0] == after[0] and before[1].number + 1 == after[1].number


def _pdb_residue(atoms: Sequence[str], states: dict[tuple[str, int], str]) -> tuple[str, Residue]:
    """Chain and residue of the ATOM lines of one residue, backbone first, with the mean of their B factors."""
    letters = {name: letter for letter, name in THREE_LETTER.items()}
    first = atoms[0]
    chain, number = first[21], int(first[22:26])
    ordered = sorted(atoms, key=lambda line: [*BACKBONE, line[12:16].strip()].index(line[12:16].strip()))
    residue = Residue(
        number=number,
        letter=letters.get(first[17:20], "X"),
        atoms=[(float(line[30:38]), float(line[38:46]), float(line[46:54])) for line in ordered],
        state=states.get((chain, number), "-"),
        b_factor=round(sum(float(line[60:66]) for line in ordered) / len(ordered), 2),
        names=[line[12:16].strip() for line in ordered],
    )
    return chain, residue


def _pdb_states(lines: Sequence[str]) -> dict[tuple[str, int], str]:
    """Helices (H) and strands (E) that the depositors state, by chain and residue number."""
    states: dict[tuple[str, int], str] = {}
    for line in lines:
        if line.startswith("HELIX"):
            states |= {(line[19], number): "H" for number in range(int(line[21:25]), int(line[33:37]) + 1)}
        elif line.startswith("SHEET"):
            states |= {(line[21], number): "E" for number in range(int(line[22:26]), int(line[33:37]) + 1)}
    return states


def words_of(sequence: str) -> Codes:
    """Code of the word at each offset, int64, shape (length - WORD + 1,); -1 where it holds an unknown letter."""
    codes = np.array([LETTERS.find(letter) for letter in sequence], dtype=np.int64)
    if len(codes) < WORD:
        return np.empty(0, dtype=np.int64)
    windows = np.lib.stride_tricks.sliding_window_view(codes, WORD)
    values = windows @ (len(LETTERS) ** np.arange(WORD, dtype=np.int64))
    return np.where((windows < 0).any(axis=1), -1, values)


def index_words(chains: Sequence[Chain]) -> WordIndex:
    """Sorted words of all chains."""
    parts = [words_of(chain.sequence) for chain in chains]
    words = np.concatenate(parts)
    owners = np.repeat(np.arange(len(chains)), [len(part) for part in parts])
    offsets = np.concatenate([np.arange(len(part)) for part in parts])
    order = np.argsort(words, kind="stable")
    return WordIndex(words[order], owners[order], offsets[order])


def best_match(sequence: str, chains: Sequence[Chain], index: WordIndex) -> Match | None:
    """Stretch with the most equal residues that the rule accepts; None where no chain does."""
    found = [
        match
        for owner, shift in _diagonals(sequence, index)
        if (match := match_on_diagonal(sequence, chains[owner], shift)) and is_accepted(match)
    ]
    order = [(-match.equal, -match.identity, match.chain.entry, match.chain.name) for match in found]
    return found[min(range(len(found)), key=order.__getitem__)] if found else None


def _diagonals(sequence: str, index: WordIndex) -> set[tuple[int, int]]:
    """Chain and shift (protein position minus chain position) of each pair of equal words."""
    words = words_of(sequence)
    left, right = np.searchsorted(index.words, words, "left"), np.searchsorted(index.words, words, "right")
    return {
        (int(index.chains[at]), position - int(index.offsets[at]))
        for position in np.flatnonzero((right > left) & (words >= 0)).tolist()
        for at in range(left[position], right[position])
    }


def match_on_diagonal(sequence: str, chain: Chain, shift: int) -> Match | None:
    """Stretch of the highest sum on one diagonal; None where no residue is equal."""
    start, end = max(0, shift), min(len(sequence), len(chain.sequence) + shift)
    pairs = zip(sequence[start:end], chain.sequence[start - shift : end - shift], strict=True)
    equal = np.array([a == b for a, b in pairs])
    sums = np.concatenate([[0], np.cumsum(np.where(equal, 1, MISMATCH))])
    gains = sums - np.minimum.accumulate(sums)
    last = int(gains.argmax())
    first = int(sums[: last + 1].argmin())
    if gains[last] <= 0:
        return None
    return Match(chain, start + first, start + first - shift, last - first, int(equal[first:last].sum()))


def is_accepted(match: Match) -> bool:
    """Whether the stretch is long and equal enough (the rule above)."""
    size = len(match.chain.sequence)
    is_whole_short_chain = size >= MIN_SHORT_CHAIN and match.length >= MIN_SHORT_COVER * size
    return match.identity >= MIN_IDENTITY and (match.length >= MIN_RESIDUES or is_whole_short_chain)


def residues_of(match: Match) -> list[Residue]:
    """Residues of the stretch with the protein's numbers."""
    residues = match.chain.read(match.chain_start, match.length)
    return [residue._replace(number=match.protein_start + at) for at, residue in enumerate(residues, 1)]


def pack(matches: dict[str, Match]) -> bytes:
    """Bytes of the archive: `index.tsv`, then one mmCIF file a protein, in the order of the keys."""
    by_key = sorted((md5(sequence.encode("ascii")).hexdigest(), match) for sequence, match in matches.items())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_LZMA) as archive:
        _add(archive, "index.tsv", _index([_row(key, match) for key, match in by_key]))
        for key, match in by_key:
            title = f"PDB {match.chain.entry} chain {match.chain.name}, residues numbered as in the protein"
            _add(archive, f"{key}.cif", write_chain(key, title, residues_of(match)))
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add a file under a fixed date, so that the same input makes the same bytes."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_LZMA
    entry.external_attr = 0o644 << 16
    archive.writestr(entry, content)


def _row(key: str, match: Match) -> dict[str, object]:
    return {
        "protein_hash": key,
        "entry": match.chain.entry,
        "chain": match.chain.name,
        "kind": "experimental",
        "first": match.protein_start + 1,
        "last": match.protein_start + match.length,
        "residues": match.length,
        "identity": f"{match.identity:.4f}",
    }


def _index(rows: list[dict[str, object]]) -> bytes:
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, COLUMNS, delimiter="\t", lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue().encode("ascii")


def read_sifts(paths: Sequence[Path]) -> dict[tuple[str, str], set[str]]:
    """UniProt accessions of each (PDB entry in capitals, chain)."""
    accessions: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path in paths:
        with path.open(encoding="ascii", newline="") as rows:
            for row in csv.DictReader(line for line in rows if not line.startswith("#")):
                accession = row.get("SP_PRIMARY") or row["ACCESSION"]
                accessions[row["PDB"].upper(), row["CHAIN"]].add(accession)
    return accessions


def confirm(proteins: dict[str, str], matches: dict[str, Match], sifts: dict[tuple[str, str], set[str]]) -> str:
    """Sentence on how many matches the UniProt accessions of SIFTS confirm."""
    counts = {"the same": 0, "another": 0, "none": 0}
    for sequence, match in matches.items():
        mapped = sifts.get((match.chain.entry, match.chain.name), set())
        is_same = not mapped.isdisjoint(re.split(r"[|\s]", proteins[sequence]))
        counts["the same" if is_same else "another" if mapped else "none"] += 1
    return "UniProt accession of the chain by SIFTS: " + ", ".join(f"{count} {word}" for word, count in counts.items())


if __name__ == "__main__":
    main()
