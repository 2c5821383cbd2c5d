from pathlib import Path

import pytest

from protatlas.structures.coordinates import Structure, StructureArchive

ARCHIVE = Path(__file__).parents[2] / "data" / "starter" / "structures.zip"
# MD5 of the 142 residues of P69905, and of residues 1 to 76 of P0CG48.
HAEMOGLOBIN_ALPHA_KEY = "6077c452d1dc6151040b2b179e2294c7"
UBIQUITIN_KEY = "4bbff14e49fc0da0d3902dab2290abdd"


@pytest.fixture(scope="session")
def archive() -> StructureArchive:
    return StructureArchive(ARCHIVE)


@pytest.fixture(scope="session")
def haemoglobin(archive: StructureArchive) -> Structure:
    return _stored(archive, HAEMOGLOBIN_ALPHA_KEY)


@pytest.fixture(scope="session")
def ubiquitin(archive: StructureArchive) -> Structure:
    return _stored(archive, UBIQUITIN_KEY)


def _stored(archive: StructureArchive, key: str) -> Structure:
    structure = archive.load(key)
    assert structure is not None
    return structure
