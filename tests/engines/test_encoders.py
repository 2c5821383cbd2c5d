import json
import shutil
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from protatlas.engines.encoders import CHUNK, DILATIONS, EMBEDDED_PACK, LETTERS, Encoder, open_encoder
from protatlas.errors import AtlasDamaged, InvalidInput
from tests.known_proteins import UBIQUITIN

Rows = npt.NDArray[np.float64]
LYSOZYME = "KVFGRCELAAAMKRHGLDNYRGYSLGNWVCAAKFESNFNTQATNRNTDGSTDYGILQINSRWWCNDGRTPGSRNLCNIPCSALLSSDITASVNCAKKIVSDGNG"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return open_encoder()


def spelled_out(sequence: str) -> tuple[Rows, Rows]:
    """Residues and embedding by the formulas of the model card, one residue and tap at a time, in double precision."""
    with np.load(EMBEDDED_PACK / "encoder.npz") as file:
        weights = {name: values.astype(np.float64) for name, values in file.items()}
    inputs = np.array([[float(letter == known) for known in LETTERS] for letter in sequence])
    layer = np.maximum(tapped(inputs, weights["first"], 1) + weights["first_bias"], 0)
    for number, distance in enumerate(DILATIONS):
        layer = layer + np.maximum(
            tapped(layer, weights[f"block_{number}"], distance) + weights[f"block_{number}_bias"], 0
        )
    residues = layer @ weights["residue"] + weights["residue_bias"]
    embedding = layer.mean(axis=0) @ weights["protein"] + weights["protein_bias"]
    return residues / np.linalg.norm(residues, axis=1, keepdims=True), embedding / np.linalg.norm(embedding)


def tapped(rows: Rows, taps: Rows, distance: int) -> Rows:
    """Sum over the taps of their matrix times the row that lies so many steps away."""
    made = np.zeros((len(rows), taps.shape[2]))
    for at in range(len(rows)):
        for tap, matrix in enumerate(taps):
            beside = at + (tap - len(taps) // 2) * distance
            if 0 <= beside < len(rows):
                made[at] += rows[beside] @ matrix
    return made


@pytest.mark.parametrize("sequence", [UBIQUITIN, "MKX" + LYSOZYME[:20] + "U", "MK"])
def test_an_encoding_follows_the_formulas_of_the_model_card(encoder: Encoder, sequence: str) -> None:
    residues, embedding = spelled_out(sequence)
    encoding = encoder.encode(sequence)
    np.testing.assert_allclose(encoding.residues, residues, atol=1e-4)
    np.testing.assert_allclose(encoding.embedding, embedding, atol=1e-4)


def test_a_long_protein_is_encoded_in_pieces_that_do_not_show(encoder: Encoder) -> None:
    random = np.random.default_rng(5)
    whole = "".join(random.choice(list(LETTERS), size=3 * CHUNK + 100))
    for cut in (CHUNK, 2 * CHUNK):
        part = encoder.encode(whole[cut - 300 : cut + 300]).residues
        np.testing.assert_allclose(encoder.encode(whole).residues[cut - 200 : cut + 200], part[100:500], atol=1e-4)


def test_a_residue_does_not_feel_what_is_farther_than_the_reach(encoder: Encoder) -> None:
    changed = UBIQUITIN * 3
    changed = changed[:100] + "W" + changed[101:]
    apart = np.abs(encoder.encode(changed).residues - encoder.encode(UBIQUITIN * 3).residues).max(axis=1)
    assert np.flatnonzero(apart > 1e-6).min() == 100 - 66
    assert np.flatnonzero(apart > 1e-6).max() == 100 + 66


def test_every_residue_has_a_row_and_the_embedding_has_length_one(encoder: Encoder) -> None:
    encoding = encoder.encode(UBIQUITIN)
    assert encoding.residues.shape == (76, encoder.width)
    assert encoding.residues.dtype == encoding.embedding.dtype == np.float32
    assert encoding.embedding.shape == (encoder.embedding_width,)
    assert np.linalg.norm(encoding.embedding) == pytest.approx(1, abs=1e-5)


def test_residues_differ(encoder: Encoder) -> None:
    rows = encoder.encode(UBIQUITIN).residues
    assert len(np.unique(rows.round(6), axis=0)) == len(rows)


def test_an_encoding_does_not_depend_on_what_was_encoded_before(encoder: Encoder) -> None:
    alone = open_encoder().encode(UBIQUITIN)
    encoder.encode(LYSOZYME)
    again = encoder.encode(UBIQUITIN)
    np.testing.assert_allclose(again.residues, alone.residues, atol=1e-5)
    np.testing.assert_allclose(again.embedding, alone.embedding, atol=1e-5)


@pytest.mark.parametrize("sequence", ["M", "MK", "XXXXXXXX", "BZJUOX", "U" + UBIQUITIN, "ACDEFGHIKLMNPQRSTVWY" * 200])
def test_odd_sequences_give_finite_rows_one_a_residue(encoder: Encoder, sequence: str) -> None:
    encoding = encoder.encode(sequence)
    assert len(encoding.residues) == len(sequence)
    assert np.isfinite(encoding.residues).all()
    assert np.isfinite(encoding.embedding).all()


def test_relatives_are_closer_than_strangers(encoder: Encoder) -> None:
    # Ubiquitin of yeast differs in three residues (P19S, E24D, A28S).
    yeast = UBIQUITIN.replace("EPSDTIENVKAKIQ", "ESSDTIDNVKSKIQ")
    vectors = [encoder.encode(s).embedding for s in (UBIQUITIN, yeast, LYSOZYME)]
    assert vectors[0] @ vectors[1] > 0.5 > vectors[0] @ vectors[2]


def copy_of_pack(folder: Path) -> Path:
    return Path(shutil.copytree(EMBEDDED_PACK, folder / "pack"))


def test_changed_weights_are_refused_with_both_hashes(tmp_path: Path) -> None:
    pack = copy_of_pack(tmp_path)
    with (pack / "encoder.npz").open("ab") as file:
        file.write(b"x")
    with pytest.raises(AtlasDamaged, match=r"encoder\.npz has SHA-256 [0-9a-f]{64}, the manifest says [0-9a-f]{64}"):
        open_encoder(pack)


def test_missing_weights_are_named(tmp_path: Path) -> None:
    pack = copy_of_pack(tmp_path)
    (pack / "encoder.npz").unlink()
    with pytest.raises(AtlasDamaged, match=r"encoder\.npz has SHA-256 no file"):
        open_encoder(pack)


def test_a_folder_without_manifest_is_no_pack(tmp_path: Path) -> None:
    with pytest.raises(AtlasDamaged, match="missing or not JSON"):
        open_encoder(tmp_path)


def test_an_unknown_kind_of_encoder_is_refused(tmp_path: Path) -> None:
    pack = copy_of_pack(tmp_path)
    manifest = json.loads((pack / "manifest.json").read_text(encoding="utf-8"))
    (pack / "manifest.json").write_text(json.dumps({**manifest, "kind": "transformer"}), encoding="utf-8")
    with pytest.raises(InvalidInput, match="'transformer'"):
        open_encoder(pack)
