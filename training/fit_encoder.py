"""Fit the embedded encoder: aligned residues of two related proteins must be nearer than all others of the batch.

InfoNCE (van den Oord et al. 2018, arXiv:1807.03748) over residues, and over whole windows for the embedding.
"""

import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from training.network import Network, codes
from training.pairs import Alignment, Pairs

PAIRS, WINDOW, COLUMNS = 72, 200, 30
"""Pairs a step, residues of a window, aligned columns that are compared of each pair."""
RATE, WARMUP = 2e-3, 200
TEMPERATURE, PROTEIN_WEIGHT = 0.07, 0.3
SUBSTITUTED = 0.05
"""Share of the residues of a window that are replaced by random ones."""


def window(length: int, centre: int, random: np.random.Generator) -> tuple[int, int]:
    """Half-open window of at most `WINDOW` residues that holds the centre."""
    if length <= WINDOW:
        return 0, length
    start = min(max(centre - int(random.integers(WINDOW // 4, 3 * WINDOW // 4)), 0), length - WINDOW)
    return start, start + WINDOW


def substitute(sequence: str, random: np.random.Generator) -> str:
    """The sequence with a few residues replaced."""
    letters = np.frombuffer(sequence.encode("ascii"), dtype=np.uint8).copy()
    at = np.flatnonzero(random.random(len(letters)) < SUBSTITUTED)
    letters[at] = random.choice(letters, size=len(at))
    return letters.tobytes().decode("ascii")


def batch(
    drawn: Iterable[Alignment], sequences: list[str], random: np.random.Generator
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Windows of both proteins of each pair, and the windows (rows) and places of some columns, int64 (columns, 2)."""
    windows: list[str] = []
    rows, places = [], []
    for pair in drawn:
        middle = int(random.integers(len(pair.on_query)))
        bounds = [
            window(len(sequences[protein]), int(at[middle]), random)
            for protein, at in ((pair.query, pair.on_query), (pair.target, pair.on_target))
        ]
        inside = (pair.on_query >= bounds[0][0]) & (pair.on_query < bounds[0][1])
        inside &= (pair.on_target >= bounds[1][0]) & (pair.on_target < bounds[1][1])
        chosen = random.permutation(np.flatnonzero(inside))[:COLUMNS]
        first = len(windows)
        rows.append(np.tile([first, first + 1], (len(chosen), 1)))
        places.append(np.stack([pair.on_query[chosen] - bounds[0][0], pair.on_target[chosen] - bounds[1][0]], axis=1))
        for protein, (start, end) in zip((pair.query, pair.target), bounds, strict=True):
            windows.append(substitute(sequences[protein][start:end], random))
    return windows, np.concatenate(rows), np.concatenate(places)


def contrast(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """Symmetric InfoNCE of two sets of unit rows (n, d) that belong together row by row."""
    logits = left @ right.T / TEMPERATURE
    target = torch.arange(len(left))
    return (functional.cross_entropy(logits, target) + functional.cross_entropy(logits.T, target)) / 2


def train(pairs: Pairs, *, steps: int, seed: int, checkpoint: Path) -> Network:
    """The fitted network; goes on from the checkpoint, which is written every 100 steps."""
    torch.manual_seed(seed)
    model = Network()
    optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
    start = 0
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        optimiser.load_state_dict(state["optimiser"])
        start = state["step"]
    began = time.monotonic()
    for step in range(start, steps):
        random = np.random.default_rng([seed, step])
        windows, rows, places = batch(pairs.draw(random, PAIRS), pairs.sequences, random)
        lengths = torch.tensor([len(one) for one in windows])
        residues, embedding = model(codes(windows), lengths)
        left, right = (residues[rows[:, side], places[:, side]] for side in range(2))
        near = contrast(left, right)
        loss = near + PROTEIN_WEIGHT * contrast(embedding[::2], embedding[1::2])
        for group in optimiser.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARMUP) * (0.5 + 0.5 * float(np.cos(np.pi * step / steps)))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if (step + 1) % 100 == 0:
            rate = (time.monotonic() - began) / (step + 1 - start)
            print(f"encoder step {step + 1}: {loss.item():.3f}, residues {near.item():.3f}, {rate:.2f} s", flush=True)
            state = {"model": model.state_dict(), "optimiser": optimiser.state_dict(), "step": step + 1}
            torch.save(state, checkpoint.with_suffix(".part"))
            checkpoint.with_suffix(".part").rename(checkpoint)
    return model
