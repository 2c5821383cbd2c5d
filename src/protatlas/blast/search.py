"""What is asked of a search, and the searches that run on this machine."""

from collections import OrderedDict
from hashlib import sha256
from threading import Event, Lock
from typing import Annotated, Literal

from pydantic import Field

from protatlas import __version__
from protatlas.blast.targets import Target
from protatlas.engines import blastplus
from protatlas.engines.aligners import MAX_QUERY, Aligner, Alignment, PhmmerAligner
from protatlas.engines.linclust import is_installed
from protatlas.engines.mmseqs import RepresentativeAligner, prepare
from protatlas.errors import DependencyUnavailable, InvalidInput
from protatlas.json2 import read_json2
from protatlas.records import Record
from protatlas.reports import Database, Hit, Hsp, Program, Report, molecules_of

Engine = Literal["phmmer", "mmseqs2", "blast+", "ncbi", "ebi"]
REMOTE_ENGINES: tuple[Engine, ...] = ("ncbi", "ebi")
DEFAULT_EVALUE = 10.0
SHORT_EVALUE = 200_000.0
"""For short queries, whose exact matches have E-values beyond 10 (NCBI's URL API notes on short queries, node 93)."""
SHORT_QUERY = 30
LARGE = 100_000
"""Sequences from which MMseqs2 is faster than looking at each."""
KEPT_ALIGNERS = 3
"""Sets of sequences that stay in memory."""
RID_DIGITS = 16
"""Hexadecimal digits of a request id: 64 bits, as good as unique among the kept searches."""


class Search(Record):
    """A search, whole: two that are equal have the same outcome.

    `database` and `version` name what is searched and its state; null leaves them to a service. `max_evalue` null means
    the default, and for short queries one that finds them.
    """

    sequence: str
    program: Program = "blastp"
    engine: Engine
    database: str | None = None
    version: str | None = None
    max_evalue: Annotated[float, Field(gt=0)] | None = None
    limit: Annotated[int, Field(ge=1, le=5000)] = 10
    is_megablast: bool = False

    @property
    def is_short(self) -> bool:
        """Whether the query needs the settings for short ones."""
        return len(self.sequence) < SHORT_QUERY

    @property
    def evalue(self) -> float:
        """The highest E-value of a hit on this machine."""
        return self.max_evalue or (SHORT_EVALUE if self.is_short else DEFAULT_EVALUE)

    @property
    def rid(self) -> str:
        """Request id, which does not reveal the query."""
        kind = self.engine if self.engine in REMOTE_ENGINES else "local"
        return f"{kind}-{sha256(f'{__version__} {self.model_dump_json()}'.encode()).hexdigest()[:RID_DIGITS]}"


