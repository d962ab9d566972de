"""Pushdown machines that users bring, and that are not visibly pushdown: their kind, their words, what is refused."""

import itertools
import json
import re
from dataclasses import replace
from typing import cast

import numpy as np
import pytest

import languages
from languages.automata.pushdown import Move, PushdownTransducer
from languages.automata.reached import reached
from languages.context_free.user import pushdown_task_of
from languages.convert.pushdown import to_json
from languages.drawn import DrawnTask
from languages.errors import UserError
from languages.randomness import rng
from languages.registry import has_brackets, has_rows

LONGEST = 10


def machine_of(name: str) -> PushdownTransducer:
    return cast("PushdownTransducer", languages.find(name).machine)


def any_machine(seed: int) -> PushdownTransducer:
    """Of 3 states, 2 symbols and 2 of the stack; each case has no move, or one that pushes, pops or does neither."""
    random, names = rng(seed, "machine"), ("p", "q", "r")
    moves = [Move("p", a, str(random.choice(names)), (None,), push) for a, push in zip("ab", "fg", strict=True)]
    moves += [
        Move(source, symbol, str(random.choice(names)), (top,), act if act in ("f", "g") else None, act == "pop")
        for source, symbol, top in itertools.product(names, "ab", (None, "f", "g"))
        for act in [str(random.choice(["stay", "f", "g", "pop", "none", "none"]))]
        if act != "none" and not (act == "pop" and top is None) and (source, top) != ("p", None)
    ]
    return PushdownTransducer.from_outputs("ab", "p", moves, dict.fromkeys(names, "yes"), ("yes",))


def by_definition(machine: PushdownTransducer) -> set[tuple[int, int]]:
    """State and top behind every word of up to LONGEST symbols, by configurations."""
    found, now = set(), {(machine.initial_index, (0,))}
    for _ in range(LONGEST):
        following = set()
        for (q, stack), a in itertools.product(now, range(machine.n_symbols)):
            to, action = machine.table[q, a, stack[-1]], machine.actions[q, a, stack[-1]]
            if to >= 0:
                left = stack[:-1] if action == -2 else stack if action == -1 else (*stack, int(action) + 1)
                following.add((int(to), left))
        now = following
        found |= {(q, stack[-1]) for q, stack in now}
    return found


@pytest.mark.parametrize("seed", range(40))
def test_reached_states_and_tops_are_those_of_all_words(seed):
    """A pop that leads back above the wrong level is noticed here alone."""
    machine = any_machine(seed)
    assert reached(machine, range(2)) == by_definition(machine)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("reverse-string", "row"), ("stack-manipulation", "row"), ("marked-reversal", "last"), ("brackets-1", "brackets")],
)
def test_a_file_has_the_kind_of_its_machine(tmp_path, name, kind):
    built_in = languages.find(name)
    (tmp_path / "mine.json").write_text(to_json(machine_of(name)))
    file = f"pushdown:{tmp_path / 'mine.json'}"
    assert (has_brackets(file), has_rows(file)) == (kind == "brackets", kind == "row")
    task = languages.find(file)
    words = task.sample(rng(0, "test"), 12, 50)
    assert len(np.unique(words, axis=0)) > 20
    if isinstance(task, DrawnTask):
        assert words.shape[1] == (25 if kind == "row" else 12)
        assert task.questions(words).all()
        rest = words[:, :24] if name == "reverse-string" else words  # there one more than there are answers
        assert (task.labels(rest, every=True) == built_in.labels(rest, every=True)).all()


def test_the_kind_is_read_again_when_the_file_changes(tmp_path):
    path = tmp_path / "mine.json"
    assert has_brackets(f"pushdown:{path}")  # what is wrong is said where the task is made
    for name in ("brackets-1", "reverse-string"):
        path.write_text(to_json(machine_of(name)))
        assert has_rows(f"pushdown:{path}") == (name == "reverse-string")


REVERSE, MARKED = machine_of("reverse-string"), machine_of("marked-reversal")


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (
            replace(MARKED, moves=tuple(move for move in MARKED.moves if move.target != "wrong")),
            "in 'all' with the empty stack no move goes on: give it one",
        ),
        (
            replace(MARKED, outputs=(0, -1, *MARKED.outputs[2:])),
            "in 'word' with 'first 0' on the stack there is no answer: give it an output, or ask for a row of answers",
        ),
        (
            replace(REVERSE, moves=tuple(move for move in REVERSE.moves if (move.source, move.read) != ("in 1", "_"))),
            "in 'in 1' with '1' on the stack '_' has no answer: give it a move to one",
        ),
    ],
)
def test_what_has_no_words_to_draw(machine, said):
    with pytest.raises(UserError, match=re.escape(said)) as caught:
        pushdown_task_of(machine, "mine")
    assert "\n" not in str(caught.value)


def test_what_only_brackets_have(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(to_json(MARKED))
    with pytest.raises(UserError, match=r"no word has a depth; leave ;depth=9 out"):
        languages.find(f"pushdown:{path};depth=9")
    pushing, reading = {"from": "p", "read": "a", "to": "q", "push": "g"}, {"from": "q", "read": "a", "to": "q"}
    machine = {"alphabet": ["a"], "initial": "p", "accepting": ["p"], "moves": [pushing, reading]}
    path.write_text(json.dumps(machine))
    with pytest.raises(UserError, match="give 'outputs' in place of 'accepting'"):
        languages.find(f"pushdown:{path}")
