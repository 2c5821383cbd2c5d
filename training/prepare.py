"""Training proteins: representatives that no held-out family and none of its 25 % clusters touches.

Steps, each kept in the work folder and skipped when its file is there: read, cluster at 50 %, scan for the held-out
families, cluster at 25 %, drop, scan the reference part for all families.
"""

import subprocess
from collections.abc import Iterable
from hashlib import md5
from pathlib import Path

import pyhmmer

from training.swissprot import read_swissprot

LENGTHS = range(50, 1001)
PROTEINS = 70_000
THREADS = 2


def write_fasta(path: Path, proteins: Iterable[tuple[str, str]]) -> None:
    """Write accession and sequence pairs, one line a sequence."""
    path.write_text("".join(f">{name}\n{sequence}\n" for name, sequence in proteins), encoding="ascii")


def read_fasta(path: Path) -> dict[str, str]:
    """Sequence of each accession of a FASTA file written by `write_fasta` or MMseqs2 (one line a sequence)."""
    lines = path.read_text(encoding="ascii").split("\n")
    return {head[1:].split()[0]: body for head, body in zip(lines[::2], lines[1::2], strict=False) if head}


def by_hash(names: Iterable[str]) -> list[str]:
    """Names in the order of their MD5, which is random but fixed."""
    return sorted(names, key=lambda name: md5(name.encode("ascii"), usedforsecurity=False).digest())


def cluster(fasta: Path, stem: Path, *, identity: float, program: str) -> dict[str, str]:
    """Representative of each protein by MMseqs2 (`program` easy-linclust or easy-cluster, 80 % coverage)."""
    table = stem.with_name(stem.name + "_cluster.tsv")
    if not table.exists():
        options = ["--min-seq-id", str(identity), "-c", "0.8", "--threads", str(THREADS), "-v", "1"]
        options += ["-s", "2.5", "--cluster-steps", "2"] if program == "easy-cluster" else []
        subprocess.run(["mmseqs", program, str(fasta), str(stem), str(stem) + ".tmp", *options], check=True)
    return read_clusters(table)


def read_clusters(table: Path) -> dict[str, str]:
    """Representative of each protein, of a table that MMseqs2 wrote."""
    pairs = (line.split("\t") for line in table.read_text(encoding="ascii").splitlines())
    return {member: representative for representative, member in pairs}


def scan(fasta: Path, table: Path, hmms: Iterable[pyhmmer.plan7.HMM]) -> list[list[str]]:
    """Rows accession, Pfam accession, name, start, end (1-based, alignment on the protein) at the gathering cutoff."""
    if not table.exists():
        alphabet = pyhmmer.easel.Alphabet.amino()
        with pyhmmer.easel.SequenceFile(fasta, digital=True, alphabet=alphabet) as file:
            proteins = file.read_block()
        rows = []
        for hits in pyhmmer.hmmsearch(hmms, proteins, cpus=THREADS, bit_cutoffs="gathering"):
            family = hits.query.accession.split(".")[0]
            for hit in hits.included:
                for domain in hit.domains.included:
                    at = domain.alignment
                    rows.append(f"{hit.name}\t{family}\t{hits.query.name}\t{at.target_from}\t{at.target_to}")
        table.write_text("\n".join(rows), encoding="ascii")
    return [row.split("\t") for row in table.read_text(encoding="ascii").splitlines()]


def read_hmms(path: Path, wanted: set[str] | None = None) -> list[pyhmmer.plan7.HMM]:
    """HMMs of the file, or those of the wanted accessions (without version)."""
    with pyhmmer.plan7.HMMFile(path) as file:
        return [hmm for hmm in file if wanted is None or hmm.accession.split(".")[0] in wanted]


def clear_proteins(root: Path, hmms: Path, held_out: set[str], work: Path) -> dict[str, str]:
    """Sequence of each representative without a hit of a held-out family, in the order of the MD5 of the names."""
    everything, chosen = work / "swissprot.fasta", work / "chosen.fasta"
    if not everything.exists():
        write_fasta(everything, read_swissprot(root).items())
    if not chosen.exists():
        half = set(cluster(everything, work / "half", identity=0.5, program="easy-linclust").values())
        sequences = {n: s for n, s in read_fasta(everything).items() if n in half and len(s) in LENGTHS}
        write_fasta(chosen, ((name, sequences[name]) for name in by_hash(sequences)[:PROTEINS]))
    touched = {row[0] for row in scan(chosen, work / "held_out.tsv", read_hmms(hmms, held_out))}
    return {name: sequence for name, sequence in read_fasta(chosen).items() if name not in touched}


def quarter_clusters(work: Path) -> dict[str, str]:
    """25 % cluster of each chosen protein, those with a hit of a held-out family left out with their whole cluster."""
    clusters = cluster(work / "chosen.fasta", work / "quarter", identity=0.25, program="easy-cluster")
    hits = (work / "held_out.tsv").read_text(encoding="ascii").splitlines()
    touched = {clusters[row.split("\t")[0]] for row in hits}
    return {name: group for name, group in clusters.items() if group not in touched}


def scan_proteins(
    proteins: dict[str, str], work: Path, name: str, hmms: Iterable[pyhmmer.plan7.HMM]
) -> list[list[str]]:
    """Domain rows (see `scan`) of the proteins, kept in `name`.tsv of the work folder."""
    write_fasta(work / f"{name}.fasta", proteins.items())
    return scan(work / f"{name}.fasta", work / f"{name}.tsv", hmms)
