"""Refutations: what the checker accepts is wrong in 60 digits; what is forged is refused; what ties is not refuted."""

import json
import math
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from flint import acb, arb
from safetensors.torch import load_file, save_file

import languages
from languages.automata import MooreMachine
from languages.convert.machines import to_json
from languages.task import Task
from regulargpt.certificate.checker import AcceptedRefutation, Malformed, Rejected, decide
from regulargpt.certificate.checker.claims import refutation_claim
from regulargpt.certificate.checker.recurrences import Discs, Factor, Recurrences, settled
from regulargpt.certificate.checker.refutation import Family as CheckedFamily
from regulargpt.certificate.checker.refutation import Refutation as Checked
from regulargpt.certificate.compared import right_machine
from regulargpt.certificate.refutation.families import Family, Wrong, of_cycles
from regulargpt.certificate.refutation.network import LinearNetwork, branch
from regulargpt.certificate.refutation.outcome import Refutation, certificate_of, refutation_of
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.storage.folder import REFUTATION, REFUTED_AUTOMATON
from tests.regulargpt.forging import FILES, Cases, Change, Record, assert_refused, checked, drop, put, refused_each
from tests.regulargpt.linear_networks import Digits, drawn, files_of, made

PARITY, FLIP_FLOP, LATCH = (languages.get(name) for name in ("parity", "flip-flop", "regex:0*1(0|1)*"))


def refuted(model: LinearRnn, task: Task) -> Refutation:
    """What the search says, and the checker of it."""
    return refutation_of(task, model, *files_of(model, task))


@pytest.mark.parametrize("n_layers", [1, 2])
@pytest.mark.parametrize("language", ["parity", "flip-flop", "tomita-4", "cyclic-3", "regex:0*1(0|1)*"])
def test_what_is_accepted_is_wrong_in_sixty_digits(language: str, n_layers: int):
    """A bound that is too small, a residue one off, a layer that settles before the one below: any shows here."""
    task = languages.get(language)
    model = drawn(task, 2, n_layers, seed=n_layers)
    found = refuted(model, task)
    assert found.report["refuted"], found.report
    record, machine, digits = json.loads(found.files[REFUTATION]), right_machine(task), Digits(model.state_dict())
    assert isinstance(machine, MooreMachine)
    first, period = record["from"], record["period"]
    assert first % period == record["residue"]
    for n in range(first, first + 2 * period + 1, period):
        word = [*record["u"], *record["v"] * n, *record["w"]]
        assert digits.answer(word) == record["answer"] != machine.answers(np.array([word]))[0] >= 0
    # It is the least: one period before the network is right, or gives another wrong answer, or nothing is asked.
    if (before := first - period) >= 1:
        word = [*record["u"], *record["v"] * before, *record["w"]]
        right = machine.answers(np.array([word]))[0]
        assert right == record["answer"] or right < 0 or digits.answer(word) != record["answer"]


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_logits_come_near_a_limit_that_does_not_depend_on_u_at_any_depth(n_layers: int):
    """Theorem 0, and its second corollary, by numbers: what a refutation rests on."""
    network = LinearNetwork(drawn(PARITY, 4, n_layers, seed=5))
    for v in ((1,), (0, 1), (1, 1, 0)):
        limit = network.limit((), v, ())
        for u in ((), (1,), (0, 1, 1)):
            far = np.abs(network.along(u, v, 60).logits - limit).max(1)  # (60,)
            assert far[-1] < 1e-3 * max(far[0], 1e-3)
            assert far[-1] < 0.1 * far[29] + 1e-12  # geometrically: as much again, in as many blocks


