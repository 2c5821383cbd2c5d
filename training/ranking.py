"""Score a pack on families that are neither held out nor fitted: what its settings are chosen by."""

from pathlib import Path

import numpy as np

from benchmarks.retrieval import Scores, score, similarities


def ranking_scores(families: dict[str, list[str]], sequences: dict[str, str], pack: Path) -> Scores:
    """Scores of the server's ranking on the families; those of every similarity are printed."""
    names = [(family, name) for family, members in families.items() for name in members]
    labels = np.array([family for family, _ in names])
    found = similarities([sequences[name] for _, name in names], pack)
    scores = {kind: score(similarity, labels) for kind, similarity in found.items()}
    for kind, reached in scores.items():
        print(f"development, {kind}: {reached}", flush=True)
    return scores["ranking"]
