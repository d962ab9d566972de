"""The checker of networks that carry a state: what it accepts of networks made or drawn, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save

from languages.automata import MooreMachine
from languages.automata.moore import UNDEFINED
from languages.convert.machines import to_json
from regulargpt.certificate.checker import (
    AcceptedChain,
    Malformed,
    Rejected,
    chain_boxes,
    chain_network,
    chain_product,
    decide,
)
from regulargpt.certificate.checker.claims import chain_claim, unquantised_chain_claim
from tests.regulargpt.chain_certificates import (
    ENDS_IN_1,
    FLIP_FLOP,
    MODELS,
    PARITY,
    answers,
    balanced,
    boxes_around,
    certificate,
    drawn,
    edges,
    files,
    gru_latch,
    lstm_latch,
    means,
    quantised_answers,
    relu_last,
    stepped,
    two_layers_last,
)
from tests.regulargpt.machines import machines

Made = dict[str, bytes]
SLACK = 1e-3
PROVEN: dict[str, tuple[str, Callable[[], Any], MooreMachine]] = {
    "a tanh RNN of two states and two symbols": ("tanh", lambda: edges(PARITY), PARITY),
    "the same in two layers": ("tanh", lambda: edges(PARITY, layers=2), PARITY),
    "a ReLU RNN that forgets": ("rnn", relu_last, ENDS_IN_1),
    "a GRU that holds a bit": ("gru", gru_latch, FLIP_FLOP),
    "an LSTM that holds a bit": ("lstm", lstm_latch, FLIP_FLOP),
}


def accepted(text: bytes, made: Made, **options: Any) -> AcceptedChain:
    found = decide(text, made, **options)
    assert isinstance(found, AcceptedChain)
    return found


def words_of(machine: MooreMachine, most: int) -> np.ndarray:
    """All words of this length: their beginnings are all shorter ones."""
    return np.array(list(product(range(len(machine.alphabet)), repeat=most)))


def wanted(machine: MooreMachine, words: np.ndarray) -> np.ndarray:
    """The automaton's answers after each symbol (n, length)."""
    at = np.full(len(words), machine.states.index(machine.initial))
    found = []
    for symbols in words.T:
        at = machine.table[at, symbols]
        found.append(machine.output_table[at])
    return np.array(found).T


def assert_right(found: np.ndarray, right: np.ndarray) -> None:
    """Wherever the automaton has an answer."""
    assert ((found == right) | (right == UNDEFINED)).all()


@pytest.mark.parametrize(("name", "made_by", "machine"), PROVEN.values(), ids=PROVEN)
def test_networks_made_by_hand_are_proven_and_right(name: str, made_by: Any, machine: MooreMachine):
    """As they are, too, though every number of the state is moved by the slack after each symbol."""
    model = made_by()
    points, made = means(model, machine), files(name, model, machine)
    radii = boxes_around(name, model, machine, points, SLACK)
    found = accepted(certificate(made, points, (SLACK, radii)), made, language=("it", to_json(machine)))
    assert found.claim == chain_claim(machine.alphabet, len(points), total=True)
    assert found.unquantised_claim == unquantised_chain_claim(SLACK)
    assert found.language_claim
    assert (found.points, found.rows) == (len(points), (1 + len(points)) * len(machine.alphabet))
    assert found.states == found.answered_states == 2
    assert found.box_margin is not None
    assert found.box_room is not None
    assert 0 < found.box_margin <= found.answer_margin + 1e-9
    assert 0 <= found.box_room < 2e-3
    words = words_of(machine, 8 if len(machine.alphabet) == 2 else 5)
    assert_right(quantised_answers(model, points, words), wanted(machine, words))
    random = np.random.default_rng(0)
    words, states = random.integers(len(machine.alphabet), size=(300, 60)), None
    for t, symbols in enumerate(words.T):
        logits, states = stepped(model, states, symbols.tolist())
        assert_right(logits.argmax(1), wanted(machine, words[:, : t + 1])[:, t])
        states = states + SLACK * random.choice([-1.0, 1.0], states.shape)
    assert answers(model, [1] * 301) == 1


