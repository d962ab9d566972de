"""`model.backend=fla`: the same recurrences by the kernels of flash-linear-attention.

A queue of heads and positions, a scale, a decay that is no logarithm, and a state that stands the other way would be
noticed here alone. Where there is no GPU, plain loops stand in for the kernels: ours, and the package's own references.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor

from languages.errors import UserError
from regulargpt.config.recipes import resolve
from regulargpt.models import MODELS
from regulargpt.models.mixing import chunks, kernels
from regulargpt.models.mixing.mixer import Mixer
from regulargpt.runs.load import load_model
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.cases import assert_equal, built, slopes, words_of
from tests.regulargpt.references import flash_linear_attention

CASES = [
    *(f"delta:range=signed,householders={n},gate={gate}" for n in (1, 2, 4) for gate in ("true", "false")),
    *(f"gla:decay={decay}" for decay in ("channel", "head", "retention")),
    *("rwkv7", "rwkv7:range=signed", "mamba2", "mamba2:version=3", "mlstm", "mlstm:blocks=ms"),
]
PLACES = {
    "chunk_simple_gla": "simple_gla",
    "chunk_gla": "gla",
    "chunk_gated_delta_rule": "gated_delta_rule",
    "chunk_dplr_delta_rule": "generalized_delta_rule.dplr",
}
"""Where `fla.ops` has its kernels from."""


def loop(q, k, v, a, b, gk, scale, initial_state, output_final_state) -> tuple[Tensor, Tensor]:
    """S <- diag(exp gk) S + b (S^T a)^T + k v^T, o = scale S^T q, positions before heads: every kernel is one of it."""
    S, found = initial_state, []
    for t in range(q.shape[1]):
        read = torch.einsum("bhkv,bhk->bhv", S, a[:, t])
        S = gk[:, t].exp()[..., None] * S + b[:, t, ..., None] * read[..., None, :]
        S = S + k[:, t, ..., None] * v[:, t, ..., None, :]
        found.append(scale * torch.einsum("bhkv,bhk->bhv", S, q[:, t]))
    assert output_final_state
    return torch.stack(found, 1), S


def gla(q, k, v, g, **others) -> tuple[Tensor, Tensor]:
    return loop(q, k, v, 0 * k, 0 * k, g, **others)


def simple_gla(q, k, v, g, **others) -> tuple[Tensor, Tensor]:
    return gla(q, k, v, g[..., None].expand_as(q), **others)


def gated_delta_rule(q, k, v, g, beta, **others) -> tuple[Tensor, Tensor]:
    g, scaled = g[..., None].expand_as(q), beta[..., None] * k
    return loop(q, scaled, v, -g.exp() * k, scaled, g, **others)


OURS = dict(zip(PLACES, (simple_gla, gla, gated_delta_rule, loop), strict=True))


def theirs() -> dict[str, Any]:
    """Their references in float64. Some have heads before positions, some no scale but the usual one."""
    found = {name: flash_linear_attention(place, in_float64=True) for name, place in PLACES.items()}
    simple, delta = found["chunk_simple_gla"].naive_recurrent_simple_gla, found["chunk_gated_delta_rule"]
    by_channel, dplr = found["chunk_gla"].naive_recurrent_gla, found["chunk_dplr_delta_rule"].dplr_recurrence

    def unscaled(q: Tensor, scale: float) -> Tensor:
        return q * scale * q.shape[-1] ** 0.5

    def of_channels(q, scale, **others) -> tuple[Tensor, Tensor]:
        parts = {"gk" if name == "g" else name: part for name, part in others.items()}
        return by_channel(unscaled(q, scale), **parts)

    def of_heads(q, k, v, a, b, gk, scale, **others) -> tuple[Tensor, Tensor]:
        parts = [part.transpose(1, 2) for part in (unscaled(q, scale), k, v, a, b, gk)]  # heads before positions
        o, S = dplr(*parts, **others)
        return o.transpose(1, 2), S

    return dict(zip(PLACES, (simple, of_channels, delta.naive_recurrent_gated_delta_rule, of_heads), strict=True))


@pytest.fixture(params=["our loops", "their references"])
def stand_in(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Loops in place of `fla.ops`; the names of those that were called."""
    ops, called = ModuleType("fla.ops"), []
    for name, function in (OURS if request.param == "our loops" else theirs()).items():

        def counted(*args: Any, name: str = name, function: Any = function, **others: Any) -> Any:
            called.append(name)
            return function(*args, **others)

        setattr(ops, name, counted)
    monkeypatch.setitem(sys.modules, "fla", ModuleType("fla"))
    monkeypatch.setitem(sys.modules, "fla.ops", ops)
    return called


