from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModel, AutoTokenizer

from protatlas.engines.encoders import Encoder
from protatlas.engines.language_models import batches, open_language_model
from protatlas.errors import DependencyUnavailable, InvalidInput
from tests.fakes import language_models as tiny
from tests.known_proteins import HBA, UBIQUITIN


@pytest.fixture(scope="module", params=["esm2", "esmc"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = getattr(tiny, request.param)(tmp_path_factory.mktemp("models") / f"tiny-{request.param}")
    return made


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Encoder:
    return open_language_model(str(folder), layer=2)


def direct(folder: Path, sequence: str, layer: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """Hidden states by transformers alone, without the start and the end token."""
    tokens = AutoTokenizer.from_pretrained(folder)(sequence, return_tensors="pt")
    model = AutoModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        states = model(**tokens, output_hidden_states=True).hidden_states[layer][0]
    found: np.ndarray[tuple[int, int], np.dtype[np.float32]] = states[1:-1].numpy()
    return found


def test_residues_are_the_hidden_states_of_the_layer_without_start_and_end(folder: Path, encoder: Encoder) -> None:
    expected = direct(folder, UBIQUITIN, 2)
    encoding = encoder.encode(UBIQUITIN)
    assert encoding.residues.shape == (76, encoder.width) == (76, tiny.WIDTH)
    np.testing.assert_allclose(encoding.residues, expected, atol=1e-4)
    mean = expected.mean(axis=0)
    np.testing.assert_allclose(encoding.embedding, mean / np.linalg.norm(mean), atol=1e-4)


def test_a_batch_of_many_lengths_gives_what_each_protein_gives_alone(encoder: Encoder) -> None:
    proteins = [UBIQUITIN[:3], UBIQUITIN, HBA[:100], UBIQUITIN[10:50], "M"]
    found = dict(encoder.encode_many(proteins))
    assert sorted(found) == list(range(len(proteins)))
    for at, protein in enumerate(proteins):
        np.testing.assert_allclose(found[at].residues, encoder.encode(protein).residues, atol=1e-4)


def test_a_protein_beyond_the_limit_is_read_in_pieces_that_cover_every_residue(folder: Path, encoder: Encoder) -> None:
    long = (UBIQUITIN + HBA) * 2
    rows = encoder.encode(long).residues
    assert encoder.max_length == 128
    assert rows.shape == (len(long), tiny.WIDTH)
    np.testing.assert_allclose(rows[:90], direct(folder, long[:128], 2)[:90], atol=1e-4)
    np.testing.assert_allclose(rows[-60:], direct(folder, long[-128:], 2)[-60:], atol=1e-4)


def test_letters_outside_the_vocabulary_are_read_as_x(encoder: Encoder) -> None:
    odd, plain = encoder.encode("MKJ*TAY"), encoder.encode("MKXXTAY")
    np.testing.assert_array_equal(odd.residues, plain.residues)


def test_the_id_tells_name_layer_precision_and_weights(folder: Path, tmp_path: Path, encoder: Encoder) -> None:
    assert encoder.id.startswith(f"{folder.name}-layer2-float32-")
    half = open_language_model(str(folder), layer=1, dtype="bfloat16")
    assert half.id.startswith(f"{folder.name}-layer1-bfloat16-")
    assert half.encode(UBIQUITIN).residues.dtype == np.float32
    changed = _copied(folder, tmp_path / folder.name, lambda weights: {k: v + 1 for k, v in weights.items()})
    assert open_language_model(str(changed), layer=2).id != encoder.id


def test_a_checkpoint_that_would_leave_random_tensors_is_refused(folder: Path, tmp_path: Path) -> None:
    lost = min(name for name in load_file(folder / "model.safetensors") if "layer" in name)
    broken = _copied(folder, tmp_path / "broken", lambda weights: {k: v for k, v in weights.items() if k != lost})
    with pytest.raises(InvalidInput, match=r"the checkpoint of broken lacks .*random"):
        open_language_model(str(broken), layer=2)


def test_tensors_of_another_shape_are_refused(folder: Path, tmp_path: Path) -> None:
    def cut(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        name = max(name for name in weights if name.endswith("weight") and weights[name].ndim == 2)
        return weights | {name: weights[name][:, :-1].contiguous()}

    with pytest.raises(InvalidInput, match=r"the checkpoint of cut lacks .*random"):
        open_language_model(str(_copied(folder, tmp_path / "cut", cut)), layer=2)


@pytest.mark.parametrize("layer", [-1, 4])
def test_a_layer_that_is_not_there_is_refused(folder: Path, layer: int) -> None:
    with pytest.raises(InvalidInput, match="has layers 0 to 3"):
        open_language_model(str(folder), layer=layer)


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(DependencyUnavailable, match="cannot be read"):
        open_language_model(str(tmp_path), layer=1)


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}', encoding="ascii")
    with pytest.raises(InvalidInput, match="of type bert"):
        open_language_model(str(tmp_path), layer=1)


def test_a_device_or_precision_that_is_not_known_is_refused(folder: Path) -> None:
    with pytest.raises(InvalidInput, match="`device`: 'tpu'"):
        open_language_model(str(folder), layer=1, device="tpu")
    with pytest.raises(InvalidInput, match="`dtype`: 'int4'"):
        open_language_model(str(folder), layer=1, dtype="int4")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device")
def test_cuda_without_a_device_says_what_to_do(folder: Path) -> None:
    with pytest.raises(DependencyUnavailable, match="Leave --device out"):
        open_language_model(str(folder), layer=1, device="cuda")


def test_batches_hold_like_lengths_within_their_tokens() -> None:
    lengths = [5, 100, 7, 98, 300, 6]
    made = list(batches(lengths, tokens=210))
    assert sorted(at for batch in made for at in batch) == list(range(6))
    assert made == [[4], [1, 3], [2, 5, 0]]


def _copied(folder: Path, to: Path, change: object) -> Path:
    """The model with other weights."""
    to.mkdir(parents=True)
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    assert callable(change)
    save_file(change(load_file(folder / "model.safetensors")), to / "model.safetensors", metadata={"format": "pt"})
    return to
