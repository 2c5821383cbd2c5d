"""What searches at a public service have in common: a query goes out, a search has a state, a report comes back.

Reports of all services are trees of BLAST's JSON2 format, so that one reader takes them and those of BLAST+.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Literal, Protocol

from pydantic import Field

from protatlas.errors import DependencyUnavailable, InvalidInput, NotFound, ProtatlasError
from protatlas.records import Record
from protatlas.reports import Molecule, Program, Report, molecules_of

PROTEIN: Molecule = "protein"
NUCLEOTIDE: Molecule = "nucleotide"
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
    def molecule(self) -> Molecule:
        """What the query is."""
        return molecules_of(self.program)[0]

    @property
    def is_short(self) -> bool:
        """Whether it needs the settings for short queries."""
        return len(self.sequence) <= SHORT_QUERY


class RemoteState(Record):
    """Where a search stands. `ask_again_s` is the time before which asking changes nothing."""

    phase: Literal["running", "finished"]
    ask_again_s: float = 0.0


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

    def fetch(self, search: str) -> Report:
        """Fetch the report of a finished search."""
        ...

    def cancel(self, search: str) -> bool:
        """Whether the service stopped the search; where it cannot, false, and the search runs on unheeded."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


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
    searched = molecules_of(query.program)[1]
    if query.database and (holds := molecules.get(query.database.lower())) not in (None, searched):
        others = ", ".join(name for name, held in molecules.items() if held == searched)
        raise InvalidInput(
            "database",
            f"{query.database} holds {holds} sequences, and {query.program} searches {searched} sequences",
            f"a {searched} database, such as {others}",
        )
