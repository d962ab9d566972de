"""What no type can say: each refusal with its whole message, and what is at the edge but allowed."""

import itertools
from typing import Any

import pytest
import torch

from languages.errors import UserError
from regulargpt import models
from regulargpt.config.schema import ConfigError, RunConfig, keys
from regulargpt.config.validation import validate
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from tests.regulargpt.parts import PLACES


def check(values: dict[str, Any], language: str = "parity") -> None:
    validate(RunConfig().replaced({"data.name": language} | values))


ENCODED = {"model.name": "transformer"}
CERTIFIED = {"phases.table_fine_tuning.every": 5}
FULL = {"model.attention": "full", "evaluation.test_len": 4096}
CURRICULUM = {"training.curriculum": (1, 8), "training.stage_loss": 0.1}
HEADS = "model.d_model = 30 is not a multiple of model.n_heads = 4"
TESTS = "test words are longer than data.train_len = 40"
# Refused of a run on parity.
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"device": "gpu"}, "device = 'gpu'; choose 'auto', 'cpu', 'cuda'"),
    ({"model.d_model": 30}, HEADS),
    ({**ENCODED, "model.d_model": 30}, HEADS),
    ({**ENCODED, "model.encoding.name": "rotary", "model.d_model": 12},
     "model.encoding.name = 'rotary' turns pairs: model.d_model / model.n_heads = 3 must be even"),
    ({"model.d_model": 65_536}, "model.d_model = 65536, model.d_ff = 256, model.thickness = 1, model.distinct_levels "
     "= 1 make about 17,213,423,616 parameters; at most 1,000,000,000"),
    ({"model.levels": 2, "model.distinct_levels": 3},
     "model.distinct_levels = 3: with model.levels = 2 the last are never used; set it to at most 2"),
    ({"data.train_len": 3, "model.chunk_size": 4}, "data.train_len = 3 is too short for regulargpt-C4; at least 4"),
    ({"data.train_from": 41}, "data.train_from = 41 is longer than data.train_len = 40"),
    ({"evaluation.test_len": 40}, f"evaluation.test_len = 40; {TESTS}"),
    ({"evaluation.test_from": 40}, f"evaluation.test_from = 40; {TESTS}"),
    ({"evaluation.test_from": 60, "evaluation.test_len": 50},
     "evaluation.test_len = 50 is shorter than evaluation.test_from = 60"),
    ({"data.name": "modular-arithmetic", "evaluation.test_len": 42, "data.train_len": 41}, "evaluation.test_len = 42: "
     "length 42: modular-arithmetic has no words; the nearest lengths with words: 41 and 43"),
    ({"evaluation.extra_lengths": (0,)}, "evaluation.extra_lengths = 0; a length is 1 to 100000000"),
    *(({**FULL, key: value}, f"{key} = 4097: at most 4,096 with model.attention = 'full'; choose a shorter length")
      for key, value in (("evaluation.test_len", 4097), ("evaluation.extra_lengths", (4096, 4097)))),
    ({"data.name": "modular-arithmetic:plus=true", **CURRICULUM}, "training.curriculum = 1: length 1: "
     "modular-arithmetic:plus=true has no words; the nearest length with words: 2"),
    ({"training.curriculum": (8, 16)},
     "training.curriculum needs training.stage_loss > 0, the running loss at which the next stage begins"),
    ({**CURRICULUM, "training.curriculum": (16, 8)}, "training.curriculum = [16, 8]; its lengths must increase"),
    ({"training.lengths_per_step": 3},
     "training.batch_size = 128 cannot be shared among training.lengths_per_step = 3 lengths; make it a multiple"),
    ({"training.steps": 0}, "training.steps = 0; training has at least 1 step"),
    ({"recipe": "wrods"}, "unknown recipe 'wrods'; did you mean 'words'?"),
    ({"recipe": "constructed-matrix"},
     "training.steps = 20000; recipe 'constructed-matrix' trains nothing, set it to 0"),
    ({"objective.name": "prefixes", **ENCODED, "model.causal": False},
     "objective.name = 'prefixes': it asks at every position: set model.causal = true"),
    ({"data.name": "cycle-navigation", "objective.name": "next"}, "objective.name = 'next': it needs members; "
     "cycle-navigation answers '0', '1', '2', '3', '4': choose 'prefixes'"),
    *(({**CERTIFIED, **values}, f"phases.table_fine_tuning: {reason}; leave it out, as the recipe words does")
      for values, reason in (
        ({"model.name": "lstm"}, "lstm does not use one map at every level of a tree"),
        ({"objective.name": "prefixes"}, "the run answers 'prefixes', not the word at its end"),
        ({"objective.output_token": True},
         "the run reads its answer at an output token, which is no symbol of the language"),
        ({"model.thickness": 2}, "only one weight-shared layer, thickness = 1 and distinct_levels = 1, is one map"),
        ({"model.levels": 7}, "model.levels = 7 fixes the depth; needed is 0, a depth that grows with the word"))),
]  # fmt: skip


