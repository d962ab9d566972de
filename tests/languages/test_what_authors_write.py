"""What authors write in drawings, tables and expressions is read as they mean it, or asked about in one line."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from languages.automata import Dfa, MooreMachine
from languages.convert.dot import from_dot
from languages.convert.reading import Reading
from languages.errors import AutomatonError, LanguageError
from languages.unknown.cells import WordRow, meant
from languages.unknown.table import one_each, rows_of
from regulargpt.data import read_data
from regulargpt.data.given import GivenData
from tests.languages.random_machines import dfas
from tests.languages.refusing import is_like, refusal

LONGEST = 5
Word = tuple[str, ...]
EMPTY = Reading(empty=True)


def assert_means(dfa: Dfa | MooreMachine, alphabet: Sequence[str], is_member: Callable[[Word], object]) -> None:
    """The alphabet, and all words of up to five symbols."""
    assert isinstance(dfa, Dfa)
    assert set(dfa.alphabet) == set(alphabet)
    place = {symbol: i for i, symbol in enumerate(dfa.alphabet)}
    for length in range(LONGEST + 1):
        words = list(product(alphabet, repeat=length))
        found = dfa.accepts([[place[symbol] for symbol in word] for word in words])
        assert found.tolist() == [bool(is_member(word)) for word in words]


def drawing(*labels: str) -> str:
    """Of two states, with arrows from p to q, which accepts."""
    arrows = "".join(f'p -> q [label="{label}"]; ' for label in labels)
    return f"digraph {{ i [shape=point]; i -> p; q [shape=doublecircle]; {arrows}}}"


# The labels of the arrows from p to q; the symbols; which of them lead from p to q.
LABELS = [
    (["(x, 1)", "(y,0)"], "(x,1) (y,0)", "(x,1) (y,0)"),
    (["(x, 1), z"], "(x,1) z", "(x,1) z"),
    (["((0, 1), 2)", "('(', ')')"], "((0,1),2) ('(',')')", "((0,1),2) ('(',')')"),
    (["(a,)", "[0, 1]", "ACK(0, 1)"], "(a,) [0,1] ACK(0,1)", "(a,) [0,1] ACK(0,1)"),
    (["(, )"], "( )", "( )"),
    (["(,[,],)"], "( [ ] )", "( [ ] )"),
    (["(", "a,)"], "( a )", "( a )"),
    (["frozenset({'b', 'a'})", "frozenset({'a','b'})"], "{'a','b'}", "{'a','b'}"),
    ([r"\{a\, b\}"], "{a,_b}", "{a,_b}"),
    (["a-e"], "a b c d e", "a b c d e"),
    (["[a-c]", "0..2"], "a b c 0 1 2", "a b c 0 1 2"),
    (["[a-cx]"], "a b c x", "a b c x"),
    ([r"A\-B", "B-A"], "A-B B-A", "A-B B-A"),
    (["a|b", "go | stop"], "a b go stop", "a b go stop"),
    (["|", "a"], "| a", "| a"),
    (["a", "0 1"], "a 0 1", "a 0 1"),
    (["0 | 1", "(x,y) | z"], "0 1 (x,y) z", "0 1 (x,y) z"),
    (["a & !b", "b"], "a&b a&!b !a&b !a&!b", "a&!b a&b !a&b"),
    (["~(a | b)", "a && b"], "a&b a&!b !a&b !a&!b", "!a&!b a&b"),
    (["!a"], "a !a", "!a"),
    (["a & b", "else"], "a&b a&!b !a&b !a&!b", "a&b a&!b !a&b !a&!b"),
    (["a ∧ true"], "a !a", "a"),
    ([r"\!a", "b"], "!a b", "!a b"),
    (["!a", "?b"], "!a ?b", "!a ?b"),
    (["&", "|", "!", "0", "1"], "& | ! 0 1", "& | ! 0 1"),
]


@pytest.mark.parametrize(("labels", "alphabet", "leading"), LABELS, ids=[" ".join(row[0]) for row in LABELS])
def test_labels_stand_for_the_symbols_that_their_author_means(labels: list[str], alphabet: str, leading: str) -> None:
    machine = from_dot(drawing(*labels))
    assert_means(machine, alphabet.split(), lambda word: len(word) == 1 and word[0] in leading.split())


def test_else_is_every_symbol_that_no_other_arrow_of_the_state_has() -> None:
    text = 'digraph { i [shape=point]; i -> p; p -> p [label=else]; p -> q [label="a, b"]; q -> q [label="Σ"]; '
    text += "q [peripheries=2]; r -> p [label=c]; }"
    assert_means(from_dot(text), "abc", lambda word: "a" in word or "b" in word)
    listed = text.replace("digraph {", 'digraph { alphabet="a,b,c,d"')
    assert_means(from_dot(listed), "abcd", lambda word: "a" in word or "b" in word)
    assert from_dot(listed.replace("c,d", "c,d,else,Σ"), how=EMPTY).alphabet == ("a", "b", "c", "d", "else", "Σ")
    assert from_dot(drawing("if", "then", "else")).alphabet == ("else", "if", "then")
    mealy = from_dot('digraph { __start0 -> p; p -> p [label="a/x"]; p -> p [label="else/y"]; q -> p [label="b/z"] '
                     'q -> p [label="otherwise / z"] }')  # fmt: skip
    assert isinstance(mealy, MooreMachine)
    assert [mealy.output_names[mealy.answers(symbol).item()] for symbol in "ab"] == ["x", "y"]


ASKED = [
    (["{a, b}"], r"x, line 1: '{a, b}' may be one symbol or several; write 'a, b' for several, or \{a\, b\} for one"),
    (["{a|b}"], r"x, line 1: '{a|b}' may be one symbol or several; write 'a|b' for several, or \{a\|b\} for one"),
    (["(a|b)"], r"x, line 1: '(a|b)' may be one symbol or several; write 'a|b' for several, or \(a\|b\) for one"),
    (["[abc]"], r"x, line 1: '[abc]' may be one symbol or several; write 'a, b, c' for several, or \[abc\] for one"),
    (["[^a]"], r"x, line 1: '[^a]' may be one symbol or several; write 'else' for several, or \[\^a\] for one"),
    (["A-B"], r"x, line 1: 'A-B' may be one symbol or several; write '[A-B]' for several, or A\-B for one"),
    (["0,...,9"], "x, line 1: '...' leaves symbols out; write each, or a class, as in [0-9]"),
    (["a & b", "x>3"], r"x: 'a & b' is a formula, and 'x>3' is none; write formulas at all arrows, or a \& b for one…"),
    (["!a", "b"], r"x: '!a' may be one symbol, or all others; write \!a for one, or the others' names for those"),
    (["&".join("abcdeghijklmn")], "x: the formulas have 13 propositions; at most 12 are read"),
]


@pytest.mark.parametrize(("labels", "message"), ASKED, ids=[row[0][0] for row in ASKED])
def test_labels_that_may_mean_two_things_are_asked_about(labels: list[str], message: str) -> None:
    """And each remedy is read."""
    said = refusal(from_dot, drawing(*labels), "x", error=AutomatonError)
    assert is_like(said, message)
    several, one = re.search("write '(.*)' for several", said), re.search(r".*(?:, or|write) (.*?) for one", said)
    if several:
        assert from_dot(drawing(several[1], "a"), how=Reading(determinise=True)).n_symbols > 0
    if one:
        assert from_dot(drawing(one[1])).n_symbols == 1


INFINITE = [r"\n[Büchi]", "Inf(0)&Fin(1)", "[co-Büchi]", "a Buchi automaton", "[parity max odd 3]", "[Rabin 2]"]


@pytest.mark.parametrize("title", INFINITE)
def test_automata_of_infinite_words_are_refused_by_name(title: str) -> None:
    text = drawing("a & !b", "1").replace("digraph {", f'digraph {{ label="{title}"')
    said = refusal(from_dot, text, "x", error=AutomatonError)
    assert re.match(r"x: an automaton of infinite words \((?i:b.*chi|inf|parity max|rabin)\), which is not", said)
    assert set(from_dot(text.replace(title, "parity of ones")).alphabet) == {"a&b", "a&!b", "!a&b", "!a&!b"}


# As pyformlang 1.0 writes it: `DeterministicFiniteAutomaton.write_as_dot`.
PYFORMLANG = """digraph {
0 [is_start=True, is_final=False, peripheries=1, label=0];
starting_0 [label="", shape=None, height=0.0, width=0.0];
"q 1" [is_start=False, is_final=True, peripheries=2, label="q 1"];
0 -> "q 1" [key=0, label="(1, 'x')"];
starting_0 -> 0 [key=0];
"q 1" -> 0 [key=0, label="a|b"];
"q 1" -> "q 1" [key=0, label=else];
"q 1" -> "q 1" [key=1, label="a, b"];
}
"""


def test_a_drawing_of_pyformlang_has_one_symbol_at_an_arrow() -> None:
    tuple_, bar, comma = "(1,'x')", "a|b", "a,b"

    def is_member(word: Word) -> bool:
        text = "".join({tuple_: "t", bar: "|", "else": "e", comma: "e"}[symbol] for symbol in word)
        return re.fullmatch(r"t(e|\|t)*", text) is not None

    assert_means(from_dot(PYFORMLANG), (tuple_, bar, "else", comma), is_member)
    silent = PYFORMLANG.replace("label=else", "label=ɛ")
    assert "reads no symbol" in refusal(from_dot, silent, error=AutomatonError)
    for label, kind in (
        (r"\"a\" -> [\"x\"]", "a transducer"),
        (r"\"a\" -> \"Z\" / [\"X\", \"Z\"]", "a pushdown autom"),
    ):
        one = re.sub("(key=[0-9], label=)([^]]*)", lambda match, label=label: f'{match[1]}"{label}"', PYFORMLANG)
        assert refusal(from_dot, one, error=AutomatonError).startswith(f"<text>: {kind}")


# How each kind of drawing shows symbols, and the label of those that lead from one state to another.
DIALECTS: dict[str, tuple[dict[str, str], Callable[[list[str]], str]]] = {
    "tuples": ({a: f"({a},0)" for a in "abcd"}, lambda symbols: ", ".join(f"({a}, 0)" for a in symbols)),
    "alternatives": ({a: a for a in "abcd"}, lambda symbols: " | ".join(symbols)),
    "classes": ({a: a for a in "abcd"}, lambda symbols: ",".join(f"[{a}-{a}]" for a in symbols)),
    "formulas": (
        {"a": "p&q", "b": "p&!q", "c": "!p&q", "d": "!p&!q"},
        lambda symbols: " | ".join({"a": "(p & q)", "b": "p & !q", "c": "~p&q", "d": "!(p || q)"}[a] for a in symbols),
    ),
}


def drawn(dfa: Dfa, label: Callable[[list[str]], str], otherwise: bool = False) -> str:
    """With an arrow for each two states; if `otherwise`, a state's last arrow says `else`, where another does not."""
    lines = [f"s [shape=point]; s -> {dfa.initial}", *(f"{q} [shape=doublecircle]" for q in dfa.accepting)]
    for state, row in dfa.transitions.items():
        targets: dict[str, list[str]] = {}
        for symbol, target in row.items():
            targets.setdefault(target, []).append(symbol)
        for number, (target, symbols) in enumerate(targets.items()):
            is_else = otherwise and 0 < number == len(targets) - 1
            lines.append(f'{state} -> {target} [label="{"else" if is_else else label(symbols)}"]')
    return "digraph { " + "; ".join(lines) + " }"


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=40)
@given(dfa=dfas("abcd"), otherwise=st.booleans())
def test_random_automata_are_read_as_they_were_in_each_dialect(dialect: str, dfa: Dfa, otherwise: bool) -> None:
    names, label = DIALECTS[dialect]
    otherwise = otherwise and dialect != "formulas"
    # `else` says nothing of a symbol that stands nowhere: a state that is not reached shows all.
    text = drawn(dfa, label, otherwise).removesuffix("}") + f'; z -> z [label="{label([*"abcd"])}"] }}'
    plain = {shown: symbol for symbol, shown in names.items()}

    def is_member(word: Word) -> bool:
        state = dfa.initial
        for symbol in word:
            state = dfa.transitions[state][plain[symbol]]
        return state in dfa.accepting

    assert_means(from_dot(text, how=EMPTY), [*plain], is_member)


