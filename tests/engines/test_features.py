import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from protatlas.engines.encoders import EMBEDDED_PACK, Encoder, open_encoder
from protatlas.engines.features import TABLE, Activations, FeatureSet, Ranking, SparseAutoencoder, open_features
from protatlas.errors import AtlasDamaged, InvalidInput

LYSOZYME = "KVFGRCELAAAMKRHGLDNYRGYSLGNWVCAAKFESNFNTQATNRNTDGSTDYGILQINSRWWCNDGRTPGSRNLCNIPCSALLSSDITASVNCAKKIVSDGNG"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return open_encoder()


@pytest.fixture(scope="module")
def features() -> FeatureSet:
    return open_features()


@pytest.fixture(scope="module")
def activations(encoder: Encoder, features: FeatureSet) -> Activations:
    return features.sae.activate(encoder.encode(LYSOZYME).residues)


def small_set(maximum: list[float], idf: list[float]) -> FeatureSet:
    """Feature set of four features over residues of two columns."""
    arrays = {
        "w_enc": np.array([[1, -1, 0, 0], [0, 0, 1, -1]]),
        "scale": np.array([2.0, 1, 1, 1]),
        "b_enc": np.array([0, 0, 0.5, 0]),
        "b_dec": np.array([1.0, 0]),
        "threshold": np.array(1.0),
    }
    return FeatureSet(
        SparseAutoencoder(arrays, "sae-a", "encoder-a"),
        idf=np.array(idf, np.float32),
        maximum=np.array(maximum, np.float32),
        ranking=Ranking(dense=0.6, sparse=0.4),
        active_threshold=1.0,
        profile_size=2,
        reference="3 proteins",
        table=list,
    )


def trace(values: list[float], feature: int = 2) -> Activations:
    """Activations in which one feature has these values."""
    indices = np.full((len(values), 2), feature, dtype=np.int32)
    indices[:, 1] = 0
    return Activations(indices, np.stack([values, np.zeros(len(values))], axis=1).astype(np.float32))


def test_every_activation_passes_the_threshold(features: FeatureSet, activations: Activations) -> None:
    assert activations.indices.shape == activations.values.shape
    assert len(activations.indices) == len(LYSOZYME)
    assert activations.indices.dtype == np.int32
    assert activations.values.dtype == np.float32
    assert activations.values.min() >= 0
    assert activations.values.max() > 0
    assert activations.indices.max() < features.sae.size


def test_residues_have_different_features(activations: Activations) -> None:
    sets = {frozenset(row.tolist()) for row in activations.indices}
    assert len(sets) > len(LYSOZYME) // 2


def test_a_residue_is_activated_alike_alone_and_among_others(encoder: Encoder, features: FeatureSet) -> None:
    rows = encoder.encode(LYSOZYME * 12).residues
    together, alone = features.sae.activate(rows), features.sae.activate(rows[700:701])
    found = together.values[700]
    np.testing.assert_allclose(np.sort(found[found > 0]), np.sort(alone.values[0]), atol=1e-5)


def test_activations_follow_their_formula() -> None:
    # z - b_dec is (2, -3) and (0, 1): the products are (4, -2, -2.5, 3) and (0, 0, 1.5, -1); 1.0 must be passed.
    found = small_set([1] * 4, [1] * 4).sae.activate(np.array([[3, -3], [1, 1], [1, 0.5]], dtype=np.float32))
    assert found.indices[:2].tolist() == [[0, 3], [2, 0]]
    assert found.values.tolist() == [[4, 3], [1.5, 0], [0, 0]]


def test_a_protein_without_residues_has_no_activations() -> None:
    features = small_set([1] * 4, [1] * 4)
    found = features.sae.activate(np.zeros((0, 2), dtype=np.float32))
    assert len(found.indices) == 0
    assert len(features.profile(found).indices) == 0


def test_residues_of_another_width_are_refused(features: FeatureSet) -> None:
    with pytest.raises(InvalidInput, match="shape"):
        features.sae.activate(np.zeros((3, 9999), dtype=np.float32))


def test_a_profile_is_the_maximum_over_residues_normalised() -> None:
    found = small_set(maximum=[1, 1, 8, 1], idf=[1, 1, 2.5, 1]).profile(trace([0, 4, 2]))
    assert found.indices.tolist() == [2]
    assert found.values.tolist() == [pytest.approx(4 / 8 * 2.5)]


