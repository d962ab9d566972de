"""automata-lib's DFA."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from languages.convert.reading import AS_WRITTEN, Reading, checked, free
from languages.errors import AutomatonError

if TYPE_CHECKING:
    from automata.fa.dfa import DFA

    from languages.automata import Dfa


def to_automata_lib(dfa: "Dfa | object") -> "DFA":
    """The same automaton as an `automata.fa.dfa.DFA`, with the same names.

    >>> from languages.automata import Dfa
    >>> to_automata_lib(Dfa(("even", "odd"), "01", ((0, 1), (1, 0)), "even", {"even"})).accepts_input("0110")
    True
    """
    from automata.fa.dfa import DFA

    from languages.automata import Dfa

    if not isinstance(dfa, Dfa):
        raise AutomatonError(f"{type(dfa).__name__} is no Dfa; automata-lib has no machine with outputs")
    return DFA(
        states=set(dfa.states),
        input_symbols=set(dfa.alphabet),
        transitions=dfa.transitions,
        initial_state=dfa.initial,
        final_states=set(dfa.accepting),
    )


def from_automata_lib(dfa: "DFA | object", alphabet: Iterable[str] | None = None, how: Reading = AS_WRITTEN) -> "Dfa":
    """The same automaton as ours, a partial automaton completed with a sink. AutomatonError if no state accepts.

    States keep their names where these are different strings, and are numbered q0, q1, ... otherwise.
    `alphabet` gives the order of the symbols, which automata-lib does not keep; by default they are sorted.

    Raises AutomatonError for what is no DFA, and for an alphabet that lacks a symbol.

    >>> from automata.fa.nfa import NFA
    >>> from_automata_lib(NFA.from_regex("a*b"))
    Traceback (most recent call last):
    languages.errors.AutomatonError: an NFA is no DFA; determinise it first: from_automata_lib(DFA.from_nfa(nfa))
    """
    from automata.fa.dfa import DFA
    from automata.fa.nfa import NFA

    from languages.automata import Dfa

    if isinstance(dfa, NFA):
        raise AutomatonError("an NFA is no DFA; determinise it first: from_automata_lib(DFA.from_nfa(nfa))")
    if not isinstance(dfa, DFA):
        raise AutomatonError(f"{type(dfa).__name__} is no DFA of automata-lib; give an automata.fa.dfa.DFA")
    transitions = cast("Mapping[Any, Mapping[str, Any]]", dfa.transitions)
    names = _names(_states_in_order(dfa.initial_state, transitions))
    delta = {name: {a: names[p] for a, p in transitions.get(q, {}).items()} for q, name in names.items()}
    symbols = tuple(sorted(dfa.input_symbols) if alphabet is None else alphabet)
    final = {name for q, name in names.items() if q in cast("frozenset[Any]", dfa.final_states)}
    initial = names[dfa.initial_state]
    ours = Dfa.from_partial(tuple(names.values()), symbols, delta, initial, final, sink=free("sink", names.values()))
    return checked(ours, how)


def _states_in_order(initial: object, transitions: Mapping[Any, Mapping[str, Any]]) -> list[Any]:
    """Accessible states breadth-first, then the others: an order that does not depend on hashing."""
    order: dict[Any, None] = {initial: None}
    queue = [initial]
    for state in queue:
        for symbol in sorted(transitions.get(state, {})):
            target = transitions[state][symbol]
            if target not in order:
                order[target] = None
                queue.append(target)
    return [*queue, *sorted((q for q in transitions if q not in order), key=str)]


def _names(states: list[Any]) -> dict[Any, str]:
    if all(isinstance(q, str) and q for q in states):
        return {q: str(q) for q in states}
    return {q: f"q{i}" for i, q in enumerate(states)}
