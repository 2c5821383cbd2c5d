"""BLAST+ over databases that are made here; these tests need its programs, which CI installs."""

import subprocess
from pathlib import Path
from threading import Event

import pytest

from protatlas.blast.databases import Databases
from protatlas.blast.search import LocalEngines, Search
from protatlas.blast.targets import Target
from protatlas.engines import blastplus
from protatlas.engines.blastplus import Options, Stopped
from protatlas.errors import DependencyUnavailable, InvalidInput
from protatlas.reports import Program, Report
from tests.blast.conftest import search_of, target_of
from tests.known_proteins import HBA, HBB, UBIQUITIN

UBIQUITIN_GENE = (
    "ATGCAGATCTTCGTGAAAACCCTGACCGGCAAAACCATCACCCTGGAAGTGGAACCGTCTGACACCATCGAAAACGTGAAAGCTAAAATCCAGGACAAAGAAGGCATC"
    "CCGCCGGACCAGCAGCGTCTGATCTTCGCTGGCAAACAGCTGGAAGACGGCCGTACCCTGTCTGACTACAACATCCAGAAAGAATCTACCCTGCACCTGGTGCTGCGT"
    "CTGCGTGGCGGCTAA"
)
"""Codes for ubiquitin."""
COMPLEMENT = str.maketrans("ACGT", "TGCA")
REVERSED_GENE = UBIQUITIN_GENE.translate(COMPLEMENT)[::-1]

needs_blast = pytest.mark.skipif(not blastplus.is_installed(), reason="BLAST+ is not installed")


@pytest.fixture
def proteins(tmp_path: Path) -> Target:
    """Three proteins, in a folder whose name BLAST+ would split."""
    return target_of({"alpha": HBA, "beta": HBB, "ubiquitin": UBIQUITIN}, tmp_path / "blanks & 'quotes' (1)")


@pytest.fixture
def genes(tmp_path: Path) -> Target:
    fasta = tmp_path / "genes.fna"
    fasta.write_text(
        f">plus the gene\n{UBIQUITIN_GENE}\n>minus its complement\nTTTTTTTT{REVERSED_GENE}\n", encoding="ascii"
    )
    databases = Databases(tmp_path / "data bases")
    databases.add("genes", [fasta], molecule="nucleotide")
    return databases.target("genes")


def run(search: Search, target: Target) -> Report:
    return LocalEngines().run(search, target, Event())


