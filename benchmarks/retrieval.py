"""Retrieval quality of a model pack on labelled families: AUC, P@1 and P@k.

Usage: python benchmarks/retrieval.py family_eval.tsv [PACK]

The table has the columns accession, family, sequence. The set itself is the database, the query left out. AUC: ROC AUC
of the similarity over all pairs; P@1: share of queries whose nearest neighbour has the family; P@k: mean share of
right ones among the top min(10, family size - 1).
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.stats import rankdata

from protatlas.engines.encoders import open_encoder
from protatlas.engines.features import open_features

Similarity = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Scores:
    """AUC, P@1 and P@k, each 0 to 1, higher is better."""

    auc: float
    first: float
    top: float

    def __str__(self) -> str:
        """AUC, P@1 and P@k as columns."""
        return f"{self.auc:.3f}  {self.first:.3f}  {self.top:.3f}"


def score(similarity: Similarity, families: npt.NDArray[np.str_]) -> Scores:
    """Scores of a symmetric similarity, float (n, n), for families (n,)."""
    same = families[:, None] == families[None, :]
    upper = np.triu_indices(len(families), 1)
    ranks, right = rankdata(similarity[upper]), same[upper]
    wins = ranks[right].sum() - right.sum() * (right.sum() + 1) / 2
    auc = float(wins / (right.sum() * (~right).sum()))
    hidden = similarity.astype(np.float64)
    np.fill_diagonal(hidden, -np.inf)
    order = np.argsort(-hidden, axis=1, kind="stable")
    first = float(np.mean([same[i, order[i, 0]] for i in range(len(order))]))
    tops = [same[i, order[i, : min(10, int(same[i].sum()) - 1)]].mean() for i in range(len(order))]
    return Scores(auc, first, float(np.mean(tops)))


def similarities(sequences: list[str], pack: Path | None = None) -> dict[str, Similarity]:
    """Cosines of the embedding and of the SAE profile, and the ranking of the pack, each float32 (n, n)."""
    encoder, features = open_encoder(pack), open_features(pack)
    dense, rows, columns, values = [], [], [], []
    for number, sequence in enumerate(sequences):
        encoding = encoder.encode(sequence)
        dense.append(encoding.embedding)
        indices, weights = features.profile(features.sae.activate(encoding.residues))
        rows.extend([number] * len(indices))
        columns.extend(indices.tolist())
        values.extend((weights / max(float(np.linalg.norm(weights)), 1e-9)).tolist())
    embeddings = np.stack(dense)
    profiles = csr_array((values, (rows, columns)), shape=(len(sequences), features.sae.size))
    by_embedding = embeddings @ embeddings.T
    by_profile = (profiles @ profiles.T).toarray()
    ranking = np.clip(features.ranking.dense * by_embedding + features.ranking.sparse * by_profile, 0, 1)
    return {"embedding": by_embedding, "SAE profile": by_profile, "ranking": ranking}


def main(table: Path, pack: Path | None) -> None:
    """Print the scores of each similarity."""
    fields = [line.split("\t") for line in table.read_text(encoding="ascii").splitlines()]
    fields = [row for row in fields if row[0] != "accession"]
    families = np.array([row[1] for row in fields])
    print(f"{open_encoder(pack).id}, {open_features(pack).sae.id}, {len(fields)} proteins")
    print("similarity    AUC    P@1    P@k")
    for name, matrix in similarities([row[2] for row in fields], pack).items():
        print(f"{name:12s} {score(matrix, families)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
