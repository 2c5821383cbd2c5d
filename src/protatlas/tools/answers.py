"""Parts that several answers share: where an answer comes from, and features with their labels."""

from protatlas.accession_index import AccessionIndex
from protatlas.app import App
from protatlas.records import Feature, Reliability
from protatlas.tools.registry import Answer


class Provenance(Answer):
    """Where an answer comes from.

    `origin` is `atlas`, the local one, or `accession index`; `atlas` its name and `version` its build time, UTC.
    """

    origin: str = "atlas"
    atlas: str
    version: str


class Sourced(Answer):
    """Answer that says where it comes from and whether the sequence left this machine.

    `sent_to` names the services that got the query; `notes` say what was understood, changed or left out.
    """

    provenance: Provenance
    sent_to: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class LabelledFeature(Answer):
    """A feature with its label."""

    feature_index: int
    label: str | None
    label_reliability: Reliability


def provenance(app: App) -> Provenance:
    """Provenance of an answer of the local atlas."""
    return Provenance(atlas=app.atlas.name, version=app.atlas.version)


def index_provenance(index: AccessionIndex) -> Provenance:
    """Provenance of an answer of an accession index."""
    return Provenance(origin="accession index", atlas=index.name, version=index.built)


def labelled(feature: Feature) -> LabelledFeature:
    """Index, label and reliability of a feature."""
    return LabelledFeature(
        feature_index=feature.feature_index, label=feature.label, label_reliability=feature.label_reliability
    )
