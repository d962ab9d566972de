"""Refutations: what the checker accepts is wrong in 60 digits; what is forged is refused; what ties is not refuted."""

import json
import math
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from flint import acb, arb
from hypothesis import given
from safetensors.torch import load_file, save_file

import languages
from languages.automata import MooreMachine
from languages.convert.machines import to_json
from languages.task import Task
from regulargpt.certificate.checker import AcceptedRefutation, Malformed, Rejected, decide
from regulargpt.certificate.checker.claims import refutation_claim
from regulargpt.certificate.checker.recurrences import Discs, Factor, Recurrences, settled
from regulargpt.certificate.checker.refutation import LATER
from regulargpt.certificate.checker.refutation import CheckedFamily as CheckedFamily
from regulargpt.certificate.checker.refutation import RefutationCheck as Checked
from regulargpt.certificate.compared import right_machine
from regulargpt.certificate.refutation.families import (
    PowerFamily,
    WrongFamily,
    after,
    candidates,
    of_cycles,
    orbit,
    short,
    telling_apart,
)
from regulargpt.certificate.refutation.network import LinearNetwork, branch
from regulargpt.certificate.refutation.outcome import MOST, NEAR, Refutation, accepted, certificate_of, refutation_of
from regulargpt.certificate.refutation.search import first_wrong, wrong_families
from regulargpt.models.linear_rnn import LinearRnn
from regulargpt.storage.folder import REFUTATION, REFUTED_AUTOMATON, RunFolder
from tests.regulargpt.forging import FILES, Cases, Change, Record, assert_refused, checked, drop, put, refused_each
from tests.regulargpt.linear_networks import Digits, drawn, files_of, made
from tests.regulargpt.machines import machines

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
    assert found.report["length"] == len(word := [*record["u"], *record["v"] * first, *record["w"]])
    assert digits.answer(word) == record["answer"]
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
    claimed = WrongFamily(PowerFamily((1,), (2,), ()), 1000, 1, 0, answer=0, right=1)
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


@given(machines(4, outputs=(2, 3)))
def test_words_tell_states_apart_that_v_leads_back_and_are_the_shortest(machine: MooreMachine):
    """Beside all words of at most so many symbols as there are pairs of states."""
    machine = machine.minimise()
    Q, outputs = machine.n_states, machine.output_table
    words = [word for length in range(min(7, Q * Q + 1)) for word in product(range(machine.n_symbols), repeat=length)]
    ends = np.array([[after(machine, q, word) for word in words] for q in range(Q)])
    apart = telling_apart(machine)
    for p, q in combinations(range(Q), 2):
        one, other = outputs[ends[p]], outputs[ends[q]]
        differ = np.flatnonzero((one != other) & (one >= 0) & (other >= 0))
        assert ((p, q) in apart) == bool(len(differ))
        if len(differ):
            assert len(apart[p, q]) == len(words[differ[0]])
            assert words.index(apart[p, q]) in differ
    cycles = of_cycles(machine)
    for (u, v, w), (other_u, *others) in zip(cycles[::2], cycles[1::2], strict=True):
        pair = after(machine, machine.initial_index, u), after(machine, machine.initial_index, other_u)
        assert [v, w] == others
        assert pair[0] != pair[1]
        assert apart[min(pair), max(pair)] == w
        assert {after(machine, q, v) for q in pair} == set(pair)
        backs = [word for word in words if word and {after(machine, q, word) for q in pair} == set(pair)]
        assert len(v) == len(backs[0])
        reached = ends[machine.initial_index].tolist()
        for end, state in ((u, pair[0]), (other_u, pair[1])):
            assert len(end) == len(words[reached.index(state)])
    assert set(cycles) <= set(candidates(machine))
    for u, v, _ in candidates(machine)[:30]:
        states, before = orbit(machine, u, v)
        assert len(set(states)) == len(states)
        for n in range(12):
            at = n if n < len(states) else before + (n - before) % (len(states) - before)
            assert states[at] == after(machine, machine.initial_index, [*u, *v * n])


