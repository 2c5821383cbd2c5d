"""What searches at a public service have in common: a query goes out, a search has a state, a report comes back.

Reports of all services are trees of BLAST's JSON2 format, so that one parser reads them and those of BLAST+.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from protatlas.errors import DependencyUnavailable, InvalidInput, NotFound, ProtatlasError
from protatlas.records import Record

Program = Literal["blastn", "blastp", "blastx", "tblastn", "tblastx"]
TAKES_PROTEIN = ("blastp", "tblastn")
SEARCHES_PROTEINS = ("blastp", "blastx")
PROTEIN, NUCLEOTIDE = "protein", "nucleotide"
SHORT_QUERY = 30
"""Letters up to which default settings often find nothing (NCBI URL API notes on short queries)."""
LETTERS = re.compile(r"[A-Za-z]+(?:\*[A-Za-z]*)*")
WILD = frozenset("XNxn*")
NUCLEOTIDE_CODES = frozenset("ACGTUNRYSWKMBDHV")


class RemoteQuery(Record):
    """A search to send: one sequence without header, and what to search it in.

    `max_evalue` null means the service's default, and for short queries one that finds them. `limit` is the number of
    hits asked for.
    """

    sequence: str
    program: Program = "blastp"
    database: str | None = None
    max_evalue: Annotated[float, Field(gt=0)] | None = None
    limit: Annotated[int, Field(ge=1, le=5000)] = 10
    is_megablast: bool = False

    @property
    def molecule(self) -> str:
        """What the query is: protein or nucleotide."""
        return PROTEIN if self.program in TAKES_PROTEIN else NUCLEOTIDE

    @property
    def is_short(self) -> bool:
        """Whether it needs the settings for short queries."""
        return len(self.sequence) <= SHORT_QUERY


class RemoteState(Record):
    """Where a search stands. `ask_again_s` is the time before which asking changes nothing."""

    phase: Literal["running", "finished"]
    ask_again_s: float = 0.0


class RemoteReport(Record):
    """Outcome of a remote search.

    `report` is the tree under `report` of BLAST's JSON2 format. `sequences` and `residues` are the size of the
    database as the service states it; null where it states none. `address` and `retrieved_at` (UTC, ISO 8601) say where
    and when it was fetched, `database_date` is what that very answer stated.
    """

    service: str
    id: str
    address: str
    retrieved_at: str
    program: str
    version: str
    database: str
    database_date: str | None
    sequences: int | None
    residues: int | None
    query_length: int
    message: str | None
    settings: tuple[str, ...]
    report: dict[str, Any]

    @property
    def hits(self) -> tuple[dict[str, Any], ...]:
        """Hits, best first, as JSON2 has them."""
        return tuple(self.report["results"]["search"]["hits"])

    def cut_to(self, query: RemoteQuery) -> "RemoteReport":
        """The report without hits beyond the limit and E-value that were asked for: services take steps of both."""
        worst = query.max_evalue if query.max_evalue is not None else float("inf")
        hits = [hit for hit in self.hits if min(hsp["evalue"] for hsp in hit["hsps"]) <= worst][: query.limit]
        search = self.report["results"]["search"] | {"hits": hits}
        return self.model_copy(update={"report": self.report | {"results": {"search": search}}})

    def json2(self) -> bytes:
        """The whole as a JSON2 document, such as `-outfmt 15` of BLAST+ writes."""
        return json.dumps({"BlastOutput2": [{"report": self.report}]}).encode()


class RemoteBlast(Protocol):
    """A public service that searches.

    An error with `retryable` true leaves a search as it is: ask again after its `retry_after_s`. One with
    `retryable` false ends it. Errors about a search carry its id as `rid`.
    """

    def submit(self, query: RemoteQuery) -> str:
        """Send a query, once; the id of its search."""
        ...

    def poll(self, search: str) -> RemoteState:
        """Ask for the state of a search; too early it is not asked, and `ask_again_s` says when."""
        ...

    def fetch(self, search: str) -> RemoteReport:
        """Fetch the report of a finished search."""
        ...

    def cancel(self, search: str) -> bool:
        """Whether the service stopped the search; where it cannot, false, and the search runs on unheeded."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class NotConfigured(DependencyUnavailable):
    """The operator did not opt in to a service."""

    def __init__(self, service: str, setting: str) -> None:
        super().__init__(
            f"BLAST at {service}",
            f"No sequence leaves this machine until the operator sets {setting} to an address that {service} can "
            "write to. Search the atlas instead.",
        )


