from dataclasses import replace

import numpy as np

from protatlas.engines.features import open_features
from protatlas.records import Region
from protatlas.sequences.fasta import Entry
from scripts.gallery import REACH, SLIDE, Domain, Firing, windows

MOTIF = "GWKCHGKTFDECWHP"


def _firing(sequence: str, peak: int) -> Firing:
    region = Region(start=peak, end=peak, peak_residue=peak, mean_activation=1.0)
    return Firing(Entry("protein", sequence, 1), 1.0, np.zeros(len(sequence), dtype=np.float32), region, ())


def test_windows_move_to_where_they_agree() -> None:
    middle, shifts = 20 + REACH + 1, (0, 2, -SLIDE, 1, 0, -1)
    sequences = [letter * 20 + MOTIF + letter * 20 for letter in "LAVEIQ"]

    found = windows([_firing(s, middle + shift) for s, shift in zip(sequences, shifts, strict=True)])

    assert found == [MOTIF] * len(shifts)


def test_equal_windows_count_once_and_ends_are_gaps() -> None:
    found = windows([_firing(MOTIF, 1), _firing(MOTIF, 1)])

    assert found == ["-" * REACH + MOTIF[: REACH + 1]]


def test_a_protein_has_the_labelled_domain_at_the_peak_or_the_name_that_is_the_label() -> None:
    table = open_features().table
    domain = next(feature for feature in table if (feature.concept or "").startswith("PF"))
    name = next(feature for feature in table if (feature.concept or "").startswith("name:"))
    there = Domain(domain.concept or "", "short name", 1, 60)
    plain = _firing(MOTIF, 1)
    with_domain = replace(plain, domains=(there,))
    named = replace(plain, entry=Entry(f"sp|P00001|X_HUMAN {(name.label or '').upper()} OS=Homo sapiens", MOTIF, 1))

    assert [plain.has(domain), with_domain.has(domain), named.has(domain)] == [False, True, False]
    assert [plain.has(name), with_domain.has(name), named.has(name)] == [False, False, True]
