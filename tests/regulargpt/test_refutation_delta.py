"""Refutations of one layer of delta: what the checker accepts is wrong in 50 digits, and what is forged is refused.

A key that two sub-steps share, what is orthogonal to all keys, a convolution that is not yet full, a word between two
comparisons: each has a bound of its own in the checker, and a wrong one shows here alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import languages
from languages.automata import MooreMachine
from languages.convert.machines import to_json
from languages.task import Task
from regulargpt.certificate.checker import AcceptedRefutation, Rejected, decide
from regulargpt.certificate.checker.delta_recurrences import Columns, DeltaRecurrences, DeltaSettling
from regulargpt.certificate.checker.refutation import CheckedFamily as CheckedFamily
from regulargpt.certificate.checker.refutation import RefutationCheck as Checked
from regulargpt.certificate.compared import right_machine
from regulargpt.certificate.refutation import families
from regulargpt.certificate.refutation.delta import DeltaNetwork
from regulargpt.certificate.refutation.families import PowerFamily, WrongFamily
from regulargpt.certificate.refutation.outcome import certificate_of, refutation_of
from regulargpt.config.schema import RunConfig
from regulargpt.models import MODELS, build
from regulargpt.models.delta.model import Delta
from regulargpt.runs.refute import refutation_report
from regulargpt.runs.run import run
from regulargpt.storage.atomic import render_json
from regulargpt.storage.folder import REFUTATION, RunFolder
from regulargpt.storage.tensors import render_weights
from tests.regulargpt.linear_networks import exactly
from tests.regulargpt.small import COMMON

PARITY = languages.get("parity")
DIGITS = mpmath.MPContext()
DIGITS.dps = 50
SMALL = "d_model=4,n_heads=2,n_layers=1"
KINDS = [
    "delta:conv=0,range=signed",
    "delta:conv=2",
    "delta:conv=4,gate=true,range=signed",
    "delta:conv=0,householders=2,range=signed,mlp=none",
    "delta:conv=3,householders=2,output_gate=yes",
    "delta:conv=1,gate=true,householders=3",
]


def drawn(written: str, task: Task, seed: int) -> tuple[Any, bytes, bytes]:
    """A network, and its files as a run has them. Its weights are large enough for its answers to differ."""
    options = MODELS.options(f"{written},{SMALL}", "model")
    alphabet, names = [*task.machine.alphabet], [*task.machine.output_names]
    model = build(options, len(alphabet), len(names), torch.Generator().manual_seed(seed)).double()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(2)
    assert isinstance(model, Delta)
    sizes = {"n_symbols": len(alphabet), "n_outputs": len(names)}
    record = {"model": options.record(), **sizes, "alphabet": alphabet, "output_names": names, "supervision": "last"}
    return model, render_weights(model.state_dict()), render_json(record)


class Digits:
    """The network in 50 digits, symbol by symbol, from its weights and the equations in the class's docstring."""

    def __init__(self, model: Delta, signed: bool):
        self.w: Mapping[str, Any] = {name: exactly(weight.tolist()) for name, weight in model.state_dict().items()}
        mixer: Any = model.blocks[0].mixer
        self.H, self.n, self.d = mixer.n_heads, mixer.householders, len(self.w["norm.weight"])
        self.K, self.largest = self.d // self.H, 2 if signed else 1

    def linear(self, name: str, x: Sequence[Any]) -> list[Any]:
        rows = self.w[f"{name}.weight"]
        bias = self.w.get(f"{name}.bias", [0] * len(rows))
        return [DIGITS.fdot(row, x) + b for row, b in zip(rows, bias, strict=True)]

    def rms(self, name: str, x: Sequence[Any]) -> list[Any]:
        scale = DIGITS.sqrt(sum(z**2 for z in x) / len(x) + DIGITS.mpf("1e-5"))
        return [z / scale * gain for z, gain in zip(x, self.w[f"{name}.weight"], strict=True)]

    def logits(self, word: Sequence[int]) -> list[Any]:
        m, d, K = "blocks.0.mixer.", self.d, self.K
        S = [[[DIGITS.mpf(0)] * K for _ in range(K)] for _ in range(self.H)]
        us: list[list[Any]] = []
        x, h, reads = [], [], []
        for symbol in word:
            h = self.w["embedding.weight"][symbol]
            x = self.rms("blocks.0.norm", h)
            us.append(self.linear(f"{m}qkv", x))
            u = us[-1]
            if f"{m}conv.weight" in self.w:
                weight = self.w[f"{m}conv.weight"]
                u = [
                    sum(a * b[i] for a, b in zip(reversed(weight[i]), reversed(us), strict=False))
                    for i in range(len(u))
                ]
            u, betas, reads = [silu(z) for z in u], self.linear(f"{m}beta", x), []
            for head in range(self.H):
                part = [u[i * d + head * K : i * d + (head + 1) * K] for i in range(1 + 2 * self.n)]
                if f"{m}decay.weight" in self.w:
                    t = DIGITS.log1p(DIGITS.exp(self.linear(f"{m}decay", x)[head] + self.w[f"{m}dt_bias"][head]))
                    left = DIGITS.exp(-DIGITS.exp(self.w[f"{m}a_log"][head]) * t)
                    S[head] = [[left * z for z in row] for row in S[head]]
                for j in range(self.n):
                    k, v = unit(part[1 + j]), part[1 + self.n + j]
                    beta = self.largest / (1 + DIGITS.exp(-betas[head * self.n + j]))
                    error = [v[b] - sum(k[a] * S[head][a][b] for a in range(K)) for b in range(K)]
                    S[head] = [[S[head][a][b] + beta * k[a] * error[b] for b in range(K)] for a in range(K)]
                q = unit(part[0])
                o = [sum(q[a] * S[head][a][b] for a in range(K)) / DIGITS.sqrt(K) for b in range(K)]
                reads += self.rms(f"{m}norm", o)
        if f"{m}output_gate.weight" in self.w:
            reads = [z * silu(gate) for z, gate in zip(reads, self.linear(f"{m}output_gate", x), strict=True)]
        h = [a + b for a, b in zip(h, self.linear(f"{m}out", reads), strict=True)]
        if "blocks.0.mlp.up.weight" in self.w:
            both = self.linear("blocks.0.mlp.up", self.rms("blocks.0.mlp_norm", h))
            half = len(both) // 2
            fed = [silu(a) * b for a, b in zip(both[:half], both[half:], strict=True)]
            h = [a + b for a, b in zip(h, self.linear("blocks.0.mlp.down", fed), strict=True)]
        return self.linear("readout", self.rms("norm", h))

    def answer(self, word: Sequence[int]) -> int:
        logits = self.logits(word)
        return max(range(len(logits)), key=logits.__getitem__)


