"""The `protatlas` command: serve, build, upload, index-accessions, inspect, search, blast, blastdb, lookup, tools.

Results go to stdout, as tables or with `--json` as JSON; progress, log and errors to stderr. Exit codes: 0 done, 1
failed or nothing kept, 2 bad input, 3 not found.
"""

import asyncio
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from pydantic import JsonValue
from rich.table import Table

from protatlas import __version__, logs
from protatlas.accession_index import build_accession_index
from protatlas.app import App
from protatlas.atlas.format import REPORT, verify
from protatlas.atlas.ingest import NothingKept, Report
from protatlas.atlas.plan import BuildPlan
from protatlas.atlas.reader import Atlas
from protatlas.atlas.store import QdrantServer
from protatlas.atlas.upload import upload_atlas
from protatlas.blast.searches import Searches
from protatlas.blast_commands import StateOption, blastdb, open_services, state_folder
from protatlas.engines.published import ModelFiles
from protatlas.errors import InvalidInput, ProtatlasError
from protatlas.opening import build_progress, bytes_progress, open_in_background, open_now
from protatlas.sequences import read_text
from protatlas.sequences.files import STDIN, raw_stream
from protatlas.server import Page, build_server, http_app, leave, serve_http, serve_stdio
from protatlas.settings import SETTINGS, STORE_API_KEY
from protatlas.structures.report import StructureReport
from protatlas.terminal import (
    ERR,
    EXIT_FAILED,
    OUT,
    JsonOption,
    errors,
    exit_code_of,
    new_table,
    option,
    print_json,
)
from protatlas.tools import TOOLS
from protatlas.tools.accessions import AccessionArguments, lookup_accession
from protatlas.tools.blast import BLAST_SEQUENCE, MAX_REPORT, blast_sequence
from protatlas.tools.calls import Metrics
from protatlas.tools.proteins import SearchArguments, search_uniprot
from protatlas.tools.registry import Answer, describe, parse
from protatlas.tools.similarity import SimilarArguments, search_similar_protein_clusters
from protatlas.tools.structures import PAGE_ALIASES, PAGE_URI, viewer_html

FASTA_WIDTH = 60
SHOWN = 20
"""Records of a report that the terminal shows."""

cli = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
cli.add_typer(blastdb, name="blastdb")


AtlasOption = Annotated[Path | None, option("atlas")]
FastaArgument = Annotated[list[Path], typer.Argument(help="FASTA files, plain or compressed; - is stdin.")]
AccessionsOption = Annotated[Path | None, option("accessions")]
StoreOption = Annotated[str | None, option("store")]
RestrictedOption = Annotated[Path | None, option("restricted")]
ModelOption = Annotated[str | None, option("model")]
SaeOption = Annotated[str | None, option("sae")]
LabelsOption = Annotated[Path | None, option("labels")]
DeviceOption = Annotated[str, option("device")]
DtypeOption = Annotated[str, option("dtype")]


class Clustering(StrEnum):
    """What clusters are made by."""

    FEATURES = "features"
    IDENTITY = "identity"


class BlastProgram(StrEnum):
    """Programs of `blast`."""

    BLASTP = "blastp"
    BLASTN = "blastn"
    BLASTX = "blastx"
    TBLASTN = "tblastn"
    TBLASTX = "tblastx"


