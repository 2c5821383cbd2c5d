"""Label features: the concept that fits best on one half of the reference proteins, its F1 measured on the other.

Domain-adjusted F1 as in InterPLM (Simon and Zou 2024, doi:10.1101/2024.11.14.623630): precision over residues, recall
over instances (domains, stretches); over proteins for what is known of whole ones (annotations.py).
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse

from training.annotations import Annotation
from training.concepts import Concept, runs, stretches
from training.pooling import Array

SHARES = (0.2, 0.4, 0.5, 0.6, 0.7, 0.8)
BATCH = 200
MIN_INSTANCES = 5
# A label must beat chance by this much on the half that chooses it.
MIN_F1 = 0.15
BANDS = (("high", 0.7), ("medium", 0.4), ("low", 0.0))


@dataclass
class Reference:
    """Reference proteins with their activations (`indices` int16 and `values` float16, both (L, k)) and stretches."""

    names: list[str]
    sequences: list[str]
    activations: list[tuple[Array, Array]]
    domains: dict[str, list[tuple[Concept, int, int]]]
    annotations: list[Annotation]
    maximum: Array
    pooled: Array
    idf: Array
    frequency: Array = field(init=False)

    def __post_init__(self) -> None:
        """Count the proteins on which each feature is active."""
        self.frequency = (self.pooled > 0).sum(axis=0)

    def instances(self, i: int) -> Iterable[tuple[Concept, int, int]]:
        """Concept stretches of protein i, half-open 0-based."""
        yield from self.domains.get(self.names[i], ())
        yield from stretches(self.sequences[i])


@dataclass(frozen=True)
class Table:
    """F1 of each share of the maximum, feature and concept: float32 (shares, features, concepts)."""

    f1: Array
    support: Array


def _harmonic(precision: Array, recall: Array) -> Array:
    harmonic: Array = (2 * precision * recall / np.maximum(precision + recall, 1e-9)).astype(np.float32)
    return harmonic


def _batch_counts(
    reference: Reference, part: list[int], numbers: dict[Concept, int]
) -> tuple[list[tuple[Array, scipy.sparse.csr_array, scipy.sparse.csr_array]], Array]:
    """For each share: active residues, those inside each concept and instances found; last the instances there are."""
    size, rows, cols, owner, first, start = len(reference.maximum), [], [], [], 0, 0
    for i in part:
        for concept, a, b in reference.instances(i):
            if concept in numbers:
                rows.append(np.arange(start + a, start + b))
                cols.append(np.full(b - a, first))
                owner.append(numbers[concept])
                first += 1
        start += len(reference.sequences[i])
    inside = scipy.sparse.csr_array(
        (np.ones(sum(map(len, rows)), dtype=np.float32), (np.concatenate(rows), np.concatenate(cols))),
        shape=(start, first),
    )
    kind = scipy.sparse.csr_array(
        (np.ones(first, dtype=np.float32), (np.arange(first), owner)), shape=(first, len(numbers))
    )
    covered = (inside @ kind) > 0
    indices = np.concatenate([reference.activations[i][0] for i in part]).astype(np.int64)
    values = np.concatenate([reference.activations[i][1] for i in part]).astype(np.float32)
    at = np.repeat(np.arange(start), indices.shape[1]).reshape(indices.shape)
    counts = []
    for share in SHARES:
        on = values >= share * reference.maximum[indices]
        on &= values > 0
        active = scipy.sparse.csr_array(
            (np.ones(int(on.sum()), dtype=np.float32), (indices[on], at[on])), shape=(size, start)
        )
        hit = (active @ inside) > 0
        counts.append((active.sum(axis=1), active @ covered.astype(np.float32), hit.astype(np.float32) @ kind))
    return counts, kind.sum(axis=0)


def stretch_table(reference: Reference, half: list[int], numbers: dict[Concept, int]) -> Table:
    """Domain-adjusted F1 of every feature against every residue concept on one half of the proteins."""
    shape = (len(SHARES), len(reference.maximum), len(numbers))
    on, inside, found = np.zeros((*shape[:2], 1)), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    support = np.zeros(len(numbers))
    for at in range(0, len(half), BATCH):
        counts, instances = _batch_counts(reference, half[at : at + BATCH], numbers)
        support += instances
        for share, (active, covered, hit) in enumerate(counts):
            on[share, :, 0] += active
            for total, sparse in ((inside, covered), (found, hit)):
                coo = sparse.tocoo()
                total[share, coo.coords[0], coo.coords[1]] += coo.data
    return Table(_harmonic(inside / np.maximum(on, 1), found / np.maximum(support, 1)), support)


def protein_table(reference: Reference, half: list[int], annotation: Annotation) -> Table:
    """F1 over annotated proteins of every feature against every candidate on one half; 0 where it is near chance."""
    annotated = [i for i in half if reference.names[i] in annotation.keys]
    numbers = {key: n for n, key in enumerate(annotation.concepts)}
    truth = np.zeros((len(annotated), len(numbers)), dtype=np.float32)
    for row, i in enumerate(annotated):
        truth[row, [numbers[key] for key in annotation.keys[reference.names[i]] if key in numbers]] = 1
    f1 = []
    for share in SHARES:
        on = (reference.pooled[annotated] >= np.maximum(share * reference.maximum, 1e-6)).astype(np.float32)
        both = on.T @ truth
        f1.append(_harmonic(both / np.maximum(on.sum(0), 1)[:, None], both / np.maximum(truth.sum(0), 1)))
    chance = 2 * truth.mean(0) / (1 + truth.mean(0))
    return Table(np.where(np.stack(f1) > chance + MIN_F1, np.stack(f1), 0), truth.sum(0))


def choose(reference: Reference) -> list[tuple[Concept, float, float] | None]:
    """Concept, F1 on unseen proteins and share of the maximum of each feature, None where nothing fits."""
    halves = list(range(0, len(reference.names), 2)), list(range(1, len(reference.names), 2))
    every = sorted({c for i in range(len(reference.names)) for c, _, _ in reference.instances(i)}, key=lambda c: c.key)
    numbers = {concept: n for n, concept in enumerate(every)}
    kinds = reference.annotations
    tables = [
        [stretch_table(reference, half, numbers), *(protein_table(reference, half, kind) for kind in kinds)]
        for half in halves
    ]
    concepts = every + [concept for kind in kinds for concept in kind.concepts.values()]
    f1 = [np.concatenate([table.f1 for table in found], axis=2) for found in tables]
    support = np.min([np.concatenate([table.support for table in found]) for found in tables], axis=0)
    chosen = np.where(support >= MIN_INSTANCES, f1[0], 0).transpose(1, 0, 2).reshape(len(reference.maximum), -1)
    best = chosen.argmax(axis=1)
    unseen = f1[1].transpose(1, 0, 2).reshape(chosen.shape)[np.arange(len(best)), best]
    fits = (chosen.max(axis=1) >= MIN_F1) & (unseen.round(4) > 0)
    return [
        (concepts[b % len(concepts)], round(float(u), 4), SHARES[b // len(concepts)]) if ok else None
        for b, u, ok in zip(best, unseen, fits, strict=True)
    ]


def pattern(reference: Reference, feature: int, tops: list[int]) -> str:
    """Sentence on where and how the feature fires on its top proteins."""
    lengths: list[int] = []
    places: list[float] = []
    peaks = Counter[str]()
    for i in tops:
        indices, values = reference.activations[i]
        trace = np.where(indices == feature, values, 0).max(axis=1).astype(np.float32)
        stretch = runs(trace >= 0.5 * trace.max())
        lengths.extend(b - a for a, b in stretch)
        peak = int(trace.argmax())
        places.append(peak / max(len(trace) - 1, 1))
        peaks.update(reference.sequences[i][max(peak - 2, 0) : peak + 3])
    total = sum(peaks.values())
    common = [f"{letter} {100 * n / total:.0f} %" for letter, n in peaks.most_common(4)]
    place = ("first", "middle", "last")[min(int(3 * float(np.median(places))), 2)]
    return (
        f"Stretches of {np.median(lengths):.0f} residues (median) at half of the peak or more; the peak lies mostly in "
        f"the {place} third of the protein. Five residues around the peak: {', '.join(common)}."
    )


def exemplars(reference: Reference, tops: list[int]) -> str | None:
    """Sentence on the Pfam families of the top proteins."""
    families = [{c for c, _, _ in reference.domains.get(reference.names[i], ())} for i in tops]
    seen = Counter(f"{c.words} ({c.key})" for found in families for c in sorted(found, key=lambda c: c.key))
    if not seen:
        return None
    most = [f"{name} in {n}" for name, n in seen.most_common(4)]
    return f"Of the {len(tops)} most active reference proteins: {'; '.join(most)}."


def neighbours(decoder: Array, count: int = 10) -> Array:
    """Features of largest decoder cosine, closest first, int (features, count)."""
    rows = decoder / np.maximum(np.linalg.norm(decoder, axis=1, keepdims=True), 1e-9)
    cosine = rows @ rows.T
    np.fill_diagonal(cosine, -np.inf)
    return np.argsort(-cosine, axis=1)[:, :count]


def rows(reference: Reference, near: Array) -> list[dict[str, object]]:
    """Rows of the feature table, by feature index; the columns are those of `protatlas.records.Feature`.

    `near` holds the nearest features of each (see `neighbours`), int (features, count).
    """
    found = choose(reference)
    return [_row(reference, feature, found[feature], near[feature].tolist()) for feature in range(len(near))]


def _row(
    reference: Reference, feature: int, found: tuple[Concept, float, float] | None, near: list[int]
) -> dict[str, object]:
    """Row of one feature."""
    column, frequency = reference.pooled[:, feature], int(reference.frequency[feature])
    tops = [int(i) for i in np.argsort(-column, kind="stable")[:30] if column[i] > 0]
    fires = pattern(reference, feature, tops) if tops else None
    families = exemplars(reference, tops)
    share = 100 * frequency / len(column)
    summary = f"Active on {frequency} of {len(column)} reference proteins ({share:.1f} %)."
    if found:
        summary += (
            f" Fits best from {100 * found[2]:.0f} % of its maximum on: {found[0].words} ({found[0].key}), F1 "
            f"{found[1]:.2f} on proteins that did not choose it."
        )
    texts = (summary, fires, families, "A hypothesis from statistics, not an observation on the protein.")
    return {
        "feature_index": feature,
        "label": found[0].words if found else None,
        "label_reliability": next(b for b, least in BANDS if found[1] >= least) if found else "none",
        "f1": found[1] if found else None,
        "label_from": found[2] if found else None,
        "concept": found[0].key if found else None,
        "summary": summary,
        "description": " ".join(text for text in texts if text),
        "category": found[0].category if found else None,
        "activation_pattern": fires,
        "exemplar_protein_families": families,
        "frequency": frequency,
        "idf": float(reference.idf[feature]),
        "max_activation": float(reference.maximum[feature]),
        "top_swissprot_activations": [
            {"uniprot_id": reference.names[i], "activation": round(float(column[i]), 4)} for i in tops[:10]
        ],
        "decoder_nearest_neighbors": near,
    }