def silu(x: Any) -> Any:
    return x / (1 + DIGITS.exp(-x))


def unit(x: Sequence[Any]) -> list[Any]:
    size = DIGITS.sqrt(sum(z**2 for z in x) + DIGITS.mpf("1e-6"))
    return [z / size for z in x]


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that reads less in float64."""
    monkeypatch.setattr(DeltaNetwork, "symbols", (256,))
    monkeypatch.setattr(DeltaNetwork, "families", 4)
    monkeypatch.setattr(families, "MOST_V", 3)


@pytest.mark.parametrize(("written", "language"), [*zip(KINDS, ["parity", "cyclic-3"] * 3, strict=True)])
@pytest.mark.usefixtures("soon")
def test_what_is_accepted_is_wrong_in_fifty_digits(written: str, language: str):
    task = languages.get(language)
    model, weights, config = drawn(written, task, seed=1)
    found = refutation_of(task, model, weights, config)
    assert found.report["refuted"], found.report
    record, machine = json.loads(found.files[REFUTATION]), right_machine(task)
    assert isinstance(machine, MooreMachine)
    digits, first, period = Digits(model, "signed" in written), record["from"], record["period"]
    for n in (first, first + period, first + 7 * period):
        word = [*record["u"], *record["v"] * n, *record["w"]]
        assert digits.answer(word) == record["answer"] != machine.answers(np.array([word]))[0] >= 0
    # It is the least: one period before the network is right, or gives another wrong answer.
    if (before := first - period) >= 1:
        word = [*record["u"], *record["v"] * before, *record["w"]]
        assert machine.answers(np.array([word]))[0] == record["answer"] or digits.answer(word) != record["answer"]


@given(
    written=st.sampled_from(KINDS),
    seed=st.integers(0, 50),
    u=st.lists(st.integers(0, 1), max_size=3),
    v=st.lists(st.integers(0, 1), min_size=1, max_size=4),
    w=st.lists(st.integers(0, 1), max_size=2),
)
@settings(max_examples=12)
def test_the_bounds_of_many_words_hold_of_each_and_come_together(
    written: str, seed: int, u: list[int], v: list[int], w: list[int]
):
    """Also where v has the same symbol twice, and where it has more keys than they have numbers."""
    model, _, config = drawn(written, PARITY, seed)
    checked, network = of_checker(model, config), DeltaNetwork(model)
    family, most = CheckedFamily(u, v, w, 1, 1, 0, 0), 40
    settling = Checked(checked, family, lambda *_: None).settling
    assert isinstance(settling, DeltaSettling)
    logits = network.along(u, v, most).logits(w)  # (40, 2), at n = 1, 2, ...
    words = torch.tensor([[*u, *v * 40, *w]])
    with torch.no_grad():
        assert np.allclose(logits[-1], model(words)[0].numpy(), atol=1e-9)
    for n in (1, 2, 5, 30):
        assert all_within(settling.all(n), logits[n - 1 :])
        if n >= settling.first:
            assert all_within(settling.some(n, 1, 2), logits[n - 1 : n])
            assert all_within(settling.some(n, 4, 2), logits[n - 1 : n + 6 : 2])
    assert all_within(settling.all(1 << 60), network.limit(u, v, w)[None], 1e-6)


def all_within(bounds: Any, logits: Any, slack: float = 1e-9) -> bool:
    """Whether these logits (n, n_outputs) lie in the balls; FLINT's own bounds, rounded outwards."""
    low, high = ([float(x) for x in ends] for ends in zip(*((x.lower(), x.upper()) for x in bounds), strict=True))
    return bool(((np.array(low) <= logits + slack) & (logits - slack <= np.array(high))).all())


