"""An index of FASTA files leads from an identifier to the very record, or says why it cannot."""

import bz2
import gzip
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from protatlas import accession_index
from protatlas.accession_index import AccessionIndex, IndexCounts, build_accession_index
from protatlas.errors import DependencyUnavailable, InvalidInput
from tests.known_proteins import HBA, HBB, UBIQUITIN

RECORDS = (
    f">MGYP000261684433 FL=1 CR=0\n{HBA[:60]}\n{HBA[60:]}\n"
    f">NP_000509.1 hemoglobin subunit beta [Homo sapiens]\r\n{HBB}\r\n"
    f"> \nMKVLA\n"
    f">gnl|extdb|pgaptmp_000002 private\n{UBIQUITIN.lower()}*\n"
    ">broken\nMK*TV\n"
)


def _silent(*_: object) -> None:
    pass


def _index(folder: Path, content: bytes, name: str = "set A & B.faa") -> AccessionIndex:
    path = folder / name
    path.write_bytes(content)
    build_accession_index([path], folder / "own.accessions", progress=_silent, overwrite=True)
    return AccessionIndex.open(folder / "own.accessions")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_every_identifier_leads_to_its_record(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    index = _index(tmp_path, compress(RECORDS.encode()))

    assert index.counts.records == 5
    assert index.counts.unnamed == 1
    for name, sequence in (
        ("mgyp000261684433", HBA),
        ("NP_000509.1", HBB),
        ("NP_000509", HBB),
        ("gnl|extdb|pgaptmp_000002", UBIQUITIN),
        ("PGAPTMP_000002", UBIQUITIN),
    ):
        (found,) = index.find(name)
        assert found.sequence == sequence
        assert found.notes[-1] == "Read from set A & B.faa."
    assert index.find("MGYP000000000001") == index.find("") == []


def test_a_record_that_is_no_protein_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"broken of .*faa is no protein: a stop .* at position 3"):
        _index(tmp_path, RECORDS.encode()).find("broken")


def test_one_identifier_of_two_sequences_leads_to_both(tmp_path: Path) -> None:
    index = _index(tmp_path, f">a\n{HBA}\n>b\n{HBB}\n>A\n{UBIQUITIN}\n".encode())
    assert [protein.sequence for protein in index.find("a")] == [HBA, UBIQUITIN]


def test_equal_hashes_give_no_wrong_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accession_index, "_hash", lambda _: 7)
    index = _index(tmp_path, RECORDS.replace(">broken\nMK*TV\n", "").encode())
    assert [protein.sequence for protein in index.find("NP_000509.1")] == [HBB]
    assert index.find("other") == []


def test_a_file_that_was_changed_or_removed_is_named(tmp_path: Path) -> None:
    index = _index(tmp_path, RECORDS.encode(), "own.faa")
    (tmp_path / "own.faa").write_text(f">x\n{HBB}\n" + RECORDS, encoding="utf-8")
    with pytest.raises(DependencyUnavailable, match=r"own\.faa was changed after it was indexed"):
        index.find("NP_000509.1")
    (tmp_path / "own.faa").unlink()
    with pytest.raises(DependencyUnavailable, match=r"own\.faa cannot be read"):
        index.find("NP_000509.1")


@pytest.mark.parametrize("content", [None, b"", b"SQLite format 3\x00", b">a\nMKV\n"])
def test_what_is_no_index_is_refused_by_name(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "other.accessions"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DependencyUnavailable, match=r"other\.accessions .*index-accessions"):
        AccessionIndex.open(path)


def test_an_index_in_place_is_replaced_only_when_asked(tmp_path: Path) -> None:
    _index(tmp_path, RECORDS.encode())
    with pytest.raises(InvalidInput, match="--overwrite"):
        build_accession_index([tmp_path / "set A & B.faa"], tmp_path / "own.accessions", progress=_silent)


def test_files_without_an_identifier_are_refused_and_leave_no_index(tmp_path: Path) -> None:
    path = tmp_path / "none.faa"
    path.write_text(f">\n{HBA}\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="no record with an identifier"):
        build_accession_index([path], tmp_path / "own.accessions", progress=_silent)
    assert not (tmp_path / "own.accessions").exists()


KILLED = """
import os, signal, sys
from pathlib import Path
from protatlas import accession_index

accession_index.RECORDS_AT_ONCE = 10
seen = []

def progress(name, done, total):
    seen.append(name)
    if len(seen) == int(sys.argv[3]) or name == sys.argv[4]:
        os.kill(os.getpid(), signal.SIGKILL)

accession_index.build_accession_index([Path(sys.argv[1])], Path(sys.argv[2]), progress=progress)
"""


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(("reports", "stage"), [("1", "-"), ("3", "-"), ("99", "sort")])
def test_a_killed_run_goes_on_and_gives_the_same_index(
    reports: str, stage: str, compress: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fasta, output = tmp_path / "own.faa", tmp_path / "own.accessions"
    fasta.write_bytes(compress("".join(f">p{number}\n{HBA}{'A' * number}\n" for number in range(45)).encode()))
    command = [sys.executable, "-c", KILLED, str(fasta), str(output), reports, stage]

    killed = subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert killed.returncode == -9
    assert not output.exists()
    seen: list[int] = []
    monkeypatch.setattr(accession_index, "RECORDS_AT_ONCE", 10)
    counts = build_accession_index([fasta], output, progress=lambda _, done, __: seen.append(done))

    assert counts == IndexCounts(records=45, unnamed=0, entries=45)
    assert len(seen) < 8
    index = AccessionIndex.open(output)
    assert all(index.find(f"p{number}")[0].sequence == HBA + "A" * number for number in range(45))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.accessions", "own.faa"]
