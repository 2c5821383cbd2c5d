"""An opened atlas: look-ups by sequence and accession, search, neighbours, clusters and structures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from protatlas.atlas.format import SEQUENCES, STORE, STRUCTURES, Manifest, read_manifest
from protatlas.atlas.query import ProteinQuery
from protatlas.atlas.store import Between, EdgeStore, Every, Float1D, Is, Neighbour, SparseVector, Store
from protatlas.errors import DependencyUnavailable
from protatlas.records import Cluster, Protein, StoredStructure
from protatlas.sequences import read_fasta
from protatlas.structures.coordinates import Structure, StructureArchive

UNCHARACTERIZED = Between("pct_characterized", None, 0)


@dataclass(frozen=True)
class ClusterHit:
    """A cluster near the query: its representative protein, the similarity (0 to 1) and its features.

    `features` is of unit length; times `profile_norm` its values are the normalised ones.
    """

    protein: Protein
    cluster: Cluster
    similarity: float
    features: SparseVector
    profile_norm: float


@dataclass(frozen=True)
class Found:
    """Proteins of a search, best first, and how many there are in all."""

    proteins: tuple[Protein, ...]
    total: int


class Atlas:
    """An atlas for reading. Any number of threads and processes may read one at the same time."""

    def __init__(self, path: Path, manifest: Manifest, store: Store) -> None:
        self.path = path
        self.manifest = manifest
        self._store = store

    @classmethod
    def open(cls, path: Path) -> "Atlas":
        """Atlas at a path.

        Raises
        ------
        AtlasDamaged
            If it is not an atlas, or not one that this protatlas reads.
        """
        manifest = read_manifest(path)
        return cls(path, manifest, EdgeStore.load(path / STORE))

    def close(self) -> None:
        """Let go of the files."""
        self._store.close()

    @property
    def name(self) -> str:
        """Name that the builder gave."""
        return self.manifest.name

    @property
    def version(self) -> str:
        """Date and time of the build, UTC."""
        return self.manifest.version

    @property
    def count(self) -> int:
        """Number of distinct proteins."""
        return self.manifest.proteins

    def protein(self, key: str) -> Protein | None:
        """Protein of a key, null where the atlas has none."""
        return self.proteins_by_key([key]).get(key)

    def proteins_by_key(self, keys: Sequence[str]) -> dict[str, Protein]:
        """Proteins of those keys that the atlas has."""
        return {key: _protein(payload["record"]) for key, payload in self._store.retrieve(keys).items()}

    def by_identifier(self, identifier: str) -> list[Protein]:
        """Proteins that an accession or identifier leads to, letter case aside; more than one where it is ambiguous."""
        payloads, _ = self._store.find(Is("identifier", identifier.upper()), ranking=None, limit=10)
        return [_protein(payload["record"]) for payload in payloads]

    def search(self, query: ProteinQuery, *, limit: int) -> Found:
        """Proteins that satisfy a query: by relevance of its words, else in the order of the atlas."""
        payloads, total = self._store.find(query.condition, ranking=query.ranking, limit=limit)
        return Found(tuple(_protein(payload["record"]) for payload in payloads), total)

    def similar_clusters(
        self,
        embedding: Float1D,
        features: SparseVector,
        *,
        weights: tuple[float, float],
        uncharacterized: bool,
        limit: int,
    ) -> list[ClusterHit]:
        """Clusters by falling similarity of their representatives to the query.

        Parameters
        ----------
        embedding : float32, shape (embedding width,)
            Unit vector of the query.
        features : SparseVector
            Unit vector of the query's feature values.
        weights : (float, float)
            Share of the embedding's cosine and of the features' cosine in the similarity.
        uncharacterized : bool
            Only clusters of which no member has a Pfam domain.

        Raises
        ------
        DependencyUnavailable
            If `uncharacterized` is asked of an atlas that was built without domains.
        """
        if uncharacterized and self.manifest.with_domains is None:
            raise DependencyUnavailable(
                "Domain annotation",
                f"The atlas {self.name} was built without it; build again with --pfam or --domains.",
            )
        condition = UNCHARACTERIZED if uncharacterized else Every()
        found = self._store.nearest(embedding, features, weights=weights, condition=condition, limit=limit)
        return [_cluster_hit(neighbour) for neighbour in found]

    def cluster(self, key: str) -> tuple[Protein, Cluster] | None:
        """Representative and cluster of a member's key, null for an unknown key."""
        payload = self._store.retrieve([key]).get(key)
        if payload is None:
            return None
        representative = self._store.retrieve([payload["cluster"]])[payload["cluster"]]
        return _protein(representative["record"]), Cluster.model_validate_json(representative["cluster_record"])

    def structure(self, key: str) -> Structure | None:
        """Stored coordinates of a protein, null where there are none."""
        return self._structures.load(key) if self._structures else None

    def structure_record(self, key: str) -> StoredStructure | None:
        """What is known of the stored coordinates of a protein, null where there are none."""
        return self._structures.records.get(key) if self._structures else None

    def cluster_count(self, *, uncharacterized: bool = False) -> int:
        """Number of clusters, or of those without a characterised member."""
        if not uncharacterized:
            return self.manifest.clusters
        return self._store.find(UNCHARACTERIZED, ranking=None, limit=0)[1]

    def sequences(self) -> Iterator[tuple[str, str]]:
        """Key and sequence of every protein."""
        return ((entry.header, entry.sequence) for entry in read_fasta(self.path / SEQUENCES))

    @cached_property
    def _structures(self) -> StructureArchive | None:
        path = self.path / STRUCTURES
        return StructureArchive(path) if path.is_file() else None


def _protein(record: str) -> Protein:
    return Protein.model_validate_json(record)


def _cluster_hit(neighbour: Neighbour) -> ClusterHit:
    return ClusterHit(
        protein=_protein(neighbour.payload["record"]),
        cluster=Cluster.model_validate_json(neighbour.payload["cluster_record"]),
        similarity=neighbour.similarity,
        features=neighbour.features,
        profile_norm=neighbour.payload["profile_norm"],
    )
