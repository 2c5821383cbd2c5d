"""Local engines beside BLAST+ blastp: how far they agree on real pairs, what they find, and their time.

    PYTHONPATH=src python benchmarks/blast.py proteins.fasta [--queries 20] [--pairs 200] \
        [--engines blast+ phmmer mmseqs2]

Queries are the proteins of the file whose keys come first, of 100 to 600 residues. `blastp` is run as a program over a
database of the same file, with its defaults and two threads; its hits with an E-value below 1e-3 are the reference.
Engines run as the server runs them, warm: a first run for all hits, then the one that is timed, for 500.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from threading import Event
from typing import NamedTuple

from protatlas.blast.search import Engine, LocalEngines, Search
from protatlas.blast.targets import Target
from protatlas.engines import blastplus
from protatlas.records import protein_hash
from protatlas.reports import Hit
from protatlas.sequences import read_fasta

MAX_EVALUE = 1e-3
MOST, SHOWN = 5_000, 500
LENGTHS = range(100, 601)
COLUMNS = "sseqid bitscore evalue pident qstart qend sstart send"


class Reference(NamedTuple):
    """A hit of blastp."""

    bits: float
    evalue: float
    percent: float
    ends: tuple[int, ...]


def reference(query: str, folder: Path) -> tuple[dict[str, Reference], float]:
    """Hits of blastp by key, and its seconds."""
    command = ["blastp", "-db", blastplus.NAME, "-query", "-", "-evalue", str(MAX_EVALUE), "-num_threads", "2"]
    command += ["-max_target_seqs", str(MOST), "-max_hsps", "1", "-outfmt", f"6 {COLUMNS}"]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, input=f">q\n{query}\n", capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - started
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    found = {
        blastplus.key_of(key): Reference(float(bits), float(evalue), float(percent), tuple(map(int, ends)))
        for key, bits, evalue, percent, *ends in rows
    }
    return found, seconds


def main() -> None:
    """Print a line of figures for each engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fasta", type=Path)
    parser.add_argument("--queries", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--engines", nargs="*", default=["blast+", "phmmer", "mmseqs2"])
    options = parser.parse_args()
    proteins = {protein_hash(entry.sequence): entry.sequence for entry in read_fasta(options.fasta)}
    queries = [proteins[key] for key in sorted(proteins) if len(proteins[key]) in LENGTHS][: options.queries]
    with tempfile.TemporaryDirectory() as scratch:
        target = Target(
            name="benchmark",
            version="1",
            molecule="protein",
            sequences=len(proteins),
            residues=sum(map(len, proteins.values())),
            records=lambda: iter(proteins.items()),
            folder=Path(scratch),
        )
        folder = target.prepared("blast", lambda at: blastplus.make_database(target.records(), at, molecule="protein"))
        wanted = [reference(query, folder) for query in queries]
        print(f"{len(proteins):,} proteins, {target.residues:,} residues, {len(queries)} queries")
        print(f"blastp: {statistics.median(seconds for _, seconds in wanted):.3f} s a query (p50), hits "
              f"{sum(len(hits) for hits, _ in wanted):,}")  # fmt: skip
        for engine in options.engines:
            _compare(engine, queries, target, wanted, options.pairs)


def _compare(
    engine: Engine, queries: list[str], target: Target, wanted: list[tuple[dict[str, Reference], float]], pairs: int
) -> None:
    """Print how an engine compares with blastp."""
    local, times, found = LocalEngines(), list[float](), list[dict[str, Hit]]()
    for query in queries:
        search = Search(
            sequence=query, engine=engine, database=target.name, version="1", max_evalue=MAX_EVALUE, limit=MOST
        )
        found.append({hit.key: hit for hit in local.run(search, target, Event()).hits})
        started = time.perf_counter()
        local.run(search.model_copy(update={"limit": SHOWN}), target, Event())
        times.append(time.perf_counter() - started)
    both = [(one[key], hits[key]) for (one, _), hits in zip(wanted, found, strict=True) for key in one if key in hits]
    total = sum(len(one) for one, _ in wanted)
    whole, middle = sum(seconds for _, seconds in wanted), statistics.median(times)
    figures = (
        f"{middle:.3f} s (p50), {middle / _p50(wanted):.2f} x blastp",
        f"all {sum(times):.1f} s, {sum(times) / whole:.2f} x blastp",
        f"finds {len(both) / total:.3f} of its hits, and {sum(map(len, found)) - len(both):,} others",
    )
    print(f"{engine}: {'; '.join(figures)}")
    step = max(len(both) // pairs, 1)
    _agreement(both[::step][:pairs])


def _p50(wanted: list[tuple[dict[str, Reference], float]]) -> float:
    return statistics.median(seconds for _, seconds in wanted)


def _agreement(pairs: list[tuple[Reference, Hit]]) -> None:
    bits = [hit.bit_score / one.bits for one, hit in pairs]
    percent = [100 * hit.best.identity - one.percent for one, hit in pairs]
    ends = [
        (hit.best.query_start, hit.best.query_end, hit.best.subject_start, hit.best.subject_end) == one.ends
        for one, hit in pairs
    ]
    same = sum(abs(hit.evalue - one.evalue) <= 0.02 * one.evalue + 1e-180 for one, hit in pairs)
    low, middle, high = (statistics.quantiles(bits, n=20)[at] for at in (0, 9, 18))
    figures = (
        f"bit score {middle:.3f} of blastp's (90 % within {low:.3f} to {high:.3f})",
        f"E-value within 2 % for {same}",
        f"identity within 1 point for {sum(abs(p) <= 1 for p in percent)}",
        f"same ends for {sum(ends)}",
        f"largest difference of identity {max(map(abs, percent)):.1f} points",
    )
    print(f"  {len(pairs)} pairs: {', '.join(figures)}")


if __name__ == "__main__":
    main()
