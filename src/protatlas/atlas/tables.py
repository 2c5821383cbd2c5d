"""Parquet tables of an atlas, for pandas, polars and DuckDB: proteins, clusters and features."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from protatlas.records import Cluster, Feature, Protein


def write_tables(
    folder: Path,
    *,
    proteins: Sequence[Protein],
    representatives: Sequence[str],
    clusters: Sequence[Cluster],
    features: Sequence[Feature],
) -> None:
    """Write `proteins.parquet`, `clusters.parquet` and `features.parquet`.

    Parameters
    ----------
    representatives : sequence of str
        Key of the representative of each protein's cluster, in the order of `proteins`.
    """
    folder.mkdir(parents=True)
    rows = [
        {"protein_hash": protein.key, "cluster": cluster, **protein.model_dump(exclude={"go"}), "go": list(protein.go)}
        for protein, cluster in zip(proteins, representatives, strict=True)
    ]
    _write(folder / "proteins.parquet", rows)
    phyla = "top_phyla"
    _write(
        folder / "clusters.parquet",
        [
            {
                **cluster.model_dump(exclude={phyla}),
                phyla: [{"phylum": name, "members": n} for name, n in cluster.top_phyla.items()],
            }
            for cluster in clusters
        ],
    )
    _write(folder / "features.parquet", [feature.model_dump() for feature in features])


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    parquet.write_table(pa.Table.from_pylist(rows), path, compression="zstd")
