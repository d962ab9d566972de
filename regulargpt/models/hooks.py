"""Hook points: where the inside of a model can be read or changed, under names interpretability users know.

Shapes, for words (batch, length):

| name | RegularGPT: tree, plain-tree | every | Transformer |
|---|---|---|---|
| `hook_embed` | (symbols, d_model) or (batch, length, d_model) | (batch, length, d_model) | (batch, length, d_model) |
| `hook_state` | (nodes, d_model) | (batch, length, d_model) | - |
| `blocks.0.attn.hook_q` | (nodes, n_heads, d_head) | (batch, length, n_heads, d_head) | the same |
| `blocks.0.attn.hook_k`, `hook_v` | (1 + below, n_heads, d_head) | (batch, 1 + length, n_heads, d_head) | no 1 |
| `blocks.0.attn.hook_pattern` | (nodes, n_heads, C) | (batch, n_heads, length, C) | (batch, n_heads, queries, keys) |
| `blocks.0.attn.hook_z` | (nodes, n_heads, d_head) | (batch, length, n_heads, d_head) | the same |
| `blocks.0.mlp.hook_pre`, `hook_post` | (nodes, d_ff) | (batch, length, d_ff) | the same |
| `blocks.0.hook_attn_out`, `hook_mlp_out`, `hook_resid_post` | (nodes, d_model) | (batch, length, d_model) | the same |

RegularGPT passes the points of a block once a level. Nodes are those of all words in a row, in the shared tree distinct
ones; `below` are the rows of the level below, after the pad in row 0. `dense` is as `every`, with keys for all the
places that a position may read: the pads before the word, then the word.

A tree that follows brackets passes them in `plain-tree` once a level of its nodes, which `trace_nested` lists, in the
order in which it lists them. In `tree` equal forests are computed once: points pass for each level of the forests of
one height, then for the pairs round them.

Those of recurrent models are in docs/models.md. There a change at a symbol changes all that follows.

A hook point is the identity. What is expensive (the attention pattern) is made, and what goes in pieces is computed
whole, only where somebody listens.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from languages.errors import UserError, nearest, one_of


class HookPoint(nn.Identity):
    """The identity, named by where it stands: `blocks.0.attn.hook_pattern`, `blocks.0.hook_resid_post`.

    `run_with_hooks` calls a function with what passes and the hook point: `name` says where it stands, `passage` how
    often the function was called before; weights shared across depth pass once a level, those of a recurrent network
    once a symbol. PyTorch's own `register_forward_hook` works as well.

    >>> from torch import ones
    >>> point = HookPoint()
    >>> handle = point.register_forward_hook(lambda module, inputs, output: 2 * output)
    >>> point(ones(2)), point.listened_to()
    (tensor([2., 2.]), True)
    """

    name, passage = "", 0
    place: int | None = None
    """The number of the passage where the model gives it: it may compute one again after a change before it."""

    def __call__(self, x: Tensor) -> Tensor:
        """What listeners make of x; without them x itself, four times as fast as through `nn.Module`'s call."""
        return super().__call__(x) if _has_hooks(self) else x

    def listened_to(self) -> bool:
        """Whether anybody registered a hook here."""
        return _has_hooks(self)

    def permuted(self, x: Tensor, *axes: int) -> Tensor:
        """As a call, but listeners see, and return, `x.permute(axes)`; without them nothing is permuted.

        >>> from torch import zeros
        >>> point = HookPoint()
        >>> with point.register_forward_hook(lambda module, inputs, output: print(tuple(output.shape))):
        ...     point.permuted(zeros(2, 3, 4), 2, 0, 1).shape
        (4, 2, 3)
        torch.Size([2, 3, 4])
        """
        if not _has_hooks(self):
            return x
        back = [axes.index(axis) for axis in range(len(axes))]
        return self(x.permute(axes)).permute(back)  # heard permuted; back in the shape of x


