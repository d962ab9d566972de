"""What is said of a chain whose weights are known by hand: proven as it is, proven with its states replaced, or not."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save

from languages.convert.machines import to_json
from regulargpt.certificate.chain import outcome
from regulargpt.certificate.chain.outcome import chain_outcome
from regulargpt.certificate.checker import AcceptedChain, Rejected, decide
from regulargpt.certificate.outcome import Outcome
from regulargpt.certificate.sentences import sentences
from regulargpt.config.schema import RunConfig
from regulargpt.data import of_words
from regulargpt.finite.from_answers import LearnedMachine
from regulargpt.finite.specification import specified_machine
from regulargpt.models.rnn import Rnn
from regulargpt.objectives import build
from regulargpt.runs.run import model_record

CONFIG = RunConfig().replaced(
    {"data.name": "flip-flop", "data.train_len": 6, "model.name": "rnn", "model.d_model": 2, "model.activation": "tanh"}
)
DATA = of_words(CONFIG.data)


def flip_flop(hold: float = 4.0, write: float = 8.0, lean: float = 1.5) -> tuple[Rnn, dict[str, bytes]]:
    """Two units that hold a bit and its opposite; they `lean` to the bit that is there before any was written."""
    model = Rnn(3, 2, d_model=2, activation="tanh")
    sides = torch.tensor([1.0, -1.0])
    written = [{"0": 1.0, "1": -1.0}.get(name[-1], 0.0) for name in DATA.task.alphabet]
    with torch.no_grad():
        w_x, w_h, b_x, b_h = model.rnn.all_weights[0]
        w_x.copy_(write * sides[:, None] * torch.tensor(written))
        w_h.copy_(hold * torch.eye(2))
        b_x.copy_(lean * sides)
        b_h.zero_()
        model.readout.weight.copy_(torch.eye(2))
        model.readout.bias.zero_()
    network = json.dumps(model_record(CONFIG, DATA, build(CONFIG.objective, DATA))).encode()
    return model, {"weights": save(model.state_dict()), "network": network}


def said_of(made: tuple[Rnn, dict[str, bytes]], **given: Any) -> Outcome:
    return chain_outcome(made[0], DATA, 0, made[1], **given)


def accepted(found: Outcome, files: dict[str, bytes]) -> AcceptedChain:
    checked = decide(
        found.files["certificate.json"].encode(),
        files | {"automaton": found.files["automaton.json"].encode()},
        (DATA.name, to_json(specified_machine(DATA.finite))),
    )
    assert isinstance(checked, AcceptedChain)
    return checked


def test_the_network_as_it_is():
    made = flip_flop()
    found = said_of(made)
    assert found.proven
    checked = accepted(found, made[1])
    assert checked.unquantised_claim is not None
    report = found.report["unquantised"]
    # By hand: a bit that was written against the lean is held at h = tanh(4 h - 1.5), far from where it was put.
    held = 1.0
    for _ in range(50):
        held = np.tanh(4 * held - 1.5)
    assert report["radius"] > (np.tanh(8 - 1.5) - held) / 2
    assert 0 < report["slack"] < report["radius"] < 0.1
    assert sentences({**found.report, "file": "certificate.json"})[1].startswith(
        "and as it is: each number of its state "
    )


def test_words_that_were_wrong_in_the_test_are_said_where_they_still_are():
    """A bit that fades slowly is lost on words that are longer than all that are asked."""
    made = flip_flop(hold=1.0, lean=0.002)
    assert "wrong_unquantised" not in said_of(made).report
    write, keep = DATA.encode("1-").tolist()
    long, right = (write, *[keep] * 300), (write, keep)
    found = said_of(made, wrong=[(), right, (*long, keep), long])
    assert found.proven
    assert found.report["wrong_unquantised"] == {"word": "1" + "-" * 300, "length": 301, "right": "1", "network": "0"}
    assert "without replacing states it is wrong" in sentences({**found.report, "file": "certificate.json"})
    assert said_of(made, wrong=[right]).report == said_of(made).report


def test_points_that_are_known_are_tried_first_and_what_is_no_point_is_not():
    made, middle = flip_flop(), 0.99
    known = torch.tensor([[middle, -middle], [-middle, middle]], dtype=torch.float64)
    found = said_of(made, known=known)
    assert found.report["points"] == 2
    assert said_of(made, known=known[:, :1]).report == said_of(made).report


@pytest.mark.parametrize(
    ("weights", "unquantised"),
    [
        # A bit that is held too weakly is lost: with its state replaced it is not.
        ({"hold": 0.5, "lean": 0.3}, "the network itself errs on a word"),
        # Here it fades for ever and is never lost, but no slack is left.
        ({"hold": 1.0, "lean": 0.0}, "no boxes"),
    ],
)
def test_states_replaced_it_is_right_for_ever_and_as_it_is_no_proof(weights: dict[str, float], unquantised: str):
    made = flip_flop(**weights)
    found = said_of(made)
    assert found.proven
    assert found.report["unquantised"]["proven"] is False
    assert found.report["unquantised"]["reason"].startswith(unquantised)
    assert accepted(found, made[1]).unquantised_claim is None
    lines = sentences({**found.report, "file": "certificate.json"})
    errs = "wrong_unquantised" in found.report
    assert errs == (unquantised == "the network itself errs on a word")
    assert (
        lines[1] == "without replacing states it is wrong"
        if errs
        else lines[1].startswith("without replacing states it is tested")
    )


def test_a_network_that_writes_the_other_bit_has_its_shortest_wrong_words():
    found = said_of(flip_flop(write=-8.0))
    assert not found.proven
    assert found.report["wrong"]["length"] == found.report["wrong_unquantised"]["length"] == 1
    assert [*found.files] == ["uncertified.json"]


def test_of_a_learned_automaton_that_is_not_the_languages_it_is_said():
    made = flip_flop(write=-8.0)
    machine = specified_machine(DATA.finite)
    table = machine.table.copy()
    zero, one = (next(x for x, name in enumerate(machine.alphabet) if name[-1] == bit) for bit in "01")
    table[:, [zero, one]] = table[:, [one, zero]]
    learned = type(machine)(
        machine.states, machine.alphabet, table, machine.initial, machine.outputs, machine.output_names
    )
    found = said_of(made, learned=LearnedMachine(learned, 2))
    assert (found.report["proven"], found.proven) == (True, False)
    assert found.report["unquantised"]["proven"]
    lines = sentences({**found.report, "file": "certificate.json"})
    assert "proven of that automaton, not of flip-flop, at every length" in lines[2]
    assert any(line.startswith("the network's own shortest wrong word found has 1 symbol") for line in lines)


def test_where_the_checker_rejects_everything_it_is_said_and_nothing_is_proven(monkeypatch: pytest.MonkeyPatch):
    def reject(*given: Any, **named: Any) -> None:
        raise Rejected("not today")

    monkeypatch.setattr(outcome, "decide", reject)
    found = said_of(flip_flop())
    assert found.report["reason"] == "the independent check rejects it: not today"
    assert not found.report["proven"]


def test_where_it_rejects_boxes_the_points_are_left(monkeypatch: pytest.MonkeyPatch):
    def decide_without(certificate: bytes, files: dict[str, bytes], **named: Any) -> Any:
        if json.loads(certificate)["unquantised"] is not None:
            raise Rejected("no box")
        return decide(certificate, files, **named)

    monkeypatch.setattr(outcome, "decide", decide_without)
    found = said_of(flip_flop())
    assert found.proven
    assert found.report["unquantised"] == {"proven": False, "reason": "the independent check rejects it: no box"}
