"""Machines as other people's programs write them: read back as they were, or refused by what they are."""

import re
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from xml.sax.saxutils import escape

import networkx as nx
import pytest
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA
from hypothesis import given, settings
from hypothesis import strategies as st

import languages
from languages.automata import Dfa, MooreMachine
from languages.convert.att import from_att
from languages.convert.automata_lib import from_automata_lib
from languages.convert.dot import from_dot
from languages.convert.files import READERS, load
from languages.convert.graph import from_networkx
from languages.convert.jflap import from_jflap
from languages.convert.reading import Reading
from languages.errors import AutomatonError
from tests.languages.refusing import is_like, outcome, refusal

EMPTY, DETERMINISE, LABELS = Reading(empty=True), Reading(determinise=True), Reading(outputs="labels")
LONGEST = 6


@dataclass(frozen=True)
class Plain:
    """A machine as a table of the test's own, whose first state is initial."""

    alphabet: tuple[str, ...]
    step: dict[tuple[int, str], int]
    written: dict[tuple[int, str], str]  # a Mealy machine's outputs
    shown: tuple[str, ...]  # a Moore machine's outputs
    accepts: tuple[bool, ...]

    def last(self, word: tuple[str, ...]) -> dict[str, bool | str | None]:
        """Whether a word is accepted, its output of a Moore machine and of a Mealy machine, which may be None."""
        state, output = 0, None
        for symbol in word:
            state, output = self.step[state, symbol], self.written[state, symbol]
        return {"dfa": self.accepts[state], "moore": self.shown[state], "mealy": output}


@st.composite
def plains(draw: st.DrawFn, alphabets: tuple[tuple[str, ...], ...] = (("0", "1"), ("a", "b", "/"))) -> Plain:
    """Machines of up to four states."""
    alphabet, count = draw(st.sampled_from(alphabets)), draw(st.integers(1, 4))
    keys, outputs = list(product(range(count), alphabet)), st.sampled_from(("0", "no", "b c", "x|y", "f(a,b)"))
    step = {key: draw(st.integers(0, count - 1)) for key in keys}
    shown = tuple(draw(outputs) for _ in range(count))
    accepts = tuple(draw(st.booleans()) for _ in range(count))
    return Plain(alphabet, step, {key: draw(outputs) for key in keys}, shown, accepts)


def says(machine: Dfa | MooreMachine, words: list[tuple[str, ...]]) -> list[bool | str | None]:
    """The machine's answers to words of one length."""
    place = {symbol: i for i, symbol in enumerate(machine.alphabet)}
    batch = [[place[symbol] for symbol in word] for word in words]
    if isinstance(machine, Dfa):
        return [bool(flag) for flag in machine.accepts(batch)]
    return [None if i < 0 else machine.output_names[i] for i in machine.answers(batch)]


def assert_equal(machine: Dfa | MooreMachine, plain: Plain, kind: str = "dfa") -> None:
    """All words up to length 6 have the answers of the test's own machine; of Mealy machines all but the empty one."""
    assert set(machine.alphabet) == set(plain.alphabet)
    for length in range(kind == "mealy", LONGEST + 1 if len(plain.alphabet) == 2 else LONGEST):
        words = list(product(plain.alphabet, repeat=length))
        assert says(machine, words) == [plain.last(word)[kind] for word in words]


