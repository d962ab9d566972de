"""What the answers are, by other means than automata: arithmetic, `re`, counting. Nothing here knows a state.

`ORACLES[language](text)` answers one word, `VECTORISED[language](words)` a batch of symbol indices (batch, length).
"""

import re
from collections.abc import Callable
from functools import partial
from itertools import combinations, groupby, pairwise

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.unsignedinteger]
Answers = npt.NDArray[np.generic]


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


def accept(flags: npt.NDArray[np.bool_]) -> Answers:
    return flags.astype(np.int64)


def digits_and_operators(words: Words) -> tuple[Answers, Answers]:
    """The digits (batch, n) and the operators between them as 0 "+", 1 "-", 2 "*" (batch, n - 1)."""
    return words[:, 0::2].astype(np.int64), words[:, 1::2].astype(np.int64) - 5


def many_precedence(words: Words) -> Answers:
    """From right to left: what has been read is d -> d * factor + rest, for the digit d to come."""
    digits, operators = digits_and_operators(words)
    factor, rest = np.ones(len(words), np.int64), np.zeros(len(words), np.int64)
    for t in reversed(range(operators.shape[1])):
        term, operator = digits[:, t + 1] * factor % 5, operators[:, t]
        factor = np.where(operator == 2, term, 1)
        rest = (rest + np.select([operator == 0, operator == 1], [term, -term], 0)) % 5
    return (digits[:, 0] * factor + rest) % 5


def many_left_to_right(words: Words) -> Answers:
    """From right to left: what has been read is x -> x * factor + rest, for the value x of what comes before."""
    digits, operators = digits_and_operators(words)
    factor, rest = np.ones(len(words), np.int64), np.zeros(len(words), np.int64)
    for t in reversed(range(operators.shape[1])):
        digit, operator = digits[:, t + 1], operators[:, t]
        rest = (rest + factor * np.select([operator == 0, operator == 1], [digit, -digit], 0)) % 5
        factor = np.where(operator == 2, factor * digit, factor) % 5
    return (digits[:, 0] * factor + rest) % 5


def many_tomita_3(words: Words) -> Answers:
    """Run lengths by counting up; then every end of a run of 0s is compared with the run before it."""
    batch, length = words.shape
    run = np.ones((batch, length), np.int64)
    for t in range(1, length):
        run[:, t] += np.where(words[:, t] == words[:, t - 1], run[:, t - 1], 0)
    ends = np.concatenate([words[:, 1:] != words[:, :-1], np.ones((batch, 1), np.bool_)], axis=1)
    previous = np.arange(length) - run  # where the run before this one ended
    before = np.take_along_axis(run, np.maximum(previous, 0), axis=1)
    bad = ends & (words == 0) & (run % 2 == 1) & (previous >= 0) & (before % 2 == 1)
    return accept(~bad.any(axis=1))


def many_tomita_4(words: Words) -> Answers:
    threes = words[:, 2:] + words[:, 1:-1] + words[:, :-2]
    return accept((threes != 0).all(axis=1))


def many_dyck(bound: int, words: Words) -> Answers:
    depth = (1 - 2 * words.astype(np.int8)).cumsum(axis=1, dtype=np.int16)
    return accept((depth.min(axis=1) >= 0) & (depth.max(axis=1) <= bound) & (depth[:, -1] == 0))


def many_zero_one_two(words: Words) -> Answers:
    last = words.shape[1] - 1 - np.argmax(words[:, ::-1] != 2, axis=1)
    return accept(words[np.arange(len(words)), last] == 0)


def many_ab_d_bc(words: Words) -> Answers:
    position = np.arange(words.shape[1])
    first_d = np.argmax(words == 3, axis=1)[:, None]
    wrong = ((words == 2) & (position < first_d)) | ((words == 0) & (position > first_d))
    return accept(((words == 3).sum(axis=1) == 1) & ~wrong.any(axis=1))


def many_a_to_e(words: Words) -> Answers:
    steps = np.diff(words.astype(np.int8), axis=1)
    return accept((words[:, 0] == 0) & (words[:, -1] == 4) & ((steps == 0) | (steps == 1)).all(axis=1))


def many_last_written(words: Words) -> Answers:
    last = words.shape[1] - 1 - np.argmax(words[:, ::-1] != 2, axis=1)
    return words[np.arange(len(words)), last].astype(np.int64)


def many_first_two(words: Words) -> Answers:
    """Two bits as a number; 4 is too short."""
    return 2 * words[:, 0].astype(np.int64) + words[:, 1] if words.shape[1] > 1 else np.full(len(words), 4)


def transitions(words: Words) -> Answers:
    return (words[:, 1:] != words[:, :-1]).sum(axis=1)


VECTORISED: dict[str, Callable[[Words], Answers]] = {
    "parity": lambda words: words.sum(axis=1) % 2,
    "even-pairs": lambda words: transitions(words) % 2,
    "cycle-navigation": lambda words: ((words == 1).sum(axis=1) - (words == 2).sum(axis=1)) % 5,
    "modular-arithmetic": many_precedence,
    "modular-arithmetic-left-to-right": many_left_to_right,
    "tomita-1": lambda words: accept((words == 1).all(axis=1)),
    "tomita-2": lambda words: accept(
        (words[:, 0::2] == 1).all(axis=1) & (words[:, 1::2] == 0).all(axis=1) & (words.shape[1] % 2 == 0)
    ),
    "tomita-3": many_tomita_3,
    "tomita-4": many_tomita_4,
    "tomita-5": lambda words: accept((words.sum(axis=1) % 2 == 0) & ((1 - words).sum(axis=1) % 2 == 0)),
    "tomita-6": lambda words: accept((words.shape[1] - 2 * words.sum(axis=1, dtype=np.int64)) % 3 == 0),
    "tomita-7": lambda words: accept(((words[:, :-1] == 1) & (words[:, 1:] == 0)).sum(axis=1) <= 1),
    **{f"dyck-{n}": partial(many_dyck, n) for n in (1, 2, 3, 4, 12)},
    "aa-star": lambda words: accept(np.full(len(words), words.shape[1] % 2 == 0)),
    "aaaa-star": lambda words: accept(np.full(len(words), words.shape[1] % 4 == 0)),
    "abab-star": lambda words: accept(
        (words[:, 0::2] == 0).all(axis=1) & (words[:, 1::2] == 1).all(axis=1) & (words.shape[1] % 4 == 0)
    ),
    "012-02": many_zero_one_two,
    "ab-d-bc": many_ab_d_bc,
    "aa-bb-cc-dd-ee": many_a_to_e,
    "flip-flop": many_last_written,
    "prefix": many_first_two,
}


def products(generators: tuple[tuple[int, ...], ...], words: Words) -> npt.NDArray[np.int8]:
    """(batch, n) the images under the product of the letters, first letter first."""
    images = np.array(generators, dtype=np.int8)
    result = np.broadcast_to(np.arange(images.shape[1], dtype=np.int8), (len(words), images.shape[1]))
    for t in range(words.shape[1]):
        result = np.take_along_axis(images[words[:, t]], result, axis=1)
    return result


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
