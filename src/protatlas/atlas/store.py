"""The seam to the vector store: points with two vectors and a payload, found by key, condition or nearness.

The payload fields that can be asked for are in `FIELDS`; truth values are the keywords "true" and "false" (Qdrant Edge
0.9 never matches a boolean). Conditions are a small neutral tree, so that the query
language above and the store below do not know each other.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from protatlas.atlas.ranking import Payload
from protatlas.errors import InvalidInput

Float1D = npt.NDArray[np.float32]
Int1D = npt.NDArray[np.int32]
Value = str | int

EMBEDDING = "embedding"
FEATURES = "features"

FIELDS: dict[str, Literal["keyword", "text", "integer", "float"]] = {
    "identifier": "keyword",
    "gene": "keyword",
    "word": "keyword",
    "domain": "keyword",
    "go": "keyword",
    "cluster": "keyword",
    "taxon": "integer",
    "organism_id": "integer",
    "length": "integer",
    "position": "integer",
    "reviewed": "keyword",
    "pct_characterized": "float",
    "title": "text",
    "text": "text",
    "protein_name": "text",
    "organism": "text",
    "lineage": "text",
}


@dataclass(frozen=True)
class Is:
    """The field has this value."""

    field: str
    value: Value


@dataclass(frozen=True)
class StartsWith:
    """A keyword of the field starts with this text."""

    field: str
    prefix: str


@dataclass(frozen=True)
class Words:
    """The text field holds all these words, in any order; as a phrase, one after the other."""

    field: str
    text: str
    phrase: bool = False


@dataclass(frozen=True)
class Between:
    """The number is within bounds, both included; null is unbounded."""

    field: str
    lowest: float | None
    highest: float | None


@dataclass(frozen=True)
class Every:
    """All parts hold; with no part, always."""

    parts: tuple["Condition", ...] = ()


@dataclass(frozen=True)
class Either:
    """At least one part holds."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True)
class Not:
    """The part does not hold."""

    part: "Condition"


@dataclass(frozen=True)
class Keys:
    """The point has one of these keys."""

    keys: frozenset[str]


@dataclass(frozen=True)
class HasVectors:
    """The point carries vectors: it represents a cluster."""


Condition = Is | StartsWith | Words | Between | Every | Either | Not | Keys | HasVectors


@dataclass(frozen=True)
class SparseVector:
    """Sparse vector of unit length: ascending int32 indices and float32 values of the same length."""

    indices: Int1D
    values: Float1D

    @classmethod
    def unit(cls, indices: Int1D, values: Float1D) -> "SparseVector":
        """Vector of these values at length 1; no values stay no values."""
        norm = float(np.linalg.norm(values)) or 1.0
        return cls(indices.astype(np.int32), (values / norm).astype(np.float32))


@dataclass(frozen=True)
class Point:
    """A protein as it is stored; representatives carry vectors, other members do not."""

    key: str
    payload: dict[str, Any]
    embedding: Float1D | None = None
    features: SparseVector | None = None


@dataclass(frozen=True)
class Neighbour:
    """A point near the query: key, similarity (0 to 1, higher is closer) and its payload."""

    key: str
    similarity: float
    payload: dict[str, Any]


class Store(Protocol):
    """What an atlas asks of its store."""

    def retrieve(self, keys: Sequence[str]) -> dict[str, Payload]:
        """Payloads of the keys that are there."""

    def features(self, keys: Sequence[str]) -> dict[str, SparseVector]:
        """Feature vectors, of unit length, of the keys that have one."""

    def find(self, condition: Condition, *, ranking: str | None, limit: int) -> tuple[list[Payload], int]:
        """Payloads that satisfy a condition, by BM25 of `ranking` or in input order, and their total number."""

    def nearest(
        self,
        embedding: Float1D,
        features: SparseVector,
        *,
        weights: tuple[float, float],
        condition: Condition,
        limit: int,
    ) -> list[Neighbour]:
        """Points by falling weighted sum of the two cosines."""

    def close(self) -> None:
        """Let go of the files or the connection."""


@dataclass(frozen=True)
class QdrantServer:
    """Where a Qdrant server listens, such as `http://qdrant:6333`, and the key that it asks for."""

    url: str
    api_key: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse what is no address.

        Raises
        ------
        InvalidInput
            Without the address, which may hold a password.
        """
        if not self._is_address:
            raise InvalidInput(
                "store",
                "this is no address of a Qdrant server",
                "http://HOST:PORT or https://HOST:PORT, and a key, if any, in PROTATLAS_STORE_API_KEY",
            )
        if self.api_key is not None and not (self.api_key.isascii() and self.api_key.isprintable()):
            raise InvalidInput("PROTATLAS_STORE_API_KEY", "it has characters that no key has", "printable ASCII")

    @property
    def _is_address(self) -> bool:
        try:
            parts = urlsplit(self.url)
            is_given = bool(parts.hostname) and parts.port != 0
        except ValueError:  # brackets that do not close, a port beyond 65535
            return False
        return is_given and parts.scheme in ("http", "https") and not (parts.username or parts.query or parts.fragment)

    @property
    def has_port(self) -> bool:
        """Whether the address names a port; else it is that of the scheme for https, and 6333 for http."""
        parts = urlsplit(self.url)
        return parts.port is not None or parts.scheme == "https"
