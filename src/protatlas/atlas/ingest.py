"""From FASTA records to the distinct proteins of an atlas, with an account of every record."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from protatlas.errors import InvalidArguments, InvalidInput
from protatlas.headers import Header, parse_header
from protatlas.records import Protein, Record, protein_hash
from protatlas.sequences import Entry, IngestReport, NoProteins, Skipped, read_fasta
from protatlas.sequences.fasta import UNNAMED_NOTE


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


class Report(Record):
    """What became of every record: `records_read` = `proteins` + `exact_duplicates` + `merged_sequences` + skipped.

    A record of a sequence that was read before is an exact duplicate where its accession is known for that sequence,
    else it is merged: its names lead to the same protein. `notes` counts the records that were changed, or are
    uncommon, by what was done; `conflicts` are accessions of more than one sequence, all of which are kept.
    """

    records_read: int
    proteins: int
    exact_duplicates: int
    merged_sequences: int
    conflicts: tuple[Conflict, ...]
    skipped: tuple[SkippedRecord, ...]
    notes: dict[str, int]


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


@dataclass
class _Draft:
    """A protein while records of the same sequence may still join it."""

    sequence: str
    first: Header
    header: str
    notes: tuple[str, ...]
    soft_masked: bool = False
    identifiers: dict[str, None] = field(default_factory=dict)
    other_headers: list[str] = field(default_factory=list)


def read_proteins(files: Sequence[Path], *, strict: bool = False) -> tuple[list[Protein], Report]:
    """Distinct proteins of the files, in the order of their first record, and what became of every record.

    A sequence that occurs again joins its first record: the names of the first stay, the identifiers of all lead to it.

    Parameters
    ----------
    strict
        Refuse the first record that would be skipped, has no identifier, or has the accession of another sequence.

    Raises
    ------
    NothingKept
        If no record of any file is a protein.
    ProblemFound
        If `strict` and there is a problem.
    InvalidInput
        If a file cannot be read.
    """
    reading = _Reading()
    refused: list[InvalidInput] = []
    for path in files:
        account = IngestReport()
        try:
            for entry in read_fasta(path, account):
                is_conflict = reading.add(entry)
                if strict:
                    _refuse_problems(path.name, account, entry, is_conflict=is_conflict)
        except NoProteins as error:
            refused.append(error)
        if strict and account.skipped:
            raise ProblemFound(path.name, account.skipped[0])
        reading.read += account.read
        reading.skipped += [SkippedRecord(file=path.name, **skip._asdict()) for skip in account.skipped]
    if not reading.drafts:
        raise NothingKept(refused, reading.report())
    return [_protein(draft) for draft in reading.drafts.values()], reading.report()


def _refuse_problems(name: str, account: IngestReport, entry: Entry, *, is_conflict: bool) -> None:
    if account.skipped:
        raise ProblemFound(name, account.skipped[0])
    if UNNAMED_NOTE in entry.notes:
        raise ProblemFound(name, Skipped(entry.header, entry.line, UNNAMED_NOTE))
    if is_conflict:
        raise ProblemFound(name, Skipped(entry.header, entry.line, "its accession is that of another sequence too"))


@dataclass
class _Reading:
    """What was read so far."""

    read: int = 0
    duplicates: int = 0
    merged: int = 0
    drafts: dict[str, _Draft] = field(default_factory=dict)
    keys_of: dict[str, dict[str, None]] = field(default_factory=dict)
    notes: Counter[str] = field(default_factory=Counter)
    skipped: list[SkippedRecord] = field(default_factory=list)

    def add(self, entry: Entry) -> bool:
        """Take one record in; whether its accession stands for another sequence already."""
        header = parse_header(entry.header)
        key = protein_hash(entry.sequence)
        self.notes.update(entry.notes)
        draft = self.drafts.get(key)
        if draft is None:
            draft = self.drafts[key] = _Draft(entry.sequence, header, entry.header, entry.notes)
        elif header.accession in draft.identifiers:
            self.duplicates += 1
        else:
            self.merged += 1
            draft.other_headers.append(entry.header)
        draft.soft_masked |= entry.soft_masked
        draft.identifiers |= dict.fromkeys(header.identifiers)
        keys = self.keys_of.setdefault(header.accession, {})
        keys[key] = None
        return len(keys) > 1

    def report(self) -> Report:
        """Account of all records."""
        conflicts = ((name, keys) for name, keys in self.keys_of.items() if len(keys) > 1)
        return Report(
            records_read=self.read,
            proteins=len(self.drafts),
            exact_duplicates=self.duplicates,
            merged_sequences=self.merged,
            conflicts=tuple(Conflict(identifier=name, protein_hashes=tuple(keys)) for name, keys in conflicts),
            skipped=tuple(self.skipped),
            notes=dict(self.notes),
        )


def _protein(draft: _Draft) -> Protein:
    return draft.first.protein(
        draft.sequence,
        header=draft.header,
        accessions=draft.identifiers,
        other_headers=tuple(draft.other_headers),
        soft_masked=draft.soft_masked,
        notes=draft.notes,
    )
