"""A visibly pushdown language that a user brings: in a file, or as a machine made in Python."""

from pathlib import Path
from typing import TYPE_CHECKING

from languages.context_free.nested import CLASSES, NestedTask
from languages.errors import shown

if TYPE_CHECKING:
    from languages.automata.pushdown import PushdownTransducer

DEPTH = ";depth="


def pushdown(file: str) -> NestedTask:
    """The task of a visibly pushdown machine in a JSON file, as `languages.convert.pushdown` reads it.

    Behind the file `;depth=every` or `;depth=1000` may say how words are drawn, as the parameter of other languages.
    With accepting states it is a balanced classification, with outputs the machine's answer to uniform questions.
    AutomatonError: no such file, no machine in it, or one that is not visibly pushdown; the message names the file.

    >>> pushdown("no-such-file.json")
    Traceback (most recent call last):
    ...
    languages.errors.AutomatonError: no-such-file.json: cannot be read (No such file or directory)
    """
    from languages.convert.files import read_text
    from languages.convert.pushdown import from_json
    from languages.convert.reading import named

    name, depth = of_file(file)
    path = Path(name)
    machine = from_json(read_text(path), shown(path))
    with named(shown(path)):
        return nested_task_of(machine, f"pushdown:{file}", f"the pushdown machine in {file}", depth)


def nested_task_of(
    machine: "PushdownTransducer", name: str, summary: str = "a machine made in Python", depth: str = "any"
) -> NestedTask:
    """The task of a visibly pushdown machine. AutomatonError for another, or one without words to draw.

    >>> from languages.context_free.brackets import brackets
    >>> nested_task_of(brackets(1).machine, "mine").sampling
    'balanced'
    """
    from languages.automata.visibly import VisiblyPushdown
    from languages.sampling.machine_grammar import rules_of

    visibly = VisiblyPushdown.of(machine)
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
