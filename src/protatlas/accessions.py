"""Accessions: which database issued them, how they are spelt, and what they are without their version."""

import re
from typing import NamedTuple


class AccessionPattern(NamedTuple):
    """How the accessions of a database look, and the name of the database in answers and in records.

    `pattern` matches whole accessions in any letter case; its first group is the accession, its second the sequence
    version where the database writes one.
    """

    database: str
    source: str
    pattern: re.Pattern[str]


def _pattern(database: str, source: str, expression: str) -> AccessionPattern:
    return AccessionPattern(database, source, re.compile(expression, re.IGNORECASE))


ACCESSION_PATTERNS = (
    # uniprot.org/help/accession_numbers (read 2026-11); isoform -N as in help/canonical_and_isoforms, entry version .N
    _pattern(
        "UniProt",
        "uniprotkb",
        r"((?:[OPQ]\d[A-Z0-9]{3}\d|[A-NR-Z]\d(?:[A-Z][A-Z0-9]{2}\d){1,2})(?:-[1-9]\d*)?)(?:\.([1-9]\d*))?",
    ),
    # uniprot.org/help/uniparc: UPI and ten hexadecimal digits
    _pattern("UniParc", "uniparc", r"(UPI[0-9A-F]{10})()"),
    # uniprot.org/help/uniref: UniRef, identity level, id of the seed
    _pattern("UniRef", "uniref", r"(UniRef(?:100|90|50)_[A-Z0-9-]+)()"),
    # MGnify protein database: MGYP and twelve digits; shorter numbers are padded
    _pattern("MGnify", "mgy", r"(MGYP\d{1,15})()"),
    # ncbi.nlm.nih.gov/books/NBK21091, table 1: protein prefixes of RefSeq
    _pattern("RefSeq", "ncbi", r"((?:AP|NP|XP|YP|WP|ZP)_\d{6,9})(?:\.(\d+))?"),
    # ncbi.nlm.nih.gov/genbank/acc_prefix: three letters, five or seven digits; only with a version, else ambiguous
    _pattern("GenBank", "ncbi", r"([A-Z]{3}\d{5}(?:\d\d)?)\.(\d+)"),
    # IMG/M gene_oid (9 to 12 digits) and metagenome gene; plain integers, so that other databases may use the same
    _pattern("IMG", "img_m", r"([1-9]\d{8,11}|Ga\d{7,}_\d+(?:_\d+_\d+)?)()"),
    # wwpdb.org: entry of four characters, first a digit, or pdb_ and eight; and an author chain
    _pattern("PDB", "pdb", r"((?:[1-9](?=[A-Z0-9]{0,2}[A-Z])[A-Z0-9]{3}|pdb_[0-9A-Z]{8})[_:][A-Z0-9]{1,4})()"),
)

_KEYWORD = re.compile(
    r"(?:(?:uniprotkb|uniprot|swiss-?prot|trembl|uniparc|uniref|mgnify|mgy|img|img_m|refseq|ncbi|genbank|pdb):|"
    r"(?:sp|tr|ref|gb|emb|dbj)\|)([^|\s]+)(?:\|\S*)?",
    re.IGNORECASE,
)


class Accession(NamedTuple):
    """An accession in its usual spelling: `base` is without the sequence version, which is null where none stands."""

    database: str
    source: str
    base: str
    version: str | None

    @property
    def spelling(self) -> str:
        """The accession as its database writes it; UniProt's versions are those of entries and are left out."""
        is_versioned = self.version and self.database != "UniProt"
        return f"{self.base}.{self.version}" if is_versioned else self.base


def parse_accession(text: str) -> Accession | None:
    """Accession that a text is, a keyword of the database before it aside; None when it has the form of none.

    >>> parse_accession("refseq:np_000549.1")
    Accession(database='RefSeq', source='ncbi', base='NP_000549', version='1')
    """
    bare = text.strip()
    if (":" in bare or "|" in bare) and (keyword := _KEYWORD.fullmatch(bare)):
        bare = keyword[1]
    for database, source, pattern in ACCESSION_PATTERNS:
        if match := pattern.fullmatch(bare):
            return Accession(database, source, _usual_spelling(database, match[1]), match[2] or None)
    return None


def identify_accession(text: str) -> tuple[str, str] | None:
    """Database and usual spelling of an accession, None when it has the form of none.

    >>> identify_accession(" mgyp261684433")
    ('MGnify', 'MGYP000261684433')
    """
    accession = parse_accession(text)
    return (accession.database, accession.spelling) if accession else None


def _usual_spelling(database: str, accession: str) -> str:
    if database == "MGnify":
        return f"MGYP{accession[4:]:0>12}"
    if database == "UniRef":
        level, _, seed = accession[6:].partition("_")
        return f"UniRef{level}_{seed.upper()}"
    if database == "PDB":
        entry, chain = re.split(r"[_:](?=[^_:]+$)", accession)
        return f"{entry.lower() if entry[3] == '_' else entry.upper()}_{chain}"
    if database == "IMG":
        return accession.capitalize()
    return accession.upper()
