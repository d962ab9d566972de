"""Prefix languages: which symbols does the word begin with?"""

from itertools import product

from languages.automata import MooreMachine
from languages.budget import allowed, hint
from languages.errors import LanguageError
from languages.specification import spec
from languages.task import Task

MAX_P = 20
MAX_K = 10  # each symbol is one digit
MAX_STATES = 1000


def prefix(p: int = 2, k: int = 2) -> Task:
    """P_{p,k}: the first `p` symbols of a word over the digits 0..k-1, or "too short" if it has fewer.

    The class of a prefix is its value as a number in base k; "too short" is class k^p, the last class. All words of a
    length are equally likely. The states of the machine are the words of up to p symbols, (k^{p+1} - 1) / (k - 1) in
    all. The transition monoid has as many elements: the product of two words is the first p symbols of both.

    LanguageError: p outside 1..20, k outside 2..10, or more than 1000 states.

    >>> task = prefix(p=2, k=4)
    >>> [task.output_names[task.machine.answers(word).item()] for word in ("3", "30", "3012", "0312")]
    ['too short', '30', '30', '03']

    Source: Pert, Alrajeh, Russo 2026, prefix languages (there p is 1, 2, 4 and k is 2, 4).
    """
    _check(p, k)
    alphabet = tuple(map(str, range(k)))
    words = ["".join(word) for length in range(p + 1) for word in product(alphabet, repeat=length)]
    named = {word: word or "start" for word in words}
    delta = {named[word]: {a: named[(word + a)[:p]] for a in alphabet} for word in words}
    classes = {word: i for i, word in enumerate(word for word in words if len(word) == p)}
    outputs = tuple(classes.get(word, len(classes)) for word in words)
    last = str(k - 1)
    return Task(
        name=spec("prefix", {"p": (p, 2), "k": (k, 2)}),
        machine=MooreMachine(tuple(delta), alphabet, delta, "start", outputs, (*classes, "too short")),
        summary=f"the first {f'{p} symbols' if p > 1 else 'symbol'} of a word over {k} symbols, or 'too short'",
        source="Pert et al. 2026 (prefix languages)",
        examples=(
            ("0" * p, "0" * p),
            (last * p + "01", last * p),
            ("0" * (p - 1) + last + "0", "0" * (p - 1) + last),
            *[("1" * (p - 1), "too short")] * (p > 1),
        ),
    )


def _check(p: int, k: int) -> None:
    if not 1 <= p <= MAX_P:
        raise LanguageError(f"prefix: p is {p}; it is the number of symbols asked for, 1 to {MAX_P}")
    if not 2 <= k <= MAX_K:
        raise LanguageError(f"prefix: k is {k}; it is the number of symbols there are, 2 to {MAX_K}")
    count = (k ** (p + 1) - 1) // (k - 1)
    if count > allowed(MAX_STATES):
        most = f"at most {allowed(MAX_STATES):,} are allowed{hint(count, MAX_STATES)}"
        raise LanguageError(f"prefix: p = {p} and k = {k} make {count:,} states; {most}")
