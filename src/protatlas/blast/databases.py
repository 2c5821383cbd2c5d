"""Databases that the user makes of any FASTA file, protein or nucleotide: a folder each, with where it came from.

A database holds its records in SQLite, under own keys: the number of the record, from 1. Engines see keys alone, so
that no header, however odd, changes what they find.
"""

import re
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from hashlib import sha256
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from protatlas import __version__
from protatlas.blast.targets import Target
from protatlas.errors import InvalidInput, NotFound
from protatlas.headers import parse_header
from protatlas.records import Record
from protatlas.reports import Molecule
from protatlas.sequences import NoProteins, clean_nucleotides, read_fasta
from protatlas.sequences.fasta import MAX_RECORD_BYTES, IngestReport, Skipped, raw_records
from protatlas.sequences.files import decoded, opened

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED = frozenset({"atlas"})
MANIFEST, RECORDS, ENGINES = "manifest.json", "records.sqlite", "engines"
FORMAT = 1
WRITTEN_AT_ONCE = 10_000
SCHEMA = "CREATE TABLE record (key INTEGER PRIMARY KEY, header TEXT NOT NULL, sequence TEXT NOT NULL)"

Progress = Callable[[int], None]


class SourceFile(Record):
    """A file that records were read from: name, size in bytes, SHA-256, records read and kept."""

    name: str
    bytes: int
    sha256: str
    read: int
    kept: int


class Manifest(Record):
    """What a database is: `version` is the time it was made (UTC) with the first digits of a hash of its records."""

    format: int = FORMAT
    name: str
    molecule: Molecule
    version: str
    made: str
    protatlas_version: str
    sequences: int
    residues: int
    skipped: int
    sources: tuple[SourceFile, ...]


class Described(Record):
    """What the header of a record says, by the names of a hit."""

    accession: str
    title: str
    organism: str | None
    taxid: int | None


