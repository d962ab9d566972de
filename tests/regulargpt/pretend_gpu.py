"""A device that computes on the CPU, and refuses what a GPU refuses: tensors of both in one operation, `numpy()`.

It knows no complex numbers, and no operation that changes the shape of a tensor in place, as recurrent layers have.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map_only

from regulargpt.runs import device

THERE = torch.device("lazy", 0)  # a kind that torch knows, and loads nothing for
COPIES = ("_to_copy", "copy_")


class OnGpu(Tensor):
    """A tensor that says that it is there, around one of the CPU."""

    inner: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> "OnGpu":
        made = {"strides": inner.stride(), "storage_offset": inner.storage_offset(), "dtype": inner.dtype}
        return Tensor._make_wrapper_subclass(cls, inner.shape, **made, device=THERE)  # type: ignore[attr-defined]

    def __init__(self, inner: Tensor):
        self.inner = inner

    def __repr__(self) -> str:  # type: ignore[override]
        return f"OnGpu({self.inner!r})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})


class Pretending(TorchDispatchMode):
    """While it lasts, what is made there by no tensor that is there, such as `arange(device=...)`, is one."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return computed(func, args, kwargs or {})


def computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """An operation on the CPU; its result is where its tensors are, or where it is asked for.

    Tensors of both devices are no operation, but for a copy from one to the other, a number, and an index.
    """
    name, given = func.overloadpacket.__name__, [x for x in tree_flatten((args, kwargs))[0] if isinstance(x, Tensor)]
    there = [x for x in given if isinstance(x, OnGpu)]
    here = [x for x in given if not isinstance(x, OnGpu) and x.dim()]
    if there and here and name not in COPIES:
        raise RuntimeError(f"{name}: Expected all tensors to be on the same device")
    asked = kwargs.get("device")
    goes = bool(there) if asked is None else torch.device(asked).type == THERE.type
    if name == "copy_":
        goes = isinstance(args[0], OnGpu)
    if asked is not None and goes:
        kwargs = {**kwargs, "device": "cpu"}
    args, kwargs = tree_map_only(OnGpu, lambda x: x.inner, (args, kwargs))
    found = func(*args, **kwargs)
    if not goes:
        return found
    of_inner = {id(x.inner): x for x in there}  # what is changed in place is itself
    return tree_map_only(Tensor, lambda x: of_inner[id(x)] if id(x) in of_inner else OnGpu(x), found)


class FromNumbers(TorchFunctionMode):
    """`torch.tensor` of plain numbers passes by a dispatch mode: it is made here, and taken there. As does `tolist`."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is Tensor.tolist:
            return func(args[0].cpu())
        if func is not torch.tensor or kwargs.get("device") is None:
            return func(*args, **kwargs)
        device = kwargs.pop("device")
        return func(*args, **kwargs).to(device)


@contextmanager
def pretended() -> Iterator[None]:
    """While this lasts, a device that is asked for is that one."""
    former = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)  # `.to` and `.double` make new parameters
    try:
        with Pretending(), FromNumbers(), mock.patch.object(device, "device_named", return_value=THERE):
            yield
    finally:
        torch.__future__.set_swap_module_params_on_conversion(former)


def numbers(found: Any) -> list[float]:
    """All that a report has, in order."""
    within = found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()
    return [float(found)] if isinstance(found, int | float) else [x for one in within for x in numbers(one)]
