"""Searches over small sets, with their jobs in a folder of the test."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from protatlas.blast.databases import Databases
from protatlas.blast.jobs import JobStore
from protatlas.blast.search import LocalEngines, Search
from protatlas.blast.searches import Searches
from protatlas.blast.targets import Target
from protatlas.services.remote import RemoteBlast

MakeSearches = Callable[..., Searches]


def target_of(records: Mapping[str, str], folder: Path, *, name: str = "globins", version: str = "1") -> Target:
    """Proteins by key as what searches look in."""
    return Target(
        name=name,
        version=version,
        molecule="protein",
        sequences=len(records),
        residues=sum(map(len, records.values())),
        records=lambda: iter(records.items()),
        folder=folder / name,
    )


def search_of(sequence: str, target: Target, **more: object) -> Search:
    """A search of a target by phmmer."""
    fields = {"engine": "phmmer", "database": target.name, "version": target.version, **more}
    return Search.model_validate({"sequence": sequence, **fields})


def searches_at(
    folder: Path, target: Target | None = None, *, local: LocalEngines | None = None, **remotes: RemoteBlast
) -> Searches:
    """Searches whose jobs and databases lie in a folder."""
    databases = Databases(folder / "databases")
    made = Searches(JobStore(folder / "jobs.sqlite"), databases, folder=folder, local=local, remotes=remotes)
    made.atlas = target
    return made


@pytest.fixture
def make_searches(tmp_path: Path) -> Iterator[MakeSearches]:
    """Makes searches in the folder of the test, and closes them after it."""
    made: list[Searches] = []

    def make(target: Target | None = None, **more: object) -> Searches:
        made.append(searches_at(tmp_path, target, **more))  # type: ignore[arg-type]  # engines and services by name
        return made[-1]

    yield make
    for searches in made:
        searches.close()
