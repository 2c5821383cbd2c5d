from itertools import pairwise

from tests.known_proteins import HBA, UBIQUITIN
from tests.tools.conftest import Call

TOOL = "esm_atlas_search_similar_protein_clusters"


def test_a_protein_of_the_atlas_is_its_own_nearest_with_similarity_one(call: Call) -> None:
    answer = call(TOOL, sequence=HBA)

    first = answer["hits"][0]
    assert first["sequence"] == HBA or first["cluster_size"] > 1
    assert 0.999 <= first["similarity_score"] <= 1.0
    assert answer["query_sequence_length"] == 142
    assert answer["returned"] == 10


def test_relatives_rank_above_strangers(call_once: Call) -> None:
    answer = call_once(TOOL, sequence=HBA, top_k=8)

    names = [hit["protein_name"] for hit in answer["hits"]]
    assert all("emoglobin" in name for name in names[:3])
    assert not any("nsulin" in name for name in names)


def test_scores_fall_and_stay_within_zero_and_one(call_once: Call) -> None:
    answer = call_once(TOOL, sequence=UBIQUITIN, top_k=12)

    scores = [hit["similarity_score"] for hit in answer["hits"]]
    assert len(scores) == 12
    assert all(first >= second for first, second in pairwise(scores))
    assert all(0 <= score <= 1 for score in scores)


def test_each_hit_says_which_features_it_shares(call_once: Call) -> None:
    answer = call_once(TOOL, sequence=HBA, top_k=3)

    for hit in answer["hits"]:
        shares = [feature["share"] for feature in hit["shared_features"]]
        assert shares == sorted(shares, reverse=True)
        assert 0 < sum(shares) <= 1.001
    assert answer["top_features_across_results"][0]["occurrence_count"] == 3


def test_the_values_of_features_across_results_are_those_of_the_hits_profiles(call_once: Call) -> None:
    answer = call_once(TOOL, sequence=HBA, top_k=1)
    details = call_once("esm_atlas_get_protein_details", sequence=answer["hits"][0]["sequence"])

    own = {feature["feature_index"]: feature["value"] for feature in details["sae_features"]}
    across = {feature["feature_index"]: feature["max_activation"] for feature in answer["top_features_across_results"]}
    common = own.keys() & across.keys()
    assert common
    assert all(abs(own[index] - across[index]) < 0.001 for index in common)


def test_uncharacterized_only_gives_clusters_without_any_domain(call: Call) -> None:
    answer = call(TOOL, sequence=HBA, uncharacterized_only=True, top_k=5)

    assert [hit["cluster_pct_characterized"] for hit in answer["hits"]] == [0] * 5
    for hit in answer["hits"]:
        details = call("esm_atlas_get_protein_details", sequence=hit["sequence"])
        assert details["domains"] == []


def test_a_hit_can_be_passed_on_to_the_cluster_tool(call_once: Call) -> None:
    hit = call_once(TOOL, sequence=UBIQUITIN, top_k=1)["hits"][0]

    cluster = call_once("esm_atlas_get_cluster_info", sequence=hit["sequence"])

    assert cluster["cluster_size"] == hit["cluster_size"]
    assert cluster["accession"] == hit["protein_accession"]


def test_null_for_an_optional_argument_is_the_same_as_leaving_it_out(call: Call) -> None:
    answer = call(TOOL, sequence=HBA, top_k=None, uncharacterized_only=None)

    assert answer["hits"] == call(TOOL, sequence=HBA)["hits"]


def test_the_answer_stays_small_and_does_not_echo_the_query(call_once: Call) -> None:
    query = (UBIQUITIN + HBA) * 9

    result = call_once.raw(TOOL, sequence=query[:1_900], top_k=12)

    text = result.content[0].text  # type: ignore[union-attr]  # the first block is the JSON text
    assert query[:1_900] not in text
    assert len(text) < 50_000
