"""Pushdown machines, their algebra, their equality and their grammar, on random machines against all short words."""

import itertools
import json
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import languages
from languages.automata.algebra import NestedAlgebra
from languages.automata.monoid import TransitionMonoid
from languages.automata.nesting import partners
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.visibly import VisiblyPushdown
from languages.budget import TooLarge
from languages.convert import pushdown as written
from languages.errors import AutomatonError, SamplingError, UserError, WordError
from languages.sampling.grammar import Grammar
from languages.sampling.machine_grammar import rules_of
from tests.languages.test_context_free import nested

ALPHABET = ("(", "[", ")", "x")
DIRECTION = [1, 1, -1, 0]
WORDS = [np.array(list(itertools.product(range(4), repeat=length))) for length in range(1, 7)]


@st.composite
def machines(draw):
    """Visibly pushdown machines of 1..3 states and 2 stack symbols over 4 symbols, a quarter of their moves missing."""
    n, names, moves = draw(st.integers(1, 3)), "pqr", []

    def target():
        q = draw(st.integers(-1, n - 1)) if draw(st.booleans()) else draw(st.integers(0, n - 1))
        return None if q < 0 else names[q]

    for state in names[:n]:
        for symbol in "([":
            if (to := target()) is not None:
                moves.append(Move(state, symbol, to, push=draw(st.sampled_from("gh"))))
        for top in ("g", "h", None):
            if (to := target()) is not None:
                moves.append(Move(state, ")", to, (top,), pop=top is not None))
        if (to := target()) is not None:
            moves.append(Move(state, "x", to))
    pushed = {move.push for move in moves}
    moves = [move for move in moves if not move.pop or move.tops[0] in pushed]
    # A stack symbol that nothing pushes, or a return that never pops, is no machine of this alphabet.
    moves += [Move(names[0], "(", names[0], push="g")] if "(" not in {m.read for m in moves if m.push} else []
    if not any(move.pop for move in moves):
        moves.append(Move(names[0], ")", names[0], (next(m.push for m in moves if m.push),), pop=True))
    outputs = {state: draw(st.sampled_from(("no", "yes", None))) for state in names[:n]}
    if "[" not in {move.read for move in moves}:
        moves.append(Move(names[0], "[", names[0], push=next(m.push for m in moves if m.push)))
    return PushdownTransducer.from_outputs(ALPHABET, names[0], moves, outputs, ("no", "yes"))


def by_definition(machine, word):
    """The answer to one word, move by move."""
    stack, state = [], machine.initial
    for symbol in word:
        top = stack[-1] if stack else None
        fits = [m for m in machine.moves if (m.source, m.read) == (state, symbol)]
        fits = [m for m in fits if (top in m.tops if m.tops else not m.pop or top is not None)]
        if not fits:
            return -1
        (move,) = fits
        stack = stack[:-1] if move.pop else [*stack, move.push] if move.push else stack
        state = move.target
    return machine.outputs[machine.states.index(state)]


@settings(max_examples=60)
@given(machines())
def test_runs_algebra_and_grammar_agree_with_the_moves_on_all_short_words(machine):
    visibly = VisiblyPushdown.from_machine(machine)
    assert visibly.direction.tolist() == DIRECTION
    algebra = NestedAlgebra.from_machine(visibly)
    minimal = algebra.minimal()
    assert minimal.size <= algebra.size
    assert [len(word) for word in algebra.least] == sorted(map(len, algebra.least))
    try:
        grammar = Grammar(ALPHABET, rules_of(visibly, {0, 1}), DIRECTION)
    except AutomatonError:
        grammar = None
    for words in WORDS[:4]:
        answers = [by_definition(machine, [ALPHABET[i] for i in word]) for word in words]
        assert machine.answers(words).tolist() == answers
        assert [int(algebra.answers[algebra.of_word(word)]) for word in words] == answers
        assert [int(minimal.answers[minimal.of_word(word)]) for word in words] == answers
        asked = sum(answer >= 0 for answer in answers)
        assert asked == (round(grammar.count(words.shape[1])) if grammar else 0)


@settings(max_examples=60)
@given(machines(), machines())
def test_two_machines_differ_first_where_the_words_do(first, second):
    found = VisiblyPushdown.from_machine(first).counterexample(VisiblyPushdown.from_machine(second))
    empty = first.outputs[first.initial_index] != second.outputs[second.initial_index]
    differ = [words for words in WORDS if (first.answers(words) != second.answers(words)).any()]
    shortest = 0 if empty else differ[0].shape[1] if differ else None
    if shortest is not None or found is None:
        assert (None if found is None else len(found)) == shortest
    else:
        assert len(found) > len(WORDS)
    if found:
        assert first.answers(found) != second.answers(found)


