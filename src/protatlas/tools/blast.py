"""The tools that align a sequence with others, and that look after such searches."""

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from protatlas.app import App
from protatlas.blast.databases import Described
from protatlas.blast.jobs import Job, SearchRunning
from protatlas.blast.search import REMOTE_ENGINES, Search
from protatlas.blast.searches import ATLAS
from protatlas.blast.text import text
from protatlas.engines.aligners import MAX_QUERY
from protatlas.errors import InvalidInput, NotFound
from protatlas.records import Protein, protein_hash
from protatlas.reports import Hit, Hsp, Program, Report, molecules_of
from protatlas.sequences import clean_nucleotides, clean_sequence
from protatlas.tools.answers import Provenance, Sourced, provenance
from protatlas.tools.registry import Answer, Arguments, Progress, Tool

MAX_NUCLEOTIDES = 50_000
MAX_CHARACTERS = 4 * MAX_NUCLEOTIDES
"""Of the raw text: the letters with header, numbers and line breaks."""
LOOK_S = 1.0
"""How often a waiting call tells how far its search is."""
FOREIGN_LOOK_S = 0.25
"""How often it looks at a search that another process runs."""
RAW_CHARACTERS, MAX_REPORT = 2_000, 50_000


class BlastArguments(Arguments):
    """Arguments of `blast_sequence`."""

    sequence: Annotated[
        str,
        Field(
            min_length=1,
            max_length=MAX_CHARACTERS,
            description="One sequence, plain, FASTA or GenBank block: up to 4,000 residues or 50,000 bases.",
        ),
    ]
    program: Annotated[Program, Field(description="blastx and tblastn translate; all but blastp need BLAST+.")] = (
        "blastp"
    )
    database: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=128,
            description="`atlas` (default), one of the operator's, or for a service its own, e.g. swissprot.",
        ),
    ] = None
    expect: Annotated[float, Field(gt=0, description="Highest E-value of a hit, e.g. 0.001 for sure relatives.")] = 10
    hitlist_size: Annotated[int, Field(ge=1, le=500, description="Most hits returned; `total` counts all.")] = 10
    megablast: Annotated[bool, Field(description="For blastn alone.")] = False
    max_wait: Annotated[float, Field(gt=0, le=3600, description="Seconds to wait; the search goes on after it.")] = 600
    poll_interval: Annotated[float | None, Field(ge=1, description="Least seconds between polls of a service.")] = None
    engine: Annotated[
        Literal["auto", "local", "ncbi", "ebi"], Field(description="`auto`: here, else a service that is switched on.")
    ] = "auto"
    raw_report_chars: Annotated[
        int, Field(ge=0, le=MAX_REPORT, description="Characters of the text report with alignments.")
    ] = RAW_CHARACTERS


class BlastHit(Answer):
    """A sequence that resembles the query. Ranges are those of its best alignment; a start above the end is the minus
    strand.
    """

    accession: str
    title: str
    organism: str | None
    taxid: int | None
    length: int
    bit_score: float
    evalue: float
    identity_pct: Annotated[float, Field(description="0 to 100.")]
    coverage_pct: Annotated[float, Field(description="Aligned part of the query.")]
    query_start: Annotated[int, Field(description="1-based, inclusive; start > end: minus strand.")]
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
    database_version: str | None
    database_sequences: int | None
    database_residues: int | None
    query_length: int
    statistics: dict[str, float]


class JobArguments(Arguments):
    """Arguments of `blast_job`."""

    rid: Annotated[str | None, Field(min_length=4, max_length=128, description="Of blast_sequence; none: list.")] = None
    action: Annotated[Literal["status", "result", "cancel"], Field(description="cancel ends it for all.")] = "status"


class JobAnswer(Answer):
    """Answer of `blast_job`: the search of that `rid`, or without one all that run, each with rid, state, program and
    database. `result` is the answer of `blast_sequence`.
    """

    state: str | None
    message: str
    running: tuple[dict[str, Any], ...] = ()
    result: dict[str, Any] | None = None


async def blast_sequence(app: App, arguments: BlastArguments, progress: Progress) -> BlastAnswer:
    """Sequences that align with a query, best first."""
    started = time.monotonic()
    search, notes = _search(app, arguments)
    job = app.blast.runner.start(search, poll_s=arguments.poll_interval or 0.0)
    job = await _ended(app, job, started, arguments.max_wait, progress)
    return _answer(app, job, time.monotonic() - started, arguments.raw_report_chars, notes)


