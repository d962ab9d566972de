"""The linear RNN of section 6.3, x_k = A x_{k-1} + B u_k, run as a parallel scan (Figure 6.2).

A is diagonal, complex and independent of the input (the LRU of Orvieto et al. 2023), so A^(2^l) is one vector
and level l of the scan adds A^(2^l) times the state 2^l positions to the left: the routing of
Sliding-Dilated-Attention with C = 2.
"""

import math
from typing import Any, Literal

import torch
from jaxtyping import Complex, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.hooks import HookPoint, carried
from regulargpt.models.layers import Readout, embedding, linear
from regulargpt.models.recurrent import Recurrent


def scan(a: Complex[Tensor, "n"], v: Complex[Tensor, "batch length n"]) -> Complex[Tensor, "batch length n"]:
    """x_k = sum_j a^j v_{k-j} for every k, in ceil(log2 length) steps.

    >>> scan(torch.tensor([0.5j]), torch.ones(1, 3, 1, dtype=torch.complex64)).flatten()
    tensor([1.0000+0.0000j, 1.0000+0.5000j, 0.7500+0.5000j])
    """
    shift = 1
    while shift < v.shape[1]:
        v = torch.cat([v[:, :shift], v[:, shift:] + a * v[:, :-shift]], dim=1)
        a, shift = a * a, 2 * shift
    return v


def scan_last(a: Complex[Tensor, "n"], v: Complex[Tensor, "batch length n"]) -> Complex[Tensor, "batch 1 n"]:
    """The last state only: the highlighted tree of Figure 6.2, O(length) in all.

    >>> scan_last(torch.tensor([0.5j]), torch.ones(1, 3, 1, dtype=torch.complex64)).flatten()
    tensor([0.7500+0.5000j])
    """
    while v.shape[1] > 1:
        v = F.pad(v, (0, 0, v.shape[1] % 2, 0))  # a zero on the left, where the word has not begun
        v, a = a * v[:, 0::2] + v[:, 1::2], a * a
    return v


def pairs(x: Complex[Tensor, "*rows n"]) -> Float[Tensor, "*rows 2*n"]:
    """Each complex number as two real numbers in turn.

    >>> pairs(torch.tensor([1 + 2j, 3j]))
    tensor([1., 2., 0., 3.])
    """
    return torch.view_as_real(x).flatten(-2)  # (*rows, 2 * n)


def unpaired(x: Float[Tensor, "*rows twice_n"]) -> Complex[Tensor, "*rows n"]:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))  # (*rows, n)