def quoted(text: str) -> str:
    """A string of DOT."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def aalpy(plain: Plain, kind: str) -> str:
    """As `save_automaton_to_file` of AALpy writes it."""
    lines = ["digraph learned {"]
    for q in range(len(plain.shown)):
        shape = ", shape=doublecircle" if kind == "dfa" and plain.accepts[q] else ""
        label = f"s{q}|{plain.shown[q]}" if kind == "moore" else f"s{q}"
        record = ", shape=record, style=rounded" if kind == "moore" else ""
        lines.append(f"s{q} [label={quoted(label)}{shape}{record}];")
    for (q, symbol), target in plain.step.items():
        output = f"/{plain.written[q, symbol]}" if kind == "mealy" else ""
        lines.append(f"s{q} -> s{target}  [label={quoted(symbol + output)}];")
    return "\n".join([*lines, '__start0 [label="", shape=none];', '__start0 -> s0  [label=""];', "}"])


def learnlib(plain: Plain, kind: str) -> str:
    """As LearnLib and the Automata Wiki write it."""
    lines = ["digraph g {", '__start0 [label="" shape="none" width="0" height="0"];', ""]
    for q in range(len(plain.shown)):
        shape = "doublecircle" if kind == "dfa" and plain.accepts[q] else "circle"
        label = f"{{ s{q} | {plain.shown[q]} }}" if kind == "moore" else str(q)
        lines.append(f"\ts{q} [shape={quoted(shape)} label={quoted(label)}];")
    for (q, symbol), target in plain.step.items():
        output = f" / {plain.written[q, symbol]}" if kind == "mealy" else ""
        lines.append(f"\ts{q} -> s{target} [label={quoted(symbol + output)}];")
    return "\n".join([*lines, "", "__start0 -> s0;", "}"])


def jflap(plain: Plain, kind: str) -> str:
    """As JFLAP 7 writes it, &#13; at the ends of lines."""
    head = '<?xml version="1.0" encoding="UTF-8" standalone="no"?><!--Created with JFLAP 7.1.--><structure>'
    lines = [head, f"<type>{'fa' if kind == 'dfa' else kind}</type>", "<automaton>"]
    for q, shown in enumerate(plain.shown):
        marks = "<initial/>" * (q == 0) + "<final/>" * (kind == "dfa" and plain.accepts[q])
        output = f"<output>{escape(shown)}</output>" * (kind == "moore")
        lines.append(f'<state id="{q}" name="q{q}">&#13;\n<x>80.0</x><y>9.0</y>{marks}{output}</state>')
    for (q, symbol), target in plain.step.items():
        output = {"mealy": plain.written[q, symbol], "moore": plain.shown[target]}.get(kind)
        written = f"<transout>{escape(output)}</transout>" if output else ""
        lines.append(
            f"<transition>&#13;<from>{q}</from>&#13;<to>{target}</to><read>{symbol}</read>{written}</transition>"
        )
    return "&#13;\n".join([*lines, "</automaton>", "</structure>"]).removesuffix("&#13;\n")


def att(plain: Plain, fields: Callable[[str], str], weight: str = "") -> str:
    """As OpenFST, foma and HFST write an acceptor."""
    # The first line's state is the initial one.
    lines = [f"{q}\t{target}\t{fields(symbol)}{weight}" for (q, symbol), target in plain.step.items()]
    return "\n".join([*lines, *(f"{q}{weight}" for q in range(len(plain.shown)) if plain.accepts[q]), ""])


def one_state(symbol: str, kind: str, output: str = "", accepts: bool = True) -> str:
    """A JFLAP file of one state and one transition."""
    step = (0, symbol)
    return jflap(Plain((symbol,), {step: 0}, {step: output}, ("y",), (accepts,)), kind)


@pytest.mark.parametrize("kind", ["dfa", "moore", "mealy"])
@settings(max_examples=40)
@given(plain=plains())
def test_what_others_write_is_read_as_it_was(kind: str, plain: Plain) -> None:
    assert_equal(from_jflap(jflap(plain, kind), how=EMPTY), plain, kind)
    if "/" not in plain.alphabet or kind != "mealy":
        assert_equal(from_dot(aalpy(plain, kind), how=EMPTY), plain, kind)
        assert_equal(from_dot(learnlib(plain, kind), how=EMPTY), plain, kind)


