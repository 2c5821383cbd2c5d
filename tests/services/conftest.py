"""The clients, over real sockets, against services that run here; time passes only when a client sleeps."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from protatlas.services.ebi import EbiBlast
from protatlas.services.etiquette import Etiquette
from protatlas.services.http import Identity
from protatlas.services.ncbi import NcbiBlast
from tests.fakes.ebi import BASE, FakeEbi
from tests.fakes.ncbi import FakeNcbi
from tests.fakes.web_service import Clock, running

IDENTITY = Identity("curator@institute.example")
TIMEOUT_S = 0.3
"""Real seconds that a client waits for a service that says nothing."""


class Ncbi(NamedTuple):
    """A client of NCBI, the NCBI that it asks, and its address."""

    client: NcbiBlast
    service: FakeNcbi
    address: str


class Ebi(NamedTuple):
    """A client of EBI, and the EBI that it asks."""

    client: EbiBlast
    service: FakeEbi


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """File of the record of contacts."""
    return tmp_path / "contacts.sqlite"


@pytest.fixture
def etiquette(record: Path, clock: Clock) -> Etiquette:
    return Etiquette(record, clock=clock, sleep=clock.sleep)


@pytest.fixture
def ncbi(etiquette: Etiquette, clock: Clock) -> Iterator[Ncbi]:
    service = FakeNcbi(clock)
    with running(service) as address:
        client = NcbiBlast(IDENTITY, etiquette, url=f"{address}/Blast.cgi", timeout_s=TIMEOUT_S, max_bytes=100_000)
        with closing(client):
            yield Ncbi(client, service, address)


@pytest.fixture
def ebi(etiquette: Etiquette, clock: Clock) -> Iterator[Ebi]:
    service = FakeEbi(clock)
    with running(service) as address:
        client = EbiBlast(IDENTITY, etiquette, url=f"{address}{BASE}", timeout_s=TIMEOUT_S, max_bytes=100_000)
        with closing(client):
            yield Ebi(client, service)