@needs_blast
def test_blastp_finds_what_blastp_alone_finds(proteins: Target, tmp_path: Path) -> None:
    fasta = tmp_path / "subjects.faa"
    fasta.write_text("".join(f">{key}\n{sequence}\n" for key, sequence in proteins.records()), encoding="ascii")
    columns = "sseqid bitscore evalue pident qstart qend sstart send"
    alone = subprocess.run(
        ["blastp", "-query", "-", "-subject", fasta, "-outfmt", f"6 {columns}", "-max_hsps", "1"],
        input=f">q\n{HBA}\n", capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [line.split("\t") for line in alone.stdout.splitlines()]

    hits = run(search_of(HBA, proteins, engine="blast+"), proteins).hits

    assert [hit.key for hit in hits] == [row[0] for row in expected]
    for hit, (_, bits, evalue, percent, *ends) in zip(hits, expected, strict=True):
        best = hit.best
        assert hit.bit_score == pytest.approx(float(bits), rel=0.01)
        assert hit.evalue == pytest.approx(float(evalue), rel=0.02)
        assert 100 * best.identity == pytest.approx(float(percent), abs=0.01)
        assert [best.query_start, best.query_end, best.subject_start, best.subject_end] == list(map(int, ends))


@needs_blast
def test_blastp_states_size_version_and_masking(proteins: Target) -> None:
    report = run(search_of(HBA, proteins, engine="blast+"), proteins)
    assert report.engine.startswith("BLASTP 2.")
    assert (report.database.name, report.database.version, report.database.sequences) == ("globins", "1", 3)
    assert report.database.residues == len(HBA) + len(HBB) + len(UBIQUITIN)
    assert report.statistics["lambda"] == pytest.approx(0.267)
    assert any("not masked; scores are adjusted to the composition" in line for line in report.settings)


@needs_blast
@pytest.mark.parametrize(
    ("program", "query", "is_minus"),
    [
        ("blastx", UBIQUITIN_GENE, False),
        ("blastx", REVERSED_GENE, True),
    ],
)
def test_blastx_finds_the_protein_of_a_gene_on_either_strand(
    proteins: Target, program: Program, query: str, is_minus: bool
) -> None:
    (hit,) = run(search_of(query, proteins, engine="blast+", program=program, max_evalue=1e-3), proteins).hits
    assert (hit.key, hit.best.identical, hit.best.columns) == ("ubiquitin", 76, 76)
    assert hit.best.query_frame is not None
    assert (hit.best.query_frame < 0) is is_minus


@needs_blast
@pytest.mark.parametrize(
    ("program", "query", "identical"),
    [("blastn", UBIQUITIN_GENE, 231), ("tblastn", UBIQUITIN, 76), ("tblastx", UBIQUITIN_GENE, 76)],
)
def test_nucleotide_databases_are_searched_by_three_programs(
    genes: Target, program: Program, query: str, identical: int
) -> None:
    report = run(search_of(query, genes, engine="blast+", program=program, max_evalue=1e-3), genes)
    assert sorted(hit.key for hit in report.hits) == ["1", "2"]
    assert all(hit.best.identical >= identical - 1 for hit in report.hits)
    assert report.total == 2


@needs_blast
def test_the_minus_strand_has_its_start_above_its_end(genes: Target) -> None:
    report = run(search_of(UBIQUITIN_GENE, genes, engine="blast+", program="blastn"), genes)
    minus = next(hit.best for hit in report.hits if hit.key == "2")
    assert (minus.subject_start, minus.subject_end) == (8 + 231, 9)


@needs_blast
def test_megablast_is_a_task_of_blastn(genes: Target) -> None:
    search = search_of(UBIQUITIN_GENE, genes, engine="blast+", program="blastn", is_megablast=True)
    assert "sc_mismatch = -2" in run(search, genes).settings


@needs_blast
@pytest.mark.parametrize(("program", "query"), [("blastn", UBIQUITIN_GENE[30:46])])
def test_a_short_primer_is_found(genes: Target, program: Program, query: str) -> None:
    report = run(search_of(query, genes, engine="blast+", program=program), genes)
    assert {hit.key for hit in report.hits if hit.best.identical == 16} == {"1", "2"}
    assert any("fewer than 30 letters" in line for line in report.settings)


@needs_blast
def test_a_short_peptide_is_found(proteins: Target) -> None:
    report = run(search_of(UBIQUITIN[:9], proteins, engine="blast+"), proteins)
    assert (report.hits[0].key, report.hits[0].best.identical) == ("ubiquitin", 9)
    assert "matrix = PAM30" in report.settings


@needs_blast
def test_hits_are_cut_after_the_search_and_the_total_is_known(proteins: Target) -> None:
    report = run(search_of(HBA, proteins, engine="blast+", limit=1, max_evalue=1e-3), proteins)
    assert ([hit.key for hit in report.hits], report.total) == (["alpha"], 2)


@needs_blast
def test_nothing_found_is_an_empty_report(proteins: Target) -> None:
    report = run(search_of("W" * 40, proteins, engine="blast+", max_evalue=1e-3), proteins)
    assert (report.hits, report.total) == ((), 0)


@needs_blast
def test_a_search_that_nobody_wants_ends(proteins: Target) -> None:
    stop = Event()
    stop.set()
    with pytest.raises(Stopped):
        LocalEngines().run(search_of(HBA, proteins, engine="blast+"), proteins, stop)


@needs_blast
def test_a_database_that_cannot_be_read_is_an_error_without_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "secret place"
    folder.mkdir()
    with pytest.raises(DependencyUnavailable, match="exit code 2") as caught:
        blastplus.search("blastp", HBA, folder, Options(10, 10), threads=1)
    assert "secret" not in caught.value.message


def test_without_blast_the_error_names_what_to_install(
    proteins: Target, genes: Target, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DependencyUnavailable, match=r"ncbi-blast\+"):
        LocalEngines().choose("blastx", proteins)
    with pytest.raises(DependencyUnavailable, match=r"ncbi-blast\+"):
        LocalEngines().choose("blastn", genes)
    assert LocalEngines().choose("blastp", proteins) == "phmmer"


@pytest.mark.parametrize("program", ["blastn", "tblastn", "tblastx"])
def test_a_program_for_nucleotides_refuses_proteins(proteins: Target, program: Program) -> None:
    with pytest.raises(InvalidInput, match="holds protein sequences"):
        LocalEngines().choose(program, proteins)
