"""An index of FASTA files by accession: one record of files of any size at once, without an atlas.

The index is one SQLite file. `entry` maps the first 8 bytes of the BLAKE2b of every upper-case identifier to a place:
the number of a file and the offset of the record in its text. Plain files are read in place; the text of compressed
ones, and of stdin, is kept in the index in compressed blocks. Whatever is found is checked against the header that
stands there, so that equal hashes and changed files give no wrong answer.
"""

import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from hashlib import blake2b
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from protatlas.errors import DependencyUnavailable, InvalidInput
from protatlas.headers import header_identifiers, parse_header
from protatlas.records import Protein
from protatlas.restrictions import Restrictions, refusal
from protatlas.sequences.fasta import RawRecord, Skipped, entry_of, raw_records
from protatlas.sequences.files import STDIN, Bytes, decoded, opened, raw_stream

FORMAT_VERSION = 1
APPLICATION_ID = 0x50415849
"""Marks the SQLite file as ours."""
RECORDS_AT_ONCE = 20_000
KEPT_BLOCK_BYTES = 1 << 16
MOST_RECORDS = 20
"""Records of one identifier that are read; more are as ambiguous."""
LOOKUP_BYTES = 1 << 12
CACHE_KIB = 1 << 16
FILE_SHIFT = 44
"""Bits of a place for the offset: files of up to 16 TiB, and half a million of them."""

_SCHEMA = f"""
CREATE TABLE file (
    id INTEGER PRIMARY KEY, path TEXT, bytes INTEGER, changed_ns INTEGER, is_plain INTEGER DEFAULT 0,
    records INTEGER DEFAULT 0, unnamed INTEGER DEFAULT 0, kept_bytes INTEGER DEFAULT 0, is_done INTEGER DEFAULT 0
);
CREATE TABLE kept (file INTEGER, offset INTEGER, text BLOB, PRIMARY KEY (file, offset)) WITHOUT ROWID;
CREATE TABLE entry (hash INTEGER, place INTEGER, PRIMARY KEY (hash, place)) WITHOUT ROWID;
CREATE TABLE about (built TEXT, records INTEGER, unnamed INTEGER, entries INTEGER);
CREATE TABLE staging.staged (hash INTEGER, place INTEGER);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT_VERSION};
"""

Progress = Callable[[str, int, int | None], None]
"""Told the name of a file, the bytes of it that were read and its size; or `sort`, the entries sorted and all."""


class IndexCounts(NamedTuple):
    """Records that were read, those without any identifier, and entries: identifiers that lead to a record."""

    records: int
    unnamed: int
    entries: int


