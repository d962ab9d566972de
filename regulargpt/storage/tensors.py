"""Tensors and plain values as bytes, and back: equal values give equal bytes; reading them runs no code."""

import io
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regulargpt.storage import atomic

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor


def render_weights(weights: Mapping[str, "Tensor"]) -> bytes:
    """The weights in safetensors format; tensors that share memory are written under each name."""
    from safetensors.torch import save

    return save({name: _plain_tensor(tensor) for name, tensor in weights.items()})


def parse_weights(data: bytes, path: Path) -> dict[str, "Tensor"]:
    """The weights, on the CPU; FormatError if `data` is not safetensors."""
    from safetensors.torch import load

    return _parsed(load, data, path)


def parse_arrays(data: bytes, path: Path) -> dict[str, "npt.NDArray[np.floating]"]:
    """The weights as arrays, by name and without torch; FormatError as for `parse_weights`."""
    from safetensors.numpy import load

    return dict(sorted(_parsed(load, data, path).items()))  # it hands them over in any order


def _parsed(load: Callable[[bytes], dict[str, Any]], data: bytes, path: Path) -> dict[str, Any]:
    from safetensors import SafetensorError

    try:
        return load(data)
    except (SafetensorError, KeyError, ValueError) as error:
        message = f"{atomic.shown(path)} is not a safetensors file; restore it from a copy"
        raise atomic.FormatError(message) from error


def render_state(state: Mapping[Any, Any]) -> bytes:
    """Nested dicts, lists and tuples of tensors and plain values, as torch.load reads them without pickle.

    Raises TypeError, naming the place, for anything else: that is a mistake of the caller, found before it is
    written.
    """
    import torch

    buffer = io.BytesIO()
    torch.save(_canonical(state, "state"), buffer)
    return buffer.getvalue()


def parse_state(data: bytes, path: Path) -> Any:
    """The values, on the CPU; FormatError if there is anything but tensors and plain values. Runs no code."""
    import torch

    try:
        with warnings.catch_warnings():
            # torch warns about some foreign files before it refuses them; the refusal below says it in one
            # line.
            warnings.simplefilter("ignore")
            return torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises a dozen types here, UnpicklingError and RuntimeError among them
        message = f"{atomic.shown(path)} holds something other than tensors and plain values"
        raise atomic.FormatError(f"{message}, so it was not opened; restore it from a copy") from error


def _plain_tensor(tensor: "Tensor") -> "Tensor":
    # A view would be saved with all the memory that it looks into; a clone has its own alone.
    return tensor.detach().cpu().contiguous().clone()


def _canonical(value: Any, place: str) -> Any:
    # Pickle writes a string or tensor that was met before as a reference to the first: by identity, not by
    # value. Interned strings and fresh tensors make the bytes a function of the values alone.
    import torch

    if isinstance(value, Mapping):
        return {_canonical(key, place): _canonical(item, f"{place}[{key!r}]") for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(_canonical(item, f"{place}[{i}]") for i, item in enumerate(value))
    if isinstance(value, torch.Tensor):
        return _plain_tensor(value)
    if type(value) is str:
        return sys.intern(value)
    if value is None or type(value) in (bool, int, float):
        return value
    kind = type(value).__name__
    raise TypeError(f"{place} is a {kind}; a checkpoint holds tensors, numbers, strings and lists of them")
