"""Speed and memory of reading FASTA and of finding a record by accession, beside plain loops over the same file.

    PYTHONPATH=src python benchmarks/sequences.py proteins.fasta [--index]

Ratios against the loops of the same run say more than the figures, which depend on the machine.
"""

import argparse
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from protatlas.accession_index import AccessionIndex, build_accession_index
from protatlas.headers import header_identifiers
from protatlas.sequences import read_fasta

ROUNDS = 5
LOOKUPS = 2_000


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fasta", type=Path, help="plain FASTA file")
    parser.add_argument("--index", action="store_true", help="index the file and look records up as well")
    options = parser.parse_args()
    megabytes = options.fasta.stat().st_size / 1e6
    baseline = _best(lambda: _records_of_a_plain_loop(options.fasta))
    print(f"{'what':45} {'MB/s':>8} {'x loop':>8}")
    for what, run in (
        ("lines of the file, joined into records", lambda: _records_of_a_plain_loop(options.fasta)),
        ("read_fasta", lambda: sum(1 for _ in read_fasta(options.fasta))),
    ):
        seconds = _best(run)
        print(f"{what:45} {megabytes / seconds:8.0f} {baseline / seconds:8.2f}")
    print(f"peak memory: {_peak_mb():.0f} MB")
    if options.index:
        _measure_index(options.fasta)


def _measure_index(fasta: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        counts = build_accession_index([fasta], Path(folder, "own.accessions"), progress=lambda *_: None)
        seconds = time.perf_counter() - started
        print(f"indexed {counts.records:,} records in {seconds:.1f} s, peak memory {_peak_mb():.0f} MB")
        index = AccessionIndex.open(Path(folder, "own.accessions"))
        names = random.Random(1).sample(_names(fasta), min(LOOKUPS, counts.records))
        times = []
        for name in names:
            started = time.perf_counter()
            found = index.find(name)
            times.append(1e3 * (time.perf_counter() - started))
            assert found, name
        cuts = statistics.quantiles(times, n=100)
        print(
            f"look-up of {len(times)} accessions: p50 {cuts[49]:.2f} ms, p99 {cuts[98]:.2f}, longest {max(times):.2f}"
        )


def _names(fasta: Path) -> list[str]:
    return [header_identifiers(entry.header)[0] for entry in read_fasta(fasta)]


def _records_of_a_plain_loop(fasta: Path) -> int:
    count, parts = 0, list[str]()
    with fasta.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            if line.startswith(">"):
                count += bool("".join(parts))
                parts = []
            else:
                parts.append(line.rstrip())
    return count


def _best(run: Callable[[], object]) -> float:
    """Fewest seconds of several rounds."""
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