@settings(max_examples=40)
@given(machines())
def test_a_minimal_algebra_is_the_same_for_every_machine_with_these_answers(machine):
    """Each state twice, and moves that go to and fro between the two."""
    moves = tuple(
        Move(f"{move.source}{i}", move.read, f"{move.target}{(i + j) % 2}", move.tops, move.push, move.pop)
        for j, move in enumerate(machine.moves)
        for i in range(2)
    )
    outputs = {
        f"{q}{i}": None if out < 0 else machine.output_names[out]
        for q, out in zip(machine.states, machine.outputs, strict=True)
        for i in range(2)
    }
    double = PushdownTransducer.from_outputs(ALPHABET, f"{machine.initial}0", moves, outputs, machine.output_names)
    one, two = VisiblyPushdown.from_machine(machine), VisiblyPushdown.from_machine(double)
    assert one.counterexample(two) is None
    first, second = NestedAlgebra.from_machine(one).minimal(), NestedAlgebra.from_machine(two).minimal()
    assert first.size == second.size
    assert sorted(map(len, first.least)) == sorted(map(len, second.least))
    assert sorted(first.answers.tolist()) == sorted(second.answers.tolist())


@settings(max_examples=60)
@given(machines())
def test_json_is_read_back(machine):
    assert written.from_json(written.to_json(machine)) == machine


@pytest.mark.parametrize("name", ["parity", "tomita-3", "cycle-navigation", "symmetric-3"])
def test_without_calls_the_algebra_is_the_transition_monoid(name):
    machine = languages.get(name).machine
    moves = [Move(q, a, to) for q, row in machine.transitions.items() for a, to in row.items()]
    same = PushdownTransducer.from_outputs(
        machine.alphabet, machine.initial, moves, machine.named_outputs, machine.output_names
    )
    monoid, algebra = (
        TransitionMonoid.from_machine(machine),
        NestedAlgebra.from_machine(VisiblyPushdown.from_machine(same)),
    )
    assert algebra.size == monoid.size
    # The two number their elements in orders of their own; words tell which is which.
    number = [monoid.of_word(np.array(word, dtype=np.intp)).item() for word in algebra.least]
    assert sorted(number) == list(range(monoid.size))
    assert np.array_equal(np.array(number)[algebra.product], monoid.table[np.ix_(number, number)])


@given(st.lists(st.lists(st.integers(-1, 1), min_size=9, max_size=9), min_size=1, max_size=4))
def test_partners(direction):
    def by_stack(row):
        found, stack = [-1] * len(row), []
        for i, kind in enumerate(row):
            if kind > 0:
                stack.append(i)
            elif kind < 0 and stack:
                found[i] = stack.pop()
                found[found[i]] = i
        return found

    assert partners(np.array(direction)).tolist() == [by_stack(row) for row in direction]


def test_a_word_may_be_a_million_deep():
    machine = nested("brackets-2").machine
    word = np.repeat(np.array([0, 2, 3, 1], dtype=np.uint8), 250_000)
    assert machine.answers(word).item() == 1
    assert machine.answers(word[:-1]).item() == 0
    assert partners(np.array([1, -1, 1, -1])[word][None])[0, 0] == len(word) - 1


def test_the_two_ways_to_run_agree():
    machine = nested("arithmetic-brackets").machine
    words = nested("arithmetic-brackets").sample(languages.rng(0, "test"), 41, 40)
    words[20:] = np.random.default_rng(0).permuted(words[20:], axis=1)
    assert np.array_equal(machine.run(words, every=True), machine._one_by_one(words))
    assert machine.run(np.zeros((3, 0), np.uint8)).tolist() == [machine.initial_index] * 3