@settings(max_examples=20)
@given(machines(most=3, symbols=(1, 2), outputs=(2, 3)), st.data())
def test_any_machine_is_proven_as_a_tanh_rnn_and_no_other_output_is(machine: MooreMachine, data: st.DataObject):
    """What no answer follows need not be right, or a row at all."""
    after, answered = asked_states(machine)
    model = edges(machine)
    points, made = means(model, machine, before=True), files("tanh", model, machine)
    total = len(answered) == len(after)
    if len({machine.outputs[q] for q in answered}) < 2 or not endless(machine):
        with pytest.raises(Rejected, match=r"never gives two different answers|answers finitely many words"):
            decide(certificate(made, points, None, total), made)
        return
    radii = boxes_around("tanh", model, machine, points, 0.01)
    found = accepted(certificate(made, points, (0.01, radii), total), made)
    assert (found.states, found.answered_states) == (len(after), len(answered))
    assert found.rows <= (1 + len(points)) * len(machine.alphabet)
    words = words_of(machine, 8 if len(machine.alphabet) == 2 else 12)
    assert_right(quantised_answers(model, points, words), wanted(machine, words))
    q = data.draw(st.sampled_from(sorted(answered)))
    other = (machine.outputs[q] + 1) % len(machine.output_names)
    outputs = tuple(other if at == q else output for at, output in enumerate(machine.outputs))
    made |= {"automaton": to_json(MooreMachine(*without_outputs(machine), outputs, machine.output_names)).encode()}
    with pytest.raises(Rejected, match=r"replaced, answers|never gives two different"):
        decide(certificate(made, points, None, total), made)


def without_outputs(machine: MooreMachine) -> tuple[Any, ...]:
    return machine.states, machine.alphabet, machine.transitions, machine.initial


def asked_states(machine: MooreMachine) -> tuple[set[int], set[int]]:
    """The states that words of one symbol or more lead to, and those of them that have an answer."""
    found: set[int] = set()
    level = {machine.states.index(machine.initial)}
    while level := {int(machine.table[q, a]) for q in level for a in range(len(machine.alphabet))} - found:
        found |= level
    return found, {q for q in found if machine.outputs[q] != UNDEFINED}


def endless(machine: MooreMachine) -> bool:
    """Whether words of some length beyond the number of states have an answer: then as long as one likes."""
    at = {machine.states.index(machine.initial)}
    found = []
    for _ in range(2 * len(machine.states)):
        at = {int(machine.table[q, a]) for q in at for a in range(len(machine.alphabet))}
        found.append(any(machine.outputs[q] != UNDEFINED for q in at))
    return any(found[len(machine.states) :])


def its_own_machine(model: Any, points: np.ndarray, n_symbols: int) -> MooreMachine:
    """What a network with its states replaced is: a state for each point and answer, and one for the start."""
    numbers, rows, todo = {None: 0}, {}, [None]
    while todo:
        key: Any = todo.pop()
        states = None if key is None else points[[key[0]] * n_symbols]
        logits, after = stepped(model, states, list(range(n_symbols)))
        near = np.square(after[:, None] - points).sum(2).argmin(1)  # of (symbols, K, D)
        rows[key] = list(zip(near.tolist(), logits.argmax(1).tolist(), strict=True))
        for to in rows[key]:
            if to not in numbers:
                numbers[to] = len(numbers)
                todo.append(to)
    table = tuple(tuple(numbers[to] for to in rows[key]) for key in numbers)
    outputs = tuple(0 if key is None else key[1] for key in numbers)
    return MooreMachine(tuple(f"q{i}" for i in range(len(numbers))), "01", table, "q0", outputs, ("no", "yes"))


