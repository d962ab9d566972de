"""Words of a context-free language by length: all equally likely, or by nesting depth.

A grammar here is a way to draw words; what is right and wrong is the machine's. Rules have at most two variables, and
each word has one derivation. A word is drawn top down, all variables of all words of a batch at once:

uniform   by counting: a rule and the lengths of its variables in proportion to the words that they give
by depth  a nesting depth is drawn first, evenly from 0 to the deepest at this length; one path of the derivation is
          led that deep, and what is left over is spread along it
so deep   the same for one depth, drawn again until no word is deeper
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from languages.automata.nesting import UNMATCHED, partners
from languages.automata.words import Indices, smallest_unsigned
from languages.budget import check
from languages.errors import LengthEmpty, SamplingError

Ints = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
MAX_COUNTED = 2048  # symbols of a word that is drawn by counting
MAX_WAYS = 2**31  # rules times lengths times lengths, for which words are counted
PERIOD_SEEN = 512  # lengths that are looked at; longer ones repeat the last period
MAX_PERIOD = 64
MAX_KEPT = 2**15  # symbols of words times rules of a grammar, whose thresholds are kept
INWARD = 0.75  # how often the way to a depth surely goes on inside a pair, not behind it
CANDIDATES = 4  # of which the first of the right depth is taken
TRIES = 64  # how often a split is drawn again where a part has no word of its length
DEEPEST = 5000  # nesting depth that is requested


@dataclass(frozen=True)
class Variable:
    """A variable of a grammar, where a rule names it."""

    name: str


Part = Variable | str | tuple[str, ...]  # of a rule: a variable, a symbol, or one of several symbols


@dataclass(frozen=True)
class Rule:
    """A rule's parts as numbers: `variables` (at most 2) and `symbols`, each as (how many symbols stand before it, how
    many variables stand before it, what it is); `opened` says how many pairs are open round each variable."""

    n_symbols: int
    weight: int
    symbols: tuple[tuple[int, int, tuple[int, ...]], ...]
    variables: tuple[tuple[int, int], ...]
    opened: tuple[int, ...]


def nesting(direction: Ints) -> Ints:
    """(batch, length) how many pairs are open after each symbol; `direction` as `partners` takes it.

    >>> nesting(np.array([[1, 1, -1, 0, -1, -1, 1]])).tolist()  # ( ( ) x ) ) (
    [[1, 2, 1, 1, 0, 0, 0]]
    """
    return np.where(partners(direction) == UNMATCHED, 0, direction).cumsum(axis=1)


def paired(rule: Rule) -> bool:
    """Whether a rule has a symbol and two variables."""
    return rule.n_symbols > 0 and len(rule.variables) == 2


class Grammar:
    """Rules `{variable: (parts, ...)}`, the first variable first; `direction` (Sigma,) as a machine has it.

    A variable that a rule may turn into as a whole, without a symbol more, stands before the rule's own.

    >>> S = Variable("S")
    >>> grammar = Grammar("()", {"S": ((), ("(", S, ")", S))}, [1, -1])
    >>> [grammar.has(length) for length in range(5)]
    [True, False, True, False, True]
    >>> from languages.randomness import rng
    >>> grammar.uniform(rng(0, "example"), 6, 4).shape
    (4, 6)
    """

    def __init__(self, alphabet: Sequence[str], rules: Mapping[str, Sequence[Sequence[Part]]], direction: Any) -> None:
        self.alphabet, self.variables = tuple(alphabet), tuple(rules)
        self.direction = np.asarray(direction, dtype=np.intp)
        self._symbol = {name: i for i, name in enumerate(self.alphabet)}
        self._variable = {name: i for i, name in enumerate(self.variables)}
        self.rules = [[self._rule(parts) for parts in alternatives] for alternatives in rules.values()]
        self._counted: Floats = np.zeros((0, 0))
        self._thresholds: dict[tuple[int, int], tuple[Floats, Ints, Ints]] = {}

    def _rule(self, parts: Sequence[Part]) -> Rule:
        symbols, variables = list[tuple[int, int, tuple[int, ...]]](), list[tuple[int, int]]()
        for part in parts:
            if isinstance(part, Variable):
                variables.append((len(symbols), self._variable[part.name]))
                continue
            choices = tuple(self._symbol[name] for name in ((part,) if isinstance(part, str) else part))
            symbols.append((len(symbols), len(variables), choices))
        assert len(variables) <= 2, "longer rules are cut in two"
        # Only what the rule closes itself is a pair: a pending bracket makes nothing deeper.
        depth = nesting(self.direction[[choices[0] for _, _, choices in symbols]][None])[0]  # (symbols,)
        opened = tuple(int(depth[place - 1]) if place else 0 for place, _ in variables)
        weight = math.prod(len(choices) for _, _, choices in symbols)
        return Rule(len(symbols), weight, tuple(symbols), tuple(variables), opened)

    @cached_property
    def _exists(self) -> npt.NDArray[np.bool_]:
        """(variables, PERIOD_SEEN) whether a variable has a word of each length."""
        return self._table(PERIOD_SEEN, np.bool_)

    def _exist(self, variable: Ints, length: Ints) -> npt.NDArray[np.bool_]:
        """Whether each of these variables has a word of that length; the lengths of a grammar repeat in the end."""
        return (length >= 0) & self._exists[variable, self._short(length)]

    def _short(self, length: Ints) -> Ints:
        """A length within PERIOD_SEEN that has the same words or none."""
        if length.max(initial=0) < PERIOD_SEEN:
            return np.maximum(length, 0)
        beyond = length - (PERIOD_SEEN - self._period)
        return np.maximum(np.where(beyond < 0, length, PERIOD_SEEN - self._period + beyond % self._period), 0)

    @cached_property
    def _period(self) -> int:
        """After how many lengths all variables' lengths repeat, by the second half of those that are looked at."""
        half = self._exists[:, PERIOD_SEEN // 2 :]
        for period in range(1, MAX_PERIOD + 1):
            if (half[:, period:] == half[:, :-period]).all():
                return period
        raise SamplingError(
            f"lengths with words do not repeat within {MAX_PERIOD} symbols; choose lengths below {PERIOD_SEEN}"
        )

    @cached_property
    def _finite(self) -> list[Ints | None]:
        """The lengths of each variable's words, if there are none in the second half of those that are looked at."""
        return [None if row[PERIOD_SEEN // 2 :].any() else np.flatnonzero(row) for row in self._exists]

    def has(self, length: int) -> bool:
        """Whether there is a word of this length."""
        return bool(self._exist(np.zeros(1, np.intp), np.array([length]))[0])

    def _table(self, size: int, kind: Any, growth: float = 1.0) -> npt.NDArray[Any]:
        """(variables, size) how many words each variable has of each length n, over growth**n; or whether any."""
        table: npt.NDArray[Any] = np.zeros((len(self.rules), size), dtype=kind)
        for n in range(size):
            # Rules with a symbol and two variables count shorter words only: all of so many symbols together.
            for n_symbols, weight, (variable, first, second) in self._pairs:
                if (rest := n - n_symbols) < 0:
                    continue
                left, other = table[first, : rest + 1], table[second, rest::-1]  # (rules, splits) both
                if kind is np.bool_:
                    table[variable[(left & other).any(axis=1)], n] = True
                else:
                    ways = np.einsum("rs,rs->r", left, other) * (weight / growth**n_symbols)
                    table[:, n] += np.bincount(variable, ways, len(table))
            for variable, rule in self._others:
                table[variable, n] += self._ways(table, rule, n, growth).sum(dtype=kind)
        return table

    @cached_property
    def _pairs(self) -> list[tuple[int, Floats, Ints]]:
        """Rules with a symbol and two variables: how many symbols, and of each the weight (rules,) and (3, rules) its
        variable and its two; equal ones once."""
        weights = dict[tuple[int, ...], int]()
        for variable, rules in enumerate(self.rules):
            for rule in filter(paired, rules):
                key = rule.n_symbols, variable, *(child for _, child in rule.variables)
                weights[key] = weights.get(key, 0) + rule.weight
        pairs = list[tuple[int, Floats, Ints]]()
        for n_symbols in sorted({key[0] for key in weights}):
            keys = [key for key in weights if key[0] == n_symbols]
            variables = np.array([key[1:] for key in keys], dtype=np.intp).T
            pairs.append((n_symbols, np.array([weights[key] for key in keys], dtype=np.float64), variables))
        return pairs

    @cached_property
    def _others(self) -> list[tuple[int, Rule]]:
        """The other rules of all variables, in their order."""
        return [(v, rule) for v, rules in enumerate(self.rules) for rule in rules if not paired(rule)]

    @cached_property
    def longest_counted(self) -> int:
        """The longest words that are drawn by counting: 2,048 symbols, or less where there are many rules."""
        rules = 1 + sum(len(weight) for _, weight, _ in self._pairs)
        return min(MAX_COUNTED, 2 ** int(math.log2(MAX_WAYS / rules) / 2) - 2)

    def _ways(self, table: npt.NDArray[Any], rule: Rule, n: int, growth: float) -> npt.NDArray[Any]:
        """(splits,) the weight of a rule for words of n symbols, for each length of its first variable."""
        rest = n - rule.n_symbols
        factor = table.dtype.type(rule.weight / growth**rule.n_symbols)
        if rest < 0 or (not rule.variables and rest):
            return table[0, :0]
        if not rule.variables:
            return np.array([factor])
        first = table[rule.variables[0][1]]
        if len(rule.variables) == 1:
            return factor * first[rest : rest + 1]
        return factor * first[: rest + 1] * table[rule.variables[1][1]][rest::-1]

    @cached_property
    def _growth(self) -> float:
        """By what number about the words of n + 1 symbols are more than those of n: it keeps counts near 1."""
        counts = self._table(65, np.float64).max(0)
        few, many = counts[:33].max(), counts[32:].max()
        return max(1.0, float(many / max(few, 1.0)) ** (1 / 32))

    def _counts(self, length: int) -> Floats:
        """(variables, > length), kept: a power of 2 at a time."""
        size = 1 << (length + 1).bit_length()
        if self._counted.shape[1] < size:
            self._counted = self._table(size, np.float64, self._growth)
        return self._counted

    def count(self, length: int) -> float:
        """How many words of this length there are."""
        return float(self._counts(length)[0, length] * self._growth**length)

    def uniform(self, random: np.random.Generator, length: int, count: int) -> Indices:
        """Words (count, length), all equally likely.

        LengthEmpty if there is none; SamplingError beyond `longest_counted`, where counting takes too long.
        """
        check(length, self.longest_counted, f"a word of {length:,} symbols is drawn by counting")
        counts, longer = self._counts(length), dict[tuple[int, int], tuple[Floats, Ints, Ints]]()
        n_rules = sum(map(len, self.rules))

        def choose(variable: int, n: int, u: Floats) -> tuple[Ints, Ints]:
            # Thresholds of long words, or of many rules, would take more memory than they save time.
            kept = self._thresholds if n * n_rules <= MAX_KEPT else longer
            if (variable, n) not in kept:
                ways = [self._ways(counts, rule, n, self._growth) for rule in self.rules[variable]]
                rule = np.repeat(np.arange(len(ways)), [len(way) for way in ways])
                split = np.concatenate([np.arange(len(way)) for way in ways])
                total = np.cumsum(np.concatenate(ways))
                kept[variable, n] = total / total[-1], rule, split
            cut, rule, split = kept[variable, n]
            place = np.minimum(cut.searchsorted(u, side="right"), len(cut) - 1)
            return rule[place], split[place]

        def choices(items: Items) -> tuple[Ints, Ints, Ints]:
            u, rule, split = random.random(len(items)), np.zeros(len(items), np.intp), np.zeros(len(items), np.intp)
            order = np.lexsort((items.length, items.variable))
            edges = np.flatnonzero(np.diff(items.variable[order]) | np.diff(items.length[order])) + 1
            for group in np.split(order, edges):
                at = int(items.variable[group[0]]), int(items.length[group[0]])
                rule[group], split[group] = choose(*at, u[group])
            return rule, split, np.full(len(items), -1)

        return self._draw(random, length, np.zeros(count, np.intp), choices)

    def by_depth(self, random: np.random.Generator, length: int, count: int, deepest: int = DEEPEST) -> Indices:
        """Words (count, length), each led to a depth that is drawn evenly from 0 to what is possible, or `deepest`."""
        depth = random.integers(min(deepest, self.deepest(length)) + 1, size=count)
        return self._led(random, length, depth)

    def deepest(self, length: int) -> int:
        """The greatest nesting depth of words of this length, DEEPEST at most."""
        return int(np.flatnonzero(self._shortest[0] <= length).max(initial=0))

    def so_deep(self, random: np.random.Generator, length: int, count: int, depth: int) -> Indices:
        """Words (count, length) of this nesting depth. LengthEmpty if there is none."""
        if depth > self.deepest(length):
            raise LengthEmpty(f"there is no word of length {length} and depth {depth}")
        aim, todo = np.full(count, depth), np.arange(count)
        words = np.zeros((count, length), dtype=smallest_unsigned(len(self.alphabet)))
        for _ in range(TRIES):
            drawn = self._led(random, length, np.tile(aim[todo], CANDIDATES))
            deep = nesting(self.direction[drawn]).max(axis=1)
            over = deep.reshape(CANDIDATES, len(todo)) - depth  # (candidates, words)
            best = np.abs(over).argmin(axis=0)
            words[todo] = drawn[best * len(todo) + np.arange(len(todo))]
            # What is left over may be nested below the deepest place: the path is led less deep by so much then.
            missed = over[best, np.arange(len(todo))]
            aim[todo] = np.clip(aim[todo] - missed, 0, depth)
            todo = todo[missed != 0]
            if not len(todo):
                return words
        raise SamplingError(f"no words of length {length} and exactly depth {depth} were drawn; draw longer ones")

    def _led(self, random: np.random.Generator, length: int, depth: Ints) -> Indices:
        """Words (count, length), a path of each led to its depth (count,)."""

        def choices(items: Items) -> tuple[Ints, Ints, Ints]:
            return self._split(random, items)

        return self._draw(random, length, depth, choices)

    @cached_property
    def _shortest(self) -> Ints:
        """(variables, DEEPEST + 1) the length of a shortest word so deep or deeper; larger than any if none is."""
        none, rows = np.iinfo(np.int32).max, len(self.rules)
        first = np.array([int(row.argmax()) if row.any() else none for row in self._exists])
        lengths = np.full((rows, DEEPEST + 1), none, dtype=np.intp)
        lengths[:, 0] = first
        ways = {  # a variable, the one in its rule that is to be deep, what it has round it: symbols and depth
            (variable, child, rule.n_symbols + sum(first[other] for _, other in rule.variables) - first[child], opened)
            for variable, rules in enumerate(self.rules)
            for rule in rules
            for (_, child), opened in zip(rule.variables, rule.opened, strict=True)
        }
        variable, child, more, opened = np.array(sorted(ways), dtype=np.intp).reshape(-1, 4).T  # (ways,) each
        level = opened == 0
        for depth in range(1, DEEPEST + 1):
            column = np.full(rows, none)
            inside = lengths[child, depth - np.minimum(opened, depth)]  # at the same depth: none so far
            np.minimum.at(column, variable, more + inside)
            while True:  # a shorter way through other variables at the same depth
                before = column.copy()
                np.minimum.at(column, variable[level], more[level] + column[child[level]])
                if (column == before).all():
                    break
            lengths[:, depth] = column
            if (column == none).all():
                break  # nor is there anything deeper
        return lengths

    def _split(self, random: np.random.Generator, items: Items) -> tuple[Ints, Ints, Ints]:
        """Of each item a rule, the length of its first variable, and which variable goes on to be deep (-1: none)."""
        count = len(items)
        rule, split, spine = (np.full(count, -1, dtype=np.intp) for _ in range(3))
        todo = np.arange(count)
        for attempt in range(TRIES * 2):
            if not len(todo):
                return rule, split, spine
            # Where a depth cannot be had at exactly this length, the item goes on without a variable.
            items.depth[todo] *= attempt < TRIES
            for variable in map(int, np.unique(items.variable[todo])):
                these = todo[items.variable[todo] == variable]
                lots: Floats = random.random((len(self.rules[variable]), len(these)))
                drawn: Ints = (lots * self._possible[variable][:, self._short(items.length[these])]).argmax(0)
                # Rules that differ in their symbols only are fitted together.
                shapes, shape_of = self._shapes[variable]
                of_each = shape_of[drawn]
                for shape in map(int, np.unique(of_each)):
                    of_shape = of_each == shape
                    some, number = these[of_shape], drawn[of_shape]
                    first, deep, fits = self._fit(random, shapes[shape], items.length[some], items.depth[some])
                    rule[some[fits]], split[some[fits]], spine[some[fits]] = number[fits], first[fits], deep[fits]
            todo = todo[rule[todo] < 0]
        raise SamplingError("no word of this length was drawn by depth; draw words of another length")

    @cached_property
    def _possible(self) -> list[npt.NDArray[np.bool_]]:
        """Of each variable (rules, PERIOD_SEEN): whether a rule has words of each length."""
        known = dict[tuple[int, ...], npt.NDArray[np.bool_]]()

        def possible(rule: Rule) -> npt.NDArray[np.bool_]:
            key = rule.n_symbols, *(child for _, child in rule.variables)
            if key not in known:
                lengths = np.ones(1)
                for child in key[1:]:
                    lengths = np.convolve(lengths, self._exists[child].astype(np.float64))[:PERIOD_SEEN]
                shifted = np.concatenate([np.zeros(rule.n_symbols), lengths, np.zeros(PERIOD_SEEN)])
                known[key] = shifted[:PERIOD_SEEN] > 0.5
            return known[key]

        return [
            np.array([possible(rule) for rule in rules]).reshape(-1, PERIOD_SEEN)  # (rules, PERIOD_SEEN)
            for rules in self.rules
        ]

    @cached_property
    def _shapes(self) -> list[tuple[list[Rule], Ints]]:
        """Of each variable a rule of each shape, by lengths and variables, and the shape (rules,) of each rule."""
        shapes_of_variables = list[tuple[list[Rule], Ints]]()
        for rules in self.rules:
            shapes = dict[Any, int]()
            keys = [(rule.n_symbols, rule.variables, rule.opened) for rule in rules]
            shape_of = np.array([shapes.setdefault(key, len(shapes)) for key in keys], dtype=np.intp)
            shapes_of_variables.append(([rules[keys.index(key)] for key in shapes], shape_of))
        return shapes_of_variables

    def _fit(
        self, random: np.random.Generator, rule: Rule, length: Ints, depth: Ints
    ) -> tuple[Ints, Ints, npt.NDArray[np.bool_]]:
        """A split at random for items that take this rule, the variable that is to be deep, and whether it fits."""
        rest, none = length - rule.n_symbols, np.full(len(length), -1)
        if not rule.variables:
            return np.zeros_like(rest), none, (rest == 0) & (depth == 0)
        inner = rule.opened.index(max(rule.opened))
        spine = np.where(random.random(len(rest)) < INWARD, inner, random.integers(len(rule.variables), size=len(rest)))
        spine = np.where(depth > 0, spine, -1)
        least = np.zeros((2, len(rest)), dtype=np.intp)
        for j, (_, child) in enumerate(rule.variables):
            below = np.maximum(depth - rule.opened[j], 0)
            least[j] = np.where(spine == j, self._shortest[child, below], self._shortest[child, 0])
        most = rest - least[1]
        span = most - least[0] + 1
        fits = span > 0
        first: Ints = rest
        if len(rule.variables) == 1:
            fits &= self._exist(np.full(len(rest), rule.variables[0][1]), first)
        else:
            # What goes on to be deep keeps what is left over for all of its levels, or soon nothing would fit it.
            below: Ints = np.where(spine < 0, 0, depth - np.array([*rule.opened, 0])[spine])
            share: Ints = np.minimum(span, 2 * span // (1 + np.maximum(below, 0)) + 1)
            more: Ints = (random.random(len(rest)) * np.maximum(share, 1)).astype(np.intp)
            first = least[0] + more
            first[spine == 0] = (most - more)[spine == 0]
            for j, (_, child) in enumerate(rule.variables):
                # Of a variable with finitely many words one of its lengths is drawn: others would hardly be met.
                if (few := self._finite[child]) is not None:
                    drawn = few[random.integers(len(few), size=len(rest))]
                    first = rest - drawn if j else drawn
            for (_, child), part in zip(rule.variables, (first, rest - first), strict=True):
                fits &= self._exist(np.full(len(rest), child), part)
        return first, spine, fits

    def _draw(self, random: np.random.Generator, length: int, depth: Ints, choices: Any) -> Indices:
        """Words (count, length), top down; `choices` gives the rule, split and spine of each open variable."""
        if not self.has(length):
            raise LengthEmpty(f"there is no word of length {length}")
        count = len(depth)
        words = np.zeros((count, length), dtype=smallest_unsigned(len(self.alphabet)))
        items = Items(
            np.arange(count), np.zeros(count, np.intp), np.zeros(count, np.intp), np.full(count, length), depth
        )
        while len(items):
            rule, split, spine = choices(items)
            # By variable, then by rule.
            order = np.lexsort((rule, items.variable))
            edges = np.flatnonzero(np.diff(items.variable[order]) | np.diff(rule[order])) + 1
            parts = list[list[Items]]()
            for rows in np.split(order, edges):
                chosen = self.rules[int(items.variable[rows[0]])][int(rule[rows[0]])]
                parts.append(self._apply(random, words, chosen, items.take(rows), split[rows], spine[rows]))
            items = Items.joined([item for part in parts for item in part])
        return words

    def _apply(
        self, random: np.random.Generator, words: Indices, rule: Rule, items: Items, split: Ints, spine: Ints
    ) -> list[Items]:
        """Write a rule's symbols into the words; its variables are the next items."""
        rest = items.length - rule.n_symbols
        lengths = [rest] if len(rule.variables) == 1 else [split, rest - split]
        before = [np.zeros_like(rest), lengths[0], rest]  # how much the variables to the left take
        for place, passed, choice in rule.symbols:
            drawn = np.array(choice)[random.integers(len(choice), size=len(items))]
            words[items.word, items.start + place + before[passed]] = drawn
        return [
            Items(
                items.word,
                items.start + place + before[j],
                np.full(len(items), child),
                lengths[j],
                np.where(spine == j, np.maximum(items.depth - rule.opened[j], 0), 0),
            )
            for j, (place, child) in enumerate(rule.variables)
        ]


@dataclass(frozen=True)
class Items:
    """Variables still to be written: of which word (n,), from which position on, which variable, length and depth."""

    word: Ints
    start: Ints
    variable: Ints
    length: Ints
    depth: Ints

    def __len__(self) -> int:
        return len(self.word)

    def take(self, rows: Ints) -> Items:
        return Items(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))

    @classmethod
    def joined(cls, parts: Sequence[Items]) -> Items:
        none = np.zeros(0, dtype=np.intp)
        return cls(*(np.concatenate([none, *(getattr(p, name) for p in parts)]) for name in cls.__dataclass_fields__))