MOVES = (Move("p", "(", "p", push="g"), Move("p", ")", "p", pop=True))


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ((*MOVES, Move("p", ")", "p", ("g",))), "not the only one with this top"),
        ((*MOVES, Move("q", "x", "p")), "which is not a state"),
        ((*MOVES, Move("p", "y", "p")), "'y', which is no symbol"),
        ((*MOVES, Move("p", "x", "p", ("h",))), "'h', which is no stack symbol"),
        ((*MOVES, Move("p", "x", "p", push="g", pop=True)), "pops and pushes"),
        ((*MOVES, Move("p", "x", "p", (None,), pop=True)), "pops at the bottom"),
    ],
)
def test_what_is_no_machine(moves, said):
    with pytest.raises(AutomatonError, match=re.escape(said)) as caught:
        PushdownTransducer.from_outputs("()x", "p", moves, {"p": "yes"}, ("no", "yes"))
    assert "\n" not in str(caught.value)


def test_a_stack_symbol_that_nothing_pushes():
    with pytest.raises(AutomatonError, match="'h' is never pushed"):
        PushdownTransducer(("p",), ("(", ")"), ("g", "h"), "p", MOVES, (0,), ("no",))


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (Move("p", "x", "p", push="g"), "a symbol is a call, a return or internal"),
        (Move("q", "(", "q"), "a symbol is a call, a return or internal"),
        (Move("q", "(", "q", ("g",), push="g"), "depends on the top of the stack"),
        (Move("q", "x", "q", (None,)), "depends on the top of the stack"),
    ],
)
def test_what_is_not_visibly_pushdown(move, said):
    moves = (*MOVES, Move("p", "x", "q") if move.source == "q" else Move("q", "x", "q"), move)
    with pytest.raises(AutomatonError, match=re.escape(said)):
        VisiblyPushdown.from_machine(
            PushdownTransducer.from_outputs("()x", "p", moves, {"p": "no", "q": None}, ("no",))
        )


def test_what_moves_at_the_bottom_alone_is_a_return_that_closes_nothing():
    """As in a product of two machines, of which one never closes what is open."""
    moves = (Move("p", "(", "q", push="g"), Move("p", ")", "p", (None,)), Move("q", "x", "q"), Move("p", "x", "p"))
    machine = PushdownTransducer.from_outputs("()x", "p", moves, {"p": "yes", "q": "no"}, ("no", "yes"))
    visibly = VisiblyPushdown.from_machine(machine)
    assert visibly.direction.tolist() == [1, -1, 0]
    assert (visibly.return_to == machine.n_states).all()  # the sink
    assert visibly.bottom_to[:, 0].tolist() == [0, machine.n_states, machine.n_states]
    assert [int(machine.answers(machine.encode(word)[None])[0]) for word in (")", ")x)", "(", "()", "(x")] == [
        1,
        1,
        0,
        -1,
        0,
    ]


def test_too_large():
    with pytest.raises(TooLarge, match="states"):
        PushdownTransducer.from_outputs(
            [f"a{i}" for i in range(3000)], "q0", (), {f"q{i}": None for i in range(2000)}, ("no",)
        )
    with pytest.raises(WordError, match="not in the alphabet"):
        nested("formula").machine.answers("(0+1)")


FILE = {"alphabet": ["(", ")"], "initial": "0", "accepting": ["0"], "moves": [
    {"from": "0", "read": "(", "to": "1", "push": "first"}, {"from": "1", "read": "(", "to": "1", "push": "other"},
    {"from": "1", "read": ")", "to": "1", "tops": ["other"], "pop": True},
    {"from": "1", "read": ")", "to": "0", "tops": ["first"], "pop": True}]}  # fmt: skip


def test_a_file_of_the_users(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(FILE))
    task, brackets = nested(f"pushdown:{path}"), nested("brackets-1")
    assert task.visibly.counterexample(brackets.visibly) is None
    words = task.sample(languages.rng(0, "test"), 20, 30, near_misses=0.5)
    assert task.labels(words).sum() == 15
    assert (task.labels(words) == brackets.labels(words)).all()
    assert 'label="( / push first"' in written.to_dot(task.machine)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"moves": 3}, "'moves' is 3; it must be a list"),
        ({"moves": [{"from": "0", "read": "("}]}, "lacks the key 'to'"),
        ({"moves": [{"from": "0", "read": "(", "to": "0", "pushes": "g"}]}, "did you mean 'push'"),
        ({"moves": [{"from": "0", "read": "(", "to": "0", "tops": [3]}]}, "'tops' contains 3"),
        ({"outputs": {"0": "yes"}}, "either 'accepting' or 'outputs'"),
        ({"alphabet": [1]}, "a list of names"),
        ({"accepting": []}, "no word is accepted"),
        ({"accepting": ["0", "01"]}, "'accepting' contains '01', which is not a state"),
        ({"output_names": ["no", "yes"]}, "'output_names' goes with 'outputs'"),
        (
            {"accepting": None, "outputs": {"0": ["yes"], "1": None}},
            "the output of '0' is ['yes']; give a name, or null",
        ),
        ({"accepting": None, "outputs": {"0": "a", "1": "b"}, "output_names": ["a", "b", "a"]}, "each once"),
    ],
)
def test_what_is_no_file_of_a_machine(tmp_path, change, said):
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps({key: value for key, value in (FILE | change).items() if value is not None}))
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        nested(f"pushdown:{path}")
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def user_task(tmp_path, **fields):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(fields))
    return nested(f"pushdown:{path}")


