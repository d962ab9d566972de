"""Refutations of networks whose states are drawn to a cycle: sets of states, proofs, and what is no proof."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import languages
from languages.automata import MooreMachine
from languages.convert.machines import to_json
from regulargpt.certificate.checker import AcceptedRefutation, Rejected, attraction, decide
from regulargpt.certificate.checker.attraction import (
    Attracted,
    Attraction,
    CentreLogits,
    Ellipsoid,
    is_positive,
    powers_of,
    total,
)
from regulargpt.certificate.checker.doubles import Doubles, known
from regulargpt.certificate.checker.family import CheckedFamily
from regulargpt.certificate.compared import right_machine
from regulargpt.certificate.refutation.cycles import CycleNetwork, Reached
from regulargpt.certificate.refutation.families import PowerFamily as Words
from regulargpt.certificate.refutation.families import WrongFamily
from regulargpt.certificate.refutation.outcome import certificate_of, may_be_refuted, refutation_of
from regulargpt.config.schema import RunConfig
from regulargpt.finite.chain import chain_of
from regulargpt.models import MODELS
from regulargpt.models.rnn import Rnn
from regulargpt.runs.refute import refutation_report
from regulargpt.runs.run import run
from regulargpt.storage.folder import REFUTATION, REFUTED_AUTOMATON, RunFolder
from tests.regulargpt.cases import built
from tests.regulargpt.planted import Steps
from tests.regulargpt.small import COMMON
from tests.regulargpt.test_checker_slopes import CASES, drawn

PARITY = languages.get("parity")
QUICK = ["rnn:activation=tanh,n_layers=1", "gru", "lstm"]  # their states settle soon


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is not finite is known by nothing: the checker says so of its own arithmetic."""
    with np.errstate(all="ignore"):
        yield


def read(case: str, seed: int = 1) -> tuple[Any, Attracted]:
    """The network in float64, and as the checker reads it."""
    model, _, config = drawn(case, seed=seed)
    return chain_of(model), Attracted({k: w.numpy() for k, w in model.state_dict().items()}, json.loads(config))


