"""Retrieval quality and speed of a model pack, aligners and k-mers on labelled families (README.md has the protocol).

Usage: python benchmarks/retrieval.py family_eval.tsv [--pack PACK] [--methods blastp,kmers] [--output TABLE.md]

The table has the columns accession, family, sequence. The set itself is the database, the query left out.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from benchmarks.baselines import blastp, kmer_cosines, missing_program, mmseqs, phmmer
from benchmarks.scoring import Scores, Similarity, score, score_with_intervals
from protatlas.engines.encoders import Float2D, open_encoder
from protatlas.engines.features import Ranking, open_features
from protatlas.engines.pairwise import QueryAligner
from protatlas.sequences.fasta import read_fasta

__all__ = ["Scores", "score", "similarities"]

TITLES = {
    "embedding": "cosine of embeddings",
    "profile": "cosine of SAE profiles",
    "server": "ranking of the server",
    "blastp": "BLAST+ blastp, bit score",
    "mmseqs": "MMseqs2 -s 7.5, bit score",
    "phmmer": "phmmer, bit score",
    "kmers": "sum of five k-mer TF-IDF cosines",
}


class Measured(NamedTuple):
    """Similarity of all against all, float32 (n, n), and seconds a query, with its share of the set-up."""

    similarity: Similarity
    seconds: float


@dataclass(frozen=True)
class Encoded:
    """Embeddings and unit profiles of proteins, a row each, how they rank, and the seconds that each took in all."""

    embeddings: Float2D
    profiles: csr_array
    ranking: Ranking
    embedding_s: float
    profile_s: float


def encode(sequences: Sequence[str], pack: Path | None = None) -> Encoded:
    """Embeddings and unit profiles of sequences by a pack, the embedded one by default."""
    encoder, features = open_encoder(pack), open_features(pack)
    encoder.encode(sequences[0])  # tables that are made on first use
    dense, rows, columns, values = [], [], [], []
    encoding_s, profile_s = 0.0, 0.0
    for number, sequence in enumerate(sequences):
        start = perf_counter()
        encoding = encoder.encode(sequence)
        middle = perf_counter()
        indices, weights = features.profile(features.sae.activate(encoding.residues))
        encoding_s, profile_s = encoding_s + middle - start, profile_s + perf_counter() - middle
        dense.append(encoding.embedding)
        rows.extend([number] * len(indices))
        columns.extend(indices.tolist())
        values.extend((weights / max(float(np.linalg.norm(weights)), 1e-9)).tolist())
    profiles = csr_array((values, (rows, columns)), shape=(len(sequences), features.sae.size), dtype=np.float32)
    return Encoded(np.stack(dense), profiles, features.ranking, encoding_s, encoding_s + profile_s)


def by_embedding(encoded: Encoded) -> Similarity:
    """Cosines of the embeddings."""
    return encoded.embeddings @ encoded.embeddings.T


def by_profile(encoded: Encoded) -> Similarity:
    """Cosines of the profiles."""
    cosines: Similarity = (encoded.profiles @ encoded.profiles.T).toarray()
    return cosines


def by_ranking(encoded: Encoded) -> Similarity:
    """Both cosines in the weights of the pack."""
    return encoded.ranking.similarity(by_embedding(encoded), by_profile(encoded))


def server_ranking(sequences: Sequence[str], encoded: Encoded) -> Similarity:
    """Similarity by which the server orders what it finds: the nearest of each query are aligned with it."""
    similarity, ranking = by_ranking(encoded), encoded.ranking
    bits = np.zeros_like(similarity)
    for query, row in enumerate(similarity if ranking.alignment else ()):
        near = np.argsort(-row, kind="stable")[: ranking.shortlist]
        bits[query, near] = QueryAligner(sequences[query]).bits_above_chance([sequences[at] for at in near])
    return ranking.aligned(similarity, bits)


def similarities(sequences: Sequence[str], pack: Path | None = None) -> dict[str, Similarity]:
    """Cosines of the embedding and of the SAE profile, and the server's ranking, each float32 (n, n)."""
    encoded = encode(sequences, pack)
    found = {"embedding": by_embedding(encoded), "SAE profile": by_profile(encoded)}
    return {**found, "ranking": server_ranking(sequences, encoded)}


