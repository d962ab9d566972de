"""Languages that ask for a value: arithmetic with brackets, equations, Boolean formulas, lists of operations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from languages.automata.explore import explored
from languages.context_free.nested import NestedTask
from languages.context_free.published import check_sampler, equations, expressions
from languages.errors import LanguageError
from languages.sampling.grammar import Variable
from languages.specification import spec

OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
}
E = Variable("E")


def check_modulus(name: str, modulus: int) -> None:
    if not 2 <= modulus <= 10:
        raise LanguageError(f"{name}: modulus is {modulus}; it is a whole number, 2 to 10: a digit is one symbol")


def arithmetic(modulus: int = 5, precedence: bool = False, depth: str = "any", sampler: str = "grammar") -> NestedTask:
    """The value mod m of an expression with brackets.

    Without precedence each operation stands in brackets, and a minus may stand before a digit: E = d, -d, (d), (-d) or
    (E op E), op one of + - *. With precedence expressions are as in school, multiplication first, and any part may
    stand in brackets. Other words are no questions. `sampler`: "grammar", whose words of a length are equally likely,
    or "published", whose depth is about logarithmic; the latter has no precedence.

    LanguageError: a modulus outside 2..10, another sampler, or the published sampler with precedence or a depth.

    >>> task = arithmetic()
    >>> task.machine.answers("((3+-1)*4)").item(), task.machine.answers("3+1").item()
    (3, -1)
    >>> arithmetic(precedence=True).machine.answers("3+2*(1-4)").item()
    2

    Source: Delétang et al. 2023, Modular Arithmetic, the language of their deterministic context-free level.
    """
    check_modulus("arithmetic-brackets", modulus)
    check_sampler("arithmetic-brackets", sampler, depth)
    if sampler == "published" and precedence:
        raise LanguageError("arithmetic-brackets: sampler=published has brackets everywhere; leave out precedence=true")
    digits = tuple(str(i) for i in range(modulus))
    if precedence:
        step, rules, example = _with_precedence(modulus), _rules_with_precedence(digits), "1+1*(1-1)"
    else:
        step, rules, example = _bracketed(modulus, "+-*"), bracketed_rules(digits, "+-*"), "((1+-1)*0)"
    machine = explored(
        [*digits, *"+-*()"], ("operand", "outside"), step,
        lambda state: str(state[-1]) if state[0] == "value" else None, digits, "(", ")",
    )  # fmt: skip
    return NestedTask(
        name=spec("arithmetic-brackets", {
            "modulus": (modulus, 5), "precedence": (precedence, False), "depth": (depth, "any"),
            "sampler": (sampler, "grammar"),
        }),
        machine=machine,
        summary=f"the value mod {modulus} of an expression with brackets"
        + (", multiplication first" if precedence else " round each operation"),
        source="Delétang et al. 2023, Modular Arithmetic (brackets)",
        examples=((example, str(1 % modulus) if precedence else "0"), ("1", "1")),
        rules=rules,
        draw=expressions(machine.alphabet, modulus, "+-*") if sampler == "published" else None,
        depth=depth,
    )  # fmt: skip


def bracketed_rules(digits: tuple[str, ...], operators: str, E: Variable = E) -> dict[str, Any]:
    """E = d, -d, (d), (-d) or (E op E)."""
    return {
        E.name: (
            (digits,),
            ("-", digits),
            ("(", digits, ")"),
            ("(", "-", digits, ")"),
            ("(", E, tuple(operators), E, ")"),
        )
    }


def _bracketed(modulus: int, operators: str) -> Any:
    """States: an operand is expected (outside; the first inside; the second), perhaps behind a minus; it is there."""

    def there(expecting: Any, value: int, bracket: bool) -> Any:
        match expecting:
            case ("operand", "outside"):
                return "value", value
            case ("first",):
                # An operator may follow; the bracket may close only where a digit stands alone in it.
                return "left", "bracket" if bracket else "digit", value
            case ("second", left, operator):
                return "both", OPERATORS[operator](left, value) % modulus
            case _:
                raise AssertionError(expecting)

    def step(state: Any, symbol: str, top: Any) -> tuple[Any, Any] | None:
        expects = state[0] in ("operand", "first", "second")
        if symbol == "(":
            return (("first",), state) if expects else None
        if symbol.isdigit():
            if state[0] == "minus":
                return there(state[1], -int(symbol) % modulus, False), None
            return (there(state, int(symbol), False), None) if expects else None
        if symbol == ")":
            closes = state[0] == "both" or state[:2] == ("left", "digit")
            return (there(top, state[-1], True), None) if top is not None and closes else None
        if symbol == "-" and expects:
            return ("minus", state), None
        return (("second", state[-1], symbol), None) if state[0] == "left" and symbol in operators else None

    return step


def _with_precedence(modulus: int) -> Any:
    """States: the value so far is s + c times the factor that comes next, or s + t with the last product t."""

    def step(state: Any, symbol: str, top: Any) -> tuple[Any, Any] | None:
        kind, *rest = state
        s, c, place = (
            (0, 1, rest[0]) if kind == "operand" else (rest[0], rest[1], rest[2]) if kind == "expects" else (0, 0, "")
        )
        expects = kind in ("operand", "expects")
        if symbol == "(":
            return (("operand", "inside"), (s, c, place)) if expects else None
        if symbol.isdigit():
            return (_product(s, c * int(symbol) % modulus, place, modulus), None) if expects else None
        if expects:
            return None
        s, t, place = state[1], state[2], "outside" if kind == "value" else "inside"
        if symbol == ")":
            if top is None or place == "outside":
                return None
            return _product(top[0], top[1] * (s + t) % modulus, top[2], modulus), None
        after = {"+": ((s + t) % modulus, 1), "-": ((s + t) % modulus, -1 % modulus), "*": (s, t)}[symbol]
        return ("expects", *after, place), None

    return step


def _product(s: int, t: int, place: str, modulus: int) -> Any:
    # Outside the last part of the state is its value, the answer.
    return ("value", s, t, (s + t) % modulus) if place == "outside" else ("inner", s, t)


def _rules_with_precedence(digits: tuple[str, ...]) -> dict[str, Any]:
    operators = tuple("+-*")
    return {
        "E": ((digits,), ("(", E, ")"), (digits, operators, E), ("(", E, ")", operators, E)),
    }


def equation(modulus: int = 5, depth: str = "any", sampler: str = "grammar") -> NestedTask:
    """Which digit x solves an equation: an expression with brackets round each + and -, one x in it, `=`, a digit.

    The value is carried as a x + b with a one of 0, 1, -1, so that the one solution is read off. `sampler` as in
    `arithmetic`; the published sampler draws x more often behind brackets.

    LanguageError: a modulus outside 2..10, another sampler, or the published sampler with a depth.

    >>> equation().machine.answers("((x-3)+1)=2").item()
    4

    Source: Delétang et al. 2023, Solve Equation.
    """
    check_modulus("equation", modulus)
    check_sampler("equation", sampler, depth)
    digits = tuple(str(i) for i in range(modulus))
    step = _equation(modulus)
    machine = explored(
        [*digits, *"+-()x="], ("operand", "outside"), step,
        lambda state: str(state[1]) if state[0] == "solution" else None, digits, "(", ")",
    )  # fmt: skip
    X, signs = Variable("X"), ("+", "-")
    with_x = (
        ("x",),
        ("-", "x"),
        ("(", "x", ")"),
        ("(", "-", "x", ")"),
        ("(", X, signs, E, ")"),
        ("(", E, signs, X, ")"),
    )
    return NestedTask(
        name=spec("equation", {"modulus": (modulus, 5), "depth": (depth, "any"), "sampler": (sampler, "grammar")}),
        machine=machine,
        summary=f"the digit x that solves an equation mod {modulus}, with brackets round each operation",
        source="Delétang et al. 2023, Solve Equation",
        examples=(("(x-1)=0", "1"), ("x=1", "1")),
        rules={"Q": ((X, "=", digits),), "X": with_x, **bracketed_rules(digits, "+-")},
        depth=depth,
        draw=equations(machine.alphabet, modulus) if sampler == "published" else None,
    )


def _equation(modulus: int) -> Any:
    def there(expecting: Any, a: int, b: int, bracket: bool) -> Any:
        match expecting:
            case ("operand", "outside"):
                return ("value", a, b % modulus)
            case ("first",):
                return "left", "bracket" if bracket else "digit", a, b % modulus
            case ("second", c, d, operator):
                sign = 1 if operator == "+" else -1
                # Two x in one equation are no question.
                return None if a and c else ("both", c + sign * a, (d + sign * b) % modulus)
            case _:
                raise AssertionError(expecting)

    def arrived(state: Any) -> tuple[Any, Any] | None:
        return None if state is None else (state, None)

    def step(state: Any, symbol: str, top: Any) -> tuple[Any, Any] | None:
        expects = state[0] in ("operand", "first", "second")
        if symbol == "(":
            return (("first",), state) if expects else None
        if symbol.isdigit() or symbol == "x":
            a, b = (1, 0) if symbol == "x" else (0, int(symbol))
            if state[0] == "minus":
                return arrived(there(state[1], -a, -b, False))
            if state[0] == "equals" and symbol != "x":
                return ("solution", state[1] * (int(symbol) - state[2]) % modulus), None
            return arrived(there(state, a, b, False)) if expects else None
        if symbol == ")":
            closes = state[0] == "both" or state[:2] == ("left", "digit")
            return arrived(there(top, state[-2], state[-1], True)) if top is not None and closes else None
        if symbol == "=":
            return (("equals", state[1], state[2]), None) if state[0] == "value" and state[1] else None
        if symbol == "-" and expects:
            return ("minus", state), None
        return (("second", state[-2], state[-1], symbol), None) if state[0] == "left" and symbol in "+-" else None

    return step


def formula(depth: str = "any") -> NestedTask:
    """The value of a Boolean formula: 0, 1, !F, (F & F) or (F | F). Other words are no questions.

    >>> formula().machine.answers("(!(1&0)|0)").item()
    1

    Source: the Boolean formula value problem, complete for NC^1, Buss 1987.
    """

    def there(expecting: Any, value: int) -> Any:
        kind, *rest, negated = expecting
        value ^= negated
        if kind == "operand":
            return "value", value
        if kind == "first":
            return "left", value
        return "both", (rest[0] & value) if rest[1] == "&" else (rest[0] | value)

    def step(state: Any, symbol: str, top: Any) -> tuple[Any, Any] | None:
        expects = state[0] in ("operand", "first", "second")
        if symbol == "(":
            return (("first", 0), state) if expects else None
        if symbol in "01":
            return (there(state, int(symbol)), None) if expects else None
        if symbol == "!":
            return ((*state[:-1], 1 - state[-1]), None) if expects else None
        if symbol == ")":
            return (there(top, state[1]), None) if top is not None and state[0] == "both" else None
        return (("second", state[1], symbol, 0), None) if state[0] == "left" else None

    F = Variable("F")
    bits = ("0", "1")
    return NestedTask(
        name=spec("formula", {"depth": (depth, "any")}),
        machine=explored(
            "01!&|()", ("operand", 0), step,
            lambda state: str(state[1]) if state[0] == "value" else None, bits, "(", ")",
        ),
        summary="the value of a Boolean formula with ! and brackets round each & and |",
        source="Buss 1987, the Boolean formula value problem",
        examples=(("(!0&1)", "1"), ("!1", "0")),
        rules={"F": ((bits,), ("!", F), ("(", F, ("&", "|"), F, ")"))},
        depth=depth,
    )  # fmt: skip


LIST_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "[MAX": max,
    "[MIN": min,
    "[SM": lambda a, b: (a + b) % 10,
}


def list_ops(depth: str = "any") -> NestedTask:
    """The value of nested lists: [MAX 2 9 [MIN 4 7] 0], with MAX, MIN and SM, the sum mod 10, of one or more digits.

    There is no median: of a list of any length no finite number of states knows it. Those of the published data bound
    the length.

    >>> list_ops().machine.answers("[MAX 2 [SM 5 6 ] 0 ]").item()
    2

    Source: Nangia and Bowman 2018, ListOps.
    """
    digits = tuple(str(i) for i in range(10))

    def there(expecting: Any, value: int) -> Any:
        if expecting == ("operand",):
            return "value", value
        operation, *rest = expecting
        return operation, LIST_OPERATIONS[operation](rest[0], value) if rest else value

    def step(state: Any, symbol: str, top: Any) -> tuple[Any, Any] | None:
        if state[0] == "value":
            return None
        if symbol in LIST_OPERATIONS:
            return (symbol,), state
        if symbol != "]":
            return there(state, int(symbol)), None
        return (there(top, state[1]), None) if top is not None and len(state) == 2 else None

    A = Variable("A")
    return NestedTask(
        name=spec("list-ops", {"depth": (depth, "any")}),
        machine=explored(
            [*digits, *LIST_OPERATIONS, "]"], ("operand",), step,
            lambda state: str(state[1]) if state[0] == "value" else None, digits, list(LIST_OPERATIONS), "]",
        ),
        summary="the value of nested lists with MAX, MIN and SM, the sum mod 10",
        source="Nangia and Bowman 2018",
        examples=(("[MAX 2 9 [MIN 4 7 ] 0 ]", "9"), ("3", "3")),
        rules={
            "V": ((digits,), (tuple(LIST_OPERATIONS), A, "]")),
            "A": ((digits,), (tuple(LIST_OPERATIONS), A, "]"), (digits, A), (tuple(LIST_OPERATIONS), A, "]", A)),
        },
        depth=depth,
    )  # fmt: skip
