import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from protatlas.engines.encoders import (
    CHANNELS,
    EMBEDDED_PACK,
    Encoder,
    kmer_ids,
    kmer_weights,
    open_encoder,
    window_mean,
)
from protatlas.errors import AtlasDamaged, InvalidInput
from tests.known_proteins import UBIQUITIN

LYSOZYME = "KVFGRCELAAAMKRHGLDNYRGYSLGNWVCAAKFESNFNTQATNRNTDGSTDYGILQINSRWWCNDGRTPGSRNLCNIPCSALLSSDITASVNCAKKIVSDGNG"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return open_encoder()


def spelled_kmer(sequence: str, channel: int, centre: int) -> int:
    """Number of a k-mer by spelling it out, without arrays."""
    number = 0
    for offset in CHANNELS[channel].offsets:
        letter = sequence[centre + offset]
        number = number * len(CHANNELS[channel].groups) + [letter in g for g in CHANNELS[channel].groups].index(True)
    return number + sum(c.size for c in CHANNELS[:channel])


@pytest.mark.parametrize("channel", range(len(CHANNELS)))
@pytest.mark.parametrize("centre", [4, 30, 71])
def test_kmers_are_numbered_by_their_letters(channel: int, centre: int) -> None:
    assert kmer_ids(UBIQUITIN)[channel, centre] == spelled_kmer(UBIQUITIN, channel, centre)


def test_no_kmer_runs_over_an_end() -> None:
    ids = kmer_ids(UBIQUITIN)
    assert [int((row < 0).sum()) for row in ids] == [2, 4, 6, 8, 4]


def test_an_unknown_letter_hides_only_the_kmers_that_hold_it() -> None:
    odd = UBIQUITIN[:40] + "X" + UBIQUITIN[41:]
    changed = np.flatnonzero((kmer_ids(odd) != kmer_ids(UBIQUITIN)).any(axis=0))
    assert changed.min() == 36
    assert changed.max() == 44


def test_each_channel_weighs_as_much() -> None:
    ids = kmer_ids(LYSOZYME)
    weights = kmer_weights(ids, np.full(sum(c.size for c in CHANNELS), 2.0, dtype=np.float32))
    for row, found in zip(ids, weights, strict=True):
        kmers = set(row[row >= 0].tolist())
        length = sum(float(found[row == kmer].sum()) ** 2 for kmer in kmers) ** 0.5
        assert length == pytest.approx(1, abs=1e-5)


def test_window_mean_is_the_mean_of_the_window() -> None:
    rows = np.random.default_rng(1).normal(size=(23, 3)).astype(np.float32)
    slow = [rows[max(i - 4, 0) : i + 5].mean(axis=0) for i in range(23)]
    np.testing.assert_allclose(window_mean(rows, 9), slow, atol=1e-6)


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
