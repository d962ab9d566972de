"""Networks that carry a state, made by hand or drawn, and certificates of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor

from languages.automata import MooreMachine
from languages.convert.machines import to_json
from regulargpt.certificate.checker.boxes import known
from regulargpt.certificate.checker.chain_boxes import reach
from regulargpt.certificate.checker.chain_networks import network_of
from regulargpt.certificate.checker.claims import chain_claim, unquantised_chain_claim
from regulargpt.models.gru import Gru
from regulargpt.models.linear_rnn import LinearRnn, pairs, unpaired
from regulargpt.models.lstm import Lstm
from regulargpt.models.recurrent import Recurrent
from regulargpt.models.rnn import Rnn
from regulargpt.storage.manifest import digest

Record = dict[str, Any]
Words = Sequence[int]
NAMES = {"weights": "model.safetensors", "network": "config.json", "automaton": "automaton.json"}


MODELS: dict[str, tuple[Callable[..., Any], str, Record]] = {
    "rnn": (Rnn, "rnn", {}),
    "tanh": (partial(Rnn, activation="tanh"), "rnn", {"activation": "tanh"}),
    "gru": (Gru, "gru", {}),
    "lstm": (Lstm, "lstm", {}),
    "linear-rnn": (LinearRnn, "linear-rnn", {}),
}
PARITY = MooreMachine(("even", "odd"), "01", ((0, 1), (1, 0)), "even", (0, 1), ("even", "odd"))
ENDS_IN_1 = MooreMachine(("0", "1"), "01", ((0, 1), (0, 1)), "0", (0, 1), ("no", "yes"))
# What was written last; a symbol "-" writes nothing.
FLIP_FLOP = MooreMachine(("0", "1"), "01-", ((0, 1, 0), (0, 1, 1)), "0", (0, 1), ("0", "1"))


def drawn(name: str, n_symbols: int, n_outputs: int, d: int, layers: int, seed: int = 0, scale: float = 1.0) -> Any:
    """A network in float64 whose weights, all of them, are drawn."""
    model = MODELS[name][0](n_symbols, n_outputs, d_model=d, n_layers=layers).double()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for key, p in model.named_parameters():
            p.normal_(std=0.3 if "nu" in key else scale, generator=generator)
    return model


@torch.no_grad()
def stepped(model: Recurrent, states: np.ndarray | None, symbols: Words) -> tuple[np.ndarray, np.ndarray]:
    """Logits and states after one more symbol, as the model itself computes them; the state is a row of numbers."""
    state: Any = None if states is None else torch.from_numpy(states)
    if isinstance(model, LinearRnn) and state is not None:
        state = [unpaired(part)[:, None].contiguous() for part in state.chunk(len(model.blocks), 1)]
    logits, after = model.read(torch.tensor(symbols)[:, None], state, "last")
    if isinstance(model, LinearRnn):
        after = torch.cat([pairs(part[:, 0]) for part in after], 1)
    return logits.numpy(), after.numpy()


def config(name: str, model: Any, machine: MooreMachine, **options: Any) -> Record:
    """config.json, as a run writes it."""
    layers = len(model.blocks) if isinstance(model, LinearRnn) else len(model.layers)
    sizes = {"d_model": model.readout.weight.shape[1], "n_layers": layers}
    return {
        "model": {"name": MODELS[name][1], **sizes, **MODELS[name][2], **options},
        "n_symbols": len(machine.alphabet),
        "n_outputs": len(machine.output_names),
        "alphabet": list(machine.alphabet),
        "output_names": list(machine.output_names),
        "supervision": "last",
    }


def files(name: str, model: Any, machine: MooreMachine) -> dict[str, bytes]:
    """What a certificate is about."""
    weights: dict[str, Tensor] = {key: value.contiguous() for key, value in model.state_dict().items()}
    text = json.dumps(config(name, model, machine)).encode()
    return {"weights": save(weights), "network": text, "automaton": to_json(machine).encode()}


def certificate(
    made: Mapping[str, bytes], points: np.ndarray, boxes: tuple[float, np.ndarray] | None = None, total: bool = True
) -> bytes:
    """The certificate of these files, with a slack and radii if there are any."""
    held = None
    if boxes is not None:
        held = {"claim": unquantised_chain_claim(boxes[0]), "slack": boxes[0], "radii": boxes[1].tolist()}
    record = {
        "format": "regulargpt certificate 3",
        "kind": "chain",
        "claim": chain_claim(json.loads(made["automaton"])["alphabet"], len(points), total),
        "unquantised": held,
        **{name: {"file": NAMES[name], "sha256": digest(data)} for name, data in made.items()},
        "points": points.tolist(),
    }
    return json.dumps(record).encode()


def means(model: Any, machine: MooreMachine, before: bool = False) -> np.ndarray:
    """The mean states over random words by the last symbol and the automaton's state after it, or before it."""
    words = np.random.default_rng(0).integers(len(machine.alphabet), size=(30, 64))
    states: np.ndarray | None = None
    at = np.full(words.shape[1], machine.states.index(machine.initial))
    found: dict[tuple[int, int], list[np.ndarray]] = {}
    for symbols in words:
        states = stepped(model, states, symbols.tolist())[1]
        now, at = at, machine.table[at, symbols]
        for q, a, state in zip((now if before else at).tolist(), symbols.tolist(), states, strict=True):
            found.setdefault((q, a), []).append(state)
    return np.array([np.mean(some, 0) for _, some in sorted(found.items())])


