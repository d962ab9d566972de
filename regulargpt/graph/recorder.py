"""A torch function, run once on one row, as the operations that it calls: no source is read, whatever runs is noted.

Modes of torch hand over each operation of ATen with its tensors (`TorchDispatchMode`). What stands for which tensor is
noted by the tensor itself; parameters are weights by their names, other tensors that come up are constants. The symbol
is an integer tensor: only its row of a table, or the number itself, may go into what is computed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from languages.errors import UserError

MOST_CONSTANT = 1 << 14  # numbers of a constant that is written into the graph
OURS = ("regulargpt.graph", "regulargpt.judging", "regulargpt.finite", "torch", "contextlib")


class Unsupported(Exception):
    """An operation that the graph has no counterpart for; the message says which, without the place."""


class Recorder(TorchDispatchMode):
    """The nodes of a graph, in the order in which torch computes them.

    `weights` are the tensors that the file of weights has, by name; `translations` say for an operation of ATen what it
    adds to the graph.
    """

    def __init__(self, weights: Mapping[str, Tensor], translations: Mapping[str, Callable[..., Any]], n_symbols: int):
        super().__init__()
        self.translations, self.n_symbols = translations, n_symbols
        self.names = {id(tensor): name for name, tensor in weights.items()}
        self.nodes: list[dict[str, Any]] = []
        self.of_tensor: dict[int, tuple[Tensor, int]] = {}  # a tensor is kept, so that no other one gets its number
        self.symbols: dict[int, tuple[Tensor, int]] = {}  # what is added to the symbol
        self.stale: dict[int, str] = {}

    def node(self, op: str, *of: Any, **options: Any) -> int:
        """A new node, of tensors, numbers or earlier nodes."""
        inputs = {"of": [self.number_of(x) for x in of]} if of else {}
        self.nodes.append({"op": op, **inputs, **options})
        return len(self.nodes) - 1

    def number_of(self, x: Any) -> int:
        """The node that stands for a tensor, or for a number."""
        if isinstance(x, Node):
            return x.at
        if not isinstance(x, Tensor):
            return self.node("numbers", shape=[1], values=[float(x)])
        if id(x) in self.stale:
            raise Unsupported(f"a tensor is read after {self.stale[id(x)]} changed another view of it in place")
        if id(x) in self.of_tensor:
            return self.of_tensor[id(x)][1]
        if id(x) in self.symbols:
            return self.symbol_number(x)
        return self.note(x, self.constant(x))

    def constant(self, x: Tensor) -> int:
        """A node for a tensor that nothing computed: a weight, or a constant."""
        if x.is_complex():
            raise Unsupported("complex numbers")
        if id(x) in self.names:
            return self.node("weight", name=self.names[id(x)])
        if x.numel() > MOST_CONSTANT:
            raise Unsupported(f"a constant of {x.numel():,} numbers that is no parameter or buffer")
        return self.node("numbers", shape=shape_of(x), values=x.detach().double().reshape(-1).tolist())  # (numbers,)

    def symbol_number(self, x: Tensor) -> int:
        """The symbol as a number among others."""
        table = self.node("numbers", shape=[self.n_symbols], values=self.numbers_of(x))
        return self.node("reshape", Node(self.node("row", Node(table))), shape=shape_of(x))

    def numbers_of(self, x: Tensor) -> list[float]:
        return [float(symbol + self.symbols[id(x)][1]) for symbol in range(self.n_symbols)]

    def note(self, x: Tensor, at: int) -> int:
        """From now on this node stands for a tensor."""
        self.of_tensor[id(x)] = x, at
        self.stale.pop(id(x), None)
        return at

    def is_traced(self, x: Any) -> bool:
        """Whether a tensor depends on the state, on the symbol or on weights."""
        return isinstance(x, Tensor) and (id(x) in self.of_tensor or id(x) in self.symbols or id(x) in self.names)

    def __torch_dispatch__(self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        inputs = [x for part in (*args, *kwargs.values()) for x in (part if isinstance(part, list | tuple) else [part])]
        out = func(*args, **kwargs)
        name = func.name().removeprefix("aten::").split(".")[0]
        if not any(map(self.is_traced, inputs)):
            return out
        try:
            self.translate(name, out, args, kwargs)
        except Unsupported as error:
            raise UserError(f"{place()}: {error}") from error
        return out

    def translate(self, name: str, out: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        """Note what an operation computes."""
        plain = name.removesuffix("_")
        if plain in FACTORIES:  # they take but the type of a tensor
            return
        if self.is_symbol(args[0]) and self.of_symbol(plain, out, args):
            return
        if plain not in self.translations:
            raise Unsupported(unknown(plain))
        before = args[0] if name != plain and isinstance(args[0], Tensor) else None
        found = self.translations[plain](self, out, *args, **kwargs)
        if before is not None and plain not in ("transpose", "t", "squeeze", "unsqueeze"):
            self.outdate(before, f"`{name}` ({place()})")
        outs = out if isinstance(out, list | tuple) else [out]
        nodes = found if isinstance(found, list | tuple) else [found]
        for tensor, at in zip(outs, nodes, strict=False):
            if at is not None:
                self.note(tensor, at)

    def outdate(self, x: Tensor, name: str) -> None:
        """Other tensors with the memory of one that was changed in place are no longer what they were."""
        for key, (tensor, _) in self.of_tensor.items():
            if tensor is not x and overlap(tensor, x):
                self.stale[key] = name

    def is_symbol(self, x: Any) -> bool:
        return isinstance(x, Tensor) and id(x) in self.symbols

    def of_symbol(self, name: str, out: Any, args: Sequence[Any]) -> bool:
        """Whether an operation only moves the symbol about, or counts it from another number on."""
        if name == "aminmax":  # a check of its range, which holds for all symbols
            return True
        if name == "_local_scalar_dense":
            raise Unsupported("a branch on the symbol: what runs may depend on no symbol; take a row of a table")
        added = self.symbols[id(args[0])][1]
        moved = out[0] if name in SPLITTING and len(out) == 1 else out
        if name in ("add", "sub") and isinstance(args[1], int):
            added += args[1] if name == "add" else -args[1]
        elif name not in MOVING + SPLITTING or not is_one_integer(moved):
            return False
        self.symbols[id(moved)] = moved, added
        return True


def is_one_integer(x: Any) -> bool:
    return isinstance(x, Tensor) and x.numel() == 1 and not x.is_floating_point()


MOVING = ("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "transpose", "t", "permute", "select", "slice")
MOVING += ("expand", "_to_copy", "clone", "alias", "detach", "lift_fresh", "contiguous")
FACTORIES = tuple(f"{how}{what}" for how in ("new_", "") for what in ("zeros", "ones", "full"))
FACTORIES += ("zeros_like", "ones_like", "full_like")
SPLITTING = ("unbind", "split", "split_with_sizes", "unsafe_split")


def overlap(x: Tensor, y: Tensor) -> bool:
    """Whether two tensors may share a number: they lie in one memory, and neither ends before the other begins."""
    if x.untyped_storage().data_ptr() != y.untyped_storage().data_ptr():
        return False
    (a, b), (c, d) = extent(x), extent(y)
    return a <= d and c <= b


def extent(x: Tensor) -> tuple[int, int]:
    """The places of the first and the last number of a tensor in its memory."""
    first = int(x.storage_offset())
    return first, first + sum((size - 1) * stride for size, stride in zip(x.shape, x.stride(), strict=True))


class Node:
    """An earlier node, beside tensors and numbers."""

    def __init__(self, at: int):
        self.at = at


def shape_of(x: Tensor) -> list[int]:
    """The shape of a value: a single number has one axis, too."""
    return [*x.shape] or [1]


COMPARING = ("_local_scalar_dense", "is_nonzero", "gt", "lt", "ge", "le", "eq", "ne", "argmax", "max", "min")


def unknown(name: str) -> str:
    if name in COMPARING:
        return f"`{name}`, a comparison: what runs may depend on no number that the network computes"
    return f"torch's `{name}` has no counterpart in graph.json"


def place() -> str:
    """Where in the user's code the running operation was called."""
    frame = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if not any(module == name or module.startswith(f"{name}.") for name in OURS):
            return f"{frame.f_code.co_filename}, line {frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "the network"
