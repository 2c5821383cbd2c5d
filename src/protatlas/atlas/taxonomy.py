"""Lineages of organisms: the table that a build reads, lowest common ancestors and counts of phyla.

A lineage is a tuple of taxa from the root side (superkingdom) to the species; it may lack ranks, and is empty where the
organism is not known. Within one release of NCBI's taxonomy two lineages that share a taxon share all taxa above it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

from protatlas.atlas.delimited import read_rows
from protatlas.errors import DependencyUnavailable, InvalidInput
from protatlas.records import Taxon

UNKNOWN_PHYLUM = "unknown"
SHARED_TAXA = 65_536
MAIN_RANKS = ("superkingdom", "kingdom", "phylum", "class", "order", "family", "genus", "species")
COLUMNS = ("organism_name", "taxon_id", "match", "lineage")


def read_lineages(path: Path) -> dict[str, tuple[Taxon, ...]]:
    """Lineages by organism name, as the source writes the name; organisms without one are left out.

    The table has a header line, is tab-separated and may be gzipped. Columns: organism_name, taxon_id, match, lineage
    (`rank:taxon id:name;...` from the root side).

    Raises
    ------
    InvalidInput
        If a column is missing or a lineage is malformed.
    """
    return {row["organism_name"]: _lineage(row["lineage"]) for row in read_rows(path, COLUMNS) if row["lineage"]}


def read_taxon_ids(path: Path) -> dict[str, int]:
    """NCBI taxon ids by organism name, from the same table: only names that stand in whole for that very taxon.

    Raises
    ------
    InvalidInput
        If a column is missing.
    """
    return {row["organism_name"]: int(row["taxon_id"]) for row in read_rows(path, COLUMNS) if row["taxon_id"]}


@lru_cache(maxsize=SHARED_TAXA)
def lineage_of(taxon_id: int) -> tuple[Taxon, ...]:
    """Main ranks of a taxon from superkingdom to species, by NCBI's taxonomy; empty for an id that is not in it.

    Raises
    ------
    DependencyUnavailable
        The package taxoniq, which brings the taxonomy, is not installed.
    """
    try:
        from taxoniq import Taxon as Node  # an optional package, with a taxonomy of 400 MB
    except ImportError as error:
        raise DependencyUnavailable(
            "NCBI's taxonomy", 'Install it: pip install "protatlas[taxonomy]", or build without --taxonomy.'
        ) from error
    try:
        nodes = [node for node in Node(taxon_id).lineage if node.rank.name in MAIN_RANKS]
    except KeyError:
        return ()
    taxa = (_taxon(f"{node.rank.name}:{int(node.tax_id)}:{node.scientific_name}") for node in reversed(nodes))
    return tuple(taxa)


def lowest_common_ancestor(lineages: Iterable[Sequence[Taxon]]) -> Taxon | None:
    """Last taxon that all known lineages share: the end of their longest common prefix.

    Empty lineages say nothing and are passed over. None if there is no known lineage or nothing is shared.
    """
    known = [lineage for lineage in lineages if lineage]
    shared = [ranks[0] for ranks in takewhile(_is_one_taxon, zip(*known, strict=False))]
    return shared[-1] if shared else None


def count_phyla(lineages: Iterable[Sequence[Taxon]]) -> dict[str, int]:
    """Number of lineages by phylum name, largest first, ties by name.

    Lineages without a phylum, the empty ones among them, are counted last, under `UNKNOWN_PHYLUM`.
    """
    counts = Counter(map(_phylum, lineages))
    return dict(sorted(counts.items(), key=lambda item: (item[0] == UNKNOWN_PHYLUM, -item[1], item[0])))


def _is_one_taxon(taxa: tuple[Taxon, ...]) -> bool:
    return len({taxon.taxon_id for taxon in taxa}) == 1


def _phylum(lineage: Sequence[Taxon]) -> str:
    return next((taxon.name for taxon in lineage if taxon.rank == "phylum"), UNKNOWN_PHYLUM)


def _lineage(text: str) -> tuple[Taxon, ...]:
    return tuple(map(_taxon, text.split(";")))


@lru_cache(maxsize=SHARED_TAXA)
def _taxon(text: str) -> Taxon:
    """Taxon of `rank:taxon id:name`; lineages share the taxa that they have in common."""
    rank, _, rest = text.partition(":")
    taxon_id, colon, name = rest.partition(":")
    if not colon or not taxon_id.isdigit():
        raise InvalidInput("lineage", f"`{text}` cannot be read", "rank:taxon id:name, parted by semicolons")
    return Taxon(rank=rank, taxon_id=int(taxon_id), name=name)
