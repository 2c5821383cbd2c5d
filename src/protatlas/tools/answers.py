"""Parts that several answers share: where an answer comes from, and features with their labels."""

from typing import Annotated

import numpy as np
from pydantic import WithJsonSchema

from protatlas.accession_index import AccessionIndex
from protatlas.app import App
from protatlas.engines.encoders import Float1D
from protatlas.engines.features import FeatureSet, Int1D
from protatlas.records import Reliability
from protatlas.tools.registry import Answer


class Provenance(Answer):
    """Where an answer comes from.

    `origin` is `atlas`, the local one, `accession index`, `database` (one of the operator's) or the name of a service;
    `atlas` is the name of what was asked there, and `version` its build time, UTC, or when the service was asked.
    """

    origin: str = "atlas"
    atlas: str
    version: str


class Sourced(Answer):
    """Answer that says where it comes from and whether the sequence left this machine.

    `sent_to` names the services that got the query; `notes` say what was understood, changed or left out. The fields of
    the provenance are not in the schemas, which would say them once for each tool.
    """

    provenance: Annotated[Provenance, WithJsonSchema({"type": "object"})]
    sent_to: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class LabelledFeature(Answer):
    """A feature; its label is null where the feature has none, or is too weak on the protein for it to hold."""

    feature_index: int
    label: str | None
    label_reliability: Reliability


def provenance(app: App) -> Provenance:
    """Provenance of an answer of the local atlas."""
    return Provenance(atlas=app.atlas.name, version=app.atlas.version)


def index_provenance(index: AccessionIndex) -> Provenance:
    """Provenance of an answer of an accession index."""
    return Provenance(origin="accession index", atlas=index.name, version=index.built)


def labelled(features: FeatureSet, index: int, value: float) -> LabelledFeature:
    """A feature that has that normalised value on a protein, with its label where it is strong enough for it."""
    feature = features.table[index]
    if feature.label_from is not None and value < feature.label_from * features.idf[index]:
        return LabelledFeature(feature_index=index, label=None, label_reliability="none")
    return LabelledFeature(feature_index=index, label=feature.label, label_reliability=feature.label_reliability)


def telling(features: FeatureSet, indices: Int1D, values: Float1D, strength: Float1D, count: int) -> list[int]:
    """Places of the features to show, strongest first: those with a label that holds and can be relied on, then others.

    Parameters
    ----------
    indices, values : int32 and float32, shape (n,)
        Features and their normalised values on a protein.
    strength : float32, shape (n,)
        What ranks them.
    """

    def is_told(at: int) -> bool:
        return labelled(features, int(indices[at]), float(values[at])).label_reliability in ("high", "medium")

    order = np.argsort(-strength, kind="stable").tolist()
    shown = sorted(order, key=lambda at: not is_told(at))[:count]
    return [at for at in order if at in set(shown)]
