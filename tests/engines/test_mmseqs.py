"""Search of large sets by MMseqs2 and Smith-Waterman, held to an alignment by hand and to BLAST+."""

import random
from pathlib import Path
from threading import Event

import pytest
from scoring_matrices import ScoringMatrix  # type: ignore[attr-defined]  # its stubs do not export it

from protatlas.blast.search import LocalEngines
from protatlas.engines import blastplus
from protatlas.engines.aligners import Alignment
from protatlas.engines.linclust import is_installed
from protatlas.engines.mmseqs import RepresentativeAligner, prepare, search_space
from protatlas.errors import InvalidInput
from tests.blast.conftest import search_of, target_of
from tests.known_proteins import HBA, HBB, UBIQUITIN

pytestmark = pytest.mark.skipif(not is_installed(), reason="MMseqs2 is not installed")


def _random(count: int, length: int = 300) -> dict[str, str]:
    drawn = random.Random(1)  # no secret
    return {f"r|{n}": "".join(drawn.choices("ACDEFGHIKLMNPQRSTVWY", k=length)) for n in range(count)}


def _mutated(sequence: str, every: int) -> str:
    return "".join("A" if at % every == every - 1 else letter for at, letter in enumerate(sequence))


PROTEINS = {
    **_random(300),
    "alpha": HBA,
    "alpha|close": _mutated(HBA, 9),
    "beta": HBB,
    "two domains": f"{UBIQUITIN}{'GS' * 20}{UBIQUITIN}",
    "selenium": HBA[:60] + "U" + HBA[61:],
}


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> RepresentativeAligner:
    folder = tmp_path_factory.mktemp("a set (1) & 'quoted'")
    prepare(PROTEINS.items(), folder, threads=1)
    return RepresentativeAligner(folder, threads=1)


def best_local_score(first: str, second: str) -> int:
    """Smith-Waterman with affine gaps (Gotoh), BLOSUM62, a gap of n costs 11 + n."""
    matrix = ScoringMatrix.from_name("BLOSUM62")
    row = {letter: at for at, letter in enumerate(str(matrix.alphabet))}
    high, low = [0] * (len(second) + 1), [-99] * (len(second) + 1)
    best = 0
    for a in first:
        diagonal, left, across = 0, 0, -99
        for at, b in enumerate(second, start=1):
            low[at] = max(low[at] - 1, high[at] - 12)
            across = max(across - 1, left - 12)
            score = max(0, diagonal + int(matrix[row[a]][row[b]]), low[at], across)
            diagonal, high[at], left = high[at], score, score
            best = max(best, score)
    return best


def test_members_of_a_cluster_are_found_and_scored_exactly(aligner: RepresentativeAligner) -> None:
    found = {hit.key: hit for hit in aligner.search(HBA, max_evalue=1e-3, limit=10).hits}
    assert set(found) == {"alpha", "alpha|close", "beta", "selenium"}
    for key in ("alpha", "alpha|close", "beta"):
        raw = best_local_score(HBA, PROTEINS[key])
        assert found[key].bit_score == pytest.approx((0.267 * raw + 3.194) / 0.6931, abs=0.02)


def test_an_alignment_can_be_followed_letter_by_letter(aligner: RepresentativeAligner) -> None:
    for hit in aligner.search(HBB, max_evalue=1e-3, limit=10).hits:
        _check(hit, HBB, PROTEINS[hit.key])


def _check(hit: Alignment, query: str, subject: str) -> None:
    assert hit.query_text.replace("-", "") == query[hit.query_start - 1 : hit.query_end]
    assert hit.subject_text.replace("-", "") == subject[hit.subject_start - 1 : hit.subject_end]
    pairs = list(zip(hit.query_text, hit.subject_text, strict=True))
    assert hit.identical == sum(a == b for a, b in pairs)
    assert hit.gaps == sum("-" in pair for pair in pairs)
    assert (hit.columns, hit.subject_length) == (len(pairs), len(subject))


def test_the_total_counts_what_the_limit_leaves_out(aligner: RepresentativeAligner) -> None:
    found = aligner.search(HBA, max_evalue=1e-3, limit=1)
    assert ([hit.key for hit in found.hits], found.total) == (["alpha"], 4)


def test_nothing_found_is_an_empty_tuple(aligner: RepresentativeAligner) -> None:
    found = aligner.search("W" * 60, max_evalue=1e-3, limit=10)
    assert (found.hits, found.total) == ((), 0)


def test_a_query_over_the_limit_is_refused(aligner: RepresentativeAligner) -> None:
    with pytest.raises(InvalidInput, match="4001 residues"):
        aligner.search("M" * 4_001, max_evalue=10, limit=10)


def test_the_set_says_its_size_and_how_it_is_searched(aligner: RepresentativeAligner) -> None:
    assert (aligner.sequences, aligner.residues) == (len(PROTEINS), sum(map(len, PROTEINS.values())))
    assert "MMseqs2" in aligner.name
    settings = aligner.search(HBA, max_evalue=1, limit=1).settings
    assert any("not masked" in line for line in settings)
    assert any("without its adjustment to the composition" in line for line in settings)


@pytest.mark.skipif(not blastplus.is_installed(), reason="BLAST+ is not installed")
@pytest.mark.parametrize("query", [HBA, UBIQUITIN, HBA * 5])
def test_the_search_space_is_that_of_blast(query: str, tmp_path: Path) -> None:
    target = target_of({key.replace("|", "").replace(" ", ""): s for key, s in PROTEINS.items()}, tmp_path)
    folder = target.prepared("blast", lambda at: blastplus.make_database(target.records(), at, molecule="protein"))
    tree = blastplus.search("blastp", query, folder, blastplus.Options(10, 10), threads=1)
    stated = tree["results"]["search"]["stat"]["eff_space"]
    assert search_space(len(query), len(PROTEINS), target.residues) == pytest.approx(stated, rel=1e-9)


def test_large_sets_are_searched_by_mmseqs_and_short_queries_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("protatlas.blast.search.LARGE", 300)
    keys = {f"k{n}": sequence for n, sequence in enumerate(PROTEINS.values())}
    target, local = target_of(keys, tmp_path), LocalEngines(threads=1)
    assert (local.choose("blastp", target), local.choose("blastp", target, letters=29)) == ("mmseqs2", "phmmer")

    local.prepare(target)
    report = local.run(search_of(HBA, target, engine="mmseqs2", max_evalue=1e-3), target, Event())
    assert (report.total, report.engine.split()[0]) == (4, "MMseqs2")
