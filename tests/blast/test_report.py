"""Text of a report: what a person reads of a search."""

import re

from protatlas.blast.report import Hit, Report, text
from protatlas.engines.aligners import PhmmerAligner
from tests.known_proteins import HBA, HBB


def report_of(query: str, *, max_evalue: float = 10, total: int | None = None) -> Report:
    aligner = PhmmerAligner([("beta", HBB)])
    found = aligner.search(query, max_evalue=max_evalue, limit=5)
    hits = [
        Hit(accession="P68871", title="Hemoglobin subunit beta", organism="Homo sapiens", taxid=9606, alignment=hit)
        for hit in found.hits
    ]
    return Report(
        engine=aligner.name,
        program="blastp",
        database="globins",
        sequences=aligner.sequences,
        residues=aligner.residues,
        query_length=found.query_length,
        hits=tuple(hits),
        total=found.total if total is None else total,
        settings=found.settings,
    )


def test_alignment_lines_add_up_to_the_aligned_residues() -> None:
    report = report_of(HBA)
    found = report.hits[0].alignment
    lines = re.findall(r"^(Query|Sbjct)  (\d+) +(\S+)  (\d+)$", text(report), re.MULTILINE)
    for label, sequence, start, end in (
        ("Query", HBA, found.query_start, found.query_end),
        ("Sbjct", HBB, found.subject_start, found.subject_end),
    ):
        own = [(int(first), residues, int(last)) for name, first, residues, last in lines if name == label]
        assert "".join(residues for _, residues, _ in own).replace("-", "") == sequence[start - 1 : end]
        assert (own[0][0], own[-1][2]) == (start, end)
        assert all(residues.replace("-", "") == sequence[first - 1 : last] for first, residues, last in own)


def test_report_names_database_protein_and_organism() -> None:
    written = text(report_of(HBA))
    assert "Database: globins; 1 sequences; 147 residues" in written
    assert ">P68871 Hemoglobin subunit beta [Homo sapiens]" in written
    assert re.search(r"Identities = \d+/\d+ \(4[34]%\)", written)


def test_report_says_how_many_hits_it_leaves_out() -> None:
    assert "... and 6 more" in text(report_of(HBA, total=7))


def test_report_without_hits_says_so() -> None:
    assert "No hits found." in text(report_of("W" * 40, max_evalue=1e-3))


def test_coverage_is_the_aligned_part_of_the_query() -> None:
    report = report_of(f"{'GSAGSAAGSG' * 14}{HBA[:140]}")
    assert 0.47 < report.coverage(report.hits[0]) <= 0.5