def methods(
    sequences: Sequence[str], pack: Path | None, background: Sequence[str], work: Path
) -> dict[str, Callable[[], Measured]]:
    """What measures each method of `TITLES`; the pack's share one encoding."""
    encoded = cache(lambda: encode(sequences, pack))

    def timed(similarity: Callable[[], Similarity], *, before_s: float = 0.0) -> Measured:
        start = perf_counter()
        found = similarity()
        return Measured(found, (before_s + perf_counter() - start) / len(sequences))

    return {
        "embedding": lambda: timed(lambda: by_embedding(encoded()), before_s=encoded().embedding_s),
        "profile": lambda: timed(lambda: by_profile(encoded()), before_s=encoded().profile_s),
        "server": lambda: timed(lambda: server_ranking(sequences, encoded()), before_s=encoded().profile_s),
        "blastp": lambda: timed(lambda: blastp(sequences, work)),
        "mmseqs": lambda: timed(lambda: mmseqs(sequences, work)),
        "phmmer": lambda: timed(lambda: phmmer(sequences)),
        "kmers": lambda: timed(lambda: kmer_cosines(sequences, background)),
    }


def row(title: str, measured: Measured, families: npt.NDArray[np.str_]) -> str:
    """Row of the Markdown table."""
    value, low, high = (astuple(scores) for scores in score_with_intervals(measured.similarity, families))
    cells = [f"{v:.3f} ({a:.3f}-{b:.3f})" for v, a, b in zip(value, low, high, strict=True)]
    return f"| {title} | {' | '.join(cells)} | {1000 * measured.seconds:.1f} |"


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("table", type=Path, help="accession, family and sequence of each protein, tab-separated")
    parser.add_argument("--pack", type=Path, help="model pack; by default the embedded one")
    parser.add_argument("--methods", default=",".join(TITLES), help="which to measure, by default %(default)s")
    parser.add_argument(
        "--background", type=Path, help="FASTA of proteins to count IDF over; by default the set itself"
    )
    parser.add_argument("--work", type=Path, help="folder for files of the aligners; by default a temporary one")
    parser.add_argument("--output", type=Path, help="file to write the table to as well")
    return parser.parse_args()


def read_families(table: Path) -> tuple[npt.NDArray[np.str_], list[str]]:
    """Families and sequences of a table, in its order."""
    fields = [line.split("\t") for line in table.read_text(encoding="ascii").splitlines()]
    fields = [field for field in fields if field[0] != "accession"]
    return np.array([field[1] for field in fields]), [field[2] for field in fields]


def lines(options: argparse.Namespace, work: Path) -> Iterator[str]:
    """Lines of the Markdown table, each as soon as it is measured, and of what was skipped."""
    families, sequences = read_families(options.table)
    background = [record.sequence for record in read_fasta(options.background)] if options.background else sequences
    yield f"{open_encoder(options.pack).id}, {open_features(options.pack).sae.id}, {len(sequences)} proteins\n"
    yield "| similarity | AUC | P@1 | P@k | sensitivity | ms a query |"
    yield "| --- | --- | --- | --- | --- | --- |"
    measures, missing = methods(sequences, options.pack, background, work), {}
    for name in options.methods.split(","):
        missing[name] = missing_program(name)
        if missing[name] is None:
            yield row(TITLES[name], measures[name](), families)
    for name, program in missing.items():
        if program:
            yield f"\n{TITLES[name]}: skipped, there is no {program} on the PATH"


def main(options: argparse.Namespace) -> None:
    """Print the scores of each method, and write them where asked."""
    told = []
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        for line in lines(options, work):
            print(line, flush=True)
            told.append(line)
    if options.output:
        options.output.write_text("\n".join(told) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(arguments())
