"""How files and pasted text are read. Cases come from reports of users of other programs."""

import bz2
import gzip
import io
import lzma
import os
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from protatlas.errors import InvalidInput
from protatlas.sequences import Entry, IngestReport, NoProteins, clean_sequence, fasta, files, read_fasta, read_text
from tests.known_proteins import UBIQUITIN

INSULIN = (
    "MALWMRLLPLLALLALWGPDPAAAFVNQHLCGSHLVEALYLVCGERGFFYTPKTRREAEDLQVGQVELGGGPGAGSLQPLALEGSLQKRGIVEQCCTSICSLYQLENYCN"
)
UBIQUITIN_GENE = (
    "ATGCAGATCTTCGTGAAAACCCTGACCGGCAAAACCATCACCCTGGAAGTGGAACCGTCTGACACCATCGAAAACGTGAAAGCTAAAATCCAGGACAAAGAA"
)


def read(content: bytes | str) -> tuple[list[Entry], IngestReport]:
    report = IngestReport()
    raw = content.encode() if isinstance(content, str) else content
    return list(read_fasta(io.BytesIO(raw), report)), report


def refusal(text: str) -> str:
    with pytest.raises(InvalidInput) as caught:
        clean_sequence(text)
    return caught.value.message


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_leave_no_trace_and_the_last_line_needs_none(ending: str) -> None:
    entries, _ = read(ending.join([">ubq", UBIQUITIN[:60], UBIQUITIN[60:], ">ins human insulin", INSULIN]))
    assert [(entry.header, entry.sequence, entry.line) for entry in entries] == [
        ("ubq", UBIQUITIN, 1),
        ("ins human insulin", INSULIN, 4),
    ]


def test_byte_order_mark_does_not_hide_the_first_record() -> None:
    entries, _ = read(b"\xef\xbb\xbf>ubq\n" + UBIQUITIN.encode())
    assert [entry.header for entry in entries] == ["ubq"]


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lzma.compress, lambda raw: pa.compress(raw, "zstd", asbytes=True)]
)
def test_compression_is_told_by_content_and_every_member_is_read(compress: object, tmp_path: Path) -> None:
    assert callable(compress)
    path = tmp_path / "set A & B (v2).txt"
    path.write_bytes(compress(f">a\n{UBIQUITIN}\n".encode()) + compress(f">b\n{INSULIN}\n".encode()))
    assert [entry.sequence for entry in read_fasta(path)] == [UBIQUITIN, INSULIN]


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lzma.compress, lambda raw: pa.compress(raw, "zstd", asbytes=True)]
)
def test_cut_compressed_file_is_an_error_that_says_so(compress: object) -> None:
    assert callable(compress)
    with pytest.raises(InvalidInput, match="ends within its compressed data"):
        read(compress(f">a\n{UBIQUITIN}\n>b\n{INSULIN}\n".encode())[:-12])


def test_blocks_of_bgzip_and_its_end_marker_are_members() -> None:
    end = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
    entries, _ = read(gzip.compress(f">a\n{UBIQUITIN[:40]}".encode()) + gzip.compress(UBIQUITIN[40:].encode()) + end)
    assert entries[0].sequence == UBIQUITIN


def test_damaged_gzip_file_is_an_error_with_its_name(tmp_path: Path) -> None:
    path = tmp_path / "damaged.faa.gz"
    packed = bytearray(gzip.compress(f">a\n{UBIQUITIN}\n".encode()))
    packed[-6] ^= 0xFF
    path.write_bytes(packed)
    with pytest.raises(InvalidInput, match=r"damaged\.faa\.gz cannot be read \(CRC"):
        list(read_fasta(path))


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_pipe_is_read_as_a_file_is_and_left_open(compress: object) -> None:
    assert callable(compress)
    out, into = os.pipe()
    content = compress(f">a\n{UBIQUITIN}\n>b\n{INSULIN}\n".encode())

    def write() -> None:
        with open(into, "wb", buffering=0) as stream:  # noqa: PTH123  # a descriptor, not a path
            stream.writelines(content[start : start + 3] for start in range(0, len(content), 3))

    writer = threading.Thread(target=write)
    writer.start()
    with open(out, "rb") as stream:  # noqa: PTH123  # a descriptor, not a path
        found = [entry.sequence for entry in read_fasta(stream)]
        assert not stream.closed
    writer.join()
    assert found == [UBIQUITIN, INSULIN]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_text_of_windows_editors_is_read(encoding: str) -> None:
    entries, _ = read(f">ubq from Müller\r\n{UBIQUITIN}\r\n".encode(encoding))
    assert [(entry.header, entry.sequence) for entry in entries] == [("ubq from Müller", UBIQUITIN)]