class Lru(nn.Module):
    """The linear recurrent unit x_k = a x_{k-1} + gamma B u_k, y_k = Re(C x_k) + D u_k (Orvieto et al. 2023).

    a = exp(-exp(nu) + i theta) lies inside the unit circle whatever nu is; it starts uniform on the ring of
    radii 0.9..0.999. gamma = sqrt(1 - |a|^2) keeps the states' size. B and C are complex, held as real pairs, and so
    does x pass `hook_state`.
    """

    def __init__(self, d_model: int, generator: torch.Generator):
        super().__init__()
        self.hook_state = HookPoint()
        self.b = linear(d_model, 2 * d_model, generator, bias=False)
        self.c = linear(2 * d_model, d_model, generator, bias=False)
        self.d = nn.Parameter(torch.randn(d_model, generator=generator))
        square, phase = torch.rand(2, d_model, generator=generator)
        # Uniform in the square of the radius is uniform on the ring's area.
        radius = (square * (0.999**2 - 0.9**2) + 0.9**2).sqrt()
        self.nu = nn.Parameter((-radius.log()).log())
        self.theta = nn.Parameter(2 * math.pi * phase)

    def a(self) -> Complex[Tensor, "d_model"]:
        return torch.polar((-self.nu.exp()).exp(), self.theta)

    def forward(
        self,
        u: Float[Tensor, "batch length d_model"],
        state: Complex[Tensor, "batch 1 d_model"] | None,
        readout: Readout,
    ) -> tuple[Float[Tensor, "batch read d_model"], Complex[Tensor, "batch 1 d_model"]]:
        """y at the last position or at all, and the last state."""
        x = self.states(self.inputs(u), state, readout)
        u = u[:, -1:] if readout == "last" else u
        return self.outputs(x, u), x[:, -1:]

    def inputs(self, u: Float[Tensor, "*rows d_model"]) -> Complex[Tensor, "*rows d_model"]:
        """gamma B u: what a symbol adds to the state."""
        gamma = (-torch.expm1(-2 * self.nu.exp())).sqrt()  # |a|^2 = exp(-2 exp(nu)), close to 1
        return unpaired(self.b(u)) * gamma

    def outputs(
        self, x: Complex[Tensor, "*rows d_model"], u: Float[Tensor, "*rows d_model"]
    ) -> Float[Tensor, "*rows d_model"]:
        """y of states and inputs."""
        return self.c(pairs(x)) + self.d * u

    def states(
        self, v: Complex[Tensor, "batch length n"], state: Complex[Tensor, "batch 1 n"] | None, readout: Readout
    ) -> Complex[Tensor, "batch read n"]:
        """x after each of the inputs v, from the state before them; where a function listens, with what it changes."""
        a = self.a()

        def after(before: Tensor, v: Tensor) -> Tensor:
            # The scan is linear: what came before enters as if it were part of the first input.
            return torch.cat([v[:, :1] + a * before, v[:, 1:]], dim=1)

        if not self.hook_state.listened_to():
            v = v if state is None else after(state, v)
            return scan_last(a, v) if readout == "last" else scan(a, v)
        start = v.new_zeros(len(v), v.shape[2]) if state is None else state[:, 0]
        heard = carried(
            self.hook_state, lambda t, x: pairs(scan(a, after(unpaired(x)[:, None], v[:, t:]))), pairs(start)
        )
        return unpaired(heard)[:, -1:] if readout == "last" else unpaired(heard)


class RecurrentBlock(nn.Module):
    """h + GLU(GELU(LRU(LN(h)))): the nonlinearity stands after the recurrence, never inside it."""

    def __init__(self, d_model: int, generator: torch.Generator):
        super().__init__()
        self.ln = nn.LayerNorm(d_model)
        self.lru = Lru(d_model, generator)
        self.glu = linear(d_model, 2 * d_model, generator)
        self.hook_resid_post = HookPoint()

    def forward(
        self, h: Float[Tensor, "batch length d_model"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Any]:
        y, state = self.lru(self.ln(h), state, readout)
        h = h[:, -1:] if readout == "last" else h
        return self.hook_resid_post(h + F.glu(self.glu(F.gelu(y)), dim=-1)), state


class LinearRnn(Recurrent):
    """Embedding, n_layers blocks with a linear recurrence each, LayerNorm, a linear readout.

    >>> model = LinearRnn(2, 3, d_model=8, n_layers=2)
    >>> words = torch.tensor([[0, 1, 1, 0, 1]])
    >>> torch.allclose(model(words), model(words, readout="all")[:, -1], atol=1e-6)
    True
    """

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 64,
        n_layers: int = 2,
        generator: torch.Generator | None = None,
    ):
        generator = generator or torch.Generator().manual_seed(0)
        super().__init__(d_model, n_outputs, generator)
        self.n_symbols = n_symbols
        self.embedding = embedding(n_symbols, d_model, generator)
        self.blocks = nn.ModuleList(RecurrentBlock(d_model, generator) for _ in range(n_layers))
        self.ln_final = nn.LayerNorm(d_model)

    def advance(
        self, piece: Int[Tensor, "batch part"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Any]:
        """All positions in every block but the last, which computes only what is read."""
        h, before, after = self.hook_embed(self.embedding(piece)), state or [None] * len(self.blocks), []
        for number, block in enumerate(self.blocks):
            needed: Literal["last", "all"] = readout if number == len(self.blocks) - 1 else "all"
            h, carried = block(h, before[number], needed)
            after.append(carried)
        return h, after

    def activation(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        return self.ln_final(x)
