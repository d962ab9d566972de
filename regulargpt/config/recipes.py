"""Recipes are data: the options that they set over the defaults. One config comes of defaults, recipe, protocol, user.

recipes.toml has those for words; what a model takes of a recipe beside that is in models/recipes.toml.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from languages.errors import UserError, nearest, one_of
from languages.registry import WITHOUT_MACHINE, has_brackets, has_rows, level_of
from regulargpt.config.protocols import MANY, protocol, without_sampling
from regulargpt.config.schema import Draft, RunConfig, value_of
from regulargpt.data import is_language, kind_of, sampling
from regulargpt.data.kinds import KINDS
from regulargpt.models import MODELS, recipes_of
from regulargpt.models.recipes import BRACKETED
from regulargpt.options.presets import dotted, presets
from regulargpt.options.registry import ExtendedRegistry
from regulargpt.training.proof import no_certificate, proof_phase

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Recipe:
    """The options of a recipe: `fields[language]`, "*" for every language, over them those of the model's own."""

    summary: str
    """What it does, in a line."""
    fields: Mapping[str, Fields]
    """For every model, before those of the model's own."""
    balanced: Fields = field(default_factory=dict)
    """For languages of members and non-members."""
    is_for: str = "words"
    """The kind of data: "words" of a language, "text" or "retrieval"."""
    is_published: bool = False
    """Whether it is only for models that have options of their own in it."""
    otherwise: str = ""
    """The recipe whose training a network takes instead that can have no certificate. The network stays the same."""
    after: str = ""
    """The recipe behind which one of a wing is listed."""
    by_proof: Mapping[str, Mapping[str, Fields]] = field(default_factory=dict)
    """In place of `fields`, of networks that are proven in this phase."""

    def options_for(self, name: str, model: str, language: str) -> dict[str, Any]:
        """The options of this recipe, of this name, for a model and a language."""
        fields = self.by_proof.get(proof_phase(MODELS.options(model, "model")), self.fields)
        balanced = self.balanced if self.balanced and sampling(language) == "balanced" else {}
        every, own = of_model(name, model, language)
        return {**fields.get("*", {}), **every, **balanced, **of_language(fields, language), **own}

    def models(self, name: str) -> tuple[str, ...]:
        """The built-in models that it is for."""
        return tuple(model for model in MODELS if name in recipes_of(model) or not self.is_published)


