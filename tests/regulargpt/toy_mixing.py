"""A network of mixers that uses all that a mixer may have: heads, a complex state, a convolution, a faster form."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from regulargpt.models.mixing.chunks import additive
from regulargpt.models.mixing.layers import Draw, ShortConvolution
from regulargpt.models.mixing.mixer import Inputs, Mixer, State
from regulargpt.models.mixing.model import Mixing
from regulargpt.models.mixing.options import MixingOptions


class ToyMixer(Mixer):
    """S <- e^g S + k v^T, z <- z e^{i theta}/2 + v_1; o = S^T q + Re z. Its faster form has chunks of `chunk`."""

    chunk = 5

    def __init__(self, d: int, generator: torch.Generator):
        super().__init__()
        self.maps = Draw("fan-in", generator)(d, 3 * d + 2)
        self.conv = ShortConvolution(3 * d + 2, 4, generator, bias=True)
        self.out = Draw("fan-in", generator)(d, d)
        self.a_log = torch.nn.Parameter(torch.randn(1, generator=generator))

    def inputs(self, x: Tensor, before: Any) -> tuple[Inputs, Any]:
        y, after = self.conv(self.maps(x), before)
        d = x.shape[2]
        q, k, v, g, theta = y.split([d, d, d, 1, 1], 2)
        return (q, k, v, -self.a_log.exp() * g.square(), torch.polar(torch.full_like(theta, 0.5), theta)), after

    def start(self, batch: int) -> tuple[State, Any]:
        d, like = self.out.weight.shape[0], self.out.weight
        numbers = like.new_zeros(batch, 1)
        return (like.new_zeros(batch, d, d), torch.complex(numbers, numbers)), self.conv.start(batch)

    def step(self, state: State, at: Inputs) -> State:
        (S, z), (_, k, v, g, turn) = state, at
        return g.exp()[..., None] * S + k[:, :, None] * v[:, None], z * turn + v[:, :1]

    def read(self, state: State, at: Inputs) -> Tensor:
        return torch.einsum("bkv,bk->bv", state[0], at[0]) + state[1].real

    def output(self, o: Tensor, x: Tensor, at: Inputs) -> Tensor:
        return self.out(o)

    def along(self, inputs: Inputs, state: State) -> tuple[Tensor, State]:
        (S, z), found = state, []
        for q, k, v, g, turn in zip(*(part.split(self.chunk, 1) for part in inputs), strict=True):
            o, S = additive(q, k, v, g[..., 0], S)
            turns = []
            for t in range(q.shape[1]):
                z = z * turn[:, t] + v[:, t, :1]
                turns.append(z.real)
            found.append(o + torch.stack(turns, 1))
        return torch.cat(found, 1), (S, z)


class Toy(Mixing):
    """Blocks of it."""

    def mixer(self, options: MixingOptions, layer: int, draw: Draw) -> ToyMixer:
        return ToyMixer(options.d_model, draw.generator)
