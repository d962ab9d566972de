"""The groups by name, and their products; `languages.regular.group` makes their word problems."""

from collections.abc import Callable, Mapping
from itertools import product as tuples
from math import factorial, prod
from typing import Literal

from languages.budget import allowed, hint
from languages.errors import LanguageError, nearest, one_of
from languages.regular.group import Answer, FiniteGroup, Letters, Order, Permutation, then, word_problem
from languages.task import Task

MAX_CYCLIC = 1000
MAX_DIHEDRAL = 500
MAX_HEISENBERG = 10  # each number of an element's name is one digit
MAX_PERMUTED = 7
MAX_FACTORS = 8


def cyclic(n: int, answer: Answer = "element", letters: Letters = "generators") -> Task:
    """The sum mod n. Letters 0 (the identity) and 1 (the generator); cyclic-2 is Parity.

    With letters="elements" every element is a letter. LanguageError: n outside 1..1000, or another word for
    `answer` or `letters`.

    >>> cyclic(3).machine.answers("1101", every=True).tolist()
    [1, 2, 2, 0]

    Source: Z_n; thesis, section 6.6.
    """
    return word_problem(_cyclic(n), answer, letters)


def dihedral(
    n: int, answer: Answer = "element", letters: Letters = "generators", order: Order = "left-to-right"
) -> Task:
    """The symmetries of a regular n-gon. Letters e (the identity), r (a turn by one corner), s (a reflection).

    Elements are named r0, r1, ... (turns) and s0, s1, ... (the reflection s, then that turn). Parameters as
    in `cyclic`. LanguageError: n outside 3..500.

    >>> machine = dihedral(4).machine
    >>> machine.n_states, [machine.output_names[i] for i in machine.answers("rsre", every=True)]
    (8, ['r1', 's3', 's0', 's0'])

    Source: D_n, of order 2n.
    """
    return word_problem(_dihedral(n), answer, letters, order)


def heisenberg(
    n: int, answer: Answer = "element", letters: Letters = "generators", order: Order = "left-to-right"
) -> Task:
    """The matrices (1 a c; 0 1 b; 0 0 1) mod n. Letters e (the identity), x (a = 1) and y (b = 1).

    Elements are named by a, b, c, and act on columns. So from left to right the matrix of a word is that of its last
    letter times ... times that of its first. Parameters as in `cyclic`. LanguageError: n outside 2..10.

    >>> machine = heisenberg(3).machine
    >>> machine.n_states, [machine.output_names[i] for i in machine.answers("xyxy", every=True)]
    (27, ['100', '110', '211', '221'])

    Source: H_n, of order n^3, nilpotent of class 2; H_3 in Irie et al. 2026.
    """
    return word_problem(_heisenberg(n), answer, letters, order)


def symmetric(
    n: int,
    answer: Answer = "element",
    letters: Letters | Literal["swaps"] = "generators",
    order: Order = "left-to-right",
) -> Task:
    """All permutations of 1..n. Letters e (the identity), t (the transposition (1 2)), c (the cycle (1 2 ... n)).

    Elements are named by their images of 1, 2, ..., n. Parameters as in `cyclic`, and the order of products: in "tc"
    the transposition acts first, or with order="right-to-left" the cycle. With letters="swaps" those elements are
    letters that move at most two points (Grazzi et al. 2025). LanguageError: n outside 2..7.

    >>> machine = symmetric(3).machine
    >>> machine.n_states, [machine.output_names[i] for i in machine.answers("tcct", every=True)]
    (6, ['213', '321', '132', '231'])
    >>> [machine.output_names[i] for i in symmetric(3, order="right-to-left").machine.answers("tcct", every=True)]
    ['213', '132', '321', '231']
    >>> symmetric(3, letters="swaps").alphabet
    ('123', '213', '321', '132')

    Source: S_n; S_5 is not solvable, and its word problem is complete for NC^1 (Barrington 1989).
    """
    return word_problem(_symmetric(n), answer, letters, order)


