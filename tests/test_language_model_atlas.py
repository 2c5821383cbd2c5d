"""An atlas by a language model instead of the embedded pack: built, searched and asked, from the commands up."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from protatlas.app import App
from protatlas.cli import cli
from protatlas.engines.published import ModelFiles
from protatlas.errors import DependencyUnavailable
from protatlas.tools.proteins import DetailsArguments, get_protein_details
from tests.fakes import language_models as tiny
from tests.known_proteins import HBA, HBB, UBIQUITIN


def _run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(cli, list(arguments), env={"COLUMNS": "200"})
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("language model")
    tiny.esm2(made / "tiny-esm2")
    tiny.autoencoder(made / f"tiny-esm2-sae-layer2-k{tiny.K}-codebook{tiny.SIZE}")
    tiny.labels(made / "labels.parquet")
    (made / "own.fasta").write_text(f">hba\n{HBA}\n>hbb\n{HBB}\n>ubq\n{UBIQUITIN}\n", encoding="ascii")
    code, _, err = _run("build", str(made / "own.fasta"), "-o", str(made / "own.atlas"), *_options(made))
    assert code == 0, err
    return made


def _files(folder: Path) -> ModelFiles:
    sae = f"tiny-esm2-sae-layer2-k{tiny.K}-codebook{tiny.SIZE}"
    return ModelFiles(str(folder / "tiny-esm2"), str(folder / sae), folder / "labels.parquet")


def _options(folder: Path) -> list[str]:
    files = _files(folder)
    return ["--model", files.model, "--sae", files.sae, "--labels", str(files.labels)]


def test_a_search_answers_by_the_model_that_built_the_atlas_and_names_it(folder: Path) -> None:
    where = ["--json", "--atlas", str(folder / "own.atlas"), *_options(folder)]
    nearest = json.loads(_run("search", "-s", HBB, *where)[1])["hits"][0]["sequence"]

    code, out, err = _run("search", "-s", nearest, *where)

    assert code == 0, err
    answer = json.loads(out)
    assert answer["hits"][0]["sequence"] == nearest
    assert answer["hits"][0]["similarity_score"] == 1
    assert answer["sae"].startswith("tiny-esm2-sae-layer2")
    assert answer["hits"][0]["shared_features"][0]["label"].startswith("meaning ")


def test_regions_of_features_are_numbered_by_the_residues_of_the_sequence(folder: Path) -> None:
    app = App(models=_files(folder))
    app.open(folder / "own.atlas")

    details = get_protein_details(app, DetailsArguments(sequence=UBIQUITIN))

    regions = [region for feature in details.sae_features for region in feature.residue_regions]
    assert regions
    assert min(region.start for region in regions) >= 1
    assert max(region.end for region in regions) <= len(UBIQUITIN)
    assert len(app.analyse(UBIQUITIN).activations.values) == len(UBIQUITIN)
    app.close()


def test_an_atlas_of_another_model_is_not_searched_and_both_are_named(folder: Path, atlas_path: Path) -> None:
    code, out, _ = _run("search", "-s", HBB, "--json", "--atlas", str(folder / "own.atlas"))
    error = json.loads(out)

    assert code == 1
    assert error["code"] == DependencyUnavailable.code
    assert "tiny-esm2-layer2" in error["message"]
    assert "protatlas-convolution" in error["message"]
    code, out, _ = _run("search", "-s", HBB, "--json", "--atlas", str(atlas_path), *_options(folder))
    assert (code, json.loads(out)["code"]) == (1, DependencyUnavailable.code)


@pytest.mark.parametrize(
    ("options", "says"),
    [(["--model", "somewhere"], "`sae`: none is named"), (["--sae", "x"], "`model`: none is named")],
)
def test_a_model_and_its_autoencoder_are_named_together(options: list[str], says: str, tmp_path: Path) -> None:
    (tmp_path / "own.fasta").write_text(f">ubq\n{UBIQUITIN}\n", encoding="ascii")
    code, _, err = _run("build", str(tmp_path / "own.fasta"), "-o", str(tmp_path / "own.atlas"), *options)

    assert code == 2
    assert says in err
