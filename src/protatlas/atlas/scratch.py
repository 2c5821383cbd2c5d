"""Scratch folder of an unfinished build: numbered chunks of each stage, each of them whole or not there.

A stage maps chunks to chunks. A build that was killed finds the chunks of its stages again, skips those and goes on; a
stage that ended leaves a mark with its summary.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from protatlas.records import Protein

CHUNK = 500
"""Proteins in a chunk: a few seconds of encoding to lose."""

Arrays = dict[str, npt.NDArray[np.generic]]


class Scratch:
    """Chunks and marks of the stages in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.chunk = CHUNK

    def chunks_of(self, count: int) -> int:
        """Number of chunks that so many proteins fill."""
        return -(-count // self.chunk)

    def lines(self, stage: str, number: int) -> list[str] | None:
        """Lines of a chunk, null where it is not there."""
        path = self._path(stage, number, "jsonl")
        return path.read_text(encoding="utf-8").splitlines() if path.is_file() else None

    def write_lines(self, stage: str, number: int, lines: Sequence[str]) -> None:
        """Write a chunk of text."""
        with _whole(self._path(stage, number, "jsonl")) as stream:
            stream.writelines(f"{line}\n".encode() for line in lines)

    def arrays(self, stage: str, number: int) -> Arrays | None:
        """Arrays of a chunk, null where it is not there."""
        path = self._path(stage, number, "npz")
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)

    def write_arrays(self, stage: str, number: int, arrays: Arrays) -> None:
        """Write a chunk of arrays."""
        with _whole(self._path(stage, number, "npz")) as stream:
            np.savez(stream, **arrays)  # type: ignore[arg-type]  # numpy's stub takes the keywords for `allow_pickle`

    def mark(self, stage: str, summary: str) -> None:
        """Say that a stage has ended, with what later stages or the user want to know of it, as JSON."""
        with _whole(self.folder / f"{stage}.done") as stream:
            stream.write(summary.encode())

    def marked(self, stage: str) -> str | None:
        """Summary of a stage that has ended, null for another."""
        path = self.folder / f"{stage}.done"
        return path.read_text(encoding="utf-8") if path.is_file() else None

    def proteins(self, stage: str, number: int) -> list[Protein]:
        """Proteins of a chunk that is there."""
        return [Protein.model_validate_json(line) for line in self.lines(stage, number) or ()]

    def each_protein(self, stage: str, chunks: int) -> Iterator[Protein]:
        """All proteins of a stage, in order."""
        for number in range(chunks):
            yield from self.proteins(stage, number)

    def write_proteins(self, stage: str, number: int, proteins: Sequence[Protein]) -> None:
        """Write a chunk of proteins."""
        self.write_lines(stage, number, [protein.model_dump_json() for protein in proteins])

    def has(self, stage: str, number: int) -> bool:
        """Whether a chunk is there."""
        return any(self._path(stage, number, form).is_file() for form in ("jsonl", "npz"))

    def for_each(
        self, stage: str, chunks: int, work: Callable[[int], None], done: Callable[[int], None], *, threads: int = 1
    ) -> None:
        """Make every chunk that is not there yet; `done` is told the number of chunks that are."""

        def run(number: int) -> None:
            if not self.has(stage, number):
                work(number)

        # One BLAS thread for each of ours: threads of threads wait for each other.
        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            for finished, _ in enumerate(pool.map(run, range(chunks)), start=1):
                done(finished)

    def _path(self, stage: str, number: int, form: str) -> Path:
        folder = self.folder / stage
        folder.mkdir(exist_ok=True)
        return folder / f"{number:07d}.{form}"


@contextmanager
def _whole(path: Path) -> Iterator[BinaryIO]:
    """Stream into a file that has its name only once it is whole."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as stream:
        yield stream
    partial.rename(path)


def threads() -> int:
    """Number of threads that work side by side."""
    return os.cpu_count() or 1
