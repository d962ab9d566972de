"""The keys and values that cached decoding keeps of a layer."""

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from regulargpt.encodings.base import Encoding


class Cache:
    """The keys and values of a layer, and what `prepare` said of each.

    Keys are kept as they are before the encoding turns them where what it makes of a key depends on more than the key's
    own position: on the middle of the window (xPos).
    """

    def __init__(self) -> None:
        self.k = self.v = self.state = self.before = None

    def prepared(
        self, x: Float[Tensor, "batch some d_model"], encoding: Encoding, layer: int
    ) -> Shaped[Tensor, "batch some *state"] | None:
        """What the encoding says of each new token, of which some may look at tokens from before."""
        if not encoding.reach:
            return encoding.prepare(x, layer)
        before = x[:, :0] if self.before is None else self.before
        x = torch.cat([before, x], 1)  # (batch, reach + some, d_model)
        self.before, state = x[:, -encoding.reach :], encoding.prepare(x, layer)
        return None if state is None else state[:, before.shape[1] :]

    def extended(
        self,
        k: Float[Tensor, "batch n_heads some d_head"],
        v: Float[Tensor, "batch n_heads some d_head"],
        state: Shaped[Tensor, "batch some *state"] | None,
    ) -> tuple[
        Float[Tensor, "batch n_heads keys d_head"],
        Float[Tensor, "batch n_heads keys d_head"],
        Shaped[Tensor, "batch keys *state"] | None,
    ]:
        """All that is kept, with this at its end."""
        self.k = k if self.k is None else torch.cat([self.k, k], dim=2)
        self.v = v if self.v is None else torch.cat([self.v, v], dim=2)
        if state is not None:
            self.state = state if self.state is None else torch.cat([self.state, state], dim=1)
        return self.k, self.v, self.state

    def drop(self, count: int) -> None:
        if self.k is not None and self.v is not None and count > 0:
            self.k, self.v = self.k[:, :, count:], self.v[:, :, count:]
            self.state = None if self.state is None else self.state[:, count:]

    @property
    def bytes(self) -> int:
        kept = (self.k, self.v, self.state, self.before)
        return sum(x.numel() * x.element_size() for x in kept if x is not None)
