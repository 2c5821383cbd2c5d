"""Aligners: which sequences of a set resemble a query, by local alignment.

Positions are 1-based and inclusive. Bit scores and E-values of different aligners do not compare.
"""

from collections.abc import Iterable
from importlib.metadata import version
from itertools import islice
from typing import NamedTuple, Protocol

from pyhmmer.easel import Alphabet, DigitalSequence, DigitalSequenceBlock, TextSequence
from pyhmmer.plan7 import Builder, Hit, Pipeline

from protatlas.errors import InvalidInput
from protatlas.records import Record

SHORT_QUERY = 30
"""Below this length a query is searched as BLAST+ `blastp-short` does: matrix PAM30, no filter of low complexity
(BLAST+ user manual, NBK279684, table of tasks)."""
MAX_QUERY = 4_000
"""Longest query: the alignment matrices of HMMER grow with its square (24 bytes a cell, 0.4 GB at 4,000)."""
MAX_TARGET = 100_000
"""Longest sequence that HMMER's pipeline compares (HMMER 3 user's guide)."""
FILTERS = (0.02, 1e-3, 1e-5)
"""P-values that HMMER's three filters let pass by default (HMMER 3 user's guide, doi:10.1371/journal.pcbi.1002195)."""
FILTER_MARGINS = (20.0, 5.0, 1.0)
"""How much more than the P-value asked for each filter lets pass."""


class Alignment(Record):
    """A sequence of the set that resembles the query.

    `bit_score` and `evalue` are of the whole sequence (all its domains); ranges, counts and texts are of its best
    domain. `evalue` is the number of sequences of the set that would score as much by chance; lower is better.
    `columns` counts aligned columns, gaps included, `identical` those of equal residues, `positive` those whose
    substitution scores above zero, `gaps` those with a gap. In the texts `-` is a gap.
    """

    key: str
    bit_score: float
    evalue: float
    query_start: int
    query_end: int
    subject_start: int
    subject_end: int
    subject_length: int
    domains: int
    columns: int
    identical: int
    positive: int
    gaps: int
    query_text: str
    match_text: str
    subject_text: str

    @property
    def identity(self) -> float:
        """Share of identical columns, 0 to 1."""
        return self.identical / self.columns


class Alignments(Record):
    """Hits of a search, best first; `total` counts them before the limit, `settings` says how they were found."""

    hits: tuple[Alignment, ...]
    total: int
    query_length: int
    settings: tuple[str, ...]


class Aligner(Protocol):
    """Searches one set of sequences.

    Attributes
    ----------
    name : str
        Program and version, for answers.
    sequences, residues : int
        Size of the set.
    """

    name: str
    sequences: int
    residues: int

    def search(self, query: str, *, max_evalue: float, limit: int) -> Alignments:
        """Sequences with an E-value up to `max_evalue`, best first, at most `limit` of them; none is an empty tuple."""


class _Counts(NamedTuple):
    columns: int
    identical: int
    positive: int
    gaps: int


