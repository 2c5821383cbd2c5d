"""From FASTA records to the distinct proteins of an atlas, with an account of every record."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from protatlas.headers import Header, parse_header
from protatlas.records import Protein, Record, protein_hash
from protatlas.sequences import Entry, IngestReport, read_fasta


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
    """What became of every record: `records_read` = proteins + merged duplicates + skipped."""

    records_read: int
    proteins: int
    exact_duplicates: int
    merged_sequences: int
    conflicts: tuple[Conflict, ...]
    skipped: tuple[SkippedRecord, ...]


@dataclass
class _Draft:
    """A protein while records of the same sequence may still join it."""

    sequence: str
    first: Header
    header: str
    notes: tuple[str, ...]
    identifiers: list[str] = field(default_factory=list)
    other_headers: list[str] = field(default_factory=list)


def read_proteins(files: Sequence[Path]) -> tuple[list[Protein], Report]:
    """Distinct proteins of the files, in the order of their first record, and what became of every record.

    A sequence that occurs again joins its first record: the names of the first stay, the identifiers of all lead to it.

    Raises
    ------
    InvalidInput
        If a file cannot be read or holds no protein.
    """
    drafts: dict[str, _Draft] = {}
    keys_of: dict[str, list[str]] = {}
    skipped: list[SkippedRecord] = []
    counts = {"read": 0, "duplicates": 0, "merged": 0}
    for path in files:
        report = IngestReport()
        for entry in read_fasta(path, report):
            _add(entry, drafts, keys_of, counts)
        counts["read"] += report.read
        skipped += [
            SkippedRecord(file=path.name, line=skip.line, identifier=skip.identifier, reason=skip.reason)
            for skip in report.skipped
        ]
    conflicts = [
        Conflict(identifier=name, protein_hashes=tuple(keys)) for name, keys in keys_of.items() if len(keys) > 1
    ]
    account = Report(
        records_read=counts["read"],
        proteins=len(drafts),
        exact_duplicates=counts["duplicates"],
        merged_sequences=counts["merged"],
        conflicts=tuple(conflicts),
        skipped=tuple(skipped),
    )
    return [_protein(draft) for draft in drafts.values()], account


def _add(entry: Entry, drafts: dict[str, _Draft], keys_of: dict[str, list[str]], counts: dict[str, int]) -> None:
    """Take one record into the drafts and count what became of it."""
    header = parse_header(entry.header)
    key = protein_hash(entry.sequence)
    draft = drafts.get(key)
    if draft is None:
        draft = drafts[key] = _Draft(entry.sequence, header, entry.header, entry.notes)
    else:
        is_known = header.accession in draft.identifiers
        counts["duplicates" if is_known else "merged"] += 1
        if not is_known:
            draft.other_headers.append(entry.header)
    for name in header.identifiers:
        if name not in draft.identifiers:
            draft.identifiers.append(name)
    keys = keys_of.setdefault(header.accession, [])
    if key not in keys:
        keys.append(key)


def _protein(draft: _Draft) -> Protein:
    header = draft.first
    return Protein(
        sequence=draft.sequence,
        accessions=tuple(draft.identifiers),
        header=draft.header,
        other_headers=tuple(draft.other_headers),
        source=header.source,
        protein_name=header.protein_name,
        gene=header.gene,
        organism=header.organism,
        organism_id=header.organism_id,
        reviewed=header.reviewed,
        notes=draft.notes,
    )