def with_points(name: str, layers: int, seed: int) -> tuple[Any, np.ndarray]:
    """A drawn network and four points for its states."""
    model = drawn(name, 2, 2, 3, layers, seed, scale=1.5)
    width = stepped(model, None, [0])[1].shape[1]
    points = np.random.default_rng(seed).normal(size=(4, width))
    return balanced(model, points, 2), points


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", MODELS)
def test_drawn_networks_are_proven_to_be_the_machines_they_are_and_no_others(name: str, layers: int):
    refused = 0
    for seed in range(4):
        model, points = with_points(name, layers, seed)
        machine = its_own_machine(model, points, 2)
        made = files(name, model, machine)
        reached = asked_states(machine)[0]
        if len({machine.outputs[q] for q in reached}) < 2:
            with pytest.raises(Rejected, match="never gives two different answers"):
                decide(certificate(made, points), made)
            continue
        found = accepted(certificate(made, points), made)
        assert found.points <= len(points)
        words = words_of(machine, 8)
        np.testing.assert_array_equal(quantised_answers(model, points, words), wanted(machine, words))
        for q in reached:
            outputs = tuple(1 - output if at == q else output for at, output in enumerate(machine.outputs))
            other = MooreMachine(*without_outputs(machine), outputs, machine.output_names)
            text = made | {"automaton": to_json(other).encode()}
            with pytest.raises(Rejected, match=r"its states replaced, answers|never gives two different"):
                decide(certificate(text, points), text)
            refused += 1
    assert refused > 1


def test_a_wrong_word_that_is_shown_is_a_shortest():
    """Parity of at most six ones: the seventh is wrong."""
    table = tuple((min(i, 7), min(i + 1, 7)) for i in range(8))
    machine = MooreMachine(tuple(map(str, range(8))), "01", table, "0", (0, 1, 0, 1, 0, 1, 0, 0), ("even", "odd"))
    model = edges(PARITY)
    made = files("tanh", model, machine)
    shown = " ".join(['"1"'] * 7)
    with pytest.raises(Rejected, match=f'answers "odd" to the word {shown}, where the automaton answers "even"'):
        decide(certificate(made, means(model, PARITY)), made)


def test_a_network_with_one_weight_changed_is_right_or_refused():
    model = edges(PARITY)
    points, made = means(model, PARITY), files("tanh", model, PARITY)
    radii = boxes_around("tanh", model, PARITY, points, SLACK)
    words, refused, kept = words_of(PARITY, 8), 0, 0
    for weight in model.state_dict().values():
        for place in np.ndindex(*weight.shape):
            before = weight[place].item()
            for value in {-before, 0.0, before + 0.5} - {before}:
                weight[place] = value
                forged = files("tanh", model, PARITY)
                try:
                    accepted(certificate(forged, points, (SLACK, radii)), forged)
                except Rejected:
                    refused += 1
                else:
                    kept += 1
                    assert_right(quantised_answers(model, points, words), wanted(PARITY, words))
                    with torch.no_grad():
                        found = model(torch.from_numpy(words), readout="all").argmax(2).numpy()
                    assert_right(found, wanted(PARITY, words))
            weight[place] = before
    assert accepted(certificate(made, points, (SLACK, radii)), made)
    assert refused > 30
    assert kept > 3


# What is forged: a GRU that holds a bit, with boxes, and the two layers of a drawn network.
def latch() -> tuple[Made, np.ndarray, np.ndarray]:
    model = gru_latch()
    points = means(model, FLIP_FLOP)
    return files("gru", model, FLIP_FLOP), points, boxes_around("gru", model, FLIP_FLOP, points, SLACK)


LATCH = latch()


def of(part: str, **values: Any) -> Callable[[Any], object]:
    return lambda record: (record[part] if part else record).update(values)


