"""Which keys a query of a causal model may see: all before it, or fewer, so that long texts stay cheap. No torch."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from languages.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor

NUMBER = r"[1-9]\d{0,17}"
WRITTEN = re.compile(rf"full|bca|sliding:{NUMBER}|sinks:{NUMBER}:{NUMBER}|self-extend:{NUMBER}:{NUMBER}")
KNOWN = "full, bca, or a window of W symbols as in sliding:64; or sinks:S:W, self-extend:G:W"

Index = TypeVar("Index", "int", "Tensor")


@runtime_checkable
class View(Protocol):
    """A query at index m sees the keys from `first(m)` to m; what is below 0 is not there. `most` keys at most."""

    @property
    def most(self) -> int | None:
        """The most keys that a query sees; None without a bound."""

    def first(self, m: Index) -> Index:
        """The index of the first key that the query at index m sees."""
        ...

    def shown(self, m: Tensor, since: Tensor | int = 0) -> Tensor:
        """How many keys the query at index m sees, of those at index `since` and behind it."""
        ...


class Gapless:
    """A view that shows all keys from the `first` to m."""

    def first(self, m: Index) -> Index:
        """The index of the first key that is seen."""
        raise NotImplementedError

    def shown(self, m: Tensor, since: Tensor | int = 0) -> Tensor:
        """Those from the first to m."""
        return m + 1 - self.first(m).clamp(min=since)


@dataclass(frozen=True)
class Full(Gapless):
    """Every key up to the query's own."""

    most = None

    def first(self, m: Index) -> Index:
        """The first key of all."""
        return 0 * m


@dataclass(frozen=True)
class Sliding(Gapless):
    """The last `window` keys, the query's own among them.

    >>> Sliding(3).first(10)
    8
    """

    window: int

    def __post_init__(self) -> None:
        if self.window < 1:
            raise UserError(f"attention = 'sliding:{self.window}'; a window has at least 1 position")

    @property
    def most(self) -> int:
        """The window."""
        return self.window

    def first(self, m: Index) -> Index:
        """m - window + 1."""
        return m - (self.window - 1)


@dataclass(frozen=True)
class Bca(Gapless):
    """Blockwise causal attention (Sun et al. 2023, section 3.3): the query's block and the block before it.

    A block is half of the training length, so no distance occurs that training has not shown.

    >>> [Bca(4).first(m) for m in (2, 3, 4, 5)]
    [0, 0, 2, 2]
    """

    train_len: int

    def __post_init__(self) -> None:
        if self.train_len < 2:
            raise UserError(f"attention = 'bca' halves the training length {self.train_len}; it must be at least 2")

    @property
    def half(self) -> int:
        """The length of a block."""
        return self.train_len // 2

    @property
    def most(self) -> int:
        """Two blocks."""
        return 2 * self.half

    def first(self, m: Index) -> Index:
        """The beginning of the block before that of m."""
        return (m // self.half - 1) * self.half


@dataclass(frozen=True)
class Sinks(Full):
    """The first `sinks` keys and the last `window`, as in StreamingLLM; its encoding hides the others.

    >>> Sinks(4, 60).kept, str(Sinks(4, 60))
    (64, 'sinks:4:60')
    """

    sinks: int
    window: int

    @property
    def kept(self) -> int:
        """The most keys that are seen."""
        return self.sinks + self.window

    def shown(self, m: Tensor, since: Tensor | int = 0) -> Tensor:
        """The window, and the sinks before it."""
        near = (m + 1 - self.window).clamp(min=since)
        return m + 1 - near + (near.clamp(max=self.sinks) - since).clamp(min=0)

    def __str__(self) -> str:
        return f"sinks:{self.sinks}:{self.window}"


@dataclass(frozen=True)
class SelfExtend(Full):
    """Every key, those beyond the last `window` at positions that `group` of them share.

    >>> str(SelfExtend(8, 1024))
    'self-extend:8:1024'
    """

    group: int
    window: int

    def __str__(self) -> str:
        return f"self-extend:{self.group}:{self.window}"


@dataclass(frozen=True)
class Within:
    """What a view shows, and of it no more than the last `window` keys: those that the network was trained to see.

    >>> Within(Full(), 3).first(10), Within(Sliding(2), 3).first(10)
    (8, 9)
    """

    view: View
    window: int

    @property
    def most(self) -> int:
        """The window, or fewer."""
        return self.window if self.view.most is None else min(self.window, self.view.most)

    def first(self, m: Index) -> Index:
        """The later of both."""
        of_view, of_window = self.view.first(m), Sliding(self.window).first(m)
        return max(of_view, of_window) if isinstance(m, int) else of_view.maximum(of_window)  # type: ignore[return-value, union-attr]

    def shown(self, m: Tensor, since: Tensor | int = 0) -> Tensor:
        """What the view shows within the window."""
        return self.view.shown(m, Sliding(self.window).first(m).clamp(min=since))


def refuse(text: str) -> str | None:
    """Why a text names no view; None if it does.

    >>> refuse("sliding:64"), refuse("near")
    (None, "attention = 'near'; choose full, bca, or a window of W symbols as in sliding:64; or sinks:S:W, self-extend:G:W")
    """  # noqa: E501
    known = WRITTEN.fullmatch(text)
    return None if known else f"attention = {text!r}; choose {KNOWN}"


def parse(text: str, train_len: int) -> View:
    """What is written as `full`, `bca`, `sliding:W`, `sinks:S:W` or `self-extend:G:W`.

    The model was trained on words of `train_len`.

    Raises `UserError` for anything else, a window below 1, or blocks of nothing.

    >>> parse("sliding:64", 128), parse("bca", 128)
    (Sliding(window=64), Bca(train_len=128))
    """
    if (reason := refuse(text)) is not None:
        raise UserError(reason)
    name, *numbers = text.split(":")
    kinds: dict[str, Any] = {"full": Full, "sliding": Sliding, "sinks": Sinks, "self-extend": SelfExtend}
    return Bca(train_len) if name == "bca" else kinds[name](*map(int, numbers))
