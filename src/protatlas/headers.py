"""Header lines: which database, which protein, which gene, which organism."""

import re
from collections.abc import Iterable
from typing import Any, TypedDict

from protatlas.accessions import parse_accession
from protatlas.records import Protein, Record


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

    def protein(self, sequence: str, *, header: str, accessions: Iterable[str] = (), **more: Any) -> Protein:
        """Protein of a sequence under this header, whose text is `header`; other identifiers may lead to it too."""
        return Protein(
            sequence=sequence,
            accessions=tuple(dict.fromkeys((*self.identifiers, *accessions))),
            header=header,
            source=self.source,
            protein_name=self.protein_name,
            gene=self.gene,
            organism=self.organism,
            organism_id=self.organism_id,
            reviewed=self.reviewed,
            **more,
        )


class _Statements(TypedDict, total=False):
    protein_name: str | None
    organism: str | None
    organism_id: int | None
    gene: str | None


def parse_header(header: str) -> Header:
    """Identifiers, names and taxon of a FASTA header (the text after `>`).

    Knows UniProtKB, UniRef, UniParc, AlphaFold DB, MGnify, IMG, NCBI (plain, `gi|`, `gnl|`, `lcl|`, coding sequences,
    several records in one line), PDB, Ensembl, Prodigal, gffread and `key=value` lists; of other headers the text after
    the first word is the protein name.

    >>> parse_header("sp|P69905|HBA_HUMAN Hemoglobin subunit alpha OS=Homo sapiens OX=9606 GN=HBA1").gene
    'HBA1'
    """
    if chains := _rcsb_parts(header):
        return _rcsb_header(header, chains)
    word, description, others = _split(header)
    accession, names, tag = identifiers_of(word)
    source = _source(accession, tag, description)
    return Header(
        accession=accession,
        identifiers=_identifiers(word, description, others, (accession, *names)),
        source=source,
        description=description,
        reviewed={"sp": True, "tr": False}.get(tag) if source == "uniprotkb" else None,
        **_statements(description, source),
    )


def header_identifiers(header: str) -> tuple[str, ...]:
    """`identifiers` of the parsed header, without the work for the rest of it."""
    if chains := _rcsb_parts(header):
        return _rcsb_header(header, chains).identifiers
    word, description, others = _split(header)
    accession, names, _ = identifiers_of(word)
    return _identifiers(word, description, others, (accession, *names))


_RECORD_BREAK = re.compile(r"\x01| >(?=[a-z]{2,3}\|[^ |]*\||[A-Z][A-Z0-9_]+\.\d+ )")
"""Between the records of one sequence in NCBI's non-redundant databases; the second form is that of blastdbcmd."""
_RCSB_HEADER = re.compile(r"(\w{4}_\d+)\|Chains? ([^|]*)\|([^|]*)\|(.*?)(?: ?\((\d+)\))?")
_NCBI_TAGS = frozenset(("ref", "gb", "emb", "dbj", "pir", "prf", "tpg", "tpe", "tpd", "ENA"))
_STATED_IDS = re.compile(r"(?:\[protein_id=|\bUA=|\bUI=)([^\]\s]+)")
_IMG_LOCUS = re.compile(r"([A-Za-z]\w*\d)\s+(?=\S.*\[[^\]]+\]$)")
_UNIPROT_KEY = re.compile(r"(?:^| )(OS|OX|GN|PE|SV|Tax|TaxID|RepID|UA|UI|n)=")
_BRACKET_FIELD = re.compile(r"\[(\w+)=([^\]]*)\]")
_KEY_FIELD = re.compile(r"\b(\w+)=(\"[^\"]*\"|[^;\s]+)")
_ENSEMBL_FIELD = re.compile(r"\b(gene_symbol|gene|description):(.*?)(?= \w+:|\s*\[Source:|$)")
_ORGANISM = re.compile(r"(?:(.*?)\s+)?\[((?!Source:)(?:[^\[\]=]|\[[^\[\]]*\])+)\]$")
_NOT_A_NAME = re.compile(r"# |.*\bORF type:|\(?[+-]\)?$")


def _split(header: str) -> tuple[str, str, list[str]]:
    """First word and the rest of the first record of a header, and the further records."""
    others: list[str] = []
    if "\x01" in header or " >" in header:
        header, *others = _RECORD_BREAK.split(header)
    word, _, description = header.strip().replace("\t", " ", 1).partition(" ")
    return word, description.strip(), others


