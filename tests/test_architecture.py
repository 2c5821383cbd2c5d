"""Imports go down only; the contracts stand in pyproject.toml."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTRACTS = ROOT / "pyproject.toml"


def check(package_parent: Path) -> subprocess.CompletedProcess[str]:
    """Run import-linter on the package that lies in a folder."""
    command: list[str | Path] = [Path(sys.executable).with_name("lint-imports"), CONTRACTS, "--no-cache"]
    return subprocess.run(command, cwd=package_parent, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Folder with a copy of the package's modules."""
    only_modules = shutil.ignore_patterns("__pycache__", "*.[!p]*", "*.p[!y]*")
    shutil.copytree(ROOT / "src" / "protatlas", tmp_path / "protatlas", ignore=only_modules)
    return tmp_path


def test_imports_go_down_only() -> None:
    checked = check(ROOT / "src")
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("engines/aligners.py", "import protatlas.accession_index", "Imports go down only"),
        ("blast/search.py", "import protatlas.structures.coordinates", "Imports go down only"),
        ("engines/aligners.py", "import protatlas.engines.domains", "Families of engines"),
        ("atlas/reader.py", "import mcp", "Only the server and the tools"),
        ("tools/proteins.py", "import mcp", "Among the tools"),
        ("tools/proteins.py", "import protatlas.settings", "Settings are read"),
        ("helpers.py", "import json", "Imports go down only"),
        ("services/ebi.py", "import protatlas.services.ncbi", "Public services do not know"),
        ("services/ebi.py", "import httpx2", "Public services are asked"),
        ("services/http.py", "import protatlas.atlas.reader", "Imports go down only"),
    ],
)
def test_a_wrong_import_is_found(copied: Path, module: str, line: str, contract: str) -> None:
    with (copied / "protatlas" / module).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    checked = check(copied)
    assert checked.returncode == 1
    (broken,) = (line for line in checked.stdout.splitlines() if " BROKEN" in line)
    assert broken.startswith(contract)
