"""The tool that explains one feature."""

from typing import Annotated

from pydantic import Field

from protatlas.app import App
from protatlas.errors import InvalidInput
from protatlas.records import Activation
from protatlas.tools.answers import LabelledFeature, Sourced, provenance
from protatlas.tools.registry import Arguments, Tool

MAX_INDEX = 16_383


class FeatureArguments(Arguments):
    """Arguments of `esm_atlas_get_sae_feature_detail`."""

    feature_index: Annotated[
        int,
        Field(ge=0, le=MAX_INDEX, description="Feature number of this atlas's SAE, such as 127, from another tool."),
    ]


class FeatureAnswer(Sourced, LabelledFeature):
    """Answer of `esm_atlas_get_sae_feature_detail`."""

    summary: str | None
    description: str | None
    category: str | None
    activation_pattern: str | None
    exemplar_protein_families: str | None
    f1: Annotated[float | None, Field(description="Of label and feature on unseen proteins.")]
    uniref90_frequency: Annotated[int, Field(description="Proteins of `reference` where it is active.")]
    reference: str
    top_swissprot_activations: tuple[Activation, ...]
    decoder_nearest_neighbors: Annotated[
        tuple[int, ...], Field(description="Features with like meaning, closest first.")
    ]
    sae: str


def get_sae_feature_detail(app: App, arguments: FeatureArguments) -> FeatureAnswer:
    """What a feature means, as its reference proteins tell."""
    size = app.features.sae.size
    if arguments.feature_index >= size:
        raise InvalidInput(
            "feature_index", f"{arguments.feature_index} is not a feature of {app.features.sae.id}", f"0 to {size - 1}"
        )
    feature, restricted = app.feature(arguments.feature_index)
    return FeatureAnswer(
        feature_index=feature.feature_index,
        label=feature.label,
        label_reliability=feature.label_reliability,
        summary=feature.summary,
        description=feature.description,
        category=feature.category,
        activation_pattern=feature.activation_pattern,
        exemplar_protein_families=feature.exemplar_protein_families,
        f1=feature.f1,
        uniref90_frequency=feature.frequency,
        reference=app.features.reference,
        top_swissprot_activations=feature.top_swissprot_activations,
        decoder_nearest_neighbors=feature.decoder_nearest_neighbors,
        sae=app.features.sae.id,
        provenance=provenance(app),
        notes=(f"{restricted} proteins are withheld by the operator of this server.",) if restricted else (),
    )


GET_SAE_FEATURE_DETAIL = Tool(
    name="esm_atlas_get_sae_feature_detail",
    title="Meaning of one SAE feature",
    description="""
    Explains one feature number of this atlas's sparse autoencoder: label with reliability, where it fires, protein
    families, strongest Swiss-Prot proteins, frequency and neighbouring features. Use it on numbers that
    esm_atlas_get_protein_details or esm_atlas_search_similar_protein_clusters returned; numbers of other SAEs mean
    something else. Labels are computed hypotheses, and the proteins listed share the feature without being relatives.
    A number outside the dictionary is `invalid_input`.
    """,
    arguments=FeatureArguments,
    answer=FeatureAnswer,
    run=get_sae_feature_detail,
)
