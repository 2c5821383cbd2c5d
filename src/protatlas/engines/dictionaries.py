"""Sparse autoencoders in the published layout of ESMC: `config.json` and `layer_N.safetensors` in a folder or on a hub.

z is the hidden state of a residue, standardised over its own columns; a = ReLU((z - b_dec) W_enc), of which the
largest k are kept (TopK, Gao et al. 2024, arXiv:2406.04093). The files say nothing of the model they were trained on,
and their shapes fit others: name, layer, size and how well they rebuild a residue are therefore checked.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from protatlas.engines.encoders import Float1D, Float2D
from protatlas.engines.features import Activations
from protatlas.engines.language_models import LanguageModel, same_model
from protatlas.errors import DependencyUnavailable, InvalidInput

Weights: TypeAlias = Mapping[str, npt.NDArray[np.float32]]
CONFIG = "config.json"
GRAMMAR = re.compile(r"(?P<model>.+)-sae-layer(?P<layer>\d+)-k(?P<k>\d+)-codebook(?P<size>\d+)")
"""Name of a sparse autoencoder of one layer, as its publishers compose it."""
PROBE = "MQIFVKTLTGKTITLEVEPSDTIENVKAKIQDKEGIPPDQQRLIFAGKQLEDGRTLSDYNIQKESTLHLVLRLRGG"
"""Human ubiquitin, UniProt P0CG48 1-76: a sequence that every protein model knows."""
LEAST_EXPLAINED = 0.2
"""Share of the variance of the probe's residues that must be rebuilt; published ones explain most of it."""


@dataclass(frozen=True)
class Description:
    """What a folder says of its sparse autoencoder; `model` is null where the name does not tell."""

    folder: Path
    name: str
    model: str | None
    layer: int
    width: int
    k: int
    size: int


class TopK:
    """The encoder half of a TopK sparse autoencoder; see `protatlas.engines.features.Dictionary`."""

    def __init__(self, weights: Weights, described: Description, encoder_id: str, digest: str) -> None:
        self.id, self.encoder_id, self.size = f"{described.name}-{digest[:12]}", encoder_id, described.size
        self._k, self._weights = described.k, weights

    def activate(self, residues: Float2D) -> Activations:
        """Largest k activations of each residue, by feature; int32 and float32 (L, k)."""
        raw = (standardised(residues) - self._weights["b_dec"]) @ self._weights["W_enc"]
        kept = np.sort(np.argpartition(-raw, self._k - 1, axis=1)[:, : self._k], axis=1)
        values = np.maximum(np.take_along_axis(raw, kept, axis=1), 0)
        return Activations(kept.astype(np.int32), values.astype(np.float32))

    def explained(self, residues: Float2D) -> float:
        """Share of the variance of the standardised residues that the active features rebuild, 1 at best."""
        z, found = standardised(residues), self.activate(residues)
        rebuilt = np.einsum("lk,lkd->ld", found.values, self._weights["W_dec"][found.indices]) + self._weights["b_dec"]
        return float(1 - np.square(z - rebuilt).sum() / np.square(z - z.mean(axis=0)).sum())

    def neighbours(self, feature: int, count: int) -> tuple[int, ...]:
        """Other features of largest decoder cosine, closest first."""
        rows = self._weights["W_dec"]
        cosine = rows @ rows[feature] / np.maximum(np.linalg.norm(rows, axis=1), 1e-9)
        cosine[feature] = -np.inf
        return tuple(np.argsort(-cosine, kind="stable")[:count].tolist())


def standardised(residues: Float2D) -> Float2D:
    """Each row minus its mean over its standard deviation (unbiased), float32 of the same shape."""
    spread = residues.std(axis=1, ddof=1, keepdims=True) + 1e-5
    scaled: Float2D = ((residues - residues.mean(axis=1, keepdims=True)) / spread).astype(np.float32)
    return scaled


