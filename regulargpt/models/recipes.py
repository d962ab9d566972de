"""What a model takes of the recipes: `[recipe][language]`, "*" for every language. Never imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from regulargpt.options.presets import dotted, presets

Recipes = Mapping[str, Mapping[str, Mapping[str, Any]]]
BRACKETED = "( )"  # in place of a language, and the name of none: every language with brackets


@cache
def built_in() -> Mapping[str, Recipes]:
    """What recipes.toml has, by model.

    >>> built_in()["lstm"]["words"]["*"]
    {'model.d_model': 256, 'training.lr': 0.001, 'training.beta2': 0.999}
    """
    return {
        model: {recipe: {name: dotted(of) for name, of in by.items()} for recipe, by in recipes.items()}
        for model, recipes in presets("regulargpt.models", "recipes.toml").items()
    }
