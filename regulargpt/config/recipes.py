"""Recipes are data: for each model, the fields of the config that differ from the defaults, complete in one place."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from languages.errors import UserError, nearest, one_of
from regulargpt.config.protocols import protocol, without_sampling
from regulargpt.config.schema import RunConfig, flat, value_of
from regulargpt.data import is_language, kind_of
from regulargpt.models import MODELS
from regulargpt.training.table_fine_tuning import CHECKED

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Recipe:
    """Options set over the defaults: `fields[model]`, a model that is not named taking those of "*" if there are any;
    `balanced` for languages of members and non-members; and for some models `large_chunks[model]` where its chunk size
    is above 2, and `languages[model][name]`, what a language needs of its own. `is_for` is the kind of data: "words"
    of a language, "text" or "retrieval".
    """

    summary: str
    fields: Mapping[str, Fields]
    balanced: Fields = field(default_factory=dict)
    large_chunks: Mapping[str, Fields] = field(default_factory=dict)
    languages: Mapping[str, Mapping[str, Fields]] = field(default_factory=dict)
    is_for: str = "words"

    def of(self, model: str, language: str, sampling: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """The options for a model and a language; `chosen` are options that are given besides."""
        fields = dict(self.fields[model] if model in self.fields else self.fields["*"])
        if sampling == "balanced":
            fields.update(self.balanced)
        if int(chosen.get("model.chunk_size", 2)) > 2:
            fields.update(self.large_chunks.get(model, {}))
        return {**fields, **self.of_language(model, language)}

    def of_language(self, model: str, language: str) -> dict[str, Any]:
        """What the language needs of its own, also if it is spelled as the recipe would spell it; its spelling stays.

        >>> RECIPES["answers"].of_language("regulargpt", "dyck-12")
        {'data.name': 'dyck-12:depth=every', 'training.lr': 0.0003}
        >>> RECIPES["answers"].of_language("regulargpt", "dyck-12:members=blocks")
        {'training.lr': 0.0003}
        """
        given = without_sampling(language)
        for name, fields in self.languages.get(model, {}).items():
            if given in (name, without_sampling(fields.get("data.name", name))):
                return {key: value for key, value in fields.items() if key != "data.name" or language == name}
        return {}


# What every recipe shares about the baselines: section 6.4 and the code behind it.
BASELINES: dict[str, Fields] = {
    "rnn": {"model.d_model": 256, "training.lr": 5e-4, "training.beta2": 0.999},
    "lstm": {"model.d_model": 256, "training.lr": 1e-3, "training.beta2": 0.999},
    "gru": {"model.d_model": 256, "training.lr": 5e-4, "training.beta2": 0.999},
    "linear-rnn": {"model.d_model": 256, "training.lr": 5e-4, "training.beta2": 0.999},
    "transformer": {
        "model.n_layers": 5,
        "model.n_heads": 8,
        "model.norm": "post",
        "model.activation": "relu",
        "model.dropout": 0.1,
        "model.encoding.name": "transformer_xl",
        "model.causal": False,
        "training.lr": 3e-4,
        "training.beta2": 0.999,
    },
}
# No publication trains one on these languages: as deep in all as the Transformer, with its rate.
ENCODER_DECODER: Fields = {
    "model.n_layers": 4,
    "model.decoder_layers": 1,
    "model.n_heads": 8,
    "model.dropout": 0.1,
    "training.lr": 3e-4,
    "training.beta2": 0.999,
}
PUBLISHED: Fields = {
    "training.optimiser": "adam",
    "training.steps": 100_000,
    "training.batch_size": 128,
    "training.beta2": 0.999,
    "training.clip": 1.0,
    "training.warmup": 0,
    "training.lr": 3e-4,
}
# Solved in training, then cooled down: with a running loss this low there is nothing left to learn from more steps.
UNTIL_SOLVED: Fields = {"training.solved_loss": 0.02, "training.cooldown": 500}
# The optimiser, the batch and the L2 norm of Pert et al. 2026.
LDRU: Fields = {
    "training.optimiser": "amsgrad",
    "training.batch_size": 256,
    "training.beta2": 0.999,
    "training.weight_decay": 1e-3,
}
SETTLED: Fields = {
    "model.state_norm": True,
    "model.state_noise": 0.4,
    "model.noise_loss": 0.2,
    "training.solved_loss": 0.05,
    "training.cooldown": 600,
    "evaluation.extra_lengths": (10_000, 1_000_000),
}
NEAR_MISSES: Fields = {
    "data.near_misses": 0.5,
    "data.edits": 2,
    "data.test.near_misses": 0.5,
    "data.test.edits": 2,
}
# A constant + in front makes chunks of two (operator, digit) pairs.
PAIRS: Fields = {"data.name": "modular-arithmetic:plus=true"}
# Members of every depth: drawn uniformly, hardly any of 40 symbols is twelve deep.
DEEP: Fields = {"data.name": "dyck-12:depth=every"}
# Its automaton is found in answers that are right on all short words: with a lower rate they are sooner.
SLOWER: Fields = {"training.lr": 3e-4}
# What `--certify` sets: train on until the certificate holds, then on the certified table, so that states do not drift.
EVERY = "phases.table_fine_tuning.every"
CERTIFY: Fields = {EVERY: 100, "phases.table_fine_tuning.steps": 1000}
SUBWORDS: Fields = {
    "objective.name": "subwords",
    "model.d_model": 128,
    "model.d_ff": 512,
    "objective.compositions": 1024,
    "objective.alignment": 1.0,
    "model.state_noise": 0.3,
    "model.noise_loss": 0.6,
    "training.solved_loss": 0.02,
    "training.cooldown": 4000,
    **CERTIFY,
    "phases.table_fine_tuning.missed": 0.5,
    "phases.table_fine_tuning.lr": 8e-3,
}
# Final answers alone: random trees, and the automaton that the network's own answers have come to.
FROM_ANSWERS: Fields = {
    "objective.bracketings": 0.5,
    "training.lr": 5e-4,
    **LDRU,
    "training.curriculum": (10, 20),
    "training.stage_loss": 0.01,
    "evaluation.extra_lengths": (10_000, 1_000_000),
    EVERY: 100,
    "phases.table_fine_tuning.automaton": "learned",
    "phases.table_fine_tuning.look_up_from": 8000,
    "phases.table_fine_tuning.steps": 3000,
    "phases.table_fine_tuning.settling": 5000,
    "phases.table_fine_tuning.missed": 1.0,
    "phases.table_fine_tuning.lr": 1e-2,
    "phases.table_fine_tuning.contraction": 0.1,
}
# The same table, but of the automaton that the language has: there is nothing to wait for.
FROM_AUTOMATON: Fields = {
    **FROM_ANSWERS,
    "phases.table_fine_tuning.automaton": "known",
    "phases.table_fine_tuning.look_up_from": 0,
}
# More than two children: with words of one and two levels first, or groups such as Tomita 5 and 6 are not learned.
STAGES = (3, 9)
SHORT_FIRST: Fields = {"training.curriculum": STAGES, "training.stage_loss": 0.2}
# There are more windows, and the rare ones take longer.
LONGER: Fields = {"training.solved_loss": 0.02, "training.cooldown": 4000}
SHORT_FIRST_SUBWORDS: Fields = {
    "training.curriculum": STAGES,
    "training.stage_loss": 0.4,
    "phases.table_fine_tuning.steps": 3000,
}
# For 129 transitions: short words first, and as many steps as it takes.
MANY: Fields = {
    "training.curriculum": (8,),
    "training.stage_loss": 0.4,
    "training.solved_loss": 0.03,
    "training.steps": 17_000,
    "phases.table_fine_tuning.steps": 3000,
}
# A small language model: 2.5 million bytes of training, two minutes on one core.
TEXT: Fields = {
    "objective.name": "language_model",
    "training.optimiser": "adamw",
    "training.steps": 600,
    "training.batch_size": 64,
    "training.lr": 2e-3,
    "training.beta2": 0.95,
    "training.weight_decay": 0.1,
    "training.warmup": 100,
    "training.schedule": "cosine",
    "training.log_every": 50,
    "training.checkpoint_every": 200,
    "evaluation.test_len": 0,
    "evaluation.factor": 2,
    "evaluation.samples": 128,
}
# Retrieval: two minutes on one core. When a network begins to find anything differs from seed to seed, so it is trained
# until it does.
RETRIEVAL: Fields = {
    "objective.name": "retrieve",
    "model.d_model": 64,
    "model.d_ff": 256,
    "model.n_heads": 4,
    "training.optimiser": "adamw",
    "training.steps": 4000,
    "training.batch_size": 64,
    "training.lr": 3e-3,
    "training.beta2": 0.98,
    "training.warmup": 100,
    "training.solved_loss": 0.03,
    "training.cooldown": 200,
    "training.log_every": 50,
    "training.checkpoint_every": 200,
    "evaluation.test_len": 0,
    "evaluation.factor": 2,
    "evaluation.samples": 128,
}
# With 64 symbols there are three documents, and a network stays at guessing one of them.
DOCUMENTS: Fields = {"data.train_len": 96}
WIDTH: Fields = {"model.d_model": 128, "model.d_ff": 512, "model.n_heads": 4, "model.tied": True}
# The steps, learning rates and widths of the original code's run.sh.
RUN_SH: dict[str, tuple[int, float, int]] = {
    "even-pairs": (10_000, 3e-5, 256),
    "parity": (100_000, 3e-4, 64),
    "cycle-navigation": (10_000, 5e-4, 256),
    "modular-arithmetic": (1_000_000, 1e-4, 256),
    "dyck-2": (100_000, 5e-4, 64),
    "dyck-3": (100_000, 1e-4, 64),
    "dyck-4": (100_000, 1e-4, 64),
    "dyck-12": (50_000, 1e-4, 64),
    "tomita-3": (100_000, 5e-4, 64),
    "tomita-4": (100_000, 5e-4, 64),
    "tomita-5": (100_000, 1e-4, 64),
    "tomita-6": (100_000, 5e-4, 64),
}

RECIPES: dict[str, Recipe] = {
    "robust": Recipe(
        "state norm, state noise raised as the loss allows, early stop; final answers only",
        {
            "regulargpt": SETTLED,
            "gated-regulargpt": SETTLED,
            "ldru": {**LDRU, **UNTIL_SOLVED},
            **{name: {**fields, **UNTIL_SOLVED} for name, fields in BASELINES.items()},
            "encoder-decoder": {**ENCODER_DECODER, **UNTIL_SOLVED},
            "*": UNTIL_SOLVED,
        },
        NEAR_MISSES,
        {"regulargpt": {**SHORT_FIRST, **LONGER}},
        {"regulargpt": {"modular-arithmetic": PAIRS}},
    ),
    "robust-subwords": Recipe(
        "robust, and every node of the tree supervised: the automaton's answer and transition of its sub-word",
        {"regulargpt": {**SETTLED, **SUBWORDS}},
        NEAR_MISSES,
        {"regulargpt": SHORT_FIRST_SUBWORDS},
        {"regulargpt": {"modular-arithmetic": {**PAIRS, **MANY}}},
    ),
    "answers": Recipe(
        "final answers only, through random trees; then the table of the automaton that the network's answers give",
        dict.fromkeys(CHECKED, FROM_ANSWERS),
        NEAR_MISSES,
        languages={name: {"modular-arithmetic": PAIRS, "dyck-12": {**DEEP, **SLOWER}} for name in CHECKED},
    ),
    "automaton": Recipe(
        "the table of the language's automaton, from the first attempt at a proof on; words only before that",
        dict.fromkeys(CHECKED, FROM_AUTOMATON),
        NEAR_MISSES,
        languages={name: {"modular-arithmetic": PAIRS, "dyck-12": DEEP} for name in CHECKED},
    ),
    "paper": Recipe(
        "the original code's block (post-LN, ReLU, no biases in attention) and optimiser (run.sh)",
        {
            "regulargpt": {
                **PUBLISHED,
                "model.n_heads": 8,
                "model.norm": "post",
                "model.activation": "relu",
                "model.attention_bias": False,
                "model.embedding_std": 0.02,
                "model.embedding_scale": 8.0,
                "model.state_norm": False,
            },
            **{name: {**fields, **PUBLISHED} for name, fields in BASELINES.items()},
        },
        languages={
            "regulargpt": {
                name: {
                    "training.steps": steps,
                    "training.lr": lr,
                    "model.d_model": width,
                    "model.d_ff": 4 * width,
                    "model.embedding_scale": width**0.5,
                    **(PAIRS if name == "modular-arithmetic" else {}),
                }
                for name, (steps, lr, width) in RUN_SH.items()
            }
        },
    ),
    "gpt2": Recipe(
        "the thesis's wording (Table 6.5, pre-LN, GELU, biases): d_model 256, 8 heads, Adam",
        {
            "regulargpt": {
                **PUBLISHED,
                "model.d_model": 256,
                "model.n_heads": 8,
                "model.d_ff": 1024,
                "model.embedding_std": 0.02,
                "model.state_norm": False,
            },
            **{name: {**fields, **PUBLISHED} for name, fields in BASELINES.items()},
        },
    ),
    "text": Recipe(
        "a small language model over bytes: two layers, or chunks of eight twice; 600 steps with cosine decay",
        {
            "transformer": {**TEXT, **WIDTH, "model.n_layers": 2, "model.encoding.name": "kerple_log"},
            "regulargpt": {
                **TEXT,
                **WIDTH,
                "model.chunk_size": 8,
                "model.thickness": 2,
                "model.embedding_std": 0.02,
                "model.embedding_scale": 128**0.5,
            },
            "*": {**TEXT, "model.d_model": 256},
        },
        is_for="text",
    ),
    "retrieval": Recipe(
        "a small network that finds what is asked for: two layers of width 64, until it does, or for 4000 steps",
        {
            "transformer": {**RETRIEVAL, "model.n_layers": 2, "model.encoding.name": "t5"},
            "encoder-decoder": {**RETRIEVAL, "model.n_layers": 2},
            "*": RETRIEVAL,
        },
        languages={model: {"retrieval:documents": DOCUMENTS} for model in ("transformer", "encoder-decoder")},
        is_for="retrieval",
    ),
}


# Recipes of configs that are made, not chosen: `regulargpt construct` sets the weights, and nothing is trained.
CONSTRUCTED = {"constructed-matrix": "matrix", "constructed-one-hot": "one-hot"}

# Data of the kind that a recipe is for.
REMEDIES = {"text": "name a text, as in text:code", "retrieval": "name a task, as in retrieval:line"}

# The options that decide on others of a recipe.
DECIDING = ("model.chunk_size",)

# What must be the same where models are compared: the words, and what is shown of them.
COMPARED = ("data.", "objective.")

FINAL_ANSWERS_SUFFICE = ("parity", "even-pairs", "cycle-navigation")


def recommended(language: str, model: str) -> str:
    """The recipe for those who name none: with final answers only where they are known to suffice.

    Raises ConfigError for an unknown model.

    >>> recommended("parity", "regulargpt"), recommended("dyck-4", "regulargpt"), recommended("dyck-4", "lstm")
    ('robust', 'robust-subwords', 'robust')
    >>> recommended("text:code", "lstm")
    'text'
    """
    if not is_language(language):
        return kind_of(language)
    suffices = (
        MODELS.written(model, "model")["name"] != "regulargpt" or language.partition(":")[0] in FINAL_ANSWERS_SUFFICE
    )
    return "robust" if suffices else "robust-subwords"


@dataclass(frozen=True)
class Shared:
    """What several models of one comparison share: the recipe, and the options of it that not all of them have.

    `apart` are those of words and supervision, by model; `alone` is the recipe that each model would have by itself.
    """

    recipe: str | None
    apart: Mapping[str, Fields] = field(default_factory=dict)
    alone: Mapping[str, str] = field(default_factory=dict)

    @property
    def unless(self) -> frozenset[str]:
        """The options that are left as they are by default or as the user has written them."""
        return frozenset(key for fields in self.apart.values() for key in fields)


def shared(recipe: str | None, models: Sequence[str], language: str, sampling: str) -> Shared:
    """The same supervision and the same words for all models: what their recipes agree on.

    Without a recipe it is the one recommended for all; where that differs, `robust`: every model can be shown final
    answers.

    >>> shared(None, ["lstm", "regulargpt"], "dyck-4", "balanced").recipe
    'robust'
    >>> shared(None, ["lstm", "regulargpt"], "modular-arithmetic", "uniform").apart
    {'regulargpt': {'data.name': 'modular-arithmetic:plus=true'}}
    """
    alone = {} if recipe is not None else {model: recommended(language, model) for model in models}
    agreed = set(alone.values())
    if recipe is None:
        recipe = agreed.pop() if len(agreed) == 1 else "robust"
    names = {model: MODELS.written(model, "model")["name"] for model in models}
    found = RECIPES.get(recipe)
    if found is None or any(name not in found.fields and "*" not in found.fields for name in names.values()):
        return Shared(recipe)  # `resolve` says what is wrong
    of = {model: found.of(name, language, sampling, {}) for model, name in names.items()}
    keys = dict.fromkeys(key for fields in of.values() for key in fields if key.startswith(COMPARED))
    several = [
        key for key in keys if any(fields.get(key) != next(iter(of.values())).get(key) for fields in of.values())
    ]
    apart = {model: {key: fields[key] for key in several if key in fields} for model, fields in of.items()}
    return Shared(
        recipe,
        {model: fields for model, fields in apart.items() if fields},
        {model: name for model, name in alone.items() if name != recipe},
    )


def resolve(
    recipe: str | None,
    model: str,
    language: str,
    sampling: str,
    chosen: Mapping[str, Any] | None = None,
    preset: str | None = None,
    unless: Container[str] = (),
) -> RunConfig:
    """The whole config of a recipe for a model and a language, under the protocol `preset` if one is named.

    Without a recipe, of the one that is recommended; without the options `unless`.

    `chosen` are options that are set over it later: some decide on others (the chunk size on the curriculum).
    Raises UserError with the nearest name for an unknown recipe, or if the recipe has nothing for this model.

    >>> resolve("paper", "regulargpt", "parity", "uniform").training.lr
    0.0003
    >>> resolve("paper", "regulargpt", "dyck-2:members=blocks", "balanced").training.lr
    0.0005
    >>> resolve("robust", "regulargpt", "parity", "uniform", {"model.chunk_size": 3}).training.curriculum
    (3, 9)
    """
    recipe = recommended(language, model) if recipe is None else recipe
    if recipe in CONSTRUCTED:
        raise UserError(
            f"recipe '{recipe}' trains nothing; `regulargpt construct {language} --out DIR` sets its weights"
        )
    if recipe not in RECIPES:
        raise UserError(unknown_recipe(recipe))
    options, found = MODELS.options(model, "model"), RECIPES[recipe]
    if found.is_for != kind_of(language):
        remedy = REMEDIES[found.is_for] if is_language(language) else "leave --recipe out"
        raise UserError(f"recipe '{recipe}' is for {found.is_for}, {language} is not; {remedy}")
    if options.name not in found.fields and "*" not in found.fields:
        names = one_of(found.fields)
        raise UserError(f"recipe '{recipe}' is for {names}, not for '{options.name}'; choose --recipe robust")
    fields = found.of(
        options.name,
        language,
        sampling,
        {**{f"model.{key}": value for key, value in flat(options).items()}, **(chosen or {})},
    )
    fields = {key: value for key, value in fields.items() if key not in unless}
    config = RunConfig().replaced({"recipe": recipe, "data.name": language, "model.name": options.name})
    config = config.replaced({key: value for key, value in fields.items() if key.endswith(".name")})
    # A class from outside takes those options of the recipe that it has.
    known = flat(config)
    config = config.replaced({key: value for key, value in fields.items() if key in known or key.startswith("phases.")})
    # Last, since options behind the model's name are the user's, and stand over the recipe.
    config = config.replaced({"model": model})
    return config if preset is None else protocol(preset).apply(config)


def unknown_recipe(name: str) -> str:
    """What is said of a recipe that there is not.

    >>> unknown_recipe("robusst")
    "unknown recipe 'robusst'; did you mean 'robust'?"
    """
    return f"unknown recipe {name!r:.80};{nearest(name, RECIPES) or ' choose ' + one_of(RECIPES)}"


def usual_model(language: str) -> str:
    """The model for those who name none.

    >>> usual_model("parity"), usual_model("text:code"), usual_model("retrieval:line")
    ('regulargpt', 'transformer', 'transformer')
    """
    return RunConfig().model.name if is_language(language) else "transformer"


def certified(config: RunConfig, given: Container[str] = ()) -> RunConfig:
    """The config, trained on until the certificate holds if it is not so already; what is `given` stays."""
    if value_of(config, EVERY):
        return config
    return config.replaced({key: value for key, value in CERTIFY.items() if key not in given})
