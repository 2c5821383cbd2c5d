"""The stages that say what is known of each protein: domains by HMMER, then tables and lineages."""

import json
from collections import ChainMap
from collections.abc import Callable

from protatlas.atlas import annotations, taxonomy
from protatlas.atlas.ingest import PROTEINS
from protatlas.atlas.plan import BuildPlan
from protatlas.atlas.scratch import Scratch
from protatlas.engines.domains import DomainScanner
from protatlas.records import Domain, Protein

DOMAINS, ANNOTATED = "domains", "annotated"
DOMAIN_CHUNKS = 10
"""Chunks that share one pass over the families: setting up a family costs as much as 50 sequences."""


def find_domains(
    scratch: Scratch, chunks: int, scanner: DomainScanner, *, from_atlas: int, progress: Callable[[int], None]
) -> None:
    """Write the domains of the proteins, `DOMAIN_CHUNKS` chunks together, but for the first that an older atlas had.

    Parameters
    ----------
    progress
        Told the number of chunks that are done.
    """
    groups = -(-chunks // DOMAIN_CHUNKS)

    def work(group: int) -> None:
        members = range(group * DOMAIN_CHUNKS, min((group + 1) * DOMAIN_CHUNKS, chunks))
        proteins = [protein for number in members for protein in scratch.proteins(PROTEINS, number)]
        known = max(0, from_atlas - group * DOMAIN_CHUNKS * scratch.chunk)
        found = scanner.scan((protein.key, protein.sequence) for protein in proteins[known:])
        lines = [json.dumps([key, [domain.model_dump() for domain in domains]]) for key, domains in found]
        scratch.write_lines(DOMAINS, group, lines)

    scratch.for_each(DOMAINS, groups, work, lambda done: progress(min(done * DOMAIN_CHUNKS, chunks)))


def annotate_chunks(scratch: Scratch, chunks: int, plan: BuildPlan, *, progress: Callable[[int], None]) -> None:
    """Write the proteins with their domains, GO terms, lineages and secondary accessions.

    Parameters
    ----------
    progress
        Told the number of chunks that are done.
    """
    domains = annotations.read_domains(plan.domains) if plan.domains else {}
    go = annotations.read_go(plan.go) if plan.go else {}
    lineages = taxonomy.read_lineages(plan.lineages) if plan.lineages else {}
    taxon_ids = taxonomy.read_taxon_ids(plan.lineages) if plan.lineages else {}
    secondary = annotations.read_secondary(plan.secondary) if plan.secondary else {}

    def work(number: int) -> None:
        proteins = annotations.annotate(
            annotations.with_secondary(scratch.proteins(PROTEINS, number), secondary),
            domains=ChainMap(_scanned(scratch, number), domains),
            go=go,
            lineages=lineages,
            taxon_ids=taxon_ids,
        )
        scratch.write_proteins(ANNOTATED, number, [_with_lineage(p) for p in proteins] if plan.taxonomy else proteins)

    scratch.for_each(ANNOTATED, chunks, work, progress)


def _scanned(scratch: Scratch, number: int) -> dict[str, tuple[Domain, ...]]:
    lines = scratch.lines(DOMAINS, number // DOMAIN_CHUNKS) or ()
    found = (json.loads(line) for line in lines)
    return {key: tuple(Domain.model_validate(domain) for domain in domains) for key, domains in found}


def _with_lineage(protein: Protein) -> Protein:
    """Protein with the lineage of its taxon id, where it has none yet and the id is known."""
    if protein.lineage or protein.organism_id is None:
        return protein
    return protein.model_copy(update={"lineage": taxonomy.lineage_of(protein.organism_id)})