class Hooked(nn.Module):
    """A module with hook points in it, which are found as quickly as plain attributes.

    `nn.Module` looks for a submodule only after a failed search, which takes longer than the hook point itself.

    >>> class Twice(Hooked):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hook_in = HookPoint()
    >>> hook_names(Twice())
    ['hook_in']
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, HookPoint):
            self.__dict__[name] = value


HookFunction = Callable[[Tensor, HookPoint], Tensor | None]
"""What is called with what passes and the hook point; what it returns, if not None, passes instead."""

Filter = str | Collection[str] | Callable[[str], bool]
"""Which hook points: a name, several, or a function that says of a name whether it is meant."""


def listened_to(module: nn.Module) -> bool:
    """Whether anybody registered a hook on the module or on a module inside it.

    >>> point = HookPoint()
    >>> with point.register_forward_hook(lambda module, inputs, output: None):
    ...     listened_to(nn.Sequential(nn.Linear(2, 2), point))
    True
    """
    # Twice as fast as a walk over `module.modules()`, which remembers what it has seen.
    return _has_hooks(module) or any(listened_to(part) for part in module._modules.values() if part is not None)


def _has_hooks(module: nn.Module) -> bool:
    return bool(
        module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks
    )


def hook_points(model: nn.Module) -> dict[str, HookPoint]:
    return {name: module for name, module in model.named_modules() if isinstance(module, HookPoint)}


def hook_names(model: nn.Module) -> list[str]:
    """The names of all hook points of a model, in the order of its modules."""
    return list(hook_points(model))


def chosen(points: dict[str, HookPoint], names: Filter) -> list[str]:
    """The names that a filter means; `UserError` where one is no hook point, or where there is none.

    >>> chosen({"hook_embed": HookPoint(), "hook_state": HookPoint()}, lambda name: name.endswith("state"))
    ['hook_state']
    >>> chosen({"hook_embed": HookPoint()}, "hook_embedd")
    Traceback (most recent call last):
    ...
    languages.errors.UserError: no hook point named 'hook_embedd'; did you mean 'hook_embed'?
    """
    if callable(names):
        if not (matching := [name for name in points if names(name)]):
            raise UserError(f"the function fits no hook point; the model has {one_of(points)}")
        return matching
    wanted = [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in points:
            raise UserError(
                f"no hook point named {name!r};{nearest(name, points) or f' the model has {one_of(points)}'}"
            )
    return wanted


def carried(
    point: HookPoint,
    run: Callable[[int, Float[Tensor, "batch d_state"]], Float[Tensor, "batch rest d_state"]],
    start: Float[Tensor, "batch d_state"],
) -> Float[Tensor, "batch length d_state"]:
    """The states of a recurrence after each symbol, where a change at the hook point changes all that comes after.

    `run(t, state)` gives the states after the symbols from t on, if `state` was there before symbol t. Functions at the
    point see what the recurrence gave for the whole word. From the first position that they change, the recurrence
    goes on with their value, and they see the new word of states; and so on to its end.

    >>> from torch import cumsum, ones, tensor, zeros
    >>> def count(t, state):
    ...     return cumsum(ones(1, 4 - t, 1), 1) + state[:, None]
    >>> def back(states, hook):
    ...     return states.index_fill(1, tensor([1]), 0.0)
    >>> point = nn.ModuleDict({"state": HookPoint()})
    >>> with hooks(point, [("state", back)]):
    ...     carried(point["state"], count, zeros(1, 1)).flatten()
    tensor([1., 0., 1., 2.])
    """
    states = run(0, start)
    if not point.listened_to():
        return states
    point.place, begin, settled = 0, 0, states[:, :0]
    while True:
        # A copy, since a function may write into what it is given.
        heard = point(states.clone())
        changed = (heard != states).any(-1).any(0)[begin:].nonzero()  # (positions, 1)
        if not len(changed):
            return torch.cat([settled, heard[:, begin:]], 1)
        after = begin + int(changed[0]) + 1
        settled, begin = torch.cat([settled, heard[:, begin:after]], 1), after
        if begin == states.shape[1]:
            return settled
        states = torch.cat([states[:, :begin], run(begin, heard[:, begin - 1])], 1)


@contextmanager
def hooks(model: nn.Module, fwd_hooks: Sequence[tuple[Filter, HookFunction]]) -> Iterator[None]:
    """As long as it is open, each function is called with what passes the hook points it is paired with.

    Functions at one hook point are called in their order, each with what the function before it left.

    >>> from torch import ones
    >>> model = nn.Sequential(HookPoint())
    >>> with hooks(model, [("0", lambda value, hook: value + 1), ("0", lambda value, hook: print(hook.name, value))]):
    ...     model(ones(2))
    0 tensor([2., 2.])
    tensor([2., 2.])
    """
    points = hook_points(model)
    pairs = [(name, function) for names, function in fwd_hooks for name in chosen(points, names)]
    handles = []
    try:
        for name, function in pairs:
            points[name].name = name
            handles.append(points[name].register_forward_hook(_forward_hook(function)))
        yield
    finally:
        for handle in handles:
            handle.remove()


def _forward_hook(function: HookFunction) -> Callable[[HookPoint, Any, Tensor], Tensor | None]:
    passages = count()

    def call(point: HookPoint, _inputs: Any, value: Tensor) -> Tensor | None:
        # Set before each call: several functions at a point may have been there for different times.
        point.passage = next(passages) if point.place is None else point.place
        instead = function(value, point)
        if instead is not None and instead.shape != value.shape:
            # Most wrong shapes would be broadcast, to a result that means nothing.
            raise UserError(
                f"at {point.name} {tuple(value.shape)} passes; return that shape, not {tuple(instead.shape)}"
            )
        return instead

    return call


def run_with_hooks(
    model: nn.Module, *args: Any, fwd_hooks: Sequence[tuple[Filter, HookFunction]], **kwargs: Any
) -> Any:
    """Run a model once; each function of `fwd_hooks` is called with what passes its hook points, and may replace it.

    A pair is (name, function), (names, function) or (function of a name, function). The function is called with the
    value and the hook point, `function(value, hook)`; what it returns passes instead, None changes nothing. Where a
    point is passed several times in one run (weights shared across depth), `hook.passage` tells them apart.

    Raises `UserError` for a name that is no hook point, and for a value of another shape.

    >>> from torch import ones
    >>> model = nn.Sequential(HookPoint(), nn.Flatten(), HookPoint())
    >>> run_with_hooks(model, ones(1, 1, 2), fwd_hooks=[("2", lambda value, hook: 3 * value)])
    tensor([[3., 3.]])
    """
    with hooks(model, fwd_hooks):
        return model(*args, **kwargs)


def run_with_cache(
    model: nn.Module, *args: Any, names_filter: Filter | None = None, **kwargs: Any
) -> tuple[Any, dict[str, Tensor]]:
    """Run a model once and keep what passed its hook points: (output, {name: tensor}).

    `names_filter` keeps only those points. A point that is passed several times in one run (weights shared across
    depth) keeps its first value under `name` and the later ones under `name:1`, `name:2`, ... The tensors stay on
    the graph.

    Raises `UserError` for a name that is no hook point of the model.

    >>> from torch import ones
    >>> model = nn.Sequential(HookPoint(), nn.Flatten(), HookPoint())
    >>> output, cache = run_with_cache(model, ones(1, 2, 2), names_filter=["2"])
    >>> {name: tuple(value.shape) for name, value in cache.items()}
    {'2': (1, 4)}
    """
    cache: dict[str, Tensor] = {}

    def keep(value: Tensor, hook: HookPoint) -> None:
        cache[f"{hook.name}:{hook.passage}" if hook.passage else hook.name] = value

    names = hook_names(model) if names_filter is None else names_filter
    return run_with_hooks(model, *args, fwd_hooks=[(names, keep)], **kwargs), cache
