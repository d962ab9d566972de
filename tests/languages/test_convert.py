"""Machines in other forms and back, files made by hand, and broken ones with the message they get."""

import json
from pathlib import Path

import networkx as nx
import pytest
from automata.fa.dfa import DFA
from automata.fa.gnfa import GNFA
from automata.fa.nfa import NFA
from hypothesis import given
from hypothesis import strategies as st

from languages.automata import Dfa, MooreMachine, Semiautomaton
from languages.convert.automata_lib import from_automata_lib, to_automata_lib
from languages.convert.dot import from_dot, to_dot
from languages.convert.files import load, save
from languages.convert.graph import from_networkx, to_networkx
from languages.convert.json_text import from_json, read_json, to_json
from languages.convert.reading import DETERMINISE, Reading
from languages.errors import AutomatonError
from tests.languages.refusing import is_like, refusal

EVEN = Dfa(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", {"even"})
EMPTY = Reading(empty=True)  # a language without a word is meant
PARITY = MooreMachine(("even", "odd"), ("0", "1"), ((0, 1), (1, 0)), "even", (0, -1), ("no / yes", "rest"))
GOOD = {"states": ["p"], "alphabet": ["a"], "transitions": {"p": {"a": "p"}}, "initial": "p", "accepting": []}
MOORE = {key: value for key, value in GOOD.items() if key != "accepting"}
MANY = [f"q{i}" for i in range(1000)]
KEYS = "'states', 'alphabet', 'transitions', 'initial'"
NAMES = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=4).filter(str.isprintable)


@st.composite
def machines(draw: st.DrawFn) -> Dfa | MooreMachine:
    """Machines with awkward names."""
    states = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    symbols = draw(st.lists(NAMES.filter(lambda s: s.split() == [s]), min_size=1, max_size=4, unique=True))
    row = st.lists(st.integers(0, len(states) - 1), min_size=len(symbols), max_size=len(symbols))
    delta = draw(st.lists(row, min_size=len(states), max_size=len(states)))
    common = (tuple(states), tuple(symbols), delta, draw(st.sampled_from(states)))
    if draw(st.booleans()):
        return Dfa(*common, draw(st.sets(st.sampled_from(states))))
    names = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    outputs = st.lists(st.integers(-1, len(names) - 1), min_size=len(states), max_size=len(states))
    return MooreMachine(*common, tuple(draw(outputs)), tuple(names))


@given(machines())
def test_there_and_back(machine: Dfa | MooreMachine) -> None:
    assert read_json(to_json(machine)) == from_json(to_json(machine), how=EMPTY) == machine
    # A drawing says by its outputs that it is a Moore machine.
    if isinstance(machine, Dfa) or any(output >= 0 for output in machine.outputs):
        assert from_dot(to_dot(machine), how=EMPTY) == machine
    assert from_networkx(to_networkx(machine), EMPTY) == machine
    if isinstance(machine, Dfa) and all(len(symbol) == 1 for symbol in machine.alphabet):
        assert from_automata_lib(to_automata_lib(machine), how=EMPTY).equivalent(machine)


@pytest.mark.parametrize("ending", [".json", ".dot", ".gv", ".JSON"])
def test_files(tmp_path: Path, ending: str) -> None:
    for machine in (EVEN, PARITY):
        save(machine, tmp_path / f"machine{ending}")
        assert load(str(tmp_path / f"machine{ending}")) == machine


def test_json_is_as_documented() -> None:
    delta = {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}}
    common = {"states": ["even", "odd"], "alphabet": ["0", "1"], "initial": "even", "transitions": delta}
    assert json.loads(to_json(EVEN)) == common | {"accepting": ["even"]}
    assert json.loads(to_json(PARITY))["outputs"] == {"even": "no / yes", "odd": None}
    assert from_json(json.dumps(MOORE | {"outputs": {"p": "1"}})).named_outputs == {"p": "1"}  # no order of outputs
    # A partial automaton names its sink.
    partial = GOOD | {"transitions": {}, "accepting": ["p"]}
    assert "state 'p' has no transition for 'a'" in refusal(from_json, json.dumps(partial), error=AutomatonError)
    assert from_json(json.dumps(partial | {"sink": "dead"})).states == ("p", "dead")


GRAPHVIZ_GALLERY = """
# the style of graphviz.org/Gallery/directed/fsm.html
digraph finite_state_machine {
    fontname="Helvetica,Arial,sans-serif" // a comment
    rankdir=LR; /* a longer
       comment */
    hidden [shape = point]; node [shape = doublecircle]; 0 3;
    node [shape = circle];
    hidden -> 0; 0 -> 2 [label = "a"]; 0 -> 1 [label = "b, c", color="red"];
    1 -> 3 -> 3 [label = a]
    2
}
"""


