"""Train the TopK sparse autoencoder on residue representations (Gao et al. 2024, arXiv:2406.04093)."""

from pathlib import Path

import numpy as np
import torch

SIZE = 4096
BATCH = 2048
GROUPS = 256
AUXILIARY = 1 / 32
PATIENCE = 100_000


def standardise(rows: np.ndarray) -> np.ndarray:
    """Each row minus its mean over its standard deviation, as `SparseAutoencoder.activate` does it."""
    spread = rows.std(axis=1, ddof=1, keepdims=True) + 1e-5
    return ((rows - rows.mean(axis=1, keepdims=True)) / spread).astype(np.float32)


def largest(raw: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and columns of the k largest of each row: they lie in the k interleaved groups of largest maximum."""
    groups = raw.detach().view(len(raw), -1, GROUPS).amax(dim=1).topk(k, dim=1).indices
    columns = (groups[:, :, None] + torch.arange(0, raw.shape[1], GROUPS)).flatten(1)
    values, kept = raw.gather(1, columns).topk(k, dim=1)
    return values, columns.gather(1, kept)


class TopK(torch.nn.Module):
    """Encoder and decoder, started from residues; decoder rows are kept at length 1 and `b_dec` is the mean."""

    def __init__(self, rows: torch.Tensor, k: int) -> None:
        super().__init__()
        start = torch.nn.functional.normalize(rows[:SIZE] - rows.mean(0), dim=1)
        self.decoder = torch.nn.Parameter(start.clone())
        self.encoder = torch.nn.Parameter(start.T.clone() / 4)
        self.register_buffer("b_dec", rows.mean(0))
        self.b_enc = torch.nn.Parameter(torch.zeros(SIZE))
        self.k = k

    def decode(self, values: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        """Sum of the decoder rows at `indices` (n, k), weighed by `values` (n, k)."""
        return torch.nn.functional.embedding_bag(indices, self.decoder, per_sample_weights=values, mode="sum")

    def forward(self, z: torch.Tensor, dead: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss (share of unexplained variance, with the auxiliary loss of dead features) and the features in use."""
        raw = (z - self.b_dec) @ self.encoder + self.b_enc
        values, indices = largest(raw, self.k)
        rest = z - self.b_dec - self.decode(values.relu(), indices)
        loss = rest.pow(2).mean()
        if int(dead.sum()) > 2 * self.k:
            at = dead.nonzero()[:, 0]
            values, chosen = raw[:, at].topk(2 * self.k, dim=1)
            loss = loss + AUXILIARY * (rest.detach() - self.decode(values.relu(), at[chosen])).pow(2).mean()
        return loss, indices.unique()


def train(rows: np.ndarray, *, k: int, steps: int, seed: int, checkpoint: Path) -> dict[str, np.ndarray]:
    """Weights `w_enc` (d, SIZE), `w_dec` (SIZE, d), `b_enc`, `b_dec`; the rows are standardised residues (n, d)."""
    torch.manual_seed(seed)
    z = torch.from_numpy(rows[np.random.default_rng(seed).permutation(len(rows))])
    model = TopK(z, k)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: min(1.0, 3 * (1 - step / steps)))
    unused = torch.zeros(SIZE)
    for step in range(steps):
        at = step * BATCH % (len(z) - BATCH)
        loss, used = model(z[at : at + BATCH], unused > PATIENCE)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        with torch.no_grad():
            model.decoder.data = torch.nn.functional.normalize(model.decoder.data, dim=1)
        unused += BATCH
        unused[used] = 0
        if step % 100 == 0:
            print(f"SAE step {step}: loss {loss.item():.4f}, dead {int((unused > PATIENCE).sum())}", flush=True)
            torch.save(model.state_dict(), checkpoint)
    names = {"w_enc": model.encoder, "w_dec": model.decoder, "b_enc": model.b_enc, "b_dec": model.get_buffer("b_dec")}
    return {name: value.detach().numpy() for name, value in names.items()}
