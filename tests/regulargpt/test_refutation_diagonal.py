"""Refutations of networks whose numbers each move by themselves, as the symbols say: bounds, limits and proofs."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flint import acb, arb

import languages
from languages.automata import MooreMachine
from languages.convert.machines import to_json
from languages.task import Task
from regulargpt.certificate.checker import AcceptedRefutation, Rejected, decide
from regulargpt.certificate.checker.balls import exact, exp, finite, sigmoid, softplus, square, within_root
from regulargpt.certificate.checker.doubles import known
from regulargpt.certificate.checker.factors import Factor
from regulargpt.certificate.checker.recurrences import Discs, Recurrences, WordSettling, settled
from regulargpt.certificate.checker.refutation import CheckedFamily, RefutationCheck
from regulargpt.certificate.compared import right_machine
from regulargpt.certificate.refutation.diagonal import DiagonalNetwork
from regulargpt.certificate.refutation.families import PowerFamily as Words
from regulargpt.certificate.refutation.families import WrongFamily
from regulargpt.certificate.refutation.outcome import certificate_of, may_be_refuted, refutation_of
from regulargpt.config.schema import RunConfig
from regulargpt.finite.float64_network import as_float64
from regulargpt.models import MODELS
from regulargpt.options import hints
from regulargpt.runs.refute import refutation_report
from regulargpt.runs.run import run
from regulargpt.storage.atomic import render_json
from regulargpt.storage.folder import MODEL_CONFIG, REFUTATION, REFUTED_AUTOMATON, WEIGHTS, RunFolder
from regulargpt.storage.tensors import render_weights
from tests.regulargpt.small import COMMON

ARITHMETIC = pytest.mark.parametrize("of", [exact, known], ids=["FLINT", "float64"])
PARITY, FLIP_FLOP = languages.get("parity"), languages.get("flip-flop")
SMALL = {"d_model": 8, "n_heads": 2, "d_state": 4, "n_layers": 2}
CASES = [
    "mamba",
    "mamba:range=signed,conv=0",
    "mamba:mlp=swiglu,n_layers=3",
    "mamba:conv=1",
    "mamba2",
    "mamba2:conv=6",
    "mamba2:conv=1,n_layers=1",
    "mamba2:version=3",
    "gla",
    "gla:decay=head",
    "gla:decay=retention,mlp=swiglu",
    "s4d",
    "s4d:n_layers=1",
    "mlstm",
    "mlstm:conv=0,mlp=swiglu",
    "mlstm:conv=1,n_layers=1",
    "pd-ssm",
    "pd-ssm:variant=row,n_layers=1",
    "pd-ssm:variant=row,mlp=swiglu",
    "pd-ssm:variant=bank,d_state=5",
]
UNBOUNDED = [*CASES[:3], "gla"]  # of which layers above the first may have any factor at first


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """What is not finite is known by nothing, in float64 too: the checker says so of its own arithmetic."""
    with np.errstate(all="ignore"):
        yield


def drawn(case: str, task: Task = PARITY, seed: int = 1, loud: float = 1.0) -> tuple[Any, bytes, bytes]:
    """A network at random, whose states die away within some hundred symbols, and its two files.

    A `loud` one has larger matrices: its gates are anywhere while the layers below have not settled.
    """
    options = MODELS.options(case, "model")
    given = {part.partition("=")[0] for part in case.partition(":")[2].split(",")}
    options = dataclasses.replace(
        options, **{key: value for key, value in SMALL.items() if key in hints(type(options)) and key not in given}
    )
    alphabet, names = [*task.machine.alphabet], [*task.machine.output_names]
    counts = {"n_symbols": len(alphabet), "n_outputs": len(names)}
    build = {key: value for key, value in options.record().items() if key != "name"}
    kind = MODELS[options.name].load()
    model = as_float64(kind(*counts.values(), **build, generator=torch.Generator().manual_seed(seed)))
    for name, weight in model.state_dict().items():
        if name.endswith(("dt_log", "dt_bias")):
            weight += 2.0  # times of 0.007 to 0.7
        if name.endswith("decay.bias") or name.endswith("decay.1.bias"):
            weight -= 3.0
        if weight.ndim == 2 and "a_" not in name:
            weight *= loud
    record = {"model": options.record(), **counts, "alphabet": alphabet, "output_names": names, "supervision": "last"}
    return model, render_weights(model.state_dict()), render_json(record)


def checked(case: str, of: Any, seed: int = 1, loud: float = 1.0) -> tuple[DiagonalNetwork, Recurrences]:
    """The network in float64, and as the checker reads it."""
    model, _, config = drawn(case, seed=seed, loud=loud)
    weights = {name: weight.numpy() for name, weight in model.state_dict().items()}
    return DiagonalNetwork(model), Recurrences(weights, json.loads(config), of)


def ends(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest number of each ball."""
    return np.array([float(ball.lower()) for ball in x]), np.array([float(ball.upper()) for ball in x])