def inside(x: Ellipsoid, random: np.random.Generator, n: int) -> np.ndarray:
    """States (n, D) on the edge of a set, and some within."""
    factor = np.linalg.cholesky(x.S)
    y = random.normal(size=(n, len(x.S)))
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    y[: n // 4] *= random.uniform(0, 1, (n // 4, 1))
    return x.centre + y @ factor.T


def far(x: Ellipsoid, states: np.ndarray) -> np.ndarray:
    """y^T S^-1 y (n,), at most 1 in the set."""
    y = states - x.centre
    return (y * np.linalg.solve(x.S, y.T).T).sum(1)


@pytest.mark.parametrize("period", [1, 2, 5, 6, 7])
def test_states_that_come_around_are_met_where_they_are_and_with_their_period(period: int):
    """A machine that counts the ones modulo some number, as a network: its states come around exactly."""
    machine = right_machine(languages.get(f"cyclic-{period}")) if period > 1 else PARITY.machine
    assert isinstance(machine, MooreMachine)
    network = CycleNetwork(Steps(machine))
    parts = [((), (1,), ()), ((1,), (1,), (0,)), ((0, 1), (0, 1, 0), (1, 1)), ((), (0,), (1,))]
    network.follow([Words(*part) for part in parts])
    for u, v, w in parts:
        answers = [int(machine.answers(np.array([[*u, *v * n, *w]]))[0]) for n in range(1, 30)]
        assert network.along(u, v, 29).answers(w).tolist() == answers
        limits = network.limits(u, v, w)
        comes_around = sum(v) == 0 or machine.n_states <= 6
        assert len(limits) == (0 if not comes_around else 1 if sum(v) == 0 else machine.n_states)
        for n in range(1, 30) if comes_around else ():
            assert limits[n % len(limits)].argmax() == answers[n - 1]
        if comes_around:
            assert network.apart(u, v) == 1e-8
    assert network.limits((1, 1), (1,), ()).shape == (0, len(machine.output_names))


def test_of_families_that_come_around_the_nearest_two_are_chosen_and_else_one():
    network: Any = CycleNetwork(Steps(PARITY.machine))
    near = {(0,): 1e-5, (1,): 1e-8, (0, 1): 1e-2, (0, 0, 1): 1e-5}
    nowhere = torch.zeros(1, 2)
    network.cycles = {((), v): Reached(network.chain, nowhere, nowhere, far) for v, far in near.items()}
    of = {v: WrongFamily(Words((), v, ()), 1, 1, 0, answer=0, right=1, is_settled=True) for v in near}
    open_one = WrongFamily(Words((), (1,), ()), 1, 1, 0, answer=0, right=1)
    assert network.chosen([of[0, 1], of[0, 0, 1], of[0,], of[1,], open_one]) == [of[1,], of[0,]]
    assert network.chosen([of[0, 1], of[0, 0, 1]]) == [of[0, 0, 1]]
    assert network.chosen([of[0, 1], open_one]) == [of[0, 1]]
    assert network.chosen([open_one]) == []


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("size", [1e-7, 1e-3])
def test_a_set_is_mapped_into_the_set_that_is_said_to_contain_it(case: str, size: float):
    chain, network = read(case)
    random = np.random.default_rng(0)
    _, start = chain.read(torch.tensor([[0, 1, 1]]))
    D = chain.dimension
    shape = random.normal(size=(D, D)) / np.sqrt(D)
    x = Ellipsoid(start[0].numpy(), size**2 * (shape @ shape.T + 0.01 * np.eye(D)))
    states = torch.from_numpy(inside(x, random, 200))
    for symbol in (1, 0):
        seen, x, _ = network.read(x, symbol)
        logits, states = chain.step(states, torch.tensor([symbol] * len(states)))
        if not np.isfinite(x.S).all():
            assert size == 1e-3  # a choice is open, a key may be 0, a gate may be anything
            return
        assert (far(x, states.numpy()) <= 1 + 1e-6).all()
        assert (abs(states.numpy() - x.centre) <= x.radii() * (1 + 1e-9)).all()
        for answer in range(2):
            gaps = logits[:, answer] - logits[:, 1 - answer]
            assert not seen.gap(answer) > float(gaps.min()) + 1e-9


@pytest.mark.parametrize("case", ["rnn", "gru", "lstm", "slstm", "rwkv7"])
def test_the_way_from_the_start_holds_the_state_of_each_word(case: str):
    """In 60 digits the state would be inside; float64 differs from that by its own rounding."""
    chain, network = read(case, seed=3)
    x, word = network.beginning(), [1, 0, 0, 1, 1, 0] * 8
    _, states = chain.along(torch.tensor([word]))
    for at, symbol in enumerate(word):
        _, x, _ = network.read(x, symbol)
        assert (abs(states[0, at].numpy() - x.centre) <= x.radii() + 1e-11).all()
        assert x.radii().max() < 1e-6


def test_a_set_holds_just_those_that_are_in_it():
    random = np.random.default_rng(3)
    for _ in range(40):
        D = int(random.integers(1, 6))
        shapes = [random.normal(size=(D, D)) for _ in range(2)]
        one = Ellipsoid(random.normal(size=D), shapes[0] @ shapes[0].T + np.eye(D))
        scale = float(random.choice([0.01, 0.1, 1.0]))
        other = Ellipsoid(one.centre + scale * random.normal(size=D), scale**2 * (shapes[1] @ shapes[1].T + np.eye(D)))
        worst = far(one, inside(other, random, 4_000)).max()
        if one.holds(other):
            assert worst <= 1
        elif scale == 0.01 and worst < 0.02:
            raise AssertionError("it is far inside")
    one = Ellipsoid(np.array([1.0, 2.0]), np.array([[2.0, 0.5], [0.5, 1.0]]))
    assert one.holds(Ellipsoid(one.centre, one.S / 2))
    assert not one.holds(Ellipsoid(one.centre, one.S))
    assert not one.holds(Ellipsoid(one.centre, one.S * np.nan))


def test_only_matrices_that_certainly_are_positive_definite_are_said_to_be():
    random = np.random.default_rng(4)
    for size in (1, 3, 20):
        shape = random.normal(size=(size, size))
        S = shape @ shape.T + 1e-3 * np.eye(size)
        least = float(np.linalg.eigvalsh(S)[0])
        assert is_positive(known(S))
        assert not is_positive(known(S - (least + 1e-9) * np.eye(size)))
        # Some symmetric matrix of these balls is not.
        assert not is_positive(Doubles(S, np.full_like(S, 1.01 * least)))
        assert not is_positive(Doubles(S, np.full_like(S, np.nan)))
    assert np.allclose(total(powers_of(np.array([[0.5]])), np.array([[3.0]])), 4.0)


def refuted(case: str, seed: int = 1) -> tuple[Any, dict[str, Any], dict[str, bytes]]:
    """A network at random, what is said of it, and the files of the proof."""
    model, weights, network = drawn(case, seed=seed)
    found = refutation_of(PARITY, model, weights, network)
    assert found.report["refuted"], found.report
    files = {"weights": weights, "network": network, "automaton": found.files[REFUTED_AUTOMATON].encode()}
    return model, json.loads(found.files[REFUTATION]), files


@pytest.mark.parametrize("case", QUICK)
def test_a_proof_is_true_of_all_words_that_are_tried_and_changed_ones_are_rejected(case: str):
    model, record, files = refuted(case)
    u, v, w = (record[name] for name in "uvw")
    n = np.arange(record["from"], record["from"] + 400)
    n = n[n % record["period"] == record["residue"]]
    answers = CycleNetwork(model).along(u, v, int(n[-1])).answers(w)[n - 1]
    machine = right_machine(PARITY)
    assert isinstance(machine, MooreMachine)
    assert (answers == record["answer"]).all()
    for i in n[:10]:
        assert sum([*u, *v * int(i), *w]) % 2 == 1 - record["answer"]
    found = decide(json.dumps(record).encode(), files, language=("parity", to_json(machine)))
    assert isinstance(found, AcceptedRefutation)
    assert (found.bits, found.margin > 0, found.words, found.language_claim is not None) == (
        53,
        True,
        found.words,
        True,
    )
    assert found.settled > record["from"]
    keys = ("u", "v", "w", "from", "period", "residue", "answer")
    for changed in ({"answer": 1 - record["answer"]}, {"u": [*u, 1]}, {"w": [*w, 1]}):
        with pytest.raises(Rejected):
            decide(forged(machine, files, *({**record, **changed}[key] for key in keys)), files)
    # Every second of the same words.
    twice: dict[str, Any] = {**record, "period": 2 * record["period"]}
    assert isinstance(decide(forged(machine, files, *(twice[key] for key in keys)), files), AcceptedRefutation)


def forged(machine: MooreMachine, files: dict[str, bytes], *given: Any) -> bytes:
    """A certificate that says this, of these files."""
    u, v, w, start, period, residue, answer = given
    family = Words(tuple(u), tuple(v), tuple(w))
    return certificate_of(WrongFamily(family, start, period, residue, answer, 1 - answer), machine, files).encode()


def family(**given: Any) -> CheckedFamily:
    """Words v^n, with the answer 0."""
    return CheckedFamily(**{"u": [], "v": [0], "w": [], "start": 1, "period": 1, "residue": 0, "answer": 0, **given})


def test_a_network_that_keeps_what_it_is_given_has_no_such_set(monkeypatch: pytest.MonkeyPatch):
    """Delta without a gate draws no state near what is orthogonal to its keys; a bit that is held is no cycle."""
    monkeypatch.setattr(attraction, "MAX_SYMBOLS", 150)
    for case in ("delta", "delta:range=signed,mlp=none"):
        network = read(case)[1]
        for answer in range(2):
            with pytest.raises(Rejected, match=r"maps into itself|slowly|does not answer"):
                Attraction(network, family(answer=answer), lambda *_: None).run()


def test_a_gap_that_is_not_certain_is_none():
    x = Ellipsoid(np.zeros(2), np.diag([1.0, 4.0]))
    seen = CentreLogits(
        known(np.array([3.0, 0.0])), known(np.array([[1.0, 0.0], [0.0, 1.0]])), x
    )  # logits 3 + y_1, y_2
    assert seen.gap(0) == pytest.approx(3 - np.sqrt(5))
    assert seen.gap(1) == pytest.approx(-3 - np.sqrt(5))
    wide = CentreLogits(seen.logits, Doubles(seen.slopes.middle, np.full((2, 2), 0.5)), x)
    assert wide.gap(0) == pytest.approx(3 - np.sqrt(5) - 3)  # radii of 1, and 1 and 2 far
    assert not CentreLogits(seen.logits, known(np.full((2, 2), np.nan)), x).gap(0) > 0


def test_what_takes_too_long_or_too_much_memory_is_refused_at_once(monkeypatch: pytest.MonkeyPatch):
    network = read("gru")[1]
    for long in (family(v=[0] * 64, period=64), family(start=1 << 62), family(v=[0] * 64, start=70)):
        with pytest.raises(Rejected, match="symbols would have to be read; in a network of this size at most 4,096"):
            Attraction(network, long, lambda *_: None)
    for name in ("MAX_WIDTH", "MAX_NUMBERS"):
        with monkeypatch.context() as small:
            small.setattr(attraction, name, 15)
            with pytest.raises(Rejected, match="the network is too large: its state has 16 numbers"):
                Attraction(network, family(), lambda *_: None)
    monkeypatch.setattr(Attracted, "work", lambda self: 1 << 40)
    with pytest.raises(Rejected, match="4 symbols would have to be read; in a network of this size at most 2 are"):
        Attraction(network, family(), lambda *_: None)


def test_slopes_of_all_sizes_end_in_an_answer():
    """Sums of powers that are no numbers, or numbers that float64 does not have."""
    for big in (1e30, 1e60, 1e150):
        model: Any = Rnn(2, 2, d_model=3, activation="relu", n_layers=1).double()
        with torch.no_grad():
            for weight in model.parameters():
                weight.zero_()
            model.rnn.weight_hh_l0[0, 1] = model.rnn.weight_hh_l0[1, 2] = big
            model.rnn.weight_hh_l0[2, 2], model.rnn.bias_hh_l0[2], model.readout.bias[0] = 0.5, 1 / big / big, 1.0
        options = MODELS.options("rnn:activation=relu,d_model=3,n_layers=1", "model").record()
        config = {"model": options, "n_symbols": 2, "n_outputs": 2, "supervision": "last"}
        config |= {"alphabet": ["0", "1"], "output_names": ["even", "odd"]}
        network = Attracted({k: w.numpy() for k, w in model.state_dict().items()}, config)
        for answer in (0, 1):
            with suppress(Rejected):  # or it is true
                Attraction(network, family(answer=answer), lambda *_: None).run()
                assert answer == 0


def test_states_are_followed_to_cycles_of_several():
    """A tanh network of one number that changes its sign with each 1 comes around after two of them."""
    model: Any = Rnn(2, 2, d_model=1, activation="tanh", n_layers=1).double()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.fill_(-3.0 if name == "rnn.weight_hh_l0" else 0.0)
        model.rnn.weight_ih_l0[0, 1] = 0.5
        model.readout.weight[1, 0], model.readout.bias[0] = 1.0, 0.1
    network = CycleNetwork(model)
    network.follow([Words((0,), (1,), ()), Words((), (0,), (1,))])
    assert network.limits([0], [1], []).argmax(1).tolist() in ([0, 1], [1, 0])
    along = network.along([0], [1], 60)
    assert (network.limits([0], [1], []).argmax(1) == along.answers([])[[57, 58]]).all()  # n = 58 and 59
    assert network.apart([0], [1]) <= 1e-5
    assert network.limits([1], [1], []).shape == (0, 2)  # it was not followed


def test_all_networks_with_a_state_that_the_checker_reads_may_be_refuted():
    for case in ("rnn", "gru", "lstm", "rwkv7", "mlstm:blocks=ms", "slstm", "pd-ssm", "delta:n_layers=2", "linear-rnn"):
        assert may_be_refuted(built(case)), case
    for case in ("regulargpt", "ldru", "transformer", "stack-rnn", "tape-rnn"):
        assert not may_be_refuted(built(case)), case


def test_a_trained_network_is_refuted_and_checked_again(tmp_path: Path):
    """A GRU that is right on short words only; what `verify` writes, `check` reads."""
    options = {"data.name": "parity", "model": "gru:d_model=12", "training.steps": 60, "training.lr": 1e-2}
    run(RunConfig().replaced(COMMON | options), tmp_path)
    report = refutation_report(RunFolder(tmp_path))
    assert report is not None
    assert report["refuted"], report
    word = f"{report['u']}{report['v'] * report['from']}{report['w']}"
    assert report["right"] == ("odd" if word.count("1") % 2 else "even") != report["network"]
