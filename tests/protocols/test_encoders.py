"""What every encoder does, whatever it is made of."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from protatlas.engines.encoders import Encoder, open_encoder
from protatlas.engines.language_models import open_language_model
from tests.fakes import language_models as tiny
from tests.known_proteins import HBA, UBIQUITIN

OPENED: dict[str, Callable[[Path], Encoder]] = {
    "embedded": lambda _: open_encoder(),
    "ESM-2": lambda folder: open_language_model(str(tiny.esm2(folder / "tiny-esm2")), layer=2),
    "ESMC": lambda folder: open_language_model(str(tiny.esmc(folder / "tiny-esmc")), layer=3),
}


@pytest.fixture(scope="module", params=list(OPENED))
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return OPENED[request.param](tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("sequence", ["M", "MKT", UBIQUITIN, HBA * 3, "XXXX", "MKUOBZJX*TA"])
def test_every_residue_has_a_finite_row_and_the_protein_a_vector(encoder: Encoder, sequence: str) -> None:
    encoding = encoder.encode(sequence)

    assert encoding.residues.shape == (len(sequence), encoder.width)
    assert encoding.embedding.shape == (encoder.embedding_width,)
    assert encoding.residues.dtype == encoding.embedding.dtype == np.float32
    assert np.isfinite(encoding.residues).all()
    assert np.linalg.norm(encoding.embedding) == pytest.approx(1, abs=1e-4) or not encoding.embedding.any()


def test_residues_differ_and_depend_on_their_neighbours(encoder: Encoder) -> None:
    rows = encoder.encode("A" * 10 + UBIQUITIN).residues

    assert len(np.unique(rows.round(5), axis=0)) > 60
    assert not np.allclose(rows[12], encoder.encode(UBIQUITIN).residues[2], atol=1e-3)


def test_an_encoding_depends_on_its_sequence_alone(encoder: Encoder) -> None:
    alone = encoder.encode(UBIQUITIN)
    many = dict(encoder.encode_many([HBA, UBIQUITIN, "MKT", HBA + UBIQUITIN, UBIQUITIN]))

    assert sorted(many) == [0, 1, 2, 3, 4]
    for place in (1, 4):
        np.testing.assert_allclose(many[place].residues, alone.residues, atol=1e-4)
        np.testing.assert_allclose(many[place].embedding, alone.embedding, atol=1e-4)


def test_no_sequence_gives_no_encoding(encoder: Encoder) -> None:
    assert list(encoder.encode_many([])) == []


def test_it_says_what_it_is(encoder: Encoder) -> None:
    assert encoder.id
    assert encoder.max_length is None or encoder.max_length > 100