class NoProgress:
    """Progress that nobody waits for."""

    def report(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Say nothing."""


class LogLevel(StrEnum):
    """Levels of the log."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


def _errors(as_json: bool = False) -> AbstractContextManager[None]:
    """As `terminal.errors`; a build that kept nothing shows its report, and has failed."""
    return errors(as_json, explain=_explained, exit_code=_exit_code)


def _explained(error: ProtatlasError, as_json: bool) -> Mapping[str, object]:
    if not isinstance(error, NothingKept):
        return {}
    if not as_json:
        _print_report(error.report)
    return {"report": error.report.model_dump(mode="json")}


def _exit_code(error: ProtatlasError) -> int:
    return EXIT_FAILED if isinstance(error, NothingKept) else exit_code_of(error)


def _version(wanted: bool) -> None:
    if wanted:
        OUT.print(f"protatlas {__version__}", highlight=False)
        raise typer.Exit


@cli.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """A protein atlas that you run yourself: an MCP server and the engine behind it."""


@cli.command()
def serve(
    atlas: AtlasOption = None,
    accessions: AccessionsOption = None,
    restricted: RestrictedOption = None,
    store: StoreOption = None,
    model: ModelOption = None,
    sae: SaeOption = None,
    labels: LabelsOption = None,
    device: DeviceOption = SETTINGS["device"].default,
    dtype: DtypeOption = SETTINGS["dtype"].default,
    state: StateOption = None,
    ncbi_email: Annotated[str | None, option("ncbi-email")] = None,
    ncbi_url: Annotated[str | None, option("ncbi-url")] = None,
    ebi_email: Annotated[str | None, option("ebi-email")] = None,
    ebi_url: Annotated[str | None, option("ebi-url")] = None,
    stdio: Annotated[bool, typer.Option("--stdio", help="Serve one client over stdin and stdout.")] = False,
    host: Annotated[str, option("host")] = SETTINGS["host"].default,
    port: Annotated[int, option("port", min=0, max=65_535)] = int(SETTINGS["port"].default),
    allow_host: Annotated[list[str] | None, option("allow-host")] = None,
    allow_origin: Annotated[list[str] | None, option("allow-origin")] = None,
    log_level: Annotated[LogLevel, option("log-level")] = LogLevel.INFO,
) -> None:
    """Serve an atlas over MCP: Streamable HTTP at /mcp, or stdio.

    The starter atlas is built at the first start, once; the server answers meanwhile and says how far it is.
    """
    logs.configure(log_level.value)
    metrics = Metrics()
    with _errors():
        remotes = open_services(folder := state_folder(state), ncbi_email, ncbi_url, ebi_email, ebi_url)
        app = App(
            models=_models(model, sae, labels, device, dtype),
            accessions=accessions,
            restricted=restricted,
            searches=Searches.at(folder, remotes=remotes),
            lists_jobs=stdio,
        )
        if atlas:
            app.open(atlas, server=_server(store) if store else None)
        elif store:
            raise InvalidInput("store", "no atlas is named", "--atlas with the atlas that was uploaded there")
        else:
            open_in_background(app, ERR)
    server = build_server(app, TOOLS, [viewer_page()], metrics=metrics)
    if stdio:
        serve_stdio(server)
    else:
        web = http_app(
            server,
            host=host,
            ready=lambda: app.is_ready,
            metrics=metrics,
            allowed_hosts=allow_host or [],
            allowed_origins=allow_origin or [],
        )
        ERR.print(f"Serving MCP at http://{host}:{port}/mcp (Ctrl+C stops it)", highlight=False)
        serve_http(web, host=host, port=port)
    app.close()
    leave()


def _models(model: str | None, sae: str | None, labels: Path | None, device: str, dtype: str) -> ModelFiles | None:
    """The language model of the options, null where none is named.

    Raises
    ------
    InvalidInput
        A model without its sparse autoencoder, or either of its parts without a model.
    """
    if model and sae:
        return ModelFiles(model, sae, labels, device, dtype)
    if model:
        raise InvalidInput("sae", "none is named for the model", "--sae with its sparse autoencoder")
    if sae or labels:
        raise InvalidInput("model", "none is named for the sparse autoencoder", "--model with the one it reads")
    return None


def _server(store: str) -> QdrantServer:
    """The Qdrant server at an address, with the key of the environment."""
    return QdrantServer(store, os.environ.get(STORE_API_KEY, "").strip() or None)


def viewer_page() -> Page:
    """Page that hosts show beside a structure."""
    return Page(
        uri=PAGE_URI,
        title="Structure viewer",
        description="Draws the coordinates of a ui_show_protein_structure result.",
        html=viewer_html(),
        aliases=PAGE_ALIASES,
    )


@cli.command()
def build(
    fasta: FastaArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Atlas directory to make, such as my.atlas.")],
    name: Annotated[str | None, typer.Option(help="Name of the atlas; by default that of the directory.")] = None,
    pfam: Annotated[Path | None, typer.Option(help="Pfam HMM file to find domains with.", exists=True)] = None,
    domains: Annotated[Path | None, typer.Option(help="Table of known domains.", exists=True)] = None,
    domain_families: Annotated[int | None, typer.Option(help="Pfam families behind the table of domains.")] = None,
    go: Annotated[Path | None, typer.Option(help="Table of GO terms.", exists=True)] = None,
    lineages: Annotated[Path | None, typer.Option(help="Table of lineages by organism.", exists=True)] = None,
    structures: Annotated[
        Path | None, typer.Option(help="Folder of PDB, mmCIF and BinaryCIF files, or an archive of them.", exists=True)
    ] = None,
    secondary: Annotated[
        Path | None, typer.Option(help="Secondary and primary accessions, as in UniProt's sec_ac.txt.", exists=True)
    ] = None,
    restricted: Annotated[
        Path | None, typer.Option(help="Accessions, MD5 keys and taxa that the atlas does not show.", exists=True)
    ] = None,
    taxonomy: Annotated[
        bool, typer.Option("--taxonomy", help="Look up the lineages of taxon ids (needs protatlas[taxonomy]).")
    ] = False,
    clusters: Annotated[
        Clustering, typer.Option(help="Cluster by shared features, or by sequence identity (protatlas[identity]).")
    ] = Clustering.FEATURES,
    model: ModelOption = None,
    sae: SaeOption = None,
    labels: LabelsOption = None,
    device: DeviceOption = SETTINGS["device"].default,
    dtype: DtypeOption = SETTINGS["dtype"].default,
    update: Annotated[bool, typer.Option("--update", help="Add the files to the atlas at the output.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on the first record with a problem.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an atlas at the output.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build an atlas from FASTA files. A build that was stopped goes on where it was.

    Every record that is left out is named with its line and reason; exit code 1 tells that none could be kept.
    """
    from protatlas.atlas.builder import build_atlas  # brings SciPy and Arrow, which the other commands do not wait for

    with _errors(as_json):
        app = App(models=_models(model, sae, labels, device, dtype))
    with _errors(as_json), _kept_on_disk(fasta) as files, build_progress(ERR) as progress:
        plan = BuildPlan(
            fasta=files,
            output=output,
            name=name or output.stem,
            domains=domains,
            domain_families=domain_families,
            pfam=pfam,
            go=go,
            lineages=lineages,
            structures=structures,
            secondary=secondary,
            restricted=restricted,
            taxonomy=taxonomy,
            clusters=clusters.value,
            update=update,
            strict=strict,
            overwrite=overwrite,
        )
        manifest, report = build_atlas(plan, encoder=app.encoder, features=app.features, progress=progress)
        app.open(output)
    if as_json:
        print_json(
            {
                "manifest": manifest.model_dump(mode="json"),
                "restricted": _withheld(app.atlas),
                "report": report.model_dump(mode="json"),
            }
        )
    else:
        _print_report(report)
        _print_manifest(app.atlas)
    app.close()


@contextmanager
def _kept_on_disk(files: list[Path]) -> Iterator[tuple[Path, ...]]:
    """Files that can be read more than once: what comes from stdin or a pipe is written down first."""
    with TemporaryDirectory(prefix="protatlas-") as folder:

        def kept(number: int, path: Path) -> Path:
            if path.is_file():
                return path
            if path != STDIN and (path.is_dir() or not path.exists()):
                raise InvalidInput("fasta", f"{path} is {'a directory' if path.is_dir() else 'not there'}", "a file")
            copy = Path(folder, str(number), "stdin" if path == STDIN else path.name)
            copy.parent.mkdir()
            with raw_stream(path) as source, copy.open("wb") as to:
                shutil.copyfileobj(source, to)
            return copy

        yield tuple(kept(number, path) for number, path in enumerate(files))


def _print_report(report: Report) -> None:
    old = f" ({report.from_atlas} of them from the old atlas)" if report.from_atlas else ""
    counts = (
        f"{report.proteins} proteins{old}, {report.exact_duplicates} exact duplicates, "
        f"{report.merged_sequences} merged, {len(report.conflicts)} identifier conflicts, {len(report.skipped)} skipped"
    )
    ERR.print(f"{report.records_read} records read: {counts}", highlight=False)
    for note, records in report.notes.items():
        ERR.print(f"  {records} records: {note}", markup=False, highlight=False)
    for conflict in report.conflicts[:SHOWN]:
        proteins = ", ".join(conflict.protein_hashes)
        ERR.print(f"  {conflict.identifier} stands for {proteins}", markup=False, highlight=False)
    for skip in report.skipped[:SHOWN]:
        ERR.print(f"  {skip.file} line {skip.line} {skip.identifier}: {skip.reason}", markup=False, highlight=False)
    if len(report.skipped) > SHOWN:
        ERR.print(f"  and {len(report.skipped) - SHOWN} more, in {REPORT} of the atlas", highlight=False)
    if report.structures:
        _print_structures(report.structures)


def _print_structures(report: StructureReport) -> None:
    kept = f" ({report.kept} of them from the old atlas)" if report.kept else ""
    counts = (
        f"structures of {report.proteins} proteins{kept}; {report.used} files used, {report.surpassed} surpassed by "
        f"better ones, {len(report.unmatched)} unmatched, {len(report.unreadable)} unreadable, "
        f"{len(report.without_plddt)} without pLDDT"
    )
    ERR.print(f"{report.files} coordinate files: {counts}", highlight=False)
    named = (*report.unreadable, *report.unmatched, *report.without_plddt)
    for file in named[:SHOWN]:
        ERR.print(f"  {file.file}: {file.reason}", markup=False, highlight=False)
    if len(named) > SHOWN:
        ERR.print(f"  and {len(named) - SHOWN} more, in {REPORT} of the atlas", highlight=False)


@cli.command()
def inspect(
    atlas: AtlasOption = None,
    check: Annotated[bool, typer.Option("--check", help="Compare every file with its checksum.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what is in an atlas: counts, models, sources and licences."""
    app = App()
    with _errors(as_json):
        open_now(app, atlas, ERR)
        if check:
            verify(app.atlas.path, app.atlas.manifest)
            ERR.print(f"{len(app.atlas.manifest.files)} files are as they were written", highlight=False)
    if as_json:
        print_json(app.atlas.manifest.model_dump(mode="json"))
    else:
        _print_manifest(app.atlas)
    app.close()


@cli.command()
def upload(
    atlas: Annotated[Path, typer.Argument(help="Atlas directory.")],
    store: Annotated[str, option("store")],
    as_json: JsonOption = False,
) -> None:
    """Copy the points of an atlas to a Qdrant server, for serve --store. A run that was stopped goes on where it was.

    Each build has a collection of its own; an old one stays until you delete it.
    """
    with _errors(as_json), build_progress(ERR) as progress:
        server = _server(store)
        done = upload_atlas(atlas, server, progress=lambda points, total: progress("upload", points, total))
    if as_json:
        print_json(done.model_dump())
    else:
        counts = f"{done.points:,} points, {done.added:,} of them new"
        OUT.print(f"{counts}: collection {done.collection} at {server.url}", highlight=False)


def _withheld(atlas: Atlas) -> dict[str, Any] | None:
    """What the list of an atlas withholds, null where it has none."""
    return atlas.withheld.model_dump(mode="json") if atlas.restrictions else None


def _print_manifest(atlas: Atlas) -> None:
    manifest = atlas.manifest
    table = new_table(f"{manifest.name} ({atlas.path})", "what", "value")
    for what in (
        "proteins",
        "clusters",
        "residues",
        "with_domains",
        "domain_families",
        "with_lineage",
        "unknown_taxa",
        "structures",
    ):
        value = getattr(manifest, what)
        table.add_row(what.replace("_", " "), "not known" if value is None else f"{value:,}")
    if withheld := atlas.withheld if atlas.restrictions else None:
        table.add_row("restricted", f"{withheld.proteins:,} proteins, {withheld.clusters:,} clusters")
    table.add_row("built", f"{manifest.version} by protatlas {manifest.protatlas_version}")
    table.add_row("encoder", manifest.encoder)
    table.add_row("features", f"{manifest.features} ({manifest.feature_count:,})")
    for source in manifest.sources:
        terms = f"{source.attribution}, {source.licence}" if source.licence else "licence not stated"
        table.add_row(source.role, f"{source.name}: {terms}; SHA-256 {source.sha256[:12]}")
    OUT.print(table)


@cli.command()
def search(
    query: Annotated[str | None, typer.Argument(help="Accession, words or fields, such as gene:INS.")] = None,
    sequence: Annotated[
        str | None, typer.Option("--sequence", "-s", help="Sequence or FASTA file; - is stdin.")
    ] = None,
    atlas: AtlasOption = None,
    restricted: RestrictedOption = None,
    model: ModelOption = None,
    sae: SaeOption = None,
    labels: LabelsOption = None,
    device: DeviceOption = SETTINGS["device"].default,
    dtype: DtypeOption = SETTINGS["dtype"].default,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=12, help="Number of results.")] = 6,
    as_json: JsonOption = False,
) -> None:
    """Search an atlas by text, or by sequence for similar clusters: the answers of the tools as a table."""
    with _errors(as_json):
        app = App(models=_models(model, sae, labels, device, dtype), restricted=restricted)
        if (query is None) == (sequence is None):
            raise InvalidInput("query", "both or neither of query and --sequence", "one of them")
        open_now(app, atlas, ERR)
        if query is not None:
            _print_answer(search_uniprot(app, SearchArguments(query=query, size=min(limit, 6))), as_json, _found)
        else:
            text = _sequence_text(sequence or "-")
            similar = search_similar_protein_clusters(app, SimilarArguments(sequence=text, top_k=limit))
            _print_answer(similar, as_json, _similar)
    app.close()


def _sequence_text(given: str) -> str:
    """Text of a sequence argument: itself, or of the file or stdin that it names."""
    if given == "-":
        return read_text(sys.stdin.buffer)
    is_path = len(given) < 256 and Path(given).is_file()
    return read_text(Path(given)) if is_path else given


def _print_answer(answer: Answer, as_json: bool, table_of: Callable[[Any], Table]) -> None:
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        OUT.print(table_of(answer))


def _found(answer: Any) -> Table:
    table = new_table(
        f"{answer.total_results} proteins for {answer.query_label}", "accession", "gene", "name", "organism", "aa"
    )
    for protein in answer.proteins:
        table.add_row(
            protein.accession, protein.gene, protein.protein_name, protein.organism, str(protein.sequence_length)
        )
    return table


def _similar(answer: Any) -> Table:
    table = new_table(
        f"{answer.returned} of {answer.total} clusters", "score", "accession", "name", "organism", "size", "shared"
    )
    for hit in answer.hits:
        shared = "; ".join(f.label or f"feature {f.feature_index}" for f in hit.shared_features[:3])
        score, size = f"{hit.similarity_score:.3f}", str(hit.cluster_size)
        table.add_row(score, hit.protein_accession, hit.protein_name, hit.organism, size, shared)
    return table


@cli.command()
def blast(
    sequence: Annotated[str, typer.Argument(help="Sequence or FASTA file; - is stdin.")],
    program: Annotated[BlastProgram, typer.Option(help="Program; all but blastp need BLAST+.")] = BlastProgram.BLASTP,
    database: Annotated[str | None, typer.Option(help="One of your own (blastdb list); by default the atlas.")] = None,
    expect: Annotated[float | None, typer.Option(help="Highest E-value of a hit; by default 10.")] = None,
    atlas: AtlasOption = None,
    restricted: RestrictedOption = None,
    state: StateOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=500, help="Number of hits.")] = 10,
    show_alignments: Annotated[bool, typer.Option("--alignments", help="Print the report with alignments.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Search an atlas or a database of your own by alignment."""
    with _errors(as_json):
        app = App(restricted=restricted, searches=Searches.at(state_folder(state)))
        open_now(app, atlas, ERR)
        asked: dict[str, JsonValue] = {"sequence": _sequence_text(sequence), "program": program.value}
        asked |= {"hitlist_size": limit, "database": database, "engine": "local", "raw_report_chars": MAX_REPORT}
        answer = asyncio.run(
            blast_sequence(app, parse(BLAST_SEQUENCE, asked | ({"expect": expect} if expect else {})), NoProgress())
        )
    if show_alignments and not as_json:
        sys.stdout.write(answer.raw_report_excerpt + "\n")
    else:
        _print_answer(answer, as_json, _aligned)
        for note in answer.notes:
            ERR.print(note, markup=False, highlight=False)
    app.close()


def _aligned(answer: Any) -> Table:
    total = "" if answer.total is None else f" of {answer.total}"
    title = f"{answer.returned}{total} hits in {answer.database}, {answer.engine}"
    found = new_table(title, "accession", "title", "organism", "bits", "E-value", "identity", "coverage")
    for hit in answer.hits:
        numbers = f"{hit.bit_score:.1f}", f"{hit.evalue:.2g}", f"{hit.identity_pct:.0f} %", f"{hit.coverage_pct:.0f} %"
        found.add_row(hit.accession, hit.title, hit.organism, *numbers)
    return found


@cli.command()
def lookup(
    accession: Annotated[str, typer.Argument(help="Accession or identifier, such as MGYP000261684433.")],
    atlas: AtlasOption = None,
    accessions: AccessionsOption = None,
    restricted: RestrictedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the sequence of an accession as FASTA; from an accession index alone where only that is named."""
    with _errors(as_json):
        app = App(accessions=accessions, restricted=restricted, expects_atlas=bool(atlas or not accessions))
        if app.expects_atlas:
            open_now(app, atlas, ERR)
        answer = lookup_accession(app, AccessionArguments(accession=accession))
    if as_json:
        print_json(answer.model_dump(mode="json"))
    else:
        lines = "\n".join(textwrap.wrap(answer.sequence, FASTA_WIDTH))
        sys.stdout.write(f">{answer.accession} {answer.database}\n{lines}\n")
        for note in answer.notes:
            ERR.print(note, markup=False, highlight=False)
    app.close()


@cli.command()
def index_accessions(
    fasta: FastaArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Index file to make, such as my.accessions.")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an index at the output.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Index FASTA files by accession, for look-ups in files of any size. A run that was stopped goes on where it was.

    Plain files are read in place and have to stay; the sequences of compressed ones are kept in the index.
    """
    with _errors(as_json), bytes_progress(ERR) as progress:
        missing = [path for path in fasta if path != STDIN and not path.is_file()]
        if missing:
            raise InvalidInput("fasta", f"{missing[0]} is no file", "a file; pass a pipe as - (stdin)")
        counts = build_accession_index(fasta, output, progress=progress, overwrite=overwrite)
    if as_json:
        print_json(counts._asdict())
    else:
        unnamed = f", {counts.unnamed:,} records without an identifier" if counts.unnamed else ""
        OUT.print(f"{counts.records:,} records, {counts.entries:,} identifiers{unnamed}: {output}", highlight=False)


@cli.command()
def tools(as_json: JsonOption = False) -> None:
    """List the tools that the server offers; with --json as clients see them."""
    listed = [describe(tool) for tool in TOOLS]
    if as_json:
        print_json({"tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed]})
        return
    table = new_table("", "tool", "title")
    for tool in listed:
        table.add_row(tool.name, tool.title)
    OUT.print(table)


def main() -> None:
    """Run the command."""
    cli()