def test_words_without_an_answer_are_in_no_class(tmp_path):
    """Answers called reject and accept make a classification where every word has one."""
    fields = {key: value for key, value in FILE.items() if key != "accepting"}
    task = user_task(tmp_path, **fields, outputs={"0": "accept", "1": "reject"}, output_names=["reject", "accept"])
    assert not task.is_classification
    assert (task.labels(task.sample(languages.rng(0, "test"), 7, 20)) >= 0).all()


def test_few_non_members_are_found_and_none_where_there_are_none(tmp_path):
    """Every word but those of one symbol alone; every word of an odd length, and those of an even one but x."""
    moves = [{"from": p, "read": a, "to": "all" if (p, a) in (("0", "x"), ("all", "x")) else "other"}
             for p in ("0", "all", "other") for a in "xyz"]  # fmt: skip
    task = user_task(tmp_path, alphabet=["x", "y", "z"], initial="0", accepting=["other"], moves=moves)
    words = task.sample(languages.rng(0, "test"), 40, 10)
    assert sorted(task.labels(words)) == [0] * 5 + [1] * 5
    assert task.classes(40) == (0, 1)
    moves = [{"from": p, "read": a, "to": q} for p, q in ("01", "10") for a in "xyz"]
    task = user_task(tmp_path, alphabet=["x", "y", "z"], initial="0", accepting=["1"], moves=moves)
    assert [task.classes(length) for length in (16, 17, 18, 19)] == [(0,), (1,), (0,), (1,)]
    task = user_task(tmp_path, alphabet=["x", "y", "z"], initial="0", accepting=["0", "1"], moves=moves)
    assert task.classes(40) == (1,)


def test_pending_returns_in_words_by_depth(tmp_path):
    moves = [{"from": "p", "read": "(", "to": "p", "push": "g"}, {"from": "p", "read": ")", "to": "p"}]
    moves[1:] = [moves[1] | {"pop": True}, moves[1] | {"tops": [None]}]
    task = user_task(tmp_path, alphabet=["(", ")"], initial="p", outputs={"p": "yes"}, moves=moves)
    words = task.sample(languages.rng(0, "test"), 12_000, 6)
    assert task.labels(words).tolist() == [0] * 6
    assert (words == 1).any()


def test_words_of_a_large_grammar_are_drawn_by_depth_sooner(tmp_path):
    n, moves = 16, []
    for i in range(n):
        moves.append({"from": f"{i}", "read": "(", "to": f"{(i * 7 + 1) % n}", "push": f"{i % 3}"})
        moves += [{"from": f"{i}", "read": ")", "to": f"{(i * 11 + j) % n}", "tops": [f"{j}"], "pop": True}
                  for j in range(3)]  # fmt: skip
    task = user_task(tmp_path, alphabet=["(", ")"], initial="0", accepting=["0"], moves=moves)
    longest = task.grammar.longest_counted
    assert 100 < longest < nested("brackets-2").grammar.longest_counted == 2048
    words = task.sample(languages.rng(0, "test"), 2 * longest, 4)
    assert sorted(task.labels(words)) == [0, 0, 1, 1]
    with pytest.raises(TooLarge, match="drawn by counting"):
        task.grammar.uniform(languages.rng(0, "test"), longest + 1, 1)


def test_lengths_that_do_not_repeat_soon_are_known_below_512(tmp_path):
    moves = [{"from": f"{i}", "read": "a", "to": f"{(i + 1) % 89}"} for i in range(89)]
    task = user_task(tmp_path, alphabet=["a"], initial="0", accepting=["0"], moves=moves)
    assert [length for length in range(1, 512) if task.grammar.has(length)] == [89, 178, 267, 356, 445]
    with pytest.raises(SamplingError, match="choose lengths below 512"):
        task.grammar.has(890)
