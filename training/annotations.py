"""What whole proteins are known to be: molecular functions of GO, names, taxa. Each kind is known of some proteins."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from protatlas.records import Category, Taxon
from training.concepts import Concept, go_concept
from training.entries import Entry

RANKS = ("superkingdom", "kingdom", "phylum", "class")
# Fewest annotated proteins of a candidate: functions and taxa are common; a name needs `labels.MIN_INSTANCES` twice.
COMMON, NAMED = 30, 10
# A function that more than a tenth of the annotated proteins have says little.
GENERAL = 0.1
# Names of open reading frames (Y123, YB01, YABC), given for want of another.
NAMELESS = re.compile(r"Y(\d.*|[A-Z]\d\d.*|[A-Z]{3})")
ENZYME = re.compile(r"ase\b(?!.*\b(accessory|activator|assembly|inhibitor|regulator))", re.IGNORECASE)
PARTNER = re.compile(r"\b(receptor|inhibitor|antigen|repressor|activator|binding)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Annotation:
    """One kind of concept of whole proteins.

    Attributes
    ----------
    concepts : dict
        Candidates by key.
    keys : dict
        Keys of each annotated protein, candidates or not. Of a protein that is not here nothing is known: it counts
        neither for a candidate nor against it.
    """

    concepts: dict[str, Concept]
    keys: dict[str, set[str]]

    def shuffled(self, seed: int) -> "Annotation":
        """The same, with the annotations dealt anew to the annotated proteins: a control."""
        order = np.random.default_rng(seed).permutation(len(self.keys))
        found = list(self.keys.values())
        return replace(self, keys={name: found[i] for name, i in zip(self.keys, order, strict=True)})


def annotation(
    keys: dict[str, set[str]], describe: Callable[[str], Concept | None], *, least: int, share: float = 1.0
) -> Annotation:
    """Annotation whose candidates are the described keys of `least` proteins or more, at most of this share of them."""
    counts = Counter(key for found in keys.values() for key in found)
    common = sorted(key for key, count in counts.items() if least <= count <= share * len(keys))
    described = {key: describe(key) for key in common}
    return Annotation({key: concept for key, concept in described.items() if concept}, keys)


def function_annotation(go: dict[str, set[str]], names: Mapping[str, str]) -> Annotation:
    """Molecular functions among the GO ids of proteins; `names` are those of the ids."""

    def describe(term: str) -> Concept | None:
        is_function = any(word in names.get(term, "") for word in ("activity", "binding"))
        return go_concept(term, names[term]) if is_function else None

    return annotation(go, describe, least=COMMON, share=GENERAL)


def name_annotation(names: dict[str, set[str]], words: Mapping[str, str]) -> Annotation:
    """Names of proteins (mnemonics, as in `RPOB`); `words` are the full names of some of them.

    `names` should hold the unnamed too, with an empty set: names spread within families, so that nearly all proteins of
    a candidate have it and few others have any. Among the named alone, precision would look better than it is.
    """
    keys = {protein: {f"name:{name}" for name in found} for protein, found in names.items()}
    return annotation(keys, lambda key: name_concept(key.removeprefix("name:"), words), least=NAMED)


def name_concept(name: str, words: Mapping[str, str]) -> Concept:
    """Concept of a protein name: an enzyme by the ending -ase, a partner by a word, else a family of proteins."""
    full = words.get(name, f"proteins named {name}")
    category: Category = "Domain"
    if ENZYME.search(full):
        category = "Catalytic function"
    elif PARTNER.search(full):
        category = "Interaction site"
    return Concept(f"name:{name}", full, category)


def taxon_annotation(taxa: dict[str, set[str]]) -> Annotation:
    """Taxa of proteins by name. They have no category: none of the public atlas's is about organisms."""
    keys = {protein: {f"taxon:{taxon}" for taxon in found} for protein, found in taxa.items()}
    return annotation(keys, lambda key: Concept(key, f"proteins of {key.removeprefix('taxon:')}", None), least=COMMON)


def own_names(entries: Iterable[Entry]) -> set[str]:
    """Mnemonics of entries; unreviewed ones and open reading frames have none."""
    return {entry.protein for entry in entries if entry.reviewed and not NAMELESS.fullmatch(entry.protein)}


def names_of_representatives(names: Mapping[str, set[str]], clusters: Mapping[str, str]) -> dict[str, set[str]]:
    """Names of representatives: their own, or where they have none those of all members of the cluster."""
    found: dict[str, set[str]] = {}
    for member, given in names.items():
        representative = clusters[member]
        found.setdefault(representative, set()).update(names.get(representative, given))
    return found


def spread_names(names: Mapping[str, set[str]], clusters: Mapping[str, str]) -> dict[str, set[str]]:
    """Names of the proteins in `clusters`: those given, and to the unnamed what two or more named members all share."""
    groups: dict[str, list[set[str]]] = {}
    for protein, given in names.items():
        if protein in clusters:
            groups.setdefault(clusters[protein], []).append(given)
    shared = {group: set.intersection(*given) for group, given in groups.items() if len(given) > 1}
    found = {protein: names.get(protein) or shared.get(group, set()) for protein, group in clusters.items()}
    return {protein: given for protein, given in found.items() if given}


def taxa_of(
    entries: Iterable[Entry], organisms: Mapping[str, set[str]], lineages: Mapping[str, tuple[Taxon, ...]]
) -> set[str]:
    """Taxa at `RANKS` of the entries' species: those in the lineages of all organisms that share its mnemonic."""
    found: set[str] = set()
    for entry in entries:
        known = [lineages[name] for name in organisms.get(entry.species, ()) if name in lineages]
        ranked = [{taxon.name for taxon in lineage if taxon.rank in RANKS} for lineage in known]
        found |= set.intersection(*ranked) if ranked else set()
    return found
