"""Networks of linear recurrences that are made by hand or drawn, their files, and their logits in 60 digits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import mpmath
import torch

from languages.task import Task
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.storage.atomic import render_json
from regulargpt.storage.tensors import render_weights

DIGITS = mpmath.MPContext()
DIGITS.dps = 60


def files_of(model: LinearRnn, task: Task) -> tuple[bytes, bytes]:
    """model.safetensors and config.json, as a run has them."""
    options = {"name": "linear-rnn", "d_model": model.ln_final.weight.numel(), "n_layers": len(model.blocks)}
    alphabet, names = [*task.machine.alphabet], [*task.machine.output_names]
    sizes = {"n_symbols": len(alphabet), "n_outputs": len(names)}
    record = {"model": options, **sizes, "alphabet": alphabet, "output_names": names, "supervision": "last"}
    return render_weights(model.state_dict()), render_json(record)


def drawn(task: Task, d_model: int, n_layers: int, seed: int) -> LinearRnn:
    """At random, with states that die away within some ten symbols."""
    generator = torch.Generator().manual_seed(seed)
    sizes = {"d_model": d_model, "n_layers": n_layers}
    model = LinearRnn(task.n_symbols, len(task.machine.output_names), **sizes, generator=generator).double()
    for name, weight in model.state_dict().items():
        if name.endswith("nu"):
            weight.normal_(-1.0, 0.7, generator=generator)
    return model


def made(nu: float, symbols: Sequence[float], threshold: float) -> LinearRnn:
    """One number s' = a s + x, with x about 1, -1 or 0 by symbol; the second answer is given where s > `threshold`.

    The vector of a symbol is x (1, -1), which LayerNorm keeps, almost; gelu(s) - gelu(-s) = s, and the gate is open.
    """
    model = LinearRnn(len(symbols), 2, d_model=2, n_layers=1).double()
    weights, way = model.state_dict(), torch.tensor([1.0, -1.0]).double()
    for weight in weights.values():
        weight.zero_()
    weights["embedding.weight"].copy_(torch.tensor(symbols)[:, None] * way)
    for name in ("blocks.0.ln.weight", "ln_final.weight"):
        weights[name].fill_(1.0)
    weights["blocks.0.lru.nu"].fill_(nu)
    weights["blocks.0.lru.b.weight"][0, 0] = 1 / math.sqrt(-math.expm1(-2 * math.exp(nu)))
    weights["blocks.0.lru.c.weight"][:, 0] = way
    weights["blocks.0.glu.weight"][:2] = torch.outer(way, way)
    weights["blocks.0.glu.bias"].copy_(torch.cat([-threshold * way, torch.tensor([30.0, 30.0]).double()]))
    weights["readout.weight"].copy_(torch.stack([-way, way]))
    return model


class Digits:
    """The network in 60 digits, symbol by symbol, from its weights and the formulas of docs/models.md alone."""

    def __init__(self, weights: Mapping[str, torch.Tensor]):
        self.w: dict[str, Any] = {name: exactly(weight.tolist()) for name, weight in weights.items()}
        self.d, self.n_layers = len(self.w["ln_final.weight"]), sum(name.endswith("nu") for name in weights)

    def start(self) -> list[list[Any]]:
        """The states before the first symbol."""
        return [[DIGITS.mpc(0)] * self.d for _ in range(self.n_layers)]

    def step(self, states: list[list[Any]], symbol: int) -> tuple[list[Any], list[list[Any]]]:
        """The logits, and the states, after one more symbol."""
        h, after = self.w["embedding.weight"][symbol], []
        for i in range(self.n_layers):
            block, lru = f"blocks.{i}.", f"blocks.{i}.lru."
            u = self.norm(f"{block}ln", h)
            decay = [DIGITS.exp(nu) for nu in self.w[f"{lru}nu"]]
            a = [DIGITS.exp(DIGITS.mpc(-r, theta)) for r, theta in zip(decay, self.w[f"{lru}theta"], strict=True)]
            gamma, b = [DIGITS.sqrt(1 - DIGITS.exp(-2 * r)) for r in decay], self.linear(f"{lru}b", u)
            x = [a[k] * states[i][k] + gamma[k] * DIGITS.mpc(b[2 * k], b[2 * k + 1]) for k in range(self.d)]
            after.append(x)
            y = self.linear(f"{lru}c", [part for z in x for part in (z.real, z.imag)])
            y = [left + d * right for left, d, right in zip(y, self.w[f"{lru}d"], u, strict=True)]
            g = self.linear(f"{block}glu", [z * (1 + DIGITS.erf(z / DIGITS.sqrt(2))) / 2 for z in y])
            h = [h[k] + g[k] / (1 + DIGITS.exp(-g[self.d + k])) for k in range(self.d)]
        return self.linear("readout", self.norm("ln_final", h)), after

    def answer(self, word: Sequence[int]) -> int:
        """The largest logit at the end of a word, which is the largest by a margin."""
        logits, states = self.step(self.start(), word[0])
        for symbol in word[1:]:
            logits, states = self.step(states, symbol)
        second, first = sorted(range(len(logits)), key=logits.__getitem__)[-2:]
        assert logits[first] - logits[second] > 1e-40
        return first

    def norm(self, name: str, x: Sequence[Any]) -> list[Any]:
        mean = sum(x) / len(x)
        scale = DIGITS.sqrt(sum((z - mean) ** 2 for z in x) / len(x) + DIGITS.mpf("1e-5"))
        rows = zip(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"], strict=True)
        return [(z - mean) / scale * gain + bias for z, gain, bias in rows]

    def linear(self, name: str, x: Sequence[Any]) -> list[Any]:
        rows = self.w[f"{name}.weight"]
        bias = self.w.get(f"{name}.bias", [0] * len(rows))
        return [DIGITS.fdot(row, x) + b for row, b in zip(rows, bias, strict=True)]


def exactly(x: Any) -> Any:
    """Nested lists of doubles, as they are."""
    return [exactly(part) for part in x] if isinstance(x, list) else DIGITS.mpf(x)
