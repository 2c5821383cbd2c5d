"""Composition: an atlas, the engines that understand it, and the parts that answer questions about it."""

import logging
import shutil
import threading
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp

from protatlas.accession_index import AccessionIndex
from protatlas.atlas.format import read_manifest
from protatlas.atlas.reader import Atlas, own_restrictions
from protatlas.atlas.store import Float1D, QdrantServer, SparseVector
from protatlas.blast.searches import ATLAS, Searches
from protatlas.blast.targets import Target
from protatlas.engines.encoders import Encoder, open_encoder
from protatlas.engines.features import Activations, FeatureSet, Profile, open_features
from protatlas.engines.published import ModelFiles, open_published
from protatlas.errors import DependencyUnavailable
from protatlas.records import Feature, protein_hash
from protatlas.restrictions import Restrictions
from protatlas.structures.render import Renderer

LOG = logging.getLogger(__name__)
RETRY_AFTER_S = 15.0
NAMED_ENTRIES = 20
"""Restricted entries without a match that the log names."""


@dataclass(frozen=True)
class Analysis:
    """What the engines say of a sequence: unit embedding, residue activations and normalised profile."""

    embedding: Float1D
    activations: Activations
    profile: Profile

    @property
    def vector(self) -> SparseVector:
        """Profile at unit length."""
        return SparseVector.unit(self.profile.indices, self.profile.values)