def _search(app: App, arguments: BlastArguments) -> tuple[Search, tuple[str, ...]]:
    """The search that the arguments ask for, and notes on how they were read."""
    if arguments.megablast and arguments.program != "blastn":
        raise InvalidInput(
            "megablast", f"true with program {arguments.program}", "false; megablast is a mode of blastn"
        )
    if molecules_of(arguments.program)[0] == "protein":
        sequence, notes = clean_sequence(arguments.sequence, max_length=MAX_QUERY)
        app.atlas.refuse_restricted(protein_hash(sequence))
    else:
        sequence, notes = clean_nucleotides(arguments.sequence, max_length=MAX_NUCLEOTIDES)
    engine, target = app.blast.choose(arguments.program, arguments.database, arguments.engine, letters=len(sequence))
    search = Search(
        sequence=sequence,
        program=arguments.program,
        engine=engine,
        database=target.name if target else arguments.database,
        version=target.version if target else None,
        max_evalue=arguments.expect if "expect" in arguments.model_fields_set else None,
        limit=arguments.hitlist_size,
        is_megablast=arguments.megablast,
    )
    return search, notes


async def _ended(app: App, job: Job, started: float, max_wait_s: float, progress: Progress) -> Job:
    """The job after its end.

    Raises
    ------
    SearchRunning
        It takes longer than `max_wait_s`; it goes on.
    """
    runner = app.blast.runner
    while not job.is_over:
        waited = time.monotonic() - started
        message = runner.message(job.rid)
        if (left := max_wait_s - waited) <= 0:
            raise SearchRunning(job, waited_s=max_wait_s, now=f"It {message}. " if message else "")
        progress.report(waited, max_wait_s, message or "another process runs the search")
        if future := runner.ended(job.rid):
            await asyncio.wait({asyncio.wrap_future(future)}, timeout=min(left, LOOK_S))
        else:
            await asyncio.sleep(min(left, FOREIGN_LOOK_S))
        job = runner.get(job.rid)
    return job


def _report_of(job: Job) -> Report:
    """Report of a job that is over; the error that ended it is raised."""
    if job.failure:
        raise job.failure
    if job.report is None:
        raise NotFound("result", job.shown_id, "the searches", "It was cancelled; begin it again with blast_sequence.")
    return job.report


def _answer(app: App, job: Job, elapsed_s: float, characters: int, notes: Sequence[str]) -> BlastAnswer:
    report = _named(app, job.search, _report_of(job))
    return _answered(app, report, job.shown_id, elapsed_s, characters, notes)


def _named(app: App, search: Search, report: Report) -> Report:
    """A report of this machine with what the atlas or database knows of each hit; what it withholds is left out."""
    if search.engine in REMOTE_ENGINES:
        return report
    keys, known = [hit.key for hit in report.hits], dict[str, Described]()
    if search.database == app.atlas.name:
        known = {key: _described(protein) for key, protein in app.atlas.proteins_by_key(keys).items()}
    elif search.database:
        known = app.blast.databases.describe(search.database, keys)
    hits = [hit.model_copy(update=known[hit.key].model_dump()) for hit in report.hits if hit.key in known]
    return report.model_copy(update={"hits": tuple(hits)})


def _described(protein: Protein) -> Described:
    return Described(
        accession=protein.accession,
        title=protein.protein_name or protein.header,
        organism=protein.organism,
        taxid=protein.organism_id,
    )


def _answered(
    app: App, report: Report, rid: str, elapsed_s: float, characters: int, notes: Sequence[str]
) -> BlastAnswer:
    whole, database = text(report), report.database
    is_atlas = report.origin is None and database.name == app.atlas.name
    return BlastAnswer(
        rid=rid,
        hits=tuple(_hit(report, hit) for hit in report.hits),
        total=report.total,
        program=report.program,
        database=ATLAS if is_atlas else database.name,
        hitCount=len(report.hits),
        returned=len(report.hits),
        truncated=None if report.total is None else report.total > len(report.hits),
        elapsed_seconds=round(elapsed_s, 3),
        raw_report_excerpt=whole[:characters],
        raw_report_truncated=len(whole) > characters,
        engine=report.engine,
        database_version=database.version or database.date,
        database_sequences=database.sequences,
        database_residues=database.residues,
        query_length=report.query_length,
        statistics=dict(report.statistics),
        notes=(*notes, *report.settings),
        sent_to=(report.origin.service,) if report.origin else (),
        provenance=provenance(app) if is_atlas else _elsewhere(report),
    )