def by_fla(written: str) -> Any:
    """The network of a case with this backend, in training."""
    return built(f"{written}{',' if ':' in written else ':'}backend=fla").train()


def by_loop(model: Any) -> Any:
    for mixer in (part for part in model.modules() if isinstance(part, Mixer)):
        mixer.along = mixer.loop
    return model


def in_two(model: Any, words: Tensor) -> list[Tensor]:
    """The answers to a word in two pieces with the gradients, and the states behind it."""
    first, state = model.read(words[:, :5], None, "all")
    rest, state = model.read(words[:, 5:], state, "all")
    states = [part for (state, _) in state for part in state]
    return [*slopes(model, torch.cat([first, rest], 1)), *(part.detach() for part in states)]


@pytest.mark.parametrize("case", CASES)
def test_outputs_gradients_and_states_are_those_of_our_loop(case: str, stand_in: list[str]):
    model, words = by_fla(case), words_of(2, 27)
    found, expected = in_two(model, words), in_two(by_loop(built(case)), words)
    assert_equal(found, expected, 1e-11)
    assert stand_in


@pytest.mark.parametrize("case", CASES)
def test_what_is_not_trained_has_our_own_form(case: str, monkeypatch: pytest.MonkeyPatch):
    """Tests, and the proofs, whose networks are in evaluation mode; here a kernel would not be found."""
    monkeypatch.setitem(sys.modules, "fla.ops", None)
    words = words_of(2, 27)
    assert_equal([by_fla(case).eval()(words)], [built(case)(words)], 0)
    with pytest.raises(ModuleNotFoundError):
        by_fla(case)(words)


def test_the_kernels_of_the_package_take_these_arguments(monkeypatch: pytest.MonkeyPatch):
    """By their source: the package cannot be imported without triton."""
    found = find_spec("fla")
    if found is None or not found.submodule_search_locations:
        pytest.skip("it reads the package's source: pip install --no-deps fla-core")
    ops, asked = Path(next(iter(found.submodule_search_locations)), "ops"), {}

    def noted(name: str):
        def kernel(**given: Any) -> tuple[Tensor, Tensor]:
            asked[name] = set(given)
            return OURS[name](**given)

        return kernel

    fake = ModuleType("fla.ops")
    for name in PLACES:
        setattr(fake, name, noted(name))
    monkeypatch.setitem(sys.modules, "fla.ops", fake)
    for case in CASES:
        by_fla(case)(words_of(1, 3))
    exported = (ops / "__init__.py").read_text("utf-8")
    for name, place in PLACES.items():
        source = ast.parse(Path(ops, *place.split("."), "chunk.py").read_text("utf-8"))
        kernel = next(part for part in ast.walk(source) if isinstance(part, ast.FunctionDef) and part.name == name)
        given, optional = [a.arg for a in kernel.args.args], len(kernel.args.defaults)
        assert set(given[: len(given) - optional]) <= asked[name] <= set(given)
        assert f"'{name}'" in exported
        assert not any("float32" in ast.unparse(part) for part in kernel.body if isinstance(part, ast.Assert)) or (
            name == "chunk_gla"  # it asks for an initial state in float32
        )
