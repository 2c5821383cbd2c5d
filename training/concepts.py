"""What a feature may stand for: stretches of residues (domains, motifs, composition) and GO terms of proteins."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from protatlas.records import Category

# Kyte and Doolittle 1982 (doi:10.1016/0022-2836(82)90515-0): a mean over 19 residues of 1.6 or more marks
# membrane spans.
HYDROPATHY = dict(
    zip(
        "ARNDCQEGHILKMFPSTWYV",
        (
            1.8,
            -4.5,
            -3.5,
            -3.5,
            2.5,
            -3.5,
            -3.5,
            -0.4,
            -3.2,
            4.5,
            3.8,
            -3.9,
            1.9,
            2.8,
            -1.6,
            -0.8,
            -0.7,
            -0.9,
            -1.3,
            4.2,
        ),
        strict=True,
    )
)
AMINO_ACIDS = {
    "A": "alanine", "C": "cysteine", "D": "aspartate", "E": "glutamate", "F": "phenylalanine", "G": "glycine",
    "H": "histidine", "I": "isoleucine", "K": "lysine", "L": "leucine", "M": "methionine", "N": "asparagine",
    "P": "proline", "Q": "glutamine", "R": "arginine", "S": "serine", "T": "threonine", "V": "valine",
    "W": "tryptophan", "Y": "tyrosine",
}  # fmt: skip


@dataclass(frozen=True)
class Concept:
    """A possible meaning: `key` (Pfam or GO id, or a name of ours), words, and category, None where none fits."""

    key: str
    words: str
    category: Category | None


@dataclass(frozen=True)
class Motif:
    """A sequence pattern of textbooks, as a regular expression."""

    concept: Concept
    pattern: re.Pattern[str]


def _motif(key: str, words: str, category: Category, pattern: str) -> Motif:
    return Motif(Concept(key, words, category), re.compile(f"(?=({pattern}))"))


# Patterns after the PROSITE entries of the same name (PS00017, PS00142, PS00190, PS00197, PS00018 and others).
MOTIFS = (
    _motif("p-loop", "P-loop (Walker A) nucleotide-binding motif", "Ligand-binding site", "[AG].{4}GK[ST]"),
    _motif("zinc-protease", "HExxH zinc metallopeptidase motif", "Catalytic function", "HE[LIVMFYW].H"),
    _motif("cxxch", "CxxCH haem-binding motif", "Ligand-binding site", "C..CH"),
    _motif("cxxc", "CxxC metal-binding or redox motif", "Ligand-binding site", "C[^C]{2}C"),
    _motif("zinc-finger-c2h2", "C2H2 zinc finger", "Ligand-binding site", "C.{2,4}C.{12}H.{3,5}H"),
    _motif("rossmann", "GxGxxG dinucleotide-binding turn", "Ligand-binding site", "G.G..[GA]"),
    _motif("deah", "DEAD/DEAH helicase box", "Catalytic function", "DE[AC][DH]"),
    _motif("lipase", "GxSxG serine hydrolase motif", "Catalytic function", "G[HYFW]S.G"),
    _motif("ef-hand", "EF-hand calcium-binding loop", "Ligand-binding site", "D.[DNS].[DNSG].{3}[DNEST].{2}[DE]"),
    _motif("hxd", "HxDxxxN kinase-like catalytic loop", "Catalytic function", "H.D.{3}N"),
    _motif("leucine-zipper", "leucine zipper heptads", "Structural motif", "L.{6}L.{6}L.{6}L"),
    _motif("pxxp", "repeated PxxP motif", "Interaction site", "P..P..P"),
)
WINDOWS = {
    name: Concept(f"{word}-rich", f"{word}-rich stretch", "Compositional bias") for name, word in AMINO_ACIDS.items()
}
MEMBRANE = Concept("membrane-span", "hydrophobic stretch, as in membrane spans", "Structural motif")
LOW_COMPLEXITY = Concept("low-complexity", "low-complexity stretch", "Compositional bias")
ACIDIC = Concept("acidic", "acidic stretch", "Compositional bias")
BASIC = Concept("basic", "basic stretch", "Compositional bias")
N_TERMINUS = Concept("n-terminus", "first residues of the protein", "Sequence motif")
C_TERMINUS = Concept("c-terminus", "last residues of the protein", "Sequence motif")
ENDS = 10


def runs(on: np.ndarray) -> list[tuple[int, int]]:
    """Half-open 0-based stretches of a bool array (L,)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(np.int8), [0]])))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))


def _share(on: np.ndarray, width: int) -> np.ndarray:
    """Mean of a float array (L,) in a centred window."""
    return np.convolve(on, np.ones(width) / width, mode="same")


def _spread(on: np.ndarray, width: int) -> np.ndarray:
    """True in the whole window around each True."""
    return np.convolve(on, np.ones(width), mode="same") > 0.5


def stretches(sequence: str) -> Iterator[tuple[Concept, int, int]]:
    """Concept and half-open 0-based stretch of everything that the bare sequence shows."""
    for motif in MOTIFS:
        for match in motif.pattern.finditer(sequence):
            yield motif.concept, match.start(), match.start() + len(match.group(1))
    letters = np.frombuffer(sequence.encode("ascii"), dtype="S1")
    one = {letter: (letters == letter.encode()).astype(float) for letter in AMINO_ACIDS}
    tracks = {WINDOWS[letter]: _spread(_share(on, 15) >= 0.3, 11) for letter, on in one.items()}
    hydropathy = sum(HYDROPATHY[letter] * on for letter, on in one.items())
    entropy = -sum(p * np.log2(np.maximum(p, 1e-9)) for p in (_share(on, 15) for on in one.values()))
    tracks[MEMBRANE] = _spread(_share(hydropathy, 19) >= 1.6, 15)
    tracks[LOW_COMPLEXITY] = _spread(entropy <= 2.2, 11)
    tracks[ACIDIC] = _spread(_share(one["D"] + one["E"], 15) >= 0.5, 11)
    tracks[BASIC] = _spread(_share(one["K"] + one["R"], 15) >= 0.5, 11)
    for concept, on in tracks.items():
        for start, end in runs(on):
            yield concept, start, end
    yield N_TERMINUS, 0, min(ENDS, len(sequence))
    yield C_TERMINUS, max(len(sequence) - ENDS, 0), len(sequence)


def go_concept(term: str, name: str) -> Concept:
    """Concept of a molecular function; binding of proteins is an interaction, other binding a ligand site."""
    if "binding" not in name:
        return Concept(term, name, "Catalytic function")
    partner = any(word in name for word in ("protein", "receptor", "DNA", "RNA", "nucleic acid", "chromatin"))
    return Concept(term, name, "Interaction site" if partner else "Ligand-binding site")
