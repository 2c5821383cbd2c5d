"""Composition: an atlas, the engines that understand it, and the parts that answer questions about it."""

import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from protatlas.accession_index import AccessionIndex
from protatlas.atlas.reader import Atlas
from protatlas.atlas.store import Float1D, SparseVector
from protatlas.blast.search import LocalSearch
from protatlas.engines.encoders import Encoder, open_encoder
from protatlas.engines.features import Activations, FeatureSet, Profile, open_features
from protatlas.errors import DependencyUnavailable
from protatlas.structures.render import Renderer

RETRY_AFTER_S = 15.0


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
    where it alone is asked.
    """

    def __init__(self, *, pack: Path | None = None, accessions: Path | None = None, expects_atlas: bool = True) -> None:
        self._pack = pack
        self.expects_atlas = expects_atlas
        self.accessions = AccessionIndex.open(accessions) if accessions else None
        self._atlas: Atlas | None = None
        self._waiting_for = "to be opened"
        self._failure: str | None = None
        self._blast: LocalSearch | None = None
        self._lock = threading.Lock()

    def open(self, path: Path) -> None:
        """Open the atlas at a path; from then on the tools answer.

        Raises
        ------
        AtlasDamaged
            If it is not an atlas that this protatlas reads.
        """
        self._atlas = Atlas.open(path)

    def close(self) -> None:
        """Let go of the atlas, its searches and the renderer's process."""
        if self._blast:
            self._blast.close()
        if self._atlas:
            self._atlas.close()
        if self.accessions:
            self.accessions.close()
        self.renderer.close()

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
        """Ids of the encoder and of the sparse autoencoder of the model pack."""
        return self.encoder.id, self.features.sae.id

    @cached_property
    def encoder(self) -> Encoder:
        """Encoder of the model pack."""
        return open_encoder(self._pack)

    @cached_property
    def features(self) -> FeatureSet:
        """Features of the model pack."""
        return open_features(self._pack)

    @cached_property
    def renderer(self) -> Renderer:
        """Draws structures."""
        return Renderer()

    @property
    def blast(self) -> LocalSearch:
        """Searches the sequences of the atlas, which are read at the first use."""
        with self._lock:
            if self._blast is None:
                self._blast = LocalSearch(self.atlas.sequences())
            return self._blast

    def analyse(self, sequence: str) -> Analysis:
        """Embedding and features of a sequence, by the models that the atlas was built with.

        Raises
        ------
        DependencyUnavailable
            If the atlas was built with other models; the message names both.
        """
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


class AtlasNotReady(DependencyUnavailable):
    """The atlas is still being opened or built."""

    retryable = True

    def __init__(self, waiting_for: str) -> None:
        super().__init__(
            "The atlas", f"It has {waiting_for}. Ask again in {RETRY_AFTER_S:g} s.", retry_after_s=RETRY_AFTER_S
        )