def test_a_drawing_made_by_hand() -> None:
    machine = from_dot(GRAPHVIZ_GALLERY)
    assert isinstance(machine, Dfa)
    assert machine.states == ("0", "3", "2", "1", "sink")
    assert machine.alphabet == ("a", "b", "c")
    assert machine.accepting == {"0", "3"}
    assert [word for word in ("", "ba", "caaa", "a", "bb") if word in machine] == ["", "ba", "caaa"]


def test_hidden_arrows_and_moore_labels_made_by_hand() -> None:
    text = r"""digraph "m" { edge [label="0\n1"] i [style=invis] i -> p
      p [label="the first / yes"]; q [label="q/no"]; sink; p -> q -> sink -> sink }"""
    machine = from_dot(text)
    assert isinstance(machine, MooreMachine)
    assert machine.named_outputs == {"p": "yes", "q": "no", "sink": None}
    assert machine.answers("01", every=True).tolist() == [machine.output_names.index("no"), -1]
    # A self-loop on a plaintext state is a state, and the sink gets a free name.
    loop = from_dot("digraph { node [shape=plaintext]; i -> p; p -> p [label=a]; p [peripheries=2] }")
    assert loop.states == ("p",)
    sunk = from_dot('digraph { "" [shape=point]; "" -> sink; sink -> p [label=a]; p -> sink [label=b] }', how=EMPTY)
    assert sunk.states == ("sink", "p", "sink_")