@settings(max_examples=40)
@given(plain=plains((("0", "1"), ("coin", "button", "κ"))))
def test_att_text_is_read_as_it_was(plain: Plain) -> None:
    for weight in ("", "\t0", "\t0.000000"):
        both = from_att(att(plain, lambda symbol: f"{symbol}\t{symbol}", weight), how=EMPTY)
        assert_equal(both, plain)
        if weight != "\t0":  # a whole number behind one label may be an output
            alone = from_att(att(plain, lambda symbol: symbol, weight), how=EMPTY)
            assert alone.alphabet == both.alphabet
            assert_equal(alone, plain)


def outputs(text: str, how: Reading = EMPTY) -> dict[str, str | None]:
    machine = from_dot(text, how=how)
    assert isinstance(machine, MooreMachine)
    return machine.named_outputs


def test_a_mealy_machine_says_nothing_of_the_empty_word() -> None:
    """Where its initial state is always entered with one output, that is the empty word's; else it has no answer."""
    one = 'digraph { __start0 -> p; p -> p [label="a/no"]; p -> q [label="b/yes"]; q -> p [label="a/no, b/no"] }'
    assert outputs(one) == {"p": "no", "q": "yes"}
    several = one.replace("b/no", "b/yes")
    assert outputs(several) == {"p": None, "p (no)": "no", "q": "yes", "p (yes)": "yes"}
    assert says(from_dot(several), [()]) == [None]


def test_outputs_that_stand_alone_in_the_states_are_offered() -> None:
    """As LearnLib draws some Moore machines: no name in the label, and names of states that nobody reads."""
    text = 'digraph { s0 [label="N"]; s1 [label="A"]; s2 [label="N"]; __start0 -> s0; s0 -> s1 -> s2 -> s0 [label=d] }'
    offered = ";outputs=labels behind the file's name if the states' labels are outputs"
    assert offered in refusal(from_dot, text, error=AutomatonError)
    assert outputs(text, LABELS) == {"s0": "N", "s1": "A", "s2": "N"}


def test_a_file_that_accepts_nothing_is_a_question(tmp_path: Path) -> None:
    """One guard for all: no ending is left out, nor a form without files."""
    texts = {
        ".json": '{"states":["p"],"alphabet":["a"],"transitions":{"p":{"a":"p"}},"initial":"p","accepting":[]}',
        ".jff": one_state("a", "dfa", accepts=False),
        **dict.fromkeys([".dot", ".gv"], "digraph { i [shape=point]; i -> p -> p [label=a] }"),
        **dict.fromkeys([".att", ".txt"], "0 0 a a\n"),
    }
    assert texts.keys() == READERS.keys()
    graph: nx.MultiDiGraph[str] = nx.MultiDiGraph(initial="p")
    graph.add_edge("p", "p", key="a")
    asked = [(from_networkx, graph), (from_automata_lib, DFA.empty_language({"a"}))]
    for ending, text in texts.items():
        path = tmp_path / f"nothing{ending}"
        path.write_text(text)
        assert not languages.get(f"dfa:{path};empty=true").machine.outputs[0]
        asked.append((languages.get, f"dfa:{path}"))
    question = "no state accepts and none has an output.*mark the accepting states.*;empty=true"
    for read, machine in asked:
        assert re.search(question, refusal(read, machine, error=AutomatonError))


NFA_DOT = (
    'digraph { i [shape=point]; i->q0; q0->q0 [label="a,b"]; q0->q1 [label=a]; q1->q2 [label=b]; q2 [peripheries=2] }'
)
EPSILON = 'digraph { i [shape=point]; i->p; p->p [label=a]; p->q [label="%s"]; q->q [label=b]; q [peripheries=2] }'


def test_a_nondeterministic_automaton_is_refused_and_made_deterministic_on_request(tmp_path: Path) -> None:
    path = tmp_path / "a;b=c;d.dot"
    path.write_text(NFA_DOT)
    task = languages.get(f"dfa:{path};determinise=true")
    assert task.name == f"dfa:{path};determinise=true"
    assert task.machine.equivalent(Dfa.from_regex("(a|b)*ab").as_moore())
    for option, message in {
        "": "nondeterministic automaton; write ;determinise=true behind the file's name",
        ";determinize=true": "has no parameter 'determinize'; did you mean 'determinise'?",
        ";determinise=yes": "determinise is 'yes'; it is true or false",
        ";outputs=names": "outputs is 'names'; it is labels",
    }.items():
        assert message in refusal(languages.get, f"dfa:{path}{option}")