class AccessionIndex:
    """An index for reading. Any number of threads and processes may read one at the same time.

    What `restrict` names is not returned, and a request for it is `Restricted`.
    """

    def __init__(self, path: Path, database: sqlite3.Connection) -> None:
        self.restrict(Restrictions())
        self.path = path
        self._database = database
        self._lock = threading.Lock()
        self.built, *counts = database.execute("SELECT built, records, unnamed, entries FROM about").fetchone()
        self.counts = IndexCounts(*counts)
        self._files = {
            row[0]: row[1:] for row in database.execute("SELECT id, path, bytes, changed_ns, is_plain FROM file")
        }

    @classmethod
    def open(cls, path: Path) -> "AccessionIndex":
        """Index at a path.

        Raises
        ------
        DependencyUnavailable
            If there is none, or not one that this protatlas reads.
        """
        if not path.is_file():
            raise IndexUnusable(path, "there is no file")
        try:
            database = sqlite3.connect(
                f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False
            )
            found = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            if found != [APPLICATION_ID, FORMAT_VERSION]:
                raise IndexUnusable(path, "it is not an index of this version of protatlas")
            return cls(path, database)
        except sqlite3.Error as error:
            raise IndexUnusable(path, f"it cannot be read ({error})") from error

    @property
    def name(self) -> str:
        """Name of the index: that of its file."""
        return self.path.stem

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def restrict(self, restrictions: Restrictions, withholds: Callable[[Protein], bool] | None = None) -> None:
        """Withhold what is restricted; `withholds` decides of a protein where more is known than the restrictions."""
        self._restrictions = restrictions
        self._withholds = withholds or restrictions.covers

    def keys_of(self, identifiers: Iterable[str]) -> frozenset[str]:
        """Keys of all proteins that identifiers lead to, restricted or not; what cannot be read is left out."""
        found = set[str]()
        for identifier in identifiers:
            with suppress(InvalidInput, DependencyUnavailable):
                found |= {protein.key for protein in self._led_to(identifier)}
        return frozenset(found)

    def find(self, identifier: str) -> list[Protein]:
        """Proteins that an identifier leads to, letter case aside, in the order of the files; none for an unknown one.

        A note of each names the file.

        Raises
        ------
        InvalidInput
            If only records lead there that are no proteins.
        DependencyUnavailable
            If the record's file was changed or removed after it was indexed.
        Restricted
            If the identifier is restricted, or all that it leads to.
        """
        if self._restrictions.names(identifier):
            raise refusal()
        found = self._led_to(identifier)
        shown = [protein for protein in found if not self._withholds(protein)]
        if found and not shown:
            raise refusal()
        return shown

    def _led_to(self, identifier: str) -> list[Protein]:
        with self._lock:
            query = "SELECT place FROM entry WHERE hash = ? ORDER BY place LIMIT ?"
            places = [row[0] for row in self._database.execute(query, [_hash(identifier), MOST_RECORDS])]
            found, refused = list[Protein](), list[InvalidInput]()
            for place in places:
                try:
                    found.append(self._record(place >> FILE_SHIFT, place & ((1 << FILE_SHIFT) - 1)))
                except InvalidInput as error:
                    refused.append(error)
        if refused and not found:
            raise refused[0]
        return [protein for protein in found if identifier.upper() in map(str.upper, protein.accessions)]

    def _record(self, file: int, offset: int) -> Protein:
        path, size, changed_ns, is_plain = self._files[file]
        if not is_plain:
            return self._kept(file, offset, path)
        try:
            status = Path(path).stat()
            if (status.st_size, status.st_mtime_ns) != (size, changed_ns):
                raise IndexUnusable(self.path, f"{path} was changed after it was indexed")
            with Path(path).open("rb") as stream:
                stream.seek(offset)
                return _read_record(stream, path)
        except OSError as error:
            raise IndexUnusable(self.path, f"{path} cannot be read ({error})") from error

    def _kept(self, file: int, offset: int, path: str) -> Protein:
        query = "SELECT offset, text FROM kept WHERE file = ? AND offset <= ? ORDER BY offset DESC LIMIT 1"
        start, block = self._database.execute(query, [file, offset]).fetchone()
        return _read_record(BytesIO(zlib.decompress(block)[offset - start :]), path)