def test_what_settles_is_where_it_is_said_to_be():
    """Any numbers in the boxes, added block by block, lead into the disc from so many blocks on."""
    random = np.random.default_rng(0)
    a = np.exp(-np.exp([-2.0, -0.5]) + 1j * np.array([0.8, 3.1]))
    middles = random.normal(size=(3, 2)) + 1j * random.normal(size=(3, 2))
    boxes = np.array([[acb(arb(z.real, 0.1), arb(z.imag, 0.1)) for z in row] for row in middles])
    factor = Factor(np.array([[acb(z) for z in a]]), np.array([[arb(abs(z)) for z in a]]))
    start = Discs(np.array([acb(1, 1), acb(-2)]), np.array([arb(0.5), arb(0)]))
    for blocks in (0, 1, 4):
        disc = settled(start, factor, boxes, blocks)
        centre, radius = disc.centre.astype(complex), disc.radius.astype(float)
        for _ in range(200):
            x = np.array([1 + 1j, -2]) + np.array([0.5, 0]) * np.exp(2j * np.pi * random.random(2))
            for block in range(12):
                assert block < blocks or (np.abs(x - centre) <= radius + 1e-12).all()
                corner = random.choice([-0.1, 0.1], size=(2, 3, 2))
                for row in middles + corner[0] + 1j * corner[1]:
                    x = a * x + row


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_the_bounds_of_all_later_words_hold_of_each_and_come_together(n_layers: int):
    """At three depths: the logits at each of 300 n lie in what is said of all from n on."""
    model, v, w = drawn(PARITY, 3, n_layers, seed=3), [1, 0, 1], [1]
    checked, network = Recurrences(model_weights(model), json.loads(files_of(model, PARITY)[1])), LinearNetwork(model)
    family = CheckedFamily([0, 1], v, w, 1, 1, 0, 0)
    refutation, found, widths = Checked(checked, family, lambda *_: None), [], []
    states = network.along([0, 1], v, 300)
    advance, _ = branch(network.a, states.states)
    logits = network.logits(w * 300, advance)  # (300, 2), at n = 1, 2, ...
    for n in (1, 2, 4, 8, 16, 64, 256):
        bounds = refutation.settling.all(n)
        low, high = (
            np.array([float(end) for end in ends])
            for ends in zip(*((x.lower(), x.upper()) for x in bounds), strict=True)
        )
        found.append(bool(((low <= logits[n - 1 :] + 1e-12) & (logits[n - 1 :] - 1e-12 <= high)).all()))
        widths.append(float((high - low).max()))
    assert all(found)
    assert widths[-1] < 1e-6 < widths[0]


def model_weights(model: LinearRnn) -> dict[str, np.ndarray]:
    """As the checker reads them."""
    return {name: weight.numpy() for name, weight in model.state_dict().items()}


def test_right_when_rounded_and_wrong_in_real_arithmetic():
    """|a| = 1 - 2e-9 is 1 in float32: there the state never moves again, so it is right at every length."""
    model = made(nu=-20.0, symbols=(0.0, 1.0), threshold=0.5)
    found = refuted(model, LATCH).report
    assert found["refuted"]
    assert (found["u"], found["v"], found["network"], found["right"]) == ("1", "0", "reject", "accept")
    assert 3.3e8 < found["from"] < 1e9  # |a|^n is below one half from ln 2 / 2.06e-9 = 3.36e8 on
    single = LinearRnn(2, 2, d_model=2, n_layers=1).eval()
    single.load_state_dict(model.state_dict())
    with torch.no_grad():
        logits, state = single.read(torch.tensor([[1]]), None, "last")
        for _ in range(2):
            after, again = single.read(torch.tensor([[0]]), state, "last")
            assert torch.equal(again[0], state[0])
            assert logits.argmax() == after.argmax() == 1
            state = again


def test_a_network_whose_answers_tie_in_the_limit_is_not_refuted():
    """s' = s / 4 + x, and its sign: the bit written last, on every word. Its margin dies away, so nothing is proven."""
    model = made(nu=math.log(math.log(4.0)), symbols=(-1.0, 1.0, 0.0), threshold=0.0)
    digits = Digits(model.state_dict())
    for word in (word for length in range(1, 5) for word in product(range(3), repeat=length)):
        s = Fraction(0)
        for symbol in word:
            s = s / 4 + (-1, 1, 0)[symbol]
        if s:  # before the first bit both answers tie as well
            right = int(FLIP_FLOP.machine.answers(np.array([word]))[0])
            assert (s > 0) == bool(right) == bool(digits.answer(word))
    assert refuted(model, FLIP_FLOP).report == {
        "refuted": False,
        "reason": "none of 1,664 families u v^n w is wrong for ever; two answers may tie in the limit",
    }
    claimed = Wrong(Family((1,), (2,), ()), 1000, 1, 0, answer=0, right=1)
    with pytest.raises(Rejected, match="1024 bits do not decide"):
        decided(model, FLIP_FLOP, claimed)


