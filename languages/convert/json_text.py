"""Machines as JSON.

    {"states": ["even", "odd"], "alphabet": ["0", "1"],
     "transitions": {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}},
     "initial": "even", "accepting": ["even"]}

A Moore machine has, instead of "accepting", "outputs": {"even": "0", "odd": "1"}, where null is no answer, and may
list "output_names" to fix their order. "sink": "name" completes an automaton: missing transitions lead there.
"""

import json
from collections import Counter
from collections.abc import Mapping
from reprlib import repr as short  # however much there is
from typing import Any, cast

from languages.automata import Dfa, MooreMachine
from languages.convert.reading import AS_WRITTEN, Reading, checked, named
from languages.errors import AutomatonError, UserError, nearest, one_of

COMMON = {"states": list, "alphabet": list, "transitions": dict, "initial": str}
OPTIONAL = {"accepting": list, "outputs": dict, "output_names": list, "sink": str}
KINDS = {list: "a list of names", dict: "an object", str: "a name"}


def to_json(machine: Dfa | MooreMachine) -> str:
    """The machine as JSON text, a line for each state's transitions."""
    head = {"states": machine.states, "alphabet": machine.alphabet, "initial": machine.initial}
    lines = [f"  {as_json(key)}: {as_json(value)}" for key, value in head.items()]
    rows = ",\n".join(f"    {as_json(state)}: {as_json(row)}" for state, row in machine.transitions.items())
    lines.append(f'  "transitions": {{\n{rows}\n  }}')
    if isinstance(machine, Dfa):
        lines.append(f'  "accepting": {as_json([state for state in machine.states if state in machine.accepting])}')
    else:
        lines.append(f'  "outputs": {as_json(machine.named_outputs)}')
        lines.append(f'  "output_names": {as_json(machine.output_names)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def from_json(text: str, name: str = "<text>", how: Reading = AS_WRITTEN) -> Dfa | MooreMachine:
    """The machine of a JSON text by anybody, as `read_json` reads it. AutomatonError too if it answers nothing."""
    machine = read_json(text, name)
    with named(name):
        return checked(machine, how)


def read_json(text: str, name: str = "<text>") -> Dfa | MooreMachine:
    """The machine of a JSON text that `to_json` wrote; `name` says in errors where it comes from.

    AutomatonError: not JSON (with line and column), a key that is missing, unknown, twice there or of the wrong
    kind, and whatever the machine's constructor refuses.

    >>> even = Dfa(("even", "odd"), "01", ((0, 1), (1, 0)), "even", {"even"})
    >>> read_json(to_json(even)) == even
    True
    """
    with named(name):
        return _machine(parsed(text))


def parsed(text: str) -> object:
    """The value of a JSON text; AutomatonError for what is none, or has a key twice."""
    try:
        # Python keeps the last of two equal keys: a state given twice would lose transitions unseen.
        return json.loads(text, object_pairs_hook=_no_key_twice)
    except UserError:
        raise
    except json.JSONDecodeError as error:
        raise AutomatonError(f"line {error.lineno}, column {error.colno}: not JSON ({error.msg})") from None
    except ValueError:  # more digits than Python reads
        raise AutomatonError("not JSON (a number has too many digits)") from None
    except RecursionError:
        raise AutomatonError("nested too deeply; a machine has three levels") from None


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise AutomatonError(f"the key {twice!r:.80} is there twice; give it once")
    return fields


def _machine(data: object) -> Dfa | MooreMachine:
    fields = _checked_fields(data)
    common = (fields["states"], fields["alphabet"], fields["transitions"])
    if "sink" in fields:
        if "outputs" in fields:
            raise AutomatonError("a Moore machine has no 'sink'; give every state all its transitions")
        return Dfa.from_partial(*common, fields["initial"], set(fields["accepting"]), sink=fields["sink"])
    if "accepting" in fields:
        return Dfa(*common, fields["initial"], set(fields["accepting"]))
    outputs: Mapping[str, str | None] = fields["outputs"]
    names = fields.get("output_names") or list(dict.fromkeys(out for out in outputs.values() if out is not None))
    return MooreMachine.from_outputs(*common, fields["initial"], outputs, tuple(names))


def _checked_fields(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise AutomatonError(f"the file holds {short(data)}; a machine is an object with {one_of(COMMON)}")
    fields = cast("dict[str, Any]", data)
    kinds = COMMON | OPTIONAL
    for key, value in fields.items():
        if key not in kinds:
            raise AutomatonError(f"unknown key {key!r:.80};{nearest(key, kinds) or f' the keys are {one_of(kinds)}'}")
        if not isinstance(value, kinds[key]):
            raise AutomatonError(f"{key!r} is {short(value)}; it must be {KINDS[kinds[key]]}")
    for key in COMMON:
        if key not in fields:
            raise AutomatonError(f"the key {key!r} is missing; a machine has {one_of(COMMON)}")
    if ("accepting" in fields) == ("outputs" in fields):
        raise AutomatonError("a machine has either 'accepting' (an automaton) or 'outputs' (a Moore machine)")
    _check_contents(fields)
    return fields


def _check_contents(fields: Mapping[str, Any]) -> None:
    """Names where names are expected, one level down."""
    for key in ("states", "alphabet", "accepting", "output_names"):
        for entry in fields.get(key, []):
            if not isinstance(entry, str):
                raise AutomatonError(f"{key!r} contains {short(entry)}; it must be {KINDS[list]}")
    for state, row in fields["transitions"].items():
        if not isinstance(row, dict):
            raise AutomatonError(f"the transitions of {state!r:.80} are {short(row)}; give an object symbol: state")
        for symbol, target in cast("dict[str, Any]", row).items():
            if not isinstance(target, str):
                raise AutomatonError(
                    f"on {symbol!r:.80} state {state!r:.80} goes to {short(target)}; give a state's name"
                )
    for state, output in fields.get("outputs", {}).items():
        if not isinstance(output, str | None):
            raise AutomatonError(f"the output of {state!r:.80} is {short(output)}; give a name, or null for none")
