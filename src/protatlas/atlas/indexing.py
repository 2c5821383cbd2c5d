"""The last stages: clusters and their labels, the store, the tables and the sequences, and the check of them all."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from protatlas.atlas import format as layout
from protatlas.atlas import tables as tabular
from protatlas.atlas.annotating import ANNOTATED
from protatlas.atlas.edge import EdgeStore, EdgeWriter
from protatlas.atlas.encoding import Vectors, chunk_vectors
from protatlas.atlas.points import payload_of
from protatlas.atlas.scratch import Scratch
from protatlas.atlas.store import Every, Point
from protatlas.atlas.summaries import Member, member_of, summarise
from protatlas.engines.features import FeatureSet
from protatlas.errors import AtlasDamaged
from protatlas.records import Cluster, Protein

Int1D = npt.NDArray[np.int64]


@dataclass
class Counts:
    """What an atlas holds, counted while it was written."""

    proteins: int = 0
    clusters: int = 0
    residues: int = 0
    with_domains: int = 0
    with_lineage: int = 0
    unknown_taxa: int = 0

    def add(self, protein: Protein) -> None:
        """Count a protein."""
        self.proteins += 1
        self.residues += len(protein.sequence)
        self.with_domains += bool(protein.domains)
        self.with_lineage += bool(protein.lineage)
        self.unknown_taxa += protein.organism_id is not None and not protein.lineage


def write_atlas(
    atlas: Path,
    scratch: Scratch,
    chunks: int,
    owners: Int1D,
    *,
    keys: Sequence[str],
    features: FeatureSet,
    embedding_width: int,
    has_domains: bool,
    progress: Callable[[int], None],
) -> Counts:
    """Write store, tables and sequences of all annotated proteins; what they hold.

    Parameters
    ----------
    owners : int64, shape (proteins,)
        Row of the representative of each protein's cluster.
    keys : sequence of str
        Keys of the proteins.
    progress
        Told the number of proteins that are done.
    """
    groups = _groups(scratch, chunks, owners)
    counts, row = Counts(), 0
    store = EdgeWriter(atlas / layout.STORE, embedding_width=embedding_width)
    with (
        tabular.writing_tables(
            atlas / layout.TABLES, features=features.table, embedding_width=embedding_width
        ) as tables,
        (atlas / layout.SEQUENCES).open("w", encoding="ascii") as sequences,
    ):
        for number in range(chunks):
            proteins, vectors = scratch.proteins(ANNOTATED, number), chunk_vectors(scratch, number)
            rows = range(row, row + len(proteins))
            row = rows.stop
            clusters = {
                at: summarise(keys[at], groups.get(at) or [member_of(protein)], has_domains=has_domains)
                for at, protein in zip(rows, proteins, strict=True)
                if owners[at] == at
            }
            owner_keys = [keys[owner] for owner in owners[rows.start : rows.stop].tolist()]
            store.add(_points(rows, proteins, owner_keys, clusters, vectors))
            tables.add(proteins, owner_keys, vectors)
            tables.add_clusters(list(clusters.values()))
            sequences.writelines(f">{protein.key}\n{protein.sequence}\n" for protein in proteins)
            counts.clusters += len(clusters)
            for protein in proteins:
                counts.add(protein)
            progress(row)
        store.finish()
    return counts


def _groups(scratch: Scratch, chunks: int, owners: Int1D) -> dict[int, list[Member]]:
    """Members of the clusters of more than one, by the row of the representative."""
    sizes = np.bincount(owners, minlength=len(owners))
    found: dict[int, list[Member]] = defaultdict(list)
    for protein, owner in zip(scratch.each_protein(ANNOTATED, chunks), owners.tolist(), strict=True):
        if sizes[owner] > 1:
            found[owner].append(member_of(protein))
    return found


def _points(
    rows: range,
    proteins: Sequence[Protein],
    owners: Sequence[str],
    clusters: dict[int, Cluster],
    vectors: Sequence[Vectors],
) -> Iterator[Point]:
    for row, protein, owner, vector in zip(rows, proteins, owners, vectors, strict=True):
        cluster = clusters.get(row)
        payload = payload_of(protein, position=row, representative=owner, cluster=cluster)
        if cluster:
            payload["profile_norm"] = vector.norm
            yield Point(protein.key, payload, vector.embedding, vector.features)
        else:
            yield Point(protein.key, payload)


def check_atlas(atlas: Path, counts: Counts, keys: Sequence[str]) -> None:
    """Check that the written atlas holds what was counted: points, rows, sizes of clusters, first and last protein.

    Raises
    ------
    AtlasDamaged
        If it does not.
    """
    store = EdgeStore.load(atlas / layout.STORE)
    points = store.find(Every(), ranking=None, limit=0)[1]
    ends = store.retrieve([keys[0], keys[-1]])
    store.close()
    tables = atlas / layout.TABLES
    found = {
        "points of the store": (points, counts.proteins),
        "rows of the proteins": (tabular.row_count(tables / tabular.PROTEINS), counts.proteins),
        "rows of the clusters": (tabular.row_count(tables / tabular.CLUSTERS), counts.clusters),
        "sizes of the clusters": (tabular.column_sum(tables / tabular.CLUSTERS, "size"), counts.proteins),
        "proteins found by key": (len(ends), len({keys[0], keys[-1]})),
    }
    for what, (is_there, expected) in found.items():
        if is_there != expected:
            problem = f"{is_there:,} {what} instead of {expected:,}"
            raise AtlasDamaged(str(atlas), problem, "Build it again; if it fails again, this is a defect of protatlas.")