def test_blanks_and_byte_order_marks_before_a_header_do_not_hide_it() -> None:
    entries, _ = read(
        b">a\n" + UBIQUITIN.encode() + b"\n  >b\n" + INSULIN.encode() + b"\n\xef\xbb\xbf>c\n" + UBIQUITIN.encode()
    )
    assert [(entry.header, entry.line) for entry in entries] == [("a", 1), ("b", 3), ("c", 5)]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("block", [1, 2, 3, 7, 64])
def test_where_blocks_end_makes_no_difference(ending: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fasta, "BLOCK_BYTES", block)
    lines = [
        "; a comment",
        ">a > b",
        UBIQUITIN[:60],
        "",
        UBIQUITIN[60:],
        " >c*",
        INSULIN + "*",
        ">empty",
        ">d",
        "mkvLL",
    ]
    entries, report = read(ending.join(lines))
    assert [(entry.header, entry.sequence, entry.line) for entry in entries] == [
        ("a > b", UBIQUITIN, 2),
        ("c*", INSULIN, 6),
        ("d", "MKVLL", 9),
    ]
    assert [(skip.identifier, skip.line) for skip in report.skipped] == [("", 1), ("empty", 8)]


def test_a_record_longer_than_any_protein_is_skipped_and_the_next_one_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fasta, "BLOCK_BYTES", 50)
    monkeypatch.setattr(fasta, "MAX_RECORD_BYTES", 200)
    entries, report = read(f">genome\n{'MKVLI' * 100}\n{'MKVLI' * 100}\n>dna\n{'ACGT' * 200}\n>ubq\n{UBIQUITIN}\n")
    assert [(entry.header, entry.line) for entry in entries] == [("ubq", 6)]
    assert [(skip.identifier, skip.line) for skip in report.skipped] == [("genome", 1), ("dna", 4)]
    assert "more than 200 characters" in report.skipped[0].reason
    assert "nucleotide" in report.skipped[1].reason


def test_a_soft_mask_is_kept_as_a_flag() -> None:
    entries, _ = read(
        f">masked\n{UBIQUITIN[:40]}{UBIQUITIN[40:].lower()}\n>lower\n{UBIQUITIN.lower()}\n>upper\n{UBIQUITIN}\n"
    )
    assert [entry.sequence for entry in entries] == [UBIQUITIN] * 3
    assert [entry.soft_masked for entry in entries] == [True, False, False]
    assert "soft mask" in entries[0].notes[0]


def test_a_pir_record_keeps_its_description_out_of_the_residues() -> None:
    entries, _ = read(f">P1;UBQ_HUMAN\nubiquitin - human\n{UBIQUITIN[:60]}\n{UBIQUITIN[60:]}*\n>P1;mine\n{INSULIN}\n")
    assert [(entry.header, entry.sequence) for entry in entries] == [
        ("UBQ_HUMAN ubiquitin - human", UBIQUITIN),
        ("P1;mine", INSULIN),
    ]


def test_a_no_break_space_of_windows_1252_is_no_residue() -> None:
    entries, _ = read(b">ubq\n" + UBIQUITIN[:30].encode() + b"\xa0" + UBIQUITIN[30:].encode())
    assert entries[0].sequence == UBIQUITIN


def test_final_stop_is_dropped_with_a_note() -> None:
    entries, _ = read(f">contig_7_1 # 12 # 242 # 1 # ID=7_1\n{UBIQUITIN}*\n")
    assert entries[0].sequence == UBIQUITIN
    assert entries[0].notes == ("the final stop '*' was dropped",)


def test_header_without_sequence_is_skipped_with_its_line() -> None:
    entries, report = read(f">ok1\n{UBIQUITIN}\n>empty_mid nothing here\n>ok2\n{INSULIN}\n>empty_last")
    assert [entry.header for entry in entries] == ["ok1", "ok2"]
    assert [(skip.identifier, skip.line, skip.reason) for skip in report.skipped] == [
        ("empty_mid", 3, "no residues"),
        ("empty_last", 6, "no residues"),
    ]


