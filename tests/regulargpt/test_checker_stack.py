"""The checker of networks with a stack: what it accepts of networks made by hand, and what it refuses."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load, save
from safetensors.torch import load as load_tensors

from languages.convert.pushdown import from_json
from regulargpt.certificate.checker import AcceptedStack, Malformed, Rejected, check, decide
from regulargpt.models.stack_rnn.model import StackRnn
from regulargpt.models.stack_rnn.options import StackRnnOptions
from regulargpt.options import as_mapping
from tests.regulargpt.stack_certificates import (
    BRACKETS,
    REVERSE,
    Record,
    Weights,
    brackets,
    certificate,
    completed,
    files,
    late_reverse,
    move,
    reverse,
    runs,
    written,
)

OPEN = {**BRACKETS, "moves": [one for one in BRACKETS["moves"] if "wrong" not in (one["from"], one["to"])]}
VISIBLE: dict[str, Any] = {"direction": [1, -1]}


def accepted(weights: Weights, automaton: Record, lag: int = 0, **options: Any) -> AcceptedStack:
    found = decide(*files(weights, automaton, lag, **options))
    assert isinstance(found, AcceptedStack)
    return found


def test_reverse_string_in_two_units_is_proven() -> None:
    found = accepted(reverse(), REVERSE)
    assert (found.states, found.lag, found.automaton_states, found.answered_states) == (4, 0, 3, 2)
    assert (found.sign_margin, found.action_margin, found.answer_margin) == (1, 2, 2)
    assert 1e5 < found.room < 1e7


def test_brackets_in_four_units_are_proven() -> None:
    found = accepted(brackets(), BRACKETS)
    assert (found.sign_margin, found.action_margin, found.answer_margin) == (0.5, 1, 1)


def test_actions_may_be_visible_and_cells_empty_with_minus_one() -> None:
    assert accepted(brackets(), OPEN, **VISIBLE).action_margin is None
    accepted(reverse(), REVERSE, empty=-1)
    with pytest.raises(Rejected, match="network answers"):
        decide(*files(brackets(), OPEN, **VISIBLE, empty=-1))


def test_a_stack_may_be_ahead_by_the_lag_and_no_more() -> None:
    assert accepted(reverse(), late_reverse(), 1).lag == 1
    with pytest.raises(Rejected, match="one stack gets 1 symbols ahead"):
        decide(*files(reverse(), late_reverse(), 0))


@pytest.mark.parametrize(("made", "automaton"), [(reverse(), REVERSE), (brackets(), BRACKETS)])
def test_a_network_with_one_sign_flipped_is_right_or_refused(made: Weights, automaton: Record) -> None:
    whole, refused = completed(made, automaton), 0
    for name, weight in whole.items():
        for place in zip(*np.nonzero(weight), strict=True):
            forged = {key: value.copy() for key, value in whole.items()}
            forged[name][place] *= -1
            try:
                accepted(forged, automaton, 2)
            except Rejected:
                refused += 1
            else:
                assert_right(forged, automaton)
    assert refused > 10


def assert_right(weights: Weights, automaton: Record) -> None:
    """On all words of at most 8 symbols."""
    for word in (word for length in range(1, 9) for word in product(range(len(automaton["alphabet"])), repeat=length)):
        found = runs(weights, automaton, word)
        assert found is None or found[0] == found[1], word


def test_the_networks_made_by_hand_are_right_as_they_run() -> None:
    for made, automaton in ((reverse(), REVERSE), (brackets(), BRACKETS)):
        assert_right(completed(made, automaton), automaton)


def counting(depth: int) -> Weights:
    """Reverse String, until so many symbols were read: from then on the answer is 0.

    Unit 1 + k is 1 once k symbols were read that are not empty.
    """
    H = 2 + depth
    found = {name: np.zeros(shape) for name, shape in (("input.weight", (H, 4)), ("recurrent.weight", (H, H)))}
    found["input.weight"][:2], found["push.weight"] = reverse()["input.weight"], np.eye(1, H, 1)
    found["input.bias"] = np.array([0.0, 0, 1, *[-10] * (depth - 1)])
    for k in range(3, H):
        # Once 1, always 1; and 1 if the last is 1 and a symbol is read. At first all are 0, unit 2 included.
        found["input.weight"][k, :2] = 3
        found["recurrent.weight"][k, [k - 1, k]] = 1, 3
        found["recurrent.weight"][k, 2] += 10
    found["action.weight"], found["action.bias"] = np.eye(3, H) * [[1], [0], [0]], reverse()["action.bias"]
    found["action.weight"][1, 0] = -1
    found["readout.weight"] = np.zeros((2, H))
    found["readout.weight"][:, 1], found["readout.weight"][0, -1], found["readout.bias"] = (
        [-1, 1],
        4,
        np.array([4.0, 0]),
    )
    return found


def test_a_network_that_is_right_to_depth_30_and_wrong_at_31_is_refused() -> None:
    weights = completed(counting(31), REVERSE)
    for n, right in ((30, True), (31, False)):
        found = runs(weights, REVERSE, [1] * n + [2] * n)
        assert found is not None
        assert (found[0] == found[1]) == right
    with pytest.raises(Rejected, match='it answers "1"; the network answers "0"'):
        decide(*files(counting(31), REVERSE))


def changed(name: str, place: Any, value: Any, of: Weights | None = None) -> Weights:
    """Reverse String with another weight."""
    whole = completed(reverse() if of is None else of, REVERSE)
    whole[name][place] = value
    return whole


NEARLY = np.nextafter(np.float32(1), np.float32(2))
WEIGHTS: dict[str, tuple[Weights, type[ValueError], str]] = {
    "a sum is 0": (
        changed("input.weight", (1, 0), -1),
        Rejected,
        'the sign of a unit at the symbol "0" is not decided',
    ),
    "a sum is above 0 by less than rounding": (
        changed("input.weight", (1, 1), NEARLY),
        Rejected,
        "sign .* within 8.94e-07",
    ),
    "two actions are equal": (changed("action.bias", 2, 1), Rejected, "the action at .* is not decided: 0 is within"),
    "two actions are nearly equal": (changed("action.bias", 2, 1 - 2.0**-24), Rejected, "the action .* not decided"),
    "an action whose terms cancel": (
        changed("action.weight", 2, 2.0**20, changed("action.bias", 2, 1 - 2.0**-10)),
        Rejected,
        'the action at the symbol "0" is not decided',
    ),
    "units before whose terms cancel": (
        changed("recurrent.weight", 1, np.array([2.0**22, -(2.0**22)])),
        Rejected,
        'the sign of a unit at the symbol "0" is not decided: 2 is within 3',
    ),
    "two answers are equal": (changed("readout.weight", (0, 1), 1), Rejected, "an answer is not decided"),
    "it never pops": (changed("action.bias", 2, 1.5), Rejected, "the network answers|ahead"),
    "it pushes what it popped": (changed("push.weight", (0, 1), -1), Rejected, "the network answers"),
    "infinite": (changed("readout.bias", 0, np.inf), Malformed, "not finite"),
    "no number": (changed("push.bias", 0, np.nan), Malformed, "not finite"),
    "beyond what float32 adds up": (changed("push.bias", 0, 2.0**41), Rejected, "could overflow"),
    "of another width": ({**changed("push.bias", 0, 0), "push.bias": np.zeros(2, np.float32)}, Malformed, "tensors"),
    "more tensors": ({**changed("push.bias", 0, 0), "more": np.zeros(2, np.float32)}, Malformed, "tensors"),
    "of float64": ({**changed("push.bias", 0, 0), "push.bias": np.full(1, 0.1)}, Rejected, "none of float32"),
}


@pytest.mark.parametrize(("weights", "kind", "message"), WEIGHTS.values(), ids=WEIGHTS)
def test_weights_are_refused(weights: Weights, kind: type[ValueError], message: str) -> None:
    _, made = files(reverse(), REVERSE)
    made["weights"] = save(weights)
    with pytest.raises(kind, match=message):
        decide(certificate(made, 0), made)


def test_a_weight_that_does_not_change_what_is_true_is_no_reason() -> None:
    _, made = files(reverse(), REVERSE)
    made["weights"] = save({name: weight.astype(np.float64) for name, weight in load(made["weights"]).items()})
    assert decide(certificate(made, 0), made)


def silent(automaton: Record) -> None:
    automaton["outputs"] = dict.fromkeys(automaton["outputs"])


def constant(automaton: Record) -> None:
    automaton["outputs"]["said 1"] = "0"


def short(automaton: Record) -> None:
    # 0 or 1, then its answer; further words have moves, and no answer.
    more = {"0 read": None, "1 read": None, "silent": None}
    last = [move(f"{x} read", "_", f"said {x}", pop=True) for x in "01"]
    loop = [move(f"said {x}", "_", "silent") for x in "01"] + [move("silent", "_", "silent")]
    automaton["outputs"] |= more
    automaton["moves"] = [*(move("read", x, f"{x} read", push=x) for x in "01"), *last, *loop]


CHANGES: dict[str, tuple[str, Any, type[ValueError], str]] = {
    "no answers": ("automaton", silent, Rejected, "never gives two different answers"),
    "one answer": ("automaton", constant, Rejected, "never gives two different answers"),
    "answers to finitely many words": ("automaton", short, Rejected, "answers finitely many words"),
    "answers in another order": (
        "automaton",
        lambda a: a["output_names"].reverse(),
        Rejected,
        "other symbols or answers",
    ),
    "a move twice": ("automaton", lambda a: a["moves"].append(a["moves"][0]), Malformed, "two moves from 'read'"),
    "a pop at the bottom": (
        "automaton",
        lambda a: a["moves"].append(move("read", "_", "read", tops=[None], pop=True)),
        Malformed,
        "pops at the bottom",
    ),
    "one more move": (
        "automaton",
        lambda a: a["moves"].append(move("said 0", "0", "said 1")),
        Rejected,
        "network answers",
    ),
    "a machine of no stack": ("automaton", lambda a: a.pop("moves"), Malformed, "has no 'moves'"),
    "signs at the end only": (
        "network",
        lambda n: n["model"].update(controller="tanh"),
        Rejected,
        "controller = 'tanh'",
    ),
    "more stacks": ("network", lambda n: n["model"].update(stacks=2), Rejected, "stacks = 2"),
    "another push": ("network", lambda n: n["model"].update(push="sigmoid"), Rejected, "push = 'sigmoid'"),
    "soft actions": (
        "network",
        lambda n: n["model"].update(tests="superposition"),
        Rejected,
        "tests = 'superposition'",
    ),
    "another network": ("network", lambda n: n["model"].update(name="tape-rnn"), Rejected, "name = 'tape-rnn'"),
    "no brackets": ("network", lambda n: n["model"].update(actions="visible"), Malformed, "no 'direction'"),
    "no such action": ("network", lambda n: n["model"].update(actions="all"), Malformed, "actions 'all' is not known"),
    "an unknown option": ("network", lambda n: n["model"].update(more=1), Malformed, "unknown key 'more'"),
    "an empty cell": ("network", lambda n: n["model"].update(empty=1), Malformed, "sizes"),
    "no units": ("network", lambda n: n["model"].update(d_model=0), Malformed, "sizes"),
    "too many units": ("network", lambda n: n["model"].update(d_model=1 << 20), Rejected, "at most 4,096 units"),
    "another width": ("network", lambda n: n["model"].update(d_model=3), Malformed, "tensors"),
    "other symbols": ("network", lambda n: n.update(alphabet=["a", "b", "_"]), Rejected, "other symbols or answers"),
    "too few symbols": ("network", lambda n: n.update(n_symbols=2), Malformed, "counts other symbols"),
    "another claim": ("certificate", lambda c: c.update(claim=c["claim"] + "!"), Rejected, "claim is not the one"),
    "another file": ("certificate", lambda c: c["weights"].update(sha256="0" * 64), Rejected, "not the weights of"),
    "a lag of -1": ("certificate", lambda c: c.update(lag=-1), Malformed, "from 0 to 16"),
    "a lag of 17": ("certificate", lambda c: c.update(lag=17), Malformed, "from 0 to 16"),
    "a lag that is no number": ("certificate", lambda c: c.update(lag=True), Malformed, "wrong kind"),
    "no lag": ("certificate", lambda c: c.pop("lag"), Malformed, "has no 'lag'"),
    "another kind": ("certificate", lambda c: c.update(kind="tree"), Malformed, "'kind' is 'tree'"),
    "another format": ("certificate", lambda c: c.update(format="2"), Malformed, "has the format '2'"),
    "a tree": ("certificate", lambda c: c.update(tree="nested"), Malformed, "unknown key 'tree'"),
}


@pytest.mark.parametrize(("name", "change", "kind", "message"), CHANGES.values(), ids=CHANGES)
def test_a_forged_file_is_refused(name: str, change: Any, kind: type[ValueError], message: str) -> None:
    """With its digest, as a careful forger would."""
    text, made = files(reverse(), deepcopy(REVERSE))
    forged = json.loads(text if name == "certificate" else made[name])
    change(forged)
    data = json.dumps(forged).encode()
    made |= {} if name == "certificate" else {name: data}
    with pytest.raises(kind, match=message) as caught:
        decide(data if name == "certificate" else certificate(made, 0), made)
    assert "\n" not in str(caught.value)


def test_the_actions_of_brackets_are_those_that_config_states() -> None:
    text, made = files(brackets(), OPEN, **VISIBLE)
    assert decide(text, made)
    for direction, kind, message in (([-1, 1], Rejected, "ahead|answers"), ([1], Malformed, "'direction'")):
        config = json.loads(made["network"]) | {"direction": direction}
        forged = made | {"network": json.dumps(config).encode()}
        with pytest.raises(kind, match=message):
            decide(certificate(forged, 0), forged)


def renamed(automaton: Record, names: dict[str, str]) -> Record:
    """With other names of stack symbols."""
    text = json.dumps(automaton)
    for old, new in names.items():
        text = re.sub(f'"{old}"', f'"{new}"', text)
    return json.loads(text)


SAME: dict[str, tuple[Record, Record]] = {
    "itself": (REVERSE, REVERSE),
    "other names": (BRACKETS, renamed(BRACKETS, {"first": "a", "other": "b", "open": "p", "balanced": "q"})),
    "another order of moves": (REVERSE, {**REVERSE, "moves": REVERSE["moves"][::-1]}),
    "pushed one symbol later": (REVERSE, late_reverse()),
}


@pytest.mark.parametrize(("mine", "other"), SAME.values(), ids=SAME)
def test_the_machine_is_that_of_the_language(mine: Record, other: Record) -> None:
    made = reverse() if mine is REVERSE else brackets()
    found = decide(*files(made, mine), ("language", json.dumps(other)))
    assert (
        found.language_claim == "The automaton answers every word of at least one symbol as the language language does."
    )


def without(automaton: Record, at: int) -> Record:
    """One move less."""
    return {**automaton, "moves": [one for i, one in enumerate(automaton["moves"]) if i != at]}


def idle_once_wrong(automaton: Record) -> Record:
    """It pushes and pops where nothing more can be right."""
    pushing = [move("wrong", "(", "wrong", push="other"), move("wrong", ")", "wrong", tops=["other"], pop=True)]
    return {**automaton, "moves": [*automaton["moves"][:5], *pushing, move("wrong", ")", "wrong", tops=[None])]}


OTHERS: dict[str, tuple[Record, str]] = {
    "other answers": (
        {**BRACKETS, "outputs": BRACKETS["outputs"] | {"wrong": "accept"}},
        "is not that of language: they answer some words differently",
    ),
    "none once wrong": ({**BRACKETS, "outputs": BRACKETS["outputs"] | {"wrong": None}}, "is not that of language"),
    "less moves": (without(BRACKETS, 4), "is not decided: some words have moves in one alone"),
    "other symbols": (renamed(BRACKETS, {r"\(": "a"}), "reads other symbols"),
    "a stack far ahead": (idle_once_wrong(BRACKETS), "is not decided: one stack gets 5 symbols ahead"),
}


@pytest.mark.parametrize(("other", "message"), OTHERS.values(), ids=OTHERS)
def test_the_machine_is_not_that_of_the_language(other: Record, message: str) -> None:
    with pytest.raises(Rejected, match=message):
        decide(*files(brackets(), BRACKETS), ("language", json.dumps(other)))


def test_a_certificate_is_checked_from_its_files(tmp_path: Any) -> None:
    folder = written(tmp_path, *files(reverse(), REVERSE))
    assert check(folder / "certificate.json") == accepted(reverse(), REVERSE)


@pytest.mark.parametrize(("made", "automaton"), [(reverse(), REVERSE), (brackets(), BRACKETS)])
def test_the_model_has_these_tensors_and_options_and_does_what_was_proven(made: Weights, automaton: Record) -> None:
    text, data = files(made, automaton)
    config = json.loads(data["network"])
    assert set(config["model"]) == set(as_mapping(StackRnnOptions("stack-rnn")))
    options = StackRnnOptions(**config["model"])
    model = StackRnn(config["n_symbols"], config["n_outputs"], **options.arguments())
    model.load_state_dict(load_tensors(data["weights"]))
    assert decide(text, data)
    words = np.array(list(product(range(config["n_symbols"]), repeat=6)))
    with torch.no_grad():
        logits = model.eval()(torch.tensor(words), readout="all")
    machine = from_json(json.dumps(automaton))
    right = machine.answers(words, every=True)
    asked = right >= 0
    assert asked.any()
    assert (logits.argmax(-1).numpy()[asked] == right[asked]).all()
