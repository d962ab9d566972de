"""What the recurrent baselines share: reading a word piece by piece, and torch's recurrent layers."""

from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from regulargpt.models.base import Model
from regulargpt.models.decoding import Decoder
from regulargpt.models.hooks import HookPoint
from regulargpt.models.layers import Readout, check_words, linear

PIECE = 512
"""Symbols read at once: it bounds the memory of a long word and changes no result."""


class Recurrent(Model):
    """A model that carries a state along the word; `advance` says how a piece of the word moves it."""

    def __init__(self, d_model: int, n_outputs: int, generator: torch.Generator):
        super().__init__()
        self.hook_embed, self.hook_state = HookPoint(), HookPoint()
        self.readout = linear(d_model, n_outputs, generator)

    def advance(
        self, piece: Int[Tensor, "batch part"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Any]:
        """What the readout sees of this piece (its last position, or all), and the state after it."""
        raise NotImplementedError

    def activation(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """Between the state and the linear readout."""
        raise NotImplementedError

    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        """Logits of the answer at the last position, or at every position."""
        return self.read(words, None, readout)[0]

    def read(
        self, words: Int[Tensor, "batch length"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"], Any]:
        """The logits, and the state after the words, from the state before them; None at the beginning."""
        check_words(words, readout)
        seen = []
        for piece in words.split(PIECE, dim=1):
            states, state = self.advance(piece, state, readout)
            # Earlier pieces are let go where only the last position is read.
            seen = [*seen, states] if readout == "all" else [states]
        # The whole word at once, so that who listens hears (batch, length, d_model) however it was cut.
        states = self.hook_state(torch.cat(seen, dim=1))  # (batch, 1 or length, d_model)
        logits = self.readout(self.activation(states))
        return (logits[:, 0] if readout == "last" else logits), state

    def decoder(self, window: int | None = None) -> Decoder:
        """The state alone is kept; with a window, the last symbols are read again."""
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
        """Move the state along."""
        logits, self.state = self.model.read(symbols, self.state, "last")
        return logits


class TorchRecurrent(Recurrent):
    """One-hot symbols, a recurrent layer of torch.nn, ReLU, a linear readout (as in Deletang et al. 2023).

    Weights start at N(0, 1/fan_in), biases at 0, as there. torch's own start, uniform in +-1/sqrt(d_model), gives
    one-hot symbols too little weight: a tanh RNN that learns Parity in 1700 steps had not begun to after 3000.
    """

    cell: ClassVar[type[nn.RNN] | type[nn.LSTM] | type[nn.GRU]]
    options: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        n_symbols: int,
        n_outputs: int,
        *,
        d_model: int = 256,
        n_layers: int = 1,
        generator: torch.Generator | None = None,
    ):
        generator = generator or torch.Generator().manual_seed(0)
        super().__init__(d_model, n_outputs, generator)
        self.n_symbols = n_symbols
        sizes = {"input_size": n_symbols, "hidden_size": d_model, "num_layers": n_layers}
        cell = self.cell(**sizes, **self.options, batch_first=True, device="meta")
        self.rnn = cell.to_empty(device="cpu")
        self.draw(generator)

    def draw(self, generator: torch.Generator) -> None:
        """Fill the weights of the recurrent layer."""
        for name, p in self.rnn.named_parameters():
            if name.startswith("bias"):
                nn.init.zeros_(p)
            else:
                nn.init.normal_(p, std=p.shape[1] ** -0.5, generator=generator)

    def advance(
        self, piece: Int[Tensor, "batch part"], state: Any, readout: Readout
    ) -> tuple[Float[Tensor, "batch read d_model"], Any]:
        """Run torch's layer over the piece."""
        symbols = F.one_hot(piece.long(), self.n_symbols).to(self.readout.weight.dtype)
        states, state = self.rnn(self.hook_embed(symbols), state)
        return (states[:, -1:] if readout == "last" else states), state

    def activation(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows d_model"]:
        """ReLU before the readout."""
        return x.relu()
