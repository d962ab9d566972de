"""What is written as TOML is what is read."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt.storage import toml

SCALARS = st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3), max_leaves=6)
SECTIONS = st.dictionaries(st.text(), VALUES, max_size=4)
NESTED = st.recursive(SECTIONS, lambda inner: st.dictionaries(st.text(), VALUES | inner, max_size=4), max_leaves=8)


@given(NESTED)
def test_parse_undoes_render(mapping):
    assert toml.parse(toml.render(mapping)) == mapping


@given(NESTED)
def test_types_and_order_of_the_values_survive(mapping):
    assert repr(ordered(toml.parse(toml.render(mapping)))) == repr(ordered(mapping))


def ordered(mapping):
    """Values before sections, as TOML has it."""
    sections = {key: ordered(value) for key, value in mapping.items() if isinstance(value, dict)}
    return {key: value for key, value in mapping.items() if not isinstance(value, dict)} | sections


def test_numbers_at_the_edge():
    values = [0.1, 1e-300, 1e16, 1e22, -0.0, float("inf"), -float("inf"), 2**70, 5e-324]
    assert repr(toml.parse(toml.render({"x": values}))["x"]) == repr(values)
    assert math.isnan(toml.parse(toml.render({"x": float("nan")}))["x"])


def test_tuples_are_lists():
    assert toml.parse(toml.render({"x": (1, 2)})) == {"x": [1, 2]}


@pytest.mark.parametrize("value", [None, 1j, b"x", {1, 2}, object()])
def test_what_toml_cannot_say_is_refused(value):
    with pytest.raises(TypeError, match=rf"^Object of type '.*{type(value).__name__}' is not TOML"):
        toml.render({"model": {"depth": value}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seed 0", "config.toml is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 6); "),
        ("a = 1\na = 2", "config.toml is not TOML: Cannot overwrite a value (at end of document); "),
        ("[x\n", "config.toml is not TOML: Expected ']' at the end of a table declaration (at line 1, column 3); "),
    ],
)
def test_what_is_not_toml_is_refused_with_the_place(text, message):
    with pytest.raises(UserError) as refused:
        toml.parse(text)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