@pytest.mark.parametrize("case", CASES)
def test_the_search_reads_what_the_network_reads_and_v_leads_its_limit_to_itself(case: str):
    """In float64, word by word; and from the limit on, v again and again is one way to read it."""
    model, _, _ = drawn(case)
    network = DiagonalNetwork(model)
    for u, v, w in (((0, 1), (1, 0, 0), (1, 0)), ((), (1,), ()), ((1,), (0, 1), (1,))):
        far = network.along(u, v, 5).logits(w)
        for n in range(1, 6):
            with torch.no_grad():
                expected = model(torch.tensor([[*u, *v * n, *w]]))[0].numpy()
            assert np.abs(far[n - 1] - expected).max() < 1e-10
        limit = network.limit(u, v, w)
        assert np.abs(network.limit((1, 1), v, w) - limit).max() == 0
        assert np.abs(network.limit((), v, v + w) - limit).max() < 1e-8
        assert np.abs(network.limit((), v * 2, w) - limit).max() < 1e-8


@ARITHMETIC
@pytest.mark.parametrize("case", CASES)
def test_the_bounds_of_all_later_words_hold_of_each_and_come_to_the_limit(case: str, of: Any):
    """A convolution that is not yet full of v, a layer that settles before the one below: any shows here."""
    network, balls = checked(case, of)
    u, v, w = [0, 1], [1, 0, 0], [1, 0]
    family = CheckedFamily(u, v, w, 1, 1, 0, 0)
    settling = RefutationCheck(balls, family, lambda *_: None).settling
    logits = network.along(u, v, 400).logits(w)  # (400, 2), at n = 1, 2, ...
    for n in (1, 2, 3, 4, 5, 6, 8, 16, 64, 200):
        low, high = ends(settling.all(n))
        assert ((low <= logits[n - 1 :] + 1e-12) & (logits[n - 1 :] - 1e-12 <= high)).all()
    low, high = ends(settling.all(1 << 40))
    limit = network.limit(u, v, w)
    assert (high - low < 1e-3).all()
    assert ((low - 1e-9 <= limit) & (limit <= high + 1e-9)).all()
    assert np.abs(logits[-1] - limit).max() < 1e-2


@ARITHMETIC
@pytest.mark.parametrize("case", [case for case in CASES if "n_layers=1" not in case])
def test_bounds_hold_where_layers_may_grow_before_those_below_have_settled(case: str, of: Any):
    """Of loud networks: of some nothing but their growth is known until then, and they come to the limit still."""
    unbounded = 0
    for seed in range(2):
        network, balls = checked(case, of, seed, loud=1.5)
        u, v, w = [0, 1], [1, 0, 0], [1, 0]
        settling = RefutationCheck(balls, CheckedFamily(u, v, w, 1, 1, 0, 0), lambda *_: None).settling
        assert isinstance(settling, WordSettling)
        unbounded += sum(not finite(x.radius).all() for x in settling.everywhere)
        logits = network.along(u, v, 300).logits(w)
        for n in (1, 2, 4, 8, 32, 128, 250):
            low, high = ends(settling.all(n))
            # What no number is known of is known by nothing.
            low, high = np.nan_to_num(low, nan=-np.inf), np.nan_to_num(high, nan=np.inf)
            assert ((low <= logits[n - 1 :] + 1e-9) & (logits[n - 1 :] - 1e-9 <= high)).all()
        low, high = ends(settling.all(1 << 61))
        limit = network.limit(u, v, w)
        assert (high - low < 10).all()
        assert ((low - 1e-9 <= limit) & (limit <= high + 1e-9)).all()
    assert unbounded or case not in UNBOUNDED


