"""Domains found with a small HMM file that is built here from one sequence."""

from pathlib import Path

import pytest

from protatlas.engines.domains import DomainScanner
from protatlas.errors import DependencyUnavailable
from tests.fakes.families import write_family
from tests.known_proteins import UBIQUITIN

INSULIN = (
    "MALWMRLLPLLALLALWGPDPAAAFVNQHLCGSHLVEALYLVCGERGFFYTPKTRREAEDLQVGQVELGGGPGAGSLQPLALEGSLQKRGIVEQCCTSICSLYQLENYCN"
)


@pytest.fixture
def scanner(tmp_path: Path) -> DomainScanner:
    return DomainScanner(write_family(tmp_path / "family (1).hmm", UBIQUITIN, threshold=25.0))


def test_three_repeats_are_three_domains_at_their_places(scanner: DomainScanner) -> None:
    [(key, domains)] = scanner.scan([("polyubiquitin", UBIQUITIN * 3)])
    assert key == "polyubiquitin"
    assert [(domain.start, domain.end) for domain in domains] == [(1, 76), (77, 152), (153, 228)]
    assert {(domain.accession, domain.name, domain.description) for domain in domains} == {
        ("PF00240", "ubiquitin", "Ubiquitin family")
    }
    assert all(domain.score > 25 for domain in domains)


def test_every_sequence_has_an_answer_in_its_order(scanner: DomainScanner) -> None:
    found = list(scanner.scan([("b", INSULIN), ("empty", ""), ("a", UBIQUITIN), ("giant", "M" * 100_001)]))
    assert [(key, len(domains)) for key, domains in found] == [("b", 0), ("empty", 0), ("a", 1), ("giant", 0)]


def test_score_below_the_gathering_threshold_is_no_domain(tmp_path: Path) -> None:
    strict = DomainScanner(write_family(tmp_path / "strict.hmm", UBIQUITIN, threshold=1000.0))
    assert list(strict.scan([("a", UBIQUITIN)])) == [("a", ())]


def test_family_without_threshold_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DependencyUnavailable, match=r"gathering threshold.*ubiquitin"):
        DomainScanner(write_family(tmp_path / "loose.hmm", UBIQUITIN, threshold=None))


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DependencyUnavailable, match=r"Pfam-A\.hmm"):
        DomainScanner(tmp_path / "Pfam-A.hmm")


def test_file_that_is_no_hmm_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "junk.hmm"
    path.write_text(">a\nMKT\n", encoding="utf-8")
    with pytest.raises(DependencyUnavailable, match="HMM file"):
        DomainScanner(path)
