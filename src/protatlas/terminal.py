"""What the commands share: where they print, options of the settings table, and errors as sentences and exit codes.

Results go to stdout, as tables or as JSON; progress, log and errors to stderr. Exit codes: 0 done, 1 failed, 2 bad
input, 3 not found.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from protatlas.errors import InvalidInput, NotFound, ProtatlasError
from protatlas.settings import SETTINGS

OUT = Console()
ERR = Console(stderr=True)
EXIT_FAILED, EXIT_BAD_INPUT, EXIT_NOT_FOUND = 1, 2, 3

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def option(flag: str, **more: Any) -> Any:
    """Option of the settings table."""
    setting = SETTINGS[flag]
    return typer.Option(f"--{flag}", envvar=setting.variable, help=setting.help, **more)


@contextmanager
def errors(
    as_json: bool = False,
    *,
    explain: Callable[[ProtatlasError, bool], Mapping[str, object]] = lambda *_: {},
    exit_code: Callable[[ProtatlasError], int] | None = None,
) -> Iterator[None]:
    """Turn an error into its sentence on stderr, or its object on stdout, and an exit code.

    `explain` may print more of it, and gives what its JSON object has besides.
    """
    try:
        yield
    except ProtatlasError as error:
        more = explain(error, as_json)
        if as_json:
            print_json({**error.answer(), **more})
        ERR.print(f"Error: {error.message}", style="red", markup=False, highlight=False)
        raise typer.Exit((exit_code or exit_code_of)(error)) from error


def exit_code_of(error: ProtatlasError) -> int:
    """Exit code of an error."""
    if isinstance(error, NotFound):
        return EXIT_NOT_FOUND
    return EXIT_BAD_INPUT if error.code == InvalidInput.code else EXIT_FAILED


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def new_table(title: str, *columns: str) -> Table:
    """Table with these columns."""
    made = Table(title=title or None, title_justify="left")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made
