"""Modular arithmetic without brackets: the value of an expression mod m.

The machine reads single symbols, so it is ill-formed to read two digits or two operators in a row; there it has no
answer (-1), nor while an operator waits for its digit.
"""

from languages.automata import Dfa
from languages.budget import allowed, hint
from languages.errors import LanguageError
from languages.regular.expressions import Apply, Value, apply_left_to_right, apply_with_precedence, symbol_machine
from languages.specification import spec
from languages.task import Task

OPERATORS = "+-*"
MAX_MODULUS = 32


def modular_arithmetic(modulus: int = 5, operators: str = OPERATORS, plus: bool = False) -> Task:
    """The value mod `modulus` of digits joined by `operators`, multiplication first, as in arithmetic.

    Digits (0..modulus-1) and operators are uniform and independent; words have odd length 2n - 1 for n digits. With
    `plus` a constant "+" stands in front, so that the word is n pairs (operator, digit) and has even length 2n: the
    length of a word includes the plus. Then the machine also answers any word of such pairs that begins with another
    operator, from the value 0: what a node of a tree over the word is asked.

    LanguageError: a modulus outside 2..32, no operators, repeated ones or others than + - *.

    >>> task = modular_arithmetic()
    >>> task.machine.answers("1+2*3", every=True).tolist()
    [1, -1, 3, -1, 2]
    >>> modular_arithmetic(plus=True).machine.answers("*2-3").item()  # 0*2-3 = -3
    2

    Source: thesis, section 6.4.1; Deletang et al. 2023, Modular Arithmetic (Simple); the constant plus: the
    code of the original RegularGPT.
    """
    return _task("modular-arithmetic", apply_with_precedence, (0, 0), modulus, operators, plus)


def modular_arithmetic_left_to_right(modulus: int = 5, operators: str = OPERATORS, plus: bool = False) -> Task:
    """The value mod `modulus` of digits joined by `operators`, computed strictly from left to right.

    Parameters, words and errors as in `modular_arithmetic`. Another task: for mod 5 and words of 41 symbols
    or more the answers differ on four of five words.

    >>> modular_arithmetic_left_to_right().machine.answers("1+2*3", every=True).tolist()
    [1, -1, 3, -1, 4]

    Source: Butoi et al. 2025 (FLaRe); the same task in work on linear recurrent units.
    """
    return _task("modular-arithmetic-left-to-right", apply_left_to_right, (0,), modulus, operators, plus)


def _task(name: str, apply: Apply, zero: Value, modulus: int, operators: str, plus: bool) -> Task:
    operators = _check(modulus, operators)
    digits = tuple(str(digit) for digit in range(modulus))
    symbols = tuple(operator for operator in OPERATORS if operator in operators or (plus and operator == "+"))
    return Task(
        name=spec(name, {"modulus": (modulus, 5), "operators": (operators, OPERATORS), "plus": (plus, False)}),
        machine=symbol_machine(apply, zero, modulus, digits, symbols, plus),
        summary=f"the value mod {modulus} of digits joined by {' '.join(operators)}",
        source="thesis 6.4.1; Deletang et al. 2023 (Modular Arithmetic)",
        examples=_examples(modulus, operators, plus, precedence=len(zero) == 2),
        domain=_domain(digits, operators, symbols, plus),
    )


def _check(modulus: int, operators: str) -> str:
    """The operators in their usual order."""
    if not 2 <= modulus <= allowed(MAX_MODULUS):
        most = f"{allowed(MAX_MODULUS)}{hint(modulus, MAX_MODULUS)}"
        raise LanguageError(f"modular arithmetic: modulus is {modulus}; it is 2 to {most}")
    if not operators or len(set(operators)) != len(operators) or not set(operators) <= set(OPERATORS):
        raise LanguageError(f"modular arithmetic: operators are {operators!r}; give one or more of {OPERATORS}")
    return "".join(operator for operator in OPERATORS if operator in operators)


def _domain(digits: tuple[str, ...], operators: str, symbols: tuple[str, ...], plus: bool) -> Dfa:
    """The words that are questions: digits joined by operators, with "+" in front if there is a plus."""
    delta = {
        "start": {"+": "operator"} if plus else dict.fromkeys(digits, "digit"),
        "operator": dict.fromkeys(digits, "digit"),
        "digit": dict.fromkeys(operators, "operator"),
    }
    return Dfa.from_partial(tuple(delta), digits + symbols, delta, "start", {"digit"})


def _examples(modulus: int, operators: str, plus: bool, precedence: bool) -> tuple[tuple[str, str], ...]:
    worked = {"1": 1, "1+1": 2 % modulus, "0-1": modulus - 1, "1*1": 1, "1+1*0": 1 if precedence else 0}
    space = " " if modulus > 10 else ""  # digits of two characters: symbols are separated by spaces
    return tuple(
        (space.join("+" + word if plus else word), str(value))
        for word, value in worked.items()
        if set(word) <= set("01" + operators)
    )
