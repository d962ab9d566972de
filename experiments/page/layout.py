"""Pages whose sections are made of parts: page.json has the parts alone, and what follows from them is made anew."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from experiments.page.compact import packed, unpacked, with_curves
from experiments.page.record import Page, Values, block_of, block_values, from_json, to_json

# Where `sections(facts, **parts)` of each layout is.
LAYOUTS = {"texts": "regulargpt.text.experiments.page"}


def laid_out(layout: str, facts: Values, parts: Values, **page: Any) -> Page:
    """The page of these parts; KeyError for an unknown layout, TypeError for other parts than it has."""
    kept = json.loads(json.dumps(parts, default=block_values))
    sections = import_module(LAYOUTS[layout]).sections(facts, **dict(with_pictures(kept)))
    return from_json({**page, "facts": facts, "sections": sections, "layout": layout, "parts": kept})


def with_pictures(parts: Values) -> Iterator[tuple[str, Any]]:
    """The parts as sections are made of them."""
    for key, value in parts.items():
        yield key, [*map(block_of, value)] if key in ("pictures", "curves") else value


def stored(page: Page) -> dict[str, Any]:
    """What page.json has of a page."""
    values = to_json(page)
    if not page.layout:
        return values | {"sections": with_curves(values["sections"], is_short=True)}
    del values["sections"]
    return values | {"layout": page.layout, "parts": packed(page.parts)}


def page_of(values: Values) -> Page:
    """The page that `stored` took; KeyError, TypeError, ValueError, AttributeError or OSError for others."""
    if "layout" not in values:
        return from_json({**values, "sections": with_curves(values["sections"], is_short=False)})
    return laid_out(**{**values, "parts": unpacked(values["parts"])})
