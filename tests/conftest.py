"""A small real atlas, built once by the real builder, and the tools over it."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from protatlas.app import App
from protatlas.atlas.builder import build_atlas
from protatlas.atlas.plan import BuildPlan
from protatlas.atlas.starter import starter_files

WELL_KNOWN = 150
"""The first records of the starter data are the well-known proteins."""
EVERY = 100
"""Of the other 20,000 records one in so many joins them."""


@pytest.fixture(scope="session", autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Folder of jobs and databases for the servers and commands that tests start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROTATLAS_STATE", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def starter_records() -> list[str]:
    """FASTA records of the small atlas: some well-known proteins and a sample of the rest."""
    with gzip.open(starter_files() / "proteins.fasta.gz", "rt", encoding="utf-8") as stream:
        records = stream.read().split(">")[1:]
    return [">" + record for row, record in enumerate(records) if row < WELL_KNOWN or row % EVERY == 0]


@pytest.fixture(scope="session")
def models() -> App:
    """The embedded models without an atlas."""
    return App()


@pytest.fixture(scope="session")
def atlas_path(tmp_path_factory: pytest.TempPathFactory, starter_records: list[str], models: App) -> Path:
    """Directory of the small atlas."""
    folder = tmp_path_factory.mktemp("atlas")
    fasta = folder / "small.fasta"
    fasta.write_text("".join(starter_records), encoding="utf-8")
    files = starter_files()
    plan = BuildPlan(
        fasta=(fasta,),
        output=folder / "small.atlas",
        name="small",
        domains=files / "domains.tsv.gz",
        domain_families=3_057,
        go=files / "go.tsv.gz",
        lineages=files / "taxa.tsv.gz",
        structures=files / "structures.zip",
    )
    build_atlas(plan, encoder=models.encoder, features=models.features, progress=lambda *_: None)
    return plan.output


@pytest.fixture(scope="session")
def app(atlas_path: Path) -> Iterator[App]:
    """The application over the small atlas."""
    opened = App()
    opened.open(atlas_path)
    yield opened
    opened.close()