def test_a_feature_that_all_proteins_have_is_not_in_a_profile() -> None:
    assert len(small_set(maximum=[1, 1, 8, 1], idf=[1, 1, -0.1, 1]).profile(trace([0, 4, 2])).indices) == 0


def test_a_profile_keeps_the_largest_values() -> None:
    activations = Activations(np.array([[0, 1], [2, 3]], dtype=np.int32), np.array([[3, 1], [2, 4]], dtype=np.float32))
    found = small_set(maximum=[4, 4, 4, 4], idf=[1, 1, 1, 1]).profile(activations)
    assert found.indices.tolist() == [0, 3]
    assert found.values.tolist() == [0.75, 1.0]


def test_active_features_reach_the_threshold() -> None:
    features = small_set(maximum=[1, 1, 8, 1], idf=[1, 1, 2, 1])
    assert features.active(features.profile(trace([0, 4]))) == {2}
    assert features.active(features.profile(trace([0, 3.9]))) == set()


def test_regions_are_one_based_and_join_over_two_residues() -> None:
    regions = small_set([1] * 4, [1] * 4).regions(trace([0, 2, 4, 0, 0, 3, 1.9, 0, 0, 2]), 2)
    assert [(r.start, r.end, r.peak_residue) for r in regions] == [(2, 6, 3), (10, 10, 10)]
    assert regions[0].mean_activation == pytest.approx((2 + 4 + 0 + 0 + 3) / 5)


def test_a_silent_feature_has_no_region() -> None:
    assert small_set([1] * 4, [1] * 4).regions(trace([0, 1]), 3) == ()


def test_an_encoder_of_another_name_is_refused_and_both_are_named() -> None:
    features = small_set([1] * 4, [1] * 4)
    with pytest.raises(InvalidInput) as caught:
        features.check_encoder(open_encoder())
    assert "encoder-a" in str(caught.value)
    assert open_encoder().id in str(caught.value)


def test_a_pack_whose_sae_belongs_to_another_encoder_does_not_open(tmp_path: Path) -> None:
    pack = Path(shutil.copytree(EMBEDDED_PACK, tmp_path / "pack"))
    manifest = json.loads((pack / "manifest.json").read_text(encoding="utf-8"))
    found = manifest["encoder"]["id"]
    manifest["sae"]["encoder_id"] = "encoder-of-another-layer"
    (pack / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        open_features(pack)
    assert "encoder-of-another-layer" in str(caught.value)
    assert found in str(caught.value)


def test_identical_proteins_are_wholly_similar_and_weights_add_up_to_one(features: FeatureSet) -> None:
    one = np.ones(1, dtype=np.float32)
    assert features.ranking.dense + features.ranking.sparse == pytest.approx(1)
    assert features.ranking.similarity(one, one)[0] == pytest.approx(1)
    assert features.ranking.similarity(-one, one * 0)[0] == 0


def test_the_table_describes_every_feature_in_order(features: FeatureSet) -> None:
    assert [feature.feature_index for feature in features.table] == list(range(features.sae.size))
    np.testing.assert_allclose([f.max_activation for f in features.table], features.maximum, rtol=1e-3)
    np.testing.assert_allclose([f.idf for f in features.table], features.idf, atol=1e-3)


def test_labels_and_reliability_agree_with_f1(features: FeatureSet) -> None:
    bands = {"high": 0.7, "medium": 0.4, "low": 0.0}
    for feature in features.table:
        assert (feature.label is None) == (feature.f1 is None) == (feature.label_reliability == "none")
        if feature.f1 is not None:
            assert feature.label_reliability == next(name for name, least in bands.items() if feature.f1 >= least)


def test_decoder_neighbours_are_other_features(features: FeatureSet) -> None:
    for feature in features.table:
        assert feature.feature_index not in feature.decoder_nearest_neighbors
        assert len(feature.decoder_nearest_neighbors) <= 10
        assert len(feature.top_swissprot_activations) <= 10


def test_a_pack_without_table_says_so(tmp_path: Path) -> None:
    pack = Path(shutil.copytree(EMBEDDED_PACK, tmp_path / "pack"))
    (pack / TABLE).unlink()
    with pytest.raises(AtlasDamaged, match="feature table"):
        _ = open_features(pack).table