# A file's rows, and what they are read as.
TABLES = [
    (["0110,True", "1,FALSE", "11,true"], {"0110": "true", "1": "false", "11": "true"}),
    (["0,True", "1,False"], {"0": "True", "1": "False"}),
    (["a,1", "b,1.0", "ab,2"], {"a": "1", "b": "1", "ab": "2"}),
    (["a,1.5", "b,A", "c,a", "d,01", "e,1"], {"a": "1.5", "b": "A", "c": "a", "d": "01", "e": "1"}),
    (["0110,0 0 1 0", "011,0 0 1"], {"0": "0", "01": "0", "011": "1", "0110": "0"}),
    (["a b,yes no", "a,yes"], {"a": "yes", "a b": "no"}),
    (["0,too short", "01,too short", "0123,0123"], {"0": "too short", "01": "too short", "0123": "0123"}),
    (['"a, b",1', "b,0"], {"a b": "1", "b": "0"}),
    (['"push, pop, push",1'], {"push pop push": "1"}),
    (['"[1,2]",1', '"[1]",0'], {"[1,2]": "1", "[1]": "0"}),
    (['"a , b",1'], {"a , b": "1"}),
]


def read_rows(rows: list[str]) -> dict[str, WordRow]:
    return one_each(meant(list(rows_of("\n".join(["word,answer" + ",split" * rows[0].endswith("train"), *rows]), ","))))


