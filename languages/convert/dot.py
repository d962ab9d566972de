"""Machines as graphviz drawings, in the DOT language.

Written: accepting states are double circles, an arrow from a point shows the initial state, transitions between
the same states share an arrow ("0,1"), a Moore machine's states are labelled "state / output". The graph's
attributes `alphabet` and `output_names` keep the order of symbols and outputs, and tell the two kinds apart.

Read: the same, simple drawings made by hand, and what AALpy, LearnLib and the Automata Wiki write. The initial state
is where an arrow from a node of shape point, none or plaintext (or invisible, or called `__start0`) leads; without
`alphabet` the symbols are sorted; missing transitions of an automaton lead to a new state, the sink. A label
"state / output" in any state, or "state|output" in every state, makes a Moore machine; "input / output" at every
arrow a Mealy machine. With `alphabet` labels are these symbols, whatever they look like; without it, what a label
stands for is said in `pieces` and `formulas`.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager

from languages.automata import Dfa, MooreMachine
from languages.budget import MAX_TRANSITIONS, check
from languages.convert.dot_parser import Attributes, DotGraph, Edge, parse, unescape
from languages.convert.formulas import read_formulas
from languages.convert.labels import (
    LITERAL,
    Read,
    barred,
    read_label,
    refuse_infinite,
    refuse_other_kinds,
    separator,
    split_label,
)
from languages.convert.pieces import WILD, Wild, tidy
from languages.convert.reading import AS_WRITTEN, EMPTY_WORDS, LabelledArrow, Reading, Said, machine_of, named
from languages.errors import AutomatonError, UserError

INVISIBLE = {"point", "none", "plaintext", "plain"}
ACCEPTING = {"doublecircle", "doubleoctagon"}
OUTPUTS = ", write ;outputs=labels behind the file's name if the states' labels are outputs"
START = "__start"  # how LearnLib and AALpy call the node that the arrow to the initial state begins in


def to_dot(machine: Dfa | MooreMachine) -> str:
    """The machine as DOT text, the same for equal machines.

    >>> print(to_dot(Dfa(("even", "odd"), "01", ((0, 1), (1, 0)), "even", {"even"})), end="")
    digraph {
      rankdir=LR
      alphabet="0,1"
      node [shape=circle]
      "" [shape=point]
      "even" [shape=doublecircle]
      "odd"
      "" -> "even"
      "even" -> "even" [label="0"]
      "even" -> "odd" [label="1"]
      "odd" -> "even" [label="1"]
      "odd" -> "odd" [label="0"]
    }
    """
    _check_writable([*machine.states, *machine.alphabet])
    lines = ["rankdir=LR", f'alphabet="{_joined(machine.alphabet)}"']
    if isinstance(machine, MooreMachine):
        _check_writable(machine.output_names)
        lines.append(f'output_names="{_joined(machine.output_names)}"')
    lines += ["node [shape=circle]", '"" [shape=point]']
    lines += _nodes(machine)
    lines.append(f'"" -> {quoted(machine.initial)}')
    # Parallel arrows are drawn as one, in the order of their targets.
    place = {state: i for i, state in enumerate(machine.states)}
    for state, row in machine.transitions.items():
        symbols: dict[str, list[str]] = {}
        for symbol, target in row.items():
            symbols.setdefault(target, []).append(symbol)
        for target in sorted(symbols, key=place.__getitem__):
            lines.append(f'{quoted(state)} -> {quoted(target)} [label="{_joined(symbols[target])}"]')
    return "digraph {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _nodes(machine: Dfa | MooreMachine) -> list[str]:
    if isinstance(machine, Dfa):
        shape = {True: " [shape=doublecircle]", False: ""}
        return [quoted(state) + shape[state in machine.accepting] for state in machine.states]
    labels = {q: "" if output is None else f" / {_escaped(output)}" for q, output in machine.named_outputs.items()}
    return [f'{quoted(state)} [label="{_escaped(state)}{label}"]' for state, label in labels.items()]


def _check_writable(names: Iterable[str]) -> None:
    for name in names:
        if not name.isprintable():
            raise AutomatonError(f"the name {name!r} cannot be drawn; rename it")


def _escaped(name: str, characters: str = '\\"') -> str:
    return "".join("\\" + c if c in characters else c for c in name)


def quoted(name: str) -> str:
    return f'"{_escaped(name)}"'


def _joined(symbols: Iterable[str]) -> str:
    return ",".join(_escaped(symbol, '\\", ') for symbol in symbols)


def from_dot(text: str, name: str = "<text>", how: Reading = AS_WRITTEN) -> Dfa | MooreMachine:
    """The machine of a drawing; `name` says in errors where it comes from.

    AutomatonError, with the line: not DOT, a transition without a label, two transitions for a symbol, no or
    several initial states, a machine of another kind; and whatever the machine's constructor refuses.

    >>> drawing = '''digraph { start [shape=none]; start -> p
    ...   p -> q [label=a]; q -> p [label="b"]; p [shape=doublecircle] }'''
    >>> "abab" in from_dot(drawing), "aba" in from_dot(drawing)
    (True, False)
    """
    with named(name):
        return machine_of(_said(parse(text), how), how)


def _said(drawing: DotGraph, how: Reading) -> Said:
    refuse_infinite(drawing.attributes.get("label", ""))
    starts = _starts(drawing)
    nodes = {q: node for q, node in drawing.nodes.items() if q not in starts}
    initial = dict.fromkeys(edge.target for edge in drawing.edges if edge.source in starts)
    if not initial:
        raise AutomatonError(
            'there is no initial state; draw an arrow to it from a point, as in: "" [shape=point]; "" -> q'
        )
    edges = [edge for edge in drawing.edges if edge.source not in starts and not _is_invisible(edge.attributes)]
    alphabet, arrows, numbers = _arrows(drawing, edges)
    is_mealy = any(arrow.output is not None for arrow in arrows)
    if is_mealy and all(" / " in node.get("label", "") for node in nodes.values()):
        raise AutomatonError("a subsequential transducer: states have outputs, and transitions too; it is not read")
    accepting = {q for q, node in nodes.items() if _accepts(node)}
    return Said(
        states=tuple(nodes),
        initial=tuple(initial),
        arrows=arrows,
        accepting=accepting,
        outputs=None if is_mealy else _outputs(drawing, nodes, accepting, how),
        alphabet=alphabet,
        output_names=split_label(drawing.attributes.get("output_names", "")),
        remedy=OUTPUTS if any(node.get("label") for node in nodes.values()) else "",
        place=lambda number: f"line {drawing.line(edges[numbers[number]])}: ",
    )


def _starts(drawing: DotGraph) -> set[str]:
    """The nodes that only serve to draw the arrow to the initial state."""
    # A point that something leads to is a state that is drawn small, not the arrow's beginning.
    targets = {edge.target for edge in drawing.edges}
    shown = {q for q, node in drawing.nodes.items() if not (q.startswith(START) or _is_invisible(node))}
    return drawing.nodes.keys() - shown - targets


def _is_invisible(attributes: Attributes) -> bool:
    return attributes.get("shape", "").lower() in INVISIBLE or "invis" in attributes.get("style", "")


def _accepts(node: Attributes) -> bool:
    return node.get("shape") in ACCEPTING or node.get("peripheries") == "2"


def _arrows(drawing: DotGraph, edges: Sequence[Edge]) -> tuple[Sequence[str], list[LabelledArrow], list[int]]:
    """The alphabet, empty where it is not listed; the transitions, one for each symbol, and of which edge each is."""
    alphabet, labels = _read_labels(drawing, edges)
    read: list[tuple[int, Read]] = []
    for number, (edge, label) in enumerate(zip(edges, labels, strict=True)):
        # While they are read: a few labels may stand for a million symbols.
        _check_count(len(read) + len(label))
        if not label:
            arrow = f"{edge.source!r:.80} -> {edge.target!r:.80}"
            raise AutomatonError(f"line {drawing.line(edge)}: the transition {arrow} has no symbol; add [label=...]")
        read += [(number, each) for each in label]
    arrows: list[LabelledArrow] = []
    numbers: list[int] = []
    for number, symbol, output in _tamed(alphabet, edges, read):
        _check_count(len(arrows))
        arrows.append(LabelledArrow(edges[number].source, edges[number].target, symbol, output))
        numbers.append(number)
    return alphabet, arrows, numbers


def _check_count(count: int) -> None:
    check(count, MAX_TRANSITIONS, f"there are {count:,} transitions or more")


def _tamed(
    alphabet: Sequence[str], edges: Sequence[Edge], read: Sequence[tuple[int, Read]]
) -> Iterator[tuple[int, str | None, str | None]]:
    """The same, with `else` written out: what no other arrow of the state has; and Σ: all symbols."""
    symbols = dict.fromkeys(alphabet or (r.symbol for _, r in read if r.symbol and not isinstance(r.symbol, Wild)))
    taken: dict[str, set[str | None]] = {}
    for number, (symbol, _) in read:
        taken.setdefault(edges[number].source, set()).add(symbol)
    for number, (symbol, output) in read:
        if symbol is Wild.ANY:
            yield from ((number, each, output) for each in symbols)
        elif symbol is Wild.ELSE and "if" in symbols:  # words of a programming language
            yield number, symbol.value, output
        elif symbol is Wild.ELSE:
            others = taken[edges[number].source]
            yield from ((number, each, output) for each in symbols if each not in others)
        else:
            yield number, symbol, output


def _read_labels(drawing: DotGraph, edges: Sequence[Edge]) -> tuple[Sequence[str], Iterator[Sequence[Read]]]:
    """The alphabet, where it is known, and what each edge's label says."""
    labels = [edge.attributes.get("label", "") for edge in edges]
    if "alphabet" in drawing.attributes:  # labels are nothing but symbols, `else` and Σ
        listed = split_label(drawing.attributes["alphabet"])
        wild = {word: meaning for word, meaning in WILD.items() if word not in set(listed)}
        return listed, ([Read(wild.get(symbol, symbol), None) for symbol in split_label(label)] for label in labels)
    refuse_other_kinds(labels)
    if any("is_start" in node for node in drawing.nodes.values()):  # pyformlang's: one symbol at an arrow
        return (), ([Read(_or_nothing(tidy(unescape(label))), None)] if label else [] for label in labels)
    mark = separator(labels)
    if not mark and (formulas := read_formulas(labels)):
        return formulas.alphabet, ([Read(symbol, None) for symbol in symbols] for symbols in formulas.symbols)
    return (), _read_pieces(drawing, edges, labels, mark)


