"""BLAST+ where it is installed: the five programs over databases that `makeblastdb` makes here.

Options and exit codes are those of the BLAST+ user manual (NBK279684, appendices, read 2026-12). No shell is involved:
a program runs inside the folder of its database, which BLAST+ then finds by a name without blanks.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from protatlas.errors import DependencyUnavailable, InvalidInput
from protatlas.reports import Molecule, Program

INSTALL = "Install BLAST+ (Debian and Ubuntu: ncbi-blast+; conda: blast), so that its programs are on the PATH."
MAKER = "makeblastdb"
NAME = "db"
"""Of the database files in their folder."""
KEY_PREFIX = "k"
"""Before a key, so that `makeblastdb` reads it as a plain local id whatever it looks like."""
SHORT_QUERY = 30
"""Below this length the tasks for short queries are used (table of tasks in the manual)."""
SHORT = {"blastp-short": ("-comp_based_stats", "0"), "blastn-short": ("-dust", "no")}
"""What the tasks for short queries leave on although it hides short matches."""
LEAST_TARGETS = 500
"""`-max_target_seqs` cuts while it searches, not after: more is asked for than is wanted."""
LOOK_AGAIN_S = 0.1
"""How often a running search looks whether it is still wanted."""
EXITS = {
    1: "It refuses the query or an option",
    2: "It cannot read the database",
    3: "Its engine failed",
    4: "It ran out of memory",
    6: "It could not write",
}
MESSAGE_LENGTH = 300


class Stopped(Exception):  # no error: the caller asked for it
    """A search ended because nobody wants it any more."""


@dataclass(frozen=True)
class Options:
    """How a program searches: E-value, number of hits, and for blastn whether as megablast."""

    max_evalue: float
    limit: int
    is_megablast: bool = False

    @property
    def asked(self) -> int:
        """Number of hits that the program is asked for."""
        return max(2 * self.limit, LEAST_TARGETS)


def is_installed(program: str = "blastp") -> bool:
    """Whether a program of BLAST+ is on the PATH, and `makeblastdb` with it."""
    return all(shutil.which(name) for name in (program, MAKER))


def make_database(records: Iterable[tuple[str, str]], folder: Path, *, molecule: Molecule) -> None:
    """Files of a database in an empty folder.

    Parameters
    ----------
    records
        Key (letters, digits and dots, at most 40) and sequence of each; nothing else goes into the files.

    Raises
    ------
    DependencyUnavailable
        BLAST+ is not installed, or it failed.
    """
    kind = "prot" if molecule == "protein" else "nucl"
    command = [_program(MAKER), "-in", "-", "-input_type", "fasta", "-dbtype", kind, "-parse_seqids"]
    with (folder / "log").open("w+", encoding="utf-8", errors="replace") as log:
        maker = subprocess.Popen(
            [*command, "-title", NAME, "-out", NAME], cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=log
        )
        assert maker.stdin is not None
        with maker:
            try:
                for key, sequence in records:
                    maker.stdin.write(f">{KEY_PREFIX}{key}\n{sequence}\n".encode("ascii"))
                maker.stdin.close()
            except BrokenPipeError:
                pass  # it ended early, and its exit code says so
            except BaseException:
                maker.kill()
                raise
        if maker.returncode:
            log.seek(0)
            raise _failure(MAKER, maker.returncode, log.read())


def search(
    program: Program, query: str, folder: Path, options: Options, *, threads: int, stop: Event | None = None
) -> dict[str, Any]:
    """The tree under `report` of the JSON2 format; accessions are keys, `key_of` gives them back.

    Raises
    ------
    DependencyUnavailable
        BLAST+ is not installed, or it failed.
    InvalidInput
        It refuses the query.
    Stopped
        `stop` was set.
    """
    command = [_program(program), "-db", NAME, "-query", "-", "-outfmt", "15", "-num_threads", str(threads)]
    command += ["-evalue", f"{options.max_evalue:g}", "-max_target_seqs", str(options.asked)]
    if task := _task(program, query, options):
        command += ["-task", task, *SHORT.get(task, ())]
    out, error, code = _run(command, folder, f">query\n{query}\n".encode("ascii"), stop)
    if code:
        raise _failure(program, code, error)
    try:
        (output,) = json.loads(out)["BlastOutput2"]
        tree: dict[str, Any] = output["report"]
    except (ValueError, KeyError, TypeError) as problem:
        raise DependencyUnavailable(f"A whole report of {program}", "Search again.") from problem
    return tree


def key_of(accession: str) -> str:
    """Key of a sequence by the accession in a report."""
    return accession.removeprefix(KEY_PREFIX)


def masking(parameters: Mapping[str, object]) -> str:
    """What a search did about low complexity, in a sentence, by the `params` of its report."""
    filtered = str(parameters.get("filter") or "F")
    hidden = "are masked in the query" if "L" in filtered or "D" in filtered else "are not masked"
    seeding = " for seeding alone" if "m" in filtered else ""
    adjusted = "; scores are adjusted to the composition" if parameters.get("cbs") else ""
    return f"Low-complexity regions {hidden}{seeding}{adjusted}."


def _task(program: Program, query: str, options: Options) -> str | None:
    if program == "blastn" and options.is_megablast:
        return "megablast"
    if program in ("blastp", "blastn"):
        return f"{program}-short" if len(query) < SHORT_QUERY else program
    return None


def _program(name: str) -> str:
    if found := shutil.which(name):
        return found
    raise DependencyUnavailable(f"{name} of BLAST+", INSTALL)


def _run(command: list[str], folder: Path, query: bytes, stop: Event | None) -> tuple[bytes, str, int]:
    """Output, error text and exit code of a program, which is killed once it is not wanted."""
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        done = Event()
        if stop is not None:
            Thread(target=_kill_when, args=(stop, done, running.kill), daemon=True).start()
        try:
            out, error = running.communicate(query)
        finally:
            done.set()
    if stop is not None and stop.is_set():
        raise Stopped
    return out, error.decode(errors="replace"), running.returncode


def _kill_when(stop: Event, done: Event, kill: Callable[[], None]) -> None:
    while not done.is_set():
        if stop.wait(LOOK_AGAIN_S):
            kill()
            return


def _failure(program: str, code: int, text: str) -> DependencyUnavailable | InvalidInput:
    """Error of a program that ended badly; its own words are quoted without places on this machine."""
    words = re.sub(r"\S*/\S*", "...", " ".join(text.split()))[-MESSAGE_LENGTH:]
    why = f"{EXITS.get(code, 'It failed')} (exit code {code}): {words}"
    if code == 1 and program != MAKER:
        return InvalidInput("sequence", why, f"a query that {program} takes")
    return DependencyUnavailable(f"A result of {program}", why)