@pytest.mark.parametrize("word", ["ε", "λ", "eps", "epsilon", "<eps>"])
def test_an_empty_word_at_an_arrow_is_no_symbol(word: str) -> None:
    text = EPSILON % word
    with pytest.raises(AutomatonError, match="line 1: the transition 'p' -> 'q' reads no symbol, as in a nondet"):
        from_dot(text)
    machine = from_dot(text, how=DETERMINISE)
    assert isinstance(machine, Dfa)
    assert machine == Dfa.from_regex("a*b*")
    assert from_dot(f'digraph {{ alphabet="a,b,{word}" ' + text[9:]).alphabet == ("a", "b", word)


@given(st.data())
def test_determinising_agrees_with_automata_lib(data: st.DataObject) -> None:
    """Random nondeterministic automata with silent moves, against another implementation."""
    count = data.draw(st.integers(1, 5))
    states = st.integers(0, count - 1)
    moves = data.draw(st.lists(st.tuples(states, states, st.sampled_from(["a", "b", ""])), max_size=12))
    final = data.draw(st.sets(states, min_size=1))
    moves = [(0, 0, "a"), *moves, (count - 1, count - 1, "b")]  # the file names its symbols by its arrows
    text = "".join(f"{p}\t{q}\t{symbol or '<eps>'}\n" for p, q, symbol in moves)
    ours = from_att(text + "".join(f"{q}\n" for q in final), how=DETERMINISE)
    delta: dict[int, dict[str, set[int]]] = {q: {} for q in range(count)}
    for p, q, symbol in moves:
        delta[p].setdefault(symbol, set()).add(q)
    theirs = DFA.from_nfa(
        NFA(states={*delta}, input_symbols={*"ab"}, transitions=delta, initial_state=0, final_states=final)
    )
    for length in range(LONGEST + 1):
        words = list(product("ab", repeat=length))
        assert says(ours, words) == [theirs.accepts_input("".join(word)) for word in words]


START = "digraph {\n__start0 -> p\n"
OTHER_KINDS = {
    "a pushdown automaton: transitions push": 'p -> q [label="( / push(()"]; q -> p [label=") / pop(()"]',
    "a pushdown automaton: transitions push and": """p -> p [label="1"]; p -> p [label=") / ('p', '(')"]""",
    "a pushdown automaton: transitions read": 'p -> p [label="a,Z/AZ"]; p -> q [label="b, A / "]',
    "a pushdown automaton: transitions read and": 'p -> q [label="a, Z → AZ"]; q -> p [label="b, A → ε"]',
    "a Turing machine": 'p -> q [label="0/1,R"]; q -> p [label="1/1, L"]',
    "a Markov decision process": 'p -> q [label="go:0.25"]; p -> p [label="go:0.75"]; q -> q [label="go:1"]',
    "a stochastic Mealy machine": 'p -> q [label="go/x:0.25"]; p -> p [label="go/y:0.75"]; q -> q [label="go/x:1.0"]',
    "a Markov chain": "p -> q [label=0.25]; p -> p [label=0.75]; q -> q [label=1.0]",
    "nondeterministic Mealy machine; a word has one": 'p -> q [label="a/x"]; p -> p [label="a/y"]',
    "nondeterministic Moore machine; a word has one": 'p [label="p|1"]; q [label="q|0"]; p -> q -> p -> p [label=a]',
    "a subsequential transducer": 'p [label="0 / x"]; q [label="1 / ε"]; p -> q -> p [label="a / x"]',
    "a transducer that writes nothing": 'p -> q [label="a/x"]; q -> p [label="a/ε"]',
    "a transducer, which is not read": 'p [peripheries=2]; p -> q [label="a/x"]; q -> p [label="a/y"]',
}


