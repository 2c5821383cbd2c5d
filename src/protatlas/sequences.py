"""Sequences: FASTA files and pasted text become residues.

Residues are upper-case one-letter codes; all 26 letters are legal, since B, J, O, U, X and Z are codes too (IUPAC-IUB
1983, doi:10.1111/j.1432-1033.1984.tb07877.x; NCBI BLAST help, read 2026-11). Positions in messages are 1-based and
count residues, never blanks or header letters.
"""

import bz2
import gzip
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from io import BufferedReader, RawIOBase, TextIOWrapper
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from protatlas.errors import InvalidInput
from protatlas.headers import identify_accession

THREE_LETTER_CODES = (
    {"ALA": "A", "ARG": "R", "ASN": "N", "ASP": "D", "CYS": "C", "GLN": "Q", "GLU": "E", "GLY": "G", "HIS": "H"}
    | {"ILE": "I", "LEU": "L", "LYS": "K", "MET": "M", "PHE": "F", "PRO": "P", "SER": "S", "THR": "T", "TRP": "W"}
    | {"TYR": "Y", "VAL": "V", "SEC": "U", "PYL": "O", "ASX": "B", "GLX": "Z", "XLE": "J", "XAA": "X", "MSE": "M"}
)
"""Three-letter residue codes of IUPAC (same source as above), and MSE (selenomethionine) of PDB files."""

UNCOMMON_RESIDUES = "BJOUXZ"
BASES = "ACGTU"
NEVER_NUCLEOTIDE = "LEIPFQJOXZ"
"""Letters that are no IUPAC nucleotide code, the most frequent residues first."""
MIN_NUCLEOTIDE_LENGTH = 12
"""Below it a peptide of A, C, G, T and N alone is left alone: 12 such residues in a row have odds of 1e-7 at the
residue frequencies of Swiss-Prot."""
MIN_NUCLEOTIDE_SHARE = 0.9
NAMED_RECORDS = 5
"""How many records a message names."""
_NUCLEOTIDE = "a nucleotide sequence"
_NO_HEADER = "text before the first '>'"

_TRIPLETS = re.compile(r"(?:[A-Z][a-z]{2}[\s-]*){3,}")
_GAPS = str.maketrans("", "", "-.")


class Entry(NamedTuple):
    """One record of a FASTA file.

    `header` is the text after `>` without surrounding blanks, `sequence` upper-case residues, `line` the 1-based number
    of the header line, `notes` what was changed to get these residues.
    """

    header: str
    sequence: str
    line: int
    notes: tuple[str, ...] = ()


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


class _UnreadableError(ValueError):
    """Text that is no protein sequence: what was found, what was expected."""

    def __init__(self, found: str, expected: str = "one protein sequence in one-letter codes") -> None:
        super().__init__(found)
        self.found = found
        self.expected = expected


def read_fasta(source: str | Path | BinaryIO, report: IngestReport | None = None) -> Iterator[Entry]:
    """Protein records of a FASTA file, in its order, one at a time.

    Plain, gzip (any number of members), bzip2 and zstd are told apart by content. CR, LF and CRLF end a line, a byte
    order mark is dropped, headers that are not UTF-8 are read as Windows-1252.

    Parameters
    ----------
    source
        Path, or a stream of bytes, which is left open.
    report
        Takes the counts, and each skipped record with its line and reason.

    Raises
    ------
    InvalidInput
        The file cannot be read, ends within its compressed data, has no `>` line, or all its records are nucleotide.
    """
    report = IngestReport() if report is None else report
    name = str(source) if isinstance(source, (str, Path)) else str(getattr(source, "name", "the input"))
    nucleotide: list[str] = []
    with _opened(source, name) as lines:
        for header, parts, line in _records(lines):
            report.read += 1
            entry = _entry(header, parts, line)
            if isinstance(entry, Entry):
                report.kept += 1
                yield entry
                continue
            report.skipped.append(entry)
            if entry.reason.startswith(_NUCLEOTIDE):
                nucleotide.append(entry.identifier)
    _refuse_without_proteins(report, nucleotide, name)


