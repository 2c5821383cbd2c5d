"""A published language model with its sparse autoencoder and labels, in place of the embedded pack."""

from dataclasses import dataclass
from pathlib import Path

from protatlas.engines.dictionaries import describe_dictionary, open_dictionary, own_statistics
from protatlas.engines.feature_tables import read_published_table
from protatlas.engines.features import FeatureSet, Ranking
from protatlas.engines.language_models import LanguageModel, open_language_model
from protatlas.records import Feature

RANKING = Ranking(dense=0.0, sparse=1.0, shortlist=300, alignment=0.5, half_bits=30.0)
ACTIVE_THRESHOLD, PROFILE_SIZE = 0.5, 300
"""Normalised value of an active feature, as the public atlas has it, and most features of a profile."""


@dataclass(frozen=True)
class ModelFiles:
    """Where the parts are: `model` and `sae` are folders or names on a hub, `labels` the published feature table."""

    model: str
    sae: str
    labels: Path | None = None
    device: str = "cpu"
    dtype: str = "float32"


def open_published(files: ModelFiles) -> tuple[LanguageModel, FeatureSet]:
    """The encoder at the layer of its sparse autoencoder, and the features.

    Raises
    ------
    InvalidInput
        The parts do not belong together, or lack tensors or statistics; the message says which.
    DependencyUnavailable
        A part is not there, or what runs it is not installed.
    """
    described = describe_dictionary(files.sae)
    table = read_published_table(files.labels, size=described.size) if files.labels else None
    encoder = open_language_model(files.model, layer=described.layer, device=files.device, dtype=files.dtype)
    sae, weights = open_dictionary(described, encoder)
    idf, maximum = (table.idf, table.maximum) if table else own_statistics(weights, described)
    features = FeatureSet(
        sae,
        idf=idf,
        maximum=maximum,
        ranking=RANKING,
        active_threshold=ACTIVE_THRESHOLD,
        profile_size=PROFILE_SIZE,
        reference=f"the table {files.labels.name}" if files.labels else f"the proteins behind {described.name}",
        table=lambda: table.features(sae.neighbours) if table else _unlabelled(sae.size),
    )
    return encoder, features


def _unlabelled(size: int) -> tuple[Feature, ...]:
    """Records that say of every feature that nothing is known."""
    empty = dict.fromkeys(
        ("label", "f1", "concept", "summary", "description", "category", "activation_pattern"), None
    ) | {"exemplar_protein_families": None, "label_reliability": "none", "frequency": 0, "idf": 0.0}
    rest = {"max_activation": 0.0, "top_swissprot_activations": (), "decoder_nearest_neighbors": ()}
    return tuple(Feature.model_validate({"feature_index": at, **empty, **rest}) for at in range(size))