class PhmmerAligner:
    """Protein against protein by phmmer of HMMER 3, in this process and on one core.

    Parameters
    ----------
    sequences
        Pairs of key and upper-case sequence; they stay in memory, one byte a residue. Those over `MAX_TARGET` residues
        are left out, and `settings` of each answer says so.
    """

    def __init__(self, sequences: Iterable[tuple[str, str]]) -> None:
        self._alphabet: Alphabet = Alphabet.amino()
        self._block: DigitalSequenceBlock[Alphabet] = DigitalSequenceBlock(self._alphabet)
        self._left_out = 0
        self.residues = 0
        for key, sequence in sequences:
            if len(sequence) > MAX_TARGET:
                self._left_out += 1
                continue
            self._block.append(self._digital(key, sequence))
            self.residues += len(sequence)
        self.sequences = len(self._block)
        self.name = f"phmmer (HMMER 3, pyhmmer {version('pyhmmer')})"

    def search(self, query: str, *, max_evalue: float, limit: int) -> Alignments:
        """Sequences with an E-value up to `max_evalue`, best first.

        HMMER's filters are opened to the E-value asked for, else they would drop hits that it admits; some close to
        it may still be missed.

        Raises
        ------
        InvalidInput
            The query has more than `MAX_QUERY` residues.
        """
        if len(query) > MAX_QUERY:
            found, expected = f"{len(query)} residues", f"at most {MAX_QUERY}; pass one domain of it"
            raise InvalidInput("sequence", found, expected, actual_length=len(query), max_length=MAX_QUERY)
        if not self.sequences:
            return Alignments(hits=(), total=0, query_length=len(query), settings=self._settings(query))
        target_hits = self._pipeline(query, max_evalue).search_seq(
            self._digital("query", query), self._block, self._builder(query)
        )
        reported = target_hits.reported
        total = len(reported)  # counts what the iterator has left
        hits = tuple(_alignment(query, hit) for hit in islice(reported, limit))
        return Alignments(hits=hits, total=total, query_length=len(query), settings=self._settings(query))

    def _digital(self, name: str, sequence: str) -> "DigitalSequence[Alphabet]":
        return TextSequence(name=name, sequence=sequence).digitize(self._alphabet)

    def _builder(self, query: str) -> "Builder[Alphabet]":
        return Builder(self._alphabet, score_matrix="PAM30" if len(query) < SHORT_QUERY else "BLOSUM62")

    def _pipeline(self, query: str, max_evalue: float) -> "Pipeline[Alphabet]":
        p_value = max_evalue / self.sequences
        f1, f2, f3 = (
            min(1.0, max(usual, margin * p_value)) for usual, margin in zip(FILTERS, FILTER_MARGINS, strict=True)
        )
        return Pipeline(
            self._alphabet,
            bias_filter=len(query) >= SHORT_QUERY,
            E=max_evalue,
            domE=max_evalue,
            F1=f1,
            F2=f2,
            F3=f3,
        )

    def _settings(self, query: str) -> tuple[str, ...]:
        """How a query is searched, in sentences."""
        settings = [
            "Bit scores and E-values are phmmer's, for whole sequences; they do not compare with those of BLAST.",
            f"E-values count chance hits in {self.sequences} sequences.",
        ]
        if len(query) < SHORT_QUERY:
            settings.append(f"The query is shorter than {SHORT_QUERY} residues: matrix PAM30, no composition filter.")
        if self._left_out:
            settings.append(f"{self._left_out} sequences over {MAX_TARGET} residues were not searched.")
        return tuple(settings)


def _alignment(query: str, hit: Hit) -> Alignment:
    best = hit.best_domain.alignment
    query_text = _gapped(query[best.hmm_from - 1 : best.hmm_to], best.hmm_sequence)
    subject_text = best.target_sequence.upper()
    counts = _counts(query_text, best.identity_sequence, subject_text)
    return Alignment(
        key=hit.name,
        bit_score=hit.score,
        evalue=hit.evalue,
        query_start=best.hmm_from,
        query_end=best.hmm_to,
        subject_start=best.target_from,
        subject_end=best.target_to,
        subject_length=best.target_length,
        domains=max(1, len(hit.domains.reported)),
        query_text=query_text,
        match_text=best.identity_sequence.upper(),
        subject_text=subject_text,
        **counts._asdict(),
    )


def _gapped(residues: str, model_text: str) -> str:
    """Residues with a gap wherever the text of the model has one; its letters are consensus, not the query's."""
    letters = iter(residues)
    return "".join("-" if letter in ".-" else next(letters) for letter in model_text)


def _counts(query_text: str, match_text: str, subject_text: str) -> _Counts:
    columns = list(zip(query_text, match_text, subject_text, strict=True))
    return _Counts(
        columns=len(columns),
        identical=sum(query == subject not in "X-" for query, _, subject in columns),
        positive=sum(match != " " for _, match, _ in columns),
        gaps=sum("-" in (query, subject) for query, _, subject in columns),
    )
