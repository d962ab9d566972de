"""What the baselines share: layers drawn from an explicit generator, counted randomness, and the readout.

torch.nn's constructors draw from the global random state; built on the meta device they draw nothing. What makes them
real after that, and an embedding there, would have torch import its compiler, a second: the weights are put in instead.
"""

from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Literal, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from languages.errors import UserError, nearest, one_of

Readout = Literal["last", "all"]
Choice = TypeVar("Choice")

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


def linear(n_in: int, n_out: int, generator: torch.Generator, bias: bool = True) -> nn.Linear:
    """A linear layer with weights N(0, 1/n_in) and bias 0."""
    layer = undrawn(n_in, n_out, bias)
    nn.init.normal_(layer.weight, std=n_in**-0.5, generator=generator)
    return layer


def undrawn(n_in: int, n_out: int, bias: bool = True) -> nn.Linear:
    """A linear layer with bias 0, whose weights are still to be drawn."""
    layer = nn.Linear(n_in, n_out, bias=bias, device="meta")
    layer.weight = nn.Parameter(torch.empty(n_out, n_in))
    if bias:
        layer.bias = nn.Parameter(torch.zeros(n_out))
    return layer


def embedding(n_symbols: int, d_model: int, generator: torch.Generator, std: float = 1.0) -> nn.Embedding:
    """One vector N(0, std^2) per symbol."""
    weight = torch.empty(n_symbols, d_model).normal_(0.0, std, generator=generator)
    return nn.Embedding.from_pretrained(weight, freeze=False)


class TiedReadout(nn.Module):
    """Logits as products with the embeddings, without a bias (as GPT-2): it has no weights of its own.

    Raises `UserError` where the outputs are not the symbols.
    """

    def __init__(self, of: nn.Embedding, n_outputs: int):
        super().__init__()
        if n_outputs != of.num_embeddings:
            symbols = of.num_embeddings
            raise UserError(f"tied = true, but there are {symbols} symbols and {n_outputs} outputs; leave tied out")
        # In a tuple, or the embedding would be a part of this module too, and stand in the state dict twice.
        self.of = (of,)

    def forward(self, x: Float[Tensor, "*rows d_model"]) -> Float[Tensor, "*rows n_symbols"]:
        return F.linear(x, self.of[0].weight)


def choose(field: str, name: str, choices: Mapping[str, Choice]) -> Choice:
    """The value of that name, or a `UserError` that names the field and what it may be.

    >>> choose("norm", "psot", {"pre": True, "post": False})
    Traceback (most recent call last):
    ...
    languages.errors.UserError: unknown norm 'psot'; did you mean 'post'?
    """
    if name in choices:
        return choices[name]
    hint = nearest(name, choices) or f" known are {one_of(choices)}"
    raise UserError(f"unknown {field} {name!r};{hint}")


def check_words(words: Int[Tensor, "batch length"], readout: str) -> None:
    """Refuse what no model can read: words without a symbol, or a readout other than "last" and "all"."""
    choose("readout", readout, {"last": 0, "all": 0})
    if words.dim() != 2 or words.shape[1] < 1:
        raise UserError(f"words of shape {tuple(words.shape)}; a batch is (batch, length) with length >= 1")


def select(
    x: Float[Tensor, "batch length width"], readout: Readout
) -> Float[Tensor, "batch width"] | Float[Tensor, "batch length width"]:
    return x[:, -1] if readout == "last" else x


class Counted(nn.Module):
    """A module whose random numbers are a pure function of (seed, step, number of the module, number of the call).

    `seed_counted` sets the first three; the global random state is neither read nor changed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.key, self.calls = "", 0

    def next_generator(self, device: torch.device) -> torch.Generator:
        """The random numbers of this call."""
        seed = int.from_bytes(sha256(f"{self.key} {self.calls}".encode()).digest()[:8], "little")
        self.calls += 1
        return torch.Generator(device).manual_seed(seed)


class Dropout(Counted):
    """Dropout with counted masks. As `nn.Dropout`, it does nothing in evaluation, and scales what it keeps by 1/(1-p).

    Raises `UserError` for a p outside [0, 1).
    """

    def __init__(self, p: float):
        super().__init__()
        if not 0.0 <= p < 1.0:
            raise UserError(f"dropout = {p}; it must be at least 0 and below 1")
        self.p = p

    def forward(self, x: Float[Tensor, "*shape"], length: int | None = None) -> Float[Tensor, "*shape"]:
        """x, with a fraction p of its entries set to 0 in training.

        With a `length`, x (batch, queries, width) holds the last of so many positions, and loses what it would lose
        among them all.
        """
        if not self.training or self.p == 0.0:
            return x
        keep = x.new_empty(x.shape if length is None else (x.shape[0], length, x.shape[2]))
        keep.bernoulli_(1.0 - self.p, generator=self.next_generator(x.device))
        keep = keep if length is None else keep[:, length - x.shape[1] :]
        return x * keep.div_(1.0 - self.p)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def seed_counted(model: nn.Module, seed: int, step: int) -> None:
    """Make dropout and noise of the coming step a function of (seed, step) alone; call it before every step.

    >>> layer = Dropout(0.5)
    >>> seed_counted(layer, seed=0, step=7)
    >>> first = layer(torch.ones(16))
    >>> seed_counted(layer, seed=0, step=7)
    >>> bool((layer(torch.ones(16)) == first).all())
    True
    """
    layers = [module for module in model.modules() if isinstance(module, Counted)]
    for number, layer in enumerate(layers):
        layer.key, layer.calls = f"{seed} {step} {number}", 0