def alternating(
    n: int, answer: Answer = "element", letters: Letters = "generators", order: Order = "left-to-right"
) -> Task:
    """The even permutations of 1..n. Letters e (the identity) and k = 3..n, each the cycle (1 2 k).

    Elements are named by their images of 1, 2, ..., n. Parameters as in `cyclic`. LanguageError: n outside 3..7.

    >>> machine = alternating(4).machine
    >>> machine.n_states, [machine.output_names[i] for i in machine.answers("34e3", every=True)]
    (12, ['2314', '4321', '4321', '4132'])

    Source: A_n; A_5 is the smallest group that is not solvable.
    """
    return word_problem(_alternating(n), answer, letters, order)


def product(
    name: str, answer: Answer = "element", letters: Letters = "generators", order: Order = "left-to-right"
) -> Task:
    """The direct product of groups, `name` being theirs with * between: each factor has its own part of every letter.

    Elements and letters are those of the factors with dots between. The letters are the identity, and for each other
    letter of a factor that one, with the identity in all other parts. Parameters as in `cyclic`. LanguageError: what is
    no group, more than 8 factors, or more than 5040 elements.

    >>> machine = product("cyclic-4*alternating-4").machine
    >>> machine.n_states, machine.alphabet
    (48, ('0.e', '1.e', '0.3', '0.4'))
    >>> [machine.output_names[i] for i in machine.answers("1.e 0.3 1.e", every=True)]
    ['1.1234', '1.2314', '2.2314']

    Source: Merrill et al. 2024 (A_4 x Z_5, with letters="elements").
    """
    factors = name.split("*")
    if len(factors) > MAX_FACTORS:
        raise LanguageError(f"{name:.80}: {len(factors)} factors are too many; give at most {MAX_FACTORS}")
    groups = [group(factor) for factor in factors]
    count, most = prod(len(each.names) for each in groups), factorial(MAX_PERMUTED)
    if count > allowed(most):
        raise LanguageError(f"{name:.80}: {count:,} elements; at most {allowed(most):,} are allowed{hint(count, most)}")
    return word_problem(_product(groups), answer, letters, order)


def group(name: str) -> FiniteGroup:
    """The group of a name, as in cyclic-4. LanguageError for a name that is not one's, or a number that is too large.

    >>> group("symmetric-3").title
    'S_3'
    """
    stem, _, number = name.rpartition("-")
    if stem not in GROUPS or not (number.isascii() and number.isdigit() and len(number) < 40):
        close = nearest(name, [f"{known}-{number or 4}" for known in GROUPS])
        known = close or f" groups are {one_of(f'{known}-N' for known in GROUPS)}"
        raise LanguageError(f"{name!r:.80} is no group;{known}")
    return GROUPS[stem](int(number))


def _cyclic(n: int) -> FiniteGroup:
    _check("cyclic", n, 1, MAX_CYCLIC)
    names = {_turn(n, k): str(k) for k in range(n)}
    return FiniteGroup(f"cyclic-{n}", f"Z_{n}", {"0": _turn(n, 0), "1": _turn(n, 1)}, names)


def _dihedral(n: int) -> FiniteGroup:
    _check("dihedral", n, 3, MAX_DIHEDRAL)
    flip = tuple(-i % n for i in range(n))
    turns = {_turn(n, k): f"r{k}" for k in range(n)}
    names = turns | {then(flip, element): name.replace("r", "s") for element, name in turns.items()}
    return FiniteGroup(f"dihedral-{n}", f"D_{n}", {"e": _turn(n, 0), "r": _turn(n, 1), "s": flip}, names)


