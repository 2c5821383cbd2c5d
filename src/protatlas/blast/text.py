"""A report as text, in the layout that BLAST made familiar."""

from collections.abc import Iterator

from protatlas.reports import Hit, Hsp, Program, Report

LINE_WIDTH = 60
"""Alignment columns in a line, as in the text reports of BLAST."""
TITLE_WIDTH = 58
CODON = 3


def text(report: Report) -> str:
    """Plain text of a report: head, one line a hit, then the best alignment of each."""
    alignments = (line for hit in report.hits for line in _alignment(report.program, hit))
    return "\n".join([*_head(report), *_summary(report), *alignments])


def _head(report: Report) -> Iterator[str]:
    database = report.database
    size = [
        f"{count:,} {what}"
        for count, what in ((database.sequences, "sequences"), (database.residues, "letters"))
        if count
    ]
    yield f"{report.engine}, {report.program}"
    yield "; ".join([f"Database: {database.name}{f' {database.version}' if database.version else ''}", *size])
    yield f"Query: {report.query_length} letters"
    yield from report.settings
    yield ""


def _summary(report: Report) -> Iterator[str]:
    if not report.hits:
        yield "No hits found."
        return
    yield f"{'Sequences with significant alignments:':<{TITLE_WIDTH}}  {'bits':>7}  {'E':>8}  {'ident':>5}"
    for hit in report.hits:
        title = f"{hit.accession}  {hit.title}"[:TITLE_WIDTH]
        yield f"{title:<{TITLE_WIDTH}}  {hit.bit_score:7.1f}  {hit.evalue:8.2g}  {hit.best.identity:5.0%}"
    if report.total is None or report.total > len(report.hits):
        more = "and perhaps" if report.total is None else f"and {report.total - len(report.hits)}"
        yield f"... {more} more"


def _alignment(program: Program, hit: Hit) -> Iterator[str]:
    best = hit.best
    organism = f" [{hit.organism}]" if hit.organism else ""
    others = f", the best of {len(hit.hsps)} alignments" if len(hit.hsps) > 1 else ""
    yield ""
    yield f">{hit.accession} {hit.title}{organism}"
    yield f"Length={hit.length}"
    yield f" Score = {best.bit_score:.1f} bits, Expect = {best.evalue:.2g}{others}"
    counts = [("Identities", best.identical), ("Positives", best.positive), ("Gaps", best.gaps)]
    yield " " + ", ".join(
        f"{what} = {count}/{best.columns} ({count / best.columns:.0%})" for what, count in counts if count is not None
    )
    if frames := [f"{frame:+d}" for frame in (best.query_frame, best.subject_frame) if frame]:
        yield f" Frame = {'/'.join(frames)}"
    yield from _columns(program, best)


def _columns(program: Program, hsp: Hsp) -> Iterator[str]:
    steps = _steps(program, hsp)
    query_at, subject_at = (
        _first(hsp.query_start, hsp.query_end, steps[0]),
        _first(hsp.subject_start, hsp.subject_end, steps[1]),
    )
    for start in range(0, len(hsp.query_text), LINE_WIDTH):
        part = slice(start, start + LINE_WIDTH)
        query, subject = hsp.query_text[part], hsp.subject_text[part]
        query_next = query_at + steps[0] * (len(query) - query.count("-"))
        subject_next = subject_at + steps[1] * (len(subject) - subject.count("-"))
        yield ""
        yield f"Query  {query_at:<7} {query}  {_last(query_next, steps[0])}"
        yield f"{'':15}{hsp.match_text[part]}"
        yield f"Sbjct  {subject_at:<7} {subject}  {_last(subject_next, steps[1])}"
        query_at, subject_at = query_next, subject_next


def _steps(program: Program, hsp: Hsp) -> tuple[int, int]:
    """Letters that a column goes on in the query and in the subject; negative on the minus strand."""
    is_translated = [
        program == "tblastx" or (program == "blastx" and side == 0) or (program == "tblastn" and side == 1)
        for side in (0, 1)
    ]
    ends = ((hsp.query_frame, hsp.query_start, hsp.query_end), (hsp.subject_frame, hsp.subject_start, hsp.subject_end))
    query, subject = (
        (-1 if (frame or 0) < 0 or first > last else 1) * (CODON if translated else 1)
        for (frame, first, last), translated in zip(ends, is_translated, strict=True)
    )
    return query, subject


def _first(start: int, end: int, step: int) -> int:
    return max(start, end) if step < 0 else start


def _last(following: int, step: int) -> int:
    return following + 1 if step < 0 else following - 1
