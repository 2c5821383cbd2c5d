"""Aligned pairs of training proteins: MMseqs2 finds and aligns them, the network learns from their columns."""

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from training.prepare import THREADS, write_fasta

CIGAR = re.compile(r"(\d+)([MID])")
COLUMNS = "query,target,qstart,tstart,cigar"
SHORTEST = 40
"""Aligned columns that a pair must have."""


class Alignment(NamedTuple):
    """Two proteins by number, and their aligned columns: 0-based positions int32 (columns,) on either."""

    query: int
    target: int
    on_query: np.ndarray
    on_target: np.ndarray


def align(proteins: dict[str, str], work: Path) -> Path:
    """Table of the alignments of all proteins with each other: up to 40 hits a protein, e-value 1e-3 or less."""
    table, fasta = work / "pairs.tsv", work / "fit.fasta"
    if not table.exists():
        write_fasta(fasta, proteins.items())
        options = ["-s", "6", "-e", "1e-3", "--max-seqs", "40", "-a", "--threads", str(THREADS), "-v", "1"]
        made = work / "pairs.part"
        command = ["mmseqs", "easy-search", str(fasta), str(fasta), str(made), str(work / "pairs.tmp"), *options]
        subprocess.run([*command, "--format-output", COLUMNS], check=True)
        made.rename(table)
    return table


def columns(cigar: str, query: int, target: int) -> tuple[np.ndarray, np.ndarray]:
    """Aligned 0-based positions of a CIGAR string whose first column is at the given positions."""
    on_query, on_target = [], []
    for count, kind in CIGAR.findall(cigar):
        n = int(count)
        if kind == "M":
            on_query.append(np.arange(query, query + n))
            on_target.append(np.arange(target, target + n))
        query += n if kind in "MI" else 0
        target += n if kind in "MD" else 0
    return np.concatenate(on_query).astype(np.int32), np.concatenate(on_target).astype(np.int32)


@dataclass
class Pairs:
    """The alignments by query protein: `sequences`, and for each query its hits as (target, qstart, tstart, cigar)."""

    sequences: list[str]
    hits: dict[int, list[tuple[int, int, int, str]]]

    def draw(self, random: np.random.Generator, count: int) -> Iterator[Alignment]:
        """`count` alignments of different queries, a hit of each, every query as likely."""
        queries = np.array(list(self.hits))
        for query in random.choice(queries, size=count, replace=False):
            found = self.hits[int(query)]
            target, on_query, on_target, cigar = found[int(random.integers(len(found)))]
            yield Alignment(int(query), target, *columns(cigar, on_query, on_target))


def read_pairs(proteins: dict[str, str], table: Path) -> Pairs:
    """Pairs of two different proteins with `SHORTEST` columns or more."""
    numbers = {name: n for n, name in enumerate(proteins)}
    hits: dict[int, list[tuple[int, int, int, str]]] = {}
    with table.open(encoding="ascii") as lines:
        for line in lines:
            query, target, qstart, tstart, cigar = line.rstrip("\n").split("\t")
            if query != target and sum(int(n) for n, kind in CIGAR.findall(cigar) if kind == "M") >= SHORTEST:
                hits.setdefault(numbers[query], []).append((numbers[target], int(qstart) - 1, int(tstart) - 1, cigar))
    return Pairs(list(proteins.values()), hits)