NONDETERMINISTIC = f"as in a nondeterministic automaton; {DETERMINISE}"
START = 'digraph {\n "" [shape=point]; "" -> p\n'
REFUSED_DOT = [
    ("graph { a -- b }", "x.dot, line 1: expected 'digraph', found graph"),
    ("digraph {\n a -> ", "x.dot, line 2: expected a name, found the end of the file"),
    ("digraph {\n a -- b }", "x.dot, line 2: expected a name, found --"),
    ("digraph {\n a [label=<b>] }", "x.dot, line 2: a label in HTML, write it in quotes; only plain digraphs are read"),
    ('digraph {\n\n a [label="b] }', "x.dot, line 3: a string without an end; only plain digraphs are read"),
    ("digraph { subgraph s [a] }", "x.dot, line 1: expected '{', found ["),
    ("digraph { a -> {b c} }", "x.dot, line 1: arrows to or from a group are … each node; expected a node, found {"),
    ("digraph { {a b} -> c }", "x.dot, line 1: arrows to or from a group are … each node; expected a node, found ->"),
    ("digraph " + "{" * 60, "x.dot, line 1: expected at most 50 groups in one another, found {"),
    (r'digraph { "a\nb" -> "a b" }', r"x.dot, line 1: the names 'a\\nb' and 'a b' are too alike; rename one, found }"),
    ("digraph { a [label] }", "x.dot, line 1: expected '=', found ]"),
    ("digraph { a } b", "x.dot, line 1: expected nothing after the graph, found b"),
    ("digraph { p -> p [label=a] }", 'x.dot: there is no initial state; draw an … as in: "" [shape=point]; "" -> q'),
    (START + ' "" -> q }', f"x.dot: there is a second initial state 'q', {NONDETERMINISTIC}"),
    (START + "p -> q }", "x.dot, line 3: the transition 'p' -> 'q' has no symbol; add [label=...]"),
    (START + "p -> q [label=a]\n p -> p [label=a] }",
     f"x.dot, line 4: state 'p' has a second transition for 'a', {NONDETERMINISTIC}"),
    (START + "}", "x.dot: the alphabet may not be empty; give at least one symbol"),
    (START + 'p [label="p / yes"]; p -> q [label=a] }', "x.dot: state 'q' has no transition … a sink (from_partial)"),
    (START + 'alphabet="ab"; p -> p [label=a] }', "x.dot: state 'p' has a transition … its symbols are 'ab'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED_DOT)
def test_refused_drawings(text: str, message: str) -> None:
    assert is_like(refusal(from_dot, text, "x.dot"), message)


REFUSED_JSON = [
    ('{"states": [\n}', "x.json, line 2, column 1: not JSON (Expecting value)"),
    ("[1]", f"x.json: the file holds [1]; a machine is an object with {KEYS}"),
    ('{"a": 1, "a": 2}', "x.json: the key 'a' is there twice; give it once"),
    ({**GOOD, "acepting": []}, "x.json: unknown key 'acepting'; did you mean 'accepting'?"),
    ({**GOOD, "foo": 1}, f"x.json: unknown key 'foo'; the keys are {KEYS}, 'accepting', 'outputs', … 'sink'"),
    ({"accepting": []}, f"x.json: the key 'states' is missing; a machine has {KEYS}"),
    ({**GOOD, "states": "p"}, "x.json: 'states' is 'p'; it must be a list of names"),
    ({**GOOD, "states": [1]}, "x.json: 'states' contains 1; it must be a list of names"),
    ({**GOOD, "transitions": {"p": "p"}}, "x.json: the transitions of 'p' are 'p'; give an object symbol: state"),
    ({**GOOD, "transitions": {"p": {"a": 0}}}, "x.json: on 'a' state 'p' goes to 0; give a state's name"),
    ({**GOOD, "outputs": {}}, "x.json: a machine has either 'accepting' (an automaton) or 'outputs' (a Moore machine)"),
    ({**GOOD, "initial": "q"}, "x.json: the initial state is 'q', which is not a state; the states are 'p'"),
    ({**MOORE, "outputs": {"p": 1}}, "x.json: the output of 'p' is 1; give a name, or null for none"),
    ({**MOORE, "outputs": {"p": "1"}, "sink": "s"}, "x.json: a Moore machine has no … state all its transitions"),
    ("9" * 5000, "x.json: not JSON (a number has too many digits)"),
    ('{"states": ' + "9" * 5000 + "}", "x.json: not JSON (a number has too many digits)"),
    ("[" * 100_000, "x.json: nested too deeply; a machine has three levels"),
    ("[" * 500 + "]" * 500, f"x.json: the file holds [[[[[[[...]]]]]]]; a machine is an object with {KEYS}"),
    ({**GOOD, "states": ["\ud800"]}, "x.json: a state contains '\\ud800', half a character; rename it"),
    ({**GOOD, "alphabet": ["\udfff"]}, "x.json: a symbol contains '\\udfff', half a character; rename it"),
    ({**MOORE, "outputs": {"p": "\ud800"}}, "x.json: a name of an output contains … half a character; rename it"),
    ({**GOOD, "initial": "x" * 10**6}, f"x.json: the initial state is '{'x' * 79}, … the states are 'p'"),
    ({**GOOD, "states": MANY, "alphabet": MANY, "initial": "q0", "transitions": {}, "sink": "no"},
     "x.json: 1,001 states times 1,000 symbols are 1,001,000 transitions; at most 524,288 are allowed, "
     "LANGUAGES_BUDGET=2 allows more"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), REFUSED_JSON, ids=range(len(REFUSED_JSON)))
def test_refused_json(data: object, message: str) -> None:
    assert is_like(refusal(from_json, data if isinstance(data, str) else json.dumps(data), "x.json"), message)


def test_names_that_cannot_be_drawn_and_graphs_that_are_no_machine() -> None:
    machine = Dfa(("a\nb",), "0", ((0,),), "a\nb", set())
    assert "cannot be drawn; rename it" in refusal(to_dot, machine, error=AutomatonError)
    assert read_json(to_json(machine)) == machine
    graph = to_networkx(EVEN)
    assert nx.is_strongly_connected(graph)
    assert to_networkx(Semiautomaton(("p",), "a", ((0,),))).nodes["p"] == {}
    assert "no attribute 'initial'" in refusal(from_networkx, nx.MultiDiGraph(), error=AutomatonError)
    graph.add_edge("even", "even", key="1")
    assert "state 'even' has two transitions for '1'" in refusal(from_networkx, graph, error=AutomatonError)


def test_partial_automata_of_automata_lib_are_completed() -> None:
    delta = {1: {"a": 2}, 2: {"b": 1}, 3: {}}
    theirs = DFA(
        states={1, 2, 3},
        input_symbols={*"ba"},
        transitions=delta,
        initial_state=1,
        final_states={1},
        allow_partial=True,
    )
    ours = from_automata_lib(theirs)
    assert (ours.states, ours.alphabet) == (("q0", "q1", "q2", "sink"), ("a", "b"))
    assert ours.equivalent(Dfa.from_regex("(ab)*"))
    assert from_automata_lib(theirs, alphabet="ba").alphabet == ("b", "a")


OTHERS = [
    (from_automata_lib, NFA.from_regex("a*b"), "an NFA is no DFA; determinise it first: from_automata_lib(DFA.from_"),
    (from_automata_lib, GNFA.from_nfa(NFA.from_regex("a")), "GNFA is no DFA of automata-lib; give an automata.fa"),
    (from_automata_lib, EVEN, "Dfa is no DFA of automata-lib"),
    (from_automata_lib, "a*b", "str is no DFA of automata-lib"),
    (to_automata_lib, EVEN.as_moore(), "MooreMachine is no Dfa; automata-lib has no machine with outputs"),
    (to_automata_lib, NFA.from_regex("a"), "NFA is no Dfa"),
    (from_networkx, nx.DiGraph(), "DiGraph is no MultiDiGraph, whose edges have symbols as their keys"),
    (from_networkx, EVEN, "Dfa is no MultiDiGraph"),
]


def test_another_kind_of_machine_is_refused_by_name() -> None:
    for convert, machine, said in OTHERS:
        assert refusal(convert, machine, error=AutomatonError).startswith(said)