def box(change: Callable[[Any], object]) -> Callable[[Any], object]:
    """Of the boxes; the slack is what the claim says."""

    def changed(record: Any) -> None:
        change(record["unquantised"])
        record["unquantised"]["claim"] = unquantised_chain_claim(record["unquantised"]["slack"])

    return changed


def scaled_radius(row: int, number: int, factor: float) -> Callable[[Any], object]:
    return box(lambda boxes: boxes["radii"][row].__setitem__(number, factor * boxes["radii"][row][number]))


def points(change: Callable[[list[Any]], object]) -> Callable[[Any], object]:
    """Of the points; the claim counts them."""

    def changed(record: Any) -> None:
        change(record["points"])
        record["claim"] = chain_claim(FLIP_FLOP.alphabet, len(record["points"]), total=True)

    return changed


def raised(at: int, number: int, by: float) -> Callable[[Any], object]:
    return points(lambda rows: rows[at].__setitem__(number, rows[at][number] + by))


CHANGES: dict[str, tuple[str, Any, type[ValueError], str]] = {
    "no kind": ("certificate", lambda c: c.pop("kind"), Malformed, "unknown key 'kind'|unknown key 'points'"),
    "no such kind": ("certificate", of("", kind="loop"), Malformed, "'kind' is 'loop'"),
    "a kind that is no name": ("certificate", of("", kind=["chain"]), Malformed, "'kind' is"),
    "no points": ("certificate", points(lambda rows: rows.clear()), Malformed, "'points' is not a list of rows"),
    "points that are no rows": ("certificate", of("", points=[1.0]), Malformed, "'points' is not a list of rows"),
    "no key for boxes": ("certificate", lambda c: c.pop("unquantised"), Malformed, "has no 'unquantised'"),
    "a number too few": (
        "certificate",
        points(lambda rows: rows[1].pop()),
        Rejected,
        r"point 2 has 1 numbers: the state has 2 numbers \(h of 1 layer, 2 numbers wide\)",
    ),
    "a text for a number": ("certificate", points(lambda r: r[0].__setitem__(0, "1")), Malformed, "no number"),
    "a number too large": ("certificate", points(lambda r: r[0].__setitem__(0, 10**400)), Malformed, "finite numbers"),
    "a point twice": (
        "certificate",
        points(lambda rows: rows.append(rows[0])),
        Rejected,
        "points 1 and 5 are the same: no state has one of them as the nearest",
    ),
    "a point twice but for the sign of a zero": (
        "certificate",
        points(lambda rows: rows.extend([[0.0, 5.0], [-0.0, 5.0]])),
        Rejected,
        "points 5 and 6 are the same",
    ),
    "too many points": (
        "certificate",
        points(lambda rows: rows.extend([[float(i), 9.0] for i in range(4096)])),
        Rejected,
        "at most 4,096 points",
    ),
    "one point only": (
        "certificate",
        points(lambda rows: rows.__delitem__(slice(1, 4))),
        Rejected,
        "replaced, answers",
    ),
    "points beside the states": (
        "certificate",
        points(lambda rows: [row.__setitem__(0, row[0] + 0.5) for row in rows]),
        Rejected,
        "the network as it is: .* box has",
    ),
    "a point a little beside": ("certificate", raised(2, 0, 1e-4), Rejected, "the network as it is: .* box has"),
    "another claim": ("certificate", lambda c: c.update(claim=c["claim"] + "!"), Rejected, "claim is not the one"),
    "a claim of more points": (
        "certificate",
        lambda c: c.update(claim=chain_claim(FLIP_FLOP.alphabet, 5, True)),
        Rejected,
        "claim is not the one that the table proves",
    ),
    "another file": ("certificate", lambda c: c["weights"].update(sha256="0" * 64), Rejected, "not the weights of"),
    "a box too small": ("certificate", scaled_radius(0, 0, 0.5), Rejected, "the network as it is: .* number 1 of"),
    "another box too small": ("certificate", scaled_radius(3, 1, 0.9), Rejected, "the network as it is: .* number 2"),
    "a box too large": ("certificate", scaled_radius(2, 0, 40), Rejected, "the network as it is"),
    "a box without radius": ("certificate", scaled_radius(1, 1, 0), Rejected, "the network as it is"),
    "a negative radius": ("certificate", scaled_radius(1, 1, -1), Malformed, "no radius is below"),
    "a radius too few": ("certificate", box(lambda b: b["radii"][0].pop()), Malformed, "'radii' is not"),
    "a row of radii too few": ("certificate", box(lambda b: b["radii"].pop()), Malformed, "as many rows of radii"),
    "no slack": ("certificate", box(of("", slack=0.0)), Malformed, "the slack is above 0"),
    "a negative slack": ("certificate", box(of("", slack=-0.1)), Malformed, "the slack is above 0"),
    "more slack": ("certificate", box(of("", slack=2e-3)), Rejected, "the network as it is"),
    "more slack in the claim": (
        "certificate",
        lambda c: c["unquantised"].update(claim=unquantised_chain_claim(2e-3)),
        Rejected,
        "goes beyond what is proven",
    ),
    "boxes with more": ("certificate", box(of("", clip=2.0)), Malformed, "unknown key 'clip'"),
    "another network": ("network", lambda n: n["model"].update(name="stack-rnn"), Rejected, "name = 'stack-rnn'"),
    "an LSTM": ("network", lambda n: n["model"].update(name="lstm"), Malformed, "not the tensors"),
    "a network without a name": ("network", lambda n: n["model"].pop("name"), Malformed, "names no model"),
    "a clamp": ("network", lambda n: n["model"].update(cell_clip=2.0), Malformed, "unknown key 'cell_clip'"),
    "an activation": ("network", lambda n: n["model"].update(activation="tanh"), Malformed, "unknown key 'activation'"),
    "two layers": ("network", lambda n: n["model"].update(n_layers=2), Malformed, "not the tensors"),
    "no layers": ("network", lambda n: n["model"].update(n_layers=0), Malformed, "not those of a network"),
    "layers without end": ("network", lambda n: n["model"].update(n_layers=10**18), Rejected, "at most 1,024 layers"),
    "a width without end": ("network", lambda n: n["model"].update(d_model=10**18), Malformed, "not the tensors"),
    "trained for sets": ("network", of("", supervision="next"), Rejected, "trained to answer 'next'"),
    "other symbols": ("network", of("", alphabet=["a", "b", "-"]), Rejected, "other symbols or answers"),
    "other answers": ("network", of("", output_names=["1", "0"]), Rejected, "other symbols or answers"),
    "another automaton": (
        "automaton",
        lambda a: a["transitions"]["1"].update({"-": "0"}),
        Rejected,
        'answers "1" to the word "1" "-", where the automaton answers "0"',
    ),
    "an automaton with a stack": ("automaton", of("", moves=[]), Malformed, "unknown key 'moves'"),
    "no two answers": ("automaton", of("outputs", **{"0": "1"}), Rejected, "never gives two different answers"),
    "weights: one left out": ("weights", lambda w: w.pop("rnn.bias_hh_l0"), Malformed, "not the tensors"),
    "weights: one more": ("weights", lambda w: w.update(more=np.zeros(2)), Malformed, "not the tensors"),
    "weights: a row less": (
        "weights",
        lambda w: w.update({"rnn.weight_hh_l0": w["rnn.weight_hh_l0"][:-1]}),
        Malformed,
        "not the tensors",
    ),
    "weights: gates in another order": (
        "weights",
        lambda w: w.update({"rnn.bias_ih_l0": np.roll(w["rnn.bias_ih_l0"], 2)}),
        Rejected,
        "replaced, answers",
    ),
    "weights: infinite": ("weights", lambda w: w["readout.bias"].__setitem__(0, np.inf), Malformed, "not finite"),
    "weights: no number": ("weights", lambda w: w["readout.bias"].__setitem__(0, np.nan), Malformed, "not finite"),
    "weights: the answer changes in a box": (
        "weights",
        lambda w: w["readout.bias"].__setitem__(0, 1.989),
        Rejected,
        "the answer can change within the box of point",
    ),
    "weights: beyond float64": (
        "weights",
        lambda w: w["rnn.weight_hh_l0"].__imul__(1e300),
        Rejected,
        "replaced, answers|bits do not decide|as near|no logit|the network as it is",
    ),
}


