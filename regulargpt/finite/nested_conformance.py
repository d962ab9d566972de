"""Words that tell a machine with brackets from all others of so many classes: the W-method, for algebras.

A word is of one of four kinds: it may have pending returns, and pending calls. Two words are in one class of a language
if they are of one kind and u x v has the same answer, "no question" being one, whatever stands round them. A context
(u, v) leaves pending what is: of a word with a pending return, u has no pending call; with a pending call, v has no
pending return. Classes are what the language's minimal algebra has elements for: any language with finitely many is a
visibly pushdown one. Let n be their number in the machine's language, u_e a word of each element, u_1 the empty word;
and W contexts, (empty, empty) for every kind among them, of which for any two elements of a kind one has different
answers. An item is a symbol that stands by itself, pending if it is a bracket, or a pair (call, well-matched word,
return); every word is a row of items. Let P be all symbols, all u_e, all u_e u_i with i the element of an item, and all
a u_e b with e well-matched, a a call and b a return. [x] is the machine's element of a word x.

A language L with at most n classes that answers all words u p v, p of P and (u, v) of W, as the machine does, is the
machine's:

1. By W the u_e are in n different classes of L: these are all. So a word x that has the machine's answers in all of W
   is in the class of u_[x]: it is in that of some u_f, and W tells f from every other element. So is each word of P.
2. Every word x is in the class of u_[x], by induction on its symbols. The empty word is u_1. An item is a symbol, of P;
   or a z b, and z is in the class of u_[z]: a z b is in that of a u_[z] b, as (u a, b v) is a context of z; and this is
   of P. A row x y that ends with an item y is in the class of u_[x] y, so of u_[x] u_[y], of P again.
3. So L answers x as it answers u_[x], in the context (empty, empty): as the machine does.

With one class more, n + 1: for p of P let T_p be the steps round a word, x -> y x and x -> x y for y among the u_i and
p, and x -> a x b; as far as they are products. If L answers W round t(p) and t(u_[p]), too, for each p of P and t of
T_p, as the machine does, it is the machine's:

4. If each p of P is in the class of u_[p], 2 and 3 hold. Else let p be one that is not. By W it is in that of no other
   u_f: the classes of L are those of the u_e and of p. Which class an item of L is in: a symbol, or a u_e b, is of P,
   so by W in that of u_i, i its element, or else of p; a p b has by T_p the machine's answers in W, so the same. Any
   other a z b is in the class of one of these, as z is in that of some u_e or of p.
5. In L, W tells all classes apart but those of p and u_[p]. If no step x -> y x, x -> x y, y an item, or x -> a x b
   took two words that W does not tell apart to two that it does, no context, which is a row of such steps, would tell
   these two apart; but one does. By 4 each step is, for the classes, one of T_p. So one of T_p takes p and u_[p] to two
   words that W tells apart in L. But L answers both as the machine does, to which p and u_[p] are the same: it cannot.

Without brackets this would say less than conformance.py: elements are then those of the transition monoid, which are
many more than a machine has states (568 for 52 in modular arithmetic), and words are for one more at most.

Sources: as of conformance.py; algebras: Alur, Kumar, Madhusudan and Viswanathan, Congruences for visibly pushdown
languages, ICALP 2005.
"""

from __future__ import annotations

from itertools import islice, product

import numpy as np

from languages.automata.algebra import NONE, NestedAlgebra
from languages.automata.pushdown import PushdownTransducer
from languages.automata.visibly import CALL, RETURN, VisiblyPushdown
from languages.budget import TooLarge
from regulargpt.finite.conformance import MOST_WORDS, USUAL, Step, Suite, batches, distinguishing
from regulargpt.finite.nonempty import Context, Word


