"""Tiny language models with random weights, made from a config, and sparse autoencoders in the published layout."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from safetensors.numpy import save_file
from transformers import EsmcConfig, EsmcModel, EsmConfig, EsmcTokenizer, EsmModel, EsmTokenizer

Config = dict[str, object]
WIDTH, LAYERS, SIZE, K = 32, 3, 64, 32
ESM2_LETTERS = "LAGVSERTIDPKQNFYMHWCXBUZO.-"


def esm2(folder: Path) -> Path:
    """An ESM-2 of three layers."""
    torch.manual_seed(1)
    words = ["<cls>", "<pad>", "<eos>", "<unk>", *ESM2_LETTERS, "<null_1>", "<mask>"]
    config = EsmConfig(
        vocab_size=len(words),
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=130,
        position_embedding_type="rotary",
        token_dropout=True,
        emb_layer_norm_before=False,
        pad_token_id=1,
        mask_token_id=32,
    )
    EsmModel(config, add_pooling_layer=False).save_pretrained(folder)
    (folder / "words.txt").write_text("\n".join(words), encoding="ascii")
    EsmTokenizer(str(folder / "words.txt")).save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder


def esmc(folder: Path) -> Path:
    """An ESMC of three layers."""
    torch.manual_seed(2)
    config = EsmcConfig(
        hidden_size=WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=4,
        head_dim=8,
        intermediate_size=64,
        max_position_embeddings=130,
    )
    EsmcModel(config).save_pretrained(folder)
    EsmcTokenizer().save_pretrained(folder)  # type: ignore[no-untyped-call]
    return folder


def autoencoder(
    folder: Path,
    *,
    layer: int = 2,
    mixed: bool = False,
    statistics: bool = True,
    config: dict[str, object] | None = None,
) -> Path:
    """A dictionary that rebuilds any residue: each column of it and its negative; `mixed`, one that rebuilds none."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(3)
    decoder = np.concatenate([np.eye(WIDTH), -np.eye(WIDTH)]).astype(np.float32)
    weights = {
        "W_enc": np.ascontiguousarray(random.permutation(decoder.T, axis=0) if mixed else decoder.T),
        "W_dec": random.standard_normal(decoder.shape).astype(np.float32) if mixed else decoder,
        "b_dec": np.zeros(WIDTH, np.float32),
        "idf": np.linspace(0.2, 3, SIZE, dtype=np.float32) if statistics else np.ones(SIZE, np.float32),
        "max": np.full(SIZE, 4, np.float32) if statistics else np.ones(SIZE, np.float32),
    }
    save_file(weights, folder / f"layer_{layer}.safetensors")
    described = {"model_type": "esmc_sae", "d_model": WIDTH, "k": K, "codebook_dim": SIZE, "available_layers": [layer]}
    (folder / "config.json").write_text(json.dumps(described | (config or {})), encoding="utf-8")
    return folder


def labels(path: Path, *, size: int = SIZE, natural: bool = False) -> Path:
    """A feature table in the published layout."""
    frequency = np.linspace(10, 10_000, size)
    idf = np.log(1e6 / frequency) if natural else np.log10(1e6 / frequency)
    rows = {
        "feature_id": list(range(size))[::-1],
        "uniref90_frequency": frequency[::-1].tolist(),
        "uniref90_idf": idf[::-1].tolist(),
        "uniref90_max_activation": [4.0] * size,
        "summary": [f"meaning {number}" for number in range(size)][::-1],
        "category": ["Domain"] * size,
        "description": ["A text."] * size,
        "activation_pattern": [None] * size,
        "exemplar_protein_families": [["kinases", "lyases"]] * size,
    }
    pq.write_table(pa.table(rows), path)
    return path
