"""An opened atlas: look-ups by sequence and accession, search, neighbours, clusters and structures."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from protatlas.accessions import parse_accession
from protatlas.atlas.aligning import by_alignment
from protatlas.atlas.edge import EdgeStore
from protatlas.atlas.format import (
    REBUILD,
    RESTRICTED,
    SEQUENCES,
    STORE,
    STRUCTURES,
    Manifest,
    read_manifest,
    sha256_of,
)
from protatlas.atlas.query import ProteinQuery
from protatlas.atlas.store import (
    Between,
    Condition,
    Either,
    Every,
    Float1D,
    HasVectors,
    Is,
    Keys,
    Neighbour,
    Not,
    QdrantServer,
    SparseVector,
    StartsWith,
    Store,
)
from protatlas.atlas.summaries import member_of, summarise
from protatlas.atlas.upload import open_remote
from protatlas.engines.features import Ranking
from protatlas.errors import AtlasDamaged, DependencyUnavailable
from protatlas.records import Cluster, Protein, Record, StoredStructure
from protatlas.restrictions import Restrictions, refusal
from protatlas.sequences import read_fasta
from protatlas.structures.coordinates import Structure, StructureArchive

UNCHARACTERIZED = Between("pct_characterized", None, 0)
KEYS_AT_ONCE = 1_000


class Withheld(Record):
    """What the lists of an operator withhold of an atlas.

    `unmatched` are entries that nothing in the atlas fits; `without_lineage` counts proteins of which it is unknown
    whether they descend from a restricted taxon, 0 where no taxon is restricted.
    """

    proteins: int
    clusters: int
    unmatched: tuple[str, ...]
    without_lineage: int


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
    """Proteins of a search, best first, and how many there are in all.

    `restricted` counts those that would stand among these and are withheld.
    """

    proteins: tuple[Protein, ...]
    total: int
    restricted: int = 0


@dataclass(frozen=True)
class Near:
    """Clusters near a query, nearest first; `restricted` counts those that would stand among these."""

    hits: tuple[ClusterHit, ...]
    restricted: int


class Atlas:
    """An atlas for reading. Any number of threads and processes may read one at the same time.

    What its own list and `restrictions` restrict is withheld here, below everything that answers: no method returns it,
    and a request for one such protein is `Restricted`.
    """

    def __init__(
        self, path: Path, manifest: Manifest, store: Store, *, restrictions: Restrictions | None = None
    ) -> None:
        self.path = path
        self.manifest = manifest
        self._store = store
        listed = restrictions or Restrictions()
        held, self._unmatched = _held(store, listed)
        self.restrictions = listed | Restrictions(keys=held)
        self._withheld = _condition(listed, held)
        self._shown = Not(self._withheld) if self.restrictions else Every()

    @classmethod
    def open(
        cls, path: Path, *, restrictions: Restrictions | None = None, server: QdrantServer | None = None
    ) -> "Atlas":
        """Atlas at a path; `restrictions` add to those of its own list, its points may be on a server.

        Raises
        ------
        AtlasDamaged
            If it is not an atlas, or not one that this protatlas reads.
        DependencyUnavailable
            If the server cannot be asked, or does not have all of it.
        """
        manifest = read_manifest(path, store=server is None)
        both = own_restrictions(path, manifest) | (restrictions or Restrictions())
        store = EdgeStore.load(path / STORE) if server is None else open_remote(manifest, server)
        return cls(path, manifest, store, restrictions=both)

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
        """Number of distinct proteins that are shown."""
        return self._store.find(self._shown, ranking=None, limit=0)[1] if self.restrictions else self.manifest.proteins

    @cached_property
    def withheld(self) -> Withheld:
        """What is withheld, and which entries of the lists fit nothing."""
        is_known = not self.restrictions.taxa
        return Withheld(
            proteins=self.manifest.proteins - self.count,
            clusters=self.manifest.clusters - self.cluster_count(),
            unmatched=self._unmatched,
            without_lineage=0 if is_known else self.manifest.proteins - self.manifest.with_lineage,
        )

    def refuse_restricted(self, key: str) -> None:
        """Refuse the key of a protein that is withheld, held here or not.

        Raises
        ------
        Restricted
            If it is.
        """
        if self.restrictions and (key in self.restrictions.keys or self._retrieved([key], shown=False)):
            raise refusal()

    def withholds(self, protein: Protein) -> bool:
        """Whether a protein, of any source, is restricted by itself or by what this atlas knows of its sequence."""
        return self.restrictions.covers(protein) or bool(self._retrieved([protein.key], shown=False))

    def withholds_identifier(self, identifier: str) -> bool:
        """Whether an identifier is restricted, or leads to a protein that is."""
        if not self.restrictions:
            return False
        named = Every((Is("identifier", identifier.upper()), self._withheld))
        return self.restrictions.names(identifier) or self._store.find(named, ranking=None, limit=0)[1] > 0

    def protein(self, key: str) -> Protein | None:
        """Protein of a key, null where the atlas has none.

        Raises
        ------
        Restricted
            If it is withheld.
        """
        self.refuse_restricted(key)
        return self.proteins_by_key([key]).get(key)

    def proteins_by_key(self, keys: Sequence[str]) -> dict[str, Protein]:
        """Proteins of those keys that the atlas has and shows."""
        return {key: _protein(payload["record"]) for key, payload in self._retrieved(keys).items()}

    def by_identifier(self, identifier: str) -> list[Protein]:
        """Proteins that an accession or identifier leads to, letter case aside; more than one where it is ambiguous.

        Raises
        ------
        Restricted
            If it is restricted by name, or all that it leads to is withheld.
        """
        if self.restrictions.names(identifier):
            raise refusal()
        named = Is("identifier", identifier.upper())
        payloads, total = self._store.find(Every((named, self._shown)), ranking=None, limit=10)
        if not total and self.withholds_identifier(identifier):
            raise refusal()
        return [_protein(payload["record"]) for payload in payloads]

    def search(self, query: ProteinQuery, *, limit: int) -> Found:
        """Proteins that satisfy a query: by relevance of its words, else in the order of the atlas.

        Raises
        ------
        Restricted
            If the query is the identifier of a protein that is withheld.
        """
        condition = query.condition
        if isinstance(condition, Is) and condition.field == "identifier":
            self.by_identifier(str(condition.value))
        payloads, total = self._store.find(Every((condition, self._shown)), ranking=query.ranking, limit=limit)
        restricted = 0
        if self.restrictions:
            best, _ = self._store.find(condition, ranking=query.ranking, limit=limit)
            restricted = sum(map(self._is_withheld, best))
        return Found(tuple(_protein(payload["record"]) for payload in payloads), total, restricted)

    def similar_clusters(
        self,
        sequence: str,
        embedding: Float1D,
        features: SparseVector,
        *,
        ranking: Ranking,
        uncharacterized: bool,
        limit: int,
    ) -> Near:
        """Clusters by falling similarity of their representatives to the query; no cluster whose own is withheld.

        Parameters
        ----------
        sequence : str
            The query.
        embedding : float32, shape (embedding width,)
            Unit vector of the query.
        features : SparseVector
            Unit vector of the query's feature values.
        ranking : Ranking
            How cosines and alignments make up the similarity; the nearest by cosines alone are aligned.
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

        weights, size = (ranking.dense, ranking.sparse), max(limit, ranking.shortlist)

        def nearest(asked: Condition) -> list[Neighbour]:
            found = self._store.nearest(embedding, features, weights=weights, condition=asked, limit=size)
            listed = [(_protein(one.payload["record"]).sequence, one.similarity) for one in found]
            ranked = by_alignment(sequence, listed, ranking=ranking)[:limit]
            return [replace(found[at], similarity=similarity) for at, similarity in ranked]

        best = nearest(condition)
        restricted = sum(self._is_withheld(neighbour.payload) for neighbour in best)
        shown = nearest(Every((condition, self._shown))) if restricted else best
        vectors = self._store.features([neighbour.key for neighbour in shown])
        return Near(tuple(self._cluster_hit(neighbour, vectors[neighbour.key]) for neighbour in shown), restricted)

    def cluster(self, key: str) -> tuple[Protein, Cluster] | None:
        """Representative and cluster of a member's key, null for an unknown key.

        Members that are withheld are left out of the cluster; where its representative is, another member stands in.

        Raises
        ------
        Restricted
            If the protein of the key is withheld.
        """
        self.refuse_restricted(key)
        payload = self._store.retrieve([key]).get(key)
        if payload is None:
            return None
        representative = self._store.retrieve([payload["cluster"]])[payload["cluster"]]
        cluster = Cluster.model_validate_json(representative["cluster_record"])
        if not self._has_withheld_members(cluster):
            return _protein(representative["record"]), cluster
        members = self._shown_members(cluster)
        stands = next((member for member in members if member.key == cluster.representative), members[0])
        return stands, self._summarised(stands, members)

    def structure(self, key: str) -> Structure | None:
        """Stored coordinates of a protein, null where there are none.

        Raises
        ------
        Restricted
            If the protein is withheld.
        """
        self.refuse_restricted(key)
        return self._structures.load(key) if self._structures else None

    def structure_record(self, key: str) -> StoredStructure | None:
        """What is known of the stored coordinates of a protein, null where there are none.

        Raises
        ------
        Restricted
            If the protein is withheld.
        """
        self.refuse_restricted(key)
        return self._structures.records.get(key) if self._structures else None

    def cluster_count(self, *, uncharacterized: bool = False) -> int:
        """Number of clusters that are shown, or of those without a characterised member."""
        if not uncharacterized and not self.restrictions:
            return self.manifest.clusters
        kind = UNCHARACTERIZED if uncharacterized else HasVectors()
        return self._store.find(Every((kind, self._shown)), ranking=None, limit=0)[1]

    def sequences(self) -> Iterator[tuple[str, str]]:
        """Key and sequence of every protein that is shown."""
        entries = ((entry.header, entry.sequence) for entry in read_fasta(self.path / SEQUENCES))
        if not self.restrictions:
            yield from entries
        while batch := list(islice(entries, KEYS_AT_ONCE)):
            withheld = self._retrieved([key for key, _ in batch], shown=False)
            yield from ((key, sequence) for key, sequence in batch if key not in withheld)

    def _retrieved(self, keys: Sequence[str], *, shown: bool = True) -> dict[str, dict[str, Any]]:
        """Payloads of the keys that are there and shown, or of those that are withheld."""
        if not self.restrictions:
            return self._store.retrieve(keys) if shown else {}
        found = self._store.retrieve(keys)
        return {key: payload for key, payload in found.items() if self._is_withheld(payload) is not shown}

    def _is_withheld(self, payload: dict[str, Any]) -> bool:
        """What `_condition` says, of a payload at hand."""
        return payload["key"] in self.restrictions.keys or not self.restrictions.taxa.isdisjoint(payload["taxon"])

    def _cluster_hit(self, neighbour: Neighbour, features: SparseVector) -> ClusterHit:
        protein = _protein(neighbour.payload["record"])
        cluster = Cluster.model_validate_json(neighbour.payload["cluster_record"])
        if self._has_withheld_members(cluster):
            cluster = self._summarised(protein, self._shown_members(cluster))
        return ClusterHit(
            protein=protein,
            cluster=cluster,
            similarity=neighbour.similarity,
            features=features,
            profile_norm=neighbour.payload["profile_norm"],
        )

    def _has_withheld_members(self, cluster: Cluster) -> bool:
        if not self.restrictions:
            return False
        withheld = Every((Is("cluster", cluster.representative), self._withheld))
        return self._store.find(withheld, ranking=None, limit=0)[1] > 0

    def _shown_members(self, cluster: Cluster) -> list[Protein]:
        shown = Every((Is("cluster", cluster.representative), self._shown))
        payloads, _ = self._store.find(shown, ranking=None, limit=cluster.size)
        return [_protein(payload["record"]) for payload in payloads]

    def _summarised(self, representative: Protein, members: Iterable[Protein]) -> Cluster:
        has_domains = self.manifest.with_domains is not None
        return summarise(representative.key, [member_of(member) for member in members], has_domains=has_domains)

    @cached_property
    def _structures(self) -> StructureArchive | None:
        path = self.path / STRUCTURES
        return StructureArchive(path) if path.is_file() else None


