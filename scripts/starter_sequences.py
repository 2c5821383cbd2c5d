"""Sequences of the starter atlas: the 20,000 UniProt entries of mmseqs2-examples and a list of known proteins."""

import csv
import gzip
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

EXAMPLES = "usr/share/doc/mmseqs2/example-data/DB.fasta.gz"
METASTUDENT = "usr/share/metastudent-data/dataset_201401"
OLD_ENTRIES = "usr/share/doc/pftools/examples/Calibration/reversed.seq"
ONTOLOGIES = ("MFO", "BPO", "CCO")
BLAST_LETTERS = b"-ABCDEFGHIKLMNPQRSTVWXYZU*OJ"
"""NCBIstdaa, the residue codes of BLAST's protein databases, in the order of their numbers."""
CONFIRMED = 0.8
WORD = 5


class Entry(NamedTuple):
    """A record of the FASTA file: UniProt accession, header without `>`, sequence, organism, stated taxon id."""

    accession: str
    header: str
    sequence: str
    organism: str
    taxon_id: int | None


def read_examples(folder: Path) -> list[Entry]:
    """Entries of mmseqs2-examples in their order, headers as UniProt wrote them."""
    text = gzip.decompress((folder / EXAMPLES).read_bytes()).decode("utf-8")
    entries = []
    for record in text.removeprefix(">").split("\n>"):
        line, _, sequence = record.partition("\n")
        header = line.strip().removesuffix("Split=0").strip()
        organism = header.partition(" OS=")[2].partition(" GN=")[0].partition(" PE=")[0]
        entries.append(Entry(header.split("|")[1], header, "".join(sequence.split()), organism, None))
    return entries


def read_curated(table: Path, sequences: dict[str, str]) -> list[Entry]:
    """Entries of the curated table with their sequences of Swiss-Prot 2014_01; a length that differs is refused."""
    with table.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        found = len(sequences[row["accession"]])
        if found != int(row["length"]):
            raise SystemExit(f"{row['accession']} has {found} residues, {row['length']} expected.")
    return [_curated_entry(row, sequences[row["accession"]]) for row in rows]


def read_swissprot(folder: Path) -> dict[str, str]:
    """Sequences of Swiss-Prot 2014_01 by accession, from the BLAST databases (version 4) of metastudent-data."""
    sequences: dict[str, str] = {}
    for ontology in ONTOLOGIES:
        for accession, sequence in _read_blast(folder / METASTUDENT / ontology / "goasp.fasta"):
            sequences.setdefault(accession, sequence)
    return sequences


def read_old_entries(folder: Path) -> dict[str, str]:
    """Sequences by UniProt entry name of the 1990s, from the calibration set of pftools, which has them reversed."""
    text = (folder / OLD_ENTRIES).read_text(encoding="ascii")
    records = (record.partition("\n") for record in text.removeprefix(">").split("\n>"))
    return {name.strip().removesuffix("_rev"): "".join(lines.split())[::-1] for name, _, lines in records}


def count_confirmed(entries: list[Entry], old: dict[str, str]) -> int:
    """Entries whose name or sequence pftools knows: same sequence, or most words of the entry of the same name."""
    known = set(old.values())
    return sum(
        entry.sequence in known or _shared_words(old.get(entry.header.split("|")[2].split()[0], ""), entry.sequence)
        for entry in entries
    )


def _shared_words(old: str, new: str) -> bool:
    words = {old[first : first + WORD] for first in range(len(old) - WORD + 1)}
    return bool(words) and sum(word in new for word in words) >= CONFIRMED * len(words)


def _curated_entry(row: dict[str, str], sequence: str) -> Entry:
    gene = f" GN={row['gene']}" if row["gene"] else ""
    header = f"sp|{row['accession']}|{row['entry_name']} {row['protein_name']}"
    header += f" OS={row['organism']} OX={row['taxon_id']}{gene}"
    return Entry(row["accession"], header, sequence, row["organism"], int(row["taxon_id"]))


def _read_blast(base: Path) -> Iterator[tuple[str, str]]:
    index = base.with_suffix(".fasta.pin").read_bytes()
    headers, residues = base.with_suffix(".fasta.phr").read_bytes(), base.with_suffix(".fasta.psq").read_bytes()
    letters = BLAST_LETTERS.ljust(256, b"?")
    header_at, residues_at = _offsets(index)
    for number in range(len(header_at) - 1):
        accession = _title(headers, header_at[number]).split("|")[0]
        yield accession, residues[residues_at[number] : residues_at[number + 1] - 1].translate(letters).decode("ascii")


def _offsets(index: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Offsets of headers and of sequences: behind version, type, title, date, count, residues and longest sequence."""
    at = 8
    for _ in ("title", "date"):
        at += 4 + int(struct.unpack_from(">I", index, at)[0])
    count = int(struct.unpack_from(">I", index, at)[0]) + 1
    at += 4 + 8 + 4
    return struct.unpack_from(f">{count}I", index, at), struct.unpack_from(f">{count}I", index, at + 4 * count)


def _title(headers: bytes, start: int) -> str:
    """First VisibleString (ASN.1 tag 0x1A) of a header, behind its length in BER."""
    at = headers.index(0x1A, start) + 2
    length = headers[at - 1]
    if length & 0x80:
        wide = length & 0x7F
        length, at = int.from_bytes(headers[at : at + wide], "big"), at + wide
    return headers[at : at + length].decode("ascii")
