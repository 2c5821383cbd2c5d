"""Records: the frozen values that the parts of protatlas hand to each other.

Positions are 1-based and inclusive, in the numbering of the stored sequence, everywhere.
"""

from hashlib import md5
from typing import Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict

StructureKind = Literal["experimental", "predicted", "unknown"]
Reliability = Literal["high", "medium", "low", "none"]
Category = Literal[
    "Catalytic function",
    "Ligand-binding site",
    "Interaction site",
    "Structural motif",
    "Domain",
    "Post-translational modification",
    "Sequence motif",
    "Compositional bias",
]


class Record(BaseModel):
    """Base of all records: frozen, and no field beyond the declared ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Taxon(Record):
    """One rank of a lineage: NCBI taxon id, rank and scientific name."""

    taxon_id: int
    rank: str
    name: str


class Domain(Record):
    """A Pfam family on a protein: accession without version, short name, envelope `start` to `end`, bit score."""

    accession: str
    name: str
    description: str
    start: int
    end: int
    score: float


class Protein(Record):
    """One distinct sequence of an atlas with what its source said of it.

    `accessions` holds the identifiers that lead to it, the first being the one it is shown under; the names are those
    of its first record, and `other_headers` holds the headers of further records of the same sequence. `organism_id` is
    the NCBI taxon that the source stated, or the one of exactly the organism's name; null where there is neither. `go`
    maps GO ids to term names. `soft_masked`: a record of it had some residues in lower case and others not.
    """

    sequence: str
    accessions: tuple[str, ...]
    header: str
    source: str
    other_headers: tuple[str, ...] = ()
    protein_name: str | None = None
    gene: str | None = None
    organism: str | None = None
    organism_id: int | None = None
    reviewed: bool | None = None
    lineage: tuple[Taxon, ...] = ()
    domains: tuple[Domain, ...] = ()
    go: dict[str, str] = {}
    soft_masked: bool = False
    notes: tuple[str, ...] = ()

    @property
    def accession(self) -> str:
        """Identifier that the protein is shown under."""
        return self.accessions[0]

    @property
    def key(self) -> str:
        """Key of the protein: `protein_hash` of its sequence."""
        return protein_hash(self.sequence)


class Activation(Record):
    """A reference protein (UniProt accession) and the raw maximum activation of a feature on it."""

    uniprot_id: str
    activation: float


class Feature(Record):
    """One feature of a sparse autoencoder, as its reference proteins and their annotations describe it.

    `frequency` counts reference proteins in which it is active, `idf` is log10(reference proteins / (1 + frequency)),
    `max_activation` the raw maximum over them. `f1` is measured on proteins that did not choose the label, where the
    activation reaches the share `label_from` (0 to 1) of the maximum; below it the label says nothing.
    `decoder_nearest_neighbors` holds feature indices, closest first. All texts are computed from statistics.
    """

    feature_index: int
    label: str | None
    label_reliability: Reliability
    f1: float | None
    label_from: float | None = None
    concept: str | None
    summary: str | None
    description: str | None
    category: Category | None
    activation_pattern: str | None
    exemplar_protein_families: str | None
    frequency: int
    idf: float
    max_activation: float
    top_swissprot_activations: tuple[Activation, ...]
    decoder_nearest_neighbors: tuple[int, ...]


class Region(Record):
    """A stretch of residues on which a feature is active: `start` to `end`, its peak and the mean raw activation."""

    start: int
    end: int
    peak_residue: int
    mean_activation: float


class PfamCount(Record):
    """A Pfam family and the number of cluster members that carry it."""

    accession: str
    name: str
    members: int


class Cluster(Record):
    """A cluster of proteins with the same features, as its representative carries it.

    `pct_characterized` is the share of members with a Pfam domain, 0 to 100, and `mean_domain_coverage` the mean share
    of residues inside their domains, 0 to 1; both are null when the atlas was built without domains.
    `lowest_common_ancestor` is over the members whose lineage is known; `members_without_lineage` counts the others.
    """

    representative: str
    size: int
    pct_characterized: float | None
    mean_domain_coverage: float | None
    top_pfam_domains: tuple[PfamCount, ...]
    lowest_common_ancestor: Taxon | None
    top_phyla: dict[str, int]
    members_without_lineage: int


class StoredStructure(Record):
    """What is known of the coordinates that an atlas stores for a protein.

    `first` and `last` bound the residues with coordinates; `identity` is the share of them (0 to 1) whose residue
    equals that of the protein; `mean_plddt` and `ptm` are 0 to 1, null for experimental structures and where they are
    not known. The kind is unknown where the source states neither an experiment nor a program.
    """

    protein_hash: str
    entry: str
    chain: str
    kind: StructureKind
    method: str | None
    first: int
    last: int
    residues: int
    identity: float
    mean_plddt: float | None = None
    ptm: float | None = None
    model: str | None = None


def protein_hash(sequence: str) -> str:
    """Key of a protein: lowercase hex MD5 of its upper-case sequence (an identifier, not a safeguard)."""
    return md5(sequence.encode("ascii"), usedforsecurity=False).hexdigest()


def point_id(key: str) -> UUID:
    """Id of a protein in the store: the UUID of its key."""
    return UUID(hex=key)
