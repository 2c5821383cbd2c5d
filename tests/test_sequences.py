"""How files, pasted text, headers and accessions are read. Cases come from reports of users of other programs."""

import bz2
import gzip
import io
from pathlib import Path

import pyarrow as pa
import pytest

from protatlas.errors import InvalidInput
from protatlas.headers import identify_accession, parse_header
from protatlas.sequences import Entry, IngestReport, clean_sequence, read_fasta
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


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lambda raw: pa.compress(raw, "zstd", asbytes=True)])
def test_compression_is_told_by_content_and_every_member_is_read(compress: object, tmp_path: Path) -> None:
    assert callable(compress)
    path = tmp_path / "set A & B (v2).txt"
    path.write_bytes(compress(f">a\n{UBIQUITIN}\n".encode()) + compress(f">b\n{INSULIN}\n".encode()))
    assert [entry.sequence for entry in read_fasta(path)] == [UBIQUITIN, INSULIN]


def test_cut_gzip_file_is_an_error_that_says_so() -> None:
    with pytest.raises(InvalidInput, match="ends within its compressed data"):
        read(gzip.compress(f">a\n{UBIQUITIN}\n".encode())[:-12])


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


def test_file_without_a_header_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no line that begins with '>'"):
        read(UBIQUITIN)


def test_missing_file_is_an_error_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"nowhere\.faa"):
        list(read_fasta(tmp_path / "nowhere.faa"))


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
    ("text", "said"),
    [
        ("", "no residues"),
        (" \n", "no residues"),
        ("@@@@ 1234", "'@' at position 1"),
        ("MK TV7A", "'7' at position 5"),
        ("MKTVÄ", "'Ä' at position 5"),
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
    sequence, notes = clean_sequence("MKXUBZJOT")
    assert sequence == "MKXUBZJOT"
    assert notes == ("uncommon residue codes are kept in place: B, J, O, U, X, Z",)


def test_uniprot_header_gives_names_and_taxon() -> None:
    header = parse_header(
        "sp|P69905|HBA_HUMAN Hemoglobin subunit alpha OS=Homo sapiens (Human) OX=9606 GN=HBA1 PE=1 SV=2"
    )
    assert header.identifiers == ("P69905", "sp|P69905|HBA_HUMAN", "HBA_HUMAN")
    assert (header.protein_name, header.gene) == ("Hemoglobin subunit alpha", "HBA1")
    assert (header.organism, header.organism_id) == ("Homo sapiens (Human)", 9606)
    assert (header.source, header.reviewed) == ("uniprotkb", True)


@pytest.mark.parametrize(
    ("header", "accession", "source", "name", "organism"),
    [
        ("tr|A0A1V0QD85|X_Y Kinase OS=A b PE=4 SV=1", "A0A1V0QD85", "uniprotkb", "Kinase", "A b"),
        ("gi|100000001|ref|NP_900001.1| a protein [A b]", "NP_900001.1", "ncbi", "a protein", "A b"),
        ("gnl|extdb|pgaptmp_000002 MFS transporter [A]", "pgaptmp_000002", "user", "MFS transporter", "A"),
        ("lcl|seq_17 my construct", "seq_17", "user", "my construct", None),
        ("WP_900000002.1\ttab separated", "WP_900000002.1", "ncbi", "tab separated", None),
        ("NP_1234567.1 kinase [Escherichia coli [K12]]", "NP_1234567.1", "ncbi", "kinase", "Escherichia coli [K12]"),
        ("MGYP000261684433 PL=10 UP=0 CR=1", "MGYP000261684433", "mgy", None, None),
        ("UPI000000001F status=active", "UPI000000001F", "uniparc", None, None),
        ("UniRef90_P69905 Globin n=2 Tax=A b TaxID=9606", "UniRef90_P69905", "uniref", "Globin", "A b"),
        ("1A3N_1|Chains A, C|Globin alpha|A b (9606)", "1A3N_1", "pdb", "Globin alpha", "A b"),
        ("contig_7_1 # 12 # 242 # 1 # ID=7_1;partial=00", "contig_7_1", "user", None, None),
        ("plate3|well|A01", "plate3|well|A01", "user", None, None),
        ("tr|LOCAL0001|MYPROT_X", "LOCAL0001", "user", None, None),
        ("123456789 my own number", "123456789", "user", "my own number", None),
    ],
)
def test_headers_of_many_origins(
    header: str, accession: str, source: str, name: str | None, organism: str | None
) -> None:
    parsed = parse_header(header)
    found = (parsed.accession, parsed.source, parsed.protein_name, parsed.organism)
    assert found == (accession, source, name, organism)
    assert header.split()[0] in parsed.identifiers


def test_chains_of_a_pdb_header_lead_to_it() -> None:
    parsed = parse_header("4HHB_1|Chains A[auth C], B|Hemoglobin|Homo sapiens (9606)")
    assert parsed.identifiers == ("4HHB_1", "4HHB_1|Chains", "4HHB_C", "4HHB_B")
    assert parsed.organism_id == 9606


@pytest.mark.parametrize(
    ("text", "database", "usual"),
    [
        ("p69905", "UniProt", "P69905"),
        ("P04637-2", "UniProt", "P04637-2"),
        ("A0A1V0QD85.3", "UniProt", "A0A1V0QD85"),
        ("upi000000001f", "UniParc", "UPI000000001F"),
        ("  MGYP000261684433\n", "MGnify", "MGYP000261684433"),
        ("mgyp261684433", "MGnify", "MGYP000261684433"),
        ("NP_000549.1", "RefSeq", "NP_000549.1"),
        ("639590277", "IMG", "639590277"),
        ("1a3n_A", "PDB", "1A3N_A"),
        ("uniref90_p69905", "UniRef", "UniRef90_P69905"),
    ],
)
def test_accessions_are_told_apart_and_spelt_as_usual(text: str, database: str, usual: str) -> None:
    assert identify_accession(text) == (database, usual)


@pytest.mark.parametrize("text", ["", "haemoglobin", "P6990", "MGYP", "UPI123", UBIQUITIN])
def test_other_text_is_no_accession(text: str) -> None:
    assert identify_accession(text) is None