class App:
    """Everything that a tool may ask. It may exist before its atlas does: `atlas` then says how far the build is.

    `accessions` is an index of FASTA files by accession, null where the operator names none; `expects_atlas` is false
    where it alone is asked. `restricted` is a list of what neither of them shows, `models` a language model with its
    features in place of the embedded pack. `searches` run BLAST; without them jobs are kept for this process alone.
    `lists_jobs` tells whether whoever asks may see all jobs: one user over stdio may, strangers over HTTP may not.
    """

    def __init__(
        self,
        *,
        models: ModelFiles | None = None,
        accessions: Path | None = None,
        restricted: Path | None = None,
        searches: Searches | None = None,
        lists_jobs: bool = False,
        expects_atlas: bool = True,
    ) -> None:
        self._model_files = models
        self.lists_jobs = lists_jobs
        self._searches = searches
        self.expects_atlas = expects_atlas
        self.accessions = AccessionIndex.open(accessions) if accessions else None
        self._restrictions = Restrictions.read(restricted) if restricted else Restrictions()
        if self.accessions:
            self.accessions.restrict(self._with_index(self._restrictions))
        self._atlas: Atlas | None = None
        self._waiting_for = "to be opened"
        self._failure: str | None = None
        self._temporary: Path | None = None
        self._lock = threading.Lock()

    def open(self, path: Path, *, server: QdrantServer | None = None) -> None:
        """Open the atlas at a path, its points on a server where one is given; from then on the tools answer.

        Raises
        ------
        AtlasDamaged
            If it is not an atlas that this protatlas reads.
        DependencyUnavailable
            If the server cannot be asked, or does not have all of the atlas.
        """
        listed = self._restrictions | own_restrictions(path, read_manifest(path, store=server is None))
        atlas = Atlas.open(path, restrictions=self._with_index(listed), server=server)
        if self.accessions:
            self.accessions.restrict(atlas.restrictions, atlas.withholds)
        if atlas.restrictions:
            _log_withheld(atlas, listed)
        self._atlas = atlas
        if self._searches:
            self._searches.atlas = self._target(self._searches)
            self._searches.runner.resume()

    def _with_index(self, restrictions: Restrictions) -> Restrictions:
        """Restrictions with the keys of the sequences that their accessions lead to in the accession index."""
        if self.accessions is None:
            return restrictions
        return restrictions | Restrictions(keys=self.accessions.keys_of(restrictions.accessions))

    def close(self) -> None:
        """Let go of the atlas, its searches and the renderer's process."""
        if self._searches:
            self._searches.close()
        if self._atlas:
            self._atlas.close()
        if self.accessions:
            self.accessions.close()
        self.renderer.close()
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def give_up(self, reason: str) -> None:
        """Say why there will be no atlas in this process; callers are told, and not to ask again."""
        self._failure = reason

    def wait_for(self, what: str) -> None:
        """Say what callers are told while there is no atlas: `to be opened`, `to be built (encode: 40 %)`."""
        self._waiting_for = what

    @property
    def is_ready(self) -> bool:
        """Whether the atlas is open."""
        return self._atlas is not None

    @property
    def atlas(self) -> Atlas:
        """The open atlas.

        Raises
        ------
        DependencyUnavailable
            While it is being built, with the seconds after which to ask again; or when it could not be built.
        """
        if self._failure is not None:
            raise DependencyUnavailable("The atlas", f"{self._failure} The operator has to start the server again.")
        if self._atlas is None:
            raise AtlasNotReady(self._waiting_for)
        return self._atlas

    @cached_property
    def model_ids(self) -> tuple[str, str]:
        """Ids of the encoder and of the sparse autoencoder."""
        return self.encoder.id, self.features.sae.id

    @cached_property
    def _models(self) -> tuple[Encoder, FeatureSet]:
        return open_published(self._model_files) if self._model_files else (open_encoder(), open_features())

    @property
    def encoder(self) -> Encoder:
        """Encoder of the embedded pack, or of the language model that was named."""
        return self._models[0]

    @property
    def features(self) -> FeatureSet:
        """Features of that encoder."""
        return self._models[1]

    @cached_property
    def renderer(self) -> Renderer:
        """Draws structures."""
        return Renderer()

    @property
    def blast(self) -> Searches:
        """Searches by alignment, of the atlas and of what else can be searched."""
        with self._lock:
            if self._searches is None:
                self._temporary = Path(mkdtemp(prefix="protatlas-"))
                self._searches = Searches.at(self._temporary)
                self._searches.atlas = self._target(self._searches)
            return self._searches

    def _target(self, searches: Searches) -> Target:
        """The shown proteins of the atlas as what searches look in; a list of restrictions changes its version."""
        atlas = self.atlas
        listed = sorted(map(str, atlas.restrictions.entries)) if atlas.restrictions else []
        tag = sha256(repr((atlas.name, atlas.version, listed)).encode()).hexdigest()[:12]
        return Target(
            name=atlas.name,
            version=f"{atlas.version} {tag}" if listed else atlas.version,
            molecule="protein",
            sequences=atlas.count,
            residues=atlas.manifest.residues,
            records=lambda: iter(atlas.sequences()),
            folder=searches.folder / ATLAS / tag,
        )

    def feature(self, index: int) -> tuple[Feature, int]:
        """A feature without the reference proteins that are restricted, and their number."""
        feature = self.features.table[index]
        activations = feature.top_swissprot_activations
        shown = tuple(found for found in activations if not self.atlas.withholds_identifier(found.uniprot_id))
        return feature.model_copy(update={"top_swissprot_activations": shown}), len(activations) - len(shown)

    def analyse(self, sequence: str) -> Analysis:
        """Embedding and features of a sequence, by the models that the atlas was built with.

        Raises
        ------
        Restricted
            If it is the sequence of a protein that is withheld.
        DependencyUnavailable
            If the atlas was built with other models; the message names both.
        """
        self.atlas.refuse_restricted(protein_hash(sequence))
        with self._lock:
            self._check_models()
        encoding = self.encoder.encode(sequence)
        activations = self.features.sae.activate(encoding.residues)
        return Analysis(encoding.embedding, activations, self.features.profile(activations))

    def _check_models(self) -> None:
        manifest = self.atlas.manifest
        if manifest.features != self.features.sae.id or manifest.encoder != self.encoder.id:
            raise DependencyUnavailable(
                f"The model of the atlas {self.atlas.name} ({manifest.encoder}, width {manifest.embedding_width}, "
                f"features {manifest.features})",
                f"This server runs {self.encoder.id}, width {self.encoder.embedding_width}, features "
                f"{self.features.sae.id}. Build the atlas again, or serve it with the models that built it.",
            )


def _log_withheld(atlas: Atlas, listed: Restrictions) -> None:
    withheld = atlas.withheld
    LOG.info("%d proteins of the atlas %s are restricted", withheld.proteins, atlas.name)
    entries = frozenset(listed.entries)
    if unmatched := [entry for entry in withheld.unmatched if entry in entries]:
        named = ", ".join(unmatched[:NAMED_ENTRIES])
        more = f" and {len(unmatched) - NAMED_ENTRIES} more" if len(unmatched) > NAMED_ENTRIES else ""
        LOG.warning("restricted entries that fit nothing in the atlas %s: %s%s", atlas.name, named, more)
    if withheld.without_lineage:
        LOG.warning(
            "%d proteins have no lineage: only the taxon ids that they state are compared with restricted taxa",
            withheld.without_lineage,
        )


class AtlasNotReady(DependencyUnavailable):
    """The atlas is still being opened or built."""

    retryable = True

    def __init__(self, waiting_for: str) -> None:
        super().__init__(
            "The atlas", f"It has {waiting_for}. Ask again in {RETRY_AFTER_S:g} s.", retry_after_s=RETRY_AFTER_S
        )
