"""Header lines and accessions: which database, which protein, which organism."""

import re
from typing import NamedTuple, TypedDict

from protatlas.records import Record


class Header(Record):
    """What a FASTA header says.

    `identifiers` lead to the record: the accession first, then the first word as written, then others. `source` is
    the database by its name in the public atlas (`uniprotkb`, `uniparc`, `mgy`, `img_m`) or `uniref`, `ncbi`, `pdb`,
    and `user` for all else. `reviewed` is null outside UniProtKB. `description` is all text after the first word.
    """

    accession: str
    identifiers: tuple[str, ...]
    source: str
    description: str = ""
    protein_name: str | None = None
    organism: str | None = None
    organism_id: int | None = None
    gene: str | None = None
    reviewed: bool | None = None


class AccessionPattern(NamedTuple):
    """How the accessions of a database look (whole text, any case), and the name of the database in headers."""

    database: str
    source: str
    pattern: re.Pattern[str]


def _pattern(database: str, source: str, expression: str) -> AccessionPattern:
    return AccessionPattern(database, source, re.compile(expression, re.IGNORECASE))


ACCESSION_PATTERNS = (
    # uniprot.org/help/accession_numbers; isoform -N, sequence version .N (read 2026-11)
    _pattern(
        "UniProt",
        "uniprotkb",
        r"((?:[OPQ]\d[A-Z0-9]{3}\d|[A-NR-Z]\d(?:[A-Z][A-Z0-9]{2}\d){1,2})(?:-[1-9]\d*)?)(?:\.[1-9]\d*)?",
    ),
    # uniprot.org/help/uniparc: UPI and ten hexadecimal digits
    _pattern("UniParc", "uniparc", r"(UPI[0-9A-F]{10})"),
    # uniprot.org/help/uniref: UniRef, identity level, id of the seed
    _pattern("UniRef", "uniref", r"(UniRef(?:100|90|50)_[A-Z0-9-]+)"),
    # MGnify protein database: MGYP and twelve digits; shorter numbers are padded
    _pattern("MGnify", "mgy", r"(MGYP\d{1,12})"),
    # ncbi.nlm.nih.gov/books/NBK21091, table 1: protein prefixes of RefSeq
    _pattern("RefSeq", "ncbi", r"((?:AP|NP|XP|YP|WP|ZP)_\d{6,9}(?:\.\d+)?)"),
    # ncbi.nlm.nih.gov/genbank/acc_prefix: three letters, five or seven digits; only with a version, else ambiguous
    _pattern("GenBank", "ncbi", r"([A-Z]{3}\d{5}(?:\d\d)?\.\d+)"),
    # IMG/M gene_oid (9 to 12 digits) and metagenome gene; plain integers, so that other databases may use the same
    _pattern("IMG", "img_m", r"([1-9]\d{8,11}|Ga\d{7,}_\d+(?:_\d+_\d+)?)"),
    # wwpdb.org: entry of four characters, first a digit, and an author chain
    _pattern("PDB", "pdb", r"([1-9][A-Z0-9]{3}[_:][A-Z0-9]{1,4})"),
)


def identify_accession(text: str) -> tuple[str, str] | None:
    """Database and usual spelling of an accession, None when it has the form of none.

    >>> identify_accession(" mgyp261684433")
    ('MGnify', 'MGYP000261684433')
    """
    for database, _, pattern in ACCESSION_PATTERNS:
        if match := pattern.fullmatch(text.strip()):
            return database, _usual_spelling(database, match[1])
    return None


def _usual_spelling(database: str, accession: str) -> str:
    if database == "MGnify":
        return f"MGYP{accession[4:]:0>12}"
    if database == "UniRef":
        level, _, seed = accession[6:].partition("_")
        return f"UniRef{level}_{seed.upper()}"
    if database == "PDB":
        return f"{accession[:4].upper()}_{accession[5:]}"
    if database == "IMG":
        return accession.capitalize()
    return accession.upper()