def _refuse_without_proteins(report: IngestReport, nucleotide: list[str], name: str) -> None:
    if nucleotide and len(nucleotide) == report.read:
        named = ", ".join(nucleotide[:NAMED_RECORDS]) + (", ..." if len(nucleotide) > NAMED_RECORDS else "")
        found = f"all {report.read} records of {name} look like nucleotide sequences ({named})"
        raise InvalidInput(
            "file", found, "proteins: translate them first, or search them by blast_sequence with blastx"
        )
    if report.read == sum(skip.reason == _NO_HEADER for skip in report.skipped):
        raise InvalidInput("file", f"{name} holds no line that begins with '>'", "a FASTA file")


@contextmanager
def _opened(source: str | Path | BinaryIO, name: str) -> Iterator[TextIOWrapper]:
    """Lines of a file after decompression, with the faults of reading named; bytes that are no UTF-8 are surrogates."""
    try:
        with Path(source).open("rb") if isinstance(source, (str, Path)) else nullcontext(source) as raw:
            yield TextIOWrapper(_decompressed(raw), encoding="utf-8-sig", errors="surrogateescape", newline=None)
    except EOFError as error:
        raise InvalidInput("file", f"{name} ends within its compressed data", "a complete file") from error
    except (OSError, zlib.error) as error:
        raise InvalidInput("file", f"{name} cannot be read ({error})", "a readable FASTA file") from error


def _decompressed(raw: BinaryIO) -> BufferedReader:
    """Stream of the plain bytes, by the first bytes of the compressed one."""
    stream = raw if isinstance(raw, BufferedReader) else BufferedReader(cast(RawIOBase, raw))
    start = stream.peek(4)[:4]
    if start.startswith(b"\x1f\x8b"):
        return BufferedReader(cast(RawIOBase, gzip.GzipFile(fileobj=stream)))
    if start.startswith(b"BZh"):
        return BufferedReader(cast(RawIOBase, bz2.BZ2File(stream)))
    if start == b"\x28\xb5\x2f\xfd":
        from pyarrow import CompressedInputStream

        return BufferedReader(CompressedInputStream(stream, "zstd"))
    return stream


def _records(lines: Iterable[str]) -> Iterator[tuple[str | None, list[str], int]]:
    """Header, sequence lines and first line number of each record; text before the first `>` has no header."""
    header: str | None = None
    parts: list[str] = []
    start = 0
    for number, line in enumerate(lines, start=1):
        if line.startswith(">"):
            if start:
                yield header, parts, start
            header, parts, start = _decoded(line[1:].strip()), [], number
        elif not line.isspace() and not line.startswith(";"):
            start = start or number
            parts.append(line)
    if start:
        yield header, parts, start


def _decoded(header: str) -> str:
    """Header text; bytes that were no UTF-8 are read as Windows-1252."""
    if header.isascii():
        return header
    try:
        header.encode()
    except UnicodeEncodeError:
        return header.encode(errors="surrogateescape").decode("cp1252", errors="replace")
    return header


def _entry(header: str | None, parts: list[str], line: int) -> Entry | Skipped:
    if header is None:
        return Skipped("", line, _NO_HEADER)
    notes: tuple[str, ...] = ()
    if not header:
        header, notes = f"unnamed_line_{line}", ("the record has no identifier; its line number stands for it",)
    try:
        sequence, more = _residues("".join(parts))
    except _UnreadableError as error:
        return Skipped(header.split(maxsplit=1)[0], line, error.found)
    return Entry(header, sequence, line, notes + more)


def clean_sequence(
    text: str, argument: str = "sequence", *, max_length: int | None = None
) -> tuple[str, tuple[str, ...]]:
    """Residues of pasted text, and notes on what was dropped or is uncommon in it.

    Takes one-letter codes in any case, a FASTA record, or a numbered GenBank block; blanks, lone numbers, gaps, a final
    `*` and invisible characters are dropped.

    Parameters
    ----------
    text
        What the caller passed.
    argument
        Its name, for the message.
    max_length
        Most residues allowed; None for no limit.

    Raises
    ------
    InvalidInput
        No residues, several records, other characters than letters, three-letter codes, nucleotides, an accession, a
        `*` inside, or too long (then with fields `actual_length` and `max_length`).
    """
    try:
        sequence, notes = _residues(_body(text))
    except _UnreadableError as error:
        raise InvalidInput(argument, error.found, error.expected) from error
    if max_length is not None and len(sequence) > max_length:
        found, expected = f"{len(sequence)} residues", f"at most {max_length}; pass one domain of it"
        raise InvalidInput(argument, found, expected, actual_length=len(sequence), max_length=max_length)
    return sequence, notes


