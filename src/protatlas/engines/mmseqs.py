"""Protein against protein in large sets: MMseqs2 picks representatives, Smith-Waterman aligns all that they stand for.

The set is clustered once (linclust, 50 % identity, 80 % coverage), and its representatives get an index of k-mers. A
query goes through the prefilter of MMseqs2 (Steinegger & Soeding 2017, doi:10.1038/nbt.3988) over the representatives;
each member of the clusters that pass is aligned exactly (pyopal), with the statistics of BLAST. Its own aligner and
E-values are not used: by default it keeps 300 candidates, and finds two thirds of what blastp does.
"""

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopal
from scoring_matrices import ScoringMatrix  # type: ignore[attr-defined]  # its stubs do not say that they export it

from protatlas.engines.aligners import MAX_QUERY, Alignment, Alignments
from protatlas.engines.linclust import find_program, linclust
from protatlas.engines.pairwise import GAP_EXTEND, GAP_OPEN, KAPPA, LAMBDA, LETTERS, MATRIX
from protatlas.errors import DependencyUnavailable, InvalidInput

Int1D = npt.NDArray[np.int64]

ALPHA, BETA = 1.9, -30.0
"""Of the length adjustment for BLOSUM62 with gaps 11 + 1 (BLAST+, table of gapped statistics)."""
SENSITIVITY = "7.5"
REPRESENTATIVES = "2000"
"""Most that the prefilter lets pass: with 5,000 it finds 0.1 % more of blastp's hits in twice the time."""
RESIDUES, BOUNDS, MEMBERS, KEYS, ABOUT = "residues", "bounds.npy", "members.npz", "keys.txt", "about.json"
INDEX = "representatives"
THREADS = 2


def prepare(records: Iterable[tuple[str, str]], folder: Path, *, threads: int = THREADS) -> None:
    """Files of a set in an empty folder: sequences, clusters, and the index of the representatives.

    Raises
    ------
    DependencyUnavailable
        MMseqs2 is not installed, or it failed.
    """
    keys, lengths = list[str](), list[int]()
    with (folder / RESIDUES).open("wb") as residues:
        for key, sequence in records:
            keys.append(key)
            lengths.append(len(sequence))
            residues.write(sequence.encode("ascii"))
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    np.save(folder / BOUNDS, bounds)
    (folder / KEYS).write_text("\n".join(keys), encoding="utf-8")
    sequences = _Sequences(folder)
    work = folder / "clusters"
    work.mkdir()
    owners = linclust(((str(row), sequences[row]) for row in range(len(keys))), work, threads=threads)
    representative = np.array([int(owners[str(row)]) for row in range(len(keys))], np.int64)
    _write_index(sequences, np.unique(representative), folder, threads)
    shutil.rmtree(work)
    order = np.argsort(representative, kind="stable")
    np.savez(folder / MEMBERS, order=order, representative=representative[order])
    about = {"sequences": len(keys), "residues": int(bounds[-1]), "program": _version()}
    (folder / ABOUT).write_text(json.dumps(about), encoding="utf-8")