class IndexUnusable(DependencyUnavailable):
    """An accession index cannot answer."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"The accession index {path}",
            f"{problem[0].upper()}{problem[1:]}. Make it by `protatlas index-accessions`.",
        )


def _hash(identifier: str) -> int:
    digest = blake2b(identifier.upper().encode(errors="replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def _read_record(stream: Bytes, path: str) -> Protein:
    """The record that begins where the stream stands."""
    raw = RawRecord(*next(islice(raw_records(stream, block_bytes=LOOKUP_BYTES), 1, 2)))
    entry = entry_of(raw)
    if isinstance(entry, Skipped):
        raise InvalidInput(
            "accession",
            f"the record {entry.identifier} of {Path(path).name} is no protein: {entry.reason}",
            "a protein",
        )
    notes = (*entry.notes, f"Read from {Path(path).name}.")
    header = parse_header(entry.header)
    return header.protein(entry.sequence, header=entry.header, soft_masked=entry.soft_masked, notes=notes)


def build_accession_index(
    files: Sequence[Path], output: Path, *, progress: Progress, overwrite: bool = False
) -> IndexCounts:
    """Index every record of the files by its identifiers, with the memory of one batch.

    A build that was stopped goes on where it was. `-` is stdin, which is read from its start again.

    Raises
    ------
    InvalidInput
        If a file cannot be read, no record has an identifier, or the output exists and may not be replaced.
    """
    if output.exists() and not overwrite:
        raise InvalidInput("output", f"{output} exists", "a new path, or --overwrite to replace it")
    partial, staging = (output.with_name(output.name + ending) for ending in (".partial", ".staging"))
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with closing(_begun(partial, staging, [_described(path) for path in files])) as database:
            for file, path in enumerate(files):
                _stage_file(database, file, path, progress)
            counts = _sort(database, progress)
        staging.unlink()
        partial.replace(output)
    except (sqlite3.Error, OSError) as error:
        raise InvalidInput("output", f"{output} cannot be written ({error})", "a folder with room for it") from error
    return counts


def _described(path: Path) -> tuple[str, int, int]:
    """Whole path, size and time of the last change of a file."""
    if path == STDIN:
        return "stdin", 0, 0
    status = path.stat()
    return str(path.resolve()), status.st_size, status.st_mtime_ns


def _begun(partial: Path, staging: Path, files: list[tuple[str, int, int]]) -> sqlite3.Connection:
    """Database of an unfinished index; begun anew unless it is one of the same files."""
    if not _is_of(partial, files):
        partial.unlink(missing_ok=True)
        staging.unlink(missing_ok=True)
    is_new = not partial.exists()
    database = sqlite3.connect(partial)
    database.execute("ATTACH ? AS staging", [str(staging)])
    database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    if is_new:
        database.executescript(_SCHEMA)
        rows = [(number, *file) for number, file in enumerate(files)]
        database.executemany("INSERT INTO file (id, path, bytes, changed_ns) VALUES (?, ?, ?, ?)", rows)
        database.commit()
    return database


def _is_of(partial: Path, files: list[tuple[str, int, int]]) -> bool:
    try:
        with closing(sqlite3.connect(partial)) as database:
            return database.execute("SELECT path, bytes, changed_ns FROM file ORDER BY id").fetchall() == files
    except sqlite3.DatabaseError:
        return False


def _stage_file(database: sqlite3.Connection, file: int, path: Path, progress: Progress) -> None:
    """Write the entries of a file, unsorted, from where an earlier run stopped."""
    query = "SELECT records, unnamed, kept_bytes, is_done, bytes FROM file WHERE id = ?"
    done, unnamed, kept_bytes, is_done, size = database.execute(query, [file]).fetchone()
    if is_done:
        return
    name = "stdin" if path == STDIN else path.name
    with raw_stream(path) as source, opened(source) as (stream, is_plain):
        keeper = None if is_plain and path != STDIN else _Keeper(database, file, kept_bytes)
        records = (RawRecord(*raw) for raw in raw_records(stream) if raw[0] is not None)
        for batch in _batched(islice(records, done, None), RECORDS_AT_ONCE):
            rows = [list(_entries(file, record, keeper)) for record in batch]
            database.executemany("INSERT INTO staging.staged VALUES (?, ?)", chain.from_iterable(rows))
            done, unnamed = done + len(batch), unnamed + rows.count([])
            kept_bytes = keeper.write() if keeper else 0
            state = [done, unnamed, kept_bytes, file]
            database.execute("UPDATE file SET records = ?, unnamed = ?, kept_bytes = ? WHERE id = ?", state)
            database.commit()
            progress(name, 0 if path == STDIN else source.tell(), size or None)
    database.execute("UPDATE file SET is_done = 1, is_plain = ? WHERE id = ?", [keeper is None, file])
    database.commit()
    progress(name, size, size or None)


def _entries(file: int, record: RawRecord, keeper: "_Keeper | None") -> Iterator[tuple[int, int]]:
    """Hash and place for each identifier of a record."""
    offset = keeper.keep(record) if keeper else record.offset
    names = header_identifiers(decoded(record.header or b"").strip())
    return ((value, file << FILE_SHIFT | offset) for value in {_hash(name) for name in names if name})


class _Keeper:
    """Keeps the text of records in compressed blocks; the offset of a record counts the text kept before it."""

    def __init__(self, database: sqlite3.Connection, file: int, offset: int) -> None:
        self._database, self._file = database, file
        self.offset = offset
        self._block: list[bytes] = []
        self._start = offset

    def keep(self, record: RawRecord) -> int:
        """Take a record in; its offset."""
        if self.offset - self._start >= KEPT_BLOCK_BYTES:
            self.write()
        offset = self.offset
        text = b">%b\n%b\n" % (record.header or b"", record.body)
        self._block.append(text)
        self.offset += len(text)
        return offset

    def write(self) -> int:
        """Write the block, if there is one; the bytes of text kept so far."""
        if self._block:
            text = zlib.compress(b"".join(self._block))
            self._database.execute("INSERT INTO kept VALUES (?, ?, ?)", [self._file, self._start, text])
        self._block, self._start = [], self.offset
        return self.offset


def _sort(database: sqlite3.Connection, progress: Progress) -> IndexCounts:
    """Write the entries in the order of their hashes, and what the index is."""
    (staged,) = database.execute("SELECT count(*) FROM staging.staged").fetchone()
    if not staged:
        raise InvalidInput("file", "no record with an identifier", "FASTA files")
    progress("sort", 0, staged)
    database.execute("INSERT INTO entry SELECT DISTINCT hash, place FROM staging.staged ORDER BY hash, place")
    records, unnamed = database.execute("SELECT sum(records), sum(unnamed) FROM file").fetchone()
    counts = IndexCounts(records, unnamed, *database.execute("SELECT count(*) FROM entry").fetchone())
    built = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    database.execute("INSERT INTO about VALUES (?, ?, ?, ?)", [built, *counts])
    database.commit()
    progress("sort", staged, staged)
    return counts


def _batched(items: Iterable[RawRecord], size: int) -> Iterator[list[RawRecord]]:
    """Lists of at most `size` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
