"""From what a file says to the machine that it means: the rules that all forms of files share.

A reader (DOT, JFLAP, AT&T) says what stands in its file; here it becomes an automaton, a Moore machine, or a refusal
that names what it is instead. A Mealy machine becomes the Moore machine of its last output.
"""

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from languages.automata import Dfa, MooreMachine, Semiautomaton
from languages.automata.semiautomaton import numbered
from languages.budget import check_transitions
from languages.convert.subsets import determinised
from languages.errors import AutomatonError, UserError

DETERMINISE = "write ;determinise=true behind the file's name to have it made deterministic"
NOTHING = {"ε", "ϵ", "ɛ", "λ", "<eps>"}  # as an output
EMPTY_WORDS = NOTHING | {"", "eps", "epsilon", "lambda", "<epsilon>", "@0@", "@_EPSILON_SYMBOL_@"}
AnyMachine = TypeVar("AnyMachine", bound=Semiautomaton)


@dataclass(frozen=True)
class Reading:
    """What a user says of a file that leaves it open, behind its name: `dfa:FILE;determinise=true`."""

    determinise: bool = False  # a nondeterministic automaton becomes the deterministic automaton of its language
    empty: bool = False  # no state accepts, and that is meant
    outputs: str = ""  # "labels": what is written in a state is its output


AS_WRITTEN = Reading()


class LabelledArrow(NamedTuple):
    """A transition: what it reads (None: nothing), what a Mealy machine writes on it (None: no Mealy machine's)."""

    source: str
    target: str
    symbol: str | None
    output: str | None = None


@dataclass(frozen=True)
class Said:
    """What a file says. `alphabet` and `output_names` are empty where it does not list them."""

    states: Sequence[str]
    initial: Sequence[str]
    arrows: Sequence[LabelledArrow]
    accepting: AbstractSet[str] = frozenset()
    outputs: Mapping[str, str | None] | None = None  # of a Moore machine
    alphabet: Sequence[str] = ()
    output_names: Sequence[str] = ()
    remedy: str = ""  # of this form's, where nothing accepts or answers
    place: Callable[[int], str] = field(default=lambda number: "")  # "line 3: " of an arrow


def machine_of(said: Said, how: Reading = AS_WRITTEN) -> Dfa | MooreMachine:
    """The machine. AutomatonError: of another kind, nondeterministic, without an initial state or an answer."""
    if not said.initial:
        raise AutomatonError("there is no initial state; mark one")
    said = _typeable(said)
    if any(arrow.output is not None for arrow in said.arrows):
        return checked(_mealy(said), how)
    if said.outputs is not None and any(output is not None for output in said.outputs.values()):
        return checked(_moore(said), how)
    automaton = _automaton(said, how)
    _check_answers(said.accepting, how, said.remedy)
    # Made deterministic it may have no state that accepts, if none that does is reached.
    return checked(automaton, replace(how, empty=True))


def checked(machine: AnyMachine, how: Reading = AS_WRITTEN) -> AnyMachine:
    """The machine, if it answers something and its names can be shown. One guard for all files.

    AutomatonError: no state accepts and none has an output, or a name has a character that a terminal obeys.
    """
    if isinstance(machine, Dfa):
        _check_answers(machine.accepting, how)
    named = {"state": machine.states, "symbol": machine.alphabet}
    if isinstance(machine, MooreMachine):
        named["output"] = machine.output_names
    for what, names in named.items():
        for name in names:
            if not name.isprintable():
                raise AutomatonError(f"the {what} {name!r:.80} has a character that cannot be shown; rename it")
    return machine


@contextmanager
def named(name: str) -> Generator[None]:
    """What is refused of a file, with the file's name before the reason and its line."""
    try:
        yield
    except UserError as error:
        separator = ", " if str(error).startswith("line ") else ": "
        raise type(error)(f"{name}{separator}{error}") from None


def _check_answers(accepting: AbstractSet[str], how: Reading, remedy: str = "") -> None:
    if not accepting and not how.empty:
        raise AutomatonError(
            "no state accepts and none has an output, so it does not say which words are in; mark the accepting "
            f"states{remedy}, or write ;empty=true behind the file's name if no word is in"
        )


def _typeable(said: Said) -> Said:
    """Blanks within a symbol are written as _, for a blank separates the symbols of a word."""
    read = dict.fromkeys(arrow.symbol for arrow in said.arrows if arrow.symbol is not None)
    if said.alphabet or all(len(symbol) == 1 for symbol in read):
        return said
    written: dict[str, str] = {}  # the symbol as the file has it, by how it is typed
    for symbol in read:
        typed = "_".join(symbol.split())
        if written.setdefault(typed, symbol) != symbol:
            raise AutomatonError(f"the symbols {written[typed]!r:.80} and {symbol!r:.80} are too alike; rename one")
    typed_as = {symbol: typed for typed, symbol in written.items()} | {None: None}
    arrows = [arrow._replace(symbol=typed_as[arrow.symbol]) for arrow in said.arrows]
    return replace(said, arrows=arrows)