class _Sequences:
    """Residues of each row, read from the disk as they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.bounds: Int1D = np.load(folder / BOUNDS)
        is_empty = not self.bounds[-1]
        self._residues = np.zeros(0, np.uint8) if is_empty else np.memmap(folder / RESIDUES, np.uint8, "r")

    def __getitem__(self, row: int) -> str:
        return self._residues[self.bounds[row] : self.bounds[row + 1]].tobytes().decode("ascii")


class RepresentativeAligner:
    """Searches a prepared set; `Aligner` says how.

    Parameters
    ----------
    folder
        What `prepare` made.
    threads
        Threads of one search.
    """

    def __init__(self, folder: Path, *, threads: int = THREADS) -> None:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        self.sequences: int = about["sequences"]
        self.residues: int = about["residues"]
        self.name = f"MMseqs2 {about['program']} over representatives, Smith-Waterman by pyopal {version('pyopal')}"
        self._keys = (folder / KEYS).read_text(encoding="utf-8").split("\n")
        self._sequences = _Sequences(folder)
        with np.load(folder / MEMBERS) as members:
            self._order, self._owner = members["order"], members["representative"]
        self._folder, self._threads = folder, threads
        self._matrix = ScoringMatrix.from_name(MATRIX)
        self._row = {letter: row for row, letter in enumerate(str(self._matrix.alphabet))}
        self._opal: dict[str, Any] = {"gap_open": GAP_OPEN + GAP_EXTEND, "gap_extend": GAP_EXTEND, "threads": threads}

    def search(self, query: str, *, max_evalue: float, limit: int) -> Alignments:
        """Sequences with an E-value up to `max_evalue`, best first; those of representatives that the prefilter passes.

        Raises
        ------
        InvalidInput
            The query has more than `MAX_QUERY` residues.
        DependencyUnavailable
            MMseqs2 is not there any more, or it failed.
        """
        if len(query) > MAX_QUERY:
            found, expected = f"{len(query)} residues", f"at most {MAX_QUERY}; pass one domain of it"
            raise InvalidInput("sequence", found, expected, actual_length=len(query), max_length=MAX_QUERY)
        known = query.translate(LETTERS)
        rows = self._candidates(known)
        scores = self._scores(known, rows)
        space = search_space(len(query), self.sequences, self.residues)
        evalues = KAPPA * space * np.exp(-LAMBDA * scores)
        kept = np.flatnonzero((evalues <= max_evalue) & (scores > 0))
        order = kept[np.lexsort(([self._keys[row] for row in rows[kept]], -scores[kept]))]
        best = self._aligned(query, known, rows[order[:limit]], evalues[order[:limit]])
        return Alignments(hits=best, total=len(kept), query_length=len(query), settings=self._settings(space))

    def _candidates(self, query: str) -> Int1D:
        """Rows of all members of the clusters whose representatives pass the prefilter."""
        with tempfile.TemporaryDirectory(prefix="protatlas-") as name:
            folder = Path(name)
            (folder / "query.fasta").write_text(f">query\n{query}\n", encoding="ascii")
            _run(["createdb", "query.fasta", "query"], folder)
            options = ["-s", SENSITIVITY, "--max-seqs", REPRESENTATIVES, "--mask", "0", "--comp-bias-corr", "0"]
            options += ["--db-load-mode", "2", "--threads", str(self._threads)]
            index = self._folder.resolve() / INDEX
            _run(["prefilter", "query", f"{index}.idx", "passed", *options], folder)
            _run(["createtsv", "query", str(index), "passed", "passed.tsv"], folder)
            lines = (folder / "passed.tsv").read_text(encoding="ascii").splitlines()
        passed = np.unique(np.array([int(line.split("\t")[1]) for line in lines], np.int64))
        first, last = np.searchsorted(self._owner, passed), np.searchsorted(self._owner, passed, side="right")
        members = [self._order[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        return np.concatenate([np.empty(0, np.int64), *members])

    def _scores(self, query: str, rows: Int1D) -> npt.NDArray[np.float64]:
        scores = np.zeros(len(rows))
        if len(rows):
            database = _database([self._sequences[row] for row in rows.tolist()])
            for result in pyopal.align(query, database, self._matrix, mode="score", **self._opal):
                scores[result.target_index] = result.score
        return scores

    def _aligned(self, query: str, known: str, rows: Int1D, evalues: npt.NDArray[np.float64]) -> tuple[Alignment, ...]:
        """Whole alignments of a few rows, in their order."""
        if not len(rows):
            return ()
        targets = [self._sequences[row] for row in rows.tolist()]
        found = {
            result.target_index: result
            for result in pyopal.align(known, _database(targets), self._matrix, mode="full", **self._opal)
        }
        return tuple(
            self._alignment(query, self._keys[row], targets[at], found[at], float(evalues[at]))
            for at, row in enumerate(rows.tolist())
        )

    def _alignment(self, query: str, key: str, target: str, result: Any, evalue: float) -> Alignment:
        columns = list(_columns(query, target, result))
        pairs = [(a, b) for a, b in columns if "-" not in (a, b)]
        match = "".join(self._mark(a, b) for a, b in columns)
        return Alignment(
            key=key,
            bit_score=float((LAMBDA * result.score - np.log(KAPPA)) / np.log(2)),
            evalue=evalue,
            query_start=result.query_start + 1,
            query_end=result.query_end + 1,
            subject_start=result.target_start + 1,
            subject_end=result.target_end + 1,
            subject_length=len(target),
            domains=1,
            columns=len(columns),
            identical=sum(a == b for a, b in pairs),
            positive=sum(mark != " " for mark in match),
            gaps=len(columns) - len(pairs),
            query_text="".join(a for a, _ in columns),
            match_text=match,
            subject_text="".join(b for _, b in columns),
        )

    def _mark(self, a: str, b: str) -> str:
        """Middle line of two letters, as BLAST writes it."""
        if "-" in (a, b):
            return " "
        if a == b:
            return a
        first, second = self._row[a.translate(LETTERS)], self._row[b.translate(LETTERS)]
        return "+" if self._matrix[first][second] > 0 else " "

    def _settings(self, space: float) -> tuple[str, ...]:
        return (
            f"matrix = {MATRIX}, gaps cost {GAP_OPEN} + {GAP_EXTEND} a residue",
            "Scores and E-values are those of BLAST without its adjustment to the composition.",
            "Low-complexity regions are not masked.",
            f"E-values count chance hits in {self.sequences} sequences (effective search space {space:.4g}).",
        )


def search_space(query: int, sequences: int, residues: int) -> float:
    """Effective search space of a query of that length: the lengths without the stretch that no alignment starts in.

    The stretch is the largest whole l with l <= ALPHA / LAMBDA * ln(K (m - l) (n - N l)) + BETA that leaves
    K (m - l) (n - N l) >= max(m, n) (Altschul & Gish 1996, doi:10.1016/S0076-6879(96)66029-7; the second as BLAST+
    has it).
    """

    def fits(length: int) -> bool:
        space = (query - length) * (residues - sequences * length)
        is_wide = residues > sequences * length and KAPPA * space >= max(query, residues)
        return is_wide and length <= ALPHA / LAMBDA * np.log(KAPPA * space) + BETA

    low, high = 0, query
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return float((query - low) * (residues - sequences * low))


def _database(sequences: Sequence[str]) -> pyopal.Database:
    return pyopal.Database([sequence.translate(LETTERS) for sequence in sequences])


def _columns(query: str, target: str, result: Any) -> Iterable[tuple[str, str]]:
    """Pairs of letters of an alignment, `-` for gaps; opal's D is a residue of the query alone, I one of the target."""
    at, subject = result.query_start, result.target_start
    for step in result.alignment:
        is_query, is_target = step in "MXD", step in "MXI"
        yield query[at] if is_query else "-", target[subject] if is_target else "-"
        at, subject = at + is_query, subject + is_target


def _write_index(sequences: _Sequences, rows: Int1D, folder: Path, threads: int) -> None:
    with (folder / "representatives.fasta").open("w", encoding="ascii") as stream:
        stream.writelines(f">{row}\n{sequences[row]}\n" for row in rows.tolist())
    _run(["createdb", "representatives.fasta", INDEX], folder)
    _run(["createindex", INDEX, "tmp", "-s", SENSITIVITY, "--mask", "0", "--threads", str(threads)], folder)


def _run(arguments: Sequence[str], folder: Path) -> str:
    """Run MMseqs2 in a folder."""
    done = subprocess.run(
        [str(find_program()), *arguments, *(["-v", "1"] if arguments[0] != "version" else [])],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        raise DependencyUnavailable(f"A result of mmseqs {arguments[0]}", f"It ended badly: {' '.join(last)}")
    return done.stdout


def _version() -> str:
    return _run(["version"], Path.cwd()).strip()[:12]
