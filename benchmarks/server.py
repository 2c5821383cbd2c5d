"""Start-up, memory, size of tools/list and latency of each tool of a served atlas.

    python benchmarks/server.py [--atlas PATH] [--calls 50]

Figures depend on the machine: compare them with the echo in the same table, a tool that computes nothing.
"""

import argparse
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters

from protatlas.app import App
from protatlas.atlas.starter import starter_plan
from protatlas.tools import TOOLS
from protatlas.tools.registry import describe

QUERY = "esm_atlas_search_uniprot"
EGFR = "P00533"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--atlas", type=Path)
    parser.add_argument("--calls", type=int, default=50)
    options = parser.parse_args()
    atlas = options.atlas or starter_plan(*App().model_ids).output
    listed = {"tools": [describe(tool).model_dump(mode="json", by_alias=True, exclude_none=True) for tool in TOOLS]}
    print(f"tools/list: {len(json.dumps(listed, separators=(',', ':')).encode()):,} bytes")
    anyio.run(_measure, atlas, options.calls)


async def _measure(atlas: Path, calls: int) -> None:
    command = [sys.executable, "-m", "protatlas", "serve", "--stdio", "--atlas", str(atlas), "--log-level", "ERROR"]
    started = time.perf_counter()
    async with Client(StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))) as client:
        first = await client.call_tool(QUERY, {"query": "P69905"})
        print(f"spawn to first answer over stdio: {time.perf_counter() - started:.2f} s")
        sequence = first.structured_content["proteins"][0]["sequence"]
        baseline = await _p50(client, "esm_atlas_get_sae_feature_detail", {"feature_index": 1}, calls)
        print(f"{'tool':45} {'p50 ms':>8} {'p95 ms':>8} {'bytes':>8} {'x feature detail':>17}")
        for tool, arguments in _questions(sequence):
            p50, p95, size = await _p50(client, tool, arguments, calls)
            print(f"{tool:45} {p50:8.1f} {p95:8.1f} {size:8,} {p50 / baseline[0]:17.1f}")
        for what, (resident, anonymous) in _memory_mb(atlas).items():
            print(f"memory of the {what}: {resident:.0f} MB resident, {anonymous:.0f} MB of it not mapped from files")


def _questions(sequence: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        (QUERY, {"query": "P69905"}),
        (QUERY, {"query": "hemoglobin alpha human"}),
        ("esm_atlas_lookup_accession", {"accession": "HBA_HUMAN"}),
        ("esm_atlas_search_similar_protein_clusters", {"sequence": sequence}),
        ("esm_atlas_get_protein_details", {"sequence": sequence}),
        ("esm_atlas_get_cluster_info", {"sequence": sequence}),
        ("esm_atlas_get_sae_feature_detail", {"feature_index": 1}),
        ("blast_sequence", {"sequence": sequence, "raw_report_chars": 0}),
        ("ui_show_protein_structure", {"sequence": sequence}),
    ]


async def _p50(client: Client, tool: str, arguments: dict[str, Any], calls: int) -> tuple[float, float, int]:
    """Median and 95th percentile in ms of warm calls, and the bytes of the text."""
    slow = tool == "ui_show_protein_structure"
    times = []
    for _ in range(min(calls, 5) if slow else calls):
        started = time.perf_counter()
        result = await client.call_tool(tool, arguments)
        times.append(1000 * (time.perf_counter() - started))
        if result.is_error:
            raise SystemExit(f"{tool}: {result.structured_content}")
    times = sorted(times[1:])
    return statistics.median(times), times[int(0.95 * (len(times) - 1))], len(result.content[0].text.encode())


def _memory_mb(atlas: Path) -> dict[str, tuple[float, float]]:
    """Resident and anonymous memory in MB of the server that has the atlas open, and of its renderer (Linux)."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        for what, mark in (("server", f"--stdio --atlas {atlas}"), ("renderer", "pymol_worker.py")):
            if mark in command:
                status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
                found[what] = tuple(int(status[key].split()[0]) / 1000 for key in ("VmRSS", "RssAnon"))
    return found


if __name__ == "__main__":
    main()
