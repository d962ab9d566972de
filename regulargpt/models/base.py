"""What a model must be, to be trained, tested, swept, listened to and certified as those that are here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from languages.errors import UserError, one_of
from regulargpt.models.decoding import Decoder, Recomputing
from regulargpt.models.hooks import Hooked
from regulargpt.models.layers import Readout
from regulargpt.models.options import ModelOptions


class Model(Hooked, ABC):
    """A network that reads words and answers at the last position, or at every position.

    A model of your own derives from it and gives:

    - the constructor `(n_symbols, n_outputs, *, generator=None, **options)`. It draws all weights from `generator` (a
      `torch.Generator`; None stands for its own with seed 0) and leaves the global random state alone, so that
      a seed gives the same weights anywhere.
    - `Options`, a frozen dataclass derived from `ModelOptions`: the constructor's options with their types, defaults,
      bounds and a line of help each, and what else the trunk may ask before the model is built.
    - `forward`. Words in a batch do not influence each other, and any length from 1 on works.

    Random numbers while training (dropout, noise) come from `layers.Counted`, so that a resumed run draws the same.

    A script beside its module computes it in the pages of `report` (report/live/twins.py).

    What else a model may have, each with a default: `answers`, `quadratic`, `compiled_parts`, `parameter_groups`,
    `project`, `set_attention`, `set_temperature`, `decoder`, `set_noise`, and hook points (`hooks.HookPoint`). Some
    names are read by the analyses: `hook_embed`, what stands for each symbol (batch, length, width), by
    `receptive-field`; by `verify` the state at each position (batch, length, width): `hook_output`, what the readout
    reads, `hook_state` or `blocks.N.hook_resid_post`. A recurrent model derives from `recurrent.Stepwise`: a change of
    its `hook_state` then changes all that comes after.

    >>> import torch
    >>> from regulargpt.models.layers import linear
    >>> class LastSymbol(Model):
    ...     def __init__(self, n_symbols, n_outputs, *, generator=None):
    ...         super().__init__()
    ...         generator = generator or torch.Generator().manual_seed(0)
    ...         self.readout = linear(n_symbols, n_outputs, generator)
    ...
    ...     def forward(self, words, readout="last"):
    ...         x = nn.functional.one_hot(words.long(), self.readout.in_features).to(self.readout.weight.dtype)
    ...         return self.readout(x[:, -1] if readout == "last" else x)
    >>> model = LastSymbol(2, 3)
    >>> model(torch.tensor([[0, 1, 1]])).shape, model(torch.tensor([[0, 1, 1]]), readout="all").shape
    (torch.Size([1, 3]), torch.Size([1, 3, 3]))
    >>> model.quadratic, model.compiled_parts() == [model]
    (False, True)
    """

    Options: ClassVar[type[ModelOptions]] = ModelOptions

    @abstractmethod
    def forward(
        self, words: Int[Tensor, "batch length"], readout: Readout = "last"
    ) -> Float[Tensor, "batch n_outputs"] | Float[Tensor, "batch length n_outputs"]:
        """Logits of the answer at the last position, or at every position."""

    @property
    def quadratic(self) -> bool:
        """Whether it holds a number for each pair of positions: then it is tested on fewer words at once."""
        return False

    def answers(self, words: Int[Tensor, "batch length"], count: int) -> Float[Tensor, "batch count n_outputs"]:
        """Logits at the last `count` positions.

        >>> from regulargpt.models.rnn import Rnn
        >>> Rnn(2, 3, d_model=4).answers(torch.tensor([[0, 1, 1, 0]]), 2).shape
        torch.Size([1, 2, 3])
        """
        return self(words, readout="all")[:, -count:]

    def answered(
        self, words: Int[Tensor, "batch length"], count: int
    ) -> Iterator[Float[Tensor, "batch some n_outputs"]]:
        """The same some positions at a time, where a model reads out so: the logits of many symbols fill the memory."""
        yield self.answers(words, count)

    def compiled_parts(self) -> Sequence[nn.Module]:
        """What `torch.compile` is applied to: the model, or parts of it that do not depend on the words' length."""
        return [self]

    def parameter_groups(self) -> list[dict[str, Any]]:
        """The parameters as an optimiser takes them; `times` in a group multiplies its learning rate."""
        return [{"params": list(self.parameters())}]

    def project(self) -> None:
        """Put the parameters back where they may be, in place; the trainer calls it after every step."""

    def set_attention(self, text: str, train_len: int) -> None:
        """What a position sees from now on, as `options.views.parse` reads it, after training on words of `train_len`.

        Raises `UserError` for a model that has no such attention.
        """
        if text != "full":
            raise UserError(f"attention = {text!r}: {type(self).__name__} has no attention that could be restricted")

    def set_temperature(self, tau: Float[Tensor, "n_layers n_heads"] | None, on: str = "all") -> None:
        """Divide the logits of every attention softmax by tau from now on, or by nothing if it is None.

        Raises `UserError` for a model that has no such attention.
        """
        if tau is not None:
            raise UserError(f"{type(self).__name__} has no attention that could have a temperature")

    def decoder(self, window: int | None = None) -> Decoder:
        """What reads a text bit by bit; it may remember the last `window` symbols alone.

        By default everything is computed again for each symbol: right for every model, and slow.
        """
        return Recomputing(self, window)

    def set_noise(self, level: float) -> None:
        """The noise on the states while training, as a share of their size. A model without such noise has none."""