def parse_header(header: str) -> Header:
    """Identifiers, names and taxon of a FASTA header (the text after `>`).

    Knows UniProtKB, UniRef, UniParc, MGnify, IMG, NCBI (plain, `gi|`, `gnl|`, `lcl|`, coding sequences), PDB and
    Prodigal; of other headers the text after the first word is the protein name.

    >>> parse_header("sp|P69905|HBA_HUMAN Hemoglobin subunit alpha OS=Homo sapiens OX=9606 GN=HBA1").gene
    'HBA1'
    """
    first, *others = header.split("\x01")
    word, _, description = first.strip().replace("\t", " ", 1).partition(" ")
    description = description.strip()
    if chains := _PDB_HEADER.fullmatch(f"{word} {description}"):
        return _pdb_header(word, description, chains)
    accession, names, tag = _identifiers(word)
    source = _source(accession, tag)
    names += tuple(re.findall(r"\[protein_id=([^\]]+)\]", description))
    names += tuple(_identifiers(other.split(maxsplit=1)[0])[0] for other in others if other.strip())
    return Header(
        accession=accession,
        identifiers=tuple(dict.fromkeys((accession, word, *names))),
        source=source,
        description=description,
        reviewed={"sp": True, "tr": False}.get(tag) if source == "uniprotkb" else None,
        **_statements(description, source),
    )


_PDB_HEADER = re.compile(r"(\w{4}_\d+)\|Chains? ([^|]*)\|([^|]*)\|(.*?)(?: ?\((\d+)\))?")
_NCBI_TAGS = frozenset(("ref", "gb", "emb", "dbj", "pir", "prf", "tpg", "tpe", "tpd"))
_UNIPROT_FIELD = re.compile(r"\b(OS|OX|GN|PE|SV|Tax|TaxID|RepID|n)=(.*?)(?= (?:OS|OX|GN|PE|SV|Tax|TaxID|RepID|n)=|$)")
_NCBI_FIELD = re.compile(r"\[(\w+)=([^\]]*)\]")
_ORGANISM = re.compile(r"(.*?)\s*\[((?:[^\[\]]|\[[^\[\]]*\])+)\]$")


def _identifiers(word: str) -> tuple[str, tuple[str, ...], str]:
    """Accession within the first word of a header, further names in it, and its database tag (`""` without one)."""
    tag, *parts = word.split("|")
    if tag in ("sp", "tr") and len(parts) >= 2 and parts[0]:
        return parts[0], tuple(part for part in parts[1:] if part), tag
    if tag == "gi" and len(parts) >= 3 and parts[1] in _NCBI_TAGS and parts[2]:
        return parts[2], (), parts[1]
    if tag in _NCBI_TAGS and parts and parts[0]:
        return parts[0], (), tag
    if tag == "pdb" and len(parts) >= 2:
        return f"{parts[0]}_{parts[1]}", (), tag
    if tag == "gnl" and len(parts) >= 2 and parts[1]:
        return parts[1], (), tag
    if tag == "lcl" and parts and parts[0]:
        return parts[0], (), tag
    return word, (), ""


def _source(accession: str, tag: str) -> str:
    """Database of an accession; a form alone does not make a bare number one of IMG."""
    if tag in _NCBI_TAGS:
        return "ncbi"
    known = None if accession.isdigit() else identify_accession(accession)
    return next((source for database, source, _ in ACCESSION_PATTERNS if known and database == known[0]), "user")


class _Statements(TypedDict, total=False):
    protein_name: str | None
    organism: str | None
    organism_id: int | None
    gene: str | None


def _statements(description: str, source: str) -> _Statements:
    """Name, organism, taxon and gene that a description states."""
    fields: dict[str, str] = dict(_UNIPROT_FIELD.findall(description))
    if "OS" in fields or "Tax" in fields or "OX" in fields:
        name = _UNIPROT_FIELD.split(description, maxsplit=1)[0]
        taxon = fields.get("OX", fields.get("TaxID", ""))
        return {
            "protein_name": name.strip() or None,
            "organism": fields.get("OS", fields.get("Tax")),
            "organism_id": int(taxon) if taxon.strip().isdecimal() else None,
            "gene": fields.get("GN"),
        }
    if brackets := dict(_NCBI_FIELD.findall(description)):
        return {
            "protein_name": brackets.get("protein"),
            "gene": brackets.get("gene"),
            "organism": brackets.get("organism"),
        }
    if match := _ORGANISM.fullmatch(description):
        return {"protein_name": match[1] or None, "organism": match[2]}
    if source in ("mgy", "uniparc") or description.startswith("# "):
        return {}
    return {"protein_name": description or None}


def _pdb_header(word: str, description: str, match: re.Match[str]) -> Header:
    entity, chains, name, organism, taxon = match.groups()
    letters = re.findall(r"(\w+)(?:\[auth (\w+)\])?", chains)
    names = tuple(f"{entity[:4]}_{author or label}" for label, author in letters)
    return Header(
        accession=entity,
        identifiers=tuple(dict.fromkeys((entity, word, *names))),
        source="pdb",
        description=description,
        protein_name=name or None,
        organism=organism or None,
        organism_id=int(taxon) if taxon else None,
    )
