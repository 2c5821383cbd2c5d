"""Statistics of features over the reference proteins."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Activations are kept as float16, whose steps are a thousandth; a value near the threshold may be on another side.
MAXIMUM_SHARE, IDF_STEP = 2e-3, 0.02


def pool(activations: Sequence[tuple[Array, Array]], size: int) -> Array:
    """Maximum of each feature on each protein, float32 (proteins, size)."""
    pooled = np.zeros((len(activations), size), dtype=np.float32)
    for row, (indices, values) in zip(pooled, activations, strict=True):
        np.maximum.at(row, indices.ravel(), values.ravel().astype(np.float32))
    return pooled


def statistics(pooled: Array) -> dict[str, Array]:
    """Maximum and log10 IDF of each feature, float32 (size,) each, as a pack holds them."""
    idf = np.log10(len(pooled) / (1 + (pooled > 0).sum(axis=0))).astype(np.float32)
    return {"maximum": pooled.max(axis=0), "idf": idf}


def check_statistics(found: dict[str, Array], stored: dict[str, Array]) -> None:
    """Stop unless the statistics are those stored: else the reference proteins or the weights are not the pack's."""
    same = {
        "maximum": np.isclose(found["maximum"], stored["maximum"], rtol=MAXIMUM_SHARE, atol=0),
        "idf": np.isclose(found["idf"], stored["idf"], rtol=0, atol=IDF_STEP),
    }
    for name, equal in same.items():
        if not equal.all():
            first = int(np.flatnonzero(~equal)[0])
            raise SystemExit(
                f"{name} of {int((~equal).sum())} features differs from the pack's, first of feature {first}: "
                f"{found[name][first]} and not {stored[name][first]}. The work folder holds "
                "other reference proteins or activations of other weights: start afresh with another --work."
            )
