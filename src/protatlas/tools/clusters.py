"""The tool that describes the cluster of a sequence."""

from typing import Annotated

from pydantic import Field

from protatlas.app import App
from protatlas.errors import NotFound
from protatlas.records import PfamCount, Taxon, protein_hash
from protatlas.sequences import clean_sequence
from protatlas.tools.answers import LabelledFeature, Sourced, provenance
from protatlas.tools.proteins import feature_profile
from protatlas.tools.registry import Arguments, Tool, sequence_field

MAX_RESIDUES = 4_000


class ClusterArguments(Arguments):
    """Arguments of `esm_atlas_get_cluster_info`."""

    sequence: Annotated[
        str,
        sequence_field(
            max_residues=MAX_RESIDUES,
            description="Exact sequence of a member, up to 4,000 characters; normally the `sequence` of a hit.",
        ),
    ]


class RepresentativeFeature(LabelledFeature):
    """A feature of the representative with its normalised value."""

    value: float


class ClusterAnswer(Sourced):
    """Answer of `esm_atlas_get_cluster_info`; source, name, hash and features are those of the representative."""

    accession: Annotated[str, Field(description="Accession of the representative.")]
    source: str
    protein_name: str | None
    protein_hash: str
    cluster_size: Annotated[int, Field(description="Distinct sequences.")]
    cluster_pct_characterized: Annotated[
        float | None, Field(description="Members with a Pfam domain, 0 to 100; null: unknown.")
    ]
    cluster_mean_domain_coverage: Annotated[
        float | None, Field(description="Mean share of residues in domains, 0 to 1; null: unknown.")
    ]
    top_pfam_domains: tuple[PfamCount, ...]
    representative_features: tuple[RepresentativeFeature, ...]
    sae: str
    taxonomy_info: Annotated[Taxon | None, Field(description="Lowest common ancestor of the members with a lineage.")]
    top_phyla: Annotated[dict[str, int], Field(description="Members by phylum.")]
    members_without_lineage: int


def get_cluster_info(app: App, arguments: ClusterArguments) -> ClusterAnswer:
    """Cluster that holds exactly this sequence."""
    sequence, notes = clean_sequence(arguments.sequence, max_length=MAX_RESIDUES)
    found = app.atlas.cluster(protein_hash(sequence))
    if found is None:
        raise NotFound(
            "cluster",
            f"this sequence of {len(sequence)} residues",
            f"the atlas {app.atlas.name}",
            "Pass the sequence of a hit of esm_atlas_search_similar_protein_clusters.",
        )
    representative, cluster = found
    profile = feature_profile(app, app.analyse(representative.sequence))
    return ClusterAnswer(
        accession=representative.accession,
        source=representative.source,
        protein_name=representative.protein_name,
        protein_hash=representative.key,
        cluster_size=cluster.size,
        cluster_pct_characterized=cluster.pct_characterized,
        cluster_mean_domain_coverage=cluster.mean_domain_coverage,
        top_pfam_domains=cluster.top_pfam_domains,
        representative_features=tuple(
            RepresentativeFeature(
                feature_index=feature.feature_index,
                label=feature.label,
                label_reliability=feature.label_reliability,
                value=feature.value,
            )
            for feature in profile
        ),
        sae=app.features.sae.id,
        taxonomy_info=cluster.lowest_common_ancestor,
        top_phyla=cluster.top_phyla,
        members_without_lineage=cluster.members_without_lineage,
        provenance=provenance(app),
        notes=(*notes, app.atlas.manifest.domain_note),
    )


GET_CLUSTER_INFO = Tool(
    name="esm_atlas_get_cluster_info",
    title="Cluster of an exact sequence",
    description="""
    Describes the cluster that holds exactly this sequence: size, how much of it is characterised, Pfam domains,
    features of the representative, lowest common ancestor and phyla of the members. `taxonomy_info` and `top_phyla`
    describe the members and do not name the organism of the query. Takes milliseconds. A sequence that is in no
    cluster is `not_found`: find its neighbours with esm_atlas_search_similar_protein_clusters first.
    """,
    arguments=ClusterArguments,
    answer=ClusterAnswer,
    run=get_cluster_info,
)
