"""Tools that lead to a protein and describe it: search, accession, details."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import Field

from protatlas.accessions import Accession, parse_accession
from protatlas.app import Analysis, App
from protatlas.atlas.query import parse_query
from protatlas.errors import SequenceTooLongForFeatures
from protatlas.headers import Header, parse_header
from protatlas.records import Protein, Region, protein_hash
from protatlas.sequences import clean_sequence
from protatlas.tools.accessions import Holder, holders, secondary_notes
from protatlas.tools.answers import LabelledFeature, Sourced, labelled, provenance, telling
from protatlas.tools.registry import Answer, Arguments, Tool, sequence_field

MAX_RESIDUES = 4_000
MAX_FEATURE_RESIDUES = 2_048
TOP_FEATURES = 12
MAX_REGIONS = 6
WITHHELD = "All that matches is restricted by the operator of this server."


class SearchArguments(Arguments):
    """Arguments of `esm_atlas_search_uniprot`."""

    query: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="Accession (`P69905`), words (`hemoglobin alpha`) or fields: `gene:HBA1 AND organism_id:9606`, "
            '`protein_name:"cytochrome c" NOT reviewed:false`, `taxonomy_id:40674`, `length:[100 TO 200]`, '
            "`xref:pfam-PF00042`, `go:0005344`. Blank means AND; OR, NOT, quotes, brackets and a final * work.",
        ),
    ]
    size: Annotated[int, Field(ge=1, le=6, description="Number of proteins, 1 to 6.")] = 6


class FoundProtein(Answer):
    """A protein of a search."""

    accession: str
    protein_name: str | None
    gene: str | None
    organism: str | None
    function: Annotated[str | None, Field(description="From GO terms.")]
    sequence: str
    sequence_length: int
    organism_id: int | None
    reviewed: bool | None
    same_sequence: Annotated[tuple[str, ...], Field(description="Further records of exactly this sequence.")]


class SearchAnswer(Sourced):
    """Answer of `esm_atlas_search_uniprot`; `restricted_count` counts what would stand among these and is withheld."""

    query_label: str
    num_results: int
    restricted_count: int = 0
    total_results: Annotated[int, Field(description="Proteins of the whole atlas that match.")]
    proteins: tuple[FoundProtein, ...]


def search_uniprot(app: App, arguments: SearchArguments) -> SearchAnswer:
    """Proteins of the atlas for a query; an accession is looked up exactly."""
    accession = parse_accession(arguments.query)
    if accession and accession.database == "UniProt":
        return _by_accession(app, accession, arguments.size)
    query, label = parse_query(arguments.query), arguments.query.strip()
    found = app.atlas.search(query, limit=arguments.size)
    nothing = (
        f"No protein of the atlas {app.atlas.name} matches every part of the query. Try fewer words, OR, or a final *."
    )
    return SearchAnswer(
        query_label=label,
        num_results=len(found.proteins),
        restricted_count=found.restricted,
        total_results=found.total,
        proteins=tuple(_found_protein(protein) for protein in found.proteins),
        provenance=provenance(app),
        notes=() if found.total else (WITHHELD if found.restricted else nothing,),
    )


def _by_accession(app: App, accession: Accession, size: int) -> SearchAnswer:
    """The entry of a UniProt accession: in the atlas, else in the accession index; the isoform where it is held."""
    entry, _, isoform = accession.base.partition("-")
    asked, name, found = _first_holding(app, dict.fromkeys((accession.base, entry)))
    notes = ["The entry version after the dot was ignored; one version is held."] if accession.version else []
    if not found:
        held = f"{' and '.join(holder.name for holder in asked)} {'do' if len(asked) > 1 else 'does'} not hold {name}"
        notes.append(f"{held[0].upper()}{held[1:]}, and no service was asked.")
    elif name != accession.base:
        notes.append(f"Isoform {isoform} of {entry} is not held; the entry {entry} is shown instead.")
    for protein in found[:size]:
        notes += (*protein.notes, *secondary_notes(protein, name))
    return SearchAnswer(
        query_label=f"accession:{name}",
        num_results=len(found[:size]),
        total_results=len(found),
        proteins=tuple(_found_protein(protein, name) for protein in found[:size]),
        provenance=asked[-1].provenance,
        notes=tuple(notes),
    )


def _first_holding(app: App, names: Iterable[str]) -> tuple[list[Holder], str, list[Protein]]:
    """The holders that were asked until one held a name, that name, and its proteins; the first name where none did."""
    asked: list[Holder] = []
    for holder in holders(app):
        asked.append(holder)
        for name in names:
            if found := holder.find(name):
                return asked, name, found
    return asked, next(iter(names)), []


def _found_protein(protein: Protein, asked: str | None = None) -> FoundProtein:
    """Protein by the record that was asked for by its accession, else by its first record."""
    records: list[Protein | Header] = [protein, *map(parse_header, protein.other_headers)]
    shown = next((record for record in records if record.accession == asked), protein)
    return FoundProtein(
        accession=shown.accession,
        protein_name=shown.protein_name,
        gene=shown.gene,
        organism=shown.organism,
        function=f"GO: {'; '.join(protein.go.values())}" if protein.go else None,
        sequence=protein.sequence,
        sequence_length=len(protein.sequence),
        organism_id=shown.organism_id,
        reviewed=shown.reviewed,
        same_sequence=tuple(record.accession for record in records if record is not shown),
    )


class DetailsArguments(Arguments):
    """Arguments of `esm_atlas_get_protein_details`."""

    sequence: Annotated[
        str,
        sequence_field(
            max_residues=MAX_RESIDUES,
            description="One protein: one-letter codes or FASTA, up to 4,000 characters; up to 2,048 residues for a "
            "sequence that the atlas does not hold.",
        ),
    ]


class FeatureProfile(LabelledFeature):
    """A feature on this protein."""

    description: str | None
    value: Annotated[float, Field(description="Maximum over residues / reference maximum x log10 IDF.")]
    residue_regions: Annotated[
        tuple[Region, ...], Field(description="1-based, inclusive, in the sequence passed; raw mean activation.")
    ]


class DetailsAnswer(Sourced):
    """Answer of `esm_atlas_get_protein_details`."""

    sequence: str
    sequence_length: int
    protein_hash: str
    accession: Annotated[str | None, Field(description="Null: the atlas does not hold this exact sequence.")]
    header: str | None
    source: str | None
    protein_name: str | None
    gene: str | None
    organism: str | None
    domains: Annotated[tuple[str, ...], Field(description="Pfam domains as `PF00042 Globin 28-138`.")]
    sae: str
    sae_features: Annotated[
        tuple[FeatureProfile, ...],
        Field(description="Those whose label is reliable here, then the strongest; by falling value."),
    ]
    active_features: int
    ptm: float | None
    mean_plddt: float | None
    structure_available: bool
    structure_kind: str | None
    features_computed_on_miss: bool
    folded_on_miss: bool


def get_protein_details(app: App, arguments: DetailsArguments) -> DetailsAnswer:
    """Record and feature profile of a sequence; never folds."""
    sequence, notes = clean_sequence(arguments.sequence, max_length=MAX_RESIDUES)
    key = protein_hash(sequence)
    protein = app.atlas.protein(key)
    if protein is None and len(sequence) > MAX_FEATURE_RESIDUES:
        raise SequenceTooLongForFeatures(actual_length=len(sequence), max_length=MAX_FEATURE_RESIDUES)
    analysis = app.analyse(sequence)
    structure = app.atlas.structure_record(key)
    return DetailsAnswer(
        sequence=sequence,
        sequence_length=len(sequence),
        protein_hash=key,
        accession=protein and protein.accession,
        header=protein and protein.header,
        source=protein and protein.source,
        protein_name=protein and protein.protein_name,
        gene=protein and protein.gene,
        organism=protein and protein.organism,
        domains=tuple(f"{d.accession} {d.name} {d.start}-{d.end}" for d in protein.domains) if protein else (),
        sae=app.features.sae.id,
        sae_features=feature_profile(app, analysis),
        active_features=len(analysis.profile.indices),
        ptm=structure and structure.ptm,
        mean_plddt=structure and structure.mean_plddt,
        structure_available=structure is not None,
        structure_kind=structure and structure.kind,
        features_computed_on_miss=protein is None,
        folded_on_miss=False,
        provenance=provenance(app),
        notes=(*notes, *_record_notes(protein), app.atlas.manifest.domain_note) if protein else notes,
    )


def _record_notes(protein: Protein) -> tuple[str, ...]:
    """What the records of the protein say beside its first one."""
    others = ", ".join(parse_header(header).accession for header in protein.other_headers)
    same = (f"Further records of exactly this sequence: {others}.",) if others else ()
    return (*protein.notes, *same)


def feature_profile(app: App, analysis: Analysis) -> tuple[FeatureProfile, ...]:
    """Features of a protein that tell most, by falling value, with their regions."""
    profile = analysis.profile
    shown = telling(app.features, profile.indices, profile.values, profile.values, TOP_FEATURES)
    return tuple(
        FeatureProfile(
            **labelled(app.features, index, value).model_dump(),
            description=app.features.table[index].description,
            value=round(float(value), 4),
            residue_regions=_strongest_regions(app.features.regions(analysis.activations, index)),
        )
        for index, value in zip(profile.indices[shown].tolist(), profile.values[shown].tolist(), strict=True)
    )


def _strongest_regions(regions: tuple[Region, ...]) -> tuple[Region, ...]:
    """Regions with the highest mean activation, in the order of the sequence, rounded for reading."""
    kept = sorted(regions, key=lambda region: -region.mean_activation)[:MAX_REGIONS]
    return tuple(
        region.model_copy(update={"mean_activation": round(region.mean_activation, 3)})
        for region in sorted(kept, key=lambda region: region.start)
    )


SEARCH_UNIPROT = Tool(
    name="esm_atlas_search_uniprot",
    title="Search proteins by name, gene, organism or accession",
    description="""
    Finds proteins of this atlas by text, by UniProt-style fields or by UniProt accession, and returns their names and
    sequences. Use it first when you have a name or a UniProt accession; for UniParc, MGnify or IMG use
    esm_atlas_lookup_accession; when you have a sequence use esm_atlas_get_protein_details or blast_sequence.
    Takes milliseconds. No match is an empty list. Accept an accession only if a returned `accession` equals it.
    """,
    arguments=SearchArguments,
    answer=SearchAnswer,
    run=search_uniprot,
)
GET_PROTEIN_DETAILS = Tool(
    name="esm_atlas_get_protein_details",
    title="Record and feature profile of a protein sequence",
    description="""
    Describes one exact sequence: names and domains where the atlas holds it, its strongest SAE features with the
    residues where they fire, and whether a structure is stored. For relatives use
    esm_atlas_search_similar_protein_clusters, for a picture ui_show_protein_structure. A sequence that the atlas does
    not hold gets its features computed up to 2,048 residues (under a second), else `sequence_too_long_for_features`;
    it is never folded. Labels are hypotheses: see `label_reliability`.
    """,
    arguments=DetailsArguments,
    answer=DetailsAnswer,
    run=get_protein_details,
)