def fill(model: nn.Module, weights: Mapping[str, Tensor], place: str) -> None:
    """Set the weights that were saved at a place; UserError naming those that are not this model's.

    >>> from regulargpt.models.rnn import Rnn
    >>> fill(Rnn(2, 3, d_model=4), Rnn(2, 3, d_model=5).state_dict(), "runs/a")
    Traceback (most recent call last):
    languages.errors.UserError: the weights in runs/a are of another Rnn (of another shape: 'readout.weight', 'rnn.weight_ih_l0' and 3 more); put...
    """  # noqa: E501
    own, saved = ({name: value.shape for name, value in state.items()} for state in (model.state_dict(), weights))
    apart = {
        "missing:": [name for name in own if name not in saved],
        "unknown:": [name for name in saved if name not in own],
        "of another shape:": [name for name in own if name in saved and own[name] != saved[name]],
    }
    said = [f"{how} {one_of(names, 2)}" for how, names in apart.items() if names]
    if said:
        other = f"the weights in {place} are of another {type(model).__name__} ({', '.join(said)})"
        raise UserError(f"{other}; put the class back as it was in the training, or train anew")
    model.load_state_dict(weights)


def device_of(model: nn.Module) -> torch.device:
    """Where a model computes; a model without weights computes on the CPU.

    >>> device_of(nn.Linear(1, 1)), device_of(nn.Identity())
    (device(type='cpu'), device(type='cpu'))
    """
    return next((weights.device for weights in model.parameters()), torch.device("cpu"))


@torch.no_grad()
def refuse_shapes(model: Model, n_outputs: int) -> None:
    """Raise UserError for a model whose logits do not have the shape that they should.

    >>> from regulargpt.models.rnn import Rnn
    >>> refuse_shapes(Rnn(2, 3, d_model=4), n_outputs=2)
    Traceback (most recent call last):
    languages.errors.UserError: Rnn: the readout 'last' has the shape (2, 3); it must be (2, 2)
    """
    symbols = torch.zeros(2, 5, dtype=torch.long)  # two words of five symbols
    shapes: dict[Readout, tuple[int, ...]] = {"last": (2, n_outputs), "all": (2, 5, n_outputs)}
    for readout, shape in shapes.items():
        actual = tuple(model(symbols, readout=readout).shape)
        if actual != shape:
            name = type(model).__name__
            raise UserError(f"{name}: the readout '{readout}' has the shape {actual}; it must be {shape}")
