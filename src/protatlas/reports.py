"""Reports of sequence searches: one shape for every engine and service, after the JSON2 tree of BLAST.

Positions are 1-based and inclusive, in the letters of the query and the subject as they were given. On the minus strand
blastn has the larger number first; translated searches have a negative frame instead, as BLAST writes them.
"""

from collections.abc import Mapping
from typing import Literal

from protatlas.records import Record

Program = Literal["blastn", "blastp", "blastx", "tblastn", "tblastx"]
Molecule = Literal["protein", "nucleotide"]
TAKES_PROTEIN: tuple[Program, ...] = ("blastp", "tblastn")
SEARCHES_PROTEINS: tuple[Program, ...] = ("blastp", "blastx")


def molecules_of(program: Program) -> tuple[Molecule, Molecule]:
    """What a program takes as query, and what it searches."""
    return (
        "protein" if program in TAKES_PROTEIN else "nucleotide",
        "protein" if program in SEARCHES_PROTEINS else "nucleotide",
    )


class Hsp(Record):
    """One alignment of the query with a subject (a high-scoring pair).

    `bit_score` and `score` (raw) are higher for better ones; `evalue` is the number of such alignments that chance
    would give in the whole database. `columns` counts aligned columns, gaps included, `identical` those of equal
    letters, `positive` those whose substitution scores above zero (null where the engine does not say), `gaps` those
    with a gap. In the texts `-` is a gap. Frames are 1 to 3, or -1 to -3 on the minus strand; null where nothing was
    translated.
    """

    bit_score: float
    score: float | None = None
    evalue: float
    query_start: int
    query_end: int
    subject_start: int
    subject_end: int
    columns: int
    identical: int
    positive: int | None = None
    gaps: int = 0
    query_frame: int | None = None
    subject_frame: int | None = None
    query_text: str = ""
    match_text: str = ""
    subject_text: str = ""

    @property
    def identity(self) -> float:
        """Share of identical columns, 0 to 1."""
        return self.identical / self.columns


class Hit(Record):
    """A sequence that was found, with its alignments, best first.

    `key` is what its database knows it by; `length` counts its letters. `bit_score` and `evalue` are those by which the
    engine ranks it: of the best alignment for BLAST, of the whole sequence for phmmer.
    """

    key: str
    accession: str
    title: str = ""
    organism: str | None = None
    taxid: int | None = None
    length: int
    bit_score: float
    evalue: float
    hsps: tuple[Hsp, ...]

    @property
    def best(self) -> Hsp:
        """The best alignment."""
        return self.hsps[0]


class Database(Record):
    """What was searched, as the engine or service states it; null where it states nothing.

    `version` is told to callers and changes with the content; `date` is that of the content.
    """

    name: str
    version: str | None = None
    date: str | None = None
    sequences: int | None = None
    residues: int | None = None


class Origin(Record):
    """The service that made a report: its name, id of the search there, address, and when it was fetched (UTC)."""

    service: str
    search: str
    address: str
    retrieved_at: str


class Report(Record):
    """Outcome of one search, best hit first.

    `engine` is a program with its version. `total` counts the hits within the E-value before the limit; null means that
    there may be more than the engine gave. `settings` say in sentences or `name = value` how
    it was searched; `statistics` are the numbers behind the E-values by their names in JSON2 (`kappa`, `lambda`,
    `entropy`, `hsp_len`, `eff_space`). `origin` is null for a search on this machine.
    """

    engine: str
    program: Program
    database: Database
    query_length: int
    hits: tuple[Hit, ...]
    total: int | None
    settings: tuple[str, ...] = ()
    statistics: Mapping[str, float] = {}
    message: str | None = None
    origin: Origin | None = None

    def coverage(self, hit: Hit) -> float:
        """Share of the query, 0 to 1, that the best alignment of a hit spans."""
        return (abs(hit.best.query_end - hit.best.query_start) + 1) / self.query_length

    def cut_to(self, *, max_evalue: float | None, limit: int, asked: int) -> "Report":
        """The report without hits beyond an E-value and a number, where the engine was asked for `asked` hits.

        Its `total` is known when the engine gave fewer hits than it was asked for, or worse ones.
        """
        within = tuple(hit for hit in self.hits if max_evalue is None or hit.evalue <= max_evalue)
        is_whole = len(self.hits) < asked or len(within) < len(self.hits)
        return self.model_copy(update={"hits": within[:limit], "total": len(within) if is_whole else None})
