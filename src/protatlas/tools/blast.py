"""The tool that aligns a sequence with the proteins of the atlas."""

from typing import Annotated, Literal

from pydantic import Field

from protatlas.app import App
from protatlas.blast.report import Hit, Report, text
from protatlas.blast.search import Finished
from protatlas.engines.aligners import MAX_QUERY, Alignment
from protatlas.errors import DependencyUnavailable, InvalidInput
from protatlas.records import Protein, protein_hash
from protatlas.sequences import clean_sequence
from protatlas.tools.answers import Sourced, provenance
from protatlas.tools.registry import Answer, Arguments, Tool

Program = Literal["blastn", "blastp", "blastx", "tblastn", "tblastx"]
LOCAL_DATABASE = "atlas"
MAX_CHARACTERS = 20_000
"""Of the raw text: `MAX_QUERY` residues with header, numbers and line breaks several times over."""


class BlastArguments(Arguments):
    """Arguments of `blast_sequence`."""

    sequence: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_CHARACTERS,
            description="One protein: one-letter codes, FASTA or a GenBank block, up to 4,000 residues.",
        ),
    ]
    program: Annotated[Program, Field(description="Only blastp runs here.")] = "blastp"
    database: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=128,
            description="`atlas`, the default: all its proteins.",
        ),
    ] = None
    expect: Annotated[float, Field(gt=0, description="Highest E-value of a hit, e.g. 0.001 for sure relatives.")] = 10
    hitlist_size: Annotated[int, Field(ge=1, le=500, description="Most hits returned; `total` counts all.")] = 10
    megablast: Annotated[bool, Field(description="For blastn alone; leave out.")] = False
    max_wait: Annotated[
        float, Field(gt=0, le=3600, description="Seconds to wait; repeat the call to join a search.")
    ] = 600
    poll_interval: Annotated[float | None, Field(ge=1, description="Seconds between polls of a remote search.")] = None
    engine: Annotated[
        Literal["auto", "local", "ncbi", "ebi"],
        Field(description="`auto` and `local` search here; others are not served."),
    ] = "auto"
    raw_report_chars: Annotated[
        int, Field(ge=0, le=50_000, description="Characters of the text report with alignments.")
    ] = 2_000


class BlastHit(Answer):
    """A protein that resembles the query. Ranges are those of its best alignment."""

    accession: str
    title: str
    organism: str | None
    taxid: int | None
    length: int
    bit_score: float
    evalue: float
    identity_pct: Annotated[float, Field(description="0 to 100.")]
    coverage_pct: Annotated[float, Field(description="Aligned part of the query, 0 to 100.")]
    query_start: Annotated[int, Field(description="1-based; ends are inclusive.")]
    query_end: int
    subject_start: int
    subject_end: int


class BlastAnswer(Sourced):
    """Answer of `blast_sequence`: hits best first, `rid` the same for equal searches."""

    rid: str
    hits: tuple[BlastHit, ...]
    total: Annotated[int | None, Field(description="Before hitlist_size; null: unknown.")]
    status: Literal["READY"] = "READY"
    program: Program
    database: str
    hitCount: int  # noqa: N815  # name of the contract
    returned: int
    truncated: bool | None
    elapsed_seconds: float
    raw_report_excerpt: str
    raw_report_truncated: bool
    engine: str
    database_version: str
    database_sequences: int
    database_residues: int
    query_length: int


def blast_sequence(app: App, arguments: BlastArguments) -> BlastAnswer:
    """Proteins of the atlas that align with a sequence, best first."""
    _refuse_what_is_not_served(arguments, app.atlas.name)
    sequence, notes = clean_sequence(arguments.sequence, max_length=MAX_QUERY)
    app.atlas.refuse_restricted(protein_hash(sequence))
    finished = app.blast.search(
        sequence, max_evalue=arguments.expect, limit=arguments.hitlist_size, max_wait_s=arguments.max_wait
    )
    return _answer(app, arguments, _report(app, finished), finished, notes)