@pytest.mark.parametrize(("rows", "answers"), TABLES, ids=[" ".join(rows) for rows, _ in TABLES])
def test_tables_are_read_as_their_author_means(rows: list[str], answers: dict[str, str]) -> None:
    assert {word: row.answer for word, row in read_rows(rows).items()} == answers


ASKED_OF_TABLES = [
    (["a,Yes", "b,yes"], "line 3: the answer 'yes', and 'Yes' on line 2, may be one; write it in one way, or give …"),
    (["a,True", "b,0", "c,1"], "line 4: the answer '1', and 'True' on line 2, may be one; …"),
    (["ab,0 1", "abc,0 1"], None),
    (["ab,0 1", "abc,0 0"], "line 3: the answer '0 0' has 2 parts, and the word 3 symbols, while other answers have …"),
    (["ab,0 1", "a,1"], "line 3: the beginning 'a' has the answer '1', and '0' on line 2; give each symbol one …"),
    (['"a,b",1'], "line 2: in the word 'a,b' a comma may be a symbol; write 'a b' if it parts symbols, 'a , b' if …"),
    (['"a, b",1', "a b,0"], "line 2: the file has the symbols 'a,' and 'a'; write blanks between …"),
    (["a,1,train", "b,1,dev"], "line 3: the split is 'dev'; write train or test, or rename the column"),
    (["a,1,train", "b,1"], "line 3: the split is ''; write train or test, or rename the column"),
    (["a,1,train", "a,1,test", "b,1,train"], "line 3: the word 'a' has the split 'test', and 'train' on line 2; …"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "message"), ASKED_OF_TABLES, ids=[" ".join(rows) for rows, _ in ASKED_OF_TABLES])
