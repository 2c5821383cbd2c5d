"""The tool that shows a structure, and its page."""

from collections.abc import Sequence
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import Field

from protatlas.app import App
from protatlas.errors import DependencyUnavailable, InvalidInput, SequenceTooLongToFold
from protatlas.records import StructureKind, protein_hash
from protatlas.sequences import clean_sequence
from protatlas.structures.coordinates import Structure, View, check_view, view_warnings, viewer_payload
from protatlas.tools.answers import Sourced, provenance
from protatlas.tools.registry import Answer, Arguments, Reply, Tool, sequence_field

MAX_RESIDUES = 4_000
MAX_FOLD_RESIDUES = 700
PAGE_URI = "ui://protatlas/structure-viewer/v1"
PAGE_ALIASES = ("ui://biohub-public/structure-viewer/v1",)
COORDINATES_META = "protatlas/coordinates"


class ViewOptions(View):
    """How the structure is drawn."""

    feature_index: Annotated[int | None, Field(ge=0, le=16_383, description="SAE feature to paint.")] = None


class StructureArguments(Arguments):
    """Arguments of `ui_show_protein_structure`."""

    sequence: Annotated[
        str,
        sequence_field(
            max_residues=MAX_RESIDUES, description="One protein: one-letter codes or FASTA, up to 4,000 characters."
        ),
    ]
    view_options: Annotated[ViewOptions | None, Field(description="How to draw it.")] = None


class StructureSource(Answer):
    """Where coordinates come from."""

    provider: str
    protein_hash: str
    kind: Annotated[Literal["atlas", "fold"], Field(description="Stored, or folded for this call.")]
    folded_on_miss: bool
    model: str | None
    structure_kind: StructureKind
    entry: str
    entry_chain: str
    method: str | None


class Descriptor(Answer):
    """The coordinate file."""

    file_name: str
    sha256: str
    format: str
    first_residue: int
    last_residue: int
    residues_with_coordinates: int
    identity: Annotated[float, Field(description="Share of these equal to the sequence.")]
    source: StructureSource


class StructureAnswer(Sourced):
    """Answer of `ui_show_protein_structure`."""

    sequence_length: int
    descriptor: Descriptor
    preview_status: Literal["ready", "unavailable"]
    inspection_status: Annotated[
        Literal["complete", "partial", "differs"],
        Field(description="Coordinates cover all of the sequence, a part, or differ."),
    ]
    warnings: tuple[str, ...]
    mean_plddt: float | None
    ptm: float | None


def show_protein_structure(app: App, arguments: StructureArguments) -> Reply:
    """Stored structure of a sequence with a picture of it."""
    sequence, notes = clean_sequence(arguments.sequence, max_length=MAX_RESIDUES)
    structure = _stored(app, sequence)
    view = arguments.view_options or ViewOptions()
    values = _feature_values(app, sequence, view)
    check_view(structure, view, feature_values=values)
    warnings = view_warnings(structure, view)
    images: tuple[bytes, ...] = ()
    try:
        images = (
            app.renderer.draw_png(structure, View(**view.model_dump(exclude={"feature_index"})), feature_values=values),
        )
    except DependencyUnavailable as problem:
        warnings.append(f"No picture: {problem.message}")
    answer = StructureAnswer(
        sequence_length=len(sequence),
        descriptor=_descriptor(structure),
        preview_status="ready" if images else "unavailable",
        inspection_status=_inspection(structure, len(sequence)),
        warnings=tuple(warnings),
        mean_plddt=structure.record.mean_plddt,
        ptm=structure.record.ptm,
        provenance=provenance(app),
        notes=notes,
    )
    meta = {COORDINATES_META: viewer_payload(structure), "protatlas/view": view.model_dump(mode="json")}
    return Reply(answer, images=images, meta=meta)


def _stored(app: App, sequence: str) -> Structure:
    structure = app.atlas.structure(protein_hash(sequence))
    if structure is not None:
        return structure
    if len(sequence) > MAX_FOLD_RESIDUES:
        raise SequenceTooLongToFold(actual_length=len(sequence), max_length=MAX_FOLD_RESIDUES)
    raise DependencyUnavailable(
        "A structure of this sequence",
        f"The atlas {app.atlas.name} stores no coordinates for it and this server has no folding engine. Look for a "
        "relative with a structure by esm_atlas_search_similar_protein_clusters, or build the atlas with --structures.",
    )


def _feature_values(app: App, sequence: str, view: ViewOptions) -> Sequence[float] | None:
    """Activation of the feature on each residue divided by its peak, 0 to 1; null where no feature is painted."""
    if view.feature_index is None or view.color_by != "feature":
        return None
    if view.feature_index >= app.features.sae.size:
        size = app.features.sae.size
        raise InvalidInput("feature_index", f"{view.feature_index} is not a feature of this SAE", f"0 to {size - 1}")
    trace = app.analyse(sequence).activations.trace(view.feature_index)
    return [float(value) for value in trace / (trace.max() or 1.0)]


def _descriptor(structure: Structure) -> Descriptor:
    record = structure.record
    return Descriptor(
        file_name=structure.file_name,
        sha256=structure.sha256,
        format="mmcif",
        first_residue=record.first,
        last_residue=record.last,
        residues_with_coordinates=record.residues,
        identity=record.identity,
        source=StructureSource(
            provider="protatlas",
            protein_hash=record.protein_hash,
            kind="atlas",
            folded_on_miss=False,
            model=record.model,
            structure_kind=record.kind,
            entry=record.entry,
            entry_chain=record.chain,
            method=record.method,
        ),
    )


def _inspection(structure: Structure, length_aa: int) -> Literal["complete", "partial", "differs"]:
    if structure.record.identity < 1:
        return "differs"
    return "complete" if structure.record.residues == length_aa else "partial"


def viewer_html() -> str:
    """The page that draws the coordinates of a result."""
    return files("protatlas.structures").joinpath("viewer.html").read_text(encoding="utf-8")


SHOW_PROTEIN_STRUCTURE = Tool(
    name="ui_show_protein_structure",
    title="Show the structure of a protein",
    description="""
    Draws the stored structure of an exact sequence: a PNG, a descriptor of the coordinate file with its origin, and an
    interactive view in hosts that have one. Chain A, residues 1 to N of the sequence passed; `highlights` point out
    residues and check their identity. Takes about a second. Without stored coordinates and a folding engine it is
    `dependency_unavailable`, over 700 residues `sequence_too_long_to_fold`; use esm_atlas_get_protein_details to see
    beforehand whether a structure is stored.
    """,
    arguments=StructureArguments,
    answer=StructureAnswer,
    run=show_protein_structure,
    ui=PAGE_URI,
)
