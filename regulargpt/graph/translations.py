"""What each operation of ATen is in graph.json. Each takes the recorder, what torch computed, and torch's arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from regulargpt.graph.recorder import Node, Recorder, Unsupported, shape_of

Translation = Callable[..., Any]


def same(g: Recorder, out: Any, x: Any, *rest: Any, **named: Any) -> int:
    """Nothing but a copy, or another type of number."""
    if not out.is_floating_point():
        raise Unsupported("a whole number, or a yes or no, of what the network computes")
    return g.number_of(x)


def reshaped(g: Recorder, out: Any, x: Any, *rest: Any, **named: Any) -> int:
    return g.node("reshape", x, shape=shape_of(out))


def expanded(g: Recorder, out: Any, x: Any, *rest: Any, **named: Any) -> int:
    return g.node("broadcast", x, shape=shape_of(out))


def permuted(axes: Callable[..., Sequence[int]]) -> Translation:
    def translate(g: Recorder, out: Any, x: Tensor, *rest: Any) -> int:
        rank = out.dim()
        return g.node("permute", x, axes=[axis % rank - rank for axis in axes(rank, *rest)])

    return translate


def swapped(rank: int, a: int, b: int) -> list[int]:
    order = [*range(rank)]
    order[a], order[b] = order[b], order[a]
    return order


def part(g: Recorder, x: Any, axis: int, start: int, end: int, rank: int) -> int:
    return g.node("slice", x, axis=axis % rank - rank, start=start, end=end)


def sliced(g: Recorder, out: Tensor, x: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> int:
    if step != 1:
        raise Unsupported("a slice with steps")
    size = x.shape[dim]
    start = 0 if start is None else min(start % size if start < 0 else start, size)
    return part(g, x, dim, start, start + out.shape[dim], x.dim())


def selected(g: Recorder, out: Tensor, x: Tensor, dim: int, index: int) -> int:
    at = index % x.shape[dim]
    return g.node("reshape", Node(part(g, x, dim, at, at + 1, x.dim())), shape=shape_of(out))


def split(g: Recorder, out: Sequence[Tensor], x: Tensor, sizes: Any, dim: int = 0) -> list[int]:
    found, at = [], 0
    for piece in out:
        found.append(part(g, x, dim, at, at := at + piece.shape[dim], x.dim()))
    return found


def unbound(g: Recorder, out: Sequence[Tensor], x: Tensor, dim: int = 0) -> list[int]:
    return [selected(g, piece, x, dim, at) for at, piece in enumerate(out)]


def joined(g: Recorder, out: Tensor, parts: Sequence[Tensor], dim: int = 0) -> int:
    whole = [x for x in parts if x.numel()]
    return g.node("concatenate", *whole, axis=dim % out.dim() - out.dim())


def stacked(g: Recorder, out: Tensor, parts: Sequence[Tensor], dim: int = 0) -> int:
    dim = dim % out.dim()
    shape = [*out.shape[:dim], 1, *out.shape[dim + 1 :]]
    return g.node("concatenate", *(Node(g.node("reshape", x, shape=shape)) for x in parts), axis=dim - out.dim())


def both(op: str) -> Translation:
    """An operation on two tensors, or on one and a number; `alpha` is what the second is multiplied by."""

    def translate(g: Recorder, out: Any, x: Any, y: Any, *rest: Any, alpha: float = 1, **named: Any) -> int:
        if rest or named:
            raise Unsupported(f"options of {op}")
        return g.node(op, x, y if alpha == 1 else Node(g.node("multiply", y, alpha)))

    return translate


def plain(op: str) -> Translation:
    """An operation of one tensor."""

    def translate(g: Recorder, out: Any, x: Any, *rest: Any, **named: Any) -> int:
        return g.node(op, x)

    return translate


def turned_round(g: Recorder, out: Any, x: Any, y: Any, alpha: float = 1) -> int:
    return g.node("subtract", y, x if alpha == 1 else Node(g.node("multiply", x, alpha)))


def over(g: Recorder, x: Any) -> int:
    return g.node("divide", 1.0, x)


def reciprocal(g: Recorder, out: Any, x: Any) -> int:
    return over(g, x)


def root_over(g: Recorder, out: Any, x: Any) -> int:
    return over(g, Node(g.node("root", x)))


def power(g: Recorder, out: Any, x: Any, exponent: Any) -> int:
    squared = lambda: Node(g.node("square", x))  # noqa: E731
    known: dict[float, Callable[[], int]] = {
        1: lambda: g.number_of(x),
        2: lambda: g.node("square", x),
        3: lambda: g.node("multiply", squared(), x),
        4: lambda: g.node("square", squared()),
        0.5: lambda: g.node("root", x),
        -0.5: lambda: root_over(g, out, x),
        -1: lambda: over(g, x),
        -2: lambda: over(g, squared()),
    }
    if not isinstance(exponent, int | float) or exponent not in known:
        raise Unsupported(f"a power other than {', '.join(f'{e:g}' for e in known)}")
    return known[exponent]()


def linear_sum(g: Recorder, out: Any, bias: Any, x: Any, y: Any, beta: float = 1, alpha: float = 1) -> int:
    """bias + x y, as the layers of torch.nn."""
    if beta != 1 or alpha != 1:
        raise Unsupported("addmm with factors")
    return g.node("add", Node(g.node("product", x, y)), bias)


def vector_product(g: Recorder, out: Tensor, x: Tensor, y: Tensor) -> int:
    column = Node(g.node("reshape", y, shape=[len(y), 1]))
    row = x if x.dim() == 2 else Node(g.node("reshape", x, shape=[1, len(x)]))
    return g.node("reshape", Node(g.node("product", row, column)), shape=shape_of(out))


def axes_of(x: Tensor, dims: Any) -> list[int]:
    dims = range(x.dim()) if dims is None or dims == [] else [dims] if isinstance(dims, int) else dims
    return [dim % x.dim() - x.dim() for dim in dims]


def sums(g: Recorder, x: Any, axes: Sequence[int]) -> Any:
    """The sum along some axes, which stay with length 1."""
    for axis in axes:
        x = Node(g.node("sum", x, axis=axis))
    return x


def summed(g: Recorder, out: Any, x: Tensor, dims: Any = None, keepdim: bool = False, **named: Any) -> int:
    return g.node("reshape", sums(g, x, axes_of(x, dims)), shape=shape_of(out))


def averaged(g: Recorder, out: Any, x: Tensor, dims: Any = None, keepdim: bool = False, **named: Any) -> int:
    return g.node("divide", Node(summed(g, out, x, dims, keepdim)), x.numel() / out.numel())


def variance(g: Recorder, out: Any, x: Tensor, dims: Any = None, *, correction: Any = 1, keepdim: bool = False) -> int:
    axes, count = axes_of(x, dims), x.numel() / out.numel()
    apart = Node(g.node("subtract", x, Node(g.node("divide", sums(g, x, axes), count))))
    squares = sums(g, Node(g.node("square", apart)), axes)
    found = Node(g.node("divide", squares, count - (1 if correction is None else correction)))
    return g.node("reshape", found, shape=shape_of(out))


def normed(g: Recorder, out: Any, x: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float) -> list[Any]:
    if len(shape) != 1:
        raise Unsupported("a LayerNorm over several axes")
    at = g.node("layer_norm", x, epsilon=eps)
    return [with_bias(g, with_gain(g, at, weight), bias), None, None]


def normed_by_root(g: Recorder, out: Any, x: Any, shape: Sequence[int], weight: Any, eps: Any) -> list[Any]:
    if len(shape) != 1:
        raise Unsupported("an RMSNorm over several axes")
    return [with_gain(g, g.node("rms_norm", x, epsilon=eps or 2.0**-52), weight), None]


def with_gain(g: Recorder, at: int, weight: Any) -> int:
    return at if weight is None else g.node("multiply", Node(at), weight)


def with_bias(g: Recorder, at: int, bias: Any) -> int:
    return at if bias is None else g.node("add", Node(at), bias)


def softmax(g: Recorder, out: Tensor, x: Tensor, dim: int, *rest: Any) -> int:
    rank = x.dim()
    order = [axis - rank for axis in swapped(rank, dim % rank, rank - 1)]
    shares = Node(g.node("softmax", Node(g.node("permute", x, axes=order))))
    return g.node("permute", shares, axes=order)


def gelu(g: Recorder, out: Any, x: Any, *, approximate: str = "none") -> int:
    if approximate == "none":
        return g.node("gelu", x)
    cube = Node(g.node("multiply", Node(g.node("square", x)), x))
    inner = Node(g.node("add", x, Node(g.node("multiply", cube, 0.044715))))
    share = Node(g.node("tanh", Node(g.node("multiply", inner, (2 / 3.141592653589793) ** 0.5))))
    half = Node(g.node("multiply", x, 0.5))
    return g.node("multiply", half, Node(g.node("add", share, 1.0)))


def softplus(g: Recorder, out: Any, x: Any, beta: float = 1, threshold: float = 20) -> int:
    """The exact function, from which torch differs by less than exp(-threshold)."""
    if beta != 1:
        raise Unsupported("a softplus with a beta")
    return g.node("softplus", x)


def log_sigmoid(g: Recorder, out: Any, x: Any) -> list[Any]:
    return [g.node("negate", Node(g.node("softplus", Node(g.node("negate", x))))), None]


def log_sum(g: Recorder, out: Any, x: Any, y: Any) -> int:
    """log(exp(x) + exp(y)) = y + log(1 + exp(x - y))."""
    return g.node("add", y, Node(g.node("softplus", Node(g.node("subtract", x, y)))))


def clamped(g: Recorder, out: Any, x: Any, low: Any = None, high: Any = None, **named: Any) -> int:
    low, high = named.get("min", low), named.get("max", high)
    at: Any = x
    if low is not None:
        at = Node(g.node("maximum", at, low))
    if high is not None:
        at = Node(g.node("minimum", at, high))
    return g.number_of(at)


def halves_gated(g: Recorder, out: Tensor, x: Tensor, dim: int = -1) -> int:
    size = x.shape[dim] // 2
    value, gate = (Node(part(g, x, dim, at, at + size, x.dim())) for at in (0, size))
    return g.node("multiply", value, Node(g.node("sigmoid", gate)))


def length(g: Recorder, out: Any, x: Tensor, order: Any = 2, dims: Any = None, keepdim: bool = False, **n: Any) -> int:
    if order != 2:
        raise Unsupported("a norm other than the Euclidean one")
    at = sums(g, Node(g.node("square", x)), axes_of(x, dims))
    return g.node("root", Node(g.node("reshape", at, shape=shape_of(out))))


def leaned(g: Recorder, out: Any, x: Any, y: Any, weight: Any) -> int:
    """x + weight (y - x)."""
    return g.node("add", x, Node(g.node("multiply", weight, Node(g.node("subtract", y, x)))))


def added_product(g: Recorder, out: Any, x: Any, a: Any, b: Any, *, value: float = 1) -> int:
    times = Node(g.node("multiply", a, b))
    return g.node("add", x, times if value == 1 else Node(g.node("multiply", times, value)))


def row(g: Recorder, out: Tensor, table: Any, symbol: Any, *rest: Any, **named: Any) -> int:
    """The symbol's row of a table."""
    symbol = symbol[0] if isinstance(symbol, list | tuple) and len(symbol) == 1 else symbol
    if not g.is_symbol(symbol):
        raise Unsupported("an index that is not the symbol")
    first = g.symbols[id(symbol)][1]
    if first or len(table) > g.n_symbols:
        table = Node(part(g, table, 0, first, first + g.n_symbols, table.dim()))
    return g.node("reshape", Node(g.node("row", table)), shape=shape_of(out))