def nested_suite(machine: PushdownTransducer, longest: int) -> Suite:
    """The words of a visibly pushdown machine, at most `longest` symbols each, the empty word among them.

    They are for n + 1 classes if `USUAL` words are enough, else for n if `MOST_WORDS` are. Where they are too many or
    too long, those that are not, at most `USUAL`, rule out nothing: `classes` is 0. The machine need not be minimal:
    its algebra is made so.

    >>> from languages.context_free.brackets import brackets
    >>> [nested_suite(brackets(2).machine, longest).classes for longest in (3, 4, 7, 8)]
    [0, 5, 5, 6]
    """
    try:
        algebra = NestedAlgebra.from_machine(VisiblyPushdown.from_machine(machine)).minimal()
    except TooLarge:
        return Suite([], 0)
    if algebra.size * (len(algebra.items) + algebra.wrap[0].size) > MOST_WORDS:
        return Suite([], 0)
    first, of_kind = first_words(algebra), distinguishing_contexts(algebra)
    contexts = [of_kind[int(kind)] for kind in algebra.flags]
    size = sum(len(contexts[e]) for e in first.values())
    every = (u + p + v for p, e in first.items() for u, v in contexts[e])
    words = set(islice(every, MOST_WORDS))
    fitting = {word for word in words if len(word) <= longest}
    if size > MOST_WORDS or len(fitting) < len(words):
        return Suite(batches(set(sorted(fitting, key=len)[:USUAL])), 0)
    n_steps = 2 * (2 * len(algebra.items) + 2 + algebra.wrap[0].size)  # of T_p, each from two words
    if n_steps * size <= MOST_WORDS:
        more = words.union(*(after_steps(algebra, p, e, contexts) for p, e in first.items()))
        if len(more) <= USUAL and max(map(len, more)) <= longest:
            return Suite(batches(more), algebra.size + 1)
    return Suite(batches(words), algebra.size)


def first_words(algebra: NestedAlgebra) -> dict[Word, int]:
    """P, and the element of each of its words."""
    least = algebra.least
    elements = {(symbol,): int(e) for symbol, e in enumerate(algebra.letter)} | {u: e for e, u in enumerate(least)}
    products = [((), least[i], algebra.product[:, i]) for i in algebra.items]
    for left, right, to in (*products, *wraps(algebra)):
        elements |= {left + u + right: int(f) for u, f in zip(least, to, strict=True) if f != NONE}
    return elements


def wraps(algebra: NestedAlgebra) -> list[Step]:
    """x -> a x b."""
    calls, returns = (np.flatnonzero(algebra.direction == kind).tolist() for kind in (CALL, RETURN))
    pairs = product(enumerate(calls), enumerate(returns))
    return [((a,), (b,), algebra.wrap[:, j, k]) for (j, a), (k, b) in pairs]


def beside(algebra: NestedAlgebra, word: Word, element: int) -> list[Step]:
    """x -> y x and x -> x y for a word y of an element."""
    return [(word, (), algebra.product[element]), ((), word, algebra.product[:, element])]


def steps(algebra: NestedAlgebra) -> list[Step]:
    """The steps that take every word to all that it is a part of, but for what the machine does not tell apart."""
    items = algebra.items.tolist()
    return [step for i in items for step in beside(algebra, algebra.least[i], i)] + wraps(algebra)


def after_steps(algebra: NestedAlgebra, p: Word, element: int, contexts: list[list[Context]]) -> set[Word]:
    """Of a word p of an element: the contexts W round each step of T_p from p, and from the element's own word."""
    every = steps(algebra) + beside(algebra, p, element)
    taken = [(left, right, int(to[element])) for left, right, to in every if to[element] != NONE]
    return {
        u + left + x + right + v
        for left, right, after in taken
        for u, v in contexts[after]
        for x in (p, algebra.least[element])
    }


def distinguishing_contexts(algebra: NestedAlgebra) -> dict[int, list[Context]]:
    """W: for each kind of words contexts, the empty context first, of which for any two of its elements one has
    different answers.

    >>> from languages.context_free.brackets import brackets
    >>> algebra = NestedAlgebra.from_machine(brackets(1).visibly).minimal()
    >>> algebra.words, distinguishing_contexts(algebra)
    (('', ')', '(', ')('), {0: [((), ())], 1: [((), ())], 2: [((), ())], 3: [((), ())]})
    """
    return distinguishing(algebra.answers, algebra.flags, steps(algebra))
