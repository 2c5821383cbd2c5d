from pathlib import Path

import pytest

from protatlas.atlas.taxonomy import (
    UNKNOWN_PHYLUM,
    count_phyla,
    lowest_common_ancestor,
    read_lineages,
    read_taxon_ids,
)
from protatlas.errors import InvalidInput
from protatlas.records import Taxon

EUKARYOTA = Taxon(taxon_id=2759, rank="superkingdom", name="Eukaryota")
METAZOA = Taxon(taxon_id=33208, rank="kingdom", name="Metazoa")
CHORDATA = Taxon(taxon_id=7711, rank="phylum", name="Chordata")
MAMMALIA = Taxon(taxon_id=40674, rank="class", name="Mammalia")
HUMAN = Taxon(taxon_id=9606, rank="species", name="Homo sapiens")
MOUSE = Taxon(taxon_id=10090, rank="species", name="Mus musculus")
FLY = Taxon(taxon_id=7227, rank="species", name="Drosophila melanogaster")
ARTHROPODA = Taxon(taxon_id=6656, rank="phylum", name="Arthropoda")
BACTERIA = Taxon(taxon_id=2, rank="superkingdom", name="Bacteria")

HUMAN_LINEAGE = (EUKARYOTA, METAZOA, CHORDATA, MAMMALIA, HUMAN)
MOUSE_LINEAGE = (EUKARYOTA, METAZOA, CHORDATA, MAMMALIA, MOUSE)
FLY_LINEAGE = (EUKARYOTA, METAZOA, ARTHROPODA, FLY)

HEADER = "organism_name\ttaxon_id\tmatch\tlineage\n"


def test_two_mammals_meet_in_their_class() -> None:
    assert lowest_common_ancestor([HUMAN_LINEAGE, MOUSE_LINEAGE]) == MAMMALIA


def test_lineages_of_different_depth_meet_at_the_last_shared_taxon() -> None:
    assert lowest_common_ancestor([HUMAN_LINEAGE, MOUSE_LINEAGE, FLY_LINEAGE]) == METAZOA


def test_one_species_is_its_own_ancestor() -> None:
    assert lowest_common_ancestor([HUMAN_LINEAGE, HUMAN_LINEAGE]) == HUMAN


def test_nothing_shared_has_no_ancestor() -> None:
    assert lowest_common_ancestor([HUMAN_LINEAGE, (BACTERIA,)]) is None


def test_no_lineage_at_all_has_no_ancestor() -> None:
    assert lowest_common_ancestor([]) is None
    assert lowest_common_ancestor([(), ()]) is None


def test_an_unknown_lineage_does_not_move_the_ancestor() -> None:
    assert lowest_common_ancestor([HUMAN_LINEAGE, (), MOUSE_LINEAGE]) == MAMMALIA


def test_phyla_are_counted_largest_first_and_unknown_ones_last() -> None:
    counts = count_phyla([(), HUMAN_LINEAGE, FLY_LINEAGE, (), (BACTERIA,), MOUSE_LINEAGE])
    assert list(counts.items()) == [("Chordata", 2), ("Arthropoda", 1), (UNKNOWN_PHYLUM, 3)]


def test_a_table_gives_lineages_and_exact_taxon_ids(tmp_path: Path) -> None:
    table = tmp_path / "taxa.tsv"
    table.write_text(
        HEADER
        + "Escherichia coli (strain K12)\t83333\texact\tsuperkingdom:2:Bacteria;species:562:Escherichia coli\n"
        + "Bacillus sp. X1\t\tnone\t\n"
        + "Odd virus A:B\t\tspecies\tspecies:7:Odd virus A:B\n",
        encoding="utf-8",
    )
    lineages = read_lineages(table)
    assert lineages["Escherichia coli (strain K12)"] == (
        BACTERIA,
        Taxon(taxon_id=562, rank="species", name="Escherichia coli"),
    )
    assert lineages["Odd virus A:B"][0].name == "Odd virus A:B"
    assert "Bacillus sp. X1" not in lineages
    assert read_taxon_ids(table) == {"Escherichia coli (strain K12)": 83333}


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    table = tmp_path / "taxa.tsv"
    table.write_text("organism_name\tlineage\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match=r"taxa\.tsv has no column taxon_id, match"):
        read_lineages(table)


def test_a_malformed_taxon_is_shown(tmp_path: Path) -> None:
    table = tmp_path / "taxa.tsv"
    table.write_text(HEADER + "Homo sapiens\t9606\texact\tphylum;Chordata\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="`phylum` cannot be read"):
        read_lineages(table)