def _identifiers(word: str, description: str, others: list[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """All that leads to a record: its accession, the word as written, what the description states, usual spellings."""
    accession, *more = names
    if "[protein_id=" in description or " UA=" in description:
        more += _STATED_IDS.findall(description)
    more += [identifiers_of(other.split(maxsplit=1)[0])[0] for other in others if other.strip()]
    if description.endswith("]") and accession.isdigit() and (locus := _IMG_LOCUS.match(description)):
        more.append(locus[1])
    more += [
        name for known in map(parse_accession, (accession, *more)) if known for name in (known.spelling, known.base)
    ]
    return tuple(dict.fromkeys((accession, word, *more)))


def identifiers_of(word: str) -> tuple[str, tuple[str, ...], str]:
    """Accession within the first word of a header, further names in it, and its database tag (`""` without one)."""
    if "|" not in word and ":" not in word:
        return word, (), ""
    tag, *parts = word.split("|")
    named = [part for part in parts if part]
    if tag in ("sp", "tr") and len(parts) >= 2 and parts[0]:
        known = parse_accession(parts[0])
        return known.spelling if known else parts[0], tuple(named), tag
    if tag == "gi" and len(parts) >= 3 and parts[1] in (*_NCBI_TAGS, "sp") and parts[2]:
        return identifiers_of(word.split("|", 2)[2])
    if tag == "pdb" and len(parts) >= 2:
        return f"{parts[0]}_{parts[1]}", (), tag
    if tag == "gnl" and len(parts) >= 2 and parts[1]:
        return parts[1], (), tag
    if tag == "ENA" and len(named) >= 2:
        return named[1], (named[0],), tag
    if tag in (*_NCBI_TAGS, "lcl") and named:
        return named[0], (), tag
    if fold := re.fullmatch(r"AFDB:(AF-([A-Z0-9]+(?:-\d+)?)-F\d+)", word):
        return fold[2], (fold[1],), ""
    return word, (), ""


def _source(accession: str, tag: str, description: str) -> str:
    """Database of an accession; a form alone does not make a bare number one of IMG."""
    if tag in _NCBI_TAGS:
        return "ncbi"
    known = parse_accession(accession)
    if known is None or (accession.isdigit() and not _IMG_LOCUS.match(description)):
        return "user"
    return known.source


def _statements(description: str, source: str) -> _Statements:
    """Name, organism, taxon and gene that a description states."""
    if _UNIPROT_KEY.search(description):
        name, *parts = _UNIPROT_KEY.split(description)
        fields = dict(zip(parts[::2], parts[1::2], strict=True))
        if "OS" in fields or "Tax" in fields or "OX" in fields:
            return _uniprot_statements(name, fields)
    if brackets := dict(_BRACKET_FIELD.findall(description)):
        return {
            "protein_name": brackets.get("protein"),
            "gene": brackets.get("gene") or brackets.get("locus_tag"),
            "organism": brackets.get("organism"),
        }
    if description.startswith("pep ") and "gene:" in description:
        fields = dict(_ENSEMBL_FIELD.findall(description))
        gene = fields.get("gene_symbol", fields.get("gene"))
        return {"protein_name": fields.get("description"), "gene": gene}
    if re.match(r"\w+=", description):
        return _listed_statements(dict(_KEY_FIELD.findall(description)))
    if description.startswith("mol:protein"):
        return {"protein_name": re.sub(r"^mol:protein\s+length:\d+\s*", "", description) or None}
    if _NOT_A_NAME.match(description):
        return {}
    return _named_statements(description, source)


def _uniprot_statements(name: str, fields: dict[str, str]) -> _Statements:
    taxon = fields.get("OX", fields.get("TaxID", "")).strip()
    return {
        "protein_name": name.strip() or None,
        "organism": fields.get("OS", fields.get("Tax")),
        "organism_id": int(taxon) if taxon.isdecimal() else None,
        "gene": fields.get("GN"),
    }


def _listed_statements(fields: dict[str, str]) -> _Statements:
    """Statements of a `key=value` list, as gffread, FlyBase, WormBase and Phytozome write."""
    stated = {key.lower(): value.strip('"') for key, value in fields.items()}
    taxon = stated.get("taxid", stated.get("taxon_id", ""))
    return {
        "protein_name": stated.get("product") or stated.get("description"),
        "gene": stated.get("gene_name") or stated.get("gene") or stated.get("locus"),
        "organism": stated.get("organism") or stated.get("species"),
        "organism_id": int(taxon) if taxon.isdecimal() else None,
    }


def _named_statements(description: str, source: str) -> _Statements:
    """Statements of `NAME [ORGANISM]`, and of a name alone."""
    if source == "img_m":
        description = _IMG_LOCUS.sub("", description)
    match = _ORGANISM.fullmatch(description) if description.endswith("]") else None
    name = (match[1] if match else description) or ""
    if full := re.match(r"RecName: Full=([^;]+)", name):
        name = full[1]
    organism = match[2].split(" | ")[0].strip() if match else None
    return {"protein_name": name.strip() or None, "organism": organism}


def _rcsb_parts(header: str) -> re.Match[str] | None:
    return _RCSB_HEADER.fullmatch(header.strip()) if "|Chain" in header else None


def _rcsb_header(header: str, match: re.Match[str]) -> Header:
    word, _, description = header.strip().partition(" ")
    entity, chains, name, organism, taxon = match.groups()
    letters = re.findall(r"(\w+)(?:\[auth (\w+)\])?", chains)
    names = tuple(f"{entity[:4]}_{author or label}" for label, author in letters)
    return Header(
        accession=entity,
        identifiers=tuple(dict.fromkeys((entity, word, *names))),
        source="pdb",
        description=description.strip(),
        protein_name=name or None,
        organism=organism or None,
        organism_id=int(taxon) if taxon else None,
    )
