"""What the store holds of a protein: its record, the fields that queries ask for, and the cluster it belongs to."""

import re
from typing import Any

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
    title = _title(protein)
    text = _text(protein, title)
    fields: dict[str, Any] = {
        "record": protein.model_dump_json(),
        "identifier": [name.upper() for name in protein.accessions],
        "gene": [protein.gene.lower()] if protein.gene else [],
        "word": sorted(set(re.findall(r"\w+", text.lower()))),
        "domain": [domain.accession for domain in protein.domains],
        "go": list(protein.go),
        "cluster": representative,
        "taxon": [taxon.taxon_id for taxon in protein.lineage],
        "length": len(protein.sequence),
        "position": position,
        "title": title,
        "text": text,
        "protein_name": protein.protein_name or "",
        "organism": protein.organism or "",
        "lineage": " ; ".join(taxon.name for taxon in protein.lineage),
    }
    if protein.reviewed is not None:
        fields["reviewed"] = "true" if protein.reviewed else "false"
    if protein.organism_id is not None:
        fields["organism_id"] = protein.organism_id
        fields["taxon"] = sorted({*fields["taxon"], protein.organism_id})
    if cluster:
        fields["cluster_record"] = cluster.model_dump_json()
        if cluster.pct_characterized is not None:
            fields["pct_characterized"] = cluster.pct_characterized
    return fields


def _title(protein: Protein) -> str:
    """What a protein is called: the text that a search ranks by."""
    parts = [*protein.accessions, protein.protein_name, protein.gene, protein.organism]
    return " ; ".join(part for part in parts if part)


def _text(protein: Protein, title: str) -> str:
    """All text of a protein that a search without a field looks into."""
    domains = [f"{domain.accession} {domain.name} {domain.description}" for domain in protein.domains]
    return " ; ".join([title, protein.header, *domains, *protein.go.values()])
