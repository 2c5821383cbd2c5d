import hashlib

import pytest

from tests.known_proteins import HBA, UBIQUITIN
from tests.tools.conftest import Call


def test_an_accession_finds_exactly_its_record(call: Call) -> None:
    answer = call("esm_atlas_search_uniprot", query="P69905")

    (protein,) = answer["proteins"]
    assert protein["accession"] == "P69905"
    assert protein["sequence"] == HBA
    assert protein["gene"] == "HBA1"
    assert protein["organism_id"] == 9606
    assert answer["total_results"] == answer["num_results"] == 1


@pytest.mark.parametrize(
    ("query", "accession"),
    [
        ("gene:HBA1 AND organism_id:9606", "P69905"),
        ("gene:INS organism_name:human OR gene:INS", "P01308"),
        ('protein_name:"hemoglobin subunit beta" organism_id:9606', "P68871"),
        ("HBA_HUMAN", "P69905"),
        ("id:HBA_HUMAN", "P69905"),
        ("accession:P69905", "P69905"),
        ("xref:pfam-PF00069 taxonomy_id:9606 gene:PRKACA", "P17612"),
        ("green fluorescent protein", "P42212"),
    ],
)
def test_fields_and_words_find_the_well_known_protein_first(call_once: Call, query: str, accession: str) -> None:
    answer = call_once("esm_atlas_search_uniprot", query=query)

    assert answer["proteins"][0]["accession"] == accession


def test_size_caps_the_list_and_the_total_counts_all(call_once: Call) -> None:
    answer = call_once("esm_atlas_search_uniprot", query="organism_id:9606", size=2)

    assert answer["num_results"] == len(answer["proteins"]) == 2
    assert answer["total_results"] > 50


def test_not_leaves_out_what_it_names(call_once: Call) -> None:
    both = call_once("esm_atlas_search_uniprot", query="hemoglobin", size=6)
    human = call_once("esm_atlas_search_uniprot", query="hemoglobin NOT subunit", size=6)

    assert both["total_results"] > human["total_results"]
    assert all("subunit" not in protein["protein_name"] for protein in human["proteins"])


def test_a_search_that_finds_nothing_is_an_empty_list(call: Call) -> None:
    answer = call("esm_atlas_search_uniprot", query="gene:nosuchgene")
    unknown = call("esm_atlas_search_uniprot", query="Q00001")

    assert answer["proteins"] == unknown["proteins"] == []
    assert answer["total_results"] == unknown["total_results"] == 0
    assert "fewer words" in answer["notes"][0]
    assert "does not hold Q00001" in unknown["notes"][0]


def test_a_sequence_version_is_ignored_with_a_note(call_once: Call) -> None:
    answer = call_once("esm_atlas_search_uniprot", query="P69905.2")

    assert [protein["accession"] for protein in answer["proteins"]] == ["P69905"]
    assert any("version" in note for note in answer["notes"])


def test_an_isoform_is_not_passed_off_as_the_canonical_entry(call_once: Call) -> None:
    answer = call_once("esm_atlas_search_uniprot", query="P69905-2")

    assert [protein["accession"] for protein in answer["proteins"]] == ["P69905"]
    assert any("Isoform 2" in note for note in answer["notes"])


def test_an_old_field_name_is_refused_with_the_present_one(call_once: Call) -> None:
    error = call_once.error("esm_atlas_search_uniprot", query="insulin AND organism:9606")

    assert error["code"] == "invalid_input"
    assert "organism_id" in error["message"]


def test_lookup_refuses_a_uniprot_accession_and_names_the_search_tool(call: Call) -> None:
    error = call.error("esm_atlas_lookup_accession", accession="P69905")

    assert error["code"] == "invalid_input"
    assert "esm_atlas_search_uniprot" in error["message"]


@pytest.mark.parametrize("accession", ["MGYP000261684433", "UPI0000000001", "no such id"])
def test_an_accession_that_the_atlas_does_not_hold_is_not_found(call_once: Call, accession: str) -> None:
    error = call_once.error("esm_atlas_lookup_accession", accession=accession)

    assert error["code"] == "not_found"
    assert "small" in error["message"]


def test_lookup_gives_the_sequence_of_an_entry_name(call_once: Call) -> None:
    answer = call_once("esm_atlas_lookup_accession", accession="hba_human")

    assert answer["sequence"] == HBA
    assert answer["sequence_length"] == 142


def test_details_of_a_known_protein_name_it_and_its_features(call: Call) -> None:
    answer = call("esm_atlas_get_protein_details", sequence=HBA)

    assert answer["accession"] == "P69905"
    assert answer["protein_hash"] == hashlib.md5(HBA.encode(), usedforsecurity=False).hexdigest()
    assert answer["source"] == "uniprotkb"
    assert not answer["features_computed_on_miss"]
    assert not answer["folded_on_miss"]
    values = [feature["value"] for feature in answer["sae_features"]]
    assert values == sorted(values, reverse=True)
    assert values


def test_every_feature_region_lies_within_the_sequence(call_once: Call) -> None:
    answer = call_once("esm_atlas_get_protein_details", sequence=HBA)

    regions = [region for feature in answer["sae_features"] for region in feature["residue_regions"]]
    assert regions
    for region in regions:
        assert 1 <= region["start"] <= region["peak_residue"] <= region["end"] <= 142
        assert region["mean_activation"] > 0


def test_an_unknown_sequence_gets_its_features_computed(call: Call) -> None:
    answer = call("esm_atlas_get_protein_details", sequence=UBIQUITIN)

    assert answer["accession"] is None
    assert answer["features_computed_on_miss"]
    assert answer["sae_features"]
    assert answer["sequence_length"] == 76


@pytest.mark.parametrize(
    "pasted",
    [
        UBIQUITIN.lower(),
        f">my query, please ignore\r\n{UBIQUITIN[:30]} \r\n{UBIQUITIN[30:60]}\r\n\r\n{UBIQUITIN[60:]}\r\n",
        f"        1 {UBIQUITIN[:10].lower()} {UBIQUITIN[10:].lower()}\n//",
        UBIQUITIN + "*",
    ],
)
def test_pasted_forms_of_a_sequence_give_the_same_answer(call_once: Call, pasted: str) -> None:
    plain = call_once("esm_atlas_get_protein_details", sequence=UBIQUITIN)
    answer = call_once("esm_atlas_get_protein_details", sequence=pasted)

    assert answer["sequence"] == UBIQUITIN
    assert answer["sae_features"] == plain["sae_features"]


def test_a_long_unknown_sequence_is_too_long_for_features_and_the_next_call_works(call_once: Call) -> None:
    error = call_once.error("esm_atlas_get_protein_details", sequence=(UBIQUITIN * 33)[:2500])
    answer = call_once("esm_atlas_get_protein_details", sequence=UBIQUITIN)

    assert error["code"] == "sequence_too_long_for_features"
    assert error["actual_length"] == 2500
    assert error["max_length"] == 2048
    assert answer["sequence_length"] == 76


def test_three_letter_codes_are_never_read_as_residues(call_once: Call) -> None:
    error = call_once.error("esm_atlas_get_protein_details", sequence="MetGlnIlePheValLysThrLeuThrGlyLysThr")

    assert error["code"] == "invalid_input"
    assert "three-letter" in error["message"]