def indexed(g: Recorder, out: Tensor, table: Any, dim: int, symbol: Any) -> int:
    if dim:
        raise Unsupported("a column of a table by the symbol")
    return row(g, out, table, symbol)


def marked(g: Recorder, out: Tensor, zeros: Tensor, dim: int, symbol: Any, value: Any) -> int:
    """A one where the symbol is, as `one_hot` makes it."""
    if not g.is_symbol(symbol) or value != 1 or out.numel() != g.n_symbols or out.sum() != 1:
        raise Unsupported("numbers that are put where others say")
    eye = [float(i == j) for i in range(g.n_symbols) for j in range(g.n_symbols)]
    table = Node(g.node("numbers", shape=[g.n_symbols, g.n_symbols], values=eye))
    return g.node("reshape", Node(g.node("row", table)), shape=shape_of(out))


TRANSLATIONS: dict[str, Translation] = {
    **dict.fromkeys(("alias", "detach", "clone", "lift_fresh", "contiguous", "_to_copy", "dropout"), same),
    **dict.fromkeys(("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "flatten"), reshaped),
    "expand": expanded,
    "permute": permuted(lambda rank, dims: dims),
    "transpose": permuted(swapped),
    "t": permuted(lambda rank: [*reversed(range(rank))]),
    "slice": sliced,
    "select": selected,
    **dict.fromkeys(("split", "split_with_sizes", "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk"), split),
    "unbind": unbound,
    "cat": joined,
    "stack": stacked,
    **{name: both(op) for name, op in (("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("div", "divide"))},
    "maximum": both("maximum"),
    "minimum": both("minimum"),
    "rsub": turned_round,
    "reciprocal": reciprocal,
    "rsqrt": root_over,
    "pow": power,
    **{name: plain(name) for name in ("exp", "sin", "cos", "erf", "sigmoid", "tanh", "relu", "silu")},
    "neg": plain("negate"),
    "abs": plain("absolute"),
    "sqrt": plain("root"),
    "square": plain("square"),
    "mm": both("product"),
    "bmm": both("product"),
    "mv": vector_product,
    "dot": vector_product,
    "addmm": linear_sum,
    "baddbmm": linear_sum,
    "sum": summed,
    "mean": averaged,
    "var": variance,
    "native_layer_norm": normed,
    "_fused_rms_norm": normed_by_root,
    "_softmax": softmax,
    "gelu": gelu,
    "softplus": softplus,
    "log_sigmoid_forward": log_sigmoid,
    "logaddexp": log_sum,
    **dict.fromkeys(("clamp", "hardtanh"), clamped),
    "clamp_min": both("maximum"),
    "clamp_max": both("minimum"),
    "glu": halves_gated,
    "linalg_vector_norm": length,
    "lerp": leaned,
    "addcmul": added_product,
    "embedding": row,
    "index": row,
    "index_select": indexed,
    "scatter": marked,
}
