"""A pushdown language that a user brings: in a file, or as a machine made in Python."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from languages.context_free.nested import CLASSES, NestedTask
from languages.drawn import EMPTY, DrawnTask
from languages.errors import AutomatonError, UserError, shown
from languages.kept import place_of

if TYPE_CHECKING:
    import numpy as np

    from languages.automata.pushdown import PushdownTransducer
    from languages.automata.words import Indices

Kind = Literal["brackets", "row", "last"]

DEPTH = ";depth="


def pushdown(file: str) -> NestedTask | DrawnTask:
    """The task of a pushdown machine in a JSON file, as `languages.convert.pushdown` reads it.

    Of a visibly pushdown machine: behind the file `;depth=every` or `;depth=1000` may say how words are drawn, as the
    parameter of other languages; with accepting states it is a balanced classification, with outputs the machine's
    answer to uniform questions. Of another: see `drawn_task_of`.
    AutomatonError: no such file, no machine in it, or a machine without words to draw; the message names the file.

    >>> pushdown("no-such-file.json")
    Traceback (most recent call last):
    ...
    languages.errors.AutomatonError: no-such-file.json: cannot be read (No such file or directory)
    """
    from languages.convert.files import read_text
    from languages.convert.pushdown import from_json
    from languages.convert.reading import named

    name, depth = of_file(file)
    path = place_of(file, name)
    machine = from_json(read_text(path), shown(path))
    with named(shown(path)):
        return pushdown_task_of(machine, f"pushdown:{file}", f"the pushdown machine in {file}", depth)


def kind_of_file(file: str) -> Kind:
    """The kind of the machine in `FILE` or `FILE;depth=DEPTH`, kept until the file changes.

    "brackets" where there is no machine: what is wrong with the file is said where its task is made.

    >>> kind_of_file("no-such-file.json")
    'brackets'
    """
    path = place_of(file, of_file(file)[0])
    try:
        written = path.stat()
        return _kind_in(path, written.st_mtime_ns, written.st_size, written.st_ino)
    except (OSError, ValueError, UserError):
        return "brackets"


@lru_cache(maxsize=64)
def _kind_in(path: Path, *stamp: int) -> Kind:
    from languages.convert.files import read_text
    from languages.convert.pushdown import from_json

    return kind_of(from_json(read_text(path)))


def kind_of(machine: PushdownTransducer) -> Kind:
    """How a machine is asked: for a "row" behind words, at the "last" symbol of words with "brackets", or of others.

    >>> from languages.context_free.brackets import brackets
    >>> from languages.context_free.reverse_string import reverse_string
    >>> kind_of(brackets(1).machine), kind_of(reverse_string().machine)
    ('brackets', 'row')
    """
    from languages.automata.visibly import VisiblyPushdown

    has_rows = _answers_behind_words(machine)
    if has_rows and _missing(machine, has_rows) is None:
        return "row"
    try:
        VisiblyPushdown.from_machine(machine)
    except AutomatonError:
        return "row" if has_rows else "last"
    return "brackets"


def _answers_behind_words(machine: PushdownTransducer) -> bool:
    """Whether the last symbol is an empty symbol: nothing is read behind it, and it alone leads to answers."""
    empty = machine.alphabet[-1]
    behind = {move.target for move in machine.moves if move.read == empty}
    answered = {state for state, output in zip(machine.states, machine.outputs, strict=True) if output >= 0}
    letters = [move for move in machine.moves if move.read != empty]
    apart = not any(move.source in behind or move.target in answered for move in letters)
    return empty in (EMPTY, ".") and apart and bool(behind & answered)


def pushdown_task_of(
    machine: PushdownTransducer, name: str, summary: str = "a machine made in Python", depth: str = "any"
) -> NestedTask | DrawnTask:
    """The task of a pushdown machine. AutomatonError for one without words to draw, or not to be drawn so deep."""
    if (kind := kind_of(machine)) == "brackets":
        return nested_task_of(machine, name, summary, depth)
    if depth != "any":
        raise AutomatonError(f"it is not asked about brackets, so no word has a depth; leave {DEPTH}{depth:.40} out")
    return drawn_task_of(machine, name, summary, kind == "row")


def drawn_task_of(machine: PushdownTransducer, name: str, summary: str, has_rows: bool) -> DrawnTask:
    """The task of a machine whose words are walks along its moves (`languages.sampling.walks`).

    With `has_rows` the walks are without the last symbol, the empty symbol, and n + 1 of it stand behind a word of n:
    the machine answers at them as long as it has moves. Else it answers the last symbol of a word.

    AutomatonError: a walk may come to where no move goes on, or where there is no answer; the message says where.
    """
    from languages.sampling.walks import walks

    if (missing := _missing(machine, has_rows)) is not None:
        raise AutomatonError(missing)
    skip = (machine.n_symbols - 1,) if has_rows else ()

    def draw(random: np.random.Generator, length: int, count: int) -> Indices:
        return walks(machine, random, length, count, skip)

    return DrawnTask(
        name=name,
        machine=machine,
        summary=summary,
        source="the user's",
        examples=(),
        draw=draw,
        asked=(lambda length: length + 1) if has_rows else None,
    )


def _missing(machine: PushdownTransducer, has_rows: bool) -> str | None:
    """Where a walk comes to, and what is not there: a move that goes on, or an answer; None if nothing is missing."""
    from languages.automata.reached import reached

    def at(state: int, top: int, what: str) -> str:
        above = "the empty stack" if top == 0 else f"{machine.stack[top - 1]!r:.80} on the stack"
        return f"words are walks of the machine, and in {machine.states[state]!r:.80} with {above} {what}"

    letters = range(machine.n_symbols - has_rows)
    behind_words = sorted(reached(machine, letters))
    for state, top in [(machine.initial_index, 0), *behind_words]:
        if (machine.table[state, letters, top] < 0).all():
            return at(state, top, "no move goes on: give it one")
    for state, top in behind_words:
        # The state -1 has no answer.
        if has_rows and machine.output_table[machine.table[state, -1, top]] < 0:
            return at(state, top, f"{machine.alphabet[-1]!r} has no answer: give it a move to one")
        if not has_rows and machine.outputs[state] < 0:
            remedy = f"give it an output, or ask for a row by a last symbol {EMPTY!r} that is read behind words only"
            return at(state, top, f"there is no answer: {remedy}")
    return None


def nested_task_of(
    machine: PushdownTransducer, name: str, summary: str = "a machine made in Python", depth: str = "any"
) -> NestedTask:
    """The task of a visibly pushdown machine. AutomatonError for another, or a machine without words to draw.

    >>> from languages.context_free.brackets import brackets
    >>> nested_task_of(brackets(1).machine, "mine").sampling
    'balanced'
    """
    from languages.automata.visibly import VisiblyPushdown
    from languages.sampling.machine_grammar import rules_of

    visibly = VisiblyPushdown.from_machine(machine)
    # A word without an answer may be in no class.
    balanced = machine.output_names == CLASSES and visibly.shortest_word([-1]) is None
    others = None
    if balanced:
        rules = rules_of(visibly, {1}, "is accepted")
        others = rules_of(visibly, {0}) if visibly.shortest_word([0]) is not None else {"none": ()}
    else:
        rules = rules_of(visibly, set(range(len(machine.output_names))))
    return NestedTask(
        name=name,
        machine=machine,
        summary=summary,
        source="the user's",
        examples=(),
        rules=rules,
        others=others,
        sampling="balanced" if balanced else "uniform",
        depth=depth,
    )


def without_depth(name: str) -> str:
    """The name of a language, of a pushdown machine in a file without how deep its words are drawn.

    >>> without_depth("pushdown:mine.json;depth=1000"), without_depth("dfa:mine.json")
    ('pushdown:mine.json', 'dfa:mine.json')
    """
    return of_file(name)[0] if name.startswith("pushdown:") else name


def of_file(text: str) -> tuple[str, str]:
    """The file and the depth that `FILE` or `FILE;depth=DEPTH` names.

    >>> of_file("mine.json"), of_file("a;b.json;depth=1000")
    (('mine.json', 'any'), ('a;b.json', '1000'))
    """
    file, mark, depth = text.rpartition(DEPTH)
    return (file, depth) if mark else (text, "any")