def test_candidates_are_all_short_families_once():
    found = list(short(2))
    written = {(u, v, w) for u, v, w in found}
    assert len(written) == len(found)
    assert [sum(map(len, family)) for family in found] == sorted(sum(map(len, family)) for family in found)
    some = [tuple(word) for length in range(5) for word in product((0, 1), repeat=length)]
    for u, v, w in product(some[:7], some[1:], some[:3]):
        # A power of v has words of its family only, and so has v turned, with other u and w.
        root = next(v[:k] for k in range(1, len(v) + 1) if v[:k] * (len(v) // k) == v)
        turned = min(root[i:] + root[:i] for i in range(len(root)))
        assert (u, turned, w) in written


@pytest.mark.parametrize("period", [1, 2, 5])
def test_the_same_from_n_on_begins_at_the_first_such_n(period: int):
    for residue, n in product(range(period), range(1, 12)):
        wrong = WrongFamily(PowerFamily((), (0,), ()), 1, period, residue, answer=0, right=1)
        assert wrong.later(n).start == min(m for m in range(n, n + period) if m % period == residue)


class Checking:
    """A checker that accepts a family from some n on, and says why it rejects it before."""

    def __init__(self, least: int, reason: str = LATER):
        self.least, self.reason, self.starts = least, reason, list[int]()

    def __call__(self, wrong: WrongFamily) -> Refutation:
        self.starts.append(wrong.start)
        if wrong.start < self.least:
            raise Rejected(self.reason)
        return Refutation({"from": wrong.start}, {})


@pytest.mark.parametrize("is_settled", [True, False])
@pytest.mark.parametrize("least", [1, 7, 2048, 2049, 2050, 5_000, 10**6 + 3, 3 * 10**12])
def test_a_refutation_is_claimed_from_nearly_the_least_n_that_the_checker_accepts(least: int, is_settled: bool):
    """With a residue, in few checks: each may take minutes. What float64 has settled is asked as it is, first."""
    start, period, residue = 6, 3, 2
    checking = Checking(least)
    wrong = WrongFamily(PowerFamily((), (0,), ()), start, period, residue, 0, 1, is_settled).later(start)
    said = accepted(wrong, checking).report["from"]
    assert said % period == residue
    begun = wrong.start if is_settled and least <= wrong.start else max(least, 2049)
    assert begun <= said <= begun * (1 + 1 / NEAR) + 1 + period
    assert len(checking.starts) <= 60
    assert (checking.starts[0] == wrong.start) == is_settled


def test_what_no_later_words_can_mend_is_rejected_at_once_and_what_none_do_in_the_end():
    settled = WrongFamily(PowerFamily((), (0,), ()), 6, 1, 0, answer=0, right=1, is_settled=True)
    for reason, checks in (("the network answers otherwise", 1), (LATER, 60)):
        checking = Checking(10 * MOST, reason)
        with pytest.raises(Rejected, match=reason):
            accepted(settled, checking)
        assert len(checking.starts) <= checks
        assert max(checking.starts) <= 2 * MOST


class Told:
    """A network whose answers are made up: `answers` to u v^n w for n = 1, 2, ..; `limits` for n = 0, 1, .. mod q."""

    symbols, families, forgets = (40, 80, 160), 12, True

    def __init__(self, answers: np.ndarray, limits: tuple[int, ...] = (0,)):
        self.told, self.read, self.at = answers, list[tuple[int, int]](), np.eye(2)[list(limits)]

    def along(self, u: Any, v: Any, n: int) -> Any:
        self.read.append((len(v), n))
        return SimpleNamespace(answers=lambda w: self.told[:n])

    def follow(self, families: Any) -> None:
        """Nothing is to be read first."""

    def limits(self, u: Any, v: Any, w: Any) -> np.ndarray:
        return self.at

    def apart(self, u: Any, v: Any) -> float:
        return 0.0

    def chosen(self, read: Any) -> Any:
        return read


@pytest.mark.parametrize(("period", "residue"), [(1, 0), (2, 1), (3, 0)])
@pytest.mark.parametrize("v", [(0,), (0, 1), (0,) * 50])
def test_float64_shows_from_which_n_on_the_answer_is_the_last_one(period: int, residue: int, v: tuple[int, ...]):
    """Of the symbols given so many v are read, one at least; the last quarter of them has to agree."""
    symbols, random = 40, np.random.default_rng(0)
    most = max(1, symbols // len(v))
    for last in range(most + 1):
        answers = random.integers(2, size=most)
        n = np.arange(1, most + 1)
        answers[(n > last) & (n % period == residue)] = 1
        network: Any = Told(answers)
        wrong = WrongFamily(PowerFamily((), v, ()), 2, period, residue, answer=1, right=0)
        shown = first_wrong(network, wrong.later(2), symbols)
        assert network.read == [(len(v), most)]
        others = [m for m in range(2, most + 1) if m % period == residue and answers[m - 1] != 1]
        assert shown.is_settled == (max(others, default=0) < most - most // 4)
        least = max([*others, 1]) + 1 if shown.is_settled else most
        assert shown.start == min(m for m in range(least, least + period) if m % period == residue)


def test_no_more_is_read_once_one_family_is_settled():
    """Of words twice as long half as many families: the same number of symbols in all."""
    machine, n = PARITY.machine, np.arange(1, 1000)
    assert isinstance(machine, MooreMachine)
    for settled_at, rounds in ((20, 1), (50, 2), (100, 3), (900, 3)):
        network: Any = Told((n <= settled_at).astype(int))
        read = wrong_families(machine, network)
        by_round = [sum(symbols // of_v == n for of_v, n in network.read) for symbols in network.symbols]
        assert by_round == [12, 6, 3][:rounds] + [0] * (3 - rounds)
        assert len(read) == [12, 6, 3][rounds - 1]
        assert any(wrong.is_settled for wrong in read) == (settled_at < 160)


def test_a_limit_that_ties_or_is_right_is_no_wrong_answer():
    """By brute force over n: each family that comes up is one on which the limit has another answer, for ever."""
    machine = PARITY.machine
    assert isinstance(machine, MooreMachine)
    for limits in ((0,), (1,), (0, 1), (1, 0, 0)):
        network: Any = Told(np.zeros(1000, dtype=int), limits)
        network.families = 10_000
        found = wrong_families(machine, network)
        assert found
        for wrong in found:
            u, v, w = wrong.family
            assert 1 <= wrong.later(1).start <= wrong.period
            for n in range(wrong.later(1).start, 40, wrong.period):
                word = np.array([[*u, *v * n, *w]])
                assert machine.answers(word)[0] == wrong.right != wrong.answer == limits[n % len(limits)]
    network = Told(np.zeros(1000, dtype=int))
    network.at = np.array([[1.0, 1.0]])
    assert wrong_families(machine, network) == []


def test_a_refutation_is_written_and_goes_when_there_is_none(tmp_path: Path):
    folder, files = RunFolder(tmp_path), {REFUTED_AUTOMATON: "{}", REFUTATION: "[]"}
    Refutation({}, files).write(folder)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == files
    for _ in range(2):
        Refutation({}, {}).write(folder)
        assert [*tmp_path.iterdir()] == []


def decided(model: LinearRnn, task: Task, wrong: WrongFamily) -> AcceptedRefutation:
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
    wrong, machine = WrongFamily(PowerFamily((1,), (0,), ()), 7, 1, 0, answer=0, right=1), right_machine(PARITY)
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
