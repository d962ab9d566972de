"""Regular expressions: against Python's `re`, against sets of words, and what is refused with which message."""

import doctest
import re
from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from languages import get
from languages.automata import Dfa
from languages.budget import TooLarge
from languages.errors import LanguageError, UserError
from languages.regex.parser import parse
from languages.regex.tree import Concatenation, Intersection, Letters, Repetition, Shuffle, Union
from tests.languages.random_machines import members as members_of
from tests.languages.refusing import is_like, refusal

A, B, C = (Letters(frozenset(symbol)) for symbol in "abc")
WORDS = ["".join(word) for length in range(9) for word in product("ab", repeat=length)]
QUANTIFIERS = ["*", "+", "?", "{0}", "{0,0}", "{,0}", "{1}", "{2}", "{0,}", "{1,}", "{2,}", "{,1}", "{,2}", "{0,2}",
               "{1,3}", "{2,2}", "{,}"]  # fmt: skip
ATOMS = ["a", "b", ".", "[ab]", "[a-b]", "[b]", "[^a]", "[^ab]", "()"]


def members(dfa: Dfa, longest: int) -> set[str]:
    """All words over a, b up to a length that the automaton accepts."""
    return {dfa.decode(word) for length in range(longest + 1) for word in members_of(dfa, length)}


@pytest.mark.parametrize("quantifier", QUANTIFIERS)
def test_all_words_up_to_length_8_are_members_exactly_where_re_matches(quantifier: str) -> None:
    """Each quantifier of each kind of part; how parts are put together is tested below."""
    for part in (*ATOMS, "(ab)", "(a|)", "(|ab)", "(a*b?)", "(a|bb)"):
        pattern = f"b?{part}{quantifier}|a{part}"
        assert members(Dfa.from_regex(pattern, "ab"), 8) == {word for word in WORDS if re.fullmatch(pattern, word)}


Pair = tuple[str, set[str]]  # an expression, and its words of up to six symbols as sets are joined and shuffled


def interleaved(u: str, v: str) -> Iterator[str]:
    """All words made of u's and v's symbols, each in their order."""
    for places in combinations(range(len(u + v)), len(u)):
        first, second = iter(u), iter(v)
        yield "".join(next(first) if i in places else next(second) for i in range(len(u + v)))


def joined(operator: str, left: Pair, right: Pair) -> Pair:
    pairs = [(u, v) for u in left[1] for v in right[1] if len(u + v) <= 6]
    words = {
        "|": left[1] | right[1],
        "&": left[1] & right[1],
        "^": {word for u, v in pairs for word in interleaved(u, v)},
        "": {u + v for u, v in pairs},
    }
    return f"({left[0]}){operator}({right[0]})", words[operator]


def repeated(part: Pair, low: int, more: int | None) -> Pair:
    power, found = {""}, set()
    for times in range(7 if more is None else low + more + 1):
        found |= power if times >= low else set()
        power = {u + v for u in power for v in part[1] if len(u + v) <= 6}
    return f"({part[0]}){{{low},{'' if more is None else low + more}}}", found


