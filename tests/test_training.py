from pathlib import Path

import numpy as np
import pytest

from protatlas.records import Feature, Taxon
from training.annotations import (
    Annotation,
    function_annotation,
    name_concept,
    names_of_representatives,
    own_names,
    spread_names,
    taxa_of,
    taxon_annotation,
)
from training.concepts import Concept
from training.entries import Entry, entries_of, full_names, organisms, read_entries, read_reversed
from training.interpretability import Interpretability, interpretability, row
from training.labels import Reference, choose, protein_table, rows
from training.pooling import check_statistics, pool, statistics


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


def _reference(pooled: list[list[float]], annotations: list[Annotation]) -> Reference:
    """Proteins p0, p1, ... of 60 residues whose features are active on one in the middle."""
    peaks = np.array(pooled, dtype=np.float32)
    activations = []
    for protein in peaks:
        values = np.zeros((60, len(protein)), dtype=np.float16)
        values[30] = protein
        activations.append((np.tile(np.arange(len(protein), dtype=np.int16), (60, 1)), values))
    names = [f"p{i}" for i in range(len(peaks))]
    found = statistics(peaks)
    return Reference(
        names,
        ["ACDEFGHIKLMNPQRSTVWY" * 3] * len(peaks),
        activations,
        {},
        annotations,
        found["maximum"],
        peaks,
        found["idf"],
    )


LIGASE = Concept("name:LIG", "DNA ligase", "Catalytic function")


def test_a_protein_without_an_annotation_counts_neither_for_a_concept_nor_against_it() -> None:
    kind = Annotation({"name:LIG": LIGASE}, {"p0": {"name:LIG"}, "p1": {"name:LIG"}, "p2": {"name:X"}, "p3": set()})
    reference = _reference([[4], [0], [4], [0], [4], [4]], [kind])
    table = protein_table(reference, [0, 1, 2, 3, 4, 5], kind)
    # Of p0 to p3 the feature is on p0 and p2, the concept holds for p0 and p1: precision 1/2, recall 1/2. Of a feature
    # that is always on F1 is 2 x 1/2 / (1 + 1/2) = 2/3, which 1/2 does not beat.
    assert table.f1[:, 0, 0] == pytest.approx(0)
    assert table.support.tolist() == [2]
    better = _reference([[4], [4], [0], [0], [4], [4]], [kind])
    assert protein_table(better, [0, 1, 2, 3, 4, 5], kind).f1[:, 0, 0] == pytest.approx(1)
    many = {f"p{i}": ({"name:LIG"} if i < 2 else set[str]()) for i in range(20)}
    wide = _reference([[4.0], [2.5], [4.0], *[[0.0]] * 17], [])
    f1 = protein_table(wide, list(range(20)), Annotation({"name:LIG": LIGASE}, many)).f1[:, 0, 0]
    # Up to 0.6 of the maximum p1 is found too: 2/3 and 1; above it 1/2 and 1/2.
    assert f1 == pytest.approx([0.8, 0.8, 0.8, 0.8, 0.5, 0.5])


def test_a_name_is_chosen_on_the_even_proteins_and_measured_on_the_odd_ones() -> None:
    carriers = range(20)
    keys = {f"p{i}": ({"name:LIG"} if i in carriers else set[str]()) for i in range(80)}
    pooled = [[4.0 if i in carriers and (i % 2 == 0 or i < 10) else 0.0, 1.0] for i in range(80)]
    kind = Annotation({"name:LIG": LIGASE}, keys)
    found = choose(_reference(pooled, [kind]))
    # Odd carriers: 1, 3, ..., 19; the feature is on five of the ten and nowhere else: precision 1, recall 1/2.
    assert found[0] == (LIGASE, 0.6667, 0.2)
    assert rows(_reference(pooled, [kind]), np.array([[1], [0]]))[0]["decoder_nearest_neighbors"] == [1]
    few = Annotation(kind.concepts, {name: keys[name] if name in {"p0", "p1", "p2"} else set() for name in keys})
    assert choose(_reference(pooled, [few]))[0] != found[0]


def test_shuffled_annotations_are_the_same_ones_on_other_proteins() -> None:
    keys = {f"p{i}": {f"name:{i}"} for i in range(50)}
    dealt = Annotation({}, keys).shuffled(1).keys
    assert dealt != keys
    assert list(dealt) == list(keys)
    assert sorted(map(sorted, dealt.values())) == sorted(map(sorted, keys.values()))


def test_entries_are_read_with_their_residues_in_order_and_found_by_the_very_sequence(tmp_path: Path) -> None:
    (tmp_path / "reversed.seq").write_text(">RECA_ECOLI_rev\nEDCAMMMMMMMM\n", encoding="ascii")
    old = read_reversed(tmp_path / "reversed.seq")
    assert old == [Entry("RECA_ECOLI", "MMMMMMMMACDE")]
    header = "Protein RecA (Fragment) OS=Thermus sp. X OX=2 GN=recA PE=1 SV=1"
    (tmp_path / "headed.fasta").write_text(
        f">sp|P00001|RECA_THESP {header}\nMKKKKKKKACDE\n>tr|Q00002|Q00002_THESP {header}\nMRRRRRRRACDE\n"
        ">p3 RecA\nMKKKKKKK\n",
        encoding="ascii",
    )
    headed = read_entries(tmp_path / "headed.fasta")
    assert [(e.protein, e.species, e.organism, e.reviewed) for e in headed] == [
        ("RECA", "THESP", "Thermus sp. X", True),
        ("Q00002", "THESP", "Thermus sp. X", False),
    ]
    assert organisms(headed) == {"THESP": {"Thermus sp. X"}}
    found = entries_of({"A": "MMMMMMMMACDE", "B": "MMMMMMMM"}, [*old, *headed])
    assert found == {"A": old}