def _refuse_what_is_not_served(arguments: BlastArguments, atlas: str) -> None:
    if arguments.megablast and arguments.program != "blastn":
        raise InvalidInput(
            "megablast", f"true with program {arguments.program}", "false; megablast is a mode of blastn"
        )
    if arguments.engine in ("ncbi", "ebi"):
        raise DependencyUnavailable(
            f"BLAST at {arguments.engine.upper()}",
            "No sequence leaves this machine; leave `engine` out to search the atlas by blastp.",
        )
    if arguments.program != "blastp":
        raise DependencyUnavailable(
            f"A nucleotide search engine for {arguments.program}",
            "Proteins are searched by blastp here; translate a nucleotide sequence first.",
        )
    if arguments.database not in (None, LOCAL_DATABASE, atlas):
        raise DependencyUnavailable(
            f"The database {arguments.database}",
            f"It is not on this machine; leave `database` out to search the atlas {atlas}.",
        )


def _report(app: App, finished: Finished) -> Report:
    """Report of a local search, with what the atlas knows of each hit."""
    found, aligner = finished.alignments, app.blast.aligner
    proteins = app.atlas.proteins_by_key([hit.key for hit in found.hits])
    return Report(
        engine=aligner.name,
        program="blastp",
        database=f"{app.atlas.name} {app.atlas.version}",
        sequences=aligner.sequences,
        residues=aligner.residues,
        query_length=found.query_length,
        hits=tuple(_known(proteins[hit.key], hit) for hit in found.hits),
        total=found.total,
        settings=found.settings,
    )


def _known(protein: Protein, alignment: Alignment) -> Hit:
    return Hit(
        accession=protein.accession,
        title=protein.protein_name or protein.header,
        organism=protein.organism,
        taxid=protein.organism_id,
        alignment=alignment,
    )


def _answer(
    app: App, arguments: BlastArguments, report: Report, finished: Finished, notes: tuple[str, ...]
) -> BlastAnswer:
    whole = text(report)
    return BlastAnswer(
        rid=finished.rid,
        hits=tuple(_hit(report, hit) for hit in report.hits),
        total=report.total,
        program=arguments.program,
        database=LOCAL_DATABASE,
        hitCount=len(report.hits),
        returned=len(report.hits),
        truncated=report.total > len(report.hits),
        elapsed_seconds=round(finished.elapsed_s, 3),
        raw_report_excerpt=whole[: arguments.raw_report_chars],
        raw_report_truncated=len(whole) > arguments.raw_report_chars,
        engine=report.engine,
        database_version=app.atlas.version,
        database_sequences=report.sequences,
        database_residues=report.residues,
        query_length=report.query_length,
        notes=(*notes, *report.settings),
        provenance=provenance(app),
    )


def _hit(report: Report, hit: Hit) -> BlastHit:
    found = hit.alignment
    return BlastHit(
        accession=hit.accession,
        title=hit.title,
        organism=hit.organism,
        taxid=hit.taxid,
        length=found.subject_length,
        bit_score=round(found.bit_score, 1),
        evalue=float(f"{found.evalue:.2e}"),
        identity_pct=round(100 * found.identity, 1),
        coverage_pct=round(100 * report.coverage(hit), 1),
        query_start=found.query_start,
        query_end=found.query_end,
        subject_start=found.subject_start,
        subject_end=found.subject_end,
    )


BLAST_SEQUENCE = Tool(
    name="blast_sequence",
    title="Protein BLAST against the atlas",
    description="""
    Aligns a protein sequence with every protein of the atlas: homologs with E-value, percent identity and ranges. For
    distant relatives by features use esm_atlas_search_similar_protein_clusters, with a name or accession
    esm_atlas_search_uniprot. Runs here by phmmer, about 0.2 s in 20,000 proteins; nothing is sent away. No relative
    gives empty `hits`; DNA, several records or a remote database are errors.
    """,
    arguments=BlastArguments,
    answer=BlastAnswer,
    run=blast_sequence,
)
