"""Hook points: where the inside of a model can be read or changed, under names interpretability users know.

A hook point is the identity. It costs one call, and what is expensive to make (the attention pattern) is made
only when `listened_to()`.
"""

from collections.abc import Callable, Collection
from typing import Any

from torch import Tensor, nn


class HookPoint(nn.Identity):
    """The identity, named by where it stands: `blocks.0.attn.hook_pattern`, `blocks.0.hook_resid_post`.

    Read what passes with PyTorch's own `register_forward_hook`; a hook that returns a value replaces it.

    >>> from torch import ones
    >>> point = HookPoint()
    >>> handle = point.register_forward_hook(lambda module, inputs, output: 2 * output)
    >>> point(ones(2)), point.listened_to()
    (tensor([2., 2.]), True)
    """

    def listened_to(self) -> bool:
        """Whether anybody registered a hook here."""
        return listened_to(self)


def listened_to(module: nn.Module) -> bool:
    """Whether anybody registered a hook on the module or on one inside it.

    >>> point = HookPoint()
    >>> with point.register_forward_hook(lambda module, inputs, output: None):
    ...     listened_to(nn.Sequential(nn.Linear(2, 2), point))
    True
    """
    return any(part._forward_hooks or part._forward_pre_hooks for part in module.modules())


def hook_names(model: nn.Module) -> list[str]:
    """The names of all hook points of a model, in the order of its modules."""
    return [name for name, module in model.named_modules() if isinstance(module, HookPoint)]


def keeper(cache: dict[str, Tensor], name: str) -> Callable[[nn.Module, Any, Tensor], None]:
    """A forward hook that puts what passes into the cache, under the next free key of that name."""

    def keep(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        passed = sum(1 for key in cache if key.partition(":")[0] == name)
        cache[f"{name}:{passed}" if passed else name] = output

    return keep


def run_with_cache(
    model: nn.Module, *args: Any, names: Collection[str] | None = None, **kwargs: Any
) -> tuple[Any, dict[str, Tensor]]:
    """Run a model once and keep what passed its hook points: (output, {name: tensor}).

    `names` keeps only those points. A point that is passed several times in one run (weights shared across
    depth) keeps its first value under `name` and the later ones under `name:1`, `name:2`, ... The tensors
    stay on the graph.

    Raises `KeyError` for a name that is no hook point of the model.

    >>> from torch import ones
    >>> model = nn.Sequential(HookPoint(), nn.Flatten(), HookPoint())
    >>> output, cache = run_with_cache(model, ones(1, 2, 2), names=["2"])
    >>> {name: tuple(value.shape) for name, value in cache.items()}
    {'2': (1, 4)}
    """
    wanted = hook_names(model) if names is None else names
    if unknown := [name for name in wanted if name not in set(hook_names(model))]:
        raise KeyError(f"no hook point named {unknown[0]!r}; the model has {', '.join(hook_names(model))}")
    cache: dict[str, Tensor] = {}
    modules = dict(model.named_modules())
    handles = [modules[name].register_forward_hook(keeper(cache, name)) for name in wanted]
    try:
        return model(*args, **kwargs), cache
    finally:
        for handle in handles:
            handle.remove()