def test_the_full_name_of_a_mnemonic_is_what_most_reviewed_entries_say() -> None:
    names = [
        "Adenylate kinase",
        "Probable adenylate kinase",
        "ATP-AMP transphosphorylase",
        "Adenylate kinase, chloroplastic",
    ]
    entries = [Entry(f"KAD_{n}", "M", name, None, reviewed=True) for n, name in enumerate(names)]
    entries += [Entry(f"KAD_{n}", "M", "Kinase", None, reviewed=False) for n in range(9)]
    assert full_names(entries) == {"KAD": "Adenylate kinase"}


def test_unreviewed_entries_and_open_reading_frames_have_no_name() -> None:
    entries = [Entry(name, "M") for name in ("YABC_ECOLI", "Y1234_METJA", "YB01_YEAST", "YES_HUMAN", "RECA_ECOLI")]
    assert own_names([*entries, Entry("Q00002_THESP", "M", reviewed=False)]) == {"YES", "RECA"}


def test_a_representative_keeps_its_own_name_or_takes_those_of_its_members() -> None:
    clusters = {"a": "a", "b": "a", "c": "c", "d": "c", "e": "c"}
    names = {"a": {"HBA"}, "b": {"HBB"}, "d": {"INS"}, "e": {"INS1"}}
    assert names_of_representatives(names, clusters) == {"a": {"HBA"}, "c": {"INS", "INS1"}}


def test_a_name_spreads_where_two_named_members_of_a_family_share_it() -> None:
    clusters = dict.fromkeys("abc", "a") | dict.fromkeys("de", "d") | dict.fromkeys("fgh", "f")
    names = {"a": {"MURD"}, "b": {"MURD", "X"}, "d": {"RECA"}, "f": {"HBA"}, "g": {"HBB"}, "z": {"MURD"}}
    spread = spread_names(names, clusters)
    assert spread == {"a": {"MURD"}, "b": {"MURD", "X"}, "c": {"MURD"}, "d": {"RECA"}, "f": {"HBA"}, "g": {"HBB"}}


@pytest.mark.parametrize(
    ("words", "category"),
    [
        ("DNA ligase", "Catalytic function"),
        ("Exodeoxyribonuclease 7 large subunit", "Catalytic function"),
        ("Urease accessory protein UreD", "Domain"),
        ("Protease inhibitor", "Interaction site"),
        ("Protein RecA", "Domain"),
    ],
)
def test_the_category_of_a_name_follows_its_words(words: str, category: str) -> None:
    assert name_concept("X", {"X": words}) == Concept("name:X", words, category)  # type: ignore[arg-type]  # of a table


def test_a_name_without_words_is_told_by_its_mnemonic() -> None:
    assert name_concept("PPCK", {}) == Concept("name:PPCK", "proteins named PPCK", "Domain")


def _lineage(*taxa: tuple[str, str]) -> tuple[Taxon, ...]:
    return tuple(Taxon(rank=rank, taxon_id=n, name=name) for n, (rank, name) in enumerate(taxa, 1))


def test_taxa_are_those_that_all_organisms_of_a_mnemonic_share() -> None:
    bacteria, phylum = ("superkingdom", "Bacteria"), ("phylum", "Bacillota")
    lineages = {
        "one": _lineage(bacteria, phylum, ("class", "Bacilli"), ("genus", "Bacillus")),
        "two": _lineage(bacteria, phylum, ("class", "Clostridia")),
    }
    known = {"9FIRM": {"one", "two", "three"}, "BACSU": {"one"}, "OTHER": {"three"}}
    assert taxa_of([Entry("A_9FIRM", "M")], known, lineages) == {"Bacteria", "Bacillota"}
    assert taxa_of([Entry("A_BACSU", "M"), Entry("A_OTHER", "M")], known, lineages) == {
        "Bacteria",
        "Bacillota",
        "Bacilli",
    }
    assert taxa_of([Entry("A_XXXXX", "M")], known, lineages) == set()


def test_taxa_and_functions_are_candidates_from_thirty_proteins_on_and_functions_up_to_a_tenth() -> None:
    taxa = {f"p{i}": {"Bacteria"} | ({"Bacilli"} if i < 29 else set()) for i in range(60)}
    assert list(taxon_annotation(taxa).concepts.values()) == [Concept("taxon:Bacteria", "proteins of Bacteria", None)]
    go = {f"p{i}": {"GO:1"} | ({"GO:2", "GO:3"} if i < 30 else set()) for i in range(300)}
    names = {"GO:1": "binding", "GO:2": "ATP binding", "GO:3": "growth"}
    assert list(function_annotation(go, names).concepts) == ["GO:2"]


def test_relabelling_stops_at_reference_proteins_that_are_not_those_of_the_pack() -> None:
    values = np.array([[4.0, 0.0], [2.0, 1.0], [0.0, 3.0]], dtype=np.float16)
    indices = np.array([[0, 1]], dtype=np.int16)
    found = statistics(pool([(indices, row[None]) for row in values], 2))
    assert found["maximum"].tolist() == [4, 3]
    assert found["idf"] == pytest.approx(np.log10([3 / 3, 3 / 3]))
    check_statistics(found, {"maximum": found["maximum"] * np.float32(1.0004), "idf": found["idf"]})
    with pytest.raises(SystemExit, match="maximum of 1 features differs from the pack's, first of feature 1"):
        check_statistics(found, {"maximum": np.array([4, 3.1]), "idf": found["idf"]})
    with pytest.raises(SystemExit, match="idf of 2 features"):
        check_statistics(found, {"maximum": found["maximum"], "idf": found["idf"] + 0.1})
