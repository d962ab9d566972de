"""Machines as graphviz drawings, in the DOT language.

Written: accepting states are double circles, an arrow from a point shows the initial state, transitions between
the same states share an arrow ("0,1"), a Moore machine's states are labelled "state / output". The graph's
attributes `alphabet` and `output_names` keep the order of symbols and outputs, and tell the two kinds apart.

Read: the same, and simple drawings made by hand. The initial state is where an arrow from a node of shape point,
none or plaintext (or invisible) leads; labels are symbols between commas, spaces or line breaks; without
`alphabet` the symbols are sorted; missing transitions of an automaton lead to a new state, the sink. A label
"state / output" in any state makes a Moore machine.
"""

import re
from collections.abc import Iterable

from languages.automata import Dfa, MooreMachine
from languages.budget import MAX_TRANSITIONS, check
from languages.convert.dot_parser import Drawing, Node, parse, unescape
from languages.errors import AutomatonError, UserError

INVISIBLE = {"point", "none", "plaintext", "plain"}
ACCEPTING = {"doublecircle", "doubleoctagon"}
MAX_LABELLED = 2**20  # characters of a label
SYMBOL = re.compile(r"\\[nlr]|((?:[^\\,\s]++|\\[^nlr]|\\\Z)++)")  # between line breaks, commas and blanks


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
    lines.append(f'"" -> {_quoted(machine.initial)}')
    # Parallel arrows are drawn as one, in the order of their targets.
    place = {state: i for i, state in enumerate(machine.states)}
    for state, row in machine.transitions.items():
        symbols: dict[str, list[str]] = {}
        for symbol, target in row.items():
            symbols.setdefault(target, []).append(symbol)
        for target in sorted(symbols, key=place.__getitem__):
            lines.append(f'{_quoted(state)} -> {_quoted(target)} [label="{_joined(symbols[target])}"]')
    return "digraph {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _nodes(machine: Dfa | MooreMachine) -> list[str]:
    if isinstance(machine, Dfa):
        shape = {True: " [shape=doublecircle]", False: ""}
        return [_quoted(state) + shape[state in machine.accepting] for state in machine.states]
    labels = {q: "" if output is None else f" / {_escaped(output)}" for q, output in machine.named_outputs.items()}
    return [f'{_quoted(state)} [label="{_escaped(state)}{label}"]' for state, label in labels.items()]


def _check_writable(names: Iterable[str]) -> None:
    for name in names:
        if not name.isprintable():
            raise AutomatonError(f"the name {name!r} cannot be drawn; rename it, or use JSON")


def _escaped(name: str, characters: str = '\\"') -> str:
    return "".join("\\" + c if c in characters else c for c in name)


def _quoted(name: str) -> str:
    return f'"{_escaped(name)}"'


def _joined(symbols: Iterable[str]) -> str:
    return ",".join(_escaped(symbol, '\\", ') for symbol in symbols)


def from_dot(text: str, name: str = "<text>") -> Dfa | MooreMachine:
    """The machine of a drawing; `name` says in errors where it comes from.

    AutomatonError, with the line: not DOT, a transition without a label, two transitions for one symbol, no or
    several initial states; and whatever the machine's constructor refuses.

    >>> drawing = '''digraph { start [shape=none]; start -> p
    ...   p -> q [label=a]; q -> p [label="b"]; p [shape=doublecircle] }'''
    >>> "abab" in from_dot(drawing), "aba" in from_dot(drawing)
    (True, False)
    """
    try:
        return _machine(parse(text))
    except UserError as error:
        separator = ", " if str(error).startswith("line ") else ": "
        raise type(error)(f"{name}{separator}{error}") from None


def _machine(drawing: Drawing) -> Dfa | MooreMachine:
    initial, arrows = _initial(drawing)
    nodes = {q: node for q, node in drawing.nodes.items() if q not in arrows}
    delta = _transitions(drawing, arrows)
    used = {symbol for row in delta.values() for symbol in row}
    symbols = split_label(drawing.attributes.get("alphabet", "")) or sorted(used)
    outputs = {q: _output(node) for q, node in nodes.items()}
    if "output_names" in drawing.attributes or any(output is not None for output in outputs.values()):
        names = split_label(drawing.attributes.get("output_names", "")) or sorted(filter(None, set(outputs.values())))
        return MooreMachine.from_outputs(tuple(nodes), symbols, delta, initial, outputs, names)
    accepting = {q for q, node in nodes.items() if _accepts(node)}
    sink = "sink"
    while sink in nodes:
        sink += "_"
    return Dfa.from_partial(tuple(nodes), symbols, delta, initial, accepting, sink=sink)


def _initial(drawing: Drawing) -> tuple[str, set[str]]:
    """The initial state, and the nodes that only serve to draw the arrow to it."""
    # A point that something leads to is a state that is drawn small, not the arrow's beginning.
    targets = {edge.target for edge in drawing.edges}
    arrows = {q for q, node in drawing.nodes.items() if _is_invisible(node) and q not in targets}
    initial = [edge for edge in drawing.edges if edge.source in arrows]
    if not initial:
        raise AutomatonError(
            'there is no initial state; draw an arrow to it from a point, as in: "" [shape=point]; "" -> q'
        )
    if len(initial) > 1:
        raise AutomatonError(
            f"line {drawing.line(initial[1])}: a second initial state {initial[1].target!r:.80}; draw one arrow"
        )
    return initial[0].target, arrows


def _is_invisible(node: Node) -> bool:
    return node.attributes.get("shape") in INVISIBLE or "invis" in node.attributes.get("style", "")


def _accepts(node: Node) -> bool:
    return node.attributes.get("shape") in ACCEPTING or node.attributes.get("peripheries") == "2"


def _transitions(drawing: Drawing, arrows: set[str]) -> dict[str, dict[str, str]]:
    delta: dict[str, dict[str, str]] = {q: {} for q in drawing.nodes if q not in arrows}
    count = 0
    for edge in drawing.edges:
        if edge.source in arrows:
            continue
        symbols = split_label(edge.attributes.get("label", ""))
        # While they are read: one label may hold a million symbols.
        count += len(symbols)
        check(count, MAX_TRANSITIONS, f"there are {count:,} transitions or more")
        if not symbols:
            arrow = f"{edge.source!r:.80} -> {edge.target!r:.80}"
            raise AutomatonError(f"line {drawing.line(edge)}: the transition {arrow} has no symbol; add [label=...]")
        for symbol in symbols:
            if symbol in delta[edge.source]:
                raise AutomatonError(
                    f"line {drawing.line(edge)}: state {edge.source!r:.80} has a second transition for {symbol!r:.80}; "
                    "a deterministic machine has one"
                )
            delta[edge.source][symbol] = edge.target
    return delta


def _output(node: Node) -> str | None:
    """The output in a label "state / output"."""
    label = unescape(node.attributes.get("label", ""))
    if label == node.name:
        return None
    if label.startswith(f"{node.name} / "):
        return label[len(node.name) + 3 :]
    _, slash, output = label.rpartition("/")
    return output.strip() if slash else None


def split_label(label: str) -> list[str]:
    r"""The symbols of a label: between commas, blanks and line breaks, where a backslash takes the next as it is.

    >>> split_label(r"a, b\nc\,")
    ['a', 'b', 'c,']
    """
    check(len(label), MAX_LABELLED, f"a label has {len(label):,} characters")
    if "\\" not in label:
        return label.replace(",", " ").split()
    return [unescape(symbol) for symbol in SYMBOL.findall(label) if symbol]