def _symbols(said: Said) -> Sequence[str]:
    return said.alphabet or sorted({arrow.symbol for arrow in said.arrows if arrow.symbol is not None})


def _why_nondeterministic(said: Said) -> str:
    """What makes it nondeterministic, with its place; empty if nothing does."""
    if len(said.initial) > 1:
        return f"there is a second initial state {said.initial[1]!r:.80}"
    targets: dict[tuple[str, str], tuple[str, str | None]] = {}
    for number, (source, target, symbol, output) in enumerate(said.arrows):
        if symbol is None:
            return f"{said.place(number)}the transition {source!r:.80} -> {target!r:.80} reads no symbol"
        # The same arrow drawn twice says nothing new.
        if targets.setdefault((source, symbol), (target, output)) != (target, output):
            return f"{said.place(number)}state {source!r:.80} has a second transition for {symbol!r:.80}"
    return ""


def _delta(said: Said) -> dict[str, dict[str, str]]:
    delta: dict[str, dict[str, str]] = {state: {} for state in said.states}
    for source, target, symbol, _ in said.arrows:
        delta[source][symbol or ""] = target
    return delta


def _automaton(said: Said, how: Reading) -> Dfa:
    symbols = _symbols(said)
    why = _why_nondeterministic(said)
    if why and not how.determinise:
        raise AutomatonError(f"{why}, as in a nondeterministic automaton; {DETERMINISE}")
    if why:
        return determinised(said.initial, [arrow[:3] for arrow in said.arrows], said.accepting, symbols)
    sink = free("sink", said.states)
    return Dfa.from_partial(said.states, symbols, _delta(said), said.initial[0], said.accepting, sink=sink)


def _moore(said: Said) -> MooreMachine:
    assert said.outputs is not None
    if why := _why_nondeterministic(said):
        raise AutomatonError(f"{why}, as in a nondeterministic Moore machine; a word has one answer, so draw one")
    names = said.output_names or sorted({output for output in said.outputs.values() if output is not None})
    return MooreMachine.from_outputs(said.states, _symbols(said), _delta(said), said.initial[0], said.outputs, names)


def _mealy(said: Said) -> MooreMachine:
    """The Moore machine of the last output: a state for each pair of a state and the output it is entered with."""
    if why := _why_nondeterministic(said):
        raise AutomatonError(f"{why}, as in a nondeterministic Mealy machine; a word has one answer, so draw one")
    for number, (source, target, _, output) in enumerate(said.arrows):
        if output is None:
            arrow = f"{source!r:.80} -> {target!r:.80}"
            raise AutomatonError(f"{said.place(number)}the transition {arrow} has no output, others have; give it one")
        if output in NOTHING:
            raise AutomatonError(
                f"{said.place(number)}a transducer that writes nothing ({output!r}) for a symbol, which is not read; "
                "a Mealy machine writes one output for each"
            )
    if said.accepting and set(said.states) != said.accepting:
        raise AutomatonError(
            "transitions have outputs, and some states accept: a transducer, which is not read; leave the outputs "
            "for an automaton, or the accepting states for a Mealy machine"
        )
    steps = {(source, symbol): (target, output) for source, target, symbol, output in said.arrows}
    symbols = _symbols(said)
    entered = {arrow.output for arrow in said.arrows if arrow.target == said.initial[0]}
    # Of the empty word a Mealy machine says nothing. Where its initial state is always entered with one output, that
    # output costs no state; otherwise the empty word has no answer.
    start = (said.initial[0], entered.pop() if len(entered) == 1 else None)
    pairs = {start: None}
    queue = [start]
    for state, _ in queue:
        check_transitions(len(queue), len(symbols))
        for symbol in symbols:
            step = steps.get((state, symbol))
            if step is None:
                raise AutomatonError(f"state {state!r:.80} has no transition for {symbol!r:.80}; add one")
            if step not in pairs:
                pairs[step] = None
                queue.append(step)
    names = dict(zip(queue, _pair_names(queue), strict=True))
    delta = {names[pair]: {a: names[steps[pair[0], a]] for a in symbols} for pair in queue}
    outputs = {names[pair]: pair[1] for pair in queue}
    different = sorted({output for output in outputs.values() if output is not None})
    return MooreMachine.from_outputs(tuple(names.values()), symbols, delta, names[start], outputs, different)


def _pair_names(pairs: Sequence[tuple[str, str | None]]) -> Sequence[str]:
    """The state's name, with the output where it is entered with several; numbers if two would be called the same."""
    times = Counter(state for state, _ in pairs)
    names = [q if times[q] == 1 or output is None else f"{q} ({output})" for q, output in pairs]
    return names if len(set(names)) == len(names) else numbered(len(names))


def free(name: str, taken: Iterable[str]) -> str:
    """The name, with underscores until no state has it."""
    names = set(taken)
    while name in names:
        name += "_"
    return name
