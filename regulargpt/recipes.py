"""Recipes are data: for each model, the fields of the config that differ from the defaults, complete in one place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from languages.errors import UserError, nearest, one_of
from regulargpt.config import RunConfig
from regulargpt.models import MODELS
from regulargpt.protocols import without_sampling

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Recipe:
    """Fields set over the defaults: `fields[model]`; `balanced` for tasks of members and non-members; for regulargpt,
    `large_chunks` for C > 2 and `languages[name]`, what a language needs of its own.
    """

    summary: str
    fields: Mapping[str, Fields]
    balanced: Fields = field(default_factory=dict)
    large_chunks: Fields = field(default_factory=dict)
    languages: Mapping[str, Fields] = field(default_factory=dict)


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
        "model.encoding": "transformer_xl",
        "model.causal": False,
        "training.lr": 3e-4,
        "training.beta2": 0.999,
    },
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
UNTIL_SOLVED: Fields = {"training.solved_below": 0.02, "training.cooldown": 500}
SETTLED: Fields = {
    "model.state_norm": True,
    "training.state_noise": 0.4,
    "training.noise_below": 0.2,
    "training.solved_below": 0.05,
    "training.cooldown": 600,
    "evaluation.beyond": (10_000, 1_000_000),
}
NEAR_MISSES: Fields = {
    "task.near_misses": 0.5,
    "task.edits": 2,
    "evaluation.near_misses": 0.5,
    "evaluation.edits": 2,
}
# A constant + in front makes chunks of two (operator, digit) pairs.
PAIRS: Fields = {"task.language": "modular-arithmetic:plus=true"}
# What `--certify` sets: train on until the certificate holds, then on the certified table, so that states do not drift.
CERTIFY: Fields = {"training.certify_every": 100, "training.anchor_steps": 1000}
NODES: Fields = {
    "task.supervision": "nodes",
    "model.d_model": 128,
    "model.d_ff": 512,
    "training.compositions": 1024,
    "training.alignment": 1.0,
    "training.state_noise": 0.3,
    "training.noise_below": 0.6,
    "training.solved_below": 0.02,
    "training.cooldown": 4000,
    **CERTIFY,
    "training.anchor_missed": 0.5,
    "training.anchor_lr": 8e-3,
}
# More than two children: with words of one and two levels first, or groups such as Tomita 5 and 6 are not learned.
STAGES = (3, 9)
SHORT_FIRST: Fields = {"training.curriculum": STAGES, "training.stage_below": 0.2}
# There are more windows, and the rare ones take longer.
LONGER: Fields = {"training.solved_below": 0.02, "training.cooldown": 4000}
SHORT_FIRST_NODES: Fields = {
    "training.curriculum": STAGES,
    "training.stage_below": 0.4,
    "training.anchor_steps": 3000,
}
# For 129 transitions: short words first, and as many steps as it takes.
MANY: Fields = {
    "training.curriculum": (8,),
    "training.stage_below": 0.4,
    "training.solved_below": 0.03,
    "training.steps": 17_000,
    "training.anchor_steps": 3000,
}
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
        {"regulargpt": SETTLED, **{name: {**fields, **UNTIL_SOLVED} for name, fields in BASELINES.items()}},
        NEAR_MISSES,
        {**SHORT_FIRST, **LONGER},
        {"modular-arithmetic": PAIRS},
    ),
    "robust-nodes": Recipe(
        "robust, and every node of the tree supervised: the automaton's answer and transition of its sub-word",
        {"regulargpt": {**SETTLED, **NODES}},
        NEAR_MISSES,
        SHORT_FIRST_NODES,
        {"modular-arithmetic": {**PAIRS, **MANY}},
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
            name: {
                "training.steps": steps,
                "training.lr": lr,
                "model.d_model": width,
                "model.d_ff": 4 * width,
                "model.embedding_scale": width**0.5,
                **(PAIRS if name == "modular-arithmetic" else {}),
            }
            for name, (steps, lr, width) in RUN_SH.items()
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
}


# Recipes of configs that are made, not chosen: `regulargpt construct` sets the weights, and nothing is trained.
CONSTRUCTED = {"constructed-matrix": "matrix", "constructed-one-hot": "one-hot"}

FINAL_ANSWERS_SUFFICE = ("parity", "even-pairs", "cycle-navigation")


def recommended(language: str, model: str) -> str:
    """The recipe for those who name none: with final answers only where they are known to suffice.

    >>> recommended("parity", "regulargpt"), recommended("dyck-4", "regulargpt"), recommended("dyck-4", "lstm")
    ('robust', 'robust-nodes', 'robust')
    """
    suffices = model != "regulargpt" or language.partition(":")[0] in FINAL_ANSWERS_SUFFICE
    return "robust" if suffices else "robust-nodes"


def resolve(recipe: str, model: str, language: str, sampling: str, chunk_size: int = 2) -> RunConfig:
    """The whole config of a recipe for a model and a language, and for regulargpt a chunk size.

    Raises UserError with the nearest name for an unknown recipe, or if the recipe has nothing for this model.

    >>> resolve("paper", "regulargpt", "parity", "uniform").training.lr
    0.0003
    >>> resolve("paper", "regulargpt", "dyck-2:members=blocks", "balanced").training.lr
    0.0005
    >>> resolve("robust", "regulargpt", "parity", "uniform", chunk_size=3).training.curriculum
    (3, 9)
    """
    if recipe in CONSTRUCTED:
        raise UserError(
            f"recipe '{recipe}' trains nothing; `regulargpt construct {language} --out DIR` sets its weights"
        )
    if recipe not in RECIPES:
        raise UserError(f"unknown recipe '{recipe}';{nearest(recipe, RECIPES) or ' choose ' + one_of(RECIPES)}")
    if model not in MODELS:
        raise UserError(f"unknown model '{model}';{nearest(model, MODELS) or ' choose ' + one_of(MODELS)}")
    found = RECIPES[recipe]
    if model not in found.fields:
        raise UserError(f"recipe '{recipe}' is for {one_of(found.fields)}, not for '{model}'; choose --recipe robust")
    fields = {"recipe": recipe, "model.name": model, "task.language": language, **found.fields[model]}
    if sampling == "balanced":
        fields |= found.balanced
    if model == "regulargpt":
        fields |= {"model.chunk_size": chunk_size, **(found.large_chunks if chunk_size > 2 else {})}
        fields |= found.languages.get(without_sampling(language), {})
    return RunConfig().replaced(fields)