def _protein(record: str) -> Protein:
    return Protein.model_validate_json(record)


def own_restrictions(path: Path, manifest: Manifest) -> Restrictions:
    """What the list in an atlas restricts.

    Raises
    ------
    AtlasDamaged
        If the list was changed or removed: it might show what its builder withheld.
    """
    own = path / RESTRICTED
    record = manifest.files.get(RESTRICTED)
    if record is None and not own.exists():
        return Restrictions()
    if record is None or sha256_of(own) != record.sha256:
        raise AtlasDamaged(str(path), f"{RESTRICTED} is not as it was written", REBUILD)
    return Restrictions.read(own)


def _condition(restrictions: Restrictions, held: frozenset[str]) -> Condition:
    """Condition of what is withheld, where `held` are the restricted keys that the store holds."""
    return Either((Keys(held), *(Is("taxon", taxon) for taxon in sorted(restrictions.taxa))))


def _held(store: Store, restrictions: Restrictions) -> tuple[frozenset[str], tuple[str, ...]]:
    """Keys in the store that the keys and accessions of a list lead to, and the entries that fit nothing there."""
    held, fitted = set[str](), set[str]()
    for accessions in _batched(restrictions.accessions):
        named = Either(tuple(map(_leads_from, accessions)))
        payloads, _ = store.find(named, ranking=None, limit=store.find(named, ranking=None, limit=0)[1])
        held |= {payload["key"] for payload in payloads}
        fitted |= {form for payload in payloads for name in payload["identifier"] for form in (name, _entry(name))}
    for keys in _batched(restrictions.keys):
        fitted |= store.retrieve(keys).keys()
    fitted |= {
        f"taxon:{taxon}" for taxon in restrictions.taxa if store.find(Is("taxon", taxon), ranking=None, limit=0)[1]
    }
    unmatched = tuple(entry for entry in restrictions.entries if entry not in fitted)
    return frozenset(held | (restrictions.keys & fitted)), unmatched


def _batched(entries: Iterable[str]) -> Iterator[list[str]]:
    iterator = iter(sorted(entries))
    while batch := list(islice(iterator, KEYS_AT_ONCE)):
        yield batch


def _entry(accession: str) -> str:
    """Accession of the entry that an isoform is of."""
    return accession.partition("-")[0]


def _leads_from(accession: str) -> Condition:
    """Condition of what an accession leads to; a UniProt entry to its isoforms too."""
    itself, known = Is("identifier", accession), parse_accession(accession)
    is_entry = known and known.database == "UniProt" and "-" not in accession
    return Either((itself, StartsWith("identifier", f"{accession}-"))) if is_entry else itself
