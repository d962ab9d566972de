"""A recurrent network as a chain: one function of a symbol and of the state that it carries, a vector of fixed size.

The whole state is in it: all layers, and whatever else the network carries from symbol to symbol.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from languages.errors import UserError
from regulargpt.finite.float64_network import ROWS, as_float64
from regulargpt.models.base import device_of
from regulargpt.models.recurrent import Recurrent

CARRIES = "a chain carries tensors (batch, ...) of real or complex numbers, of one size"


class Chain:
    """A recurrent network in float64, on the CPU and without gradients; its state is a vector of `dimension` numbers.

    They are the numbers of what `Recurrent.read` carries on, in its order: tensor after tensor, a complex number as its
    real and its imaginary part. `n_symbols` is the model's own if it is not given.

    With `as_it_is` it computes as the model does, in its arithmetic and on its device: only the vectors are float64.

    Raises UserError for what is no such network: its state grows with the word, say.

    >>> from regulargpt.models.lstm import Lstm
    >>> model = Lstm(2, 3, d_model=8)
    >>> chain = Chain(model)
    >>> logits, states = chain.first(torch.tensor([0, 1]))
    >>> logits, states = chain.step(states, torch.tensor([1, 1]))
    >>> torch.allclose(logits.float(), model(torch.tensor([[0, 1], [1, 1]])), atol=1e-6), chain.dimension
    (True, 16)
    """

    def __init__(self, model: Recurrent, n_symbols: int | None = None, as_it_is: bool = False):
        self.name = type(model).__name__
        self.n_symbols: int = getattr(model, "n_symbols", 0) if n_symbols is None else n_symbols
        if self.n_symbols < 1:
            raise UserError(f"{self.name} does not say how many symbols it reads; set its `n_symbols`")
        self.model = model if as_it_is else as_float64(model)
        # Words of one and of two symbols: a state that grows is another after the second.
        symbols = torch.zeros(2, dtype=torch.long, device=device_of(self.model))
        logits, self.pattern = self._read(symbols[:, None], None)
        self.shapes = self._shapes(self.pattern, len(symbols))
        self.n_outputs: int = logits.shape[1]
        self.dimension: int = self._vector(self.pattern).shape[1]
        after = self._shapes(self._read(symbols[:, None], self.pattern)[1], len(symbols))
        if after != self.shapes:
            before, then = ([*map(tuple, shapes)] for shapes in (self.shapes, after))
            raise UserError(f"{self.name}: the state has the shapes {before}, then {then}; {CARRIES}")

    def first(self, symbols: Int[Tensor, "n"]) -> tuple[Float[Tensor, "n n_outputs"], Float[Tensor, "n D"]]:
        """The logits of words of one symbol, and the states after them."""
        return self.read(symbols[:, None])

    def step(
        self, states: Float[Tensor, "n D"], symbols: Int[Tensor, "n"]
    ) -> tuple[Float[Tensor, "n n_outputs"], Float[Tensor, "n D"]]:
        """The logits, and the states after another symbol."""
        return self.read(symbols[:, None], states)

    def read(
        self, words: Int[Tensor, "n length"], states: Float[Tensor, "n D"] | None = None
    ) -> tuple[Float[Tensor, "n n_outputs"], Float[Tensor, "n D"]]:
        """The same after whole words, read at once: from these states, or from the start."""
        logits, state = self._read(words, None if states is None else self._state(states))
        return logits, self._vector(state)

    def every(
        self, states: Float[Tensor, "n D"]
    ) -> tuple[Float[Tensor, "n n_symbols n_outputs"], Float[Tensor, "n n_symbols D"]]:
        """The same at each state for each symbol; of many states, so many at once as memory has room for."""
        symbols, steps = torch.arange(self.n_symbols), []
        for part in states.split(max(1, ROWS // self.n_symbols)):
            logits, after = self.step(part.repeat_interleave(self.n_symbols, 0), symbols.repeat(len(part)))
            both = (len(part), self.n_symbols)
            steps.append((logits.unflatten(0, both), after.unflatten(0, both)))  # (n, n_symbols, ..) each
        logits, after = zip(*steps, strict=True)
        return torch.cat(logits), torch.cat(after)

    def along(
        self, words: Int[Tensor, "n length"]
    ) -> tuple[Float[Tensor, "n length n_outputs"], Float[Tensor, "n length D"]]:
        """The same after each symbol of words."""
        # Symbol by symbol, though torch could take whole words: these are the states of `first` and `step`.
        steps = [self.first(words[:, 0])]
        for symbols in words[:, 1:].unbind(1):
            steps.append(self.step(steps[-1][1], symbols))
        logits, states = zip(*steps, strict=True)
        return torch.stack(logits, 1), torch.stack(states, 1)  # (n, length, n_outputs), (n, length, D)

    @torch.no_grad()
    def _read(self, words: Int[Tensor, "n length"], state: Any) -> tuple[Float[Tensor, "n n_outputs"], Any]:
        return self.model.read(words, state, "last")

    def _vector(self, state: Any) -> Float[Tensor, "n D"]:
        """The numbers of a state, in turn."""
        parts = [real(part) for part in tensors(state)]
        return torch.cat([part.reshape(len(part), -1).to(torch.float64) for part in parts], 1)  # (n, D)

    def _state(self, vectors: Float[Tensor, "n D"]) -> Any:
        parts = vectors.split([shape.numel() for shape in self.shapes], 1)
        numbers = (x.reshape(len(x), *shape) for x, shape in zip(parts, self.shapes, strict=True))  # each (n, *shape)
        return rebuilt(self.pattern, numbers)

    def _shapes(self, state: Any, n: int) -> list[torch.Size]:
        """The shapes of a state's tensors, without the batch's dimension; UserError for another state."""
        parts = tensors(state)
        if not parts or any(part.shape[:1] != (n,) or not has_numbers(part) for part in parts):
            carried = [f"{tuple(part.shape)} {part.dtype}" for part in parts]
            raise UserError(f"{self.name} carries {carried} for {n} words; {CARRIES}")
        return [real(part).shape[1:] for part in parts]


def chain_of(model: nn.Module, n_symbols: int | None = None, as_it_is: bool = False) -> Chain:
    """The chain of a model.

    Raises UserError for a model that carries no state of fixed size from symbol to symbol.

    >>> from regulargpt.models.linear_rnn import LinearRnn
    >>> chain_of(LinearRnn(2, 3, d_model=4, n_layers=2)).dimension
    16
    >>> from regulargpt.models.tape_rnn.model import TapeRnn
    >>> chain_of(TapeRnn(2, 3, d_model=4))
    Traceback (most recent call last):
    languages.errors.UserError: TapeRnn carries no state along: it is no regulargpt.models.recurrent.Recurrent
    """
    if not isinstance(model, Recurrent):
        whose = f"{Recurrent.__module__}.{Recurrent.__name__}"
        raise UserError(f"{type(model).__name__} carries no state along: it is no {whose}")
    return Chain(model, n_symbols, as_it_is)


def tensors(state: Any) -> list[Tensor]:
    """The tensors of a state, of lists and tuples of them, in order.

    >>> [len(part) for part in tensors((torch.zeros(2), [torch.zeros(3), None]))]
    [2, 3]
    """
    if state is None:
        return []
    if isinstance(state, Tensor):
        return [state]
    if isinstance(state, Mapping):
        return tensors([*state.values()])
    if isinstance(state, list | tuple):
        return [tensor for part in state for tensor in tensors(part)]
    raise UserError(f"a {type(state).__name__} is carried from symbol to symbol: {CARRIES}")


def rebuilt(state: Any, numbers: Iterator[Tensor]) -> Any:
    """A state like this, of other numbers: those of `real` tensors, in the order of `tensors`."""
    if state is None:
        return None
    if isinstance(state, Tensor):
        x = next(numbers)
        return (torch.complex(x[..., 0], x[..., 1]) if state.is_complex() else x).to(state.dtype)
    if isinstance(state, Mapping):
        return {name: rebuilt(part, numbers) for name, part in state.items()}
    parts = [rebuilt(part, numbers) for part in state]
    if isinstance(state, list):
        return parts
    return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)


def has_numbers(x: Tensor) -> bool:
    return x.is_floating_point() or x.is_complex()


def real(x: Tensor) -> Tensor:
    """A tensor of real numbers: complex ones become pairs."""
    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
