"""What the store holds of a protein: its record, the fields that queries ask for, and the cluster it belongs to."""

import re
from collections.abc import Sequence
from typing import Any

from protatlas.headers import Header, parse_header
from protatlas.records import Cluster, Protein


def payload_of(protein: Protein, *, position: int, representative: str, cluster: Cluster | None) -> dict[str, Any]:
    """Payload of a protein.

    Parameters
    ----------
    position : int
        Place in the input, from 0; answers without a ranking keep this order.
    representative : str
        Key of its cluster's representative.
    cluster : Cluster or None
        The cluster, for the representative itself; null for other members.
    """
    records: list[Protein | Header] = [protein, *map(parse_header, protein.other_headers)]
    title = _title(protein, records)
    text = _text(protein, title)
    fields: dict[str, Any] = {
        "record": protein.model_dump_json(),
        "identifier": [name.upper() for name in protein.accessions],
        "gene": [record.gene.lower() for record in records if record.gene],
        "word": sorted(set(re.findall(r"\w+", text.lower()))),
        "domain": [domain.accession for domain in protein.domains],
        "go": list(protein.go),
        "cluster": representative,
        "taxon": [taxon.taxon_id for taxon in protein.lineage],
        "length": len(protein.sequence),
        "position": position,
        "title": title,
        "text": text,
        "protein_name": " ; ".join(record.protein_name for record in records if record.protein_name),
        "organism": " ; ".join(record.organism for record in records if record.organism),
        "lineage": " ; ".join(taxon.name for taxon in protein.lineage),
    }
    if protein.reviewed is not None:
        fields["reviewed"] = "true" if any(record.reviewed for record in records) else "false"
    organism_ids = {record.organism_id for record in records if record.organism_id is not None}
    fields["organism_id"] = sorted(organism_ids)
    fields["taxon"] = sorted({*fields["taxon"], *organism_ids})
    if cluster:
        fields["cluster_record"] = cluster.model_dump_json()
        if cluster.pct_characterized is not None:
            fields["pct_characterized"] = cluster.pct_characterized
    return fields


def _title(protein: Protein, records: Sequence[Protein | Header]) -> str:
    """What a protein is called, in all its records: the text that a search ranks by."""
    names = [name for record in records for name in (record.protein_name, record.gene, record.organism)]
    return " ; ".join(part for part in (*protein.accessions, *names) if part)


def _text(protein: Protein, title: str) -> str:
    """All text of a protein that a search without a field looks into."""
    domains = [f"{domain.accession} {domain.name} {domain.description}" for domain in protein.domains]
    return " ; ".join([title, protein.header, *protein.other_headers, *domains, *protein.go.values()])
