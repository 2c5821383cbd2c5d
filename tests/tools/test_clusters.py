from tests.known_proteins import UBIQUITIN
from tests.tools.conftest import Call


def test_the_cluster_of_a_kinase_is_characterised_and_holds_the_kinase_domain(call: Call) -> None:
    kinase = call("esm_atlas_search_uniprot", query="P17612")["proteins"][0]["sequence"]
    details = call("esm_atlas_get_protein_details", sequence=kinase)

    answer = call("esm_atlas_get_cluster_info", sequence=kinase)

    assert answer["cluster_size"] >= 1
    assert answer["cluster_pct_characterized"] == 100
    assert 0.5 < answer["cluster_mean_domain_coverage"] <= 1
    assert answer["top_pfam_domains"][0] == {
        "accession": "PF00069",
        "name": "Pkinase",
        "members": answer["cluster_size"],
    }
    assert answer["top_phyla"]["Chordata"] >= 1
    assert answer["representative_features"]
    assert details["domains"] == ["PF00069 Pkinase 44-298"]


def test_an_absent_domain_comes_with_the_number_of_families_that_were_looked_for(call_once: Call) -> None:
    globin = call_once("esm_atlas_search_uniprot", query="P69905")["proteins"][0]["sequence"]

    answer = call_once("esm_atlas_get_cluster_info", sequence=globin)

    assert answer["top_pfam_domains"] == []
    assert any("3,057 Pfam families" in note for note in answer["notes"])


def test_a_sequence_in_no_cluster_is_not_found(call: Call) -> None:
    error = call.error("esm_atlas_get_cluster_info", sequence=UBIQUITIN)

    assert error["code"] == "not_found"
    assert "esm_atlas_search_similar_protein_clusters" in error["message"]