def test_drawings_of_another_kind_are_refused_by_its_name() -> None:
    for kind, text in OTHER_KINDS.items():
        assert kind in refusal(from_dot, f"{START}{text} }}", "x.dot", DETERMINISE, error=AutomatonError)


REFUSED = [
    (from_dot, START + 'p -> q [label="a/x"]; q -> p [label=b] }', "'a/x' has an output behind … other transitions"),
    (from_dot, START + 'p -> q [label="a/x"]; q -> p [label="b/y"] }', "state 'p' has no transition for 'b'; add one"),
    (from_dot, START + 'p [label="a|b", peripheries=2]; p -> p [label=a] }', "some states accept, and the label 'a|b'"),
    (from_dot, START + 'p -> p [label="xx y, xx_y"] }', "the symbols 'xx y' and 'xx_y' are too alike; rename one"),
    (from_dot, START + 'p [peripheries=2]; p -> p [label="a\u202eb"] }', "the symbol 'a\\u202eb' … that cannot"),
    (from_dot, START + 'p [label="p|\x1b[31m"]; p -> p [label=a] }', "the output '\\x1b[31m' … character that cannot"),
    (from_att, "", "the file is empty; a line is"),
    (from_att, "hello world\n", "line 1: 'hello world' is no line of an acceptor; a line is 'source target label'"),
    (from_att, "0 1 a a 0.5\n1\n", "line 1: a weighted automaton (weight 0.5), which is not read"),
    (from_att, "0 1 a\n1 0.5\n", "line 2: a weighted automaton (weight 0.5)"),
    (from_att, "0 1 a <eps>\n1\n", "line 1: a transducer that writes '<eps>' for 'a', more or less than it reads"),
    (from_att, "0 1 a b\n1\n", "a transducer, which is not read; leave the outputs"),
    (from_att, "0 1 a\n0 0 a\n1\n", "line 2: state '0' has a second transition for 'a', as in a nondeterministic"),
    (from_jflap, "<structure><type>pda</type></structure>", "a pushdown automaton; of JFLAP's files finite automata"),
    (from_jflap, "<structure><type>turing</type></structure>", "a Turing machine; of JFLAP's files"),
    (from_jflap, "<structure><type>grammar</type></structure>", "a grammar; of JFLAP's files"),
    (from_jflap, "<structure><type>re</type></structure>", "a regular expression, which regex:EXPRESSION reads; of"),
    (from_jflap, "<html></html>", "no machine of JFLAP's (type ''); of"),
    (from_jflap, "<structure>", "not XML (no element found: line 1, column 11)"),
    (from_jflap, "<!DOCTYPE x [<!ENTITY a 'b'>]><structure/>", "the file has a document type, … JFLAP does not write"),
    (from_jflap, one_state("ab", "dfa"), "reads 'ab', which to JFLAP"),
    (from_jflap, one_state("a", "dfa").replace("<to>0", "<to>9"), "leads from or to state '9'"),
    (from_jflap, one_state("a", "mealy"), "reads 'a' writes nothing"),
    (from_jflap, one_state("", "dfa"), "reads no symbol, as in a nondet"),
]  # fmt: skip


@pytest.mark.parametrize(("read", "text", "message"), REFUSED)
def test_what_is_no_machine_of_ours_is_refused_with_the_reason(read: Callable, text: str, message: str) -> None:
    said = refusal(read, text, "x")
    assert is_like(said, f"x…{message}…")
    assert said.isprintable()


