"""The network that becomes the embedded encoder: dilated convolutions over the sequence, in torch."""

import numpy as np
import torch
from torch.nn import functional

from protatlas.engines.encoders import DILATIONS, LETTERS

CHANNELS, FIRST, WIDTH, EMBEDDING = 96, 7, 64, 128
"""Channels of the hidden layers, residues under the first convolution, widths of residues and embedding."""

CODES = np.full(256, len(LETTERS), dtype=np.int64)
CODES[list(LETTERS.encode("ascii"))] = np.arange(len(LETTERS))


def codes(sequences: list[str]) -> torch.Tensor:
    """Letters as numbers, int64 (sequences, longest); 20 stands for any other letter and behind the end."""
    length = max(map(len, sequences))
    rows = [np.frombuffer(s.ljust(length, "-").encode("ascii"), dtype=np.uint8) for s in sequences]
    return torch.from_numpy(CODES[np.stack(rows)])


class Network(torch.nn.Module):
    """One convolution over letters, then residual dilated ones; a head for residues and one for the protein.

    The convolutions are those of pictures one pixel high, with the channels last in memory: on a CPU that takes half
    of the time of `Conv1d`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(len(LETTERS), CHANNELS, (1, FIRST), padding=(0, FIRST // 2))
        self.blocks = torch.nn.ModuleList(
            torch.nn.Conv2d(CHANNELS, CHANNELS, (1, 3), dilation=(1, d), padding=(0, d)) for d in DILATIONS
        )
        self.residue = torch.nn.Linear(CHANNELS, WIDTH)
        self.protein = torch.nn.Linear(CHANNELS, EMBEDDING)
        self.to(memory_format=torch.channels_last)

    def forward(self, letters: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Residues (n, L, WIDTH) and embeddings (n, EMBEDDING), each of length 1, of `codes` and lengths (n,)."""
        inside = (torch.arange(letters.shape[1]) < lengths[:, None])[:, None, None].float()
        one_hot = functional.one_hot(letters, len(LETTERS) + 1)[:, None, :, :-1].float().permute(0, 3, 1, 2)
        hidden = functional.relu(self.first(one_hot)) * inside
        for block in self.blocks:
            hidden = (hidden + functional.relu(block(hidden))) * inside
        rows = hidden[:, :, 0].transpose(1, 2)
        residues = functional.normalize(self.residue(rows), dim=2)
        embedding = functional.normalize(self.protein(rows.sum(1) / lengths[:, None]), dim=1)
        return residues, embedding

    def arrays(self) -> dict[str, np.ndarray]:
        """Weights by the names of the encoder's weight file, float16; a convolution is (taps, in, out)."""
        layers = {"first": self.first, **{f"block_{n}": block for n, block in enumerate(self.blocks)}}
        heads = {"residue": self.residue, "protein": self.protein}
        found = {name: layer.weight.detach()[:, :, 0].permute(2, 1, 0) for name, layer in layers.items()}
        found |= {name: head.weight.detach().T for name, head in heads.items()}
        found |= {f"{name}_bias": layer.bias.detach() for name, layer in {**layers, **heads}.items()}
        return {name: values.numpy().astype(np.float16) for name, values in found.items()}
