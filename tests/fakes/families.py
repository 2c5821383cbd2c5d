"""Small files of HMMER families, each built from one sequence."""

from pathlib import Path

from pyhmmer.easel import Alphabet, TextSequence
from pyhmmer.plan7 import Background, Builder


def write_family(path: Path, sequence: str, *, threshold: float | None) -> Path:
    """Write the family of a sequence, by the name of ubiquitin's, with that gathering threshold in bits, if any."""
    alphabet = Alphabet.amino()
    text = TextSequence(name="ubiquitin", sequence=sequence)
    family, _, _ = Builder(alphabet).build(text.digitize(alphabet), Background(alphabet))
    family.accession = "PF00240.27"
    family.description = "Ubiquitin family"
    if threshold is not None:
        family.cutoffs.gathering = (threshold, threshold)
    with path.open("wb") as file:
        family.write(file)
    return path
