"""The report of a sequence search: hits that carry numbers, and its text in the layout that BLAST made familiar."""

from collections.abc import Iterator

from protatlas.engines.aligners import Alignment
from protatlas.records import Record

LINE_WIDTH = 60
"""Alignment columns in a line of text, as in the text reports of BLAST."""
TITLE_WIDTH = 58


class Hit(Record):
    """A sequence that was found: how it is known, and its alignment with the query. `taxid` is an NCBI taxon."""

    accession: str
    title: str
    organism: str | None
    taxid: int | None
    alignment: Alignment


class Report(Record):
    """Outcome of one search, best hit first.

    `database` is shown as it is named to users; `sequences` and `residues` are its size. `total` counts the hits
    before the limit.
    """

    engine: str
    program: str
    database: str
    sequences: int
    residues: int
    query_length: int
    hits: tuple[Hit, ...]
    total: int
    settings: tuple[str, ...]

    def coverage(self, hit: Hit) -> float:
        """Share of the query, 0 to 1, that the best alignment of a hit spans."""
        return (hit.alignment.query_end - hit.alignment.query_start + 1) / self.query_length


def text(report: Report) -> str:
    """Plain text of a report: head, one line a hit, then the alignments."""
    return "\n".join([*_head(report), *_summary(report), *(line for hit in report.hits for line in _alignment(hit))])


def _head(report: Report) -> Iterator[str]:
    yield f"{report.engine}, in the manner of {report.program}"
    yield f"Database: {report.database}; {report.sequences:,} sequences; {report.residues:,} residues"
    yield f"Query: {report.query_length} residues"
    yield from report.settings
    yield ""


def _summary(report: Report) -> Iterator[str]:
    if not report.hits:
        yield "No hits found."
        return
    yield f"{'Sequences with significant alignments:':<{TITLE_WIDTH}}  {'bits':>7}  {'E':>8}  {'ident':>5}"
    for hit in report.hits:
        title = f"{hit.accession}  {hit.title}"
        found = hit.alignment
        yield (
            f"{title[:TITLE_WIDTH]:<{TITLE_WIDTH}}  {found.bit_score:7.1f}  {found.evalue:8.2g}  {found.identity:5.0%}"
        )
    if report.total > len(report.hits):
        yield f"... and {report.total - len(report.hits)} more"


def _alignment(hit: Hit) -> Iterator[str]:
    found = hit.alignment
    organism = f" [{hit.organism}]" if hit.organism else ""
    yield ""
    yield f">{hit.accession} {hit.title}{organism}"
    yield f"Length={found.subject_length}"
    yield f" Score = {found.bit_score:.1f} bits, Expect = {found.evalue:.2g}, domains = {found.domains}"
    yield (
        f" Identities = {found.identical}/{found.columns} ({found.identity:.0%}), "
        f"Positives = {found.positive}/{found.columns} ({found.positive / found.columns:.0%}), "
        f"Gaps = {found.gaps}/{found.columns} ({found.gaps / found.columns:.0%})"
    )
    query_at, subject_at = found.query_start, found.subject_start
    for start in range(0, found.columns, LINE_WIDTH):
        part = slice(start, start + LINE_WIDTH)
        query, subject = found.query_text[part], found.subject_text[part]
        query_next = query_at + len(query) - query.count("-")
        subject_next = subject_at + len(subject) - subject.count("-")
        yield ""
        yield f"Query  {query_at:<5} {query}  {query_next - 1}"
        yield f"{'':13}{found.match_text[part]}"
        yield f"Sbjct  {subject_at:<5} {subject}  {subject_next - 1}"
        query_at, subject_at = query_next, subject_next
