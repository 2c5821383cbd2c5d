"""Alignments by phmmer, checked against what is known of the proteins and of the statistics."""

import random

import pytest

from protatlas.engines.aligners import MAX_QUERY, Alignment, PhmmerAligner
from protatlas.errors import InvalidInput
from tests.known_proteins import HBA, HBB, UBIQUITIN

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
FREQUENCIES = [8.3, 1.4, 5.5, 6.7, 3.9, 7.1, 2.3, 5.9, 5.8, 9.7, 2.4, 4.1, 4.7, 3.9, 5.5, 6.6, 5.3, 6.9, 1.1, 2.9]
"""Percent of each residue in Swiss-Prot (web.expasy.org/docs/relnotes/relstat.html)."""


def random_proteins(count: int, length: int) -> list[tuple[str, str]]:
    generator = random.Random(7)
    return [(f"random{number}", "".join(generator.choices(RESIDUES, FREQUENCIES, k=length))) for number in range(count)]


@pytest.fixture(scope="module")
def aligner() -> PhmmerAligner:
    return PhmmerAligner([("alpha", HBA), ("beta", HBB), ("ubiquitin", UBIQUITIN), *random_proteins(500, 200)])


def find(aligner: PhmmerAligner, query: str, key: str) -> Alignment:
    return next(hit for hit in aligner.search(query, max_evalue=10, limit=50).hits if hit.key == key)


def test_sequence_finds_itself_first_and_whole(aligner: PhmmerAligner) -> None:
    best = aligner.search(HBA, max_evalue=1e-3, limit=10).hits[0]
    assert (best.key, best.identity, best.gaps) == ("alpha", 1.0, 0)
    assert (best.query_start, best.query_end, best.subject_start, best.subject_end) == (1, 142, 1, 142)
    assert best.query_text == best.subject_text == HBA


def test_alpha_and_beta_globin_share_43_percent_of_their_residues(aligner: PhmmerAligner) -> None:
    beta = find(aligner, HBA, "beta")
    assert beta.identity == pytest.approx(0.43, abs=0.015)
    assert beta.evalue < 1e-25
    assert beta.subject_length == 147


def test_texts_are_the_residues_of_the_ranges(aligner: PhmmerAligner) -> None:
    beta = find(aligner, HBA, "beta")
    assert beta.query_text.replace("-", "") == HBA[beta.query_start - 1 : beta.query_end]
    assert beta.subject_text.replace("-", "") == HBB[beta.subject_start - 1 : beta.subject_end]
    assert beta.columns == len(beta.query_text) == len(beta.match_text) == len(beta.subject_text)
    assert beta.identical == sum(
        query == subject for query, subject in zip(beta.query_text, beta.subject_text, strict=True)
    )
    assert beta.gaps == beta.query_text.count("-") + beta.subject_text.count("-")


def test_domain_of_a_longer_protein_is_found_where_it_is(aligner: PhmmerAligner) -> None:
    hit = find(aligner, f"{'GSAGSAAGSG' * 5}{UBIQUITIN}", "ubiquitin")
    assert (hit.query_start, hit.query_end, hit.subject_start, hit.subject_end) == (51, 126, 1, 76)


def test_repeated_domains_are_counted() -> None:
    repeats = PhmmerAligner([("polyubiquitin", UBIQUITIN * 3)])
    assert repeats.search(UBIQUITIN, max_evalue=1e-3, limit=1).hits[0].domains == 3


def test_total_counts_hits_beyond_the_limit(aligner: PhmmerAligner) -> None:
    few, all_hits = (aligner.search(HBA, max_evalue=10, limit=limit) for limit in (1, 500))
    assert len(few.hits) == 1
    assert few.total == all_hits.total == len(all_hits.hits) > 1
    assert few.hits == all_hits.hits[:1]


def test_hits_come_by_rising_evalue_up_to_the_limit_asked_for(aligner: PhmmerAligner) -> None:
    evalues = [hit.evalue for hit in aligner.search(HBB, max_evalue=5, limit=500).hits]
    assert evalues == sorted(evalues)
    assert evalues[-1] <= 5


def test_evalue_is_the_number_of_chance_hits() -> None:
    """Ten unrelated queries against random proteins: 10 x 10 hits expected up to E 10; 60 to 140 is four deviations."""
    targets = PhmmerAligner(random_proteins(1000, 300))
    queries = [sequence[:150] for _, sequence in random_proteins(1010, 310)[-10:]]
    found = sum(targets.search(query, max_evalue=10, limit=1).total for query in queries)
    assert 60 <= found <= 140


def test_evalue_grows_with_the_number_of_sequences(aligner: PhmmerAligner) -> None:
    alone = PhmmerAligner([("alpha", HBA), ("beta", HBB)])
    ratio = find(aligner, HBA, "beta").evalue / find(alone, HBA, "beta").evalue
    assert ratio == pytest.approx(503 / 2, rel=1e-6)


def test_unrelated_query_finds_nothing(aligner: PhmmerAligner) -> None:
    found = aligner.search("W" * 40, max_evalue=1e-3, limit=10)
    assert (found.hits, found.total) == ((), 0)


def test_eight_residues_find_their_protein_and_the_settings_say_how(aligner: PhmmerAligner) -> None:
    found = aligner.search(HBA[:8], max_evalue=10, limit=10)
    assert found.hits[0].key == "alpha"
    assert found.hits[0].evalue < 0.01
    assert any("PAM30" in setting for setting in found.settings)
    assert not any("PAM30" in setting for setting in aligner.search(HBA, max_evalue=10, limit=1).settings)


def test_letters_of_the_query_are_shown_as_given(aligner: PhmmerAligner) -> None:
    query = f"{UBIQUITIN[:19]}U{UBIQUITIN[20:40]}X{UBIQUITIN[41:]}"
    hit = find(aligner, query, "ubiquitin")
    assert hit.query_text == query
    assert hit.identical == 74


def test_query_over_the_limit_is_refused_with_both_lengths(aligner: PhmmerAligner) -> None:
    with pytest.raises(InvalidInput) as caught:
        aligner.search("M" * (MAX_QUERY + 1), max_evalue=10, limit=1)
    assert caught.value.fields["actual_length"] == MAX_QUERY + 1
    assert caught.value.fields["max_length"] == MAX_QUERY


def test_sequences_too_long_for_hmmer_are_left_out_with_a_word() -> None:
    found = PhmmerAligner([("giant", "MK" * 50_001), ("alpha", HBA)]).search(HBA, max_evalue=1, limit=5)
    assert [hit.key for hit in found.hits] == ["alpha"]
    assert any("1 sequences over 100000" in setting for setting in found.settings)


def test_empty_set_has_no_hits() -> None:
    assert PhmmerAligner([]).search(HBA, max_evalue=10, limit=5).total == 0
