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
from safetensors.torch import load, save

from languages.automata import MooreMachine
from languages.convert.machines import to_json
from regulargpt.certificate.checker import AcceptedChain, Malformed, Rejected, decide
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
TOGETHER = ["delta:gate=true,range=signed,householders=2", "mamba:range=signed,conv=0,mlp=swiglu"]
MLPS = [f"{name}:mlp={kind}" for name in CHECKED for kind in ("swiglu", "none")]
CASES = [*(case for name in CHECKED for case in variants(name)), *MLPS, *TOGETHER]
Files = dict[str, bytes]


def record(case: str, n_symbols: int = SYMBOLS, n_outputs: int = OUTPUTS) -> dict[str, Any]:
    """config.json, as a run writes it."""
    options = MODELS.options(case, "model")
    sizes = {key: value for key, value in SMALL.items() if key in hints(type(options))}
    model = dataclasses.replace(options, **sizes).record()
    alphabet, names = [*map(str, range(n_symbols))], [*map(str, range(n_outputs))]
    counts = {"n_symbols": n_symbols, "n_outputs": n_outputs, "alphabet": alphabet, "output_names": names}
    return {"model": model, **counts, "supervision": "last"}


def network(case: str, model: Any, of: Any = known) -> Any:
    return network_of({key: value.numpy() for key, value in model.state_dict().items()}, record(case), of)


def rows_of(model: Any, start: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """States after words of some symbols, the first the start, and disturbed ones; a symbol to each; what comes."""
    chain = Chain(model)
    after = chain.along(words_of(3, 5, seed))[1].flatten(0, 1)  # (15, D)
    noise = 0.3 * torch.randn(after.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    states, symbols = torch.cat([after, after + noise]), words_of(30, 1, seed + 1)[:, 0]
    first, found = chain.first(symbols[:1]), chain.step(states, symbols)
    logits, images = (torch.cat(both).numpy() for both in zip(first, found, strict=True))
    states = torch.cat([torch.from_numpy(start)[None], states])
    return states.numpy(), torch.cat([symbols[:1], symbols]).numpy(), logits, images


@pytest.mark.parametrize("case", CASES)
def test_a_step_is_the_models_in_balls_that_hold_what_many_bits_give(case: str):
    """From states that come up, and from any others; of some of them also for all states near."""
    model = built(case)
    quick = network(case, model)
    states, symbols, *expected = rows_of(model, quick.first_state())
    assert states.shape[1] == quick.D
    for found, right in zip(quick.step(known(states), symbols), expected, strict=True):
        # Where a step magnifies what is rounded, a little of what it may be off by.
        assert (abs(found.middle - right) <= 1e-9 * (1 + abs(right)) + 1e-4 * found.radius).all()
        assert float(found.radius.max()) < 1e-3
    states, symbols, width = states[[4, 20]], symbols[[4, 20]], 1e-12
    moved = states + width * np.random.default_rng(0).uniform(-1, 1, states.shape)
    with ctx.workprec(200):
        exactly = network(case, model, exact)
        for radius, place in ((0.0, states), (1.01 * width, moved)):
            balls = quick.step(Doubles(states, np.full(states.shape, radius)), symbols)
            for ball, points in zip(balls, exactly.step(exact(place), symbols), strict=True):
                assert_holds(ball, points)
                assert all(x.rad() < 1e-40 for x in points.ravel())


def assert_holds(balls: Doubles, points: np.ndarray) -> None:
    """Each number lies in its ball."""
    for middle, far, x in zip(balls.middle.ravel(), balls.radius.ravel(), points.ravel(), strict=True):
        assert abs(x - arb(float(middle))).upper() <= float(far)


FUNCTIONS = {"softplus": softplus, "cos": cos, "sin": sin}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_in_float64_hold_what_many_bits_give(name: str):
    random = np.random.default_rng(0)
    x = np.concatenate([[0.0, 1e4, -1e4], *(random.normal(size=99) * size for size in (1e-9, 1.0, 30.0, 500.0))])
    wide = np.concatenate([np.zeros(200), random.exponential(size=len(x) - 200)])
    found = FUNCTIONS[name](Doubles(x, wide))
    with ctx.workprec(200):
        assert_holds(found, FUNCTIONS[name](exact(x + 0.999 * wide * random.uniform(-1, 1, len(x)))))
    assert (found.radius <= wide * 1.001 + 1e-13 * np.maximum(1, abs(found.middle))).all()
    for value in (np.inf, np.nan, 1e300):
        unknown = FUNCTIONS[name](known(np.array([value])))
        assert (name == "softplus" and value == 1e300) or not np.isfinite(unknown.radius + unknown.middle).any()


def proof(case: str) -> tuple[Files, np.ndarray]:
    """A network whose weights are drawn, points among its states, and the machine that it is over them."""
    model, generator = built(case), torch.Generator().manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():  # so that no option is one in name alone
            p.add_(0.5 * torch.randn(p.shape, generator=generator, dtype=torch.float64))
    chain = Chain(model)
    points = torch.unique(chain.along(words_of(4, 6))[1].flatten(0, 1), dim=0)
    with torch.no_grad():  # so that no answer is given always
        for readout in (model.readout, chain.model.readout):
            readout.bias.sub_(chain.every(points)[0].mean((0, 1)))
    machine = its_own_machine(chain, points)
    assert len({*machine.outputs[1:]}) > 1
    weights = save({key: value.contiguous() for key, value in model.state_dict().items()})
    network = json.dumps(record(case)).encode()
    made = {"weights": weights, "network": network, "automaton": to_json(machine).encode()}
    return made, points.numpy()


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


@pytest.mark.parametrize("name", CHECKED)
def test_a_drawn_network_is_proven_to_be_the_machine_that_it_is_and_a_forged_one_is_refused(name: str):
    """By name: as another variant, with symbols that changed places, with other points, or with a larger claim."""
    made, points = proof(name)
    found = decide(certificate(made, points), made)
    assert isinstance(found, AcceptedChain)
    assert 0 < found.points <= len(points)
    assert found.point_margin is not None
    assert min(found.answer_margin, found.point_margin) > 1e-6
    for other in variants(name)[1:]:
        forged = made | {"network": config(other, made)}
        if other not in SAME:
            with pytest.raises(
                (Rejected, Malformed), match=r"its states replaced, answers|are not the tensors|numbers: "
            ):
                decide(certificate(forged, points), forged)
        else:
            assert isinstance(decide(certificate(forged, points), forged), AcceptedChain)
    weights = load(made["weights"])
    weights["embedding.weight"] = weights["embedding.weight"][[1, 0, 2]]
    forged = made | {"weights": save(weights)}
    for text, files, message in (
        (certificate(forged, points), forged, "its states replaced, answers"),
        (certificate(made, -points), made, "its states replaced, answers"),
        (
            certificate(made, points[:, 1:]),
            made,
            "point 1 has .* the state has .* \\(what its blocks",
        ),
        (certificate(made, points, total=False), made, "the claim is not the one that the table proves"),
    ):
        with pytest.raises(Rejected, match=message):
            decide(text, files)


REFUSED = r"its states replaced, answers|are not the tensors|numbers: the state has"
# What says the same of a network in other words.
SAME = ["delta:output_gate=no"]


def config(case: str, made: Files) -> bytes:
    """config.json of these files, about another variant."""
    return json.dumps(json.loads(made["network"]) | {"model": record(case)["model"]}).encode()
