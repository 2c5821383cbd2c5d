"""Tables of an atlas, for pandas, polars and DuckDB: proteins, clusters and features as Parquet, vectors as Arrow."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyarrow import compute, ipc, parquet

from protatlas.atlas.encoding import Vectors
from protatlas.records import Cluster, Feature, Protein

PROTEINS, CLUSTERS, FEATURES, VECTORS = "proteins.parquet", "clusters.parquet", "features.parquet", "vectors.arrow"

_TAXON = pa.struct([("taxon_id", pa.int64()), ("rank", pa.string()), ("name", pa.string())])
_DOMAIN = pa.struct(
    {
        "accession": pa.string(),
        "name": pa.string(),
        "description": pa.string(),
        "start": pa.int64(),
        "end": pa.int64(),
        "score": pa.float64(),
    }
)
_TEXTS = pa.list_(pa.string())
_PROTEIN = pa.schema(
    {
        "protein_hash": pa.string(),
        "cluster": pa.string(),
        "sequence": pa.string(),
        "accessions": _TEXTS,
        "header": pa.string(),
        "source": pa.string(),
        "other_headers": _TEXTS,
        "protein_name": pa.string(),
        "gene": pa.string(),
        "organism": pa.string(),
        "organism_id": pa.int64(),
        "reviewed": pa.bool_(),
        "lineage": pa.list_(_TAXON),
        "domains": pa.list_(_DOMAIN),
        "go": pa.list_(pa.struct([("id", pa.string()), ("name", pa.string())])),
        "soft_masked": pa.bool_(),
        "notes": _TEXTS,
    }
)
_CLUSTER = pa.schema(
    {
        "representative": pa.string(),
        "size": pa.int64(),
        "pct_characterized": pa.float64(),
        "mean_domain_coverage": pa.float64(),
        "top_pfam_domains": pa.list_(
            pa.struct([("accession", pa.string()), ("name", pa.string()), ("members", pa.int64())])
        ),
        "lowest_common_ancestor": _TAXON,
        "top_phyla": pa.list_(pa.struct([("phylum", pa.string()), ("members", pa.int64())])),
        "members_without_lineage": pa.int64(),
    }
)


class _Sink(Protocol):
    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch."""


class Tables:
    """Writes the tables batch by batch."""

    def __init__(self, proteins: _Sink, clusters: _Sink, vectors: _Sink) -> None:
        self._proteins, self._clusters, self._vectors = proteins, clusters, vectors

    def add(self, proteins: Sequence[Protein], owners: Sequence[str], vectors: Sequence[Vectors]) -> None:
        """Write proteins with the keys of their clusters' representatives, and their vectors."""
        rows = [_protein_row(protein, owner) for protein, owner in zip(proteins, owners, strict=True)]
        self._proteins.write(pa.RecordBatch.from_pylist(rows, _PROTEIN))
        self._vectors.write(_vector_batch(proteins, vectors))

    def add_clusters(self, clusters: Sequence[Cluster]) -> None:
        """Write clusters."""
        if clusters:
            self._clusters.write(pa.RecordBatch.from_pylist([_cluster_row(cluster) for cluster in clusters], _CLUSTER))


@contextmanager
def writing_tables(folder: Path, *, features: Sequence[Feature], embedding_width: int) -> Iterator[Tables]:
    """Tables of a folder that does not exist yet; that of the features is written at once."""
    folder.mkdir(parents=True)
    table = pa.Table.from_pylist([feature.model_dump() for feature in features])
    parquet.write_table(table, folder / FEATURES, compression="zstd")
    with (
        parquet.ParquetWriter(folder / PROTEINS, _PROTEIN, compression="zstd") as proteins,
        parquet.ParquetWriter(folder / CLUSTERS, _CLUSTER, compression="zstd") as clusters,
        ipc.new_file(folder / VECTORS, _vector_schema(embedding_width)) as vectors,
    ):
        yield Tables(proteins, clusters, vectors)


def _vector_schema(width: int) -> pa.Schema:
    return pa.schema(
        [
            ("protein_hash", pa.string()),
            ("embedding", pa.list_(pa.float16(), width)),
            ("feature_index", pa.list_(pa.int32())),
            ("feature_value", pa.list_(pa.float32())),
        ]
    )


def _vector_batch(proteins: Sequence[Protein], vectors: Sequence[Vectors]) -> pa.RecordBatch:
    embeddings = np.concatenate([vector.embedding for vector in vectors]).astype(np.float16)
    width = len(vectors[0].embedding)
    bounds = pa.array(np.concatenate([[0], np.cumsum([len(vector.indices) for vector in vectors])]), pa.int32())
    indices = pa.array(np.concatenate([vector.indices for vector in vectors]), pa.int32())
    values = pa.array(np.concatenate([vector.values for vector in vectors]), pa.float32())
    return pa.RecordBatch.from_arrays(
        [
            pa.array([protein.key for protein in proteins]),
            pa.FixedSizeListArray.from_arrays(pa.array(embeddings, pa.float16()), width),
            pa.ListArray.from_arrays(bounds, indices),
            pa.ListArray.from_arrays(bounds, values),
        ],
        schema=_vector_schema(width),
    )


def read_proteins_table(folder: Path) -> Iterator[Protein]:
    """Proteins of a folder of tables, in their order."""
    with parquet.ParquetFile(folder / PROTEINS) as file:
        for batch in file.iter_batches(batch_size=1_000):
            for row in batch.to_pylist():
                del row["protein_hash"], row["cluster"]
                yield Protein.model_validate(row | {"go": {term["id"]: term["name"] for term in row["go"]}})


class VectorTable:
    """Vectors by key of a folder of tables, mapped from the disk."""

    def __init__(self, folder: Path) -> None:
        self._table = ipc.open_file(pa.memory_map(str(folder / VECTORS))).read_all().combine_chunks()
        self._rows = {key: row for row, key in enumerate(self._table["protein_hash"].to_pylist())}

    def get(self, key: str) -> Vectors | None:
        """Vectors of a key, null where there are none."""
        row = self._rows.get(key)
        if row is None:
            return None
        embedding, indices, values = (
            self._table[name][row].values.to_numpy(zero_copy_only=False) for name in self._table.column_names[1:]
        )
        return Vectors(embedding, indices, values)


def _protein_row(protein: Protein, owner: str) -> dict[str, Any]:
    go = [{"id": identifier, "name": name} for identifier, name in protein.go.items()]
    return {"protein_hash": protein.key, "cluster": owner, **protein.model_dump(exclude={"go"}), "go": go}


def _cluster_row(cluster: Cluster) -> dict[str, Any]:
    phyla = [{"phylum": name, "members": members} for name, members in cluster.top_phyla.items()]
    return {**cluster.model_dump(exclude={"top_phyla"}), "top_phyla": phyla}


def row_count(path: Path) -> int:
    """Rows of a Parquet table."""
    return int(parquet.read_metadata(path).num_rows)


def column_sum(path: Path, column: str) -> int:
    """Sum of a column of whole numbers."""
    return sum(compute.sum(batch[column]).as_py() or 0 for batch in _batches(path, column))


def _batches(path: Path, column: str) -> Iterable[pa.RecordBatch]:
    with parquet.ParquetFile(path) as file:
        yield from file.iter_batches(columns=[column])
