"""Parts that several answers share: where an answer comes from, and features with their labels."""

from typing import Annotated

from pydantic import Field

from protatlas.app import App
from protatlas.records import Feature, Reliability
from protatlas.tools.registry import Answer


class Provenance(Answer):
    """Where an answer comes from."""

    origin: Annotated[str, Field(description="`atlas`: the local atlas alone.")] = "atlas"
    atlas: str
    version: Annotated[str, Field(description="Build time of the atlas, UTC.")]


class Sourced(Answer):
    """Answer that says where it comes from and whether the sequence left this machine."""

    provenance: Provenance
    sent_to: Annotated[tuple[str, ...], Field(description="Services that were sent the query; empty: none.")] = ()
    notes: Annotated[tuple[str, ...], Field(description="What was understood, changed or left out.")] = ()


class LabelledFeature(Answer):
    """A feature with its label."""

    feature_index: int
    label: str | None
    label_reliability: Reliability


def provenance(app: App) -> Provenance:
    """Provenance of an answer of the local atlas."""
    return Provenance(atlas=app.atlas.name, version=app.atlas.version)


def labelled(feature: Feature) -> LabelledFeature:
    """Index, label and reliability of a feature."""
    return LabelledFeature(
        feature_index=feature.feature_index, label=feature.label, label_reliability=feature.label_reliability
    )
