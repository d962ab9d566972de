"""The machines that compute expressions mod m while they read them.

With the usual precedence two numbers have to be kept: the total of the finished terms and the signed current
term. Reading strictly from left to right, the total is enough.
"""

from collections.abc import Callable
from typing import TypeGuard

from languages.automata import MooreMachine

ILL_FORMED = "ill-formed"

Value = tuple[int, ...]  # what is kept: (total, term), or with left-to-right reading (total,)
Pending = tuple[Value, str]  # a value and the operator that waits for its digit
State = Value | Pending | str  # str: ill-formed
Apply = Callable[[Value, str, int, int], Value]  # value, operator, digit, modulus -> value


def apply_with_precedence(value: Value, operator: str, digit: int, modulus: int) -> Value:
    """(total, signed term) after an operator and a digit."""
    total, term = value
    if operator == "*":
        return total, term * digit % modulus
    return (total + term) % modulus, (digit if operator == "+" else -digit) % modulus


def apply_left_to_right(value: Value, operator: str, digit: int, modulus: int) -> Value:
    """(total,) after an operator and a digit."""
    (total,) = value
    return ({"+": total + digit, "-": total - digit, "*": total * digit}[operator] % modulus,)


def symbol_machine(
    apply: Apply, zero: Value, modulus: int, digits: tuple[str, ...], operators: tuple[str, ...], plus: bool
) -> MooreMachine:
    """The machine over single symbols: values, pending operators (no answer) and what is ill-formed (no answer).

    With `plus` it starts from the value zero and reads an operator first; else as if "0+" had been read.
    """

    def wait(value: Value, operator: str) -> Pending:
        settled = value if operator == "*" else (sum(value) % modulus, *zero[1:])  # "1+2+" is "3+"
        return settled, operator

    def step(state: State, symbol: str) -> State:
        if is_value(state) and symbol in operators:
            return wait(state, symbol)
        if is_pending(state) and symbol in digits:
            value, operator = state
            return apply(value, operator, int(symbol), modulus)
        return ILL_FORMED

    delta: dict[State, dict[str, State]] = {}
    alphabet = digits + operators
    todo: list[State] = [zero if plus else wait(zero, "+")]
    for state in todo:
        if state not in delta:
            delta[state] = {symbol: step(state, symbol) for symbol in alphabet}
            todo.extend(delta[state].values())
    rows = {_name(state): {symbol: _name(target) for symbol, target in row.items()} for state, row in delta.items()}
    outputs = tuple(sum(state) % modulus if is_value(state) else -1 for state in delta)
    return MooreMachine(tuple(rows), alphabet, rows, _name(todo[0]), outputs, digits)


def is_value(state: State) -> TypeGuard[Value]:
    """Whether a state is a value: numbers only."""
    return isinstance(state, tuple) and isinstance(state[0], int)


def is_pending(state: State) -> TypeGuard[Pending]:
    """Whether a state is a value and an operator that waits for its digit."""
    return isinstance(state, tuple) and not is_value(state)


def _name(state: State) -> str:
    if is_value(state):
        return "+".join(str(part) for part in state)
    if is_pending(state):
        return f"({_name(state[0])}){state[1]}"
    return ILL_FORMED
