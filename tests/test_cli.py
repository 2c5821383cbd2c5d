import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from protatlas import __version__
from protatlas.cli import cli
from tests.known_proteins import UBIQUITIN


def _run(*arguments: str, stdin: str | None = None) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, list(arguments), input=stdin, env={"COLUMNS": "200"})
    return result.exit_code, result.stdout, result.stderr


def test_version_is_that_of_the_package() -> None:
    assert _run("--version") == (0, f"protatlas {__version__}\n", "")


def test_search_by_text_prints_the_protein(atlas_path: Path) -> None:
    code, out, _ = _run("search", "gene:HBA1 AND organism_id:9606", "--atlas", str(atlas_path))

    assert code == 0
    assert "P69905" in out
    assert "Hemoglobin subunit alpha" in out


def test_search_by_sequence_from_stdin_prints_clusters_as_json(atlas_path: Path) -> None:
    code, out, _ = _run(
        "search", "-s", "-", "-n", "3", "--json", "--atlas", str(atlas_path), stdin=f">q\n{UBIQUITIN}\n"
    )

    assert code == 0
    assert len(json.loads(out)["hits"]) == 3


def test_search_by_sequence_reads_a_file(atlas_path: Path, tmp_path: Path) -> None:
    fasta = tmp_path / "my query.fasta"
    fasta.write_text(f">q\n{UBIQUITIN}\n", encoding="utf-8")

    code, out, _ = _run("search", "-s", str(fasta), "--json", "--atlas", str(atlas_path))

    assert code == 0
    assert json.loads(out)["query_sequence_length"] == 76


def test_inspect_shows_counts_models_and_sources(atlas_path: Path) -> None:
    code, out, _ = _run("inspect", "--atlas", str(atlas_path))
    _, as_json, _ = _run("inspect", "--json", "--atlas", str(atlas_path))

    manifest = json.loads(as_json)
    assert code == 0
    assert manifest["encoder"] in out
    assert "small.fasta" in out
    assert f"{manifest['proteins']:,}" in out


def test_build_makes_an_atlas_that_search_opens(tmp_path: Path) -> None:
    fasta = tmp_path / "proteins.fasta"
    fasta.write_text(f">ubq Ubiquitin\n{UBIQUITIN}\n>empty\n", encoding="utf-8")

    code, out, err = _run("build", str(fasta), "-o", str(tmp_path / "own.atlas"), "--json")
    found, listed, _ = _run("search", "ubiquitin", "--json", "--atlas", str(tmp_path / "own.atlas"))

    assert code == 0, err
    assert json.loads(out)["report"]["skipped"][0]["line"] == 3
    assert found == 0
    assert json.loads(listed)["proteins"][0]["sequence"] == UBIQUITIN


def test_a_nucleotide_file_is_bad_input_and_leaves_nothing(tmp_path: Path) -> None:
    fasta = tmp_path / "genes.fna"
    fasta.write_text(">gene1\n" + "ATGCAGATCTTCGTG" * 9 + "\n", encoding="utf-8")

    code, _, err = _run("build", str(fasta), "-o", str(tmp_path / "own.atlas"))

    assert code == 2
    assert "nucleotide" in err
    assert "genes.fna" in err
    assert not (tmp_path / "own.atlas").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("search", "gene:"), 2, "parsed"),
        (("search",), 2, "one of them"),
        (("inspect", "--atlas", "/nowhere/no.atlas"), 1, "no manifest.json"),
    ],
)
def test_what_cannot_be_answered_exits_with_a_sentence(
    atlas_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    given = arguments if "--atlas" in arguments else (*arguments, "--atlas", str(atlas_path))

    found, _, err = _run(*given)

    assert found == code
    assert words in " ".join(err.split())
    assert "Traceback" not in err


def test_tools_as_json_is_what_clients_list() -> None:
    code, out, _ = _run("tools", "--json")

    assert code == 0
    assert len(json.loads(out)["tools"]) == 8
