"""The published feature table of the ESMC sparse autoencoder: a Parquet row a feature, statistics and texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np

from protatlas.engines.encoders import Float1D
from protatlas.engines.features import FeatureRecords
from protatlas.errors import InvalidInput
from protatlas.records import Category, Feature

STATISTICS = ("uniref90_frequency", "uniref90_idf", "uniref90_max_activation")
TEXTS = ("summary", "category", "description", "activation_pattern", "exemplar_protein_families")
TOLERANCE = 0.1
"""By how much the slope of idf against log10 frequency may differ from -1; natural logarithms give -2.3."""
NEIGHBOURS = 10
HYPOTHESIS = "A hypothesis of the publishers of this table, not measured here."


@dataclass(frozen=True)
class PublishedTable:
    """The table as columns: `idf` (log10) and `maximum` float32 (features,), and the rest by name."""

    columns: dict[str, list[Any]]
    idf: Float1D
    maximum: Float1D

    def features(self, neighbours: Callable[[int, int], tuple[int, ...]]) -> Sequence[Feature]:
        """A record a feature, made when it is asked for; `neighbours` gives its nearest by decoder."""
        return _Records(self, neighbours)


def read_published_table(path: Path, *, size: int) -> PublishedTable:
    """Table of the features of a dictionary of that size, in the order of their numbers.

    Raises
    ------
    InvalidInput
        It cannot be read, is of a dictionary of another size, or its IDF is not that of decimal logarithms.
    """
    from pyarrow import ArrowException, parquet

    try:
        columns = parquet.read_table(path).to_pydict()
    except (OSError, ArrowException) as error:
        raise InvalidInput("labels", f"{path.name} cannot be read as Parquet", "the published feature table") from error
    if lacking := sorted({"feature_id", *STATISTICS, *TEXTS} - columns.keys()):
        raise InvalidInput("labels", f"{path.name} lacks {', '.join(lacking)}", "the published feature table")
    if sorted(columns["feature_id"]) != list(range(size)):
        found = f"{path.name} describes {len(columns['feature_id'])} features"
        raise InvalidInput("labels", found, f"the {size} features of this codebook, numbered from 0")
    order = np.argsort(columns["feature_id"])
    columns = {name: [values[at] for at in order] for name, values in columns.items()}
    frequency, idf, maximum = (np.array(columns[name], dtype=np.float64) for name in STATISTICS)
    _check_logarithm(path, frequency, idf)
    return PublishedTable(columns, idf.astype(np.float32), maximum.astype(np.float32))


def _check_logarithm(path: Path, frequency: np.ndarray[Any, Any], idf: np.ndarray[Any, Any]) -> None:
    """Refuse IDF in natural logarithms: it is -log of the frequency, so its slope tells the base."""
    known = (frequency > 0) & np.isfinite(idf)
    logarithm = np.log10(frequency[known])
    slope = float(np.polyfit(logarithm, idf[known], 1)[0]) if np.ptp(logarithm) > 0 else -1.0
    if abs(slope + 1) > TOLERANCE:
        raise InvalidInput(
            "labels", f"idf of {path.name} falls by {-slope:.2f} for a tenfold frequency", "1: decimal logarithms"
        )


class _Records(FeatureRecords):
    """Records of a table."""

    def __init__(self, table: PublishedTable, neighbours: Callable[[int, int], tuple[int, ...]]) -> None:
        self._table, self._neighbours = table, neighbours

    def __len__(self) -> int:
        return len(self._table.idf)

    def _record(self, at: int) -> Feature:
        row = {name: values[at] for name, values in self._table.columns.items()}
        description = " ".join(text for text in (row["description"], HYPOTHESIS) if text)
        return Feature(
            feature_index=at,
            label=row["summary"],
            label_reliability="none",
            f1=None,
            concept=None,
            summary=row["summary"],
            description=description,
            category=row["category"] if row["category"] in self._categories else None,
            activation_pattern=row["activation_pattern"],
            exemplar_protein_families=_text(row["exemplar_protein_families"]),
            frequency=round(float(row["uniref90_frequency"])),
            idf=float(self._table.idf[at]),
            max_activation=float(self._table.maximum[at]),
            top_swissprot_activations=(),
            decoder_nearest_neighbors=self._neighbours(at, NEIGHBOURS),
        )

    @cached_property
    def _categories(self) -> frozenset[str]:
        return frozenset(get_args(Category))


def _text(value: Any) -> str | None:
    """A list of the table as one text."""
    return "; ".join(map(str, value)) if isinstance(value, list) else value
