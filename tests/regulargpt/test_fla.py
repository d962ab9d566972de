"""`model.backend=fla`: the same recurrences by the kernels of flash-linear-attention.

A queue of heads and positions, a scale, a decay that is no logarithm, and a state that stands the other way would be
noticed here alone. Where there is no GPU, plain loops stand in for the kernels: ours, and the package's own references.
"""

from __future__ import annotations

import ast
import os
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
ROOT = Path(__file__).parents[2]
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


@pytest.mark.parametrize("stand_in", ["our loops"], indirect=True)
def test_a_run_keeps_nothing_of_what_trained_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stand_in: list[str]):
    """config.json, which the checker reads, does not name the backend: any machine opens the run."""
    chosen = {"training.steps": 2, "evaluation.test_len": 42, "evaluation.falsify": 0, "model.d_model": 8}
    written = [f"{name},n_heads=2,n_layers=1,conv=0" for name in ("delta:backend=fla", "delta:backend=own")]
    monkeypatch.setattr(MODELS["delta"].options, "why_not_on", lambda self, device: None)
    runs = [tmp_path / "fla", tmp_path / "own"]
    for place, model in zip(runs, written, strict=True):
        run(resolve("words", model, "parity", chosen), place)
    assert stand_in == ["chunk_gated_delta_rule"] * 2
    fla, own = [(place / "config.json").read_text("utf-8") for place in runs]
    assert fla == own
    assert 'backend = "fla"' in (runs[0] / "config.toml").read_text("utf-8")
    model = load_model(RunFolder.open(runs[0]))
    assert {part.backend for part in model.modules() if isinstance(part, Mixer)} == {"own"}


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("delta:backend=triton", "model.backend = 'triton'; choose one of own, fla"),
        ("slstm:backend=fla", "model.backend = 'fla' has no kernel for sLSTM; choose 'own'"),
        ("mlstm:backend=fla,blocks=s", "model.backend = 'fla' has no kernel for sLSTM; choose 'own'"),
        (
            "rwkv7:backend=fla,d_model=512,n_heads=1",
            "model.backend = 'fla': its kernel takes heads of at most 256 channels; give more n_heads",
        ),
        (
            "mamba:backend=fla",
            "unknown key 'model.backend': 'mamba' has no backend; "
            "'delta', 'mlstm', 'slstm', 'mamba2', 'gla', 'rwkv7' have",
        ),
    ],
)
def test_refused_options(written: str, message: str):
    with pytest.raises(UserError) as refused:
        resolve(None, written, "parity")
    assert str(refused.value) == message


@pytest.mark.parametrize("missing", ["fla", "einops", "triton"])
def test_a_machine_without_the_package_is_refused(missing: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("regulargpt.models.mixing.options.find_spec", lambda name: None if name == missing else name)
    options, own = MODELS.options("gla:backend=fla", "model"), MODELS.options("gla", "model")
    said = f"model.backend = 'fla': {missing} is not installed; pip install 'fla-core[cuda]', or choose 'own'"
    assert options.why_not_on("cuda") == said
    assert own.why_not_on("cpu") is None


def test_a_machine_without_a_gpu_is_refused_before_anything_is_written(tmp_path: Path):
    config = resolve("words", "delta:backend=fla", "parity").replaced({"device": "cpu"})
    with pytest.raises(UserError, match=r"^model.backend = 'fla' trains on a GPU; choose --device cuda where there is"):
        run(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def drawn(place: str) -> list[tuple[str, list[Tensor]]]:
    """Of each function of `kernels`, what it is given: words of 2 symbols more than a chunk of theirs."""
    B, H, T, K, V, n = 1, 2, 66, 8, 6, 2
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(B, H, *shape, generator=generator).to(place)

    def key(*shape: int) -> Tensor:
        return torch.nn.functional.normalize(normal(*shape), dim=-1)

    q, k, v, S = normal(T, K), normal(T, K), normal(T, V), normal(K, V)
    gates, of_channels, erased = -normal(T).sigmoid(), -normal(T, K).sigmoid() / 2, key(T, K)
    return [
        ("additive", [q, k, v, gates, S]),
        ("gated", [q, k, v, of_channels, S]),
        ("delta", [q, key(T, n, K), normal(T, n, V), 2 * normal(T, n).sigmoid(), gates, S]),
        ("removing", [q, k, v, erased, erased * 2 * normal(T, K).sigmoid(), of_channels, S]),
    ]


def apart(name: str, parts: list[Tensor]) -> float:
    """The largest difference of outputs, state and gradients between a kernel and our form, over the largest number."""
    results = []
    for form in (chunks, kernels):
        given = [part.detach().requires_grad_() for part in parts]
        o, S = getattr(form, name)(*given, *([20] if name in ("delta", "removing") else []))
        loss = (o * torch.linspace(-1, 1, o.numel(), device=o.device).reshape(o.shape)).sum() + S.square().sum()
        results.append([o, S, *torch.autograd.grad(loss, given)])
    return max(float((x - y).abs().max() / x.abs().max()) for x, y in zip(*results, strict=True))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the kernels need a GPU")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "parts"), drawn("cpu"), ids=["additive", "gated", "delta", "removing"])
def test_on_a_gpu_the_kernels_are_our_forms(name: str, parts: list[Tensor]):
    """To what their matrix products in TF32 leave: 0.005, as the package's own tests have it."""
    pytest.importorskip("fla.ops", reason="pip install 'fla-core[cuda]'", exc_type=ImportError)
    assert apart(name, [part.cuda() for part in parts]) < 5e-3


INTERPRETED = """
import builtins, sys, warnings
warnings.simplefilter("ignore")
import triton.language as tl
from triton.runtime.autotuner import Autotuner
import fla.ops
from tests.regulargpt.test_fla import apart, drawn

class Whole(int):  # loops of a kernel count in numbers of Python here
    to = lambda self, kind: self

tune = Autotuner.run
def first(self, *args, **others):  # nothing is timed
    self.configs = self.configs[:1]
    return tune(self, *args, **others)
Autotuner.run = first
for name, module in [*sys.modules.items()]:
    if name.startswith("fla.ops"):
        module.range = lambda *ends: map(Whole, builtins.range(*map(int, ends)))
        if hasattr(module, "gather"):
            module.gather = lambda *args, **others: tl.gather(*args, **others)
for name, parts in drawn("cpu"):
    print(name, apart(name, parts))
"""


@pytest.mark.slow
def test_the_kernels_themselves_run_by_triton_s_interpreter():
    """On the CPU, one program of a grid after the other: what a GPU computes, but for its rounding."""
    for package in ("triton", "fla", "einops"):
        if find_spec(package) is None:
            pytest.skip("it interprets the kernels: pip install --no-deps triton fla-core einops")
    environment = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", INTERPRETED]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT, timeout=500, check=False)
    assert not done.returncode, done.stderr
    found = dict(line.split() for line in done.stdout.splitlines())
    assert set(found) == {"additive", "gated", "delta", "removing"}
    assert all(float(value) < 1e-5 for value in found.values()), found