def test_parity_by_a_state_that_depends_on_the_symbol_is_no_such_network():
    """s' = s - b (s - 1) at 1, s' = s at 0 is parity on every word, by the sign of 1 - s = (1 - b)^#1.

    It has no margin: on 1^n the limit ties. And its factor of s is 1 - b or 1, by the symbol; that of the networks that
    are refuted is one number of size below 1, whatever is read.
    """
    b = Fraction(19, 10)
    for word in product((0, 1), repeat=10):
        s = Fraction(0)
        for symbol in word:
            s -= symbol * b * (s - 1)
        assert 1 - s == (1 - b) ** sum(word)
        assert (1 - s < 0) == sum(word) % 2


DEFINITE = "regex:(0|1)*1", "regex:(0|1)*11"


@pytest.mark.parametrize("language", [*DEFINITE, "prefix", "parity", "flip-flop", "tomita-1"])
def test_a_language_has_cycles_that_a_word_tells_apart_unless_it_is_definite(language: str):
    """By brute force: of Q states, all words of Q^2 symbols lead to one, just where the language is definite."""
    machine = right_machine(languages.get(language))
    assert isinstance(machine, MooreMachine)
    images = {tuple(range(machine.n_states))}
    for _ in range(machine.n_states**2):
        images = {tuple(machine.table[[*image], a].tolist()) for image in images for a in range(machine.n_symbols)}
    is_definite = all(len(set(image)) == 1 for image in images)
    assert is_definite == (language in DEFINITE)
    assert bool(of_cycles(machine)) != is_definite
    for u, v, w in of_cycles(machine):
        words = [[*u, *v * n, *w] for n in (2, 4)]
        assert len({int(machine.answers(np.array([word]))[0]) for word in words}) == 1


def decided(model: LinearRnn, task: Task, wrong: Wrong) -> AcceptedRefutation:
    """What the checker says of a claim."""
    machine = right_machine(task)
    assert isinstance(machine, MooreMachine)
    weights, network = files_of(model, task)
    files = {"weights": weights, "network": network, "automaton": to_json(machine).encode()}
    accepted = decide(certificate_of(wrong, machine, files).encode(), files)
    assert isinstance(accepted, AcceptedRefutation)
    return accepted


@pytest.fixture(scope="module")
def original() -> dict[str, bytes]:
    """A refutation that is accepted, and its files: of parity, on 1 0^n, whose 1 is below the threshold from n = 7 on.

    ln 2 / 0.1 is 6.93. On 1^n the network answers odd, for ever; on 0^n even.
    """
    model = made(nu=math.log(0.1), symbols=(0.0, 1.0), threshold=0.5)
    wrong, machine = Wrong(Family((1,), (0,), ()), 7, 1, 0, answer=0, right=1), right_machine(PARITY)
    assert isinstance(machine, MooreMachine)
    weights, network = files_of(model, PARITY)
    files = {"weights": weights, "network": network, "automaton": to_json(machine).encode()}
    text = certificate_of(wrong, machine, files).replace(REFUTED_AUTOMATON, FILES["automaton"])
    return {**{FILES[name]: data for name, data in files.items()}, "certificate.json": text.encode()}


@pytest.fixture
def folder(original: dict[str, bytes], tmp_path: Path) -> Path:
    """The same in a folder."""
    for name, data in original.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


def claimed(**fields: Any) -> Change:
    """Other fields, and the claim that they make."""

    def change(record: Record) -> None:
        record.update(fields)
        words = {name: [PARITY.machine.alphabet[a] for a in record[name]] for name in "uvw"}
        answers = PARITY.machine.output_names[record["answer"]], PARITY.machine.output_names[1 - record["answer"]]
        record["claim"] = refutation_claim(words, record["from"], record["period"], record["residue"], *answers)

    return change


def torch_put(name: str, value: float) -> Change:
    """Another weight."""
    return lambda weights: weights[name].fill_(value)