def test_tables_that_may_mean_two_things_are_asked_about(rows: list[str], message: str | None) -> None:
    if message is None:  # one answer of two words fits a word by chance
        assert {row.answer for row in read_rows(rows).values()} == {"0 1"}
    else:
        assert is_like(refusal(read_rows, rows, error=AutomatonError), message)


def test_a_row_for_the_training_trains_on_its_beginnings() -> None:
    rows = ["011,0 0 1,train", "0110,0 0 1 0,test", "1,1,train"]
    assert {word: row.split for word, row in read_rows(rows).items()} == {
        **dict.fromkeys(["0", "01", "011", "1"], "train"),
        "0110": "test",
    }


def test_words_are_trained_on_and_tested_as_the_file_marks_them(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("word,answer,split\n0110,1,train\n1,0,test\n11,1,TEST\n00,0,train\n" + "0" * 40 + ",1,test\n")
    data = read_data(f"words:{path}")
    assert isinstance(data, GivenData)
    assert [data.is_tested(length) for length in (1, 2, 4, 40)] == [True, True, False, True]
    assert [data.has_length(length) for length in (1, 2, 4, 40)] == [False, True, True, False]
    assert data.test(0, 2, 10).tolist() == [[1, 1]]
    assert {tuple(word) for word in data.batch(0, "train", 0, [2], 20).tolist()} == {(0, 0)}
    marked = data.fingerprint()
    path.write_text(path.read_text().replace("TEST", "train"))
    assert read_data(f"words:{path}").fingerprint() != marked
    path.write_text(path.read_text().replace("00,1,test", "00,1,train"))
    long = read_data(f"words:{path}")
    assert isinstance(long, GivenData)
    said = refusal(lambda: replace(long, options=replace(long.options, train_len=10)))
    remedy = "own.csv has a word of 40 symbols for the training; write --train-len 40, or mark it test"
    assert is_like(said, f"data.train_len = 10: words:…{remedy}")


# An expression and the alphabet that is given; the same as Python's `re` has it.
EXPRESSIONS = [
    ("(0∪1)∗0", None, "(0|1)*0"),
    ("Σ*1Σ", "01", "[01]*1[01]"),
    ("Σ∗∩0*", "01", "0*"),
    ("(01)*∪ε", None, "(01)*|"),
    ("λ|0", None, "|0"),
    ("0·1⋅0", None, "010"),
    ("0∅1|1", None, "1"),
    ("∅*", "01", ""),
    ("1∅", "01", "(?!)"),
    ("(0+1)∗", None, "[01]*"),
    ("0+1+ε", None, "0|1|"),
    ("(0+1)·1", None, "(0|1)1"),
    ("0+1|ε", None, "0+1|"),
    ("0+1+", None, "0+1+"),
    ("(0+)1", None, "0+1"),
    ("0?1+0", None, "0?1+0"),
    ("ε∪λ*", "ελ", None),
    ("Σ·", "Σ·", "Σ·"),
    ("lambda", "abdlm", "lambda"),
]


@pytest.mark.parametrize(("pattern", "alphabet", "plain"), EXPRESSIONS, ids=[row[0] for row in EXPRESSIONS])
def test_expressions_mean_what_textbooks_mean(pattern: str, alphabet: str | None, plain: str | None) -> None:
    """A character of an alphabet that is given is a symbol."""
    plain = "ε|λ*" if plain is None else plain
    dfa = Dfa.from_regex(pattern, alphabet)
    assert_means(dfa, alphabet or "01"[: dfa.n_symbols], lambda word: re.fullmatch(plain, "".join(word)))


PLUS = "'+' may repeat what is before it, or be a union; write (a+)b or a|b"
ASKED_OF_EXPRESSIONS = [
    ("0+1", None, f"'0+1', position 2: {PLUS}"),
    ("(0+1)*00", None, f"'(0+1)*00', position 3: {PLUS}"),
    ("0|epsilon", None, "'0|epsilon', position 3: 'epsilon' are 7 symbols here; write () for the empty word, …"),
    ("lambda", "lamb", "'lambda', position 1: 'lambda' are 6 symbols here; write () for the empty word, …"),
    ("0·", None, "'0·', position 2: '·' joins what stands on both sides; add the other"),
    ("·0", None, "'·0', position 1: '·' is no symbol here; use it alone, or list it behind ;alphabet= to be one"),
    ("[ε0]", None, "'[ε0]', position 2: 'ε' is no symbol here; use it alone, or list it behind ;alphabet= to be one"),
    ("[∗0]", None, "'[∗0]', position 2: '*' is an operator and no symbol; …"),
    ("Σ∗", None, "'Σ∗' contains no symbol; give the alphabet too, as in regex:();alphabet=ab"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "alphabet", "message"), ASKED_OF_EXPRESSIONS)
def test_expressions_that_may_mean_two_things_are_asked_about(pattern: str, alphabet: str | None, message: str) -> None:
    assert is_like(refusal(Dfa.from_regex, pattern, alphabet, error=LanguageError), message)
