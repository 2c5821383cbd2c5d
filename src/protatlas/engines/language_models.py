"""Protein language models as encoders: ESMC and ESM-2, by transformers, from a folder or a hub.

A checkpoint that does not fit its architecture loads with random tensors and a warning; here it is refused. Hidden
states are numbered as in transformers: 0 are the embeddings, i the input of block i, the last one is normalised.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any

import numpy as np

from protatlas.engines.encoders import Encoding, Float2D, units
from protatlas.errors import DependencyUnavailable, InvalidInput

KINDS = {"esm": {"add_pooling_layer": False}, "esmc": {}}
"""Model types that are run, with what their loading needs: the pooling layer of ESM-2 is in no checkpoint."""
DTYPES = ("float32", "bfloat16")
DEVICES = ("cpu", "cuda")
TOKENS = {"cpu": 4_096, "cuda": 16_384}
"""Tokens of a batch, padding included."""
SPECIAL = 2
"""Start and end token."""
LETTERS = frozenset("ACDEFGHIKLMNPQRSTVWYXBUZO")
"""What both vocabularies know; any other letter is read as X."""
OVERLAP = 256
"""Residues that the pieces of a protein beyond the limit share; each keeps its half of them."""


class LanguageModel:
    """A language model and one of its layers.

    Attributes
    ----------
    id : str
        Name, layer and dtype, with the first digits of the SHA-256 of the weights.
    name : str
        Last part of the folder or hub name, such as `ESMC-600M`.
    layer : int
        Hidden state that is read.
    width, embedding_width : int
        Columns of a residue and of the embedding, which is the mean of the residues at length 1.
    max_length : int
        Residues that it sees at once; a longer protein is read in overlapping pieces.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str, layer: int, digest: str, device: str) -> None:
        self._model, self._tokenizer, self._device = model, tokenizer, device
        self.name, self.layer = name, layer
        self.width = self.embedding_width = int(model.config.hidden_size)
        self.max_length: int = int(model.config.max_position_embeddings) - SPECIAL
        self.id = f"{name}-layer{layer}-{str(model.dtype).removeprefix('torch.')}-{digest[:12]}"

    def encode(self, sequence: str) -> Encoding:
        """See `Encoder.encode`."""
        return next(encoding for _, encoding in self.encode_many([sequence]))

    def encode_many(self, sequences: Sequence[str]) -> Iterator[tuple[int, Encoding]]:
        """See `Encoder.encode_many`: proteins of like length share a batch, the longest come first."""
        texts = ["".join(letter if letter in LETTERS else "X" for letter in sequence) for sequence in sequences]
        whole = [at for at, text in enumerate(texts) if len(text) <= self.max_length]
        for at in sorted(set(range(len(texts))) - set(whole)):
            yield at, _encoding(self._in_pieces(texts[at]))
        for batch in batches([len(texts[at]) for at in whole], TOKENS[self._device]):
            places = [whole[row] for row in batch]
            yield from zip(places, map(_encoding, self._hidden([texts[at] for at in places])), strict=True)

    def _in_pieces(self, text: str) -> Float2D:
        """Residues of a protein beyond the limit, from pieces that overlap."""
        step = self.max_length - min(OVERLAP, self.max_length // 2)
        rows = np.empty((len(text), self.width), dtype=np.float32)
        margin = (self.max_length - step) // 2
        for start in range(0, max(len(text) - self.max_length, 0) + step, step):
            low = min(start, len(text) - self.max_length)
            kept = margin if low else 0
            rows[low + kept : low + self.max_length] = self._hidden([text[low : low + self.max_length]])[0][kept:]
        return rows

    def _hidden(self, texts: Sequence[str]) -> list[Float2D]:
        """Hidden state of the layer, a row a residue: without start and end token, and without padding."""
        import torch

        tokens = self._tokenizer(list(texts), padding=True, return_tensors="pt")
        lengths = tokens["attention_mask"].sum(dim=1).tolist()
        if lengths != [len(text) + SPECIAL for text in texts]:
            raise InvalidInput(
                "model",
                f"the tokenizer of {self.name} gives {lengths[0]} tokens for {len(texts[0])} residues",
                "one token a residue, a start and an end",
            )
        ids, mask = (tokens[name].to(self._device) for name in ("input_ids", "attention_mask"))
        with torch.inference_mode():
            states = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
        rows = states[self.layer].float().cpu().numpy()
        return [row[1 : len(text) + 1] for row, text in zip(rows, texts, strict=True)]


def _encoding(rows: Float2D) -> Encoding:
    return Encoding(rows, units(rows.mean(axis=0, keepdims=True, dtype=np.float64).astype(np.float32))[0])


def batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """Places of sequences of like length, longest first; a batch holds at most so many tokens, or one sequence."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lambda at: -lengths[at]):
        if batch and (len(batch) + 1) * (lengths[batch[0]] + SPECIAL) > tokens:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def open_language_model(where: str, *, layer: int, device: str = "cpu", dtype: str = "float32") -> LanguageModel:
    """Language model of a folder, or of a hub by its name there.

    Raises
    ------
    InvalidInput
        It is neither ESMC nor ESM-2, has no such layer, or its checkpoint leaves tensors at random.
    DependencyUnavailable
        torch and transformers are not installed, there is no such model, or no CUDA device.
    """
    torch, transformers = _libraries()
    _check_choice("device", device, DEVICES)
    _check_choice("dtype", dtype, DTYPES)
    if device == "cuda" and not torch.cuda.is_available():
        raise DependencyUnavailable("A CUDA device", "Leave --device out to encode on the processor.")
    name = where.rstrip("/").rsplit("/", 1)[-1]
    with _readable(where):
        config = transformers.AutoConfig.from_pretrained(where)
    if config.model_type not in KINDS:
        raise InvalidInput("model", f"{name} is of type {config.model_type}", f"one of {', '.join(KINDS)}")
    if not 0 <= layer <= config.num_hidden_layers:
        raise InvalidInput("model", f"{name} has layers 0 to {config.num_hidden_layers}, not {layer}", "one of them")
    with _readable(where):
        tokenizer = transformers.AutoTokenizer.from_pretrained(where)
        model, info = transformers.AutoModel.from_pretrained(
            where,
            dtype=getattr(torch, dtype),
            output_loading_info=True,
            ignore_mismatched_sizes=True,  # reported below, in our words
            **KINDS[config.model_type],
        )
    if missing := sorted([*info["missing_keys"], *(row[0] for row in info["mismatched_keys"])]):
        named = ", ".join(missing[:3]) + (f" and {len(missing) - 3} more" if len(missing) > 3 else "")
        raise InvalidInput(
            "model",
            f"the checkpoint of {name} lacks {named}, which would be random",
            "a checkpoint that has every tensor",
        )
    digest = weights_digest(model)
    return LanguageModel(model.eval().to(device), tokenizer, name=name, layer=layer, digest=digest, device=device)


def weights_digest(model: Any) -> str:
    """SHA-256 of the names, shapes and bytes of all weights, lowercase hex."""
    import torch

    found = sha256()
    for name, tensor in sorted(model.state_dict().items()):
        found.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        found.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy())
    return found.hexdigest()


def same_model(first: str, second: str) -> bool:
    """Whether two names mean one model, letter case and the suffix of the transformers layout aside."""
    return re.sub(r"-hf$", "", first.lower()) == re.sub(r"-hf$", "", second.lower())


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as error:
        raise DependencyUnavailable(
            "A language model", "It needs torch and transformers: pip install 'protatlas[models]'."
        ) from error
    transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return torch, transformers


def _check_choice(argument: str, found: str, choices: Sequence[str]) -> None:
    if found not in choices:
        raise InvalidInput(argument, f"{found!r}", f"one of {', '.join(choices)}")


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """Turn what transformers raises for a model that it cannot find or read into one sentence."""
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().split("\n", 1)[0]
        raise DependencyUnavailable(
            f"The language model {where}",
            f"It cannot be read ({reason}). Name a folder with its files, or a hub model.",
        ) from error
