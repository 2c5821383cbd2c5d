"""The commands `protatlas blastdb`, and where searches keep what they need."""

from pathlib import Path
from typing import Annotated

import typer
from platformdirs import user_data_path
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from protatlas.blast.databases import Databases, Manifest
from protatlas.blast.search import LocalEngines
from protatlas.blast.searches import DATABASES
from protatlas.services import ebi, ncbi
from protatlas.services.ebi import EbiBlast
from protatlas.services.etiquette import Etiquette
from protatlas.services.http import Identity
from protatlas.services.ncbi import NcbiBlast
from protatlas.services.remote import RemoteBlast
from protatlas.terminal import ERR, OUT, JsonOption, errors, new_table, option, print_json

CONTACTS = "contacts.sqlite"

StateOption = Annotated[Path | None, option("state")]

blastdb = typer.Typer(
    no_args_is_help=True, help="Databases of your own sequences for blast_sequence: add, list, remove."
)


def state_folder(state: Path | None) -> Path:
    """Folder of jobs, databases and the record of contacts."""
    return state or user_data_path("protatlas", appauthor=False)


def open_services(
    folder: Path, ncbi_email: str | None, ncbi_url: str | None, ebi_email: str | None, ebi_url: str | None
) -> dict[str, RemoteBlast]:
    """Clients of the services that an address is given for; all processes over one folder share the etiquette.

    Raises
    ------
    InvalidInput
        An address is none that a service could write to.
    """
    etiquette, remotes = Etiquette(folder / CONTACTS), dict[str, RemoteBlast]()
    if ncbi_email:
        who = Identity.of(ncbi_email, ncbi.EMAIL_SETTING)
        remotes["ncbi"] = NcbiBlast(who, etiquette, url=ncbi_url or ncbi.URL)
    if ebi_email:
        who = Identity.of(ebi_email, ebi.EMAIL_SETTING)
        remotes["ebi"] = EbiBlast(who, etiquette, url=ebi_url or ebi.URL)
    return remotes


@blastdb.command()
def add(
    name: Annotated[str, typer.Argument(help="Name to search it under.")],
    fasta: Annotated[list[Path], typer.Argument(help="FASTA files, plain or compressed.")],
    is_nucleotide: Annotated[bool, typer.Option("--nucleotide", help="The files hold DNA or RNA.")] = False,
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a database of FASTA files, which are not needed after it."""
    bars = Progress(SpinnerColumn(), TextColumn("{task.completed:,} records"), TimeElapsedColumn(), console=ERR)
    with errors(as_json), bars:
        task = bars.add_task("records", total=None)
        databases = Databases(state_folder(state) / DATABASES)
        manifest = databases.add(
            name,
            fasta,
            molecule="nucleotide" if is_nucleotide else "protein",
            progress=lambda done: bars.update(task, completed=done),
        )
        LocalEngines().prepare(databases.target(name))
    _print([manifest], as_json)


@blastdb.command("list")
def list_databases(state: StateOption = None, as_json: JsonOption = False) -> None:
    """List the databases with their size and origin."""
    databases = Databases(state_folder(state) / DATABASES)
    _print([databases.manifest(name) for name in databases.names()], as_json)


@blastdb.command()
def remove(
    name: Annotated[str, typer.Argument(help="Name of the database.")],
    state: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a database; the files that it was made of stay."""
    with errors(as_json):
        Databases(state_folder(state) / DATABASES).remove(name)
    if not as_json:
        ERR.print(f"{name} is removed", markup=False, highlight=False)


def _print(manifests: list[Manifest], as_json: bool) -> None:
    if as_json:
        print_json([manifest.model_dump(mode="json") for manifest in manifests])
        return
    table = new_table("", "name", "holds", "sequences", "letters", "left out", "version", "files")
    for manifest in manifests:
        numbers = (f"{count:,}" for count in (manifest.sequences, manifest.residues, manifest.skipped))
        files = ", ".join(f"{source.name} (SHA-256 {source.sha256[:12]})" for source in manifest.sources)
        table.add_row(manifest.name, manifest.molecule, *numbers, manifest.version, files)
    OUT.print(table)
