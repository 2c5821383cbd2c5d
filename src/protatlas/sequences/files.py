"""Files and streams of bytes: decompressed by content, with the faults of reading named."""

import bz2
import codecs
import gzip
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from io import SEEK_CUR, BufferedReader, RawIOBase
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from protatlas.errors import InvalidInput


class Bytes(Protocol):
    """What can be read in blocks."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


class _Rejoined(RawIOBase):
    """A stream again whole after its first bytes were looked at."""

    def __init__(self, start: bytes, stream: BinaryIO) -> None:
        self._start, self._stream = start, stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # the base declares any buffer
        found = self._start[: len(buffer)] or self._stream.read(len(buffer))
        self._start = self._start[len(buffer) :]
        buffer[: len(found)] = found
        return len(found)


def _whole_again(start: bytes, stream: BinaryIO) -> BinaryIO:
    """Stream from before its first bytes, which were read already."""
    if not stream.seekable():
        return cast(BinaryIO, BufferedReader(_Rejoined(start, stream)))
    stream.seek(-len(start), SEEK_CUR)
    return stream


def _zstd(stream: BinaryIO) -> Bytes:
    from pyarrow import CompressedInputStream  # brings Arrow, which other files do not wait for

    return cast(Bytes, CompressedInputStream(stream, "zstd"))


def _recoded(encoding: str) -> Callable[[BinaryIO], Bytes]:
    return lambda stream: cast(Bytes, codecs.EncodedFile(stream, "utf-8", encoding, errors="replace"))


_FORMATS: tuple[tuple[bytes, Callable[[BinaryIO], Bytes]], ...] = (
    (b"\x1f\x8b", lambda stream: cast(Bytes, gzip.GzipFile(fileobj=stream))),
    (b"BZh", lambda stream: cast(Bytes, bz2.BZ2File(stream))),
    (b"\x28\xb5\x2f\xfd", _zstd),
    (b"\xfd7zXZ\x00", lambda stream: cast(Bytes, lzma.LZMAFile(stream))),  # noqa: SIM115  # the caller's stream stays open
    (b"\xff\xfe", _recoded("utf-16")),
    (b"\xfe\xff", _recoded("utf-16")),
    (b">\x00", _recoded("utf-16-le")),
    (b"\x00>", _recoded("utf-16-be")),
)
"""First bytes of a format, and what turns it into bytes of text. A `>` and a zero byte is text of a Windows editor."""

STDIN = Path("-")
MAX_TEXT_BYTES = 1 << 28
_TEXT_BLOCK = 1 << 20
_LOOK = max(len(start) for start, _ in _FORMATS)


def read_text(source: str | Path | BinaryIO) -> str:
    """Whole text of a file or stream, in UTF-8 or Windows-1252.

    Raises
    ------
    InvalidInput
        The file cannot be read, or its text is over `MAX_TEXT_BYTES`.
    """
    text = bytearray()
    with opened(source) as (stream, _):
        while block := stream.read(_TEXT_BLOCK):
            text += block
            if len(text) > MAX_TEXT_BYTES:
                raise InvalidInput(
                    "file", f"{name_of(source)} has more than {MAX_TEXT_BYTES:,} bytes", "a shorter text"
                )
    return decoded(bytes(text))


def raw_stream(path: Path) -> AbstractContextManager[BinaryIO]:
    """Bytes of a file as they are; of stdin, which stays open, for `-`."""
    return nullcontext(sys.stdin.buffer) if path == STDIN else path.open("rb")


def decoded(text: bytes) -> str:
    """Text of bytes in UTF-8, or in Windows-1252 where they are not."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text.decode("cp1252", errors="replace")


def name_of(source: str | Path | BinaryIO) -> str:
    """What messages call a source."""
    return str(source) if isinstance(source, (str, Path)) else str(getattr(source, "name", "the input"))


@contextmanager
def opened(source: str | Path | BinaryIO) -> Iterator[tuple[Bytes, bool]]:
    """Bytes of a file or stream after decompression, and whether they lie on the disk just so.

    Plain, gzip (any number of members), bzip2, zstd, xz and UTF-16 are told apart by content. A stream that the caller
    opened is left open.

    Raises
    ------
    InvalidInput
        On a file that cannot be opened or read, or that ends within its compressed data; also while reading.
    """
    name = name_of(source)
    try:
        with Path(source).open("rb") if isinstance(source, (str, Path)) else nullcontext(source) as raw:
            start = raw.read(_LOOK)
            whole = _whole_again(start, raw)
            decode = next((decode for first, decode in _FORMATS if start.startswith(first)), None)
            yield (decode(whole), False) if decode else (whole, True)
    except (EOFError, OSError, zlib.error, lzma.LZMAError, UnicodeError) as error:
        if isinstance(error, EOFError) or "Truncated" in str(error):
            raise InvalidInput("file", f"{name} ends within its compressed data", "a complete file") from error
        raise InvalidInput("file", f"{name} cannot be read ({error})", "a readable FASTA file") from error