@pytest.mark.parametrize(("name", "change", "kind", "message"), CHANGES.values(), ids=CHANGES)
def test_a_forged_file_is_refused_by_name(name: str, change: Any, kind: type[ValueError], message: str):
    """With its digest, as a careful forger would."""
    made, its_points, radii = LATCH
    text = certificate(made, its_points, (SLACK, radii))
    if name == "weights":
        weights = {key: value.copy() for key, value in load(made["weights"]).items()}
        change(weights)
        made = made | {"weights": save(weights)}
        text = certificate(made, its_points, (SLACK, radii))
    else:
        forged = json.loads(text if name == "certificate" else made[name])
        change(forged)
        data = json.dumps(forged).encode()
        made = made if name == "certificate" else made | {name: data}
        text = data if name == "certificate" else certificate(made, its_points, (SLACK, radii))
    with pytest.raises(kind, match=message) as caught:
        decide(text, made)
    assert "\n" not in str(caught.value)


def test_no_number_in_a_certificate_is_no_json():
    made, its_points, radii = LATCH
    for rows in (radii, its_points):
        forged = rows.copy()
        forged[0, 0] = np.nan
        text = certificate(made, *((its_points, (SLACK, forged)) if rows is radii else (forged, (SLACK, radii))))
        with pytest.raises(Malformed, match="NaN is no number"):
            decide(text, made)


