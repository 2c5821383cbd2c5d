import pytest

from protatlas.app import App
from tests.known_proteins import HBA, UBIQUITIN
from tests.tools.conftest import Call

TOOL = "esm_atlas_get_sae_feature_detail"


def test_a_feature_of_a_protein_can_be_explained(call: Call) -> None:
    profile = call("esm_atlas_get_protein_details", sequence=HBA)["sae_features"]

    answer = call(TOOL, feature_index=profile[0]["feature_index"])

    assert answer["feature_index"] == profile[0]["feature_index"]
    assert answer["label"] == profile[0]["label"]
    assert answer["uniref90_frequency"] > 0
    assert answer["decoder_nearest_neighbors"]
    activations = [protein["activation"] for protein in answer["top_swissprot_activations"]]
    assert activations == sorted(activations, reverse=True)
    assert activations


def test_reliability_is_the_band_of_the_measured_f1(app: App) -> None:
    bands = {"high": (0.7, 1.0), "medium": (0.4, 0.7), "low": (0.0, 0.4)}
    labelled = [feature for feature in app.features.table if feature.label is not None]

    assert len(labelled) > 100
    for feature in labelled:
        lowest, highest = bands[feature.label_reliability]
        assert feature.f1 is not None
        assert lowest <= feature.f1 <= highest
    assert {feature.label_reliability for feature in app.features.table if feature.label is None} <= {"none"}


@pytest.mark.parametrize("index", [-1, 16_384])
def test_a_number_outside_the_contract_is_invalid(call_once: Call, index: int) -> None:
    assert call_once.error(TOOL, feature_index=index)["code"] == "invalid_input"


def test_a_number_outside_the_dictionary_is_invalid_and_names_its_end(call_once: Call, app: App) -> None:
    size = app.features.sae.size
    if size == 16_384:
        pytest.skip("the dictionary is as large as the contract allows")

    error = call_once.error(TOOL, feature_index=size)

    assert error["code"] == "invalid_input"
    assert str(size - 1) in error["message"]


def test_every_answer_that_holds_feature_numbers_names_their_sae(call_once: Call, app: App) -> None:
    details = call_once("esm_atlas_get_protein_details", sequence=HBA)
    similar = call_once("esm_atlas_search_similar_protein_clusters", sequence=HBA)
    cluster = call_once("esm_atlas_get_cluster_info", sequence=HBA)
    feature = call_once(TOOL, feature_index=0)

    assert {answer["sae"] for answer in (details, similar, cluster, feature)} == {app.features.sae.id}


def test_a_label_is_shown_only_where_the_feature_is_strong_enough_for_it(app: App, call: Call) -> None:
    for sequence in (HBA, UBIQUITIN):
        for feature in call("esm_atlas_get_protein_details", sequence=sequence)["sae_features"]:
            known = app.features.table[feature["feature_index"]]
            least = (known.label_from or 0) * float(app.features.idf[known.feature_index])
            assert feature["label"] == (known.label if feature["value"] >= least - 1e-4 else None)
            assert (feature["label"] is None) == (feature["label_reliability"] == "none")
