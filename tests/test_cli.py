import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from protatlas import __version__
from protatlas.cli import cli
from tests.known_proteins import HBA, HBB, UBIQUITIN


def _run(*arguments: str, stdin: str | bytes | None = None) -> tuple[int, str, str]:
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


@pytest.mark.parametrize(
    "write", [str.encode, lambda text: gzip.compress(text.encode()), lambda text: text.encode("utf-16")]
)
def test_search_by_sequence_reads_a_file(write: Callable[[str], bytes], atlas_path: Path, tmp_path: Path) -> None:
    fasta = tmp_path / "my query.fasta"
    fasta.write_bytes(write(f">q\n{UBIQUITIN}\n"))

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

    assert code == 1
    assert "nucleotide" in err
    assert "genes.fna" in err
    assert not list(tmp_path.glob("own.atlas*/"))


def test_a_build_of_which_nothing_is_kept_reports_every_record(tmp_path: Path) -> None:
    for name, text in (("a.faa", ">x\nMK*TV\n>y\n"), ("b.faa", "no header")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    arguments = ("build", str(tmp_path / "a.faa"), str(tmp_path / "b.faa"), "-o", str(tmp_path / "own.atlas"))

    code, out, _ = _run(*arguments, "--json")
    _, _, err = _run(*arguments)

    error = json.loads(out)
    assert code == 1
    assert error["code"] == "invalid_input"
    assert [(skip["file"], skip["line"]) for skip in error["report"]["skipped"]] == [
        ("a.faa", 1),
        ("a.faa", 3),
        ("b.faa", 1),
    ]
    assert error["report"]["records_read"] == 3
    assert "a.faa line 1 x: a stop '*' within the sequence, at position 3" in err


def test_one_file_without_proteins_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "genes.fna").write_text(">gene1\n" + "ATGCAGATCTTCGTG" * 9 + "\n", encoding="utf-8")
    (tmp_path / "ubq.faa").write_text(f">ubq\n{UBIQUITIN}\n", encoding="utf-8")

    code, out, _ = _run(
        "build", str(tmp_path / "genes.fna"), str(tmp_path / "ubq.faa"), "-o", str(tmp_path / "own.atlas"), "--json"
    )

    report = json.loads(out)["report"]
    assert (code, report["records_read"], report["proteins"]) == (0, 2, 1)
    assert report["skipped"][0]["file"] == "genes.fna"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f">a\n{UBIQUITIN}\n>b\nMK*TV\n", "line 3, b: a stop"),
        (f">b\nMK*TV\n>a\n{UBIQUITIN}\n", "line 1, b: a stop"),
        (f">a\n{UBIQUITIN}\n>a\n{UBIQUITIN[1:]}\n", "line 3, a: its accession is that of another"),
        (f">\n{UBIQUITIN}\n", "line 1, unnamed_line_1: the record has no identifier"),
    ],
)
def test_a_strict_build_fails_on_the_first_problem(tmp_path: Path, text: str, said: str) -> None:
    fasta = tmp_path / "own.faa"
    fasta.write_text(text, encoding="utf-8")

    code, _, err = _run("build", str(fasta), "-o", str(tmp_path / "own.atlas"), "--strict")

    assert code == 2
    assert said in " ".join(err.split())
    assert not (tmp_path / "own.atlas").exists()


def test_a_strict_build_takes_a_file_without_problems(tmp_path: Path) -> None:
    fasta = tmp_path / "own.faa"
    fasta.write_text(f">a\n{UBIQUITIN}*\n>b\n{UBIQUITIN}\n", encoding="utf-8")

    assert _run("build", str(fasta), "-o", str(tmp_path / "own.atlas"), "--strict")[0] == 0


def test_build_reads_compressed_stdin(tmp_path: Path) -> None:
    packed = gzip.compress(f">ubq\n{UBIQUITIN}\n".encode())

    code, out, _ = _run("build", "-", "-o", str(tmp_path / "own.atlas"), "--json", stdin=packed)

    assert code == 0
    assert json.loads(out)["manifest"]["sources"][0]["name"] == "stdin"


