from tests.tools.conftest import Call
from tests.tools.test_proteins import HBA, UBIQUITIN


def test_the_cluster_of_a_globin_is_characterised_vertebrate_and_holds_the_globin_domain(call: Call) -> None:
    answer = call("esm_atlas_get_cluster_info", sequence=HBA)

    assert answer["cluster_size"] >= 1
    assert answer["cluster_pct_characterized"] == 100
    assert 0.5 < answer["cluster_mean_domain_coverage"] <= 1
    assert answer["top_pfam_domains"][0]["accession"] == "PF00042"
    assert answer["top_phyla"] == {"Chordata": answer["cluster_size"]}
    assert answer["taxonomy_info"]["rank"]
    assert answer["representative_features"]


def test_a_sequence_in_no_cluster_is_not_found(call: Call) -> None:
    error = call.error("esm_atlas_get_cluster_info", sequence=UBIQUITIN)

    assert error["code"] == "not_found"
    assert "esm_atlas_search_similar_protein_clusters" in error["message"]
