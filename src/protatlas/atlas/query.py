"""UniProt-style queries over an atlas: text, fields, AND, OR, NOT, quotes, ranges and trailing wildcards.

The syntax is that of UniProt's REST search (https://www.uniprot.org/help/text-search and query-fields, read
2026-11-30), parsed as Lucene by luqum. Blank means AND. A bare UniProt accession is an exact look-up.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from luqum.exceptions import ParseError
from luqum.parser import parser
from luqum.tree import (
    AndOperation,
    FieldGroup,
    Group,
    Item,
    OrOperation,
    Phrase,
    Plus,
    Prohibit,
    Range,
    SearchField,
    UnknownOperation,
    Word,
)
from luqum.tree import (
    Not as LuceneNot,
)

from protatlas.atlas.store import Between, Condition, Either, Every, Is, Not, StartsWith, Words
from protatlas.errors import InvalidInput

SYNTAX = "words, field:value, AND, OR, NOT, quotes, length:[1 TO 9], a trailing *"
RENAMED = {
    "organism": "organism_name (text) or organism_id (NCBI taxon number)",
    "taxonomy": "taxonomy_id (NCBI taxon number) or taxonomy_name (text)",
    "name": "protein_name",
    "mnemonic": "id",
    "gene_name": "gene",
}
"""Names that UniProt dropped in June 2022 or that models invent, with the present one."""


@dataclass(frozen=True)
class ProteinQuery:
    """A parsed query: its condition, and the words to rank by (null: input order)."""

    condition: Condition
    ranking: str | None


@dataclass(frozen=True)
class _Term:
    """A value of a query: its text, and whether it was quoted or ends in a wildcard."""

    text: str
    is_phrase: bool = False
    is_prefix: bool = False


def parse_query(text: str) -> ProteinQuery:
    """Condition and ranking of a query.

    Raises
    ------
    InvalidInput
        If the syntax is wrong, a field is unknown (the known ones are named) or a value does not fit its field.
    """
    if re.search(r"\+(and|or|not)\+", text, re.IGNORECASE):
        raise InvalidInput("query", "`+` stands between words", "blanks, with AND, OR and NOT in capitals")
    try:
        tree = parser.parse(text)
    except ParseError as error:
        raise InvalidInput("query", f"cannot be parsed ({error})", SYNTAX) from error
    if tree is None:
        raise InvalidInput("query", "is empty", "words, an accession or field:value")
    ranking: list[str] = []
    condition = _condition(tree, None, ranking)
    return ProteinQuery(condition, " ".join(ranking) or None)


def _condition(node: Item, field: str | None, ranking: list[str]) -> Condition:
    """Condition of a node of the syntax tree; `ranking` collects words that are asked for, not those denied."""
    match node:
        case AndOperation() | UnknownOperation():
            return Every(tuple(_condition(child, field, ranking) for child in node.children))
        case OrOperation():
            return Either(tuple(_condition(child, field, ranking) for child in node.children))
        case LuceneNot() | Prohibit():
            return Not(_condition(node.children[0], field, []))
        case Group() | FieldGroup() | Plus():
            return _condition(node.children[0], field, ranking)
        case SearchField():
            return _condition(node.expr, node.name.lower(), ranking)
        case Range():
            return _range(node, field)
        case Word() | Phrase():
            return _value(_term(node), field, ranking)
        case _:
            raise InvalidInput("query", f"`{node}` is not understood", SYNTAX)


def _term(node: Word | Phrase) -> _Term:
    """Value of a word or phrase without quotes, escapes and trailing wildcard."""
    if isinstance(node, Phrase):
        return _Term(re.sub(r"\\(.)", r"\1", node.value[1:-1]).strip(), is_phrase=True)
    text = node.value
    if re.search(r"(?<!\\)[*?]", text[:-1]) or text.endswith("?"):
        raise InvalidInput("query", f"`{text}` has a wildcard inside", "a wildcard only as * at the end of a word")
    is_prefix = text.endswith("*") and len(text) > 1
    return _Term(re.sub(r"\\(.)", r"\1", text.removesuffix("*") if is_prefix else text), is_prefix=is_prefix)


def _value(term: _Term, field: str | None, ranking: list[str]) -> Condition:
    """Condition of one value in a field, or in all text where there is no field."""
    if field is None:
        if term.text == "*":
            return Every()
        return _text("text", term, ranking)
    if field not in FIELD_CONDITIONS:
        now = RENAMED.get(field)
        hint = f"{now} instead of `{field}`" if now else f"one of the fields {', '.join(sorted(FIELD_CONDITIONS))}"
        raise InvalidInput("query", f"the field `{field}` is not known", hint)
    return FIELD_CONDITIONS[field](term, ranking)


def _text(field: str, term: _Term, ranking: list[str]) -> Condition:
    """Words or a phrase in a text field; a trailing wildcard looks for words that start so, in any text field."""
    if term.is_prefix:
        return StartsWith("word", term.text.lower())
    words = re.findall(r"\w+", term.text)
    if not words:
        raise InvalidInput("query", f"`{term.text}` holds no word", "letters or digits")
    ranking.append(" ".join(words))
    return Words(field, term.text, phrase=term.is_phrase or len(words) > 1)


def _text_in(field: str) -> Callable[[_Term, list[str]], Condition]:
    return lambda term, ranking: _text(field, term, ranking)


def _keyword_in(field: str, normalise: Callable[[str], str]) -> Callable[[_Term, list[str]], Condition]:
    def condition(term: _Term, ranking: list[str]) -> Condition:
        value = normalise(term.text)
        ranking.append(value)
        return StartsWith(field, value) if term.is_prefix else Is(field, value)

    return condition


def _number_in(field: str, query_field: str) -> Callable[[_Term, list[str]], Condition]:
    def condition(term: _Term, _: list[str]) -> Condition:
        return Is(field, int(_number(term.text, query_field)))

    return condition


def _number(text: str, field: str) -> float:
    if not re.fullmatch(r"\d{1,12}", text):
        raise InvalidInput("query", f"`{field}:{text}` is not a number", f"{field}:9606 or another whole number")
    return float(text)


def _reviewed(term: _Term, _: list[str]) -> Condition:
    if term.text.lower() not in {"true", "false"}:
        raise InvalidInput("query", f"`reviewed:{term.text}`", "reviewed:true or reviewed:false")
    return Is("reviewed", term.text.lower())


def _cross_reference(term: _Term, ranking: list[str]) -> Condition:
    database, _, identifier = term.text.partition("-")
    ranking.append(identifier)
    if database.lower() != "pfam" or not identifier:
        raise InvalidInput("query", f"`xref:{term.text}`", "xref:pfam-PF00042, the one database of this atlas")
    return Is("domain", identifier.upper())


def _go(term: _Term, _: list[str]) -> Condition:
    digits = term.text.upper().removeprefix("GO:")
    return Is("go", f"GO:{int(_number(digits, 'go')):07d}")


def _range(node: Range, field: str | None) -> Condition:
    """Range of sequence lengths, both bounds included or left out with *."""
    if field != "length":
        raise InvalidInput("query", f"a range in the field `{field}`", "a range only in length, as length:[100 TO 200]")
    bounds = [None if str(bound) == "*" else _number(str(bound), "length") for bound in (node.low, node.high)]
    lowest = bounds[0] if bounds[0] is None or node.include_low else bounds[0] + 1
    highest = bounds[1] if bounds[1] is None or node.include_high else bounds[1] - 1
    return Between("length", lowest, highest)


FIELD_CONDITIONS: dict[str, Callable[[_Term, list[str]], Condition]] = {
    "accession": _keyword_in("identifier", str.upper),
    "accession_id": _keyword_in("identifier", str.upper),
    "id": _keyword_in("identifier", str.upper),
    "gene": _keyword_in("gene", str.lower),
    "gene_exact": _keyword_in("gene", str.lower),
    "protein_name": _text_in("protein_name"),
    "organism_name": _text_in("organism"),
    "organism_id": _number_in("organism_id", "organism_id"),
    "taxonomy_name": _text_in("lineage"),
    "taxonomy_id": _number_in("taxon", "taxonomy_id"),
    "length": _number_in("length", "length"),
    "reviewed": _reviewed,
    "go": _go,
    "xref": _cross_reference,
}