@pytest.mark.parametrize("stdin", [False, True])
def test_an_index_of_accessions_is_made_and_looked_up(tmp_path: Path, stdin: bool) -> None:
    fasta, index = tmp_path / "my file.faa", tmp_path / "own.accessions"
    fasta.write_text(f">MGYP000261684433\n{UBIQUITIN}\n>\nMKVL\n", encoding="utf-8")
    given = ("-", fasta.read_bytes()) if stdin else (str(fasta), None)

    made = _run("index-accessions", given[0], "-o", str(index), stdin=given[1])
    found = _run("lookup", "mgyp261684433", "--accessions", str(index))
    missing = _run("lookup", "MGYP1", "--accessions", str(index), "--json")

    assert made[0] == 0
    assert "2 records, 1 identifiers, 1 records without an identifier" in made[1]
    assert found[:2] == (0, f">MGYP000261684433 MGnify\n{UBIQUITIN[:60]}\n{UBIQUITIN[60:]}\n")
    assert missing[0] == 3
    assert json.loads(missing[1])["code"] == "not_found"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("search", "gene:"), 2, "parsed"),
        (("search",), 2, "one of them"),
        (("build", "/nowhere/own.faa", "-o", "/nowhere/own.atlas"), 2, "is not there"),
        (("index-accessions", "/nowhere/own.faa", "-o", "/nowhere/own.accessions"), 2, "is no file"),
        (("lookup", "X1", "--accessions", "/nowhere/own.accessions"), 1, "There is no file"),
        (("inspect", "--atlas", "/nowhere/no.atlas"), 1, "no manifest.json"),
    ],
)
def test_what_cannot_be_answered_exits_with_a_sentence(
    atlas_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    given = arguments if "/nowhere" in " ".join(arguments) else (*arguments, "--atlas", str(atlas_path))

    found, _, err = _run(*given)

    assert found == code
    assert words in " ".join(err.split())
    assert "Traceback" not in err


def test_tools_as_json_is_what_clients_list() -> None:
    code, out, _ = _run("tools", "--json")

    assert code == 0
    assert len(json.loads(out)["tools"]) == 9


def test_build_names_restricted_entries_that_fit_nothing_and_search_keeps_to_both_lists(tmp_path: Path) -> None:
    (tmp_path / "own.faa").write_text(f">a ubiquitin\n{UBIQUITIN}\n>b ubiquitin\n{UBIQUITIN}K\n", encoding="utf-8")
    (tmp_path / "list.txt").write_text("a # tag\nnobody\n", encoding="utf-8")
    (tmp_path / "more.txt").write_text("b\n", encoding="utf-8")
    atlas = str(tmp_path / "own.atlas")

    _, out, _ = _run(
        "build", str(tmp_path / "own.faa"), "-o", atlas, "--restricted", str(tmp_path / "list.txt"), "--json"
    )
    _, one, _ = _run("search", "ubiquitin", "--atlas", atlas, "--json")
    _, none, _ = _run("search", "ubiquitin", "--atlas", atlas, "--json", "--restricted", str(tmp_path / "more.txt"))

    told = json.loads(out)["restricted"]
    assert (told["proteins"], told["unmatched"]) == (1, ["nobody".upper()])
    assert [protein["accession"] for protein in json.loads(one)["proteins"]] == ["b"]
    assert (json.loads(none)["proteins"], json.loads(none)["restricted_count"]) == ([], 2)
    assert _run("lookup", "a", "--atlas", atlas)[0] == 1


def test_a_database_is_made_searched_listed_and_removed(tmp_path: Path, atlas_path: Path) -> None:
    fasta = tmp_path / "my proteins (v2) & more.faa"
    fasta.write_text(f">plate3|well|B07 my variant\n{HBB}\n>ubi\n{UBIQUITIN}\n", encoding="ascii")
    own = ("--state", str(tmp_path / "state folder"), "--json")

    code, out, _ = _run("blastdb", "add", "mine", str(fasta), *own)
    assert (code, json.loads(out)[0]["sequences"]) == (0, 2)
    code, out, _ = _run("blast", HBB, "--database", "mine", "--atlas", str(atlas_path), *own)
    assert (code, json.loads(out)["hits"][0]["accession"]) == (0, "plate3|well|B07")
    code, out, _ = _run("blastdb", "list", *own)
    assert [found["name"] for found in json.loads(out)] == ["mine"]
    assert _run("blastdb", "remove", "mine", *own)[0] == 0
    assert _run("blastdb", "remove", "mine", *own)[0] == 3
    assert _run("blastdb", "add", "atlas", str(fasta), *own)[0] == 2


def test_an_alignment_is_printed_as_text(atlas_path: Path, tmp_path: Path) -> None:
    code, out, _ = _run("blast", HBA, "--atlas", str(atlas_path), "--state", str(tmp_path), "--alignments", "-n", "1")
    assert code == 0
    assert ">P69905 Hemoglobin subunit alpha [Homo sapiens]" in out
    assert "Identities = 142/142 (100%)" in out


def test_a_placeholder_is_no_address_for_a_service(atlas_path: Path, tmp_path: Path) -> None:
    options = ("--atlas", str(atlas_path), "--state", str(tmp_path), "--ncbi-email", "you@example.org")
    code, _, err = _run("serve", "--stdio", *options)
    assert code == 2
    assert "placeholder" in err
