"""The checker's reading of today's recurrent networks: it is the model's, in balls that hold what they should.

The checker has its own step of each, written from the equations. A wrong equation, a part of the state in another
order, an option that is read otherwise, or a bound that is too small for its rounding would be noticed here alone.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import torch
from flint import arb, ctx
from safetensors.torch import save

from languages.automata import MooreMachine
from languages.convert.machines import to_json
from regulargpt.certificate.checker import AcceptedChain, decide
from regulargpt.certificate.checker.balls import cos, exact, sin, softplus
from regulargpt.certificate.checker.boxes import known
from regulargpt.certificate.checker.chain_networks import NETWORKS, network_of
from regulargpt.certificate.checker.doubles import Doubles
from regulargpt.finite.chain import Chain
from regulargpt.models import MODELS
from regulargpt.options import hints
from tests.regulargpt.cases import MIXING, OUTPUTS, SMALL, SYMBOLS, built, variants, words_of
from tests.regulargpt.chain_certificates import certificate

CHECKED = [name for name in MIXING if name in NETWORKS]
CASES = [
    *(case for name in CHECKED for case in variants(name)),
    *(f"{name}:mlp={kind}" for name in CHECKED for kind in ("swiglu", "none")),
]
Files = dict[str, bytes]


def record(case: str, n_symbols: int = SYMBOLS, n_outputs: int = OUTPUTS) -> dict[str, Any]:
    """config.json, as a run writes it."""
    options = MODELS.options(case, "model")
    sizes = {key: value for key, value in SMALL.items() if key in hints(type(options))}
    model = dataclasses.asdict(dataclasses.replace(options, **sizes))
    alphabet, names = [*map(str, range(n_symbols))], [*map(str, range(n_outputs))]
    counts = {"n_symbols": n_symbols, "n_outputs": n_outputs, "alphabet": alphabet, "output_names": names}
    return {"model": model, **counts, "supervision": "last"}


def network(case: str, model: Any, of: Any = known) -> Any:
    return network_of({key: value.numpy() for key, value in model.state_dict().items()}, record(case), of)


def rows_of(model: Any, seed: int = 0) -> tuple[np.ndarray, torch.Tensor, np.ndarray, np.ndarray]:
    """States after words of some symbols, the first the start, and disturbed ones; a symbol to each; what comes."""
    chain = Chain(model)
    after = chain.along(words_of(3, 5, seed))[1].flatten(0, 1)  # (15, D)
    noise = 0.3 * torch.randn(after.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    states, symbols = torch.cat([after, after + noise]), words_of(30, 1, seed + 1)[:, 0]
    first, found = chain.first(symbols[:1]), chain.step(states, symbols)
    logits, images = (torch.cat(both).numpy() for both in zip(first, found, strict=True))
    states = torch.cat([torch.zeros(1, chain.dimension), states])
    return states.numpy(), torch.cat([symbols[:1], symbols]), logits, images


@pytest.mark.parametrize("case", CASES)
def test_a_step_is_the_models(case: str):
    """From states that come up, and from any others."""
    model = built(case)
    states, symbols, *expected = rows_of(model)
    of_case = network(case, model)
    assert states.shape[1] == of_case.D
    for found, right in zip(of_case.step(known(states), symbols.numpy()), expected, strict=True):
        np.testing.assert_allclose(found.middle, right, rtol=1e-9, atol=1e-9)
        assert float(found.radius.max()) < 1e-4


@pytest.mark.parametrize("case", CASES)
def test_balls_hold_what_many_bits_give(case: str):
    """Of one state, and of all states near it."""
    model = built(case)
    states, symbols, *_ = rows_of(model)
    random, some = np.random.default_rng(0), [4, 20]
    states, symbols = states[some], symbols.numpy()[some]
    width = 1e-12
    moved = states + width * random.uniform(-1, 1, states.shape)
    quick = network(case, model)
    with ctx.workprec(200):
        exactly = network(case, model, exact)
        for radius, place in ((0.0, states), (1.01 * width, moved)):
            balls = quick.step(Doubles(states, np.full(states.shape, radius)), symbols)
            for ball, point in zip(balls, exactly.step(exact(place), symbols), strict=True):
                for middle, far, x in zip(ball.middle.ravel(), ball.radius.ravel(), point.ravel(), strict=True):
                    assert abs(x - float(middle)).upper() <= float(far)
                    assert x.rad() < 1e-40


FUNCTIONS = {"softplus": softplus, "cos": cos, "sin": sin}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_float64_hold_what_many_bits_give(name: str):
    random = np.random.default_rng(0)
    x = np.concatenate([[0.0, 1e4, -1e4], *(random.normal(size=99) * size for size in (1e-9, 1.0, 30.0, 500.0))])
    wide = np.concatenate([np.zeros(200), random.exponential(size=len(x) - 200)])
    found = FUNCTIONS[name](Doubles(x, wide))
    with ctx.workprec(200):
        right = FUNCTIONS[name](exact(x + wide * random.uniform(-1, 1, len(x))))
        for middle, far, y in zip(found.middle, found.radius, right, strict=True):
            assert abs(y - arb(float(middle))).upper() <= float(far) * 1.0001
    assert (found.radius <= wide * 1.001 + 1e-13 * np.maximum(1, abs(found.middle))).all()
    for value in (np.inf, np.nan, 1e300):
        unknown = FUNCTIONS[name](known(np.array([value])))
        assert (name == "softplus" and value == 1e300) or not np.isfinite(unknown.radius + unknown.middle).any()


def proof(case: str) -> tuple[Files, np.ndarray]:
    """A network whose weights are drawn, four points, and the machine that it is with its states replaced by them."""
    for seed in range(20):
        model = built(case, seed)
        chain = Chain(model)
        points = chain.along(words_of(4, 6, seed))[1][:, -1]
        machine = its_own_machine(chain, points)
        if len({*machine.outputs}) > 1:
            weights = save({key: value.contiguous() for key, value in model.state_dict().items()})
            text = {**record(case), "output_names": list(machine.output_names)}
            made = {"weights": weights, "network": json.dumps(text).encode(), "automaton": to_json(machine).encode()}
            return made, points.numpy()
    raise AssertionError("all answers are the same")


def its_own_machine(chain: Chain, points: torch.Tensor) -> MooreMachine:
    """The states: the start, and a point and an answer."""
    symbols = torch.arange(SYMBOLS)
    (logits, after), (more, images) = chain.first(symbols), chain.every(points)
    answers = torch.cat([logits[None], more]).argmax(2).tolist()  # (K + 1, n_symbols)
    near = torch.cdist(torch.cat([after[None], images]), points).argmin(2).tolist()
    numbers, rows, todo = {(-1, 0): 0}, [], [(-1, 0)]
    for place, _ in todo:
        to = [*zip(near[place + 1], answers[place + 1], strict=True)]
        todo += [new for new in dict.fromkeys(to) if new not in numbers and not numbers.update({new: len(numbers)})]
        rows.append(tuple(numbers[pair] for pair in to))
    names, outputs = tuple(f"q{i}" for i in range(len(rows))), tuple(answer for _, answer in todo)
    return MooreMachine(names, tuple("012"), tuple(rows), "q0", outputs, tuple("0123"))


@pytest.mark.parametrize("case", CASES)
def test_a_drawn_network_is_proven_to_be_the_machine_that_it_is(case: str):
    made, points = proof(case)
    found = decide(certificate(made, points), made)
    assert isinstance(found, AcceptedChain)
    assert 0 < found.points <= len(points)
    assert found.point_margin is not None
    assert min(found.answer_margin, found.point_margin) > 1e-6
