"""What holds of every file, by search for counterexamples."""

import gzip
import io
from contextlib import suppress
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protatlas.accessions import identify_accession, parse_accession
from protatlas.errors import InvalidInput
from protatlas.headers import header_identifiers, parse_header
from protatlas.sequences import Entry, IngestReport, NoProteins, clean_sequence, fasta, read_fasta

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"
PROTEINS = st.text(RESIDUES, min_size=1, max_size=200).map(lambda residues: residues + "LEIP")
"""With four residues at the end that no nucleotide and no three-letter code has in this order."""
HEADERS = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\x85>"), min_size=1, max_size=60
).filter(lambda header: bool(header.strip()) and header.strip() == header and "\ufeff" not in header)


class Style(NamedTuple):
    """How a file is written."""

    ending: str
    width: int
    is_packed: bool
    block: int


STYLES = st.builds(
    Style, st.sampled_from(("\n", "\r\n", "\r")), st.integers(1, 80), st.booleans(), st.sampled_from((1, 5, 64, 4096))
)


@pytest.fixture(autouse=True)
def blocks() -> object:
    """The size of blocks, put back after each test."""
    before = fasta.BLOCK_BYTES
    yield
    fasta.BLOCK_BYTES = before


def _written(records: list[tuple[str, str]], style: Style) -> bytes:
    lines = []
    for header, sequence in records:
        lines += [f">{header}", *(sequence[at : at + style.width] for at in range(0, len(sequence), style.width))]
    raw = style.ending.join(lines).encode()
    return gzip.compress(raw) if style.is_packed else raw


def _read(raw: bytes) -> tuple[list[Entry], IngestReport]:
    report = IngestReport()
    entries: list[Entry] = []
    with suppress(NoProteins):
        entries.extend(read_fasta(io.BytesIO(raw), report))
    return entries, report


@settings(deadline=None)
@given(st.lists(st.tuples(HEADERS, PROTEINS), min_size=1, max_size=8), STYLES)
def test_what_is_written_is_read_in_order_however_it_is_written(records: list[tuple[str, str]], style: Style) -> None:
    fasta.BLOCK_BYTES = style.block
    entries, report = _read(_written(records, style))
    assert [(entry.header, entry.sequence) for entry in entries] == records
    assert (report.read, report.kept, report.skipped) == (len(records), len(records), [])


@settings(deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from((b"\n>", b">a\nMKVLEIP\n", b"*", b"\r", b" >")))))
def test_every_record_of_any_bytes_is_kept_or_skipped(parts: list[bytes]) -> None:
    raw = b"x" + b"".join(parts)
    try:
        entries, report = _read(raw)
    except InvalidInput:
        return
    assert report.read == len(entries) + len(report.skipped)
    assert all(entry.sequence.isascii() and entry.sequence.isalpha() and entry.sequence.isupper() for entry in entries)
    lines = [skip.line for skip in report.skipped] + [entry.line for entry in entries]
    assert len(set(lines)) == len(lines)
    headers = raw.replace(b"\r", b"\n").count(b"\n>")
    assert report.read >= headers


@settings(deadline=None)
@given(PROTEINS, st.sampled_from((" ", "\n", "\r\n", "\t", "-", "\u200b", "*\n")), st.integers(1, 60))
def test_layout_never_changes_the_residues(protein: str, layout: str, width: int) -> None:
    ending = layout if layout.startswith("*") else ""
    joint = "\n" if ending else layout
    pasted = joint.join(protein[at : at + width] for at in range(0, len(protein), width)) + ending
    assert clean_sequence(pasted)[0] == protein


@settings(deadline=None)
@given(st.text(max_size=80))
def test_pasted_text_is_residues_or_a_sentence(text: str) -> None:
    sequence, said = "", ""
    try:
        sequence, _ = clean_sequence(text)
    except InvalidInput as error:
        said = error.message
    assert said.endswith(".") or (sequence.isascii() and sequence.isalpha() and sequence.isupper())


@settings(deadline=None)
@given(HEADERS)
def test_any_header_leads_to_its_record_by_its_first_word(header: str) -> None:
    parsed = parse_header(header)
    assert header.replace("\t", " ").split(" ")[0] in parsed.identifiers
    assert parsed.identifiers == header_identifiers(header)


@settings(deadline=None)
@given(
    st.from_regex(r"(MGYP[0-9]{1,12}|UPI[0-9A-F]{10}|[OPQ][0-9][A-Z0-9]{3}[0-9]|NP_[0-9]{6}\.[1-9])", fullmatch=True)
)
def test_an_accession_spelt_as_usual_stays_so(text: str) -> None:
    known = identify_accession(text.lower())
    assert known is not None
    assert identify_accession(known[1]) == known
    assert parse_accession(f"  {text} ") == parse_accession(text)
