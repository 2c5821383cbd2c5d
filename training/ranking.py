"""Choose how embedding and profile add up to a similarity, on families that are not held out and were not fitted."""

from pathlib import Path

import numpy as np

from benchmarks.retrieval import Scores, score, similarities

STEPS = 11


def choose_ranking(families: dict[str, list[str]], sequences: dict[str, str], pack: Path) -> tuple[float, Scores]:
    """Weight of the embedding with the best sum of AUC, P@1 and P@k, and those scores."""
    names = [(family, name) for family, members in families.items() for name in members]
    found = similarities([sequences[name] for _, name in names], pack)
    labels = np.array([family for family, _ in names])
    tried = []
    for weight in np.linspace(0, 1, STEPS):
        mixed = weight * found["embedding"] + (1 - weight) * found["SAE profile"]
        scores = score(mixed, labels)
        print(f"embedding {weight:.1f}: {scores}", flush=True)
        tried.append((scores.auc + scores.first + scores.top, round(float(weight), 2), scores))
    return max(tried, key=lambda row: row[0])[1:]
