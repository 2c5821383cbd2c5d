"""From FASTA records to the distinct proteins of an atlas, with an account of every record.

Two stages: `read` writes every record as a protein of its own, `deduplicate` joins those of one sequence. Beside the
chunks of the scratch folder they hold 24 bytes a record in memory, and the records that repeat a sequence.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt

from protatlas.atlas.scratch import Scratch
from protatlas.errors import InvalidArguments, InvalidInput
from protatlas.headers import parse_header
from protatlas.records import Protein, Record
from protatlas.sequences import Entry, IngestReport, NoProteins, Skipped, read_fasta
from protatlas.sequences.fasta import UNNAMED_NOTE
from protatlas.structures.report import StructureReport

READ, PROTEINS = "read", "proteins"


class SkippedRecord(Record):
    """A record that was left out: file, 1-based line of its header, identifier and reason."""

    file: str
    line: int
    identifier: str
    reason: str


class Conflict(Record):
    """An identifier that stands for more than one sequence; the keys tell the proteins apart."""

    identifier: str
    protein_hashes: tuple[str, ...]


class ReadSummary(Record):
    """What the read stage saw: records read, those written, records of an older atlas, skipped ones, notes by text."""

    records_read: int
    written: int
    from_atlas: int
    skipped: tuple[SkippedRecord, ...]
    notes: dict[str, int]


class Report(Record):
    """What became of every record: `records_read` = `proteins` + `exact_duplicates` + `merged_sequences` + skipped.

    A record of a sequence that was read before is an exact duplicate where its accession is known for that sequence,
    else it is merged: its names lead to the same protein. `notes` counts the records that were changed, or are
    uncommon, by what was done; `conflicts` are accessions of more than one sequence, all of which are kept. In an
    update `from_atlas` proteins come from the older atlas; they count among `proteins` and not among `records_read`.
    `structures` is the account of the coordinate files, null where the build was given no folder of them.
    """

    records_read: int
    proteins: int
    exact_duplicates: int
    merged_sequences: int
    conflicts: tuple[Conflict, ...]
    skipped: tuple[SkippedRecord, ...]
    notes: dict[str, int]
    from_atlas: int = 0
    structures: StructureReport | None = None


class NothingKept(InvalidArguments):
    """No record of any file could be kept: a sentence for each file; `report` says what became of each record."""

    def __init__(self, problems: Sequence[InvalidInput], report: Report) -> None:
        super().__init__(problems)
        self.report = report


class ProblemFound(InvalidInput):
    """A record that a strict reading does not pass over."""

    def __init__(self, name: str, problem: Skipped) -> None:
        found = f"{name} line {problem.line}, {problem.identifier or 'no identifier'}: {problem.reason}"
        super().__init__("file", found, "a file without problems, or no --strict")


def read_records(
    files: Sequence[Path],
    scratch: Scratch,
    *,
    known: Iterable[Protein] = (),
    strict: bool = False,
    progress: Callable[[int], None],
) -> ReadSummary:
    """Write every record of the files as a protein, after the proteins of an older atlas.

    Parameters
    ----------
    strict
        Refuse the first record that would be skipped, has no identifier, or has the accession of another sequence.
    progress
        Told the number of records that were written.

    Raises
    ------
    NothingKept
        If no record of any file is a protein.
    ProblemFound
        If `strict` and there is a problem.
    InvalidInput
        If a file cannot be read.
    """
    if summary := scratch.marked(READ):
        return ReadSummary.model_validate_json(summary)
    reading = _Reading(files, strict=strict)
    batch: list[Protein] = []
    chunk = 0
    for protein in _chained(known, reading):
        batch.append(protein)
        if len(batch) == scratch.chunk:
            chunk = _write_chunk(scratch, chunk, batch)
            progress(chunk * scratch.chunk)
            batch = []
    written = chunk * scratch.chunk + len(batch)
    if batch:
        _write_chunk(scratch, chunk, batch)
    progress(written)
    summary_of = reading.summary(written)
    if not reading.kept:
        raise NothingKept(reading.refused, _report(summary_of, 0, 0, ()))
    scratch.mark(READ, summary_of.model_dump_json())
    return summary_of


def _chained(known: Iterable[Protein], reading: "_Reading") -> Iterator[Protein]:
    for protein in known:
        reading.from_atlas += 1
        yield protein
    yield from reading.proteins()


def _write_chunk(scratch: Scratch, chunk: int, batch: list[Protein]) -> int:
    if not scratch.has(READ, chunk):
        scratch.write_proteins(READ, chunk, batch)
    return chunk + 1


class _Reading:
    """Reads the files and keeps account."""

    def __init__(self, files: Sequence[Path], *, strict: bool) -> None:
        self._files, self._strict = files, strict
        self._read = 0
        self._skipped: list[SkippedRecord] = []
        self._notes: Counter[str] = Counter()
        self._key_of: dict[bytes, str] = {}
        self.kept = self.from_atlas = 0
        self.refused: list[InvalidInput] = []

    def proteins(self) -> Iterator[Protein]:
        """A protein for each record that is one."""
        for path in self._files:
            account = IngestReport()
            try:
                for entry in read_fasta(path, account):
                    protein = _protein(entry)
                    if self._strict:
                        self._refuse_problems(path.name, account, entry, protein)
                    self._notes.update(entry.notes)
                    self.kept += 1
                    yield protein
            except NoProteins as error:
                self.refused.append(error)
            if self._strict and account.skipped:
                raise ProblemFound(path.name, account.skipped[0])
            self._read += account.read
            self._skipped += [SkippedRecord(file=path.name, **skip._asdict()) for skip in account.skipped]

    def _refuse_problems(self, name: str, account: IngestReport, entry: Entry, protein: Protein) -> None:
        if account.skipped:
            raise ProblemFound(name, account.skipped[0])
        if UNNAMED_NOTE in entry.notes:
            raise ProblemFound(name, Skipped(entry.header, entry.line, UNNAMED_NOTE))
        if self._key_of.setdefault(_hash(protein.accession), protein.key) != protein.key:
            raise ProblemFound(name, Skipped(entry.header, entry.line, "its accession is that of another sequence too"))

    def summary(self, written: int) -> ReadSummary:
        """Account of the records."""
        return ReadSummary(
            records_read=self._read,
            written=written,
            from_atlas=self.from_atlas,
            skipped=tuple(self._skipped),
            notes=dict(self._notes),
        )


def _protein(entry: Entry) -> Protein:
    header = parse_header(entry.header)
    return header.protein(entry.sequence, header=entry.header, soft_masked=entry.soft_masked, notes=entry.notes)


def _hash(text: str) -> bytes:
    return blake2b(text.encode(errors="replace"), digest_size=8).digest()


def deduplicate(scratch: Scratch, read: ReadSummary, *, progress: Callable[[int], None]) -> Report:
    """Write the distinct proteins, in the order of their first record: records of one sequence join.

    The names of the first record stay, the identifiers of all lead to the protein.
    """
    if report := scratch.marked(PROTEINS):
        return Report.model_validate_json(report)
    chunks = scratch.chunks_of(read.written)
    keys, accessions = _keys(scratch, chunks, read.written)
    first = _first_rows(keys)
    later = _later(scratch, chunks, first)
    duplicates = merged = 0
    batch: list[Protein] = []
    written = 0
    for row, earliest in enumerate(scratch.each_protein(READ, chunks)):
        if first[row] != row:
            continue
        joined = earliest
        for other in later.pop(row, ()):
            is_known = other.accession in joined.accessions
            duplicates, merged = duplicates + is_known, merged + (not is_known)
            joined = _joined(joined, other, is_known=is_known)
        batch.append(joined)
        if len(batch) == scratch.chunk:
            scratch.write_proteins(PROTEINS, written // scratch.chunk, batch)
            written, batch = written + scratch.chunk, []
            progress(row + 1)
    if batch:
        scratch.write_proteins(PROTEINS, written // scratch.chunk, batch)
    proteins = written + len(batch)
    report_of = _report(read, proteins, duplicates, _conflicts(scratch, keys, accessions), merged=merged)
    progress(read.written)
    scratch.mark(PROTEINS, report_of.model_dump_json())
    return report_of


def _report(
    read: ReadSummary, proteins: int, duplicates: int, conflicts: tuple[Conflict, ...], *, merged: int = 0
) -> Report:
    return Report(
        records_read=read.records_read,
        proteins=proteins,
        exact_duplicates=duplicates,
        merged_sequences=merged,
        conflicts=conflicts,
        skipped=read.skipped,
        notes=read.notes,
        from_atlas=read.from_atlas,
    )


def _keys(scratch: Scratch, chunks: int, count: int) -> tuple[npt.NDArray[np.void], npt.NDArray[np.uint64]]:
    """Key (16 bytes) and hash of the accession of every record."""
    keys, accessions = bytearray(), bytearray()
    for protein in scratch.each_protein(READ, chunks):
        keys += bytes.fromhex(protein.key)
        accessions += _hash(protein.accession)
    return np.frombuffer(keys, "V16", count), np.frombuffer(accessions, np.uint64, count)


def _first_rows(keys: npt.NDArray[np.void]) -> npt.NDArray[np.int64]:
    """For each row the first row with the same key."""
    halves = keys.view(np.uint64).reshape(-1, 2)
    order = np.lexsort((np.arange(len(keys)), halves[:, 1], halves[:, 0]))
    ordered = halves[order]
    is_new = np.r_[True, np.any(ordered[1:] != ordered[:-1], axis=1)] if len(keys) else np.empty(0, bool)
    first = np.empty(len(keys), np.int64)
    first[order] = order[np.maximum.accumulate(np.where(is_new, np.arange(len(keys)), 0))]
    return first


def _later(scratch: Scratch, chunks: int, first: npt.NDArray[np.int64]) -> dict[int, list[Protein]]:
    """Records that repeat the sequence of an earlier one, by the row of that one."""
    found: dict[int, list[Protein]] = defaultdict(list)
    repeats = np.flatnonzero(first != np.arange(len(first)))
    by_chunk: dict[int, list[int]] = defaultdict(list)
    for row in repeats.tolist():
        by_chunk[row // scratch.chunk].append(row)
    for chunk in range(chunks):
        if rows := by_chunk.get(chunk):
            proteins = scratch.proteins(READ, chunk)
            for row in rows:
                found[int(first[row])].append(proteins[row % scratch.chunk])
    return found


def _joined(protein: Protein, other: Protein, *, is_known: bool) -> Protein:
    headers = protein.other_headers if is_known else (*protein.other_headers, other.header, *other.other_headers)
    return protein.model_copy(
        update={
            "accessions": tuple(dict.fromkeys((*protein.accessions, *other.accessions))),
            "other_headers": headers,
            "soft_masked": protein.soft_masked or other.soft_masked,
        }
    )


def _conflicts(
    scratch: Scratch, keys: npt.NDArray[np.void], accessions: npt.NDArray[np.uint64]
) -> tuple[Conflict, ...]:
    """Accessions that stand for several sequences, in the order of their first record."""
    halves = keys.view(np.uint64).reshape(-1, 2)
    pairs = np.unique(np.column_stack([accessions, halves]), axis=0)
    names, counts = np.unique(pairs[:, 0], return_counts=True)
    twice = names[counts > 1]
    if not len(twice):
        return ()
    found: dict[str, dict[str, None]] = defaultdict(dict)
    rows = np.flatnonzero(np.isin(accessions, twice))
    wanted: dict[int, set[int]] = defaultdict(set)
    for row in rows.tolist():
        wanted[row // scratch.chunk].add(row % scratch.chunk)
    for chunk in sorted(wanted):
        for place, protein in enumerate(scratch.proteins(READ, chunk)):
            if place in wanted[chunk]:
                found[protein.accession][protein.key] = None
    return tuple(
        Conflict(identifier=name, protein_hashes=tuple(keys_)) for name, keys_ in found.items() if len(keys_) > 1
    )