def without_answers(record: Record) -> None:
    """An automaton that has no answer to words with an odd number of ones."""
    record["outputs"] = {q: None if name == "odd" else name for q, name in record["outputs"].items()}


ONES: Record = {"u": [], "v": [1], "period": 2, "answer": 1}
NOTHING = "as the network is claimed to: nothing is wrong"
CASES: Cases = {
    ("certificate", Rejected): {
        "from too early a word on": (claimed(**{"from": 6}), 'does not answer "even" for n = 6: the logit of "odd"'),
        "from far too early a word on": (
            claimed(**{"from": 1}),
            'does not answer "even" for n = 1: the logit of "odd"',
        ),
        "another residue": (claimed(**ONES, residue=1), NOTHING),
        "v changes no answer": (claimed(u=[]), NOTHING),
        "w makes it right": (claimed(w=[1]), NOTHING),
        "a period that is not the automaton's": (
            claimed(**ONES | {"period": 3}, residue=0),
            "the period is not its own",
        ),
        "another answer than in the limit": (
            claimed(u=[], answer=1),
            'not answer "odd" for every n that is large enough',
        ),
        "the claim of another": (put("claim", "For every word"), "the claim is not the one that is proven"),
        "more is claimed": (lambda r: r.update(claim=r["claim"].replace(">= 7", ">= 6")), "is not the one"),
    },
    ("certificate", Malformed): {
        "no v": (claimed(v=[]), "'v' has at least 1 symbol"),
        "n from 0 on": (claimed(**{"from": 0}), "'from' is 0"),
        "n beyond all bounds": (claimed(**{"from": 1 << 63}), "it is from 1 to 2\\^62"),
        "a residue outside the period": (put("residue", 2), "'residue' is from 0 to below 'period'"),
        "no period": (put("period", 0), "'period' from 1"),
        "an answer that there is not": (put("answer", 2), "'answer' is 2; there are 2 answers"),
        "a symbol that there is not": (put("w", [2]), "'w' is not a list of integers from 0 to 1"),
        "a number that is none": (put("from", True), "'from' is True, of the wrong kind"),
        "a field too many": (put("slack", 0.1), "the unknown key 'slack'"),
        "a field too few": (drop("period"), "has no 'period'"),
        "another kind": (put("kind", "chain"), "the unknown key 'u'"),
    },
    ("network", Rejected): {
        "another network": (put("model/name", "ldru"), "about networks with a name among rnn, gru, lstm, "),
        "answers of another kind": (put("supervision", "next"), "trained to answer 'next'"),
        "other answers": (put("output_names", ["odd", "even"]), "other symbols or answers"),
    },
    ("network", Malformed): {
        "two layers": (put("model/n_layers", 2), "not the tensors that config.json describes"),
        "no layer": (put("model/n_layers", 0), "the sizes are not those of a network"),
    },
    ("weights", Rejected): {
        "the readout turned round": (lambda w: w["readout.weight"].neg_(), "does not answer"),
        "a state that is as good as kept": (torch_put("blocks.0.lru.nu", -1e5), "1024 bits do not decide"),
        "no answer is larger": (lambda w: w["readout.weight"].zero_(), 'the logit of "odd" is as large'),
    },
    ("automaton", Rejected): {
        "no question": (without_answers, "the automaton has no answer to these words"),
    },
}


def test_the_original_is_accepted(folder: Path):
    accepted = checked(folder, language=("parity", to_json(right_machine(PARITY))))
    assert accepted.claim == json.loads((folder / "certificate.json").read_text())["claim"]
    assert (accepted.layers, accepted.bits) == (1, 64)
    assert (
        accepted.language_claim
        == "The automaton answers every word of at least one symbol as the language parity does."
    )
    assert accepted.words == accepted.settled - 7
    assert 0 < accepted.margin < 10


@refused_each(CASES)
def test_a_forged_refutation_is_refused(folder: Path, name: str, change: Change, kind: type[ValueError], message: str):
    assert_refused(folder, name, change, kind, message)


def test_a_weight_that_changed_is_not_the_one_refuted(folder: Path):
    weights = load_file(folder / "model.safetensors")
    weights["readout.bias"][0] += 1e-6
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(Rejected, match="is not the weights of this certificate"):
        checked(folder)