def of_model(name: str, model: str, language: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a model takes of a recipe on its own account: in every language, and in this language.

    >>> of_model("answers", "lstm", "parity"), of_model("paper", "regulargpt", "modular-arithmetic")[1]["data.name"]
    (({'model.d_model': 32}, {}), 'modular-arithmetic:plus=true')
    """
    own = recipes_of(model).get(name, {})
    bracketed = own.get(BRACKETED, {}) if is_language(language) and has_brackets(language) else {}
    return dict(own.get("*", {})), {**bracketed, **of_language(own, language)}


def of_language(fields: Mapping[str, Fields], language: str) -> dict[str, Any]:
    """What a language needs of its own, also if it is spelled as the recipe would spell it; its spelling stays.

    >>> of_language(RECIPES["answers"].fields, "dyck-12")
    {'data.name': 'dyck-12:depth=every', 'training.lr': 0.0003}
    >>> of_language(RECIPES["answers"].fields, "dyck-12:members=blocks")
    {'training.lr': 0.0003}
    """
    given = without_sampling(language)
    for name, of in fields.items():
        if name != "*" and given in (name, without_sampling(of.get("data.name", name))):
            return {key: value for key, value in of.items() if key != "data.name" or language == name}
    return {}


# Where brackets are visible, some networks follow them. No other option of a network is a language's.
BY_BRACKETS: Fields = {"model.tree": "nested", "model.actions": "visible"}
# Words with brackets are as deep as they are long, and depth costs levels: a million symbols would take hours. Of the
# words that L* asks a network for, most have brackets where training words have none: they are soon looked up.
WITH_BRACKETS: Fields = {"evaluation.extra_lengths": (10_000,), "evaluation.symbols": 65_536}
SOON_LOOKED_UP: Fields = {"phases.table_fine_tuning.membership_queries_from": 300}
# What `--certify` sets: the automaton is known, so there is nothing to wait for.
KNOWN: Fields = {"automaton": "known", "membership_queries_from": 0}
CERTIFY_BY: Mapping[str, Fields] = {
    "table_fine_tuning": {"every": 100, "steps": 1000, **KNOWN},
    "stack_proof": {"every": 100},
    "chain_fine_tuning": {"every": 100, **KNOWN},
}
CERTIFY: Fields = {f"phases.table_fine_tuning.{key}": of for key, of in CERTIFY_BY["table_fine_tuning"].items()}
"""The same of trees, by dotted keys, for configs that are written in Python."""


def written(table: Mapping[str, Any]) -> Recipe:
    """A table of recipes.toml as a recipe; TypeError for what none has."""

    def by_language(tables: Mapping[str, Any]) -> dict[str, Fields]:
        return {language: dotted(options) for language, options in tables.items()}

    by_proof = {phase: by_language(tables) for phase, tables in table.get("by_proof", {}).items()}
    own = {"fields": by_language(table["fields"]), "balanced": dotted(table.get("balanced", {})), "by_proof": by_proof}
    return Recipe(**{**table, **own})


OF_WORDS = {name: written(table) for name, table in presets("regulargpt.config", "recipes.toml").items()}
RECIPES: ExtendedRegistry[Recipe] = ExtendedRegistry(OF_WORDS, "regulargpt.recipes")
# Recipes of configs that are made, not chosen: `regulargpt construct` sets the weights, and nothing is trained.
CONSTRUCTED = {"constructed-matrix": "matrix", "constructed-one-hot": "one-hot"}


def usual_recipe(language: str) -> str:
    """The recipe for those who name none.

    >>> usual_recipe("parity"), usual_recipe("text:code"), usual_recipe("retrieval:line")
    ('answers', 'text', 'retrieval')
    """
    return "answers" if is_language(language) else kind_of(language)


def usual_model(language: str) -> str:
    """The model for those who name none: a network with a stack above the regular languages, where no bracket shows it.

    >>> usual_model("parity"), usual_model("text:code"), usual_model("retrieval:line")
    ('regulargpt', 'transformer', 'transformer')
    >>> usual_model("words:mine.csv")
    'regulargpt'
    >>> usual_model("brackets-2"), usual_model("reverse-string")
    ('regulargpt', 'stack-rnn')
    """
    if not is_language(language):
        return "transformer"
    is_flat = level_of(language) in ("regular", *WITHOUT_MACHINE)
    return "regulargpt" if is_flat or has_brackets(language) else "stack-rnn"


def resolve(
    recipe: str | None,
    model: str,
    language: str,
    user: Fields | Callable[[Draft], object] | None = None,
    *,
    preset: str | None = None,
    unless: Sequence[str] = (),
    certify: bool = False,
) -> RunConfig:
    """The whole config of a recipe for a model and a language: defaults < recipe < protocol `preset` < user.

    Without a recipe, of the usual one; without its options `unless`. The user's are values by dotted keys, or what sets
    them. With `certify` the automaton is known. A network that can have no certificate is trained as the recipe has it
    for such, and is the same network. Raises UserError with the nearest name for an unknown recipe, or if the recipe
    has nothing for this model.

    >>> resolve("paper", "regulargpt", "parity").training.lr
    0.0003
    >>> resolve("paper", "regulargpt", "dyck-2:members=blocks").training.lr
    0.0005
    >>> resolve(None, "gru", "parity").phases[0].name, resolve(None, "gru", "parity", certify=True).phases[0].automaton
    ('chain_fine_tuning', 'known')
    >>> resolve(None, "transformer", "parity").phases
    ()
    >>> resolve(None, "regulargpt", "brackets-2").model.tree, resolve(None, "lstm", "brackets-2").phases
    ('nested', ())
    >>> [resolve(None, "stack-rnn", name).training.curriculum for name in ("formula", "brackets-3", "reverse-string")]
    [(10, 20), (10, 20), ()]
    """
    name = usual_recipe(language) if recipe is None else recipe
    refuse(name, model, language)
    with_brackets = is_language(language) and has_brackets(language)

    def draft(options_of: str, certify: bool) -> Draft:
        chosen = MODELS.written(model, "model")["name"]
        fields = options(name, options_of, chosen, language)
        if options_of == "answers" and with_brackets:
            has_table = proof_phase(MODELS.options(chosen, "model")) == "table_fine_tuning"
            fields |= {**WITH_BRACKETS, **(SOON_LOOKED_UP if has_table else {})}
        fields = {key: value for key, value in fields.items() if key not in unless}
        draft = Draft().put({"recipe": name, "data.name": fields.pop("data.name", language), "model.name": chosen})
        if with_brackets:
            draft.put_present(BY_BRACKETS)
        if is_language(language) and has_rows(language):
            draft.put({"objective.name": "transduction"})
        draft.put_present(fields)  # a class from outside takes those that it has
        if preset is not None:
            protocol(preset).put(draft.put(MANY))
        if certify:
            draft.put(certified(draft))
        draft.put({"model": model})  # options behind its name are the user's
        user(draft) if callable(user) else draft.put(user or {})
        return draft

    settings, otherwise = draft(name, certify), RECIPES[name].otherwise
    parts = settings.part("model"), settings.part("objective")
    if (certify or otherwise) and no_certificate(*parts, language) is not None:
        settings = draft(otherwise or name, False)
    return settings.config()


def options(recipe: str, options_of: str, model: str, language: str) -> dict[str, Any]:
    """The options of a recipe, or those that it takes of another recipe where there can be no certificate.

    A model's name is one network all the same: what the model has of its own in the recipe stays.

    >>> alone, instead = (options("answers", of, "lstm", "reverse-string") for of in ("answers", "words"))
    >>> alone["model.d_model"], instead["model.d_model"], "training.solved_loss" in instead
    (32, 32, True)
    """
    fields = RECIPES[options_of].options_for(options_of, model, language)
    if options_of == recipe:
        return fields
    every, own = of_model(recipe, model, language)
    return {**fields, **every, **own}


def refuse(recipe: str, model: str, language: str) -> None:
    """Raise UserError for a recipe that there is not, or not for such data or such a model."""
    if recipe in CONSTRUCTED:
        raise UserError(
            f"recipe '{recipe}' trains nothing; `regulargpt construct {language} --out DIR` sets its weights"
        )
    if recipe not in RECIPES:
        raise UserError(unknown_recipe(recipe))
    chosen, options = MODELS.written(model, "model")["name"], RECIPES[recipe]
    if options.is_for != kind_of(language):
        remedy = f"name a {of_kind(options.is_for)}" if is_language(language) else "leave --recipe out"
        raise UserError(f"recipe '{recipe}' is for {options.is_for}, {language} is not; {remedy}")
    if options.is_published and recipe not in recipes_of(chosen):
        names = one_of(options.models(recipe))
        raise UserError(f"recipe '{recipe}' is for {names}, not for '{chosen}'; choose --recipe words")


def of_kind(kind: str) -> str:
    """Data of a kind that a wing brings, for a remedy.

    >>> of_kind("text"), of_kind("retrieval")
    ('text, as in text:code', 'task, as in retrieval:line')
    """
    return f"{KINDS[kind].noun.split()[-1]}, as in {KINDS[kind].example}"


def certified(draft: Draft) -> Fields:
    """What `--certify` sets over a config: the automaton is known, and the certificate is tried on the way."""
    phase = proof_phase(draft.part("model"))
    fields, is_tried = CERTIFY_BY[phase], draft.flat.get(f"phases.{phase}.every")
    return {f"phases.{phase}.{key}": value for key, value in fields.items() if key in KNOWN or not is_tried}


def of_brackets(config: RunConfig) -> str:
    """What in its network is of the brackets of its language, for a line that names the network; "" for nothing.

    >>> of_brackets(resolve(None, "regulargpt", "brackets-2")), of_brackets(resolve(None, "lstm", "brackets-2"))
    (', model.tree = nested for its brackets', '')
    """
    is_there = is_language(config.data.name) and has_brackets(config.data.name)
    settings = [f"{key} = {of}" for key, of in BY_BRACKETS.items() if is_there and value_of(config, key) == of]
    return f", {', '.join(settings)} for its brackets" if settings else ""


# What must be the same where models are compared: the words, and what is shown of them.
COMPARED = ("data.", "objective.name", "objective.output_token")


def apart(recipe: str | None, models: Sequence[str], language: str) -> dict[str, dict[str, Any]]:
    """The options of words and supervision that differ among the recipes of several models, by model.

    Where they are compared, each is left as it is by default or as the user has written it, for all models.

    >>> apart(None, ["lstm", "regulargpt"], "modular-arithmetic")
    {'regulargpt': {'data.name': 'modular-arithmetic:plus=true'}}
    """
    name = usual_recipe(language) if recipe is None else recipe
    for model in models:
        refuse(name, model, language)
    fields = {model: fields_of(name, model, language) for model in models}
    keys = dict.fromkeys(key for of in fields.values() for key in of if key.startswith(COMPARED))
    several = [key for key in keys if len({of.get(key) for of in fields.values()}) > 1]
    differing = {model: {key: of[key] for key in several if key in of} for model, of in fields.items()}
    return {model: of for model, of in differing.items() if of}


def fields_of(recipe: str, model: str, language: str) -> dict[str, Any]:
    """The options of a recipe for a model as it is written, were nothing else set."""
    chosen, otherwise = MODELS.options(model, "model"), RECIPES[recipe].otherwise
    is_open = otherwise and no_certificate(chosen, Draft().part("objective"), language) is not None
    return options(recipe, otherwise if is_open else recipe, chosen.name, language)


def unknown_recipe(name: str) -> str:
    """What is said of a recipe that there is not.

    >>> unknown_recipe("wrods")
    "unknown recipe 'wrods'; did you mean 'words'?"
    """
    return f"unknown recipe {name!r:.80};{nearest(name, RECIPES) or ' choose ' + one_of(RECIPES)}"