class LocalEngines:
    """Searches on this machine, by the engines that are here.

    Parameters
    ----------
    threads
        Threads of one search, where the engine can use several.
    """

    def __init__(self, *, threads: int = 2) -> None:
        self._threads = threads
        self._aligners: OrderedDict[tuple[Engine, str, str], Aligner] = OrderedDict()
        self._opening: dict[tuple[Engine, str, str], Lock] = {}
        self._lock = Lock()

    def choose(self, program: Program, target: Target, *, letters: int = MAX_QUERY) -> Engine:
        """The engine for a program over a target, and a query of that many letters.

        Raises
        ------
        InvalidInput
            The program does not search what the target holds.
        DependencyUnavailable
            It takes BLAST+, which is not installed.
        """
        searched = molecules_of(program)[1]
        if target.molecule != searched:
            found = f"{target.name} holds {target.molecule} sequences, and {program} searches {searched} sequences"
            raise InvalidInput("database", found, f"a {searched} database")
        if program == "blastp":
            is_large = target.sequences >= LARGE and letters >= SHORT_QUERY
            return "mmseqs2" if is_large and is_installed() else "phmmer"
        if not blastplus.is_installed(program):
            raise DependencyUnavailable(f"A nucleotide search engine for {program}", blastplus.INSTALL)
        return "blast+"

    def run(self, search: Search, target: Target, stop: Event) -> Report:
        """Report of a search; its hits are known by their keys alone.

        Raises
        ------
        Stopped
            `stop` was set; a search in this process ends only by itself.
        InvalidInput, DependencyUnavailable
            The engine refuses the query, or failed.
        """
        return self._blastplus(search, target, stop) if search.engine == "blast+" else self._aligned(search, target)

    def _aligned(self, search: Search, target: Target) -> Report:
        aligner = self._aligner(search.engine, target)
        found = aligner.search(search.sequence, max_evalue=search.evalue, limit=search.limit)
        return Report(
            engine=aligner.name,
            program=search.program,
            database=_database(target, aligner.sequences, aligner.residues),
            query_length=found.query_length,
            hits=tuple(map(_hit, found.hits)),
            total=found.total,
            settings=(*found.settings, *_short_note(search)),
        )

    def prepare(self, target: Target) -> None:
        """Make the files that the first search of a large target would have to wait for."""
        if target.molecule == "protein" and self.choose("blastp", target) == "mmseqs2":
            self._aligner("mmseqs2", target)

    def _aligner(self, engine: Engine, target: Target) -> Aligner:
        """Aligner of a target, opened once: who needs the same one waits, who needs another does not."""
        at = (engine, target.name, target.version)
        with self._lock:
            opening = self._opening.setdefault(at, Lock())
        with opening:
            with self._lock:
                found = self._aligners.get(at)
            found = found or self._opened(engine, target)
            self._keep(at, found)
        return found

    def _keep(self, at: tuple[Engine, str, str], aligner: Aligner) -> None:
        """Keep an aligner that was just asked for, and let go of the one that was not for longest."""
        with self._lock:
            self._aligners[at] = aligner
            self._aligners.move_to_end(at)
            while len(self._aligners) > KEPT_ALIGNERS:
                self._opening.pop(self._aligners.popitem(last=False)[0], None)

    def _opened(self, engine: Engine, target: Target) -> Aligner:
        if engine == "phmmer":
            return PhmmerAligner(target.records())
        folder = target.prepared("mmseqs2", lambda empty: prepare(target.records(), empty, threads=self._threads))
        return RepresentativeAligner(folder, threads=self._threads)

    def _blastplus(self, search: Search, target: Target, stop: Event) -> Report:
        folder = target.prepared(
            "blast", lambda empty: blastplus.make_database(target.records(), empty, molecule=target.molecule)
        )
        options = blastplus.Options(search.evalue, search.limit, is_megablast=search.is_megablast)
        tree = blastplus.search(search.program, search.sequence, folder, options, threads=self._threads, stop=stop)
        found = read_json2(tree)
        if found is None:
            raise DependencyUnavailable(f"A whole report of {search.program}", "Search again.")
        hits = tuple(hit.model_copy(update={"key": blastplus.key_of(hit.accession)}) for hit in found.hits)
        settings = (*found.settings, blastplus.masking(tree["params"]), *_short_note(search))
        database = found.database.model_copy(update={"name": target.name, "version": target.version})
        return found.model_copy(update={"hits": hits, "settings": settings, "database": database}).cut_to(
            max_evalue=search.evalue, limit=search.limit, asked=options.asked
        )


def _database(target: Target, sequences: int, residues: int) -> Database:
    return Database(name=target.name, version=target.version, sequences=sequences, residues=residues)


def _short_note(search: Search) -> tuple[str, ...]:
    if not search.is_short:
        return ()
    widened = "" if search.max_evalue else f", and hits with E-values up to {SHORT_EVALUE:,.0f} are shown"
    return (f"The query has fewer than {SHORT_QUERY} letters: settings for short queries are used{widened}.",)


def _hit(alignment: Alignment) -> Hit:
    """A hit of an aligner, known by its key."""
    fields = alignment.model_dump(exclude={"key", "subject_length", "domains"})
    return Hit(
        key=alignment.key,
        accession=alignment.key,
        length=alignment.subject_length,
        bit_score=alignment.bit_score,
        evalue=alignment.evalue,
        hsps=(Hsp(**fields),),
    )
