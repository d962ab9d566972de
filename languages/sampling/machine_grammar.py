"""The grammar of what a visibly pushdown machine answers; a word has one derivation, as the machine is deterministic.

Variables: [p r], a well-matched word that leads from p to r; "bottom p" and "open p", the rest of a word from p, where
returns may close nothing, or stand behind a call that nothing closes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Set as AbstractSet
from itertools import product

from languages.automata.visibly import VisiblyPushdown
from languages.budget import check
from languages.errors import AutomatonError
from languages.sampling.grammar import Part, Variable

MAX_RULES = 20_000
Rules = dict[str, list[tuple[Part, ...]]]


def rules_of(machine: VisiblyPushdown, answers: AbstractSet[int], wanted: str = "has an answer") -> Rules:
    """Rules of the words with one of these answers, for `languages.sampling.grammar.Grammar`.

    TooLarge for a machine with more than 20,000 rules; AutomatonError where no word has such an answer (`wanted` says
    it in words).

    >>> from languages.context_free.brackets import brackets
    >>> rules = rules_of(brackets(1).visibly, {1})
    >>> rules["bottom 0"]
    [(), (('(',), Variable(name='inside 1 1'), (')',), Variable(name='bottom 0'))]
    """
    names, states = machine.machine.alphabet, range(machine.n_states - 1)  # what leads to the sink is no question
    size = len(states) ** 3 * (1 + len(machine.machine.stack))
    check(size, MAX_RULES * 50, f"a grammar of a machine with {len(states)} states")
    steps: dict[tuple[int, int], list[str]] = defaultdict(list)
    for i, q in product(range(len(machine.internals)), states):
        steps[q, int(machine.internal_to[q, i])].append(names[int(machine.internals[i])])
    calls: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for i, q in product(range(len(machine.calls)), states):
        calls[q, int(machine.call_to[q, i]), int(machine.pushed[q, i])].append(names[int(machine.calls[i])])
    closes: dict[int, dict[tuple[int, int], list[str]]] = defaultdict(lambda: defaultdict(list))
    for i, q, g in product(range(len(machine.returns)), states, range(len(machine.machine.stack))):
        closes[g][q, int(machine.return_to[q, g, i])].append(names[int(machine.returns[i])])

    def items(q: int) -> list[tuple[tuple[Part, ...], int]]:
        """The first items that a row may have in state q, and the states that they lead to."""
        rules: list[tuple[tuple[Part, ...], int]] = [
            ((tuple(symbols),), target) for (source, target), symbols in steps.items() if source == q
        ]
        for (source, inside, g), opening in calls.items():
            if source == q:
                rules += [
                    ((tuple(opening), Variable(f"inside {inside} {end}"), tuple(closing)), target)
                    for (end, target), closing in closes[g].items()
                ]
        return rules

    rules: Rules = {}
    sink = machine.n_states - 1
    for q in states:
        firsts = items(q)
        done: list[tuple[Part, ...]] = [()] if int(machine.outputs[q]) in answers else []
        for place in ("bottom", "open"):
            rules[f"{place} {q}"] = [
                *done,
                *((*item, Variable(f"{place} {to}")) for item, to in firsts if to != sink),
            ]
        for b, symbol in enumerate(map(int, machine.returns)):
            if (to := int(machine.bottom_to[q, b])) != sink:
                rules[f"bottom {q}"].append((names[symbol], Variable(f"bottom {to}")))
        for a, symbol in enumerate(map(int, machine.calls)):
            if (to := int(machine.call_to[q, a])) != sink:
                for place in ("bottom", "open"):
                    rules[f"{place} {q}"].append((names[symbol], Variable(f"open {to}")))
        for r in states:
            own = [(*item, Variable(f"inside {to} {r}")) for item, to in firsts if to != sink]
            rules[f"inside {q} {r}"] = [*([()] if q == r else []), *own]
    return productive(rules, f"bottom {machine.start}", wanted)


def productive(rules: Rules, first: str, wanted: str) -> Rules:
    """The rules that take part in some word, the first variable first."""

    every = [(name, rule) for name, alternatives in rules.items() for rule in alternatives]
    missing = [sum(isinstance(part, Variable) for part in rule) for _, rule in every]
    users: dict[str, list[int]] = defaultdict(list)
    for number, (_, rule) in enumerate(every):
        for part in rule:
            if isinstance(part, Variable):
                users[part.name].append(number)
    ends: set[str] = set()
    todo = [name for (name, _), count in zip(every, missing, strict=True) if not count]
    while todo:
        if (name := todo.pop()) in ends:
            continue
        ends.add(name)
        for number in users[name]:
            missing[number] -= 1
            if not missing[number]:
                todo.append(every[number][0])
    if first not in ends:
        raise AutomatonError(f"no word {wanted}; let some state that words lead to do so")
    kept: Rules = {name: [] for name in rules if name in ends}
    for (name, rule), count in zip(every, missing, strict=True):
        if not count:
            kept[name].append(rule)
    reached, todo = {first}, [first]
    while todo:
        for rule in kept[todo.pop()]:
            for part in rule:
                if isinstance(part, Variable) and part.name not in reached:
                    reached.add(part.name)
                    todo.append(part.name)
    check(sum(len(kept[name]) for name in reached), MAX_RULES, "a grammar of the machine")
    return {name: kept[name] for name in (first, *sorted(reached - {first}))}