def boxes_around(
    name: str, model: Any, machine: MooreMachine, points: np.ndarray, slack: float, alone: bool = True
) -> np.ndarray:
    """Radii (K, D) from the least fixed point: the boxes' images, a little larger, until nothing leaves them."""
    weights = {key: value.numpy() for key, value in model.state_dict().items()}
    network: Any = network_of(weights, config(name, model, machine), known)
    start, radii = np.zeros((1, points.shape[1])), np.zeros(points.shape)
    for _ in range(60):
        grown = np.zeros(points.shape)
        boxes = zip(np.concatenate([start, points]), np.concatenate([start, radii]), strict=True)
        for (point, radius), symbol in product(boxes, range(len(machine.alphabet))):
            after = stepped(model, point[None], [symbol])[1][0]
            to = int(np.square(points - after).sum(1).argmin())
            far = reach(network.image(point, radius, symbol, alone), points[to], slack)
            grown[to] = np.maximum(grown[to], 1.02 * far)
        if (grown <= 1.01 * radii).all():
            return np.maximum(grown, radii)
        radii = np.maximum(grown, radii)
    raise AssertionError("the boxes do not close")


def blank(name: str, machine: MooreMachine, d: int, layers: int = 1) -> Any:
    """A network of zeros."""
    model = drawn(name, len(machine.alphabet), len(machine.output_names), d, layers)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    return model


@torch.no_grad()
def edges(machine: MooreMachine, layers: int = 1, gain: float = 12.0) -> Any:
    """Any machine as a tanh RNN: a unit for each state and symbol, 1 if that symbol was read in that state, else -1.

    The last unit is 0 at the start, and then 1. A second layer has the same units from the last to the first.
    """
    Q, Sigma = machine.table.shape
    model = blank("tanh", machine, Q * Sigma + 1, layers)
    w_x, w_h, bias, _ = model.rnn.all_weights[0]
    into = np.array([[machine.table[q, a] == p for q in range(Q) for a in range(Sigma)] for p in range(Q)])
    for unit, (p, a) in enumerate((p, a) for p in range(Q) for a in range(Sigma)):
        first = p == machine.states.index(machine.initial)
        w_h[unit, :-1] = torch.from_numpy(into[p] / 2.0)
        w_h[unit, -1] = into[p].sum() / 2.0 - first
        w_x[unit, a] = 1
        bias[unit] = first - 1.5
        if (output := machine.outputs[int(machine.table[p, a])]) >= 0:
            model.readout.weight[output, unit if layers == 1 else -1 - unit] = 4
    bias[-1] = 1
    for part in (w_x, w_h, bias):
        part *= gain
    if layers == 2:
        model.rnn.all_weights[1][0].copy_(gain * torch.eye(len(bias)).flip(0))
    return model