def test_labels_are_read_as_their_authors_mean(tmp_path: Path) -> None:
    tower = 'digraph { f [style=invisible]; f -> "a, []" -> "a, []" [label="move d1"]; "a, []" [peripheries=2] }'
    machine = from_dot(tower)
    assert (machine.states, machine.alphabet) == (("a, []",), ("move_d1",))
    assert from_dot(tower.replace("move d1", "0 1")).alphabet == ("0", "1")
    ranked = "digraph { subgraph cluster_x { node [shape=doublecircle]; q1 } {rank=same; q0 q1} i [shape=point]; "
    ranked += "i:s->q0:n; q0->q1 [label=a]; q1->q0 [label=a]; {rank=same q0 -> q1 [style=invis]} }"
    assert from_dot(ranked) == Dfa(("q1", "q0"), "a", ((1,), (0,)), "q0", {"q1"})
    marked = tmp_path / "mark.dot"
    marked.write_text(NFA_DOT.replace(" q0->q1 [label=a];", ""), encoding="utf-8-sig")
    assert load(marked, EMPTY).alphabet == ("a", "b")
    lines = from_dot(r'digraph { __start0 -> "q\nodd"; "q\nodd" -> "q\nodd" [label="0\n1"]; "q\nodd" [peripheries=2] }')
    assert (lines.states, lines.alphabet) == (("q odd",), ("0", "1"))
    slashed = from_dot('digraph { alphabet="a/b,c" i [shape=point]; i -> p -> p [label="a/b,c"]; p [peripheries=2] }')
    assert slashed.alphabet == ("a/b", "c")
    tcp = START + 'p -> p [label="ACK(V,V,0)/RST(ZERO,ZERO,0)"]; p -> p [label="0,1/Pub(a,b)"] }'
    assert from_dot(tcp).alphabet == ("0", "1", "ACK(V,V,0)")
    assert {*outputs(tcp).values()} - {None} == {"Pub(a,b)", "RST(ZERO,ZERO,0)"}
    assert says(from_dot(START + 'p -> p [label="a / x, b / y"] }'), [("a",), ("b",)]) == ["x", "y"]
    assert outputs(START + r'p [shape=record, label="{<n> p\|q | <o> f\|g}"]; p -> p [label=a] }') == {"p": "f|g"}


SEEDS = [
    NFA_DOT,
    '"\n"',
    '{"states": ["p"], "alphabet": ["a"], "transitions": {"p": {"a": "p"}}, "initial": "p", "outputs": {"p": null}}',
    EPSILON % "ε",
    one_state("a", "mealy", "x"),
    "0\t1\ta\ta\n1\t0\tb\tb\n1\t0.0\n",
    START + 'p -> q [label="0/no"]; q -> p [label="0 / yes, 1 / no"] }',
]


@settings(max_examples=200)
@given(
    st.sampled_from(SEEDS) | st.text('digraph{}[]"->;=, \n\\/*#<ablep0', max_size=40),
    st.lists(st.tuples(st.integers(0, 10**6), st.text('ab/|{}<>[]"\\;:,=\n\t0.ε \u202e&!', max_size=4))),
)
def test_any_file_is_read_or_refused_in_one_line(text: str, changes: list[tuple[int, str]]) -> None:
    for at, new in changes:
        at %= len(text) + 1
        text = text[:at] + new + text[at + 1 :]
    for read, how in product(READERS.values(), (DETERMINISE, LABELS)):
        assert outcome(read, text, "x", how).isprintable()


def test_files_that_would_grow_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """2**20 subsets, many lines, many tags, a long label: each limit is a count, and LANGUAGES_BUDGET moves it."""
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.01")
    chain = "".join(f"{i} {i + 1} a\n{i} {i + 1} b\n" for i in range(1, 21))
    growing = "0 0 a\n0 0 b\n0 1 a\n" + chain + "21\n"
    refused = [
        (from_att, growing, "to make it deterministic takes|made deterministic it has"),
        (from_att, "0\n" * 2**15, "there are 32,768 lines"),
        (from_jflap, "<a/>" * 2**16, "the file has 65,536 tags"),
        (from_dot, START + f'p -> p [label="{"a/b," * 9000}"] }}', "a label has 36,000 characters"),
    ]
    tracemalloc.start()
    for read, text, message in refused:
        assert re.search(message, refusal(read, text, "x", DETERMINISE))
    assert tracemalloc.get_traced_memory()[1] < 2**26
    tracemalloc.stop()
