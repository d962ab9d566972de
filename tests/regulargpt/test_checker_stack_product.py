"""The product of two machines with stacks, and what it comes to, against both machines as they run."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from copy import deepcopy
from itertools import count, product
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from regulargpt.certificate.checker import AcceptedStack, Rejected, decide, heads, stack_product
from regulargpt.certificate.checker.stack_machine import StackMachine
from tests.regulargpt.stack_certificates import Record, completed, files, move, network_of, runs

LENGTH = 10  # of the words that both machines read here
LONGER = 14  # where these do not show a fault
SEEDS = range(700)
Stack = tuple[int, ...]


def machine(random: np.random.Generator, states: int, symbols: int, tops: int, density: float) -> StackMachine:
    """With moves at random, and answers in most states."""
    return StackMachine(described(random, states, symbols, tops, density), "it")


def described(random: np.random.Generator, states: int, symbols: int, tops: int, density: float) -> Record:
    """The same as a file has it, moves at random, and answers in most states."""
    names, stack, alphabet = [f"q{i}" for i in range(states)], [f"g{i}" for i in range(tops)], [*"abc"[:symbols]]
    moves = []
    for q in names:
        for a in alphabet:
            for top in (*stack, None):
                if random.random() < density:
                    does = random.choice(3 if top is not None else 2)
                    kind = ({}, {"push": str(random.choice(stack))}, {"pop": True})[does]
                    moves.append(move(q, a, str(random.choice(names)), tops=[top], **kind))
    for g in stack:
        moves.append(move("never", alphabet[0], "never", tops=[g], push=g))
    outputs = {q: [None, "0", "1"][random.choice(3, p=(0.4, 0.3, 0.3))] for q in names} | {"never": None}
    record: Record = {"alphabet": alphabet, "initial": "q0", "outputs": outputs, "output_names": ["0", "1"]}
    return record | {"moves": moves}


class Machine:
    """A first machine: moves for everything, and an answer in each state."""

    initial = 0

    def __init__(self, moves: dict[Any, tuple[int, int]], answers: dict[int, int]):
        self.moves, self.answers = moves, answers

    def move(self, state: int, symbol: int, top: int | None) -> tuple[int, int]:
        return self.moves[state, symbol, top]

    def check(self, state: int, right: StackMachine, its_state: int) -> None:
        if right.answer(its_state) not in (None, self.answers[state]):
            raise Rejected("answer")

    def check_questions(self, *_: Any) -> None:
        pass


def mirrored(symbol: Any) -> Any:
    """The other stack symbol, so that those of two machines differ; or no symbol, or what does not push."""
    return symbol if symbol is None or symbol < 0 else 1 - symbol


def like(random: np.random.Generator, right: StackMachine) -> Machine:
    """A machine with the moves of another, and perhaps with faults; each state is there twice, chosen at random."""
    moves: dict[Any, tuple[int, int]] = {}
    for q in range(len(right.states)):
        for top in (None, 0, 1):
            known = {a: (to, action) for a, to, action in right.moves(q, top)}
            for a in range(len(right.alphabet)):
                to, action = known.get(a, (0, -1))
                for twin in range(2):
                    at, does = mirrored(top), mirrored(action)
                    moves[2 * q + twin, a, at] = 2 * to + int(random.integers(2)), does
    return Machine(moves, {2 * q + twin: right.outputs[q] or 0 for q in range(len(right.states)) for twin in range(2)})


def spoilt(random: np.random.Generator, first: Machine) -> Machine:
    """With faults at up to two places, in moves and in answers."""
    places, answers = list(first.moves), first.answers
    for _ in range(int(random.integers(3))):
        place, (kind, chance) = places[random.integers(len(places))], random.integers(2, size=2)
        to, action = first.moves[place]
        fault = (to, int(random.integers(-2, 2))) if kind else (int(random.choice(len(answers))), action)
        first.moves[place] = fault
        answers[to] ^= int(chance)
    return first


def delayed(random: np.random.Generator, right: StackMachine) -> Machine:
    """A machine that keeps up to two of the symbols on top in its state: its stack is lower by so many.

    States are (q, what it holds). Where the other leaves its stack alone, it may fetch a symbol, or put one back.
    """
    most = int(random.integers(1, 3))
    turns = random.integers(3, size=(len(right.states), len(right.alphabet)))
    numbers: dict[Any, int] = {(right.initial, ()): 0}
    moves: dict[Any, tuple[int, int]] = {}
    for q, held in (work := list(numbers)):
        for top in (None, 0, 1):
            known = {a: (to, action) for a, to, action in right.moves(q, held[-1] if held else top)}
            for a in range(len(right.alphabet)):
                to, action = known.get(a, (0, -1))
                after, does = kept(held, action, most) if action != -1 else (held, -1)
                if action == -1 and turns[q, a] == 1 and top is not None and len(held) < most:
                    after, does = (top, *held), -2
                if action == -1 and turns[q, a] == 2 and held:
                    after, does = held[1:], held[0]
                if (to, after) not in numbers:
                    numbers[to, after] = len(numbers)
                    work.append((to, after))
                moves[numbers[q, held], a, mirrored(top)] = numbers[to, after], mirrored(does)
    return Machine(moves, {i: right.outputs[q] or 0 for (q, _), i in numbers.items()})


def kept(held: Stack, action: int, most: int) -> tuple[Stack, int]:
    """What is held after a push or pop, and what the stack has to do for it."""
    if action == -2:
        return (held[:-1], -1) if held else ((), -2)
    if len(held) < most:
        return (*held, action), -1
    return (*held[1:], action), held[0]


def pairs(seeds: range) -> Iterator[tuple[Machine, StackMachine, int]]:
    """Two machines and a lag."""
    for seed in seeds:
        random = np.random.default_rng(seed)
        right = machine(random, int(random.integers(1, 4)), 2, 2, random.choice((0.5, 0.7, 1)))
        first = spoilt(random, (like, delayed)[int(random.integers(2))](random, right))
        yield first, right, int(random.integers(4))


def acted(stack: Stack, action: int) -> Stack:
    return (*stack, action) if action >= 0 else stack[:-1] if action == -2 else stack


def as_they_run(first: Machine, right: StackMachine, length: int) -> tuple[bool, int]:
    """Whether some word of at most so many symbols has a wrong answer, and the most by which stacks differ."""
    now, wrong, most = {(0, (), right.initial, ())}, False, 0
    for _ in range(length):
        after = set()
        for p, mine, q, its in now:
            for a, to_q, action in right.moves(q, its[-1] if its else None):
                to_p, of_first = first.move(p, a, mine[-1] if mine else None)
                head = to_p, acted(mine, of_first), to_q, acted(its, action)
                most = max(most, abs(len(head[1]) - len(head[3])))
                wrong |= right.answer(to_q) not in (None, first.answers[to_p])
                after.add(head)
        now = after
    return wrong, most


TRUE = [as_they_run(first, right, LENGTH) for first, right, _ in pairs(SEEDS)]


def holds(said: str, wrong: bool, most: int, lag: int) -> bool:
    """Whether what is said of two machines is so, as far as they were run."""
    if said == "accepted":
        return not wrong and most <= lag
    return wrong if said == "answer" else most > lag and said.startswith("one stack gets")


def disagreements(of_product: ModuleType | Any, of_heads: ModuleType | Any, seeds: range = SEEDS) -> Iterator[int]:
    """The pairs of which the product says what is not so."""
    for seed, (first, right, lag) in zip(seeds, pairs(seeds), strict=True):
        both = of_product.CheckedStackProduct(first, right, lag)
        try:
            of_heads.StackHeads(both.initial, both.steps, most=2000)
        except Rejected as error:
            said = str(error)
        except Exception:  # a rule that was changed may do anything
            said = "nothing"
        else:
            said = "accepted"
        if not holds(said, *TRUE[seed], lag) and not holds(said, *as_they_run(first, right, LONGER), lag):
            yield seed


def test_what_is_accepted_is_right_and_what_is_refused_is_not() -> None:
    assert not list(disagreements(stack_product, heads))
    lags = [lag for _, _, lag in pairs(SEEDS)]
    accepted = [not wrong and most <= lag for (wrong, most), lag in zip(TRUE, lags, strict=True)]
    ahead = [good and most > 0 for good, (_, most) in zip(accepted, TRUE, strict=True)]
    assert sum(accepted) > 100
    assert sum(ahead) > 20
    assert sum(wrong for wrong, _ in TRUE) > 100


def plain(right: StackMachine, of_heads: Any = heads) -> heads.StackHeads:
    """All that one machine comes to."""

    def steps(state: int, top: int | None) -> list[heads.Step]:
        return [(to, min(action, 0), action) for _, to, action in right.moves(state, top)]

    return of_heads.StackHeads(right.initial, steps)


def missed(of_heads: Any) -> Iterator[int]:
    """The machines of which not all heads come up, or others."""
    for seed in range(150):
        right = machine(np.random.default_rng(seed), 4, 2, 2, 0.5)
        now: set[tuple[int, Stack]] = {(right.initial, ())}
        true = set[tuple[int, int | None]]()
        for _ in range(LONGER):
            true |= {(q, stack[-1] if stack else None) for q, stack in now}
            now = {
                (to, acted(stack, action))
                for q, stack in now
                for _, to, action in right.moves(q, stack[-1] if stack else None)
            }
        found = plain(right, of_heads)
        if {(q, top) for top, level in zip(found.symbols, found.levels, strict=True) for q in level} != true:
            yield seed


def test_all_heads_of_a_machine_come_up_and_no_others() -> None:
    assert not list(missed(heads))


RULES = {
    "own symbol on top": (stack_product, "own[-1] if own", "own[0] if own"),
    "own half of the pair": (stack_product, "pair[i] for", "pair[1 - i] for"),
    "the last is popped": (stack_product, "excess[i].pop()", "excess[i].pop(0)"),
    "the other's half is kept": (stack_product, "insert(0, pair[1 - i])", "insert(0, pair[i])"),
    "it is the lowest": (stack_product, "insert(0, pair[1 - i])", "append(pair[1 - i])"),
    "the pair is gone": (stack_product, "done = POP", "pass"),
    "pops come first": (stack_product, "if actions[i] == POP:", "if actions[1 - i] == POP:"),
    "the first of what is ahead is paired": (stack_product, "excess[1 - i].pop(0)", "excess[1 - i].pop()"),
    "halves keep their sides": (stack_product, "(other, actions[i]))[i]", "(other, actions[i]))[0]"),
    "what is pushed is paired": (stack_product, "if excess[1 - i]:", "if False:"),
    "the lag is bounded": (
        stack_product,
        "if (ahead := max(map(len, after))) > self.lag:",
        "if (ahead := 0) > self.lag:",
    ),
    "of the first": (stack_product, "max(map(len, after))", "len(after[1])"),
    "of the second": (stack_product, "max(map(len, after))", "len(after[0])"),
    "answers are compared": (stack_product, "self.first.check(to_p, self.right, to_q)", "pass"),
    "of the state that is reached": (stack_product, "self.first.check(to_p,", "self.first.check(p,"),
    "entries differ by control": (heads, "setdefault((control, symbol)", "setdefault(symbol"),
    "entries differ by symbol": (heads, "setdefault((control, symbol)", "setdefault(control"),
    "exits come to known callers": (heads, "self._add(caller, to)", "pass"),
    "known exits come to callers": (heads, "self._add(e, left)", "pass"),
    "all exits": (
        heads,
        "elif self._is_new(to, self.exits[e]):",
        "elif not self.exits[e] and self._is_new(to, self.exits[e]):",
    ),
    "a push opens": (heads, "inner = self.entry(to, symbol)", "inner = self.entry(to, None)"),
    "a new control goes on": (
        heads,
        "self._work.append((e, control))",
        "self.count % 9 or self._work.append((e, control))",
    ),
}


@pytest.mark.parametrize(("module", "rule", "other"), RULES.values(), ids=RULES)
def test_a_rule_that_is_changed_is_noticed(module: ModuleType, rule: str, other: str) -> None:
    text = inspect.getsource(module)
    assert rule in text
    changed: dict[str, Any] = {"__name__": module.__name__}
    exec(compile(text.replace(rule, other), module.__name__, "exec", dont_inherit=True), changed)
    both = {stack_product: stack_product, heads: heads} | {module: SimpleNamespace(**changed)}
    noticed = disagreements(both[stack_product], both[heads])
    assert next(noticed, next(missed(both[heads]), None)) is not None


def answered(right: StackMachine, length: int) -> set[int]:
    """The lengths up to this of words with an answer."""
    now: set[tuple[int, Stack]] = {(right.initial, ())}
    found = set()
    for n in range(1, length + 1):
        now = {
            (to, acted(stack, action))
            for q, stack in now
            for _, to, action in right.moves(q, stack[-1] if stack else None)
        }
        if any(right.answer(q) is not None for q, _ in now):
            found.add(n)
    return found


def nested(depth_is_bounded: bool) -> StackMachine:
    """a^n b^n c, with an answer behind c alone; of n <= 1 if the depth is bounded."""
    moves = [move("0", "a", "1", push="g"), move("0", "c", "end"), move("1", "b", "2", pop=True)]
    moves += [] if depth_is_bounded else [move("1", "a", "1", push="h")]
    moves += [move("2", "b", "2", pop=True), move("2", "c", "end", tops=[None])]
    outputs = {"0": None, "1": None, "2": None, "end": "yes"}
    return StackMachine(
        {"alphabet": ["a", "b", "c"], "initial": "0", "outputs": outputs, "output_names": ["yes"], "moves": moves}, "it"
    )


def test_whether_infinitely_many_words_have_an_answer() -> None:
    both = {True: 0, False: 0}
    for seed in count():
        random = np.random.default_rng(seed)
        right = machine(random, int(random.integers(2, 5)), 1, 2, 0.45)
        lengths = answered(right, 40)
        endless = heads.is_endless(plain(right), lambda q, right=right: right.answer(q) is not None)
        assert endless == any(n > 20 for n in lengths), seed
        both[endless] += bool(lengths)
        if min(both.values()) > 60:
            break


def test_words_may_be_endless_in_depth_alone() -> None:
    for bounded in (False, True):
        right = nested(bounded)
        assert heads.is_endless(plain(right), lambda q, right=right: right.answer(q) is not None) != bounded


def test_too_many_pairs_are_refused() -> None:
    with pytest.raises(Rejected, match="more than 100 pairs"):
        heads.StackHeads(0, lambda control, symbol: [(control + 1, heads.STAY, None)], most=100)


def test_any_machine_as_a_network_is_proven_and_with_a_fault_right_or_refused() -> None:
    proven = refused = 0
    for seed in range(60):
        random = np.random.default_rng(seed)
        automaton = described(random, 3, 2, 2, float(random.choice((0.7, 1))))
        spoilt, is_spoilt, empty = deepcopy(automaton), bool(random.integers(3)), -int(random.integers(2))
        if is_spoilt:
            spoilt["moves"][int(random.integers(len(spoilt["moves"]) - 2))]["to"] = str(
                random.choice(["q0", "q1", "q2"])
            )
        weights = network_of(spoilt, empty)
        try:
            found = decide(*files(weights, automaton, 1, empty=empty))
        except Rejected as error:
            said = str(error)
        else:
            assert isinstance(found, AcceptedStack)
            assert (found.sign_margin, found.action_margin, found.answer_margin) == (0.5, 1, 1)
            said, whole = "accepted", completed(weights, automaton)
            for word in (word for length in range(1, 8) for word in product(range(2), repeat=length)):
                ran = runs(whole, automaton, word, empty)
                assert ran is None or ran[0] == ran[1]
        empty_claim = "say nothing" in said
        assert is_spoilt or said == "accepted" or empty_claim
        proven += is_spoilt and said == "accepted"
        refused += said != "accepted" and not empty_claim
    assert min(proven, refused) > 3
