"""What Swiss-Prot calls proteins: entry names of sequences, full names and organisms behind their mnemonics.

The sequences of `metastudent-data` have accessions only. Entry names (`RPOB_ECOLI`: mnemonics of the protein's name and
of the organism) come with the sequences of Debian's `pftools`, which are reversed, and of the starter data of this
repository, whose headers also say what the mnemonics stand for.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from protatlas.headers import parse_header
from protatlas.sequences.fasta import read_fasta

ENTRY_NAME = re.compile(r"[A-Z0-9]+_[A-Z0-9]+")
REVERSED = "_rev"
# Not part of a name: how sure it is, that the sequence is a piece, where the protein goes.
UNSURE = re.compile(r"^(Probable|Putative|Possible) ", re.IGNORECASE)
BESIDE = re.compile(r"( \((Fragments?|Precursor)\)|, (chloroplastic|mitochondrial|cyanelle|plastid)[^,]*)+$")


@dataclass(frozen=True)
class Entry:
    """A UniProtKB entry: entry name (`HBA_HUMAN`), sequence, and what a header adds, None where there is none."""

    name: str
    sequence: str
    full_name: str | None = None
    organism: str | None = None
    reviewed: bool = True

    @property
    def protein(self) -> str:
        """Mnemonic of the protein's name; of an unreviewed entry, its accession."""
        return self.name.partition("_")[0]

    @property
    def species(self) -> str:
        """Mnemonic of the organism."""
        return self.name.partition("_")[2]


def read_reversed(path: Path) -> list[Entry]:
    """Entries of a FASTA file that has their residues in reverse order and `_rev` at the end of each name."""
    return [Entry(e.header.split()[0].removesuffix(REVERSED), e.sequence[::-1]) for e in read_fasta(path)]


def read_entries(path: Path) -> list[Entry]:
    """Entries of a FASTA file with UniProt's headers; those without an entry name are left out."""
    found = []
    for entry in read_fasta(path):
        header, name = parse_header(entry.header), entry.header.split()[0].split("|")[-1]
        if ENTRY_NAME.fullmatch(name):
            reviewed = bool(header.reviewed)
            found.append(Entry(name, entry.sequence, header.protein_name, header.organism, reviewed))
    return found


def full_names(entries: Iterable[Entry]) -> dict[str, str]:
    """Name of each protein mnemonic: the one that most reviewed entries have, the first by alphabet of equal ones."""
    seen: dict[str, Counter[str]] = {}
    for entry in entries:
        if entry.reviewed and entry.full_name:
            bare = UNSURE.sub("", BESIDE.sub("", entry.full_name))
            seen.setdefault(entry.protein, Counter())[bare[:1].upper() + bare[1:]] += 1
    return {protein: min(names, key=lambda name: (-names[name], name)) for protein, names in seen.items()}


def organisms(entries: Iterable[Entry]) -> dict[str, set[str]]:
    """Organisms of each species mnemonic, strains among them."""
    found: dict[str, set[str]] = {}
    for entry in entries:
        if entry.organism:
            found.setdefault(entry.species, set()).add(entry.organism)
    return found


def entries_of(sequences: Mapping[str, str], entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """Entries of each accession that some entry has the very sequence of."""
    by_sequence: dict[str, list[Entry]] = {}
    for entry in entries:
        by_sequence.setdefault(entry.sequence, []).append(entry)
    return {name: by_sequence[sequence] for name, sequence in sequences.items() if sequence in by_sequence}
