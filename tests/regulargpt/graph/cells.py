"""Cells of others, written again from their papers: what a person may bring to `judge`."""

import torch
from torch import nn
from torch.nn import functional as F


class Cell(nn.Module):
    """Embedded symbols, one state vector, a linear readout."""

    parts = 1

    def __init__(self, symbols=2, width=6, answers=2):
        super().__init__()
        self.width, self.embedding, self.head = width, nn.Embedding(symbols, width), nn.Linear(width, answers)
        self.build(width)

    def build(self, width):
        """The weights beside embedding and readout."""

    def start(self, batch):
        zeros = self.head.weight.new_zeros(batch, self.width)
        return zeros if self.parts == 1 else (zeros,) * self.parts

    def step(self, state, symbols):
        return self.moved(state, self.embedding(symbols))

    def readout(self, state):
        return self.head(state if self.parts == 1 else state[0])


class Gru(Cell):
    """Cho et al. 2014, as torch has it."""

    def build(self, width):
        self.cell = nn.GRUCell(width, width)

    def moved(self, h, x):
        return self.cell(x, h)


class NormedLstm(Cell):
    """Ba et al. 2016: an LSTM with LayerNorm."""

    parts = 2

    def build(self, width):
        self.gates, self.norm = nn.Linear(2 * width, 4 * width), nn.LayerNorm(width)

    def moved(self, state, x):
        h, c = state
        i, f, g, o = self.gates(torch.cat([x, h], -1)).chunk(4, -1)
        c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(self.norm(c)), c


class MinGru(Cell):
    """Feng et al. 2024: a GRU whose gates do not see the state."""

    def build(self, width):
        self.maps = nn.Linear(width, 2 * width)

    def moved(self, h, x):
        z, new = self.maps(x).split(self.width, -1)
        return torch.lerp(h, new, z.sigmoid())


class IndRnn(Cell):
    """Li et al. 2018: each unit sees itself alone."""

    def build(self, width):
        self.inward, self.own = nn.Linear(width, width), nn.Parameter(torch.linspace(-0.9, 0.9, width))

    def moved(self, h, x):
        return F.relu(self.inward(x) + self.own * h)


class Lru(Cell):
    """Orvieto et al. 2023, its complex numbers as pairs."""

    parts = 2

    def build(self, width):
        self.nu, self.theta = nn.Parameter(torch.zeros(width)), nn.Parameter(torch.linspace(0, 3, width))
        self.b = nn.Linear(width, 2 * width)

    def moved(self, state, x):
        re, im = state
        size = torch.exp(-torch.exp(self.nu))
        a, b = size * torch.cos(self.theta), size * torch.sin(self.theta)
        in_re, in_im = self.b(x).chunk(2, -1)
        scale = torch.sqrt(1 - size.square())
        return a * re - b * im + scale * in_re, b * re + a * im + scale * in_im


class Convolution(Cell):
    """A recurrence over the last three symbols: an old input stands in the state."""

    parts = 3

    def build(self, width):
        self.weight = nn.Parameter(torch.randn(3, width) * 0.3)

    def moved(self, state, x):
        h, one, two = state
        mixed = (torch.stack([x, one, two], 1) * self.weight).sum(1)
        return F.silu(mixed) + 0.5 * h, x, one


class Mgu(Cell):
    """Zhou et al. 2016: one gate."""

    def build(self, width):
        self.gate, self.new = nn.Linear(2 * width, width), nn.Linear(2 * width, width)

    def moved(self, h, x):
        f = torch.sigmoid(self.gate(torch.cat([h, x], 1)))
        return (1 - f) * h + f * torch.tanh(self.new(torch.cat([f * h, x], 1)))


class FastWeights(Cell):
    """Schlag et al. 2021: a matrix that a delta rule writes to."""

    def build(self, width):
        self.maps, self.out = nn.Linear(width, 3 * width + 1), nn.Linear(width, width)

    def start(self, batch):
        return self.head.weight.new_zeros(batch, self.width, self.width), self.head.weight.new_zeros(batch, self.width)

    def moved(self, state, x):
        W, _ = state
        q, k, v, beta = self.maps(x).split([self.width, self.width, self.width, 1], -1)
        k = F.softmax(k, -1)
        old = torch.bmm(k[:, None], W)[:, 0]
        W = W + torch.sigmoid(beta)[..., None] * k[..., None] * (v - old)[:, None]
        return W, self.out(torch.einsum("bk,bkv->bv", q, W))

    def readout(self, state):
        return self.head(state[1])


class Mixed(Cell):
    """Two layers: a gated one under a norm, and an Elman one, with a residual; the state is a dictionary."""

    def build(self, width):
        self.below, self.above = nn.GRUCell(width, width), nn.RNNCell(width, width)
        self.norm = nn.RMSNorm(width)

    def start(self, batch):
        zeros = self.head.weight.new_zeros(batch, self.width)
        return {"below": zeros, "above": zeros}

    def moved(self, state, x):
        below = self.below(x, state["below"])
        return {"below": below, "above": self.above(self.norm(below), state["above"])}

    def readout(self, state):
        return self.head(F.gelu(state["above"] + state["below"]))


class Attending(Cell):
    """One head of attention over the last two inputs and the state, which is the result."""

    parts = 3

    def build(self, width):
        self.qkv = nn.Linear(width, 3 * width)

    def moved(self, state, x):
        rows = torch.stack([x, *state], 1)  # (batch, 4, width)
        q, k, v = self.qkv(rows).chunk(3, -1)
        shares = torch.softmax(q @ k.transpose(1, 2) / self.width**0.5, -1)
        return (shares @ v)[:, 0], x, state[1]


CELLS = (Gru, NormedLstm, MinGru, IndRnn, Lru, Convolution, Mgu, FastWeights, Mixed, Attending)
