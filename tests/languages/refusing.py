"""What a call is refused with."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from languages.errors import UserError


def refusal(
    call: Callable[..., object], *arguments: Any, error: type[Exception] | tuple[type[Exception], ...] = UserError
) -> str:
    """The message, which is one line."""
    with pytest.raises(error) as caught:
        call(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def outcome(call: Callable[..., object], *arguments: Any) -> str:
    """What the call gives, or is refused with: never another exception."""
    try:
        return str(call(*arguments))
    except UserError as error:
        return str(error)


def is_like(message: str, pattern: str) -> bool:
    """Whether this is the message, where … stands for more of it: what is wrong before, what would be right behind."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), message, re.DOTALL) is not None
