"""Tab-separated tables with a header line, plain or gzipped."""

import csv
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

from protatlas.errors import InvalidInput


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[dict[str, str]]:
    """Rows of a table, by column name; a name that ends in `.gz` is unpacked.

    Raises
    ------
    InvalidInput
        If one of the columns is missing.
    """
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        reader = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        missing = [column for column in columns if column not in (reader.fieldnames or ())]
        if missing:
            raise InvalidInput("file", f"{path.name} has no column {', '.join(missing)}", ", ".join(columns))
        yield from reader