@pytest.mark.parametrize(("values", "message"), REFUSED)
def test_refusals(values: dict[str, Any], message: str):
    with pytest.raises(ConfigError) as error:
        check(values)
    assert str(error.value) == message


def test_at_the_edge_but_allowed():
    """A phase that is off asks nothing of the model; the longest lengths are checked without listing them."""
    check({"phases.table_fine_tuning.every": 0, "model.name": "lstm"})
    check({"evaluation.test_len": 1_000_000, "evaluation.extra_lengths": (100_000_000,)})


@pytest.mark.parametrize("key", ["data.edits", "data.test.edits"])
def test_a_bound_is_told_before_near_misses_are_prepared(key: str):
    near = {"data.near_misses": 0.5, "data.test.near_misses": 0.5, "evaluation.extra_protocols": ("hard-2",)}
    with pytest.raises(ConfigError, match=f"^{key} = -3; a near miss has at least 1 edit"):
        check(near | {key: -3}, "dyck-2")


# What an option at its bound needs of the others.
NEEDED: dict[str, dict[str, Any]] = {
    "model.d_model": {"model.n_heads": 1},
    "training.batch_size": {"training.lengths_per_step": 1},
    "training.lengths_per_step": {"training.batch_size": 1_048_576},
    "model.encoding.beta_fast": {"model.encoding.beta_slow": 1e-6},
}
NUMBERS = [key for key, (_, place) in PLACES.items() if place.kind in (int, float)]


BOUNDS = [
    (key, bound)
    for key in NUMBERS
    for bound in ("least", "most", "below")
    if PLACES[key][1].field.metadata[bound] is not None
]


# So many parameters nobody has, and keys are no more than queries.
MORE_THAN_CAN_BE = [("model.d_model", "most"), ("model.n_heads", "most"), ("model.n_kv_heads", "most")]


@pytest.mark.parametrize(("key", "bound"), BOUNDS)
def test_every_bound_refuses_what_is_beyond_it_and_allows_itself(key: str, bound: str):
    config, place = PLACES[key]
    told, kind = place.field.metadata, place.kind
    limit = kind(told[bound])
    nearly = max(1e-9, abs(limit) * 1e-9)
    step = 1 if kind is int else nearly
    beyond = {"least": limit - step, "below": limit, "most": limit + step}[bound]
    with pytest.raises(ConfigError) as error:
        config.replaced({key: beyond})
    expected = f"at most {told['most']}" if bound == "most" and limit != 1 else told["why"]
    assert str(error.value) == f"{key} = {beyond}; {expected}"
    needed = {other: value for other, value in NEEDED.get(key, {}).items() if other in keys(config)}
    if (key, bound) not in MORE_THAN_CAN_BE:
        config.replaced({**needed, key: limit - nearly if bound == "below" else limit})


@pytest.mark.parametrize("key", [key for key in NUMBERS if PLACES[key][1].kind is float])
def test_every_number_must_be_finite(key: str):
    for value in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ConfigError, match=f"^{key} = {value}; "):
            PLACES[key][0].replaced({key: value})


@pytest.mark.parametrize("key", [key for key in NUMBERS if PLACES[key][1].kind is int])
def test_what_no_machine_can_hold_is_refused_at_once_and_numbers_of_steps_are_not(key: str):
    config, place = PLACES[key]
    counts_steps = {"steps", "settling", "warmup", "cooldown", "every", "log_every", "checkpoint_every", "symbols"}
    if place.field.name in counts_steps | {"stride", "train_from", "test_from", "membership_queries_from"}:
        assert place.field.metadata["most"] is None
    else:
        with pytest.raises(ConfigError, match=f"^{key} = {10**30}; (at most |it is 0 or 1)"):
            config.replaced({key: 10**30})


@pytest.mark.parametrize("name", MODELS)
def test_a_valid_model_can_be_built_and_one_that_cannot_is_refused_before(name: str):
    both_ways = [encoding for encoding in ENCODINGS if not ENCODINGS[encoding].options.causal_only]
    encodings = {
        "transformer": list(ENCODINGS),
        "encoder-decoder": both_ways,
        "looped": ["none"],
        "decoder-only": ["none", "rotary", "t5"],
    }.get(name, [""])
    for encoding, d_model, n_heads in itertools.product(encodings, (1, 2, 3, 6, 8), (1, 2, 3, 4)):
        values = {"model.d_model": d_model, "model.n_heads": n_heads, "model.d_ff": 2, "model.encoding.name": encoding}
        chosen = RunConfig().replaced({"model.name": name})
        values = {key: value for key, value in values.items() if key in keys(chosen)}
        try:
            model = models.build(chosen.replaced(values).model, 2, 2, torch.Generator().manual_seed(0))
        except ConfigError:
            arguments = {key.removeprefix("model.").removesuffix(".name"): value for key, value in values.items()}
            with pytest.raises(UserError):
                MODELS[name].load()(2, 2, **arguments)
            continue
        assert model(torch.tensor([[0, 1, 1]])).shape == (1, 2)
