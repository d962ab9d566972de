"""The product of two machines with stacks, with a bounded lag: random pairs of machines against all short words."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from languages.automata.pushdown import Move, PushdownTransducer
from languages.errors import AutomatonError
from regulargpt.certificate.compared import word_of_stacks
from regulargpt.finite import stack_product
from regulargpt.finite.stack_product import Proven, StackProduct, Transducer, UndecidedProduct, Wrong

NAMES, ALPHABET, STACK = "pqr", ("a", "b"), ("g", "h")
LONGEST = 8
PLACES = list(itertools.product(NAMES, ALPHABET, (None, *STACK)))
WORDS = [np.array(list(itertools.product(range(2), repeat=length))) for length in range(1, LONGEST + 1)]
ANSWERS = ("no", "yes", None)


def machine_of(cases, outputs, visible):
    """A machine from a target and an action for each of 18 cases of state, symbol and top; without a target no move.

    Actions: 0, 1 push, 2 pops, 3 does nothing. In a visible one "a" pushes, "b" pops.
    """
    moves = []
    for (state, symbol, top), (target, action) in zip(PLACES, cases, strict=True):
        if target is None:
            continue
        if visible:
            action = action % 2 if symbol == "a" else 2
        pops = action == 2 and top is not None
        push = STACK[action] if action < 2 else None
        moves.append(Move(state, symbol, target, (top,), push, pops))
    pushed = {move.push for move in moves}
    moves = [move for move in moves if move.tops[0] is None or move.tops[0] in pushed]
    while lost := {move.tops[0] for move in moves} - {None, *(move.push for move in moves)}:
        moves = [move for move in moves if move.tops[0] not in lost]
    return PushdownTransducer.from_outputs(ALPHABET, "p", moves, dict(zip(NAMES, outputs, strict=True)), ANSWERS[:2])


def cases(partial):
    targets = st.sampled_from((*NAMES, None)) if partial else st.sampled_from(NAMES)
    return st.lists(st.tuples(targets, st.integers(0, 3)), min_size=18, max_size=18)


outputs = st.lists(st.sampled_from(ANSWERS), min_size=3, max_size=3)


def late(machine):
    """The same machine, which keeps the top of the stack in its state: its stack is lower by one symbol."""
    moves, outputs = [], {}
    tops = (None, *machine.stack)
    name = {(q, t): f"{q} {t}" for q in machine.states for t in tops}
    for q, output in zip(machine.states, machine.outputs, strict=True):
        outputs |= {name[q, t]: None if output < 0 else machine.output_names[output] for t in tops}
    at = {q: i for i, q in enumerate(machine.states)}
    for q, (a, x), (i, t) in itertools.product(machine.states, enumerate(machine.alphabet), enumerate(tops)):
        target, action = machine.table[at[q], a, i], machine.actions[at[q], a, i]
        if target < 0:
            continue
        target = machine.states[target]
        if action == -2:
            moves += [Move(name[q, t], x, name[target, below], (below,), pop=below is not None) for below in tops]
        else:
            moves.append(Move(name[q, t], x, name[target, tops[1 + action] if action >= 0 else t],
                              push=t if action >= 0 else None))  # fmt: skip
    pushed = {move.push for move in moves}
    moves = [move for move in moves if not move.tops or move.tops[0] is None or move.tops[0] in pushed]
    return PushdownTransducer.from_outputs(
        machine.alphabet, name[machine.initial, None], moves, outputs, machine.output_names
    )


def shortest_wrong(machine, reference):
    """The length of the shortest word that is answered otherwise; None if none of at most 8 symbols is."""
    for words in WORDS:
        right = reference.answers(words)
        if ((right >= 0) & (machine.answers(words) != right)).any():
            return words.shape[1]
    return None


def verdict_is_true(machine, reference, **limits):
    """The verdict, held against all short words and the words that it names."""
    product = StackProduct(Transducer(machine, reference), reference, **limits)
    found, shortest = product.run(), shortest_wrong(machine, reference)
    if isinstance(found, Proven):
        assert shortest is None
    elif isinstance(found, Wrong):
        word = np.array([found.word])
        assert reference.answers(word)[0] >= 0
        assert machine.answers(word)[0] != reference.answers(word)[0]
        if product.doubt is None:  # else a shorter word may lag further
            assert shortest == len(found.word) if len(found.word) <= LONGEST else shortest is None
    return found


@pytest.mark.parametrize("visible", [False, True])
@settings(max_examples=150)
@given(data=st.data())
def test_no_verdict_on_random_pairs_is_false(visible, data):
    """A counterexample is one, and the shortest; a proof holds for all short words; brackets are always decided."""
    first, second = (machine_of(data.draw(cases(bool(i))), data.draw(outputs), visible) for i in range(2))
    found = verdict_is_true(first, second, max_lag=0 if visible else 4, limit=3000)
    if visible:
        assert not isinstance(found, UndecidedProduct)


@settings(max_examples=100)
@given(cases(True), outputs, st.integers(0, 2), st.integers(0, 17), st.sampled_from(NAMES), st.booleans())
def test_a_lag_is_found_and_a_changed_move_noticed(moves, names, times, at, target, mirrored):
    """Machines that keep the top in their state lag by one for each time, on either side."""
    reference = machine_of(moves, names, False)
    changed = machine_of([*moves[:at], (target, moves[at][1]), *moves[at + 1 :]], names, False)
    for other, is_same in ((reference, True), (changed, False)):
        machine = other
        for _ in range(times):
            machine = late(machine)
        pair = (reference, machine) if mirrored else (machine, reference)
        found = verdict_is_true(*pair, limit=20_000)
        if is_same:
            assert isinstance(found, Proven)
            assert found.lag <= times


def random_pairs(count):
    """Pairs of which one keeps its top in the state, twice at times, and one has a move changed at times."""
    random = np.random.default_rng(0)
    for n in range(count):
        moves = [(NAMES[q], action) for q, action in random.integers([3, 4], size=(18, 2))]
        names, at = random.permutation(ANSWERS).tolist(), random.integers(18)
        changed = [*moves[:at], (NAMES[random.integers(3)], moves[at][1]), *moves[at + 1 :]]
        one, other = machine_of(moves, names, False), late(machine_of(changed if n % 2 else moves, names, False))
        other = late(other) if n % 3 else other
        yield (other, one) if n % 4 < 2 else (one, other)


MUTATIONS = {
    "the level of the other machine goes behind what it has more": ("(joint.h, *behind)", "(*behind, joint.h)"),
    "and that of the machine": ("(joint.g, *ahead)", "(*ahead, joint.g)"),
    "a symbol is paired with the last of those": ("ahead[0], done), ahead[1:]", "ahead[-1], done), ahead[:-1]"),
    "and one of the machine": ("behind[0]), behind[1:]", "behind[-1]), behind[:-1]"),
    "what a pop leaves is forgotten": ("pops = (joint.h, *behind), True", "pops = behind, True"),
    "the first is popped, not the last": ("ahead = ahead[:-1]", "ahead = ahead[1:]"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), MUTATIONS.values(), ids=MUTATIONS.keys())
def test_another_rule_is_noticed(monkeypatch, old, new):
    """A false rule gives a false verdict on one of these pairs; the rules as they are give none."""
    source = inspect.getsource(stack_product.step)
    assert old in source
    names = vars(stack_product).copy()
    exec("from __future__ import annotations\n" + source.replace(old, new), names)
    pairs = [pair for pair in random_pairs(240) if verdict_is_true(*pair, limit=5000)]
    monkeypatch.setattr(stack_product, "step", names["step"])
    with pytest.raises(AssertionError):
        all(verdict_is_true(*pair, limit=5000) for pair in pairs)


def test_two_machines_are_told_apart_by_the_shortest_word_or_not_at_all():
    """Also where brackets are not visible, and a word has no answer from one of them."""
    for one, other in random_pairs(60):
        word = word_of_stacks(one, other)
        differ = [words.shape[1] for words in WORDS if (one.answers(words) != other.answers(words)).any()]
        assert (None if word is None or len(word) > LONGEST else len(word)) == (differ[0] if differ else None)
    with pytest.raises(AutomatonError, match="is not decided: the heights of the two stacks differ by more than 4"):
        word_of_stacks(PUSHING, STAYING)


def one_state(*moves, answer="yes", names=("no", "yes")):
    return PushdownTransducer.from_outputs(ALPHABET, "p", moves, {"p": answer, "q": "no"}, names)


PUSHING = one_state(Move("p", "a", "p", push="g"), Move("p", "b", "q"), Move("q", "b", "p"))
STAYING = one_state(Move("p", "a", "p"), Move("p", "b", "q"), Move("q", "b", "p"))


def test_what_cannot_be_decided_is_said_with_its_word():
    """More than K symbols, more pairs than the limit, tied answers, and moves that rounding decides."""

    class Unsure(Transducer):
        def answer(self, state):
            return stack_product.TIED if state else super().answer(state)

    class Rounded(Transducer):
        def doubt(self, case):
            return "rounding decides a sign" if case[1] else None

    found = StackProduct(Transducer(PUSHING, STAYING), STAYING).run()
    assert found == UndecidedProduct(
        "the heights of the two stacks differ by more than 4 after a word of 5 symbols", (0,) * 5
    )
    said = "the product has more than 1 pairs, LANGUAGES_BUDGET=2 allows more"
    assert StackProduct(Transducer(STAYING, STAYING), STAYING, limit=1).run() == UndecidedProduct(said.split(",")[0])
    tied = StackProduct(Unsure(STAYING, STAYING), STAYING).run()
    assert tied == UndecidedProduct(
        "two answers are tied, or rounding decides between them, after a word of 1 symbol", (1,)
    )
    rounded = StackProduct(Rounded(STAYING, STAYING), STAYING).run()
    assert rounded == UndecidedProduct("rounding decides a sign after a word of 1 symbol", (1,))
    # A wrong word is looked for nevertheless.
    other = one_state(*STAYING.moves, answer="no")
    assert StackProduct(Rounded(other, STAYING), STAYING).run() == Wrong((0,))


def test_a_word_may_be_longer_than_any_that_is_written_out():
    """Each level is left only after two that are opened behind each other: words double from one to the next."""
    depth, moves = 40, []
    for n in range(depth):
        moves += [Move(f"{n} {at}", "a", f"{n + 1} in", push=f"{n} {at}") for at in ("in", "half")]
        moves += [Move(f"{n + 1} out", "b", f"{n} half", (f"{n} in",), pop=True)]
        moves += [Move(f"{n + 1} out", "b", f"{n} out", (f"{n} half",), pop=True)]
    moves += [Move(f"{depth} in", "b", f"{depth} out"), Move("0 out", "b", "0 out")]
    silent = dict.fromkeys(state for move in moves for state in (move.source, move.target))
    made = PushdownTransducer.from_outputs
    machine, wrong = (made(ALPHABET, "0 in", moves, silent | {"0 out": name}, ANSWERS[:2]) for name in ("yes", "no"))
    assert isinstance(StackProduct(Transducer(machine, machine), machine).run(), Proven)
    found = StackProduct(Transducer(wrong, machine), machine).run()
    assert found == UndecidedProduct("an answer is wrong after a word of more than 4,194,304 symbols")


def test_answers_are_compared_by_name():
    """The same machine with its output names the other way round, and one without the right name."""
    turned = one_state(*STAYING.moves, names=("yes", "no"))
    assert isinstance(StackProduct(Transducer(turned, STAYING), STAYING).run(), Proven)
    foreign = one_state(*STAYING.moves, answer="perhaps", names=("perhaps", "no"))
    assert StackProduct(Transducer(foreign, STAYING), STAYING).run() == Wrong((0,))


INSIDE = Move("p", "a", "s", push="g"), Move("s", "b", "s"), Move("s", "a", "q", pop=True), Move("q", "a", "r")
# It loops behind another way to the same exit than the shortest.
LATER = Move("p", "a", "s", push="g"), Move("s", "a", "q", pop=True), Move("s", "b", "t"), Move("q", "a", "r")
LOOP = Move("p", "a", "p"), Move("p", "b", "q")


@pytest.mark.parametrize(
    ("moves", "answer", "why"),
    [
        (LOOP, "yes", None),
        (LOOP, None, "the language's machine never has two different answers"),
        ((Move("p", "a", "q"), Move("p", "b", "p", push="g")), "yes", None),
        ((Move("p", "b", "q"), Move("q", "b", "r")), "yes", "finitely"),
        # All that loops stands between a push and a pop, behind which alone there is an answer.
        (INSIDE, "yes", None),
        ((*LATER, Move("t", "b", "t"), Move("t", "a", "q", pop=True)), "yes", None),
        ((Move("p", "a", "q"), Move("q", "a", "r"), Move("r", "b", "s"), Move("s", "b", "s")), "yes", "finitely"),
    ],
)
def test_what_proves_nothing_is_refused(moves, answer, why):
    """One answer only, or finitely many words with an answer."""
    outputs = {"p": answer, "q": "no", "r": "yes", "s": None, "t": None}
    machine = PushdownTransducer.from_outputs(ALPHABET, "p", moves, outputs, ("no", "yes"))
    assert (stack_product.why_empty(machine) or "none").find(why or "none") >= 0
