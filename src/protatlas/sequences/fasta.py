"""Records of FASTA files, streaming: every one is an entry or is skipped with its line and reason."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple

from protatlas.errors import InvalidInput
from protatlas.sequences.files import Bytes, decoded, name_of, opened
from protatlas.sequences.residues import (
    NUCLEOTIDE,
    STOP_NOTE,
    THREE_LETTER_CODES,
    UnreadableError,
    is_soft_masked,
    pir_parts,
    residues_of,
)

BLOCK_BYTES = 1 << 17
MAX_RECORD_BYTES = 1 << 24
"""No protein is that long (titin has 35,000 residues): of a longer record only the start is looked at."""
NAMED_RECORDS = 5
"""How many records a message names."""
NO_HEADER = "text before the first '>'"
UNNAMED_NOTE = "the record has no identifier; its line number stands for it"

_COMMON = b"ACDEFGHIKLMNPQRSTVWY"
_ENDS = frozenset((b"*", b"\r"))
_LEU, _GLU, _ILE = b"LEI"
_SPELLED = frozenset(code.encode() for code in THREE_LETTER_CODES)
_new_entry: Callable[[type["Entry"], tuple[object, ...]], "Entry"] = tuple.__new__
_INDENTED_HEADER = re.compile(rb"\n((?:[ \t]|\xef\xbb\xbf)+)>")
_LONE_RETURN = re.compile(rb"\r(?!\n)")
_OTHER_FORMATS = (
    (rb"@", "a FASTQ file of reads"),
    (rb"LOCUS ", "a GenBank record"),
    (rb"ID   ", "an EMBL or UniProt flat file"),
    (rb"# STOCKHOLM", "a Stockholm alignment"),
    (rb"CLUSTAL", "a Clustal alignment"),
    (rb"##gff", "a GFF file"),
    (rb"HMMER", "an HMM file"),
    (rb"(?:HEADER|ATOM) ", "a PDB file"),
    (rb"data_", "an mmCIF file"),
    (rb"\s*<", "a web page or XML"),
    (rb"\s*[\[{]", "JSON or rich text"),
    (rb"PK\x03\x04", "a zip archive or spreadsheet"),
    (rb"%PDF", "a PDF document"),
    (rb"7z\xbc\xaf", "a 7z archive"),
)
"""First bytes by which a file that is no FASTA is named."""


class Entry(NamedTuple):
    """One record of a FASTA file.

    `header` is the text after `>` without surrounding blanks, `sequence` upper-case residues, `line` the 1-based number
    of the header line, `notes` what was changed to get these residues; `soft_masked` tells whether the file had some
    residues in lower case and others not, as masking programs write them.
    """

    header: str
    sequence: str
    line: int
    notes: tuple[str, ...] = ()
    soft_masked: bool = False


class Skipped(NamedTuple):
    """A record that was left out: its identifier, the 1-based line of its header, and why."""

    identifier: str
    line: int
    reason: str


@dataclass
class IngestReport:
    """What became of the records of a file: `read` = `kept` + length of `skipped`."""

    read: int = 0
    kept: int = 0
    skipped: list[Skipped] = field(default_factory=list)


class NoProteins(InvalidInput):
    """Nothing of the input could be kept."""


class RawRecord(NamedTuple):
    """A record as it stands in the file.

    `header` is null for text before the first `>`; `joined` is `body` without line feeds; `line` and `offset` (bytes)
    are those of the `>`, from 1 and from 0.
    """

    header: bytes | None
    body: bytes
    joined: bytes
    line: int
    offset: int

    @property
    def is_cut(self) -> bool:
        """Whether the record is longer than what was kept of it."""
        return len(self.header or b"") + len(self.body) >= MAX_RECORD_BYTES


def read_fasta(source: str | Path | BinaryIO, report: IngestReport | None = None) -> Iterator[Entry]:
    """Protein records of a FASTA file, in its order, one at a time.

    Plain, gzip (any number of members), bzip2, zstd and xz are told apart by content. CR, LF and CRLF end a line, byte
    order marks are dropped, text that is not UTF-8 is read as Windows-1252. Memory is that of one block and one record.

    Parameters
    ----------
    source
        Path, or a stream of bytes, which is left open.
    report
        Takes the counts, and each skipped record with its line and reason.

    Raises
    ------
    NoProteins
        At the end, when no record could be kept: no `>` line, nucleotides, or what the first records were skipped for.
    InvalidInput
        The file cannot be read, or ends within its compressed data.
    """
    report = IngestReport() if report is None else report
    read, kept, skipped, start = report.read, report.kept, len(report.skipped), b""
    with opened(source) as (stream, _):
        for raw in raw_records(stream):
            header, body, joined, line, _ = raw
            if header is None:
                start = body[:64]
                if not body.strip(b"\xef\xbb\xbf \t\r\n"):
                    continue
            report.read += 1
            if 2 * len(body) < MAX_RECORD_BYTES and (found := _plain_entry(header, joined, line)):
                report.kept += 1
                yield found
                continue
            entry = entry_of(RawRecord(*raw))
            if isinstance(entry, Entry):
                report.kept += 1
                yield entry
            else:
                report.skipped.append(entry)
    if report.kept == kept:
        raise nothing_kept(name_of(source), report.read - read, report.skipped[skipped:], start)


def raw_records(
    stream: Bytes, *, block_bytes: int | None = None
) -> Iterator[tuple[bytes | None, bytes, bytes, int, int]]:
    """Fields of the `RawRecord`s of a stream, split at lines that begin with `>`; what stands before comes first."""
    rest, line, offset, lost_lines, lost_bytes = b"\n", 0, -2, 0, 0
    is_start = True
    while block := _block(stream, block_bytes or BLOCK_BYTES):
        chunks = _chunks(rest + block)
        rest = chunks.pop()
        for chunk in chunks:
            header, feed, body = (None, b"", chunk) if is_start else chunk.partition(b"\n")
            joined = body.replace(b"\n", b"")
            yield header, body, joined, line, offset
            line += len(body) - len(joined) + len(feed) + 1 + lost_lines
            offset += len(chunk) + 2 + lost_bytes
            is_start, lost_lines, lost_bytes = False, 0, 0
        if len(rest) > MAX_RECORD_BYTES + 2:
            end = rest[-1:] if rest.endswith(b"\n") else b""
            lost = rest[MAX_RECORD_BYTES + 1 : len(rest) - len(end)]
            rest = rest[: MAX_RECORD_BYTES + 1] + end
            lost_lines += lost.count(b"\n")
            lost_bytes += len(lost)
    header, _, body = (None, b"", rest) if is_start else rest.partition(b"\n")
    yield header, body, body.replace(b"\n", b""), line, offset


def _block(stream: Bytes, size: int) -> bytes:
    """Next block, its old Macintosh line ends turned into line feeds; those of Windows stay, so that offsets hold."""
    block = stream.read(size)
    if b"\r" in block:
        while block.endswith(b"\r") and (more := stream.read(1)):
            block += more
        if block.count(b"\r") > block.count(b"\r\n"):
            block = _LONE_RETURN.sub(b"\n", block)
    return block


def _chunks(text: bytes) -> list[bytes]:
    """Records of a text without their `>`; blanks before a `>` go to the end of the line before."""
    chunks = text.split(b"\n>")
    if text.count(b">") >= len(chunks):
        return _INDENTED_HEADER.sub(rb"\1\n>", text).split(b"\n>")
    return chunks


def _plain_entry(header: bytes | None, joined: bytes, line: int) -> Entry | None:
    """Entry of a record of common residues in upper case, a final stop aside; null for all that needs a closer look.

    Nearly every record passes here, so the cheapest questions come first and numbers stand for letters.
    """
    notes: tuple[str, ...] = ()
    if joined[-1:] in _ENDS:
        joined = joined.replace(b"\r", b"")
        if joined.endswith(b"*"):
            joined, notes = joined[:-1], (STOP_NOTE,)
    if not header or joined.translate(None, _COMMON) or not (_LEU in joined or _GLU in joined or _ILE in joined):
        return None
    if not len(joined) % 3 and joined[:3] in _SPELLED:
        return None
    if header.isascii() and header.find(b";", 2, 3) < 0 and (text := header.decode().strip()):
        return _new_entry(Entry, (text, joined.decode(), line, notes, False))
    return None


def entry_of(raw: RawRecord) -> Entry | Skipped:
    """Entry of any record, or why it is none."""
    if raw.header is None:
        return Skipped("", raw.line + 1, NO_HEADER)
    header, text = decoded(raw.header).strip(), decoded(raw.body)
    notes: tuple[str, ...] = ()
    if pir := pir_parts(header, text):
        header, text = pir
    if not header:
        header, notes = f"unnamed_line_{raw.line}", (UNNAMED_NOTE,)
    identifier = header.split(maxsplit=1)[0]
    try:
        sequence, more = residues_of(text)
    except UnreadableError as error:
        return Skipped(identifier, raw.line, error.found)
    if raw.is_cut:
        return Skipped(identifier, raw.line, f"more than {MAX_RECORD_BYTES:,} characters, which no protein has")
    return Entry(header, sequence, raw.line, notes + more, is_soft_masked(text))


def nothing_kept(name: str, read: int, skipped: list[Skipped], start: bytes = b"") -> NoProteins:
    """Why nothing of an input could be kept, and what to do."""
    records = [skip for skip in skipped if skip.reason != NO_HEADER]
    nucleotide = [skip for skip in records if skip.reason.startswith(NUCLEOTIDE)]
    if not records:
        kind = next((kind for first, kind in _OTHER_FORMATS if re.match(first, start.lstrip(b"\n"))), None)
        seen = f"{name} is empty" if not read else f"{name} holds no line that begins with '>'"
        return NoProteins("file", f"{seen}{f'; it looks like {kind}' if kind else ''}", "a FASTA file")
    if len(nucleotide) == len(records):
        named = ", ".join(skip.identifier for skip in records[:NAMED_RECORDS])
        more = ", ..." if len(records) > NAMED_RECORDS else ""
        found = f"all {len(records)} records of {name} look like nucleotide sequences ({named}{more})"
        return NoProteins("file", found, "proteins: translate them first, or search them by blast_sequence with blastx")
    reasons = "; ".join(f"{skip.identifier} at line {skip.line}: {skip.reason}" for skip in records[:NAMED_RECORDS])
    more = f"; and {len(records) - NAMED_RECORDS} more" if len(records) > NAMED_RECORDS else ""
    return NoProteins("file", f"no record of {name} could be kept ({reasons}{more})", "protein sequences")
