"""How much of a pack's features can be read, beside other packs: a control with random weights must be far below.

Usage: PYTHONPATH=src:. python training/interpretability.py PACK [PACK ...]

F1 is that of the feature tables, measured on proteins that did not choose the concept (labels.py). A dead feature
fires on none of the reference proteins; shares are of all features, dead ones included.
"""

import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from protatlas.engines.features import open_features
from protatlas.records import Feature

MIN_F1 = 0.5
PFAM = re.compile(r"PF\d{5}")


@dataclass(frozen=True)
class Interpretability:
    """Counts over the features of a pack: all, dead, labelled, and with F1 >= `MIN_F1`.

    `concepts` are the distinct ones that some feature fits with F1 >= `MIN_F1`, `domains` those of Pfam among them;
    `labelled_domains` the Pfam families that are some feature's label whatever its F1.
    """

    features: int
    dead: int
    labelled: int
    readable: int
    concepts: int
    domains: int
    labelled_domains: int


def interpretability(table: Iterable[Feature]) -> Interpretability:
    """Counts over a feature table."""
    features = list(table)
    labelled = [feature for feature in features if feature.concept is not None]
    readable = [feature for feature in labelled if (feature.f1 or 0) >= MIN_F1]
    return Interpretability(
        features=len(features),
        dead=sum(feature.frequency == 0 for feature in features),
        labelled=len(labelled),
        readable=len(readable),
        concepts=len({feature.concept for feature in readable}),
        domains=len(_domains(readable)),
        labelled_domains=len(_domains(labelled)),
    )


def _domains(features: Iterable[Feature]) -> set[str]:
    return {feature.concept for feature in features if feature.concept and PFAM.fullmatch(feature.concept)}


def row(name: str, found: Interpretability) -> str:
    """Row of the Markdown table."""
    cells = (
        name,
        f"{found.features}",
        *(f"{count} ({count / found.features:.1%})" for count in (found.dead, found.labelled, found.readable)),
        f"{found.concepts}",
        f"{found.domains}",
        f"{found.labelled_domains}",
    )
    return f"| {' | '.join(cells)} |"


def main(packs: list[Path]) -> None:
    """Print a row for each pack."""
    print(f"| SAE | features | dead | labelled | F1 >= {MIN_F1} | concepts of these | Pfam domains of these | ", end="")
    print("Pfam domains of all labels |")
    print("| --- |" + " --- |" * 7)
    for pack in packs:
        features = open_features(pack)
        print(row(features.sae.id, interpretability(features.table)))


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
