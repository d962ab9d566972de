"""Pushdown machines as JSON and as graphviz drawings.

    {"alphabet": ["(", ")"], "initial": "balanced", "accepting": ["balanced"], "moves": [
      {"from": "balanced", "read": "(", "to": "open", "push": "first"},
      {"from": "open", "read": "(", "to": "open", "push": "other"},
      {"from": "open", "read": ")", "to": "open", "tops": ["other"], "pop": true},
      {"from": "open", "read": ")", "to": "balanced", "tops": ["first"], "pop": true}]}

"tops" are the stack symbols with which a move is possible, null the bottom; without it every top will do. With
"accepting" the machine is visibly pushdown, and every word is answered, "accept" or "reject": missing moves lead to a
sink. With "outputs", {state: name or null} for every state, the words without moves are no questions; "output_names"
may fix the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from reprlib import repr as short
from typing import Any, cast

from languages.answers import CLASSES
from languages.automata.pushdown import NO_MOVE, Move, PushdownTransducer
from languages.automata.validation import check_states
from languages.automata.visibly import CALL, RETURN, VisiblyPushdown
from languages.convert.dot import quoted
from languages.convert.json_text import as_json, parsed
from languages.convert.reading import named
from languages.errors import AutomatonError, nearest, one_of

KEYS = {"alphabet": list, "initial": str, "moves": list, "accepting": list, "outputs": dict, "output_names": list}
NEEDED = ("alphabet", "initial", "moves")
OF_A_MOVE = {"from": str, "read": str, "to": str, "tops": list, "push": str, "pop": bool}
KINDS = {list: "a list", str: "a name", dict: "an object", bool: "true or false"}
SINK = "sink"


def to_json(machine: PushdownTransducer) -> str:
    """The machine as JSON text, a line a move."""
    outputs = {
        q: None if i < 0 else machine.output_names[i] for q, i in zip(machine.states, machine.outputs, strict=True)
    }
    fields = {"alphabet": machine.alphabet, "initial": machine.initial, "outputs": outputs,
              "output_names": machine.output_names}  # fmt: skip
    lines = [f"  {as_json(key)}: {as_json(value)}" for key, value in fields.items()]
    moves = ",\n".join(f"    {as_json(_written(move))}" for move in machine.moves)
    return "{\n" + ",\n".join([*lines, f'  "moves": [\n{moves}\n  ]']) + "\n}\n"


def _written(move: Move) -> dict[str, Any]:
    record: dict[str, Any] = {"from": move.source, "read": move.read, "to": move.target}
    return record | {
        key: value for key, value in (("tops", move.tops), ("push", move.push), ("pop", move.pop)) if value
    }


def from_json(text: str, name: str = "<text>") -> PushdownTransducer:
    """The machine of a JSON text; `name` says in errors where it comes from.

    AutomatonError: not JSON, a key that is missing, unknown or of the wrong kind, and whatever the machine refuses.

    >>> from languages.context_free.brackets import brackets
    >>> from_json(to_json(brackets(2).machine)) == brackets(2).machine
    True
    """
    with named(name):
        fields = _checked(parsed(text), KEYS, NEEDED, "a pushdown machine")
        if ("accepting" in fields) == ("outputs" in fields):
            raise AutomatonError("a pushdown machine has either 'accepting' or 'outputs'")
        if "accepting" in fields and "output_names" in fields:
            raise AutomatonError("'output_names' goes with 'outputs'; with 'accepting' the answers are reject, accept")
        moves = [_move(written) for written in fields["moves"]]
        if "outputs" in fields:
            for state, output in fields["outputs"].items():
                if not isinstance(output, str | None):
                    raise AutomatonError(f"the output of {state!r:.80} is {short(output)}; give a name, or null")
            outputs = cast("Mapping[str, str | None]", fields["outputs"])
            names = fields.get("output_names") or list(
                dict.fromkeys(out for out in outputs.values() if out is not None)
            )
            return PushdownTransducer.from_outputs(fields["alphabet"], fields["initial"], moves, outputs, names)
        return accepting(fields["alphabet"], fields["initial"], moves, fields["accepting"])


def accepting(alphabet: list[str], initial: str, moves: list[Move], accepted: list[str]) -> PushdownTransducer:
    """The machine that accepts in these states; where there is no move it goes to a sink, and rejects."""
    states = dict.fromkeys((initial, *(q for move in moves for q in (move.source, move.target))))
    check_states(accepted, tuple(states), "'accepting' contains")
    outputs = {state: CLASSES[state in accepted] for state in states}
    machine = PushdownTransducer.from_outputs(alphabet, initial, moves, outputs, CLASSES)
    sink = SINK
    while sink in states:
        sink += "_"
    try:
        direction, table = VisiblyPushdown.from_machine(machine).direction, machine.table
    except AutomatonError as error:
        raise AutomatonError(f"{error}; or give 'outputs' in place of 'accepting'") from None
    tops, more = (None, *machine.stack), list[Move]()
    for q, state in enumerate((*machine.states, sink)):
        for a, symbol in enumerate(alphabet):
            missing = tuple(top for i, top in enumerate(tops) if q == len(states) or table[q, a, i] == NO_MOVE)
            push = machine.stack[0] if direction[a] == CALL else None
            if direction[a] != RETURN:
                more += [Move(state, symbol, sink, push=push)] if missing else []
                continue
            more += [Move(state, symbol, sink, (top,), pop=top is not None) for top in missing]
    return PushdownTransducer.from_outputs(alphabet, initial, [*moves, *more], {**outputs, sink: CLASSES[0]}, CLASSES)


def _move(written: object) -> Move:
    fields = _checked(written, OF_A_MOVE, ("from", "read", "to"), "a move")
    tops = fields.get("tops", [])
    if wrong := [top for top in tops if not isinstance(top, str | None)]:
        raise AutomatonError(f"'tops' contains {short(wrong[0])}; give names of stack symbols, or null for the bottom")
    return Move(fields["from"], fields["read"], fields["to"], tuple(tops), fields.get("push"), fields.get("pop", False))


def _checked(value: object, keys: Mapping[str, type], needed: tuple[str, ...], what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise AutomatonError(f"{short(value)} is not {what}; give an object with {one_of(needed)}")
    fields = cast("dict[str, Any]", value)
    for key, entry in fields.items():
        if key not in keys:
            raise AutomatonError(
                f"{what} has no key {key!r:.80};{nearest(key, keys) or f' the keys are {one_of(keys)}'}"
            )
        if not isinstance(entry, keys[key]):
            raise AutomatonError(f"{key!r} is {short(entry)}; it must be {KINDS[keys[key]]}")
        if keys[key] is list and key not in ("moves", "tops") and not all(isinstance(name, str) for name in entry):
            raise AutomatonError(f"{key!r} is {short(entry)}; it must be a list of names")
    if missing := [key for key in needed if key not in fields]:
        raise AutomatonError(f"{what} lacks the key {missing[0]!r}; it has {one_of(needed)}")
    return fields


def arrows(machine: PushdownTransducer) -> dict[tuple[str, str, str], list[str]]:
    """What the moves from a state at a symbol to a state do: ` / push g`, ` / pop g`, ` at the bottom`, or nothing.

    >>> from languages.context_free.brackets import brackets
    >>> arrows(brackets(1).machine)["open", ")", "balanced"]
    [' / pop 0 balanced']
    """
    tops: dict[tuple[str, str, str, str | None, bool], list[str | None]] = {}
    for move in machine.moves:
        key = move.source, move.read, move.target, move.push, move.pop
        tops.setdefault(key, []).extend(move.tops or [*([] if move.pop else [None]), *machine.stack])
    by_arrow: dict[tuple[str, str, str], list[str]] = {}
    for (source, read, target, push, pop), at in tops.items():
        of_all = len(at) == len(machine.stack) + (not pop)
        names = ", ".join("the bottom" if top is None else top for top in at)
        if pop:
            done = f" / pop {'any' if of_all and len(at) > 1 else names}"
        else:
            done = ("" if of_all else f" at {names}") + ("" if push is None else f" / push {push}")
        by_arrow.setdefault((source, read, target), []).append(done)
    return by_arrow


def to_dot(machine: PushdownTransducer) -> str:
    """The machine as DOT text: at an arrow `( / push g`, `) / pop g` or the symbol alone, `) at the bottom`."""
    labels: dict[tuple[str, str], list[str]] = {}
    for (source, read, target), done in arrows(machine).items():
        labels.setdefault((source, target), []).extend(read + what for what in done)
    lines = ["rankdir=LR", "node [shape=circle]", '"" [shape=point]']
    for state, output in zip(machine.states, machine.outputs, strict=True):
        label = state if output < 0 else f"{state} / {machine.output_names[output]}"
        lines.append(f"{quoted(state)} [label={quoted(label)}]")
    lines.append(f'"" -> {quoted(machine.initial)}')
    for (source, target), texts in labels.items():
        label = "\\n".join(quoted(text)[1:-1] for text in texts)
        lines.append(f'{quoted(source)} -> {quoted(target)} [label="{label}"]')
    return "digraph {\n" + "".join(f"  {line}\n" for line in lines) + "}\n"