def describe_dictionary(where: str) -> Description:
    """What the folder, or the hub's copy of that name, says of its one layer.

    Raises
    ------
    DependencyUnavailable
        There is no such folder, on this machine or a hub that can be asked.
    InvalidInput
        It is not of this layout, its name and its configuration disagree, or it holds several layers.
    """
    folder, name = _folder(where), where.rstrip("/").rsplit("/", 1)[-1]
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        width, k, size = (int(config[key]) for key in ("d_model", "k", "codebook_dim"))
        layers = [int(layer) for layer in config["available_layers"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            "sae", f"{name} has no {CONFIG} with d_model, k, codebook_dim and available_layers", "such a folder"
        ) from error
    if len(layers) != 1:
        raise InvalidInput(
            "sae", f"{name} holds the layers {layers}", "a sparse autoencoder of one layer: labels exist for no other"
        )
    told = GRAMMAR.fullmatch(name)
    if told and (int(told["layer"]), int(told["k"]), int(told["size"])) != (layers[0], k, size):
        found = f"layer {layers[0]}, k {k}, codebook {size}"
        raise InvalidInput("sae", f"{name} is configured as {found}", "a configuration that agrees with its name")
    return Description(folder, name, told["model"] if told else None, layers[0], width, k, size)


def open_dictionary(described: Description, encoder: LanguageModel) -> tuple[TopK, Weights]:
    """The sparse autoencoder, and all its arrays, after it was checked against the encoder.

    Raises
    ------
    InvalidInput
        It belongs to another model, layer or width, or does not rebuild the residues of this one.
    """
    name, belongs = described.name, f"{encoder.name} layer {encoder.layer}, width {encoder.width}"
    if described.model and not same_model(described.model, encoder.name):
        raise InvalidInput(
            "sae", f"{name} was trained on {described.model} layer {described.layer}", f"one of {belongs}"
        )
    if (described.layer, described.width) != (encoder.layer, encoder.width):
        found = f"layer {described.layer}, width {described.width}"
        raise InvalidInput("sae", f"{name} reads {found}", f"one of {belongs}")
    path = described.folder / f"layer_{described.layer}.safetensors"
    weights, digest = _weights(path, described)
    sae = TopK(weights, described, encoder.id, digest)
    explained = sae.explained(encoder.encode(PROBE).residues)
    if not explained >= LEAST_EXPLAINED:
        found = f"it rebuilds {100 * max(explained, 0):.0f} % of the residues of {belongs}"
        raise InvalidInput(
            "sae", f"{name} was trained on another model or layer: {found}", f"{100 * LEAST_EXPLAINED:.0f} % or more"
        )
    return sae, weights


def _weights(path: Path, described: Description) -> tuple[Weights, str]:
    """Arrays of the file, of the shapes that the configuration tells, and its SHA-256, lowercase hex."""
    from safetensors.numpy import load

    width, size = described.width, described.size
    shapes = {"W_enc": (width, size), "W_dec": (size, width), "b_dec": (width,)}
    try:
        content = path.read_bytes()
        weights = {name: values.astype(np.float32, copy=False) for name, values in load(content).items()}
    except Exception as error:  # safetensors raises an exception of its own that is not public, and OSError
        raise InvalidInput("sae", f"{path.name} of {described.name} cannot be read", "a safetensors file") from error
    for name, shape in shapes.items():
        found = weights[name].shape if name in weights else None
        if found != shape or not np.isfinite(weights[name]).all():
            raise InvalidInput("sae", f"{name} of {described.name} has shape {found}", f"finite numbers, {shape}")
    return weights, sha256(content).hexdigest()


def _folder(where: str) -> Path:
    """Folder of that name, or the hub's copy of it."""
    if Path(where).is_dir():
        return Path(where)
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(where, allow_patterns=[CONFIG, "layer_*.safetensors"]))
    except ImportError as error:
        raise DependencyUnavailable(
            "A language model", "It needs torch and transformers: pip install 'protatlas[models]'."
        ) from error
    except Exception as error:  # the hub's client raises errors of many kinds, those of its HTTP library among them
        reason = str(error).strip().split("\n", 1)[0]
        raise DependencyUnavailable(
            f"The sparse autoencoder {where}", f"There is no such folder and no hub gave it ({reason})."
        ) from error


def own_statistics(weights: Weights, described: Description) -> tuple[Float1D, Float1D]:
    """IDF and maxima that the file itself carries, each float32 (size,).

    Raises
    ------
    InvalidInput
        They are missing or all 1, as in published files: values would not be normalised.
    """
    idf, maximum = (weights.get(name, np.ones(described.size, np.float32)) for name in ("idf", "max"))
    if np.all(idf == 1) or np.all(maximum == 1):
        raise InvalidInput(
            "labels",
            f"{described.name} carries no statistics (all idf or max are 1)",
            "--labels with the feature table, which has them",
        )
    return idf.astype(np.float32), maximum.astype(np.float32)
