"""Regular expressions as terms, each a number, and their linear forms.

The linear form of a term is the set of pairs (S, p) for which: where a word of the term begins with a symbol of S,
what follows it is a word of p, and there is no other word but perhaps the empty word. The p are the states of a
non-deterministic automaton; n symbols give at most n + 1 of them, intersection and shuffle multiply. Source:
Antimirov, Partial derivatives of regular expressions and finite automaton constructions, 1996.
"""

from collections.abc import Callable, Sequence

from languages.budget import allowed, too_large
from languages.regex.tree import Concatenation, Intersection, Letters, Repetition, Tree, Union

Term = int
Node = tuple[str, tuple[int, ...]]  # an operation and its arguments: terms, a set, or how often
Form = tuple[tuple[int, Term], ...]  # the sets S are bit masks over the alphabet

NOTHING, EMPTY = 0, 1  # the terms without words and with the empty word only
ALWAYS = -1  # the most repetitions where there is no most
MAX_STEPS = 2**18  # pairs of all linear forms; each counts once more for every 1024 symbols of the alphabet


class Terms:
    """Terms over an alphabet; equal terms have equal numbers.

    >>> from languages.regex.parser import parse
    >>> terms = Terms("ab")
    >>> ab_star = terms.read(parse("(ab)*"))
    >>> [(mask, term)] = terms.form(ab_star)
    >>> mask, [bin(mask) for mask, after in terms.form(term) if after == ab_star]  # a, then b and (ab)* again
    (1, ['0b10'])
    """

    def __init__(self, alphabet: Sequence[str]) -> None:
        self.bit = {symbol: 1 << i for i, symbol in enumerate(alphabet)}
        self.every = (1 << len(alphabet)) - 1
        self.nodes: list[Node] = [("nothing", ()), ("empty", ())]
        self.number = {node: term for term, node in enumerate(self.nodes)}
        self.nullable = [False, True]  # whether the empty word is a word of each term
        self.forms: dict[Term, Form] = {NOTHING: (), EMPTY: ()}
        self.cost = 1 + len(alphabet) // 1024  # of a pair, in steps
        self.steps, self.most = 0, allowed(MAX_STEPS)

    def read(self, tree: Tree) -> Term:
        """The term of a tree, whose symbols must be in the alphabet."""
        if isinstance(tree, Letters):
            mask = sum(self.bit[symbol] for symbol in tree.symbols)
            return self.letters(self.every ^ mask if tree.negated else mask)
        if isinstance(tree, Repetition):
            return self.repeat(self.read(tree.part), tree.low, ALWAYS if tree.high is None else tree.high)
        parts = [self.read(part) for part in tree.parts]
        if isinstance(tree, Union):
            return self.union(parts)
        if isinstance(tree, Concatenation):
            whole = EMPTY
            # To the right, so that of a long chain each step takes one part off.
            for part in reversed(parts):
                whole = self.then(part, whole)
            return whole
        return joined(self.both if isinstance(tree, Intersection) else self.shuffled, parts)

    def make(self, kind: str, *arguments: int, nullable: bool = False) -> Term:
        term = self.number.setdefault((kind, arguments), len(self.nodes))
        if term == len(self.nodes):
            self.nodes.append((kind, arguments))
            self.nullable.append(nullable)
        return term

    def letters(self, mask: int) -> Term:
        return self.make("letters", mask) if mask else NOTHING

    def then(self, r: Term, s: Term) -> Term:
        return self.side_by_side("then", r, s)

    def shuffled(self, r: Term, s: Term) -> Term:
        return self.side_by_side("shuffled", r, s)

    def side_by_side(self, kind: str, r: Term, s: Term) -> Term:
        """A word of r and one of s, in one way or another: each word has the symbols of both."""
        if NOTHING in (r, s):
            return NOTHING
        if EMPTY in (r, s):
            return s if r == EMPTY else r
        return self.make(kind, r, s, nullable=self.nullable[r] and self.nullable[s])

    def union(self, parts: Sequence[Term]) -> Term:
        # Equal terms once, in order: without such identities derivatives would not be finitely many.
        different = tuple(dict.fromkeys(part for part in parts if part != NOTHING))
        if len(different) <= 1:
            return different[0] if different else NOTHING
        return self.make("union", *different, nullable=any(self.nullable[part] for part in different))

    def both(self, r: Term, s: Term) -> Term:
        """The words of r that are words of s too."""
        if NOTHING in (r, s):
            return NOTHING
        return r if r == s else self.make("both", r, s, nullable=self.nullable[r] and self.nullable[s])

    def repeat(self, r: Term, low: int, high: int) -> Term:
        # Where r has the empty word, fewer repetitions are among more: r{2,5} is r{0,5}.
        low = 0 if self.nullable[r] else low
        if high == 0 or r == EMPTY or (r == NOTHING and low == 0):
            return EMPTY
        if r == NOTHING or low == high == 1:
            return r
        return self.make("repeat", r, low, high, nullable=low == 0)

    def form(self, term: Term) -> Form:
        if term not in self.forms:
            self.forms[term] = tuple(dict.fromkeys(self._pairs(*self.nodes[term])))
        return self.forms[term]

    def _pairs(self, kind: str, arguments: tuple[int, ...]) -> list[tuple[int, Term]]:
        if kind == "letters":
            return self._counted([(arguments[0], EMPTY)])
        if kind == "union":
            return self._counted([pair for part in arguments for pair in self.form(part)])
        if kind == "repeat":
            r, low, high = arguments
            rest = self.repeat(r, max(0, low - 1), high if high == ALWAYS else high - 1)
            return self._counted([(mask, self.then(p, rest)) for mask, p in self.form(r)])
        r, s = arguments
        return {"then": self._then, "both": self._both, "shuffled": self._shuffled}[kind](r, s)

    def _then(self, r: Term, s: Term) -> list[tuple[int, Term]]:
        # A loop, not a recursion: of a?b?c?... every part may begin the word.
        pairs = [(mask, self.then(p, s)) for mask, p in self.form(r)]
        while self.nullable[r]:
            kind, arguments = self.nodes[s]
            if kind != "then":
                return self._counted(pairs + list(self.form(s)))
            r, s = arguments
            pairs += self._counted([(mask, self.then(p, s)) for mask, p in self.form(r)])
        return self._counted(pairs)

    def _both(self, r: Term, s: Term) -> list[tuple[int, Term]]:
        left, right = self.form(r), self.form(s)
        self._count(len(left) * len(right))
        pairs = ((m & n, self.both(p, q)) for m, p in left for n, q in right if m & n)
        return [(mask, p) for mask, p in pairs if p != NOTHING]

    def _shuffled(self, r: Term, s: Term) -> list[tuple[int, Term]]:
        left = [(mask, self.shuffled(p, s)) for mask, p in self.form(r)]
        return self._counted(left + [(mask, self.shuffled(r, q)) for mask, q in self.form(s)])

    def _counted(self, pairs: list[tuple[int, Term]]) -> list[tuple[int, Term]]:
        self._count(len(pairs))
        return pairs

    def _count(self, pairs: int) -> None:
        self.steps += pairs * self.cost
        if self.steps > self.most:
            raise too_large(self.steps, MAX_STEPS, f"its derivatives need {self.steps:,} steps or more")


def joined(join: Callable[[Term, Term], Term], parts: Sequence[Term]) -> Term:
    """The parts joined by an associative operation, halves first, so that terms nest only a little."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return join(joined(join, parts[:half]), joined(join, parts[half:]))