def of_checker(model: Delta, config: bytes) -> DeltaRecurrences:
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    return DeltaRecurrences(weights, json.loads(config))


def test_states_do_not_grow_apart_by_rounding():
    """A ball in each coordinate would grow with every step, as it turns: 2^400 times here."""
    model, _, config = drawn(KINDS[0], PARITY, seed=4)
    network = of_checker(model, config)
    _, _, (state,) = network.read([1, 0, 1, 1] * 100, network.beginning(), [])
    assert isinstance(state, Columns)
    assert float(max(state.radius.ravel())) < 1e-9
    with torch.no_grad():
        (S,), _ = model.read(torch.tensor([[1, 0, 1, 1] * 100]), None, "last")[1][0]
    assert np.abs(state.centre.astype(float) - S[0].numpy()).max() < 1e-9


def test_a_bit_that_nothing_reads_is_kept_for_ever():
    """Ungated, the limit depends on u, as 0 has another key than 1; a gate that stays lets it die."""
    for written, forgets in (("delta:conv=0", False), ("delta:conv=0,gate=true", True)):
        model, _, config = drawn(written, PARITY, seed=0)
        network = of_checker(model, config)
        starts = [network.read(u, network.beginning(), [])[2] for u in ([0, 0, 0], [1])]
        limits = [network.toward(start, [1], []).all(1 << 60) for start in starts]
        assert all_within(limits[0], limits[1].astype(float)[None], 1e-7) == forgets


def decided(files: dict[str, bytes], wrong: WrongFamily) -> AcceptedRefutation:
    machine = right_machine(PARITY)
    assert isinstance(machine, MooreMachine)
    accepted = decide(certificate_of(wrong, machine, files).encode(), files)
    assert isinstance(accepted, AcceptedRefutation)
    return accepted


@pytest.mark.usefixtures("soon")
def test_forgeries_are_refused():
    model, weights, config = drawn(KINDS[0], PARITY, seed=1)
    files = {"weights": weights, "network": config, "automaton": to_json(right_machine(PARITY)).encode()}
    record = json.loads(refutation_of(PARITY, model, weights, config).files[REFUTATION])
    family = PowerFamily(*(tuple(record[name]) for name in "uvw"))
    true = WrongFamily(
        family, record["from"], record["period"], record["residue"], record["answer"], 1 - record["answer"]
    )
    assert decided(files, true).layers == 1
    odds = WrongFamily(PowerFamily((), (1,), ()), 1, 2, 1, answer=0, right=1)
    evens = WrongFamily(PowerFamily((), (1,), ()), 2, 2, 0, answer=1, right=0)
    said = []
    for wrong in (odds, evens):  # in the limit the network answers one of the two
        try:
            said.append(decided(files, wrong.later(1000)).claim)
        except Rejected as error:
            said.append(str(error))
    assert sum(text.startswith("For every whole number n >= 100") for text in said) == 1
    assert sum("for every n that is large enough" in text for text in said) == 1
    with pytest.raises(Rejected, match="nothing is wrong"):
        decided(files, WrongFamily(PowerFamily((), (1,), ()), 1, 2, 1, answer=1, right=0))
    deep = json.loads(config)
    deep["model"]["n_layers"] = 2
    _, two, _ = drawn(KINDS[0], PARITY, seed=1)
    with pytest.raises(ValueError, match=r"one layer|not the tensors"):
        decided({**files, "network": render_json(deep), "weights": two}, true)
    turned = {name: weight.clone() for name, weight in model.state_dict().items()}
    turned["readout.weight"].neg_()
    turned["readout.bias"].neg_()
    with pytest.raises(Rejected, match="does not answer"):
        decided({**files, "weights": render_weights(turned)}, true)


@pytest.mark.usefixtures("soon")
def test_a_network_trained_on_parity_is_proven_when_rounded_and_refuted_as_it_is(tmp_path: Path):
    """The two statements about one and the same network; neither contradicts the other."""
    network = "delta:range=signed,conv=0,d_model=16,n_heads=1,n_layers=1,mlp=none"
    phases = {"phases.chain_fine_tuning.every": 50, "phases.chain_fine_tuning.automaton": "learned"}
    options = {"data.name": "parity", "model": network, "training.steps": 600, "training.lr": 1e-2}
    summary = run(RunConfig().replaced(COMMON | options | phases), tmp_path)
    phase = summary["phases"]["chain_fine_tuning"]
    assert (summary["proven"], phase["proven_unquantised"], phase["is_language"]) == (True, False, True)
    report = refutation_report(RunFolder(tmp_path))
    assert report is not None
    assert report["refuted"], report
    word = f"{report['u']}{report['v'] * report['from']}{report['w']}"
    assert report["right"] == ("odd" if word.count("1") % 2 else "even") != report["network"]