class SearchLost(NotFound):
    """A service does not know a search any more, or never did."""

    def __init__(self, service: str, search: str, kept: str) -> None:
        super().__init__(
            "search", search, service, f"Results are kept for {kept}; it expired or was lost. Submit it again."
        )
        self.fields["rid"] = search


class SearchFailed(DependencyUnavailable):
    """A service gave up on a search; the same one would most likely fail again."""

    def __init__(self, service: str, search: str, why: str, next_step: str) -> None:
        super().__init__(f"A result of search {search} at {service}", f"{why} {next_step}", rid=search)


class SearchRunningThere(DependencyUnavailable):
    """The report of a search was asked for before its end."""

    retryable = True

    def __init__(self, service: str, search: str, retry_after_s: float) -> None:
        super().__init__(
            f"The result of search {search} at {service}",
            f"It still runs. Ask again in {retry_after_s:.0f} s.",
            rid=search,
            retry_after_s=retry_after_s,
        )


@contextmanager
def about(search: str) -> Iterator[None]:
    """Give the errors inside the id of the search that they are about."""
    try:
        yield
    except ProtatlasError as error:
        error.fields.setdefault("rid", search)
        raise


def refuse_senseless(query: RemoteQuery, molecules: Mapping[str, str]) -> None:
    """Refuse what no service can answer, before anything is sent; `molecules` says what known databases hold.

    Raises
    ------
    InvalidInput
        Nothing to search with, other characters than letters, a nucleotide sequence or program where it must be
        protein, or the other way round.
    """
    letters = query.sequence
    expected = f"one {query.molecule} sequence in one-letter codes, without header"
    if not letters:
        raise InvalidInput("sequence", "it is empty", expected)
    if not LETTERS.fullmatch(letters):
        raise InvalidInput("sequence", "it has other characters than letters", expected)
    if set(letters) <= WILD:
        raise InvalidInput("sequence", "it has wildcards alone, which match nothing", expected)
    if query.molecule == NUCLEOTIDE and not set(letters.upper()) <= NUCLEOTIDE_CODES:
        raise InvalidInput(
            "sequence", f"it has letters that are no nucleotides, and {query.program} takes nucleotides", expected
        )
    if query.molecule == PROTEIN and len(letters) > SHORT_QUERY and set(letters.upper()) <= frozenset("ACGTUN"):
        raise InvalidInput(
            "sequence",
            f"it is a nucleotide sequence, and {query.program} takes a protein",
            expected + "; blastx or blastn take nucleotides",
        )
    searched = PROTEIN if query.program in SEARCHES_PROTEINS else NUCLEOTIDE
    if query.database and (holds := molecules.get(query.database.lower())) not in (None, searched):
        others = ", ".join(name for name, held in molecules.items() if held == searched)
        raise InvalidInput(
            "database",
            f"{query.database} holds {holds} sequences, and {query.program} searches {searched} sequences",
            f"a {searched} database, such as {others}",
        )


class _Lenient(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Hsp(_Lenient):
    bit_score: float
    evalue: float
    query_from: int
    query_to: int
    hit_from: int
    hit_to: int
    align_len: int


class _Description(_Lenient):
    accession: str


class _Hit(_Lenient):
    description: Annotated[list[_Description], Field(min_length=1)]
    len: int
    hsps: Annotated[list[_Hsp], Field(min_length=1)]


class _Stat(_Lenient):
    db_num: int | None = None
    db_len: int | None = None


class _Search(_Lenient):
    query_len: int
    hits: list[_Hit]
    message: str | None = None
    stat: _Stat


class _Results(_Lenient):
    search: _Search


class _Target(_Lenient):
    db: str


class _Report(_Lenient):
    program: str
    version: str
    search_target: _Target
    params: dict[str, str | int | float | bool | None] = {}
    results: _Results


_REPORT: TypeAdapter[_Report] = TypeAdapter(_Report)


def report_of(
    tree: object, *, service: str, search: str, address: str, retrieved_at: str, database_date: str | None = None
) -> RemoteReport | None:
    """Report from a tree of the JSON2 format; None where the tree is not one, or is not whole."""
    try:
        report = _REPORT.validate_python(tree)
    except ValidationError:
        return None
    assert isinstance(tree, dict)
    found = report.results.search
    return RemoteReport(
        service=service,
        id=search,
        address=address,
        retrieved_at=retrieved_at,
        program=report.program,
        version=report.version,
        database=report.search_target.db,
        database_date=database_date,
        sequences=found.stat.db_num,
        residues=found.stat.db_len,
        query_length=found.query_len,
        message=found.message,
        settings=tuple(f"{name} = {value}" for name, value in report.params.items()),
        report=tree,
    )
