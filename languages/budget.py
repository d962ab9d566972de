"""How large a language may be: limits that keep it within 2 GiB and 10 seconds, and the number that raises them.

A limit counts things (bytes of a file, transitions, steps), not seconds: the same input is refused everywhere. Each
part has its own; all of them are multiplied by the environment variable LANGUAGES_BUDGET.
"""

import os
from math import inf, nan

from languages.errors import AutomatonError, UserError

VARIABLE = "LANGUAGES_BUDGET"
MAX_TRANSITIONS = 2**19  # of a machine: states times symbols


class TooLarge(AutomatonError):
    """A language or file beyond a limit; the message says which number is too large and how to raise the limit."""


def allowed(limit: int) -> int:
    """The limit, times LANGUAGES_BUDGET. UserError if that is set to anything but a positive number.

    >>> allowed(1000)
    1000
    """
    text = os.environ.get(VARIABLE, "1")
    try:
        factor = float(text)
    except ValueError:
        factor = nan
    if not 0 < factor < inf:
        raise UserError(f"the environment variable {VARIABLE} is {text!r}; give a positive number, as in {VARIABLE}=2")
    return int(limit * factor)


def check(count: int, limit: int, what: str) -> None:
    """Raise TooLarge if `count` is beyond the limit; `what` says of what there are so many.

    >>> check(30, 20, "the machine has 30 states")
    Traceback (most recent call last):
    languages.budget.TooLarge: the machine has 30 states; at most 20 are allowed, LANGUAGES_BUDGET=2 allows more
    """
    if count > allowed(limit):
        raise too_large(count, limit, what)


def too_large(count: int, limit: int, what: str) -> TooLarge:
    """The refusal of `count` things: what there is, how much is allowed, and the factor that allows it."""
    return TooLarge(f"{what}; at most {allowed(limit):,} are allowed{hint(count, limit)}")


def hint(count: int, limit: int) -> str:
    """The end of a refusal: how to raise the limit, if `count` is beyond it.

    >>> hint(1001, 1000), hint(0, 1000)
    (', LANGUAGES_BUDGET=2 allows more', '')
    """
    factor = -(-count // limit)
    return f", {VARIABLE}={factor} allows more" if count > allowed(limit) else ""


def check_transitions(n_states: int, n_symbols: int) -> None:
    """Raise TooLarge for a machine of more states times symbols than are allowed."""
    count = n_states * n_symbols
    check(count, MAX_TRANSITIONS, f"{n_states:,} states times {n_symbols:,} symbols are {count:,} transitions")
