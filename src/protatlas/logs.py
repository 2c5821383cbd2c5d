"""Logging of the commands and servers: to stderr, and never a sequence.

The library itself configures nothing; `configure` is for entry points.
"""

import logging
import re
import sys
from collections.abc import Iterable
from traceback import format_exception

SEQUENCE_RUN = re.compile(r"[A-Z*]{12,}|[A-Za-z*]{40,}")
"""Letters that are taken for a sequence: 12 capitals in a row, or 40 letters of any case.

No name in the code and no English word is as long; FASTA lines have 60 letters or more, GenPept groups are of 10.
"""


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Text with each of `secrets` (in any case), and whatever looks like a sequence, replaced by its length."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = re.sub(re.escape(secret), f"[{len(secret)} characters]", text, flags=re.IGNORECASE)
    return SEQUENCE_RUN.sub(lambda run: f"[{len(run[0])} letters]", text)


def failure(error: BaseException, secrets: Iterable[str] = ()) -> str:
    """Traceback of an error, redacted."""
    return redacted("".join(format_exception(error)), secrets)


class Redacting(logging.Formatter):
    """Formatter that redacts whole entries, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        """Entry as one redacted text."""
        return redacted(super().format(record))


def configure(level: str = "INFO") -> None:
    """Send the log of this process to stderr, `level` and above."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Redacting("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it notes every stateless request as a session that ends
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it notes every question to a Qdrant server
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it notes addresses, with the operator's mail in them
