"""Markup as text: what a user named cannot become a tag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from regulargpt.plots import BLUE, GREEN, LIGHT_GREY, ORANGE, PURPLE, SKY, VERMILION, VIOLET, YELLOW

Point = tuple[float, float]

# Then the same mixed with white.
HUES = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILION, YELLOW, VIOLET)
DARK = (0, 7)  # white is read on them
MIXED = (0.0, 0.4, 0.65)


def tag(name: str, *children: str, **attributes: object) -> str:
    """An element; children are markup, attributes are escaped, `_` becomes `-` and a last `_` is dropped.

    >>> tag("text", text("a<b"), class_="state", data_state=1)
    '<text class="state" data-state="1">a&lt;b</text>'
    >>> tag("g", hidden=None)
    '<g></g>'
    """
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    inner = "".join(f' {key}="{escape(number(value))}"' for key, value in pairs)
    return f"<{name}{inner}>{''.join(children)}</{name}>"


def text(value: object) -> str:
    """Text, escaped."""
    return escape(str(value))


def number(value: object) -> str:
    """A number with at most two decimals, anything else as it is.

    >>> number(1.0), number(2.126), number("a")
    ('1', '2.13', 'a')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def points(pairs: Iterable[Point]) -> str:
    """Points as polygons and polylines list them.

    >>> points([(0, 0.5), (1, 2)])
    '0,0.5 1,2'
    """
    return " ".join(f"{number(float(x))},{number(float(y))}" for x, y in pairs)


def colours(i: int) -> tuple[str, str]:
    """The colour of the class number i in every picture, and the ink that is read on it; they begin again after 24.

    >>> colours(0), colours(1), colours(8)[0]
    (('#0072B2', '#FFFFFF'), ('#E69F00', '#000000'), '#66AAD1')
    """
    hue, share = HUES[i % len(HUES)], MIXED[i // len(HUES) % len(MIXED)]
    mixed = [round(c + (255 - c) * share) for c in bytes.fromhex(hue[1:])]
    return "#" + bytes(mixed).hex().upper(), "#FFFFFF" if i % (len(HUES) * len(MIXED)) in DARK else "#000000"


def by_element(elements: Sequence[Sequence[int]]) -> list[tuple[str, str]]:
    """Colour and ink of each prototype, by the first of its elements; of a prototype without, grey.

    >>> [colour for colour, _ in by_element([[0], [1], [0, 3], []])]
    ['#0072B2', '#E69F00', '#0072B2', '#999999']
    """
    return [colours(elements_there[0]) if elements_there else (LIGHT_GREY, "#000000") for elements_there in elements]


def section(kind: str, heading: str, *parts: str, level: int = 3) -> str:
    """A part of an article."""
    return tag("section", tag(f"h{level}", text(heading)), *parts, class_=kind)


def scrolling(name: str, *parts: str, **attributes: object) -> str:
    """What scrolls by itself where it is too wide, also by the keyboard.

    >>> scrolling("Numbers", "1", data_part="all")
    '<div class="scroll" tabindex="0" role="group" aria-label="Numbers" data-part="all">1</div>'
    """
    return tag("div", *parts, class_="scroll", tabindex=0, role="group", aria_label=name, **attributes)
