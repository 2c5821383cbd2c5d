import json
from pathlib import Path

import numpy as np
import pytest

from protatlas.engines.dictionaries import standardised
from protatlas.engines.published import ModelFiles, open_published
from protatlas.errors import DependencyUnavailable, InvalidInput
from tests.fakes import language_models as tiny
from tests.known_proteins import UBIQUITIN

NAME = f"tiny-esmc-sae-layer2-k{tiny.K}-codebook{tiny.SIZE}"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.esmc(tmp_path_factory.mktemp("models") / "tiny-esmc"))


def test_features_are_the_largest_activations_of_standardised_residues(model: str, tmp_path: Path) -> None:
    encoder, features = open_published(ModelFiles(model, str(tiny.autoencoder(tmp_path / NAME))))
    rows = encoder.encode(UBIQUITIN).residues
    activations = features.sae.activate(rows)

    # Features 0 to 31 are the columns of z where it is positive, 32 to 63 where it is negative.
    z = (rows - rows.mean(axis=1, keepdims=True)) / (rows.std(axis=1, ddof=1, keepdims=True) + 1e-5)
    expected = np.maximum(np.concatenate([z, -z], axis=1), 0)
    for residue in range(len(UBIQUITIN)):
        found = np.zeros(tiny.SIZE)
        found[activations.indices[residue]] = activations.values[residue]
        np.testing.assert_allclose(found, expected[residue], atol=1e-4)
    assert activations.indices.shape == (76, tiny.K)
    profile = features.profile(activations)
    top = expected.max(axis=0) / 4 * np.linspace(0.2, 3, tiny.SIZE)
    np.testing.assert_allclose(profile.values, top[profile.indices], rtol=1e-3)


def test_labels_give_texts_and_statistics_in_the_order_of_the_features(model: str, tmp_path: Path) -> None:
    sae = tiny.autoencoder(tmp_path / NAME, statistics=False)
    _, features = open_published(ModelFiles(model, str(sae), tiny.labels(tmp_path / "table.parquet")))
    feature = features.table[5]

    assert (feature.feature_index, feature.label, feature.label_reliability) == (5, "meaning 5", "none")
    assert feature.exemplar_protein_families == "kinases; lyases"
    assert feature.decoder_nearest_neighbors
    assert 5 not in feature.decoder_nearest_neighbors
    assert "hypothesis" in str(feature.description)
    assert features.idf[5] == pytest.approx(np.log10(1e6 / np.linspace(10, 10_000, tiny.SIZE)[5]), abs=1e-4)
    assert len(features.table[:3]) == 3


def test_without_labels_every_feature_is_unknown(model: str, tmp_path: Path) -> None:
    _, features = open_published(ModelFiles(model, str(tiny.autoencoder(tmp_path / NAME))))
    assert [feature.label for feature in features.table] == [None] * tiny.SIZE


@pytest.mark.parametrize(
    ("name", "config", "says"),
    [
        (
            f"ESMC-6B-sae-layer2-k{tiny.K}-codebook{tiny.SIZE}",
            {},
            r"trained on ESMC-6B layer 2\. Expected one of tiny-esmc",
        ),
        (f"tiny-esmc-sae-layer1-k{tiny.K}-codebook{tiny.SIZE}", {}, "agrees with its name"),
        ("other", {"available_layers": [1, 2]}, r"holds the layers \[1, 2\]"),
        ("other", {"d_model": 2560}, r"reads layer 2, width 2560\. Expected one of tiny-esmc layer 2, width 32"),
        ("other", {"codebook_dim": 128}, r"W_enc of other has shape \(32, 64\)"),
        ("other", {"k": "many"}, "has no config.json with"),
    ],
)
def test_a_dictionary_of_another_model_layer_or_size_is_refused(
    model: str, tmp_path: Path, name: str, config: dict[str, object], says: str
) -> None:
    sae = tiny.autoencoder(tmp_path / name, config=config)
    with pytest.raises(InvalidInput, match=says):
        open_published(ModelFiles(model, str(sae)))


def test_a_dictionary_that_cannot_rebuild_the_residues_is_refused_though_its_shapes_fit(
    model: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match="trained on another model or layer: it rebuilds 0 %"):
        open_published(ModelFiles(model, str(tiny.autoencoder(tmp_path / "other", mixed=True))))


def test_statistics_of_one_are_not_taken_for_a_normalisation(model: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"carries no statistics .* --labels"):
        open_published(ModelFiles(model, str(tiny.autoencoder(tmp_path / NAME, statistics=False))))


def test_natural_logarithms_and_another_codebook_are_refused(model: str, tmp_path: Path) -> None:
    sae = str(tiny.autoencoder(tmp_path / NAME))
    with pytest.raises(InvalidInput, match=r"falls by 2\.30 for a tenfold frequency"):
        open_published(ModelFiles(model, sae, tiny.labels(tmp_path / "natural.parquet", natural=True)))
    with pytest.raises(InvalidInput, match="the 64 features of this codebook"):
        open_published(ModelFiles(model, sae, tiny.labels(tmp_path / "small.parquet", size=16)))
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        open_published(ModelFiles(model, sae, Path(model) / "config.json"))


def test_a_dictionary_that_is_nowhere_is_named(model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(DependencyUnavailable, match="no hub gave it"):
        open_published(ModelFiles(model, "nobody/has-this"))
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "config.json").write_text(json.dumps({}), encoding="ascii")
    with pytest.raises(InvalidInput, match=r"has no config\.json with"):
        open_published(ModelFiles(model, str(empty)))


def test_standardised_rows_have_mean_zero_and_spread_one() -> None:
    rows = standardised(np.random.default_rng(1).normal(3, 5, size=(4, 200)).astype(np.float32))
    np.testing.assert_allclose(rows.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose(rows.std(axis=1, ddof=1), 1, atol=1e-4)