def _heisenberg(n: int) -> FiniteGroup:
    if not 2 <= n <= MAX_HEISENBERG:
        raise LanguageError(f"heisenberg-{n}: the number is 2 to {MAX_HEISENBERG}")

    def element(a: int, b: int, c: int) -> Permutation:
        """What the matrix does to the columns (i, j, 1), each the point i n + j."""
        return tuple((i + a * j + c) % n * n + (j + b) % n for i in range(n) for j in range(n))

    names = {element(*abc): "".join(map(str, abc)) for abc in tuples(range(n), repeat=3)}
    return FiniteGroup(
        f"heisenberg-{n}", f"H_{n}", {"e": element(0, 0, 0), "x": element(1, 0, 0), "y": element(0, 1, 0)}, names
    )


def _symmetric(n: int) -> FiniteGroup:
    _check_permuted("symmetric", n, 2)
    generators = {"e": _turn(n, 0), "t": (1, 0, *range(2, n)), "c": _turn(n, 1)}
    return FiniteGroup(f"symmetric-{n}", f"S_{n}", generators, _one_line(generators))


def _alternating(n: int) -> FiniteGroup:
    _check_permuted("alternating", n, 3)
    rest = [[i if i != k else 0 for i in range(2, n)] for k in range(2, n)]
    generators = {"e": _turn(n, 0)} | {str(k + 1): (1, k, *images) for k, images in enumerate(rest, 2)}
    return FiniteGroup(f"alternating-{n}", f"A_{n}", generators, _one_line(generators))


GROUPS: dict[str, Callable[[int], FiniteGroup]] = {
    "cyclic": _cyclic,
    "dihedral": _dihedral,
    "heisenberg": _heisenberg,
    "symmetric": _symmetric,
    "alternating": _alternating,
}


def _product(groups: list[FiniteGroup]) -> FiniteGroup:
    """The direct product, which permutes the points of all factors side by side."""
    first = [next(iter(each.generators)) for each in groups]
    letters = [tuple(first)] + [
        (*first[:i], letter, *first[i + 1 :]) for i, each in enumerate(groups) for letter in [*each.generators][1:]
    ]
    generators = {
        ".".join(letter): _beside([each.generators[part] for each, part in zip(groups, letter, strict=True)])
        for letter in letters
    }
    names = {
        _beside([image for image, _ in parts]): ".".join(name for _, name in parts)
        for parts in tuples(*(each.names.items() for each in groups))
    }
    return FiniteGroup(
        "*".join(each.name for each in groups), " x ".join(each.title for each in groups), generators, names
    )


def _beside(images: list[Permutation]) -> Permutation:
    """Permutations of disjoint points as one.

    >>> _beside([(1, 0), (0, 2, 1)])
    (1, 0, 2, 4, 3)
    """
    moved: list[int] = []
    for image in images:
        moved += [len(moved) + point for point in image]
    return tuple(moved)


def _check(family: str, n: int, low: int, high: int) -> None:
    if not low <= n <= allowed(high):
        raise LanguageError(f"{family}-{n}: the number is {low} to {allowed(high)}{hint(n, high)}")


def _check_permuted(family: str, n: int, low: int) -> None:
    """The limit is on n!, which is how many permutations there are."""
    most, count = factorial(MAX_PERMUTED), factorial(min(n, 20))
    if n < low or count > allowed(most):
        raise LanguageError(f"{family}-{n}: the number is {low} to {MAX_PERMUTED}{hint(count, most)}")


def _turn(n: int, k: int) -> Permutation:
    """The cycle (1 2 ... n), k times; the identity for k = 0."""
    return tuple((i + k) % n for i in range(n))


def _one_line(generators: Mapping[str, Permutation]) -> dict[Permutation, str]:
    """The elements that the generators reach, in the order of their shortest words, and their names."""
    todo = [generators["e"]]
    names: dict[Permutation, str] = {}
    for element in todo:
        if element not in names:
            names[element] = "".join(str(image + 1) for image in element)
            todo.extend(then(element, generator) for generator in generators.values())
    return names
