"""Databases of the user's own sequences: made, listed, searched and removed."""

import gzip
import hashlib
from pathlib import Path
from threading import Event

import pytest

from protatlas.blast.databases import Databases
from protatlas.blast.search import LocalEngines
from protatlas.errors import InvalidInput, NotFound
from tests.blast.conftest import search_of
from tests.known_proteins import HBA, HBB, UBIQUITIN

PIPES = f">plate3|well|A01\n{HBA}\n>plate3|well|A02\n{HBB}\n>gnl|extdb|pgaptmp_000002 ubiquitin\n{UBIQUITIN}\n"


@pytest.fixture
def databases(tmp_path: Path) -> Databases:
    return Databases(tmp_path / "state (1)" / "data & bases")


@pytest.fixture
def fasta(tmp_path: Path) -> Path:
    """File with a name that shells and BLAST+ break."""
    path = tmp_path / "set A & B 'quoted'.faa"
    path.write_text(PIPES, encoding="ascii")
    return path


def test_a_database_says_what_it_was_made_of(databases: Databases, fasta: Path) -> None:
    made = databases.add("mine", [fasta], molecule="protein")
    (source,) = made.sources
    assert (made.sequences, made.residues) == (3, len(HBA) + len(HBB) + len(UBIQUITIN))
    assert (source.name, source.sha256) == (fasta.name, hashlib.sha256(PIPES.encode()).hexdigest())
    assert databases.manifest("mine") == made
    assert databases.names() == ["mine"]


def test_each_record_finds_itself_under_its_own_identifier(databases: Databases, fasta: Path) -> None:
    databases.add("mine", [fasta], molecule="protein")
    target = databases.target("mine")
    for sequence, accession in ((HBA, "plate3|well|A01"), (HBB, "plate3|well|A02"), (UBIQUITIN, "pgaptmp_000002")):
        report = LocalEngines().run(search_of(sequence, target), target, Event())
        best = databases.describe("mine", [report.hits[0].key])[report.hits[0].key]
        assert accession in (best.accession, f"gnl|extdb|{best.accession}")


def test_what_cannot_be_read_is_counted(databases: Databases, tmp_path: Path) -> None:
    path = tmp_path / "mixed.fa.gz"
    path.write_bytes(gzip.compress(f">good\n{HBA}\n>bad\nMKV@LL\n".encode()))
    made = databases.add("mixed", [path], molecule="protein")
    assert (made.sequences, made.skipped, made.sources[0].read) == (1, 1, 2)


def test_nucleotides_are_kept_as_such(databases: Databases, tmp_path: Path) -> None:
    path = tmp_path / "genes.fna"
    path.write_text(">gene1 some gene\nATGCATGCATGCAUGC\nnnnnacgtacgtacgt\n>protein\n" + HBA + "\n", encoding="ascii")
    made = databases.add("genes", [path], molecule="nucleotide")
    assert (made.molecule, made.sequences, made.residues, made.skipped) == ("nucleotide", 1, 32, 1)
    assert list(databases.target("genes").records()) == [("1", "ATGCATGCATGCATGC" + "NNNNACGTACGTACGT")]


@pytest.mark.parametrize("name", ["atlas", "../x", "", "a b", "-x", "x" * 65])
def test_a_name_that_is_none_is_refused(databases: Databases, fasta: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match="name"):
        databases.add(name, [fasta], molecule="protein")


def test_a_name_that_is_taken_is_refused_and_nothing_changes(databases: Databases, fasta: Path) -> None:
    made = databases.add("mine", [fasta], molecule="protein")
    with pytest.raises(InvalidInput, match="there is a database mine"):
        databases.add("mine", [fasta], molecule="protein")
    assert databases.manifest("mine") == made


def test_a_file_without_proteins_leaves_nothing_behind(databases: Databases, tmp_path: Path) -> None:
    path = tmp_path / "x.faa"
    path.write_text("no fasta\n", encoding="ascii")
    with pytest.raises(InvalidInput):
        databases.add("mine", [path], molecule="protein")
    assert databases.names() == []
    assert list(databases.folder.iterdir()) == []


def test_a_removed_database_is_gone(databases: Databases, fasta: Path) -> None:
    databases.add("mine", [fasta], molecule="protein")
    databases.remove("mine")
    assert databases.names() == []
    with pytest.raises(NotFound, match="none yet"):
        databases.target("mine")


def test_another_content_is_another_version(databases: Databases, fasta: Path, tmp_path: Path) -> None:
    first = databases.add("mine", [fasta], molecule="protein").version
    databases.remove("mine")
    other = tmp_path / "other.faa"
    other.write_text(f">a\n{HBA}\n", encoding="ascii")
    assert databases.add("mine", [other], molecule="protein").version.split()[-1] != first.split()[-1]
