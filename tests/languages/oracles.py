"""What the answers are, by other means than automata: arithmetic, `re`, counting. Nothing here knows a state."""

import re
from collections.abc import Callable
from functools import partial
from itertools import groupby, pairwise


def same_neighbours(word: str) -> str:
    return ("even", "odd")[sum(a != b for a, b in pairwise(word)) % 2]


def arithmetic(word: str, modulus: int = 5) -> str:
    """Python's own reading of the expression."""
    return str(eval(word.removeprefix("+")) % modulus)


def arithmetic_left_to_right(word: str, modulus: int = 5) -> str:
    """Python's own reading, with every prefix in brackets."""
    operators = word.count("+") + word.count("-") + word.count("*")
    return str(eval("(" * operators + re.sub(r"([-+*]\d)", r"\1)", word)) % modulus)


def fullmatch(pattern: str, word: str) -> str:
    return "accept" if re.fullmatch(pattern, word) else "reject"


def tomita_3(word: str) -> str:
    runs = [(symbol, len(list(run))) for symbol, run in groupby(word)]
    odd = [(a, b) for (a, m), (b, n) in pairwise(runs) if m % 2 and n % 2]
    return "reject" if ("1", "0") in odd else "accept"


def dyck(bound: int, word: str) -> str:
    """Each round removes the innermost brackets, so the number of rounds is the depth."""
    for _ in range(bound):
        word = word.replace("01", "")
    return "reject" if word else "accept"


def last_written(word: str) -> str:
    return word.replace("-", "")[-1]


def last_bit_written(word: str) -> str:
    """By what stands behind the last w."""
    return word[word.rindex("w") + 1]


def first_symbols(word: str, p: int = 2) -> str:
    return word[:p] if len(word) >= p else "too short"


def counting(rule: Callable[[int, int], bool], word: str) -> str:
    return "accept" if rule(word.count("0"), word.count("1")) else "reject"


def heisenberg(word: str, modulus: int = 3) -> str:
    """How many x there are, how many y, and how many pairs of a y and a later x."""
    pairs = sum(word[:at].count("y") for at, letter in enumerate(word) if letter == "x")
    return "".join(str(n % modulus) for n in (word.count("x"), word.count("y"), pairs))


def sum_and_permutation(word: str) -> str:
    """Z_2 x S_3: each part by itself, three things in a row being exchanged or moved along."""
    row = "123"
    for letter in word.split():
        after = {"t": {"1": "2", "2": "1"}, "c": {"1": "2", "2": "3", "3": "1"}}.get(letter[2], {})
        row = "".join(after.get(place, place) for place in row)
    return f"{word.count('1.e') % 2}.{row}"


TOMITA_5 = partial(counting, lambda zeros, ones: zeros % 2 == ones % 2 == 0)
TOMITA_6 = partial(counting, lambda zeros, ones: (zeros - ones) % 3 == 0)

ORACLES: dict[str, Callable[[str], str]] = {
    "parity": lambda word: ("even", "odd")[word.count("1") % 2],
    "even-pairs": same_neighbours,
    "cycle-navigation": lambda word: str((word.count("1") - word.count("2")) % 5),
    "modular-arithmetic": arithmetic,
    "modular-arithmetic-left-to-right": arithmetic_left_to_right,
    "tomita-1": partial(fullmatch, "1*"),
    "tomita-2": partial(fullmatch, "(10)*"),
    "tomita-3": tomita_3,
    "tomita-4": lambda word: "reject" if "000" in word else "accept",
    "tomita-5": TOMITA_5,
    "tomita-6": TOMITA_6,
    "tomita-7": partial(fullmatch, "0*1*0*1*"),
    "dyck-1": partial(fullmatch, "(01)*"),
    "dyck-2": partial(fullmatch, "(0(01)*1)*"),
    "dyck-3": partial(dyck, 3),
    "dyck-4": partial(dyck, 4),
    "dyck-12": partial(dyck, 12),
    "aa-star": partial(fullmatch, "(aa)*"),
    "aaaa-star": partial(fullmatch, "(aaaa)*"),
    "abab-star": partial(fullmatch, "(abab)*"),
    "012-02": partial(fullmatch, "[012]*02*"),
    "ab-d-bc": partial(fullmatch, "[ab]*d[bc]*"),
    "aa-bb-cc-dd-ee": partial(fullmatch, "aa*bb*cc*dd*ee*"),
    "heisenberg-3": heisenberg,
    "cyclic-2*symmetric-3": sum_and_permutation,
    "flip-flop": last_written,
    "flip-flop-reads": last_bit_written,
    "prefix": first_symbols,
}
