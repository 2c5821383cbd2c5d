"""Swiss-Prot sequences and GO terms of Debian's `metastudent-data` (release 2014_01), without BLAST.

The databases are BLAST format 4: `.pin` is the index, `.psq` the residues, `.phr` the headers.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ALPHABET = np.frombuffer(b"-ABCDEFGHIKLMNPQRSTVWXYZU*OJ", dtype=np.uint8)
ONTOLOGIES = ("MFO", "BPO", "CCO")


def _length_prefixed(index: bytes, at: int) -> int:
    """Offset behind the length-prefixed text that starts at `at`."""
    return at + 4 + struct.unpack_from(">I", index, at)[0]


def _offsets(index: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Header and sequence offsets, each uint32 of shape (records + 1,)."""
    at = _length_prefixed(index, _length_prefixed(index, 8))
    records = struct.unpack_from(">I", index, at)[0]
    tables = np.frombuffer(index, dtype=">u4", count=2 * (records + 1), offset=at + 16)
    return tables[: records + 1], tables[records + 1 :]


def _title(header: bytes) -> str:
    """First VisibleString (tag 0x1A) of an ASN.1 header."""
    at = header.index(b"\x1a") + 1
    length = header[at]
    if length & 0x80:
        width = length & 0x7F
        length, at = int.from_bytes(header[at + 1 : at + 1 + width], "big"), at + width
    return header[at + 1 : at + 1 + length].decode("ascii")


def read_database(stem: Path) -> Iterator[tuple[str, str]]:
    """Accession and sequence of each record of the database `stem`.{pin,psq,phr}, in its order."""
    headers, residues = _offsets(stem.with_suffix(stem.suffix + ".pin").read_bytes())
    phr, psq = (stem.with_suffix(stem.suffix + end).read_bytes() for end in (".phr", ".psq"))
    letters = ALPHABET[np.minimum(np.frombuffer(psq, dtype=np.uint8), len(ALPHABET) - 1)].tobytes().decode("ascii")
    for i in range(len(headers) - 1):
        title = _title(phr[headers[i] : headers[i + 1]]).split("|", 1)[0]
        yield title, letters[residues[i] : residues[i + 1] - 1]


def read_swissprot(root: Path) -> dict[str, str]:
    """Sequence of each accession in the three ontologies' databases; `root` is the folder of `dataset_201401`."""
    found: dict[str, str] = {}
    for ontology in ONTOLOGIES:
        found.update(read_database(root / ontology / "goasp.fasta"))
    return found


def read_go(root: Path, wanted: set[str]) -> dict[str, set[str]]:
    """GO ids of the wanted accessions, with all ancestors by `is_a`."""
    direct: dict[str, set[str]] = {}
    for ontology in ONTOLOGIES:
        with (root / ontology / "goasp_annot.dat").open(encoding="ascii") as lines:
            for line in lines:
                accession, *terms = line.split()
                if accession in wanted:
                    direct.setdefault(accession, set()).update(terms)
    above = _ancestors(root / "goGraph.txt")
    return {name: set().union(terms, *(above.get(t, ()) for t in terms)) for name, terms in direct.items()}


def _ancestors(graph: Path) -> dict[str, set[str]]:
    """All ancestors by `is_a` of each GO id; the graph's lines are child, parent, distance, relation."""
    parents: dict[str, set[str]] = {}
    with graph.open(encoding="ascii") as lines:
        for line in lines:
            child, parent, _, relation = line.split()
            if relation == "is_a":
                parents.setdefault(child, set()).add(parent)
    above: dict[str, set[str]] = {}
    for term in list(parents):
        todo, seen = [term], set[str]()
        while todo:
            fresh = parents.get(todo.pop(), set()) - seen
            seen |= fresh
            todo.extend(fresh)
        above[term] = seen
    return above


def read_go_names(root: Path) -> dict[str, str]:
    """Name of each GO id."""
    with (root / "nameMapping.txt").open(encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("\t", 1) for line in lines if "\t" in line)