def expressions() -> st.SearchStrategy[Pair]:
    """All operations, intersection and shuffle among them; how tightly they bind is seen in the trees below."""
    leaves: list[Pair] = [("a", {"a"}), ("b", {"b"}), ("[ab]", {"a", "b"}), ("()", {""})]

    def larger(smaller: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
        bounds = st.integers(0, 2), st.integers(0, 2) | st.none()
        return st.builds(joined, st.sampled_from("|&^") | st.just(""), smaller, smaller) | st.builds(
            repeated, smaller, *bounds
        )

    return st.recursive(st.sampled_from(leaves), larger, max_leaves=7)


@settings(max_examples=200)
@given(expressions())
def test_intersection_and_shuffle_are_those_of_sets_of_words(pair: Pair) -> None:
    assert members(Dfa.from_regex(pair[0], "ab"), 6) == pair[1]


TREES = [
    ("ab|c", Union((Concatenation((A, B)), C))),
    ("a|b&c", Union((A, Intersection((B, C))))),
    ("a&b^c", Intersection((A, Shuffle((B, C))))),
    ("a^bc", Shuffle((A, Concatenation((B, C))))),
    ("ab*", Concatenation((A, Repetition(B, 0, None)))),
    ("a{2}", Repetition(A, 2, 2)),
    ("(ab){1,3}", Repetition(Concatenation((A, B)), 1, 3)),
    ("a|", Union((A, Concatenation(())))),
    ("", Concatenation(())),
    ("[^a-c]", Letters(frozenset("abc"), negated=True)),
    ("[a-]", Letters(frozenset("a-"))),
    ("[-a]", Letters(frozenset("a-"))),
    (".", Letters(frozenset(), negated=True)),
]


@pytest.mark.parametrize(("pattern", "tree"), TREES)
def test_trees(pattern: str, tree: object) -> None:
    assert parse(pattern) == tree


SECOND = "a second quantifier, and there are no lazy ones; to repeat what is repeated write"
BOUNDS = "after '{' stands how often: write {n}, {n,}, {,n} or {n,m}"
REFUSED = [
    ("(", "'(', position 1: this bracket is never closed; add ')'"),
    ("(ab", "'(ab', position 1: this bracket is never closed; add ')'"),
    ("(a(b)", "'(a(b)', position 1: this bracket is never closed; add ')'"),
    ("a)b", "'a)b', position 2: this ')' closes no bracket; remove it, or add '(' before"),
    ("[ab", "'[ab', position 1: this bracket is never closed; add ']'"),
    ("a]", "'a]', position 2: this ']' closes no bracket; remove it"),
    ("a}", "'a}', position 2: this '}' closes no bracket; remove it"),
    ("*", "'*', position 1: '*' has nothing before it to repeat; write it after a symbol or a group"),
    ("**", "'**', position 1: '*' has nothing before it to repeat; write it after a symbol or a group"),
    ("a|+b", "'a|+b', position 3: '+' has nothing before it to repeat; write it after a symbol or a group"),
    ("(?:a)", "'(?:a)', position 2: '?' has nothing before it to repeat; a group is written (...)"),
    ("{2}", "'{2}', position 1: '{' has nothing before it to repeat; write it after a symbol or a group"),
    ("a**", f"'a**', position 3: {SECOND} (a*)*"),
    ("a+?", f"'a+?', position 3: {SECOND} (a+)?"),
    ("ba{2,3}?", f"'ba{{2,3}}?', position 8: {SECOND} (a{{2,3}})?"),
    ("(ab){2}{3}", f"'(ab){{2}}{{3}}', position 8: {SECOND} ((ab){{2}}){{...}}"),
    ("a{5,2}", "'a{5,2}', position 2: {5,2} is at least 5 and at most 2 times; write {2,5}"),
    ("a{", f"'a{{', position 2: {BOUNDS}"),
    ("a{}", f"'a{{}}', position 2: {BOUNDS}"),
    ("a{x}", f"'a{{x}}', position 2: {BOUNDS}"),
    ("a{٣}", f"'a{{٣}}', position 2: {BOUNDS}"),
    ("a{9999999999}", "'a{9999999999}', position 2: the number in {...} has more than 9 digits; choose a smaller one"),
    ("[c-a]", "'[c-a]', position 2: the range c-a runs backwards; write a-c"),
    ("[]", "'[]', position 1: a class in [...] has at least one symbol; write . for any symbol"),
    ("[^]", "'[^]', position 1: a class in [...] has at least one symbol; write . for any symbol"),
    ("[a*]", "'[a*]', position 3: '*' is an operator and no symbol; use other characters as symbols"),
    ("[!-~]", "'[!-~]', position 2: the range !-~ contains '&', which is no symbol; use smaller ranges"),
    ("a&", "'a&', position 2: '&' is the intersection of what stands on both sides; write () for the empty word"),
    ("^a", "'^a', position 1: '^' is the shuffle of what stands on both sides; write () for the empty word"),
    ("(&a)", "'(&a)', position 2: '&' is the intersection of what stands on both sides; write () for the empty word"),
    ("a b", "'a b', position 2: contains ' '; here are no blanks and no escapes"),
    ("\\d", "'\\\\d', position 1: contains '\\\\'; here are no blanks and no escapes"),
    ("(" * 65, f"'...{'(' * 31}', position 65: brackets are nested more than 64 deep; use fewer"),
    ("b" * 99 + "**", f"'...{'b' * 29}**', position 101: {SECOND} (b*)*"),
]


@pytest.mark.parametrize(("pattern", "message"), REFUSED, ids=[pattern[:20] for pattern, _ in REFUSED])
def test_what_is_wrong_is_said_with_its_place(pattern: str, message: str) -> None:
    assert refusal(Dfa.from_regex, pattern, error=LanguageError) == message


PARAMETERS = [
    ("regex:a*;alfabet=ab", "a regular expression has no parameter 'alfabet'; did you mean 'alphabet'?"),
    ("regex:a;b", "a regular expression has no parameter 'b'; after a … alphabet=, as in regex:(aa)*;alphabet=ab"),
    ("regex:a*;alphabet", "after ;alphabet= stand the symbols, as in regex:(aa)*;alphabet=ab"),
    ("regex:a*;alphabet=", "after ;alphabet= stand the symbols, as in regex:(aa)*;alphabet=ab"),
    ("regex:a*;alphabet=aa", "symbol 'a' is given 2 times; give each symbol once"),
]  # fmt: skip


@pytest.mark.parametrize(("specification", "message"), PARAMETERS)
def test_what_stands_behind_a_semicolon_is_a_parameter(specification: str, message: str) -> None:
    assert is_like(refusal(get, specification), message)


ALPHABETS = [
    ("", None, "'' contains no symbol; give the alphabet too, as in regex:();alphabet=ab"),
    ("()", None, "'()' contains no symbol; give the alphabet too, as in regex:();alphabet=ab"),
    ("ac", "ab", "'ac' contains 'c'; the alphabet is 'a', 'b'"),
    ("a", ("a", "bc"), "symbol 'bc' cannot stand in a regular expression; use … other than blanks and *|()?&+.^{}[]"),
]  # fmt: skip
# Where the default limits are met in no time; where an eighth of them is.
LARGE = [
    ("a{70000}", "'a{70000}', position 2: {70000} makes 70,000 symbols of 1; at most 65,536 are …=2 allows more"),
    ("(a{1000}){1000}", "… position 10: {1000} makes 1,000,000 symbols of 1,000; at most 65,536 …=16 allows more"),
    ("a{40000}b{40000}", "with its quantifiers written out … has 80,000 symbols; at most 65,536 …=2 allows more"),
    ("a" * 70000, "the regular expression has 70,000 characters; at most 65,536 are allowed, …=2 allows more"),
]
EIGHTH = [
    ("a{400}^b{400}", "'a{400}^b{400}': its derivatives need 32,769 steps or more; at most 32,768 are allowed, …"),
    ("(a|b)*a(a|b){14}", "… its subset construction needs 524,292 steps or more; at most 524,288 are allowed, …"),
    ("(a|b)*a(a|b){15}", "… 32,770 states times 2 symbols are 65,540 transitions; at most 65,536 are allowed, …"),
    ("a?" * 4000, f"'{'a?' * 28}a...': its derivatives need 32,769 steps or more; at most 32,768 are allowed, …"),
]


def test_what_is_too_large_or_outside_the_alphabet_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for pattern, alphabet, message in [*ALPHABETS, *((pattern, None, message) for pattern, message in LARGE)]:
        assert is_like(refusal(Dfa.from_regex, pattern, alphabet), message)
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.125")
    for pattern, message in EIGHTH:
        assert is_like(refusal(Dfa.from_regex, pattern), message)


def test_large_expressions_within_the_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.25")
    assert Dfa.from_regex("(a|b)*a(a|b){12}").n_states == 2**13
    assert Dfa.from_regex("ab" * 5000).n_states == 10002
    assert Dfa.from_regex("a{0,400}").n_states == 402
    assert Dfa.from_regex("|".join("ab"[i % 2] * i for i in range(1, 60))).n_states == 118
    assert Dfa.from_regex("^".join("abcdefg")).n_states == 2**7 + 1


def test_the_budget_is_raised_and_lowered_by_an_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.02")
    assert "at most 1,310 are allowed, LANGUAGES_BUDGET=1 " in refusal(Dfa.from_regex, "a{1400}")
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.03")
    assert Dfa.from_regex("a{1400}").n_states == 1402
    monkeypatch.setenv("LANGUAGES_BUDGET", "0.001")
    with pytest.raises(TooLarge, match="at most 262 are allowed, LANGUAGES_BUDGET=1 allows more"):
        Dfa.from_regex("a{20}^b{20}")
    for nonsense in ("much", "0", "-1", "nan", "inf"):
        monkeypatch.setenv("LANGUAGES_BUDGET", nonsense)
        with pytest.raises(UserError, match=f"the environment variable LANGUAGES_BUDGET is '{nonsense}'; give a posit"):
            Dfa.from_regex("ab")


def test_the_examples_of_the_documentation() -> None:
    found = doctest.testfile(str(Path(__file__).parents[2] / "docs" / "languages.md"), module_relative=False)
    assert (found.attempted >= 16, found.failed) == (True, 0)
