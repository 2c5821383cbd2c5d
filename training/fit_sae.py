"""Train the sparse autoencoder on residue representations: one threshold for all features, steered while training.

A feature that passes the threshold keeps its value, any other is 0 (JumpReLU: Rajamanoharan et al. 2024,
arXiv:2407.14435); the threshold moves until a residue has as many features as wanted on average, as in BatchTopK
(Bussmann et al. 2024, arXiv:2412.06410). Dead features learn from what is left to explain (Gao et al. 2024,
arXiv:2406.04093).
"""

from pathlib import Path

import numpy as np
import torch

SIZE = 4096
BATCH = 2048
AUXILIARY, REVIVED = 1 / 32, 8
PATIENCE = 200_000
"""Residues after which a silent feature counts as dead."""
STEERING = 0.02


class Thresholded(torch.nn.Module):
    """Encoder and decoder, started from residues; decoder rows are kept at length 1."""

    def __init__(self, rows: torch.Tensor, active: float) -> None:
        super().__init__()
        start = torch.nn.functional.normalize(rows[:SIZE] - rows.mean(0), dim=1)
        self.decoder = torch.nn.Parameter(start.clone())
        self.encoder = torch.nn.Parameter(start.T.clone())
        self.b_dec = torch.nn.Parameter(rows.mean(0).clone())
        self.b_enc = torch.nn.Parameter(torch.zeros(SIZE))
        raw = (rows[:512] - self.b_dec) @ self.encoder
        self.register_buffer("threshold", raw.flatten().topk(int(512 * active)).values[-1].detach())
        self.active = active

    def forward(self, z: torch.Tensor, dead: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Loss (unexplained variance, with that of dead features), and which features are in use, bool (SIZE,)."""
        raw = (z - self.b_dec) @ self.encoder + self.b_enc
        on = raw > self.threshold
        rest = z - self.b_dec - (raw * on) @ self.decoder
        loss = rest.pow(2).mean()
        at = dead.nonzero()[:, 0]
        if len(at) > REVIVED:
            values, chosen = raw[:, at].topk(REVIVED, dim=1)
            again = torch.nn.functional.embedding_bag(
                at[chosen], self.decoder, per_sample_weights=values.relu(), mode="sum"
            )
            loss = loss + AUXILIARY * (rest.detach() - again).pow(2).mean()
        count = float(on.sum()) / len(z)
        self.threshold *= float(np.clip(1 + STEERING * (count / self.active - 1), 0.98, 1.02))
        return loss, on.any(0)


def train(rows: np.ndarray, *, active: float, steps: int, seed: int, checkpoint: Path) -> dict[str, np.ndarray]:
    """Weights `w_enc` (d, SIZE), `w_dec` (SIZE, d), `b_enc`, `b_dec` and `threshold` for residues (n, d)."""
    torch.manual_seed(seed)
    z = torch.from_numpy(rows[np.random.default_rng(seed).permutation(len(rows))])
    model = Thresholded(z, active)
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
            dead = int((unused > PATIENCE).sum())
            print(
                f"SAE step {step}: loss {loss.item():.4f}, threshold {model.threshold.item():.3f}, dead {dead}",
                flush=True,
            )
            torch.save(model.state_dict(), checkpoint)
    names = {"w_enc": model.encoder, "w_dec": model.decoder, "b_enc": model.b_enc, "b_dec": model.b_dec}
    threshold = np.array(model.threshold.item(), dtype=np.float32)
    return {"threshold": threshold, **{name: tensor.detach().numpy() for name, tensor in names.items()}}
