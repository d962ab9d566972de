"""A class by its import path, and its weights from a file: nothing in a file of weights is ever run."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

from languages.errors import UserError, nearest, shown
from regulargpt.models.base import fill
from regulargpt.options.registry import PATH


def build(place: str, weights: Path | None) -> nn.Module:
    """The module `package.module:Class`, or `..:Class:name=value,..` with arguments of its own, with these weights.

    Modules of the folder of work are found, too. Raises UserError, in one line, for what cannot be imported, built or
    loaded.

    >>> build("torch.nn:Linear:in_features=2,out_features=3", None)
    Linear(in_features=2, out_features=3, bias=True)
    """
    path, _, written = place.partition(":")
    name, _, written = written.partition(":")
    if not PATH.fullmatch(f"{path}:{name}"):
        raise UserError(f"{place!r} names no class; give MODULE:CLASS, as in my_net:Net or my_net:Net:width=32")
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = import_module(path)
    except Exception as error:
        raise UserError(f"{path} cannot be imported: {said(error)}") from error
    kind = getattr(module, name, None)
    if kind is None:
        raise UserError(f"{path} has no {name};{nearest(name, vars(module)) or ' see its classes'}")
    try:
        found = kind(**arguments(written))
    except Exception as error:
        raise UserError(f"{place} cannot be built: {said(error)}") from error
    if not isinstance(found, nn.Module):
        raise UserError(f"{place} is no torch.nn.Module")
    return found if weights is None else loaded(found, weights)


def arguments(written: str) -> dict[str, Any]:
    """Arguments as they are written, numbers and yes or no among them.

    >>> arguments("width=32,rate=.5,causal=true,name=a")
    {'width': 32, 'rate': 0.5, 'causal': True, 'name': 'a'}
    """
    found = dict[str, Any]()
    for part in filter(None, written.split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise UserError(f"{part!r} is no NAME=VALUE")
        found[name] = read(value)
    return found


def read(value: str) -> Any:
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(value, value)


def loaded(module: nn.Module, weights: Path) -> nn.Module:
    """The module with the weights of a file: safetensors, or what `torch.save` wrote of a `state_dict`."""
    try:
        is_safe = weights.suffix == ".safetensors"
        found = load_file(weights) if is_safe else torch.load(weights, "cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"{shown(weights)} cannot be read ({error.strerror or error})") from error
    except Exception as error:
        raise UserError(
            f"{shown(weights)} holds no weights that can be read safely; use torch.save(net.state_dict(), FILE)"
        ) from error
    if not isinstance(found, Mapping) or not all(isinstance(x, torch.Tensor) for x in found.values()):
        raise UserError(f"{shown(weights)} is no state_dict; use torch.save(net.state_dict(), FILE)")
    fill(module, found, shown(weights))
    return module


def said(error: Exception) -> str:
    """An error in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split()):.300}".removesuffix(": ")