@ARITHMETIC
@pytest.mark.parametrize("case", CASES)
def test_words_are_read_as_by_the_network_in_any_pieces(case: str, of: Any):
    network, balls = checked(case, of, seed=2)
    word = [0, 1, 1, 0, 1, 0, 0, 1]
    expected = network.model(torch.tensor([word]), readout="all")[0].detach().numpy()  # (8, 2)
    whole, states, _ = balls.read(word, balls.beginning(), [1, 2, 7])
    _, _, state = balls.read(word[:1], balls.beginning(), [])
    pieces, _, _ = balls.read(word[1:], state, [0, 1, 6])
    branches, _ = balls.one_more(states, 1)
    other = network.model(torch.tensor([[0, 1, 1]]))[0].detach().numpy()
    for found, right in ((whole, expected[[1, 2, 7]]), (pieces, expected[[1, 2, 7]]), (branches[:1], other[None])):
        low, high = (np.array(part) for part in zip(*map(ends, found), strict=True))
        assert ((low - 1e-12 <= right) & (right <= high + 1e-12)).all()
        assert (high - low < (1e-6 if of is exact else 1e-4)).all()


@pytest.mark.parametrize(
    ("case", "task"),
    [
        *((case, PARITY) for case in CASES if "n_layers=3" not in case),
        ("mamba:n_layers=1", FLIP_FLOP),
        ("gla", FLIP_FLOP),
    ],
)
def test_what_is_accepted_is_wrong_in_float64(case: str, task: Task):
    """On the first words of the family; one before, the network is right, or answers otherwise, or nothing is asked."""
    model, weights, config = drawn(case, task)
    assert may_be_refuted(model)
    found = refutation_of(task, model, weights, config)
    assert found.report["refuted"], found.report
    record, machine = json.loads(found.files[REFUTATION]), right_machine(task)
    assert isinstance(machine, MooreMachine)

    def answers(n: int) -> tuple[int, int]:
        word = np.array([[*record["u"], *record["v"] * n, *record["w"]]])
        return int(model(torch.from_numpy(word)).argmax()), int(machine.answers(word)[0])

    first, period = record["from"], record["period"]
    for n in range(first, first + 2 * period + 1, period):
        answer, right = answers(n)
        assert answer == record["answer"] != right >= 0
    if (before := first - period) >= 1:
        answer, right = answers(before)
        assert right in (answer, -1) or answer != record["answer"]