def _body(text: str) -> str:
    """Sequence lines of pasted text: without the header of its one FASTA record and the frame of a GenBank block."""
    lines = text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip().split("\n")
    headers = [number for number, line in enumerate(lines) if line.lstrip().startswith(">")]
    if len(headers) > 1 or (headers and headers[0] > 0):
        found = f"{len(headers) + (headers[0] > 0)} FASTA records"
        raise _UnreadableError(found, "one record; send one call for each")
    body = [line for line in lines[len(headers) :] if line.strip() != "//" and not line.startswith(";")]
    if body and body[0].strip().upper() == "ORIGIN" and len(body) > 1:
        body = body[1:]
    if headers and not "".join(body).strip():
        raise _UnreadableError("a FASTA header without a sequence after it", "a line break between header and residues")
    if len(body) == 1 and (known := identify_accession(body[0])):
        raise _UnreadableError(f"the accession {known[1]} ({known[0]})", "its sequence; look the accession up first")
    return "\n".join(body)


def _residues(text: str) -> tuple[str, tuple[str, ...]]:
    """Upper-case residues of text without headers, and notes on changes."""
    residues, notes = text.replace("\n", ""), list[str]()
    if not (residues.isascii() and residues.isalpha()):
        residues, notes = _without_layout(text)
        _refuse_other_characters(residues)
    residues = residues.upper()
    _refuse_three_letter_codes(text, residues)
    if _is_nucleotide(residues):
        found = f"{_NUCLEOTIDE} of {len(residues)} letters, not a protein"
        raise _UnreadableError(found, "a protein; translate it first, or send it to blast_sequence with program blastx")
    uncommon = [letter for letter in UNCOMMON_RESIDUES if letter in residues]
    if uncommon:
        notes.append(f"uncommon residue codes are kept in place: {', '.join(uncommon)}")
    return residues, tuple(notes)


def _without_layout(text: str) -> tuple[str, list[str]]:
    """Text without blanks, lone numbers, gaps, invisible characters and final stops; notes for all but the blanks."""
    visible = text if text.isascii() else "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    gapped = "".join(word for word in visible.split() if not (word.isascii() and word.isdigit()))
    whole = gapped.translate(_GAPS)
    kept = whole.rstrip("*")
    notes = []
    if len(visible) < len(text):
        notes.append(f"{len(text) - len(visible)} invisible characters were dropped")
    if len(whole) < len(gapped):
        notes.append(f"{len(gapped) - len(whole)} gap characters were dropped; positions count residues")
    if len(kept) < len(whole):
        notes.append("the final stop '*' was dropped")
    return kept, notes


def _refuse_other_characters(residues: str) -> None:
    if not residues:
        raise _UnreadableError("no residues")
    if odd := re.search(r"[^A-Za-z]", residues):
        position = odd.start() + 1
        if odd[0] == "*":
            raise _UnreadableError(f"a stop '*' within the sequence, at position {position}", "one open reading frame")
        raise _UnreadableError(f"the character {odd[0]!r} at position {position}", "one-letter residue codes")


def _refuse_three_letter_codes(text: str, residues: str) -> None:
    if residues[:3] not in THREE_LETTER_CODES:
        return
    words = [residues[start : start + 3] for start in range(0, len(residues), 3)]
    if len(words) < 3 or any(word not in THREE_LETTER_CODES for word in words):
        return
    is_spelled = _TRIPLETS.fullmatch(text.strip()) or all(len(word) == 3 for word in re.split(r"[\s-]+", text.strip()))
    if is_spelled or (len(words) >= 5 and len(set(words)) >= 3):
        found = f"three-letter codes ({' '.join(words[:3])} ...)"
        raise _UnreadableError(found, f"one-letter codes, here {''.join(THREE_LETTER_CODES[word] for word in words)}")


def _is_nucleotide(sequence: str) -> bool:
    """Whether residues read as DNA or RNA: three different bases or more, and hardly anything but bases."""
    if len(sequence) < MIN_NUCLEOTIDE_LENGTH or any(letter in sequence for letter in NEVER_NUCLEOTIDE):
        return False
    counts = [sequence.count(base) for base in BASES]
    share = (sum(counts) + sequence.count("N")) / len(sequence)
    return share >= MIN_NUCLEOTIDE_SHARE and sum(count > 0 for count in counts) >= 3
