"""Annotations that a builder is given beside the sequences: domains, GO terms and lineages, from tab-separated tables.

The columns are named in the function that reads a table.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from protatlas.atlas.delimited import read_rows
from protatlas.errors import InvalidInput
from protatlas.records import Domain, Protein, Taxon
from protatlas.sequences import read_text

T = TypeVar("T")


def read_domains(path: Path) -> dict[str, tuple[Domain, ...]]:
    """Domains by protein identifier, in order of their start.

    Columns: accession, pfam_accession, name, description, start, end (1-based, inclusive), score (bits).
    """
    found: dict[str, list[Domain]] = defaultdict(list)
    columns = ("accession", "pfam_accession", "name", "description", "start", "end", "score")
    for row in read_rows(path, columns):
        found[row["accession"]].append(_domain(row, path))
    return {
        name: tuple(sorted(domains, key=lambda domain: (domain.start, domain.end))) for name, domains in found.items()
    }


def _domain(row: dict[str, str], path: Path) -> Domain:
    try:
        return Domain(
            accession=row["pfam_accession"].split(".")[0],
            name=row["name"],
            description=row["description"],
            start=int(row["start"]),
            end=int(row["end"]),
            score=float(row["score"]),
        )
    except ValueError as error:
        found = f"{path.name} has {row['start']!r}, {row['end']!r}, {row['score']!r} for {row['accession']}"
        raise InvalidInput("domains", found, "whole numbers as start and end, and a score") from error


def read_go(path: Path) -> dict[str, dict[str, str]]:
    """GO terms (id to name) by protein identifier. Columns: accession, go_id, go_name."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in read_rows(path, ("accession", "go_id", "go_name")):
        found[row["accession"]][row["go_id"]] = row["go_name"]
    return dict(found)


def read_secondary(path: Path) -> dict[str, tuple[str, ...]]:
    """Secondary accessions by primary accession, both in upper case.

    Takes UniProt's `sec_ac.txt` (uniprot.org/help/secondary_accessions, read 2026-11) and any other text with a
    secondary and a primary accession on a line; lines of another form are passed over.

    Raises
    ------
    InvalidInput
        If there is no such line.
    """
    found: dict[str, list[str]] = defaultdict(list)
    for line in read_text(path).splitlines():
        if len(words := line.upper().split()) == 2:
            found[words[1]].append(words[0])
    if not found:
        raise InvalidInput("secondary", f"{path.name} has no line of two accessions", "`SECONDARY PRIMARY` on a line")
    return {primary: tuple(secondary) for primary, secondary in found.items()}


def with_secondary(proteins: Iterable[Protein], secondary: Mapping[str, tuple[str, ...]]) -> list[Protein]:
    """Proteins that the secondary accessions of their accessions lead to as well."""
    return [
        protein.model_copy(update={"accessions": tuple(dict.fromkeys((*protein.accessions, *more)))})
        if (more := [other for name in protein.accessions for other in secondary.get(name.upper(), ())])
        else protein
        for protein in proteins
    ]


def annotate(
    proteins: list[Protein],
    *,
    domains: Mapping[str, tuple[Domain, ...]],
    go: Mapping[str, dict[str, str]],
    lineages: Mapping[str, tuple[Taxon, ...]],
    taxon_ids: Mapping[str, int],
) -> list[Protein]:
    """Proteins with what the tables say of their key, any of their identifiers, or their organism's name."""
    return [
        protein.model_copy(
            update={
                "domains": _first(protein, domains) or protein.domains,
                "go": _first(protein, go) or protein.go,
                "lineage": lineages.get(protein.organism or "", protein.lineage),
                "organism_id": protein.organism_id or taxon_ids.get(protein.organism or ""),
            }
        )
        for protein in proteins
    ]


def _first(protein: Protein, table: Mapping[str, T]) -> T | None:
    return next((table[name] for name in (protein.key, *protein.accessions) if name in table), None)