@torch.no_grad()
def relu_last() -> Any:
    """Whether the last symbol is 1, in two units that hardly remember what was before."""
    model = blank("rnn", ENDS_IN_1, 2)
    w_x, w_h, _, _ = model.rnn.all_weights[0]
    w_x[0, 0] = w_x[1, 1] = 1
    w_h.copy_(torch.tensor([[0.1, -0.2], [-0.2, 0.1]]))
    model.readout.weight[0, 0] = model.readout.weight[1, 1] = 1
    return model


@torch.no_grad()
def two_layers_last() -> Any:
    """Whether the last symbol is 1, by a drawn tanh RNN of two layers.

    The numbers of its first layer move together: the second layer's move less than it would seem one by one.
    """
    model = drawn("tanh", 2, 2, 4, 2, seed=8, scale=0.35)
    (w_x, w_h, _, _), (upper_x, upper_h, _, _) = model.rnn.all_weights
    for weight, factor in ((w_x, 4), (w_h, 0.5), (upper_x, 3), (upper_h, 0.5)):
        weight *= factor
    zero, one = torch.from_numpy(means(model, ENDS_IN_1))[:, 4:].relu()  # the second layer after 0 and after 1
    model.readout.weight[0], model.readout.weight[1], model.readout.bias[1] = 0, one - zero, 0
    model.readout.bias[0] = (one - zero) @ (one + zero) / 2
    return model


@torch.no_grad()
def gru_latch() -> Any:
    """Flip-flop in two units: what was written, 1 or -1; and whether anything was read.

    n is what is written, or tanh(6 h - 3), which draws h to 1 or -1; z holds half of h once something was read.
    """
    model = blank("gru", FLIP_FLOP, 2)
    w_x, w_h, b_x, b_h = model.rnn.all_weights[0]  # rows: r of both, z of both, n of both
    b_x[0:2] = 20  # r is 1
    w_x[2, :2], w_h[2, 1], b_x[2] = -20, 8, -8  # z is 0 where something is written, and at the start
    b_x[3] = -20
    w_x[4, 0], w_x[4, 1], w_h[4, 0], b_h[4] = -20, 20, 6, -3
    b_x[5] = 5
    model.readout.weight[0, 1], model.readout.weight[1, 0], model.readout.bias[0] = 0, 2, 1
    return model


@torch.no_grad()
def lstm_latch() -> Any:
    """Flip-flop in two units, as `gru_latch`: c is 1 or -1, and h about 0.76 of it."""
    model = blank("lstm", FLIP_FLOP, 2)
    w_x, w_h, b_x, b_h = model.rnn.all_weights[0]  # rows: i, f, g, o of both
    w_x[0, :2], w_h[0, 1], b_x[0] = 20, -20, 15  # i is 1 where something is written or nothing was read, else a half
    w_x[2, :2], w_h[2, 1], b_x[2] = -20, 20, -15  # f is 1 - i
    b_x[1], b_x[3] = 20, -20
    w_x[4, 0], w_x[4, 1], w_h[4, 0], b_h[4] = -20, 20, 8, -3
    b_x[5], b_x[6:8] = 5, 20
    w_h[0, 1], w_h[2, 1] = -15 / 0.7614, 15 / 0.7614
    model.readout.weight[1, 0], model.readout.bias[0] = 2, 0.75
    return model


@torch.no_grad()
def balanced(model: Any, points: np.ndarray, n_symbols: int) -> Any:
    """A network with two answers, whose bias is such that half of the rows from these points have either."""
    places = np.repeat(points, n_symbols, 0)
    logits = stepped(model, places, [*range(n_symbols)] * len(points))[0]
    model.readout.bias[1] += float(np.median(logits[:, 0] - logits[:, 1])) + 1e-3
    return model


def answers(model: Any, word: Words) -> int:
    """The network's own answer to a word, in float64."""
    with torch.no_grad():
        return int(model(torch.tensor([list(word)]))[0].argmax())


def quantised_answers(model: Any, points: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The answers after each symbol of words (n, length), the state replaced by the nearest of the points each time."""
    states: np.ndarray | None = None
    found = []
    for symbols in words.T:
        logits, after = stepped(model, states, symbols.tolist())
        found.append(logits.argmax(1))
        states = points[np.square(after[:, None] - points).sum(2).argmin(1)]  # of (n, K, D)
    return np.array(found).T
