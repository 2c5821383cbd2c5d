"""Time and memory of a build against its size, stage by stage, and of exact search over synthetic vectors.

    PYTHONPATH=src python benchmarks/build.py proteins.fasta [--sizes 1000 10000 100000] [--vectors 1000 1000000] \
        [--record scale.jsonl]

Each build runs in a process of its own, over the first proteins of the file, without domains. Figures depend on the
machine: `x loop` is the time of the whole build against that of a loop that reads the same records and hashes them.
`--record` adds a JSON line for each size, which `benchmarks/plot.py` draws.
"""

import argparse
import hashlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import TextIO

import numpy as np
from scipy import sparse

from protatlas.atlas.edge import EdgeStore, EdgeWriter
from protatlas.atlas.store import Every, Point, SparseVector
from protatlas.records import protein_hash
from protatlas.sequences import read_fasta

STAGES = ("read", "deduplicate", "annotate", "encode", "cluster", "index", "check")
ONE = """
import json, resource, sys, time
from pathlib import Path
from protatlas.app import App
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.plan import BuildPlan

app, begun, ended = App(), {}, {}

def progress(stage, done, total):
    begun.setdefault(stage, time.perf_counter())
    ended[stage] = time.perf_counter()

started = time.perf_counter()
plan = BuildPlan(fasta=(Path(sys.argv[1]),), output=Path(sys.argv[2]), name="benchmark")
manifest, _ = build_atlas(plan, encoder=app.encoder, features=app.features, progress=progress)
seconds, last = {}, started
for stage in ended:
    seconds[stage], last = ended[stage] - last, ended[stage]
print(json.dumps({
    "proteins": manifest.proteins, "residues": manifest.residues, "clusters": manifest.clusters, "seconds": seconds,
    "whole": time.perf_counter() - started,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "disk_mb": sum(file.bytes for file in manifest.files.values()) / 1e6,
}))
"""


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fasta", type=Path, nargs="?")
    parser.add_argument("--sizes", type=int, nargs="*", default=[1_000, 10_000, 100_000])
    parser.add_argument("--vectors", type=int, nargs="*", default=[], help="ascending: memory is that of the process")
    parser.add_argument("--record", type=Path, default=Path(os.devnull))
    options = parser.parse_args()
    with options.record.open("a", encoding="utf-8") as record:
        if options.fasta:
            _builds(options.fasta, options.sizes, record)
        for count in options.vectors:
            _search(count, record)


def _builds(fasta: Path, sizes: list[int], record: TextIO) -> None:
    print(
        f"{'proteins':>9} {'residues':>11} {'whole s':>8} {'x loop':>8} {'peak MB':>8} {'disk MB':>8}  "
        + "  ".join(STAGES)
    )
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            part = Path(folder, "part.fasta")
            with part.open("w", encoding="utf-8") as stream:
                stream.writelines(f">{e.header}\n{e.sequence}\n" for e in islice(read_fasta(fasta), size))
            started = time.perf_counter()
            for entry in read_fasta(part):
                hashlib.md5(entry.sequence.encode(), usedforsecurity=False).hexdigest()
            loop = time.perf_counter() - started
            command = [sys.executable, "-c", ONE, str(part), str(Path(folder, "own.atlas"))]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        stages = "  ".join(f"{stage} {found['seconds'].get(stage, 0):.1f}" for stage in STAGES)
        print(
            f"{found['proteins']:9,} {found['residues']:11,} {found['whole']:8.1f} {found['whole'] / loop:8.0f} "
            f"{found['peak_mb']:8.0f} {found['disk_mb']:8.0f}  {stages}",
            flush=True,
        )
        row = {"kind": "build", "size": found["proteins"], "seconds": found["whole"], "peak_mb": found["peak_mb"]}
        record.write(json.dumps(row) + "\n")


def _search(
    count: int, record: TextIO, *, features: int = 4_096, active: int = 60, width: int = 32, queries: int = 30
) -> None:
    """Exact nearest neighbours among synthetic vectors with the skewed frequencies of SAE features."""
    random = np.random.default_rng(1)
    weights = 1 / np.arange(1, features + 1) ** 0.7
    weights /= weights.sum()
    with tempfile.TemporaryDirectory() as folder:
        written = EdgeWriter(Path(folder, "store"), embedding_width=width)
        started, rows = time.perf_counter(), []
        embeddings = np.empty((count, width), np.float32)
        for start in range(0, count, 10_000):
            points = []
            for row in range(start, min(start + 10_000, count)):
                indices = np.unique(random.choice(features, active, p=weights)).astype(np.int32)
                vector = SparseVector.unit(indices, random.random(len(indices), np.float32))
                embedding = random.standard_normal(width).astype(np.float32)
                embeddings[row] = embedding / np.linalg.norm(embedding)
                rows.append(vector)
                points.append(Point(protein_hash(f"A{row}"), {"position": row}, embeddings[row], vector))
            written.add(points)
        written.finish()
        seconds = time.perf_counter() - started
        print(f"{count:,} vectors indexed in {seconds:.0f} s", flush=True)
        bounds = np.concatenate([[0], np.cumsum([len(row.indices) for row in rows])])
        matrix = sparse.csr_array(
            (np.concatenate([row.values for row in rows]), np.concatenate([row.indices for row in rows]), bounds),
            shape=(count, features),
        )
        store = EdgeStore.load(Path(folder, "store"))
        p50 = _answers(store, matrix, embeddings, rows, random.choice(count, queries, replace=False).tolist())
        store.close()
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory {peak_mb:.0f} MB", flush=True)
    row = {"kind": "search", "size": count, "seconds": seconds, "peak_mb": peak_mb, "p50_ms": p50}
    record.write(json.dumps(row) + "\n")


def _answers(
    store: EdgeStore, matrix: sparse.csr_array, embeddings: np.ndarray, rows: list[SparseVector], queries: list[int]
) -> float:
    """Print how the store answers; median of the answers by features alone, in milliseconds."""
    medians = []
    for what, weights in (("features alone", (0.0, 1.0)), ("0.6 embedding, 0.4 features", (0.6, 0.4))):
        times, baseline, right = [], [], 0
        for query in queries:
            started = time.perf_counter()
            found = store.nearest(embeddings[query], rows[query], weights=weights, condition=Every(), limit=10)
            times.append(1e3 * (time.perf_counter() - started))
            started = time.perf_counter()
            vector = np.zeros(matrix.shape[1], np.float32)
            vector[rows[query].indices] = rows[query].values
            exact = weights[0] * (embeddings @ embeddings[query]) + weights[1] * (matrix @ vector)
            best = np.sort(np.clip(exact, 0, 1))[::-1][:10]
            baseline.append(1e3 * (time.perf_counter() - started))
            right += sum(hit.similarity >= best[-1] - 1e-5 for hit in found)
        medians.append(statistics.median(times))
        print(
            f"{what}: p50 {statistics.median(times):.1f} ms, longest {max(times):.1f} ms, recall@10 "
            f"{right / (10 * len(queries)):.3f}, {statistics.median(times) / statistics.median(baseline):.2f} x SciPy",
            flush=True,
        )
    return medians[0]


if __name__ == "__main__":
    main()
