"""What the recurrent baselines share: reading a word piece by piece, and torch's recurrent layers.

Their hook points stand inside the recurrence: a change at a symbol changes all that comes after. Only `hook_output`,
what the readout reads, changes one answer alone. docs/models.md lists them with their shapes.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.base import Model
from regulargpt.models.decoding import Decoder
from regulargpt.models.hooks import HookPoint, carried, hook_points, listened_to
from regulargpt.models.layers import Readout, check_words, linear

PIECE = 512
"""Symbols read at once: it bounds the memory of a long word and changes no result."""


class Recurrent(Model):
    """A model that carries a state along the word; `advance` says how a piece of the word moves it."""

    def __init__(self, d_model: int, n_outputs: int, generator: torch.Generator):
        super().__init__()
        self.hook_embed, self.hook_output = HookPoint(), HookPoint()
        self.readout = linear(d_model, n_outputs, generator)

    @abstractmethod
    def advance(
        self, piece: Int[Tensor, "batch part"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Any]:
        """What the readout sees of this piece (its last position, or all), and the state after it."""

    def activation(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """Between the state and the linear readout."""
        return x

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        return self.read(words, None, readout)[0]

    def read(
        self, words: Int[Tensor, "batch length"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"], Any]:
        """The logits, and the state after the words, from the state before them; None at the beginning."""
        check_words(words, readout)
        seen = []
        # Who listens hears the whole word at once, (batch, length, width).
        for piece in words.split(words.shape[1] if listened_to(self) else PIECE, dim=1):
            states, state = self.advance(piece, state, readout)
            # Earlier pieces are let go where only the last position is read.
            seen = [*seen, states] if readout == "all" else [states]
        states = self.hook_output(torch.cat(seen, dim=1))  # (batch, 1 or length, d_model)
        logits = self.readout(self.activation(states))
        return (logits[:, 0] if readout == "last" else logits), state

    def decoder(self, window: int | None = None) -> Decoder:
        return StateDecoder(self) if window is None else super().decoder(window)


class StateDecoder(Decoder):
    """A recurrent model that reads on.

    >>> from regulargpt.models.gru import Gru
    >>> model, word = Gru(2, 3, d_model=4), torch.tensor([[0, 1, 1]])
    >>> decoder = StateDecoder(model)
    >>> for symbol in word.split(1, dim=1):
    ...     logits = decoder.feed(symbol)
    >>> torch.allclose(logits, model(word), atol=1e-6)
    True
    """

    def __init__(self, model: Recurrent):
        self.model, self.state = model, None

    @torch.no_grad()
    def feed(self, symbols: Int[Tensor, "batch some"]) -> Float[Tensor, "batch n_outputs"]:
        logits, self.state = self.model.read(symbols, self.state, "last")
        return logits


class Stepwise(Recurrent):
    """A recurrent model whose state is one vector, moved by one function of a symbol, `step`; it is what answers.

    A model of your own derives from it and gives `step`. It may give `embed`, `output`, `activation` and, for speed, an
    `advance` of its own. Then hooks on `hook_state` work, and `regulargpt extract` and `verify`.

    >>> class Count(Stepwise):
    ...     def step(self, state, x):
    ...         return state + x
    >>> model = Count(2, 2, 3, torch.Generator())
    >>> model.along(model.embed(torch.tensor([[0, 1, 1]])), model.start(1), 0)
    tensor([[[1., 0.],
             [1., 1.],
             [1., 2.]]])
    """

    def __init__(
        self, n_symbols: int, d_model: int, n_outputs: int, generator: torch.Generator, *, d_state: int | None = None
    ):
        super().__init__(d_model, n_outputs, generator)
        self.n_symbols, self.d_model, self.d_state = n_symbols, d_model, d_state or d_model
        self.hook_state = HookPoint()

    @abstractmethod
    def step(
        self, state: Float[Tensor, "batch d_state"], x: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch d_state"]:
        """The state after another symbol, which `x` stands for."""

    def embed(self, words: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length width"]:
        """What stands for each symbol; one-hot vectors by default."""
        return F.one_hot(words.long(), self.n_symbols).to(self.readout.weight.dtype)

    def output(self, states: Float[Tensor, "*rows d_state"]) -> Float[Tensor, "*rows d_model"]:
        """The part of the state that the readout reads: by default its first `d_model` numbers."""
        return states[..., : self.d_model]

    def start(self, batch: int) -> Float[Tensor, "batch d_state"]:
        """The state before the first symbol: zeros."""
        return self.readout.weight.new_zeros(batch, self.d_state)

    def along(
        self, x: Float[Tensor, "batch length width"], state: Float[Tensor, "batch d_state"], t: int
    ) -> Float[Tensor, "batch length d_state"]:
        """The state after each symbol, of which the first is at position t of its word."""
        own = (self.hook_embed, self.hook_state, self.hook_output)
        inside = [point for point in hook_points(self).values() if point not in own]
        states = []
        for place, symbol in enumerate(x.unbind(1), start=t):
            for point in inside:
                point.place = place
            state = self.step(state, symbol)
            states.append(state)
        return torch.stack(states, 1)  # (batch, length, d_state)

    def advance(
        self, piece: Int[Tensor, "batch part"], state: Float[Tensor, "batch d_state"] | None, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Float[Tensor, "batch d_state"]]:
        x = self.hook_embed(self.embed(piece))
        start = self.start(len(piece)) if state is None else state
        states = carried(self.hook_state, lambda t, before: self.along(x[:, t:], before, t), start)
        return self.output(states[:, -1:] if readout == "last" else states), states[:, -1]


class Points(nn.ModuleDict):
    """The hook points of a layer of a recurrent network: what passes them once a symbol.

    >>> list(Points("h", "c"))
    ['hook_h', 'hook_c']
    """

    def __init__(self, *names: str):
        super().__init__({f"hook_{name}": HookPoint() for name in names})

    def forward(self, name: str, value: Float[Tensor, "batch d_model"]) -> Float[Tensor, "batch d_model"]:
        return self[f"hook_{name}"](value)


class TorchRecurrent(Stepwise):
    """One-hot symbols, a recurrent layer of torch.nn, ReLU, a linear readout (as in Deletang et al. 2023).

    Weights start at N(0, 1/fan_in), biases at 0, as there. torch's own start, uniform in +-1/sqrt(d_model), gives
    one-hot symbols too little weight: a tanh RNN that learns Parity in 1700 steps had not begun to after 3000.

    Where a function listens inside, the equations are computed as `cell_step` has them, which is slower.
    """

    cell: ClassVar[type[nn.RNN] | type[nn.LSTM] | type[nn.GRU]]
    points: ClassVar[tuple[str, ...]] = ("h",)
    parts: ClassVar[int] = 1
    """Vectors that a layer carries: h, of an LSTM also c."""

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 256,
        n_layers: int = 1,
        generator: torch.Generator | None = None,
        **of_cell: str,
    ):
        generator = generator or torch.Generator().manual_seed(0)
        super().__init__(n_symbols, d_model, n_outputs, generator, d_state=self.parts * n_layers * d_model)
        sizes = {"input_size": n_symbols, "hidden_size": d_model, "num_layers": n_layers}
        cell = self.cell(**sizes, **of_cell, batch_first=True, device="meta")
        self.rnn = cell.to_empty(device="cpu")
        self.layers = nn.ModuleList(Points(*self.points) for _ in range(n_layers))
        self.draw(generator)

    def draw(self, generator: torch.Generator) -> None:
        for name, p in self.rnn.named_parameters():
            if name.startswith("bias"):
                nn.init.zeros_(p)
            else:
                nn.init.normal_(p, std=p.shape[1] ** -0.5, generator=generator)

    @abstractmethod
    def cell_step(self, at: nn.Module, x: Tensor, hidden: Tensor, before: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """One symbol in one layer: h, and c if any, from the layer's products with its input and with h.

        `x` and `hidden` are (batch, gates * d_model), `before` what the layer carried, (batch, d_model) each.
        """

    def step(
        self, state: Float[Tensor, "batch d_state"], x: Float[Tensor, "batch width"]
    ) -> Float[Tensor, "batch d_state"]:
        before = state.unflatten(1, (self.parts, len(self.layers), -1)).unbind(2)  # each (batch, parts, d_model)
        after = []
        for number, (at, carries) in enumerate(zip(self.layers, before, strict=True)):
            w_x, w_h, b_x, b_h = self.rnn.all_weights[number]
            h, *_ = parts = carries.unbind(1)  # each (batch, d_model)
            moved = self.cell_step(at, F.linear(x, w_x, b_x), F.linear(h, w_h, b_h), parts)
            x = moved[0]
            after.append(torch.stack(moved, 1))
        return torch.stack(after, 2).flatten(1)  # (batch, d_state), h of all layers first

    def output(self, states: Float[Tensor, "*rows d_state"]) -> Float[Tensor, "*rows d_model"]:
        parts = states.unflatten(-1, (self.parts, len(self.layers), -1))  # (*rows, parts, layers, d_model)
        return parts[..., 0, -1, :]

    def advance(
        self, piece: Int[Tensor, "batch part"], state: Float[Tensor, "batch d_state"] | None, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Float[Tensor, "batch d_state"]]:
        if self.hook_state.listened_to() or listened_to(self.layers):
            return super().advance(piece, state, readout)
        start = self.start(len(piece)) if state is None else state
        parts = start.unflatten(1, (self.parts, len(self.layers), -1))  # (batch, parts, layers, d_model)
        parts = parts.permute(1, 2, 0, 3).contiguous()  # (parts, layers, batch, d_model)
        carries: Any = tuple(parts) if self.parts > 1 else parts[0]  # each (layers, batch, d_model), as torch has them
        states, after = self.rnn(self.hook_embed(self.embed(piece)), carries)
        moved = torch.stack(after) if self.parts > 1 else after[None]  # (parts, layers, batch, d_model)
        carried = moved.permute(2, 0, 1, 3).flatten(1)  # (batch, d_state)
        return (states[:, -1:] if readout == "last" else states), carried

    def activation(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        return x.relu()