class Databases:
    """The databases in a folder, which is made with the first one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """Names, sorted."""
        return sorted(path.parent.name for path in self.folder.glob(f"*/{MANIFEST}"))

    def manifest(self, name: str) -> Manifest:
        """Manifest of a database.

        Raises
        ------
        NotFound
            There is none of that name, or it cannot be read.
        """
        try:
            if NAME.fullmatch(name):
                text = (self.folder / name / MANIFEST).read_text(encoding="utf-8")
                return Manifest.model_validate_json(text)
        except (OSError, ValidationError):
            pass
        known = ", ".join(self.names()) or "none yet; make one with protatlas blastdb add"
        raise NotFound("database", name, "the databases of this machine", f"There are: {known}.")

    def target(self, name: str) -> Target:
        """A database as what searches look in."""
        manifest = self.manifest(name)
        records = self.folder / name / RECORDS
        return Target(
            name=name,
            version=manifest.version,
            molecule=manifest.molecule,
            sequences=manifest.sequences,
            residues=manifest.residues,
            records=lambda: _pairs(records),
            folder=self.folder / name / ENGINES,
        )

    def describe(self, name: str, keys: Sequence[str]) -> dict[str, Described]:
        """What is known of some records, by key."""
        self.manifest(name)
        found = {}
        with closing(sqlite3.connect(self.folder / name / RECORDS)) as connection:
            for key in keys:
                for (header,) in connection.execute("SELECT header FROM record WHERE key = ?", (int(key),)):
                    found[key] = _described(header)
        return found

    def add(
        self, name: str, files: Iterable[Path], *, molecule: Molecule, progress: Progress | None = None
    ) -> Manifest:
        """Make a database of the records of FASTA files; what cannot be read is counted and left out.

        Raises
        ------
        InvalidInput
            The name is taken or no name, a file cannot be read, or none of its records could be kept.
        """
        self._refuse_name(name)
        self.folder.mkdir(parents=True, exist_ok=True)
        begun = Path(tempfile.mkdtemp(prefix=".begun-", dir=self.folder))
        try:
            manifest = _write(begun, name, files, molecule, progress or (lambda _: None))
            (begun / MANIFEST).write_text(manifest.model_dump_json(indent=2), encoding="utf-8")
            begun.rename(self.folder / name)
        finally:
            shutil.rmtree(begun, ignore_errors=True)
        return manifest

    def remove(self, name: str) -> None:
        """Delete a database with all that engines made of it.

        Raises
        ------
        NotFound
            There is none of that name.
        """
        self.manifest(name)
        shutil.rmtree(self.folder / name)

    def _refuse_name(self, name: str) -> None:
        expected = "1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit"
        if not NAME.fullmatch(name):
            raise InvalidInput("name", repr(name), expected)
        if name.lower() in RESERVED:
            raise InvalidInput("name", f"{name} names the atlas itself", "another name")
        if (self.folder / name).exists():
            raise InvalidInput("name", f"there is a database {name}", "another name, or remove that one first")


def _pairs(records: Path) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(records)) as connection:
        for key, sequence in connection.execute("SELECT key, sequence FROM record ORDER BY key"):
            yield str(key), sequence


def _described(header: str) -> Described:
    known = parse_header(header)
    title = known.protein_name or known.description or known.accession
    return Described(accession=known.accession, title=title, organism=known.organism, taxid=known.organism_id)


def _write(folder: Path, name: str, files: Iterable[Path], molecule: Molecule, progress: Progress) -> Manifest:
    """Write the records into an empty folder; the manifest that tells of them."""
    counts, hashed, sources = Counter[str](), sha256(), []
    with closing(sqlite3.connect(folder / RECORDS)) as connection:
        connection.executescript(f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; {SCHEMA};")
        for file in files:
            report = IngestReport()
            kept = _kept(file, molecule, report)
            while batch := list(islice(kept, WRITTEN_AT_ONCE)):
                rows = [(counts["sequences"] + at, *record) for at, record in enumerate(batch, start=1)]
                connection.executemany("INSERT INTO record VALUES (?, ?, ?)", rows)
                counts.update(sequences=len(rows), residues=sum(len(sequence) for _, _, sequence in rows))
                for _, header, sequence in rows:
                    hashed.update(f"{header}\n{sequence}\n".encode())
                progress(counts["sequences"])
            counts["skipped"] += len(report.skipped)
            sources.append(_source(file, report))
        connection.commit()
    made = datetime.now(tz=UTC).isoformat(timespec="seconds")
    return Manifest(
        name=name,
        molecule=molecule,
        version=f"{made} {hashed.hexdigest()[:12]}",
        made=made,
        protatlas_version=__version__,
        sources=tuple(sources),
        **{field: counts[field] for field in ("sequences", "residues", "skipped")},
    )


def _source(file: Path, report: IngestReport) -> SourceFile:
    with file.open("rb") as stream:
        digest = sha256()
        while block := stream.read(1 << 20):
            digest.update(block)
    size = file.stat().st_size
    return SourceFile(name=file.name, bytes=size, sha256=digest.hexdigest(), read=report.read, kept=report.kept)


def _kept(file: Path, molecule: Molecule, report: IngestReport) -> Iterator[tuple[str, str]]:
    """Header and sequence of each record that can be read."""
    if molecule == "protein":
        yield from ((entry.header, entry.sequence) for entry in read_fasta(file, report))
        return
    with opened(file) as (stream, _):
        for header, body, _, line, _ in raw_records(stream):
            if header is None:
                continue
            report.read += 1
            title = decoded(header).strip() or f"unnamed_line_{line}"
            try:
                if len(body) >= MAX_RECORD_BYTES:
                    raise InvalidInput("file", "a record of 16 MiB or more", "contigs or genes")
                sequence, _ = clean_nucleotides(decoded(body))
            except InvalidInput as error:
                report.skipped.append(Skipped(title.split()[0], line, error.message))
                continue
            report.kept += 1
            yield title, sequence
    if not report.kept:
        reason = report.skipped[0].reason if report.skipped else "it holds no line that begins with '>'"
        raise NoProteins("file", f"no record of {file.name} could be kept ({reason})", "nucleotide sequences in FASTA")
