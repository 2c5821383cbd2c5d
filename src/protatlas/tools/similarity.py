"""The tool that finds clusters of proteins like a sequence."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from pydantic import Field

from protatlas.app import Analysis, App
from protatlas.atlas.reader import ClusterHit
from protatlas.engines.features import Ranking
from protatlas.sequences import clean_sequence
from protatlas.tools.answers import LabelledFeature, Sourced, labelled, provenance, telling
from protatlas.tools.registry import Answer, Arguments, Tool, sequence_field

MAX_RESIDUES = 2_048
SHARED_FEATURES = 5
FEATURES_ACROSS = 10


class SimilarArguments(Arguments):
    """Arguments of `esm_atlas_search_similar_protein_clusters`."""

    sequence: Annotated[
        str,
        sequence_field(
            max_residues=MAX_RESIDUES,
            description="One protein: one-letter codes or FASTA, up to 2,048 characters; else pass a domain.",
        ),
    ]
    top_k: Annotated[int, Field(ge=1, le=12, description="Number of clusters, 1 to 12.")] = 10
    uncharacterized_only: Annotated[
        bool,
        Field(description="Only clusters of which no member has a Pfam domain; that is no proof of unknown function."),
    ] = False


class SharedFeature(LabelledFeature):
    """A feature that fires on the query and on the hit; `share` of their feature similarity that it makes up."""

    share: float


class SimilarCluster(Answer):
    """A cluster, shown by its representative."""

    protein_accession: str
    protein_name: str | None
    organism: str | None
    sequence: str
    sequence_length: int
    similarity_score: Annotated[float, Field(description="0 to 1; 1 is the identical sequence.")]
    cluster_size: int
    cluster_pct_characterized: Annotated[
        float | None, Field(description="Members with a Pfam domain, 0 to 100; null: unknown.")
    ]
    shared_features: Annotated[
        tuple[SharedFeature, ...], Field(description="Those with a reliable label, then the largest.")
    ]


class FeatureAcross(LabelledFeature):
    """A feature of the query over the hits: in how many it fires, and their normalised values."""

    occurrence_count: int
    min_activation: float
    max_activation: float
    mean_activation: float


class SimilarAnswer(Sourced):
    """Answer of `esm_atlas_search_similar_protein_clusters`.

    `sae` names the sparse autoencoder that the feature numbers belong to, `similarity` says how scores are computed;
    `restricted_count` counts clusters that would stand among these and are withheld.
    """

    query_sequence_length: int
    hits: tuple[SimilarCluster, ...]
    returned: int
    total: Annotated[int, Field(description="Clusters that were compared.")]
    top_features_across_results: tuple[FeatureAcross, ...]
    restricted_count: int
    sae: str
    similarity: str


def search_similar_protein_clusters(app: App, arguments: SimilarArguments) -> SimilarAnswer:
    """Clusters by falling similarity to a sequence."""
    sequence, notes = clean_sequence(arguments.sequence, max_length=MAX_RESIDUES)
    analysis = app.analyse(sequence)
    ranking = app.features.ranking
    near = app.atlas.similar_clusters(
        sequence,
        analysis.embedding,
        analysis.vector,
        ranking=ranking,
        uncharacterized=arguments.uncharacterized_only,
        limit=arguments.top_k,
    )
    hits = near.hits
    return SimilarAnswer(
        query_sequence_length=len(sequence),
        hits=tuple(_similar_cluster(app, analysis, hit) for hit in hits),
        returned=len(hits),
        total=app.atlas.cluster_count(uncharacterized=arguments.uncharacterized_only),
        top_features_across_results=_across(app, analysis, hits),
        restricted_count=near.restricted,
        sae=app.features.sae.id,
        similarity=_formula(ranking, app.encoder.id),
        provenance=provenance(app),
        notes=(*notes, app.atlas.manifest.domain_note),
    )


def _formula(ranking: Ranking, encoder_id: str) -> str:
    """How the score is computed, in words."""
    parts = {f"cosine of embeddings by {encoder_id}": ranking.dense, "cosine of feature profiles": ranking.sparse}
    cosines = " + ".join(f"{weight:g} x {name}" if weight < 1 else name for name, weight in parts.items() if weight)
    if not ranking.alignment:
        return cosines
    return (
        f"{1 - ranking.alignment:g} x ({cosines}) + {ranking.alignment:g} x b / (b + {ranking.half_bits:g}), "
        f"b: bits of the local alignment above chance, of the {ranking.shortlist} nearest by cosine, else 0; "
        "the identical sequence: 1"
    )


def _similar_cluster(app: App, analysis: Analysis, hit: ClusterHit) -> SimilarCluster:
    protein = hit.protein
    return SimilarCluster(
        protein_accession=protein.accession,
        protein_name=protein.protein_name,
        organism=protein.organism,
        sequence=protein.sequence,
        sequence_length=len(protein.sequence),
        similarity_score=round(hit.similarity, 4),
        cluster_size=hit.cluster.size,
        cluster_pct_characterized=hit.cluster.pct_characterized,
        shared_features=_shared(app, analysis, hit),
    )


def _shared(app: App, analysis: Analysis, hit: ClusterHit) -> tuple[SharedFeature, ...]:
    """Features that tell most of what the two have in common, by their share of the dot product."""
    common, ours, theirs = np.intersect1d(
        analysis.vector.indices, hit.features.indices, assume_unique=True, return_indices=True
    )
    products = analysis.vector.values[ours] * hit.features.values[theirs]
    weaker = np.minimum(analysis.profile.values[ours], hit.features.values[theirs] * hit.profile_norm)
    return tuple(
        SharedFeature(
            **labelled(app.features, int(common[at]), float(weaker[at])).model_dump(),
            share=round(float(products[at] / products.sum()), 3),
        )
        for at in telling(app.features, common, weaker, products, SHARED_FEATURES)
    )


def _across(app: App, analysis: Analysis, hits: Sequence[ClusterHit]) -> tuple[FeatureAcross, ...]:
    """Features of the query by the number of hits in which they fire, then by their mean value there."""
    of_query = set(analysis.profile.indices.tolist())
    values: dict[int, list[float]] = defaultdict(list)
    for hit in hits:
        for index, value in zip(hit.features.indices.tolist(), hit.features.values.tolist(), strict=True):
            if index in of_query:
                values[index].append(value * hit.profile_norm)
    ranked = sorted(values.items(), key=lambda item: (-len(item[1]), -sum(item[1]), item[0]))[:FEATURES_ACROSS]
    return tuple(
        FeatureAcross(
            **labelled(app.features, index, max(found)).model_dump(),
            occurrence_count=len(found),
            min_activation=round(min(found), 4),
            max_activation=round(max(found), 4),
            mean_activation=round(sum(found) / len(found), 4),
        )
        for index, found in ranked
    )


SEARCH_SIMILAR = Tool(
    name="esm_atlas_search_similar_protein_clusters",
    title="Clusters of proteins similar to a sequence",
    description="""
    Ranks the clusters of the atlas by SAE features and alignment to a query sequence, each with the features that it
    shares. Finds distant relatives and shared motifs; confirm a relative, or get e-values and percent identity, by
    blast_sequence; for the cluster of one exact sequence use esm_atlas_get_cluster_info. Takes well under a second. The
    nearest clusters are returned, however far: judge by `similarity_score`; none that shares a feature gives empty
    `hits`. Sequences come in full so that they can be passed on.
    """,
    arguments=SimilarArguments,
    answer=SimilarAnswer,
    run=search_similar_protein_clusters,
)
