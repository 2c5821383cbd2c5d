"""Restricted entries: an operator's list of what an atlas holds and nobody is shown.

The list is a text file with one entry a line: an accession, the key of a sequence (32 hexadecimal digits, its MD5) or
`taxon:` with an NCBI taxon id. What follows a `#` at the start of a line or after a blank is a comment.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from protatlas.accessions import parse_accession
from protatlas.errors import InvalidInput, Restricted
from protatlas.headers import parse_header
from protatlas.records import Protein
from protatlas.sequences import read_text

_COMMENT = re.compile(r"(?:^|\s)#.*")
_KEY = re.compile(r"[0-9a-fA-F]{32}")
_TAXON = re.compile(r"taxon:\s*(\d{1,9})", re.IGNORECASE)
_LIKE_TAXON = re.compile(r"(?:taxon|taxid|taxonomy|ox)\s*[:=].*", re.IGNORECASE)
ENTRY = "an accession, 32 hexadecimal digits of an MD5, or taxon:9606"


@dataclass(frozen=True)
class Restrictions:
    """What is restricted: keys of sequences, accessions in upper case, NCBI taxon ids; empty restricts nothing.

    An accession covers every sequence that it leads to, that of a UniProt entry also its isoforms; a taxon covers what
    states it, and its descendants where the lineage is known.
    """

    keys: frozenset[str] = frozenset()
    accessions: frozenset[str] = frozenset()
    taxa: frozenset[int] = frozenset()

    @classmethod
    def read(cls, path: Path) -> "Restrictions":
        """Restrictions of a list.

        Raises
        ------
        InvalidInput
            If the file cannot be read, or a line is no entry; the message names the line.
        """
        if not path.is_file():
            raise InvalidInput("restricted", f"{path} is no file", f"a text file with one entry a line: {ENTRY}")
        keys, accessions, taxa = set[str](), set[str](), set[int]()
        for number, line in enumerate(read_text(path).lstrip("\ufeff").splitlines(), start=1):
            entry = _COMMENT.sub("", line).strip()
            if not entry:
                continue
            if taxon := _TAXON.fullmatch(entry):
                taxa.add(int(taxon[1]))
            elif re.search(r"\s", entry) or _LIKE_TAXON.fullmatch(entry):
                raise InvalidInput("restricted", f"line {number} of {path.name} is `{entry[:60]}`", ENTRY)
            elif _KEY.fullmatch(entry):
                keys.add(entry.lower())
            else:
                accessions.add(_usual(entry))
        return cls(frozenset(keys), frozenset(accessions), frozenset(taxa))

    @property
    def entries(self) -> tuple[str, ...]:
        """The entries, as a list has them."""
        return (*sorted(self.accessions), *sorted(self.keys), *(f"taxon:{taxon}" for taxon in sorted(self.taxa)))

    def __or__(self, other: "Restrictions") -> "Restrictions":
        """What either restricts."""
        return Restrictions(self.keys | other.keys, self.accessions | other.accessions, self.taxa | other.taxa)

    def __bool__(self) -> bool:
        """Whether anything is restricted."""
        return bool(self.keys or self.accessions or self.taxa)

    def names(self, identifier: str) -> bool:
        """Whether an identifier is restricted by its own name, or as an isoform by that of its entry."""
        if not self.accessions:
            return False
        usual = _usual(identifier)
        if usual in self.accessions or identifier.upper() in self.accessions:
            return True
        known = parse_accession(identifier) if "-" in identifier else None
        return bool(known and known.database == "UniProt" and known.base.partition("-")[0] in self.accessions)

    def covers(self, protein: Protein) -> bool:
        """Whether a protein is restricted by its sequence, any of its identifiers, or its taxon."""
        return (
            protein.key in self.keys
            or any(map(self.names, protein.accessions))
            or bool(self.taxa and not self.taxa.isdisjoint(_taxa(protein)))
        )


def refusal() -> Restricted:
    """The answer to a direct request for a restricted protein; it names neither the protein nor the entry."""
    return Restricted("this protein", "The operator of this server")


def _usual(identifier: str) -> str:
    """Usual spelling of an accession, in upper case."""
    known = parse_accession(identifier)
    return (known.spelling if known else identifier.strip()).upper()


def _taxa(protein: Protein) -> Iterable[int]:
    """Taxa of a protein: its lineage, and what each of its records states."""
    stated = (protein.organism_id, *(parse_header(header).organism_id for header in protein.other_headers))
    return {*(taxon.taxon_id for taxon in protein.lineage), *(taxon for taxon in stated if taxon is not None)}