@pytest.mark.parametrize("name", ["gru", "lstm", "linear-rnn"])
def test_points_without_the_second_layers_state_are_refused(name: str):
    model = drawn(name, 2, 2, 3, 2)
    width = stepped(model, None, [0])[1].shape[1]
    its_points = np.random.default_rng(0).normal(size=(3, width))
    made = files(name, model, PARITY)
    with pytest.raises(Rejected, match=rf"point 1 has {width // 2} numbers: the state has {width} .* of 2 layers"):
        decide(certificate(made, its_points[:, : width // 2]), made)


def test_the_activation_that_config_names_is_the_networks():
    """The weights of a tanh RNN are also those of a ReLU RNN, which is none for parity."""
    model = edges(PARITY)
    made, its_points = files("tanh", model, PARITY), means(model, PARITY)
    boxes = SLACK, boxes_around("tanh", model, PARITY, its_points, SLACK)
    config = json.loads(made["network"])
    wrong = "replaced, answers|the network as it is"
    for change, message in (("relu", wrong), (None, wrong), ("gelu", "'gelu' is not known")):
        forged = json.loads(json.dumps(config))
        forged["model"].update(activation=change)
        if change is None:
            del forged["model"]["activation"]
        changed = made | {"network": json.dumps(forged).encode()}
        with pytest.raises((Rejected, Malformed), match=message):
            decide(certificate(changed, its_points, boxes), changed)


def test_layers_are_bounded_together_where_one_by_one_is_too_much(monkeypatch: pytest.MonkeyPatch):
    model = two_layers_last()
    its_points, made = means(model, ENDS_IN_1), files("tanh", model, ENDS_IN_1)
    radii = boxes_around("tanh", model, ENDS_IN_1, its_points, SLACK, alone=False)
    text = certificate(made, its_points, (SLACK, radii))
    assert accepted(text, made).unquantised_claim
    image = chain_network.Stacked.image
    monkeypatch.setattr(chain_network.Stacked, "image", lambda *given: image(*given[:-1], True))
    with pytest.raises(Rejected, match="the network as it is"):
        decide(text, made)


def test_boxes_of_a_linear_recurrence_are_refused():
    model, its_points = with_points("linear-rnn", 1, 1)
    machine = its_own_machine(model, its_points, 2)
    made = files("linear-rnn", model, machine)
    assert accepted(certificate(made, its_points), made)
    with pytest.raises(Rejected, match="boxes are proven of rnn, gru, lstm and slstm, not of linear-rnn"):
        decide(certificate(made, its_points, (1e-3, np.ones((4, 6)))), made)


def test_a_network_that_answers_every_beginning_is_checked_too():
    made, its_points, _ = LATCH
    config = json.loads(made["network"]) | {"supervision": "prefixes"}
    made = made | {"network": json.dumps(config).encode()}
    assert accepted(certificate(made, its_points), made)


def test_the_language_has_to_be_the_automatons():
    made, its_points, _ = LATCH
    held = MooreMachine(*without_outputs(FLIP_FLOP), (1, 0), ("1", "0"))
    assert accepted(certificate(made, its_points), made, language=("it", to_json(held))).language_claim
    other = MooreMachine(FLIP_FLOP.states, "01-", ((0, 1, 0), (0, 1, 0)), "0", (0, 1), ("0", "1"))
    with pytest.raises(Rejected, match='not that of it: they differ on the word "1" "-"'):
        decide(certificate(made, its_points), made, language=("it", to_json(other)))


def of_one_symbol(bias: float, readout: float) -> tuple[Any, MooreMachine]:
    """A ReLU RNN of one unit that goes from 0 to 1 and back, h' = 1 - h. Sums are exact."""
    machine = MooreMachine(("a", "b"), "0", ((1,), (0,)), "a", (0, 1), ("no", "yes"))
    model = drawn("rnn", 1, 2, 1, 1)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
        w_x, w_h, _, _ = model.rnn.all_weights[0]
        w_x[0, 0], w_h[0, 0] = 1, -1
        model.readout.weight[1, 0], model.readout.bias[0] = readout, bias
    return model, machine


def test_ties_are_refused_and_what_is_nearly_one_takes_more_bits():
    """1 - h goes from 0 to 1 and back: points 0 and 1, and answers by h against a half."""
    model, machine = of_one_symbol(0.5, 1.0)
    made = files("rnn", model, machine)
    exact = np.array([[0.0], [1.0]])
    assert accepted(certificate(made, exact), made).bits == 64
    with pytest.raises(Rejected, match='the start, symbol "0": the state is as near to point 2 as to point 1'):
        decide(certificate(made, np.array([[0.0], [2.0]])), made)
    near = accepted(certificate(made, np.array([[0.0], [2.0 - 2.0**-51]])), made)
    assert 0 < near.point_margin < 1e-15
    model, machine = of_one_symbol(1.0, 1.0)
    made = files("rnn", model, machine)
    with pytest.raises(Rejected, match='symbol "0": no logit is larger than all others'):
        decide(certificate(made, exact), made)
    model, machine = of_one_symbol(1.0, 1.0 + 2.0**-52)
    made = files("rnn", model, machine)
    assert 0 < accepted(certificate(made, exact), made).answer_margin < 1e-15


@pytest.mark.parametrize(("size", "bits"), [(2.0**60, 64), (2.0**90, 128)])
def test_what_float64_loses_is_not_lost(size: float, bits: int):
    """1 - h beside two biases that cancel: in float64 it is 0 for ever, as the network is there."""
    model, machine = of_one_symbol(0.5, 1.0)
    with torch.no_grad():
        model.rnn.all_weights[0][2][0], model.rnn.all_weights[0][3][0] = size, -size
    points, made = np.array([[0.0], [1.0]]), files("rnn", model, machine)
    assert stepped(model, points, [0, 0])[1].tolist() == [[0], [0]]
    assert accepted(certificate(made, points), made).bits == bits
    with pytest.raises(Rejected, match="the network as it is"):
        decide(certificate(made, points, (1e-6, np.full((2, 1), 0.1))), made)


def test_a_tie_of_numbers_that_no_sum_gives_is_not_decided():
    """tanh 1 lies in the middle between two points by symmetry alone."""
    machine = MooreMachine(("a", "b"), "01", ((0, 1), (0, 1)), "a", (0, 1), ("no", "yes"))
    model = drawn("tanh", 2, 2, 2, 1)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
        w_x = model.rnn.all_weights[0][0]
        w_x[0, 0] = w_x[1, 0] = 1
    made = files("tanh", model, machine)
    with pytest.raises(Rejected, match="1024 bits do not decide"):
        decide(certificate(made, np.array([[0.0, 1.0], [1.0, 0.0]])), made)


def test_what_no_answer_follows_is_left_alone():
    """Where nothing was written "-" is no question: there the network may do what it likes."""
    table = ((1, 2, 3), (1, 2, 1), (1, 2, 2), (3, 3, 3))
    machine = MooreMachine(("start", "0", "1", "sink"), "01-", table, "start", (-1, 0, 1, -1), ("0", "1"))
    model = gru_latch()
    its_points, made = means(model, FLIP_FLOP), files("gru", model, machine)
    found = accepted(certificate(made, its_points, None, total=False), made)
    assert (found.states, found.answered_states, found.rows) == (3, 2, 3 * found.points + 2)
    with pytest.raises(Rejected, match="claim is not the one that the table proves"):
        decide(certificate(made, its_points, None, total=True), made)


LIMITS = [
    (chain_product, "MAX_ROWS", 3, "more than 3 rows of the table come up"),
    (chain_product, "MAX_PAIRS", 1, "more than 1 pairs"),
    (chain_product, "MAX_STEPS", 2, "2 steps from them"),
    (chain_product, "MAX_WORK", 1, "more than 0 rows of the table come up: too many in a network of this size"),
    (chain_boxes, "MAX_MAP", 1, "boxes take matrices of 12 numbers in this network; at most 1"),
    (chain_boxes, "MAX_WORK", 1, "boxes are proven of at most 0 rows in a network of this size"),
]


@pytest.mark.parametrize(("module", "name", "value", "message"), LIMITS, ids=[name for _, name, _, _ in LIMITS])
def test_what_takes_too_long_is_refused(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, value: int, message: str
):
    made, its_points, radii = LATCH
    monkeypatch.setattr(module, name, value)
    with pytest.raises(Rejected, match=message):
        decide(certificate(made, its_points, (SLACK, radii)), made)


def test_rows_that_float64_does_not_decide_are_counted(monkeypatch: pytest.MonkeyPatch):
    model, machine = of_one_symbol(0.5, 1.0)
    made = files("rnn", model, machine)
    near = certificate(made, np.array([[0.0], [2.0 - 2.0**-51]]))
    monkeypatch.setattr(chain_product, "MAX_EXACT_WORK", 1)
    with pytest.raises(Rejected, match="more than 0 rows that float64 does not decide"):
        decide(near, made)


def test_nothing_is_concluded_from_float64_that_rounds_otherwise(monkeypatch: pytest.MonkeyPatch):
    made, its_points, radii = LATCH
    for module in (chain_product, chain_boxes):
        monkeypatch.setattr(module, "is_ieee", lambda: False)
    monkeypatch.setattr("regulargpt.certificate.checker.nearest.is_ieee", lambda: False)
    assert accepted(certificate(made, its_points), made).points == len(its_points)
    with pytest.raises(Rejected, match="does not round to nearest"):
        decide(certificate(made, its_points, (SLACK, radii)), made)
