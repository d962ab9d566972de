"""Languages that a user brings: a regular expression, an automaton in a file, or any machine made in Python."""

from typing import Any

from languages.automata import Dfa, MooreMachine, Semiautomaton
from languages.automata.moore import UNDEFINED
from languages.errors import LanguageError, nearest
from languages.kept import place_of
from languages.specification import Parameter, read_parameters
from languages.task import Task

FILE_OPTIONS = (
    Parameter("determinise", False, "true or false: a nondeterministic automaton is made deterministic"),
    Parameter("outputs", "", "labels: what a drawing writes in a state is its output", ("labels",)),
    Parameter("empty", False, "true or false: that no state accepts is meant"),
)


def regex(expression: str) -> Task:
    """Does the word match a regular expression? Balanced classification; "accept" is 1.

    The syntax is that of `Dfa.from_regex`. The alphabet is the symbols of the expression, or what follows
    ";alphabet="; so a semicolon is no symbol here. LanguageError: not a regular expression, a symbol outside the
    alphabet, or another word than alphabet.

    >>> regex("(ab)*").machine.answers("abab").item()
    1
    >>> regex("(aa)*").alphabet, regex("(aa)*;alphabet=ab").alphabet
    (('a',), ('a', 'b'))
    """
    pattern, semicolon, parameter = expression.partition(";")
    key, _, alphabet = parameter.partition("=")
    if semicolon and key != "alphabet":
        hint = nearest(key, ["alphabet"]) or " after a semicolon stands alphabet=, as in regex:(aa)*;alphabet=ab"
        raise LanguageError(f"a regular expression has no parameter {key!r:.80};{hint}")
    if semicolon and not alphabet:
        raise LanguageError("after ;alphabet= stand the symbols, as in regex:(aa)*;alphabet=ab")
    dfa = Dfa.from_regex(pattern, tuple(alphabet) if semicolon else None)
    return task_of(dfa, f"regex:{expression}", f"membership: {pattern}", "a regular expression of the user's")


def dfa(file: str) -> Task:
    """The task of an automaton in a file: JSON (.json), DOT (.dot, .gv), JFLAP (.jff) or AT&T's text (.att, .txt).

    With accepting states it is a balanced classification, with outputs the machine's answer to uniform words; a Mealy
    machine answers with its last output. Behind the name stands what the file leaves open:
    ";determinise=true", ";outputs=labels", ";empty=true", as `languages.convert.reading.Reading` says.
    AutomatonError: no such file, or no automaton in it; the message names the file. LanguageError: another option.

    >>> dfa("no-such-file.json")
    Traceback (most recent call last):
    ...
    languages.errors.AutomatonError: no-such-file.json: cannot be read (No such file or directory)
    """
    from languages.convert.files import load
    from languages.convert.reading import Reading

    path, options = _file_and_options(file)
    machine = load(place_of(file, path), Reading(**options))
    return task_of(machine, f"dfa:{file}", f"the automaton in {path}", "a file of the user's")


def _file_and_options(file: str) -> tuple[str, dict[str, Any]]:
    """What stands before the options ";key=value", and they; other semicolons are of the file's name."""
    path = without_options(file)
    return path, read_parameters(FILE_OPTIONS, f"dfa:{path}", file[len(path) + 1 :].replace(";", ","))


def without_options(file: str) -> str:
    """The path before the options ";key=value".

    >>> without_options("mine.dot;empty=true;outputs=labels"), without_options("a;b.json")
    ('mine.dot', 'a;b.json')
    """
    parts = file.split(";")
    last = max(i for i, part in enumerate(parts) if i == 0 or "=" not in part)
    return ";".join(parts[: last + 1])


def task_of(
    machine: Task | Dfa | MooreMachine | Semiautomaton, name: str = "custom", summary: str = "", source: str = ""
) -> Task:
    """The task of any machine: membership for a Dfa, else the machine's answer.

    For a Dfa it is a balanced classification. For a Moore machine words are uniform among those that it has an answer
    to. A semiautomaton answers with the state that it comes to from its first state. A Task is given back as it is. For
    other words or weights make a `Task` directly. LanguageError for anything else, and for a machine without an answer.

    >>> ends_in_b = Dfa(("no", "yes"), "ab", ((0, 1), (0, 1)), "no", {"yes"})
    >>> task_of(ends_in_b, "ends-in-b").labels([[0, 1], [1, 0]]).tolist()
    [1, 0]
    """
    if isinstance(machine, Task):
        return machine
    summary, source = summary or name, source or "made in Python"
    if isinstance(machine, Dfa):
        return Task(name, machine.as_moore(), summary, source, examples=(), sampling="balanced")
    if isinstance(machine, MooreMachine):
        return Task(name, machine, summary, source, examples=(), domain=answered(machine, name))
    if not isinstance(machine, Semiautomaton):  # pyright: ignore[reportUnnecessaryIsInstance]
        kinds = "a Task, Dfa, MooreMachine or Semiautomaton"
        raise LanguageError(f"{name}: {type(machine).__name__} is no machine; give {kinds}")
    states = machine.states
    moore = MooreMachine(states, machine.alphabet, machine.delta, states[0], tuple(range(len(states))), states)
    return Task(name, moore, summary, source, examples=())


def answered(machine: MooreMachine, name: str) -> Dfa | None:
    """The words that a machine has an answer to; None if those are all."""
    if UNDEFINED not in machine.outputs:
        return None
    accepting = {state for state, output in machine.named_outputs.items() if output is not None}
    domain = Dfa(machine.states, machine.alphabet, machine.delta, machine.initial, accepting).minimise()
    if domain.is_empty():
        raise LanguageError(f"{name}: the machine answers no word; give a state that is reached an output")
    return domain
