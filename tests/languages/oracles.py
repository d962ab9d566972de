"""What the answers are, by other means than automata: arithmetic, `re`, counting. Nothing here knows a state."""

import re
from collections.abc import Callable
from functools import partial
from itertools import combinations, groupby, pairwise


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


def first_symbols(word: str, p: int = 2) -> str:
    return word[:p] if len(word) >= p else "too short"


def counting(rule: Callable[[int, int], bool], word: str) -> str:
    return "accept" if rule(word.count("0"), word.count("1")) else "reject"


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
    "flip-flop": last_written,
    "prefix": first_symbols,
}


# ("letters", "ab"), ("empty",), ("then" or "|" or "&" or "^", left, right), ("repeat", part, low, high)
Expression = tuple
BINDING = ("|", "&", "^", "then", "repeat")  # from loosely to tightly


def rendered(expression: Expression) -> str:
    """A regular expression as text, with brackets only where the precedence needs them."""
    kind, *parts = expression
    if kind == "letters":
        return parts[0] if len(parts[0]) == 1 else f"[{parts[0]}]"
    if kind == "empty":
        return "()"
    if kind == "repeat":
        part, low, high = parts
        bounds = f"{low}," if high is None else f"{low}" if low == high else f"{low},{high}"
        return within(part, "repeat", 1) + "{" + bounds + "}"
    left, right = (within(part, kind, 0) for part in parts)
    return f"{left}{'' if kind == 'then' else kind}{right}"


def within(part: Expression, kind: str, tighter: int) -> str:
    loose = part[0] in BINDING and BINDING.index(part[0]) < BINDING.index(kind) + tighter
    return f"({rendered(part)})" if loose else rendered(part)


def words_of(expression: Expression, longest: int) -> set[str]:
    """The words of an expression, up to a length, as sets of words are joined and shuffled."""
    kind, *parts = expression
    if kind == "letters":
        return set(parts[0])
    if kind == "empty":
        return {""}
    if kind == "repeat":
        part, low, high = words_of(parts[0], longest), *parts[1:]
        power, found = {""}, set()
        for times in range(max(low, longest) + 1 if high is None else high + 1):
            found |= power if times >= low else set()
            power = {u + v for u in power for v in part if len(u + v) <= longest}
        return found
    left, right = (words_of(part, longest) for part in parts)
    if kind in "|&":
        return left | right if kind == "|" else left & right
    pairs = [(u, v) for u in left for v in right if len(u + v) <= longest]
    return {u + v for u, v in pairs} if kind == "then" else {w for u, v in pairs for w in interleaved(u, v)}


def interleaved(u: str, v: str) -> set[str]:
    """All words made of u's and v's symbols, each in their order."""
    found = set()
    for places in combinations(range(len(u + v)), len(u)):
        first, second = iter(u), iter(v)
        found.add("".join(next(first) if i in places else next(second) for i in range(len(u + v))))
    return found