def test_every_record_is_kept_or_skipped() -> None:
    _, report = read(f"stray\n>a\n{UBIQUITIN}\n>b\nMK*TV\n>c\nMK?\n>d\n{UBIQUITIN_GENE}\n>\n{INSULIN}\n>f\n")
    assert report.read == 7
    assert report.kept == 2
    assert report.read == report.kept + len(report.skipped)


def test_stop_within_a_record_is_skipped_with_its_position() -> None:
    _, report = read(f">a\n{UBIQUITIN}\n>pseudo\nMKTV\nLL*AA\n")
    assert report.skipped == [("pseudo", 3, "a stop '*' within the sequence, at position 7")]


def test_selenocysteine_and_pyrrolysine_keep_their_place() -> None:
    entries, _ = read(">sec\nMCAARLAUGTTV\n>pyl\nMTYRDLOKAAG\n")
    assert [entry.sequence for entry in entries] == ["MCAARLAUGTTV", "MTYRDLOKAAG"]
    assert all(entry.notes for entry in entries)


def test_file_of_nucleotides_is_refused_by_name_with_its_records(tmp_path: Path) -> None:
    path = tmp_path / "genes.faa"
    path.write_text(f">cds_1\n{UBIQUITIN_GENE}\n>cds_2\n{UBIQUITIN_GENE.lower()}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"genes\.faa look like nucleotide sequences \(cds_1, cds_2\).*blastx"):
        list(read_fasta(path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (UBIQUITIN, "no line that begins with '>'"),
        ("", "is empty"),
        ("LOCUS       NP_000549 142 aa", "looks like a GenBank record"),
        ("@read1\nACGT\n+\nIIII\n", "looks like a FASTQ file"),
        ("<!DOCTYPE html><html>", "looks like a web page"),
        ("PK\x03\x04rest", "looks like a zip archive"),
        ("id,sequence\na,MKV\n", "no line that begins with '>'"),
    ],
)
def test_file_without_a_header_is_refused_by_what_it_looks_like(content: str, said: str) -> None:
    with pytest.raises(NoProteins, match=said):
        read(content)


def test_file_of_which_nothing_can_be_kept_says_why() -> None:
    with pytest.raises(NoProteins, match=r"a at line 1: no residues; b at line 2: a stop .* position 3"):
        read(">a\n>b\nMK*TV\n")


def test_missing_file_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.faa"):
        list(read_fasta(tmp_path / "nowhere.faa"))


def test_a_text_that_is_too_long_is_refused_and_never_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "restricted.txt"
    path.write_text("P69905\nP68871\n", encoding="utf-8")
    monkeypatch.setattr(files, "MAX_TEXT_BYTES", 14)
    assert read_text(path) == "P69905\nP68871\n"
    monkeypatch.setattr(files, "MAX_TEXT_BYTES", 13)
    with pytest.raises(InvalidInput, match=r"restricted\.txt has more than 13 bytes"):
        read_text(path)


def test_header_in_windows_1252_is_readable() -> None:
    entries, _ = read(b">ubq from M\xfcller\n" + UBIQUITIN.encode())
    assert entries[0].header == "ubq from Müller"


def test_record_without_identifier_is_known_by_its_line() -> None:
    entries, _ = read(f">\n{UBIQUITIN}\n")
    assert (entries[0].header, len(entries[0].notes)) == ("unnamed_line_1", 1)


def test_reading_stops_where_the_caller_stops() -> None:
    report = IngestReport()
    next(read_fasta(io.BytesIO(f">a\n{UBIQUITIN}\n>b\n{INSULIN}\n".encode()), report))
    assert report.read == 1


@pytest.mark.parametrize(
    "text",
    [
        UBIQUITIN,
        UBIQUITIN.lower(),
        f">my query, please ignore\r\n{UBIQUITIN[:30]} \r\n{UBIQUITIN[30:60]}\r\n\r\n{UBIQUITIN[60:]}\r\n",
        "        1 mqifvktltg ktitleveps dtienvkaki qdkegippdq qrlifagkql edgrtlsdyn\n       61 iqkestlhlv lrlrgg\n//",
        "ORIGIN\n        1 mqifvktltg ktitleveps dtienvkaki qdkegippdq qrlifagkql edgrtlsdyn\n"
        "       61 iqkestlhlv lrlrgg\n//",
        f"\ufeff{UBIQUITIN}*",
        f"{UBIQUITIN[:9]}\u200b-{UBIQUITIN[9:]}",
    ],
)
def test_pasted_ubiquitin_is_ubiquitin(text: str) -> None:
    assert clean_sequence(text)[0] == UBIQUITIN


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("  1 mqifvktltg ktitleveps\n 21 dtienvkaki\n//", None),
        (" 61 mqifvktltg ktitleveps\n//", "the numbering says 61 at residue 1"),
        ("  1 mqifvktltg\n 21 dtienvkaki\n//", "the numbering says 21 at residue 11"),
        ("        10         20\nMQIFVKTLTG KTITLEVEPS", None),
        ("MQIFVKTLTG KTITLEVEPS 20", None),
    ],
)
def test_numbers_are_dropped_with_a_note_and_checked(text: str, note: str | None) -> None:
    _, notes = clean_sequence(text)
    assert notes[0] == "position numbers were dropped"
    assert [found for found in notes if "numbering says" in found] == [
        found for found in notes if note and note in found
    ]
    assert any("numbering says" in found for found in notes) == bool(note)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no residues"),
        (" \n", "no residues"),
        ("@@@@ 1234", "'@' at position 1"),
        ("MK TV7A", "'7' at position 5"),
        ("MKTVÄ", "'Ä' (LATIN CAPITAL LETTER A WITH DIAERESIS) at position 5"),
        ("MK\u0410TV", "'\u0410' (CYRILLIC CAPITAL LETTER A) at position 3"),
        ("hemoglobin subunit alpha", "'hemoglobin subunit alpha', which reads as words"),
        ("MKTV\\nLLAA", "at position 5"),
        ("'" + UBIQUITIN + "'", "at position 1"),
        ("MK*TV", "'*' within the sequence, at position 3"),
        (f">a\n{UBIQUITIN}\n>b\n{INSULIN}", "2 FASTA records"),
        (f"{UBIQUITIN}\n>b\n{INSULIN}", "2 FASTA records"),
        (">header alone", "a FASTA header without a sequence"),
        (UBIQUITIN_GENE, "blastx"),
        (UBIQUITIN_GENE.replace("T", "u").lower(), "nucleotide"),
        ("P69905", "the accession P69905 (UniProt)"),
    ],
)
def test_what_is_no_protein_is_refused_with_what_was_seen(text: str, said: str) -> None:
    assert said in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        "MetGlnIlePheValLysThrLeuThrGlyLysThrIleThrLeuGluValGluProSerAspThrIleGlu",
        "Met-Gln-Ile-Phe-Val-Lys-Thr-Leu-Thr-Gly-Lys-Thr-Ile-Thr-Leu-Glu-Val-Glu-Pro-Ser-Asp-Thr-Ile-Glu",
        "MET GLN ILE PHE VAL LYS THR LEU THR GLY LYS THR ILE THR LEU GLU VAL GLU PRO SER ASP THR ILE GLU",
        "METGLNILEPHEVALLYSTHRLEUTHRGLYLYSTHRILETHRLEUGLUVALGLUPROSERASPTHRILEGLU",
    ],
)
def test_three_letter_codes_are_refused_with_the_one_letter_codes(text: str) -> None:
    assert "three-letter codes" in refusal(text)
    assert f"here {UBIQUITIN[:24]}." in refusal(text)


@pytest.mark.parametrize(
    "text", ["GAGAGSGAGAGS", "AAAAAAAAAAAAAAAAAAAA", "GATTACA", "AEAAAKAAEAAAK", "GNTGNTGNTGNTGNT"]
)
def test_short_and_simple_peptides_are_not_taken_for_dna(text: str) -> None:
    assert clean_sequence(text)[0] == text


def test_residues_over_the_limit_are_counted_without_header_and_blanks() -> None:
    assert clean_sequence(f">{'h' * 200}\n{UBIQUITIN}", max_length=76)[0] == UBIQUITIN
    with pytest.raises(InvalidInput) as caught:
        clean_sequence(UBIQUITIN, max_length=75)
    assert caught.value.fields["actual_length"] == 76
    assert caught.value.fields["max_length"] == 75


def test_uncommon_residues_are_named_in_a_note() -> None:
    sequence, notes = clean_sequence(UBIQUITIN + "MKXUBZJOT")
    assert sequence == UBIQUITIN + "MKXUBZJOT"
    assert notes == ("uncommon residue codes are kept in place: B, J, O, U, X, Z",)
