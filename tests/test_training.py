import pytest

from protatlas.records import Feature
from training.interpretability import Interpretability, interpretability, row


def _feature(index: int, concept: str | None, f1: float | None, *, frequency: int = 3) -> Feature:
    return Feature(
        feature_index=index,
        label=concept,
        label_reliability="low" if concept else "none",
        f1=f1,
        concept=concept,
        summary=None,
        description=None,
        category="Domain" if concept else None,
        activation_pattern=None,
        exemplar_protein_families=None,
        frequency=frequency,
        idf=1.0,
        max_activation=1.0,
        top_swissprot_activations=(),
        decoder_nearest_neighbors=(),
    )


TABLE = [
    _feature(0, "PF00001", 0.9),
    _feature(1, "PF00001", 0.5),
    _feature(2, "p-loop", 0.7),
    _feature(3, "PF00002", 0.49),
    _feature(4, None, None),
    _feature(5, None, None, frequency=0),
]


def test_interpretability_counts_concepts_once_and_domains_by_their_pfam_accession() -> None:
    assert interpretability(TABLE) == Interpretability(
        features=6, dead=1, labelled=4, readable=3, concepts=2, domains=1, labelled_domains=2
    )


def test_shares_are_of_all_features_dead_ones_included() -> None:
    assert row("a pack", interpretability(TABLE)) == "| a pack | 6 | 1 (16.7%) | 4 (66.7%) | 3 (50.0%) | 2 | 1 | 2 |"


@pytest.mark.parametrize("f1", [0.1, 0.49])
def test_a_feature_below_the_least_f1_is_not_counted_as_readable(f1: float) -> None:
    assert interpretability([_feature(0, "PF00001", f1)]).readable == 0
