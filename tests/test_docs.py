"""What the docs say is what the code does."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from protatlas import __version__
from protatlas.engines.features import open_features
from protatlas.errors import ProtatlasError
from protatlas.settings import SETTINGS
from protatlas.tools import TOOLS
from protatlas.tools.schemas import codes

ROOT = Path(__file__).parents[1]


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_tools_page_is_up_to_date() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "docs"), "--check"]

    checked = subprocess.run(command, check=False, capture_output=True, text=True)

    assert checked.returncode == 0, checked.stderr


def test_the_gallery_is_of_the_pack_that_ships_and_has_its_pictures() -> None:
    page = _text("docs/gallery.md")
    pictures = re.findall(r"\]\((gallery/[^)]+)\)", page)

    assert f"`{open_features().sae.id}`" in page
    assert sorted(pictures) == sorted(f"gallery/{path.name}" for path in (ROOT / "docs" / "gallery").iterdir())
    assert len(pictures) == 2 * page.count("\n## ")


@pytest.mark.parametrize("page", ["README.md", "docs/tools.md"])
def test_every_tool_is_documented(page: str) -> None:
    assert [tool.name for tool in TOOLS if f"`{tool.name}`" not in _text(page)] == []


def test_every_error_code_is_documented() -> None:
    assert [code for code in codes() if f"`{code}`" not in _text("docs/tools.md")] == []
    assert ProtatlasError.code in codes()


def test_every_setting_is_documented() -> None:
    page = _text("docs/quickstart.md")

    assert [row.flag for row in SETTINGS.values() if f"`--{row.flag}`" not in page or row.variable not in page] == []


def test_the_changelog_has_the_version_that_is_built() -> None:
    assert f"## [{__version__}]" in _text("CHANGELOG.md")


def test_the_readme_gives_its_two_commands() -> None:
    readme = _text("README.md")

    for command in ("sh scripts/serve", "sh scripts/test"):
        assert f"```sh\n{command}\n```" in readme
        assert (ROOT / command.split()[1]).is_file()


def _blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", _text(name), flags=re.DOTALL)


def test_the_queries_of_the_format_page_run_and_find_something(atlas_path: Path) -> None:
    python = _blocks("docs/atlas-format.md", "python")
    (sql,) = _blocks("docs/atlas-format.md", "sql")

    for block in python:
        *statements, last = block.replace("my.atlas", str(atlas_path)).strip().splitlines()
        names: dict[str, Any] = {}
        exec("\n".join(statements), names)
        assert len(eval(last, names)) > 0
    assert len(python) == 2
    with duckdb.connect() as database:
        assert len(database.execute(sql.replace("my.atlas", str(atlas_path))).fetchall()) == 10
