"""The tool that leads from an accession to its sequence, and how accessions are resolved."""

from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

from pydantic import Field

from protatlas.accession_index import AccessionIndex
from protatlas.accessions import Accession, parse_accession
from protatlas.app import App
from protatlas.errors import InvalidInput, NotFound
from protatlas.headers import header_identifiers, parse_header
from protatlas.records import Protein
from protatlas.tools.answers import Provenance, Sourced, index_provenance, provenance
from protatlas.tools.registry import Arguments, Tool

DATABASES = {"uniprotkb": "UniProt", "uniparc": "UniParc", "mgy": "MGnify", "img_m": "IMG"}
DATABASES |= {"uniref": "UniRef", "pdb": "PDB", "ncbi": "NCBI"}


class AccessionArguments(Arguments):
    """Arguments of `esm_atlas_lookup_accession`."""

    accession: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            description="UniParc (`UPI0000000001`), MGnify (`MGYP000261684433`), IMG or the operator's own identifier.",
        ),
    ]


class AccessionAnswer(Sourced):
    """Answer of `esm_atlas_lookup_accession`."""

    accession: str
    database: str
    sequence: str
    sequence_length: int


class Holder(NamedTuple):
    """What may hold a sequence: what messages call it, its provenance, and the look-up."""

    name: str
    provenance: Provenance
    find: Callable[[str], list[Protein]]


def lookup_accession(app: App, arguments: AccessionArguments) -> AccessionAnswer:
    """Sequence of an accession of another database than UniProt."""
    accession = parse_accession(arguments.accession)
    if accession and accession.database == "UniProt":
        raise InvalidInput(
            "accession", f"{accession.spelling} is a UniProt accession", "it as the query of esm_atlas_search_uniprot"
        )
    wanted = accession.spelling if accession else arguments.accession.strip()
    holder, found = _first_found(app, wanted, accession)
    protein, notes = _one_of(found, wanted, accession)
    database, stated = _database(protein, accession)
    return AccessionAnswer(
        accession=wanted,
        database=database,
        sequence=protein.sequence,
        sequence_length=len(protein.sequence),
        provenance=holder.provenance,
        notes=(*protein.notes, *notes, *stated, *secondary_notes(protein, wanted)),
    )


def holders(app: App) -> Iterator[Holder]:
    """The atlas, then the accession index; while the atlas is not ready the index comes first."""
    if app.is_ready or app.accessions is None:
        yield _atlas(app)
    if app.accessions:
        yield _index(app.accessions)
        if app.expects_atlas and not app.is_ready:
            yield _atlas(app)


def _atlas(app: App) -> Holder:
    return Holder(f"the atlas {app.atlas.name}", provenance(app), app.atlas.by_identifier)


def _index(index: AccessionIndex) -> Holder:
    return Holder(f"the accession index {index.name}", index_provenance(index), index.find)


def _first_found(app: App, wanted: str, accession: Accession | None) -> tuple[Holder, list[Protein]]:
    """Where an accession is found first, and what it leads to there."""
    asked = []
    others: set[str] = set()
    for holder in holders(app):
        asked.append(holder.name)
        if found := holder.find(wanted):
            return holder, found
        if accession and accession.version:
            others |= {name for protein in holder.find(accession.base) for name in _versions(protein, accession)}
    next_step = f"Held are {', '.join(sorted(others))}: ask for one of these versions." if others else NOTHING_ASKED
    kind = f"{accession.database} record" if accession else "record"
    raise NotFound(kind, wanted, " and ".join(asked), next_step)


NOTHING_ASKED = "Check the spelling; no service is asked, so an accession that no file here has is not found."


def _versions(protein: Protein, accession: Accession) -> list[str]:
    """Versions of an accession among the identifiers of a record."""
    spelt = filter(None, map(parse_accession, protein.accessions))
    return [other.spelling for other in spelt if other.base == accession.base and other.version]


def _one_of(found: list[Protein], wanted: str, accession: Accession | None) -> tuple[Protein, tuple[str, ...]]:
    """The one sequence that is meant: that of the very spelling, or of the newest version where none was asked for."""
    by_sequence = {protein.sequence: protein for protein in reversed(found)}
    exact = {protein.sequence: protein for protein in reversed(found) if wanted in protein.accessions}
    choices = list((exact or by_sequence).values())
    if accession and not accession.version and all(_versions(protein, accession) for protein in choices):
        newest = max(choices, key=lambda protein: _newest(protein, accession))
        shown = f"{accession.base}.{_newest(newest, accession)}"
        return newest, (f"{shown} is shown, the newest of {len(choices)} versions held.",)
    if len(choices) == 1:
        return choices[0], ()
    named = ", ".join(f"{protein.header.split(maxsplit=1)[0]} ({len(protein.sequence)} aa)" for protein in choices)
    raise InvalidInput("accession", f"{wanted} stands for {len(choices)} sequences: {named}", "the sequence itself")


def _newest(protein: Protein, accession: Accession) -> int:
    return max(int(version.rpartition(".")[2]) for version in _versions(protein, accession))


def _database(protein: Protein, accession: Accession | None) -> tuple[str, tuple[str, ...]]:
    """Database of a record, by what the file says, else by the form of its accession."""
    if accession and protein.source == "user":
        note = (
            f"The file does not say which database {accession.spelling} is of; it has the form of {accession.database}."
        )
        return accession.database, (note,)
    if accession and protein.source == "ncbi":
        return accession.database, ()
    return DATABASES.get(protein.source, protein.source), ()


def secondary_notes(protein: Protein, wanted: str) -> tuple[str, ...]:
    """That an accession is a secondary one, where no header of the protein has it."""
    headers = (protein.header, *protein.other_headers)
    if any(wanted.upper() in map(str.upper, header_identifiers(header)) for header in headers):
        return ()
    shown = " and ".join(parse_header(header).accession for header in headers)
    return (f"{wanted} is a secondary accession of {shown}.",)


LOOKUP_ACCESSION = Tool(
    name="esm_atlas_lookup_accession",
    title="Sequence of a UniParc, MGnify, IMG or own accession",
    description="""
    Returns the sequence that one accession stands for, from the databases and private files that this atlas was built
    from. UniProt accessions are `invalid_input` here: pass them to esm_atlas_search_uniprot. Takes milliseconds. An
    accession that the atlas does not hold is `not_found`; no service is asked unless the operator opted in.
    """,
    arguments=AccessionArguments,
    answer=AccessionAnswer,
    run=lookup_accession,
)
