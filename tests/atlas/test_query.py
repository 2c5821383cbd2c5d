import pytest

from protatlas.atlas.query import parse_query
from protatlas.atlas.store import Between, Either, Every, Is, Not, StartsWith, Words
from protatlas.errors import InvalidInput


def test_blank_between_words_means_and() -> None:
    assert parse_query("hemoglobin alpha").condition == Every((Words("text", "hemoglobin"), Words("text", "alpha")))


def test_fields_operators_and_brackets_become_conditions() -> None:
    query = parse_query("(gene:INS OR gene:igf1) AND NOT reviewed:false")

    assert query.condition == Every((Either((Is("gene", "ins"), Is("gene", "igf1"))), Not(Is("reviewed", "false"))))


def test_quotes_make_a_phrase() -> None:
    assert parse_query('"cytochrome c"').condition == Words("text", "cytochrome c", phrase=True)


@pytest.mark.parametrize(
    ("text", "lowest", "highest"),
    [("length:[100 TO 200]", 100, 200), ("length:{100 TO 200}", 101, 199), ("length:[* TO 50]", None, 50)],
)
def test_length_ranges_keep_their_kind_of_bounds(text: str, lowest: int | None, highest: int | None) -> None:
    assert parse_query(text).condition == Between("length", lowest, highest)


def test_a_final_star_is_a_prefix() -> None:
    assert parse_query("gene:HB*").condition == StartsWith("gene", "hb")
    assert parse_query("insul*").condition == StartsWith("word", "insul")


def test_words_that_are_denied_do_not_rank() -> None:
    assert parse_query("kinase NOT receptor").ranking == "kinase"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("organism:9606", "organism_id"),
        ("zap70 AND taxonomy:9606", "taxonomy_id"),
        ("zap70+and+taxonomy:9606", "blanks"),
        ("colour:red", "gene"),
        ("organism_id:human", "9606"),
        ("in*lin", "end of a word"),
        ("reviewed:yes", "reviewed:true"),
        ("(kinase", "quotes"),
        ("xref:pdb-1ABC", "pfam"),
    ],
)
def test_what_is_not_understood_is_refused_with_the_right_spelling(text: str, hint: str) -> None:
    with pytest.raises(InvalidInput, match=hint):
        parse_query(text)