@pytest.mark.parametrize(
    "network",
    ["mamba:d_state=2,conv=2", "mamba2:d_state=2,n_heads=2", "gla:n_heads=2", "s4d:d_state=4", "mlstm:n_heads=2"],
)
def test_a_run_is_refuted_from_its_files(tmp_path: Path, network: str):
    """As `verify` does it; and its files are accepted, as `check` does it."""
    run(RunConfig().replaced(COMMON | {"data.name": "parity", "model": network, "training.steps": 1}), tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    report = refutation_report(folder)
    assert report is not None
    assert report["refuted"], report
    files = {"weights": WEIGHTS, "network": MODEL_CONFIG, "automaton": REFUTED_AUTOMATON}
    found = {name: (folder.path / file).read_bytes() for name, file in files.items()}
    accepted = decide(
        (folder.path / REFUTATION).read_bytes(), found, language=("parity", to_json(right_machine(PARITY)))
    )
    assert isinstance(accepted, AcceptedRefutation)
    assert accepted.language_claim is not None


def test_numbers_whose_factors_change_from_block_to_block_are_where_they_are_said_to_be():
    """Two blocks of two symbols; any factors and inputs of the boxes, of real numbers and of complex ones."""
    random = np.random.default_rng(0)
    sizes, spread = np.array([[0.9, 0.5], [0.8, -0.6]]), 0.05
    middles = random.normal(size=(2, 2))
    for turn in (None, np.array([[0.3, 2.0], [1.1, -0.7]])):
        a = sizes if turn is None else sizes * np.exp(1j * turn)

        def number(z: complex, r: float, is_real: bool = turn is None) -> Any:
            return arb(z.real, r) if is_real else acb(arb(z.real, r), arb(z.imag, r))

        numbers = np.array([[number(z, spread) for z in row] for row in a.astype(complex)])
        factor = Factor(numbers, np.array([[arb(abs(z) + 1.5 * spread) for z in row] for row in sizes]))
        boxes = np.array([[number(z, 0.1) for z in row] for row in middles.astype(complex)])
        start = Discs(np.array([number(1, 0), number(-2, 0)]), np.array([arb(0.5), arb(0)]))
        for blocks in (0, 1, 5):
            disc = settled(start, factor, boxes, blocks)
            centre, radius = disc.centre.astype(complex), disc.radius.astype(float)
            for _ in range(100):
                x = np.array([1, -2]) + np.array([0.5, 0]) * random.choice([-1, 1], 2)
                for block in range(12):
                    assert block < blocks or (np.abs(x - centre) <= radius + 1e-12).all()
                    for row in range(2):
                        corner = random.choice([-1, 1], size=(2, 2))
                        if turn is None:
                            x = (a[row] + spread * corner[0]) * x + middles[row] + 0.1 * corner[1]
                        else:
                            off = spread * (corner[0] + 1j * random.choice([-1, 1], 2))
                            x = (a[row] + off) * x + middles[row] + 0.1 * corner[1]


@pytest.mark.parametrize("variant", ["column", "row", "bank"])
def test_a_network_whose_numbers_change_places_for_long_is_not_taken_for_settled(variant: str):
    """Two swap at each symbol, and hardly fade: what it answers to 0^2 it answers to every second word."""
    options = MODELS.options(f"pd-ssm:variant={variant},n_layers=1,d_model=2,d_state=2,dictionary=1", "model")
    build = {key: value for key, value in options.record().items() if key != "name"}
    model: Any = as_float64(MODELS["pd-ssm"].load()(2, 2, **build))
    mixer = model.blocks[0].mixer
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
        mixer.dictionary[0] = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
        mixer.magnitude.down.bias.fill_(12.0)
        mixer.phase.down.bias.fill_(-12.0)
        mixer.out.weight[0, 2], mixer.out.bias[0] = -1.0, 0.5  # 1/2 minus the real part of the second
        model.blocks[0].norm.weight.fill_(1.0)
        model.readout.weight.copy_(torch.tensor([[-1.0, 1.0], [1.0, -1.0]]))
    assert [int(model(torch.tensor([[0] * n])).argmax()) for n in range(1, 7)] == [0, 1, 0, 1, 0, 1]
    counts = {"n_symbols": 2, "n_outputs": 2, "supervision": "last"}
    names = {"alphabet": [*PARITY.machine.alphabet], "output_names": [*PARITY.machine.output_names]}
    weights, config = render_weights(model.state_dict()), render_json({"model": options.record()} | counts | names)
    machine = right_machine(PARITY)
    assert isinstance(machine, MooreMachine)
    files = {"weights": weights, "network": config, "automaton": to_json(machine).encode()}
    for start in (2, 100):
        wrong = WrongFamily(Words((), (0,), ()), start, 1, 0, answer=1, right=0)
        with pytest.raises(Rejected, match=f"for n = {start + 1}|for every n that is large enough"):
            decide(certificate_of(wrong, machine, files).encode(), files)


def test_a_factor_that_may_be_one_leaves_no_bound():
    start = Discs(np.array([arb(1)]), np.array([arb(0)]))
    factor = Factor(np.array([[arb(1)]]), np.array([[arb(1)]]))
    disc = settled(start, factor, np.array([[arb(0)]]), 7)
    assert not disc.radius[0].is_finite()


def test_functions_of_wide_balls_are_between_their_values_at_the_ends():
    """And of narrow ones what they are: a wider result is a weaker proof, a narrower one no proof."""
    for middle, radius in ((0.0, 30.0), (-12.0, 11.5), (3.0, 1e-3), (-3.0, 1e-12)):
        ball = np.array([arb(middle, radius)])
        points = middle + radius * np.linspace(-1, 1, 9)
        for function, plain in (
            (exp, np.exp),
            (softplus, lambda x: np.logaddexp(0, x)),
            (sigmoid, lambda x: 1 / (1 + np.exp(-x))),
            (square, lambda x: x * x),
        ):
            low, high = ends(function(ball))
            values = plain(points)
            slack = 1e-6 * (1 + values.max())
            assert (low <= values + 1e-15 * abs(values)).all()
            assert (values - 1e-15 * abs(values) <= high).all()
            if function is not square:
                assert low[0] >= values.min() - slack
                assert high[0] <= values.max() + slack
    low, high = ends(within_root(np.array([arb(-12, 11.5), arb(1.5, 30), arb(1.5, 1e-12)]), 4))
    assert (low >= [-2 - 1e-6, -2 - 1e-6, 1.5 - 1e-11]).all()
    assert (low <= [-2, -2, 1.5]).all()
    assert (high <= [-0.5 + 1e-6, 2 + 1e-6, 1.5 + 1e-11]).all()
    assert (high >= [-0.5, 2, 1.5]).all()
    low, high = ends(within_root(np.array([arb("nan")]), 9))
    assert -3 - 1e-6 < low[0] <= -3 < 3 <= high[0] < 3 + 1e-6