def _read_pieces(
    drawing: DotGraph, edges: Sequence[Edge], labels: Sequence[str], mark: str
) -> Iterator[Sequence[Read]]:
    """The symbols between the commas of each label, with outputs behind the mark."""
    for edge, label in zip(edges, labels, strict=True):
        if not mark and separator([label]):
            what = f"{label!r:.80} has an output behind a slash, other transitions have none"
            raise AutomatonError(f"line {drawing.line(edge)}: {what}; give each one, or none; {LITERAL}")
        with _at(drawing, edge):
            read = read_label(label, mark)
        yield [Read(_or_nothing(symbol), output) for symbol, output in read]


@contextmanager
def _at(drawing: DotGraph, edge: Edge) -> Generator[None]:
    """What is refused of a label, with its line."""
    try:
        yield
    except UserError as error:
        raise type(error)(f"line {drawing.line(edge)}: {error}") from None


def _or_nothing(symbol: str | None) -> str | None:
    return None if symbol in EMPTY_WORDS else symbol


def _outputs(
    drawing: DotGraph, nodes: Mapping[str, Attributes], accepting: AbstractSet[str], how: Reading
) -> dict[str, str | None] | None:
    """The outputs of a Moore machine's states, by the states' names; None of an automaton."""
    labels = {q: node.get("label", q) for q, node in nodes.items()}
    if how.outputs == "labels":
        return {q: unescape(label) for q, label in labels.items()}
    listed = "output_names" in drawing.attributes
    split = {q: barred(label) for q, label in labels.items()}
    if listed or not all(split.values()):
        split = {q: _slashed(q, unescape(label)) for q, label in labels.items()}
    outputs = {q: halves[1] if halves else None for q, halves in split.items()}
    if not listed and not any(split.values()):
        return None
    for q, halves in split.items():
        if accepting and not listed and halves and halves[0] != q:
            raise AutomatonError(
                f"some states accept, and the label {labels[q]!r:.80} of {q!r:.80} has an output; "
                "leave the double circles for a Moore machine, or the labels for an automaton"
            )
    return outputs


def _slashed(name: str, label: str) -> tuple[str, str] | None:
    """Name and output of a label "state / output"; None of any other."""
    if label == name:
        return None
    if label.startswith(f"{name} / "):
        return name, label[len(name) + 3 :]
    before, slash, output = label.rpartition("/")
    return (before.strip(), output.strip()) if slash else None
