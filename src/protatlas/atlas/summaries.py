"""What a cluster says of its members: share characterised, domain coverage, frequent domains and taxonomy.

The definitions are those of the public ESM Atlas (Candido et al. 2026): a member is characterised when it has a Pfam
domain of its own; coverage is the share of residues within the envelopes of its domains.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from protatlas.atlas.taxonomy import count_phyla, lowest_common_ancestor
from protatlas.records import Cluster, PfamCount, Protein, Taxon

TOP_DOMAINS = 10
TOP_PHYLA = 10


class Member(NamedTuple):
    """What a cluster needs of a member: its families (accession, name), share of residues inside them, and lineage."""

    families: frozenset[tuple[str, str]]
    coverage: float
    lineage: tuple[Taxon, ...]


def member_of(protein: Protein) -> Member:
    """Member that a protein is."""
    families = frozenset((domain.accession, domain.name) for domain in protein.domains)
    return Member(families, _coverage(protein), protein.lineage)


def summarise(representative: str, members: Sequence[Member], *, has_domains: bool) -> Cluster:
    """Cluster of the members, under the key of its representative; without domain annotation its shares are null."""
    lineages = [member.lineage for member in members]
    known = [lineage for lineage in lineages if lineage]
    phyla = sorted(count_phyla(known).items(), key=lambda item: (-item[1], item[0]))
    characterized = sum(bool(member.families) for member in members)
    return Cluster(
        representative=representative,
        size=len(members),
        pct_characterized=100 * characterized / len(members) if has_domains else None,
        mean_domain_coverage=sum(member.coverage for member in members) / len(members) if has_domains else None,
        top_pfam_domains=_top_domains(members),
        lowest_common_ancestor=lowest_common_ancestor(known),
        top_phyla=dict(phyla[:TOP_PHYLA]),
        members_without_lineage=len(lineages) - len(known),
    )


def _coverage(protein: Protein) -> float:
    """Share of residues inside a domain, 0 to 1."""
    inside = {position for domain in protein.domains for position in range(domain.start, domain.end + 1)}
    return len(inside) / len(protein.sequence)


def _top_domains(members: Sequence[Member]) -> tuple[PfamCount, ...]:
    """Families by falling number of members that carry them, ties by accession."""
    carried = Counter(family for member in members for family in member.families)
    ranked = sorted(carried.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        PfamCount(accession=accession, name=name, members=count) for (accession, name), count in ranked[:TOP_DOMAINS]
    )
