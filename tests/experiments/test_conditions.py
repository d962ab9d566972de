"""What differs in the conditions: each phrase from a config, and none where nothing differs."""

from typing import Any

from experiments.conditions import as_described, differences
from experiments.published import published
from experiments.table_6_1 import EXPERIMENT, RATES, SEEDS
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig, value_of

SAID = published("table-6.1").conditions_of("parity")
AS_PUBLISHED = resolve("gpt2", "regulargpt", "parity", preset="thesis")


def axes(config: RunConfig = AS_PUBLISHED, **changes: Any) -> list[RunConfig]:
    """Three seeds at three rates, all changed alike."""
    fields = {key.replace("__", "."): value for key, value in changes.items()}
    return [config.replaced({"seed": s, "training.lr": lr, **fields}) for s in SEEDS for lr in RATES]


def test_nothing_differs_from_what_is_published_nor_where_nothing_is_said():
    assert differences(axes(), SAID) == differences([], SAID) == ()
    assert differences(axes(evaluation__stride=20, evaluation__samples=3, data__train_len=50, seed=0), {}) == ()


NEAR = {"data__name": "dyck-2", "data__near_misses": 0.5}
TUNED = {"phases__table_fine_tuning__every": 100}
UNTIL = "training goes on until the certificate holds, if it does within those steps"
CURRICULUM = {"training__curriculum": (8, 16), "training__stage_loss": 0.4}
PHRASES = [
    ({"training__steps": 2000}, "at most 2,000 training steps, not 100,000"),
    ({"training__solved_loss": 0.1}, "training ends early when its loss is low, not after all steps"),
    (TUNED | {"phases__table_fine_tuning__steps": 3000}, f"{UNTIL}, then 3,000 steps on its table"),
    (TUNED | {"training__solved_loss": 0.1, "phases__table_fine_tuning__steps": 0}, UNTIL),
    ({"training__lr": 0.001}, "learning rate 0.001 and not 0.0001, 0.0003 and 0.0005"),
    ({"training__lr": 0.0003}, "learning rate 0.0003 only, of 0.0001, 0.0003 and 0.0005"),
    ({"seed": 1}, "1 seed, not 3"),
    ({"data__train_len": 50}, "trained on lengths 1..50, not 1..40"),
    ({"data__train_from": 2}, "trained on lengths 2..40, not 1..40"),
    ({"evaluation__test_from": 42}, "scored on lengths 42..500, not 41..500"),
    ({"evaluation__stride": 20}, "every 20th length tested, not every one"),
    ({"evaluation__samples": 64}, "64 test words a length, not 512"),
    (NEAR, "50 % of the non-members in training are near misses"),
    (NEAR | {"data__swaps": 0.25}, "50 % of the non-members in training are near misses",
     "in 25 % of the near misses in training two symbols changed places"),
    ({"data__name": "dyck-2", "data__test__near_misses": 0.25}, "25 % of the non-members in the test are near misses"),
    ({"data__name": "dyck-2", "data__test__both_classes": True},
     "lengths without members, or without non-members, are left out"),
    ({"data__name": "dyck-2", "data__members": 1.0}, "100 % members in training, not 50 %"),
    ({"objective__output_token": True}, "the answer is read at an empty token after the word"),
    ({"data__name": "dyck-4:depth=every"}, "members of every depth at every length"),
    ({"data__name": "dyck-4:members=blocks"}, "members drawn as the original code draws them"),
    ({"data__name": "modular-arithmetic:plus=true"},
     "a constant + before each expression, as the original code has it"),
    ({"model__d_model": 64}, "recipe gpt2: d_model 64, not 256"),
    (CURRICULUM | {"model__norm": "post"},
     "recipe gpt2: norm post, not pre; curriculum 8, 16, not none; stage_loss 0.4, not 0.0"),
]  # fmt: skip


def test_phrases():
    for changes, *phrases in [*PHRASES, *((changes,) for changes in SILENT)]:
        assert differences(axes(**changes), SAID) == tuple(phrases)


# What changes no score is no condition.
SILENT = [
    {"training__log_every": 7, "training__checkpoint_every": 7, "threads": 2, "device": "cpu"},
    {"model__noise_loss": 0.7, "training__cooldown": 9},
    {"phases__table_fine_tuning__every": 0, "phases__table_fine_tuning__lr": 1.0},
    {"model__chunk_size": 5},
    {
        "evaluation__extra_lengths": (10_000,),
        "evaluation__extra_protocols": ("hard-2",),
        "data__name": "parity:p_one=0.1",
    },
    {"data__name": "dyck-2", "data__swaps": 0.25},  # among no near misses
]


def test_options_of_the_supervision_and_of_phases_are_named_beside_their_defaults():
    config = resolve("answers", "regulargpt", "parity", preset="thesis")
    recipe = next(phrase for phrase in differences(axes(config), SAID) if phrase.startswith("recipe "))
    named = ["bracketings 0.5, not 0.0", "table_fine_tuning.lr 0.01, not 0.002"]
    assert [part for part in recipe.partition(": ")[2].split("; ") if part in named] == named
    assert "table_fine_tuning.every" not in recipe


def test_a_single_length_has_no_range_and_values_that_vary_are_all_named():
    said = published("table-6.2").conditions_of("same-length/rnn")
    configs = axes(evaluation__stride=20, evaluation__extra_lengths=(40,))
    assert differences(configs, said, length=40) == ()
    assert differences(configs, said, length=41) == ("scored on lengths 41, not 40",)
    configs = [*axes(), *axes(training__steps=10, model__d_model=64)]
    assert differences(configs, SAID) == (
        "at most 100,000 and 10 training steps, not 100,000",
        "recipe gpt2: d_model 256 and 64, not 256",
    )


def test_the_recipe_that_is_compared_with_is_table_6_5():
    table = {row.row: row.values["value"] for row in published("table-6.5").rows}
    for key in ("model.d_model", "model.n_heads", "training.optimiser", "training.batch_size", "training.steps"):
        assert value_of(as_described(AS_PUBLISHED), key) in table[key]
    assert table["training.lr"] == RATES


def test_the_full_scale_differs_in_the_recipe_only_and_where_the_original_code_does():
    for row in EXPERIMENT.rows:
        for column in EXPERIMENT.columns[:4]:
            found = differences(EXPERIMENT.configs(row, column.runs, "full"), published("table-6.1").conditions_of(row))
            allowed = ("recipe paper: ", "at most ", "a constant + ")
            assert all(phrase.startswith(allowed) for phrase in found), (row, column.name, found)