def _elsewhere(report: Report) -> Provenance:
    """Provenance of what is not the atlas: a database of the operator, or one of a service and when it was asked."""
    database, origin = report.database, report.origin
    if origin is None:
        return Provenance(origin="database", atlas=database.name, version=database.version or "")
    when = f"{database.date}, " if database.date else ""
    return Provenance(origin=origin.service, atlas=database.name, version=f"{when}retrieved {origin.retrieved_at}")


def _hit(report: Report, hit: Hit) -> BlastHit:
    best = hit.best
    query, subject = _range(best, of_query=True), _range(best, of_query=False)
    return BlastHit(
        accession=hit.accession,
        title=hit.title,
        organism=hit.organism,
        taxid=hit.taxid,
        length=hit.length,
        bit_score=round(hit.bit_score, 1),
        evalue=float(f"{hit.evalue:.2e}"),
        identity_pct=round(100 * best.identity, 1),
        coverage_pct=round(100 * report.coverage(hit), 1),
        query_start=query[0],
        query_end=query[1],
        subject_start=subject[0],
        subject_end=subject[1],
    )


def _range(hsp: Hsp, *, of_query: bool) -> tuple[int, int]:
    """First and last position; on the minus strand the larger comes first."""
    start, end = (hsp.query_start, hsp.query_end) if of_query else (hsp.subject_start, hsp.subject_end)
    frame = hsp.query_frame if of_query else hsp.subject_frame
    return (max(start, end), min(start, end)) if frame is not None and frame < 0 else (start, end)


def blast_job(app: App, arguments: JobArguments) -> JobAnswer:
    """Status or result of a search, its end, or which searches run."""
    runner = app.blast.runner
    if arguments.rid is None:
        return _running(app)
    try:
        job = runner.cancel(arguments.rid) if arguments.action == "cancel" else runner.get(arguments.rid)
    except NotFound:
        if arguments.action != "result":
            raise
        return _foreign(app, arguments.rid)
    if arguments.action == "result":
        return _result(app, job)
    ends = job.failure.message if job.failure else runner.message(job.rid) or f"The search is {job.state}."
    goes_on = " The service may go on with it." if job.state == "cancelled" and job.remote_id else ""
    return JobAnswer(state=job.state, message=ends + goes_on)


def _running(app: App) -> JobAnswer:
    if not app.lists_jobs:
        raise InvalidInput("rid", "none is given", "the rid of a search; all are listed over stdio alone")
    found = [
        {"rid": job.shown_id, "state": job.state, "program": job.search.program, "database": job.search.database}
        for job in app.blast.runner.running()
    ]
    return JobAnswer(state=None, message=f"{len(found)} searches run.", running=tuple(found))


def _result(app: App, job: Job) -> JobAnswer:
    if molecules_of(job.search.program)[0] == "protein":
        app.atlas.refuse_restricted(protein_hash(job.search.sequence))
    if not job.is_over:
        message = app.blast.runner.message(job.rid)
        raise SearchRunning(job, waited_s=0, now=f"It {message}. " if message else "")
    answer = _answer(app, job, (job.ended_at or job.begun_at) - job.begun_at, RAW_CHARACTERS, ())
    return JobAnswer(state=job.state, message="The search is done.", result=answer.model_dump(mode="json"))


def _foreign(app: App, rid: str) -> JobAnswer:
    """Result of a search at a service that was not begun here."""
    report = app.blast.fetch(rid)
    answer = _answered(app, report, rid, 0.0, RAW_CHARACTERS, ())
    return JobAnswer(state="done", message="It was not begun here.", result=answer.model_dump(mode="json"))


BLAST_SEQUENCE = Tool(
    name="blast_sequence",
    title="BLAST search",
    description="""
    Aligns a sequence with every protein of the atlas (or another database): homologs with E-value, percent identity and
    ranges. For distant relatives by features use esm_atlas_search_similar_protein_clusters, with a name or accession
    esm_atlas_search_uniprot. About 0.2 s in 20,000 proteins, minutes at a service, which is asked only where the
    operator allows it. No relative gives empty `hits`; DNA for blastp or several records are errors.
    """,
    arguments=BlastArguments,
    answer=BlastAnswer,
    run=blast_sequence,
    has_progress=True,
    open_world=True,
)
BLAST_JOB = Tool(
    name="blast_job",
    title="BLAST job",
    description="""
    Status, result or end of a search that blast_sequence began, by its rid, also after a restart or an error that
    kept the rid. To search anew use blast_sequence.
    """,
    arguments=JobArguments,
    answer=JobAnswer,
    run=blast_job,
    open_world=True,
    ends_work=True,
)
