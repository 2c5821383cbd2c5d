"""Text of a report: what a person reads of a search."""

import re
from pathlib import Path
from threading import Event

import pytest

from protatlas.blast.search import LocalEngines
from protatlas.blast.text import text
from protatlas.reports import Database, Hit, Hsp, Report
from tests.blast.conftest import search_of, target_of
from tests.known_proteins import HBA, HBB


def report_of(query: str, folder: Path, **more: object) -> Report:
    """Report of beta globin, under its names."""
    target = target_of({"beta": HBB}, folder)
    found = LocalEngines().run(search_of(query, target, **more), target, Event())
    named = {"accession": "P68871", "title": "Hemoglobin subunit beta", "organism": "Homo sapiens", "taxid": 9606}
    return found.model_copy(update={"hits": tuple(hit.model_copy(update=named) for hit in found.hits)})


def test_alignment_lines_add_up_to_the_aligned_residues(tmp_path: Path) -> None:
    report = report_of(HBA, tmp_path)
    found = report.hits[0].best
    lines = re.findall(r"^(Query|Sbjct)  (\d+) +(\S+)  (\d+)$", text(report), re.MULTILINE)
    for label, sequence, start, end in (
        ("Query", HBA, found.query_start, found.query_end),
        ("Sbjct", HBB, found.subject_start, found.subject_end),
    ):
        own = [(int(first), residues, int(last)) for name, first, residues, last in lines if name == label]
        assert "".join(residues for _, residues, _ in own).replace("-", "") == sequence[start - 1 : end]
        assert (own[0][0], own[-1][2]) == (start, end)
        assert all(residues.replace("-", "") == sequence[first - 1 : last] for first, residues, last in own)


def test_report_names_database_protein_and_organism(tmp_path: Path) -> None:
    written = text(report_of(HBA, tmp_path))
    assert "Database: globins 1; 1 sequences; 147 letters" in written
    assert ">P68871 Hemoglobin subunit beta [Homo sapiens]" in written
    assert re.search(r"Identities = \d+/\d+ \(4[34]%\)", written)


@pytest.mark.parametrize(("total", "said"), [(7, "... and 6 more"), (None, "... and perhaps more")])
def test_report_says_how_many_hits_it_leaves_out(tmp_path: Path, total: int | None, said: str) -> None:
    assert said in text(report_of(HBA, tmp_path).model_copy(update={"total": total}))


def test_report_without_hits_says_so(tmp_path: Path) -> None:
    assert "No hits found." in text(report_of("W" * 40, tmp_path, max_evalue=1e-3))


def test_coverage_is_the_aligned_part_of_the_query(tmp_path: Path) -> None:
    report = report_of(f"{'GSAGSAAGSG' * 14}{HBA[:140]}", tmp_path)
    assert 0.47 < report.coverage(report.hits[0]) <= 0.5


@pytest.mark.parametrize(
    ("program", "hsp", "said"),
    [
        ("blastn", {"subject_start": 60, "subject_end": 1}, ["Query  1       ACGT", "Sbjct  60      ACGT", "1"]),
        ("blastx", {"query_start": 2, "query_end": 181, "query_frame": -3}, ["Frame = -3", "Query  181 ", "  2\n"]),
        ("tblastn", {"subject_start": 4, "subject_end": 183, "subject_frame": 1}, ["Sbjct  4 ", "  183"]),
    ],
)
def test_positions_run_down_on_the_minus_strand_and_by_three_where_translated(
    program: str, hsp: dict[str, int], said: list[str]
) -> None:
    letters = "ACGT" * 15
    ends = {"query_start": 1, "query_end": 60, "subject_start": 1, "subject_end": 60, "columns": 60, "identical": 60}
    texts = {"query_text": letters, "match_text": "|" * 60, "subject_text": letters}
    found = Hsp.model_validate({"bit_score": 50, "evalue": 1e-9, **ends, **texts, **hsp})
    hit = Hit(key="1", accession="X", length=200, bit_score=50, evalue=1e-9, hsps=(found,))
    report = {"engine": "e", "program": program, "database": Database(name="d"), "query_length": 181, "total": 1}
    written = text(Report.model_validate({**report, "hits": (hit,)}))
    assert all(words in written for words in said), written
