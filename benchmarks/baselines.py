"""What the retrieval of a model pack is compared with: aligners, and the cosines of k-mer counts.

Every method takes sequences and gives a symmetric similarity, float32 (n, n), of all against all.
"""

import shutil
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from benchmarks.scoring import Similarity
from protatlas.engines.aligners import PhmmerAligner

EVALUE = 10.0
PROGRAMS = {"blastp": ("makeblastdb", "blastp"), "mmseqs": ("mmseqs",)}

AMINO_ACIDS = tuple("ACDEFGHIKLMNPQRSTVWY")
NINE = ("AST", "C", "DN", "EQ", "FYW", "G", "HKR", "ILMV", "P")
TWELVE = ("A", "C", "D", "EQ", "FYW", "G", "H", "IVLM", "KR", "N", "P", "ST")
KMERS = (
    (AMINO_ACIDS, (-1, 0, 1)),
    (NINE, (-2, -1, 0, 1, 2)),
    (NINE, (-3, -2, 0, 2, 3)),
    (NINE, (-4, -1, 0, 1, 4)),
    (TWELVE, (-2, -1, 1, 2)),
)
LONGEST = 600
# A k-mer of the background must be seen in so many of its proteins.
SEEN = 3


def missing_program(method: str) -> str | None:
    """Name of a program that a method needs and the PATH does not have."""
    return next((name for name in PROGRAMS.get(method, ()) if shutil.which(name) is None), None)


def blastp(sequences: Sequence[str], work: Path) -> Similarity:
    """Bit scores of BLAST+ blastp, the mean of both directions, 0 where neither hits at E <= 10."""
    fasta, database, found = write_numbered(sequences, work), work / "blastdb", work / "blastp.tsv"
    _run("makeblastdb", "-in", fasta, "-dbtype", "prot", "-out", database)
    _run(
        *("blastp", "-query", fasta, "-db", database, "-out", found, "-outfmt", "6 qseqid sseqid bitscore"),
        *("-evalue", EVALUE, "-max_target_seqs", len(sequences), "-max_hsps", 1, "-num_threads", 1),
    )
    return read_bit_scores(found, len(sequences))


def mmseqs(sequences: Sequence[str], work: Path) -> Similarity:
    """Bit scores of MMseqs2 at sensitivity 7.5, the mean of both directions, 0 where neither hits at E <= 10."""
    fasta, found = write_numbered(sequences, work), work / "mmseqs.tsv"
    _run(
        *("mmseqs", "easy-search", fasta, fasta, found, work / "mmseqs", "-s", 7.5, "-e", EVALUE, "--threads", 1),
        *("--max-seqs", len(sequences), "--format-output", "query,target,bits", "-v", 1),
    )
    return read_bit_scores(found, len(sequences))


def phmmer(sequences: Sequence[str]) -> Similarity:
    """Bit scores of the server's own phmmer, the mean of both directions, 0 where neither hits at E <= 10."""
    aligner = PhmmerAligner((str(number), sequence) for number, sequence in enumerate(sequences))
    return symmetric_bit_scores(
        (
            (query, int(hit.key), hit.bit_score)
            for query, sequence in enumerate(sequences)
            for hit in aligner.search(sequence, max_evalue=EVALUE, limit=len(sequences)).hits
        ),
        len(sequences),
    )


def kmer_cosines(sequences: Sequence[str], background: Sequence[str]) -> Similarity:
    """Sum of the cosines of (1 + ln count) x IDF of five kinds of k-mers; IDF over the background proteins.

    K-mers that fewer than `SEEN` proteins of the background have count as unseen. Sequences are cut at 600 residues.
    """
    total = np.zeros((len(sequences), len(sequences)), dtype=np.float32)
    for groups, offsets in KMERS:
        known, counts = (_counts(proteins, groups, offsets) for proteins in (background, sequences))
        seen = np.bincount(known.indices, minlength=known.shape[1])
        idf = np.where(seen >= SEEN, np.log(len(background) / np.maximum(seen, 1)), 0)
        weights = (1 + np.log(counts.data)) * idf[counts.indices]
        rows = csr_array((weights, counts.indices, counts.indptr), shape=counts.shape)
        length = np.sqrt(rows.power(2).sum(axis=1))
        rows.data = (rows.data / np.repeat(np.maximum(length, 1e-9), np.diff(rows.indptr))).astype(np.float32)
        total += (rows @ rows.T).toarray()
    return total


def write_numbered(sequences: Sequence[str], work: Path) -> Path:
    """FASTA file of the sequences, each named by its number."""
    path = work / "proteins.fasta"
    path.write_text("".join(f">{n}\n{sequence}\n" for n, sequence in enumerate(sequences)), encoding="ascii")
    return path


def read_bit_scores(table: Path, size: int) -> Similarity:
    """Symmetric bit scores of a table of query number, subject number and bit score."""
    rows = (line.split("\t") for line in table.read_text(encoding="ascii").splitlines())
    return symmetric_bit_scores(((int(row[0]), int(row[1]), float(row[2])) for row in rows), size)


def symmetric_bit_scores(hits: Iterable[tuple[int, int, float]], size: int) -> Similarity:
    """Best bit score of each pair, averaged over both directions; 0 for a direction without a hit."""
    scores = np.zeros((size, size), dtype=np.float32)
    for query, subject, bits in hits:
        scores[query, subject] = max(scores[query, subject], bits)
    return np.asarray((scores + scores.T) / 2, dtype=np.float32)


def _counts(sequences: Sequence[str], groups: Sequence[str], offsets: Sequence[int]) -> csr_array:
    """How often each protein has each k-mer of letters at some offsets, float64 (proteins, k-mers)."""
    letters = np.full(256, -1)
    for number, group in enumerate(groups):
        letters[list(group.encode("ascii"))] = number
    columns, starts = [], [0]
    for sequence in sequences:
        codes = letters[np.frombuffer(sequence[:LONGEST].encode("ascii"), dtype=np.uint8)]
        columns.append(_kmers(codes, len(groups), offsets))
        starts.append(starts[-1] + len(columns[-1]))
    shape = (len(sequences), len(groups) ** len(offsets))
    matrix = csr_array((np.ones(starts[-1]), np.concatenate(columns), np.array(starts)), shape=shape)
    matrix.sum_duplicates()
    return matrix


def _kmers(codes: np.ndarray, base: int, offsets: Sequence[int]) -> np.ndarray:
    """Numbers of the k-mers of a protein that lie inside it and hold known letters alone."""
    size = max(len(codes) - (max(offsets) - min(offsets)), 0)
    columns = np.stack([codes[offset - min(offsets) :][:size] for offset in offsets])
    numbers = np.zeros(size, dtype=np.int64)
    for column in columns:
        numbers = numbers * base + column
    return numbers[(columns >= 0).all(axis=0)]


def _run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
