"""What no type can say: each refusal with its whole message, and what is at the edge but allowed."""

import itertools

import pytest
import torch

import languages
from languages.errors import UserError
from regulargpt import models
from regulargpt.config import ConfigError, RunConfig, keys, type_of
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.validation import AT_LEAST, BELOW, validate


def check(values: dict, language: str = "parity") -> None:
    validate(RunConfig().replaced({"task.language": language} | values), languages.get(language))


REFUSED = [
    ("parity", {"model.name": "regulargtp"}, "unknown model 'regulargtp'; did you mean 'regulargpt'?"),
    ("parity", {"model.encoding": "rotery"}, "unknown encoding 'rotery'; did you mean 'rotary'?"),
    ("parity", {"device": "gpu"}, "device = 'gpu'; choose 'auto', 'cpu', 'cuda'"),
    ("parity", {"model.chunk_size": 1}, "model.chunk_size = 1; a chunk has at least 2 symbols"),
    ("parity", {"model.chunk_size": 0}, "model.chunk_size = 0; a chunk has at least 2 symbols"),
    ("parity", {"task.train_len": 0}, "task.train_len = 0; a word has at least 1 symbol"),
    ("parity", {"task.near_misses": 1.5}, "task.near_misses = 1.5; it is a share, 0 to 1"),
    ("parity", {"model.dropout": 1.0}, "model.dropout = 1.0; it is a share, 0 to below 1"),
    ("parity", {"training.beta1": -0.1}, "training.beta1 = -0.1; it is a share, 0 to below 1"),
    ("parity", {"seed": -1}, "seed = -1; seeds are whole numbers from 0"),
    ("parity", {"training.lr": float("nan")}, "training.lr = nan; it is a finite number"),
    ("parity", {"model.d_model": 30}, "model.d_model = 30 is not a multiple of model.n_heads = 4"),
    ("parity", {"model.encoding": "rotary"}, "model.encoding = 'rotary' is for the transformer; 'regulargpt' has none"),
    (
        "parity",
        {"model.name": "transformer", "model.encoding": "rotary", "model.d_model": 12},
        "model.encoding = 'rotary' turns pairs: model.d_model / model.n_heads = 3 must be even",
    ),
    (
        "parity",
        {"task.train_len": 3, "model.chunk_size": 4},
        "task.train_len = 3 is shorter than one chunk (model.chunk_size = 4)",
    ),
    (
        "parity",
        {"evaluation.test_len": 40},
        "evaluation.test_len = 40; test words are longer than task.train_len = 40",
    ),
    (
        "modular-arithmetic",
        {"evaluation.test_len": 42, "task.train_len": 41},
        "evaluation.test_len = 42: length 42: modular-arithmetic has no words; "
        "the nearest lengths with words: 41 and 43",
    ),
    ("parity", {"evaluation.beyond": (0,)}, "evaluation.beyond = 0; a length is 1 to 100000000"),
    (
        "modular-arithmetic:plus=true",
        {"training.curriculum": (1, 8), "training.stage_below": 0.1},
        "training.curriculum = 1: length 1: modular-arithmetic:plus=true has no words; "
        "the nearest length with words: 2",
    ),
    (
        "parity",
        {"task.supervision": "nodes", "model.name": "rnn"},
        "task.supervision = 'nodes' needs the tree of regulargpt; for 'rnn' choose 'last' or 'every'",
    ),
    (
        "parity",
        {"task.supervision": "every", "model.name": "transformer", "model.causal": False},
        "task.supervision = 'every' asks at every position: set model.causal = true",
    ),
    (
        "cycle-navigation",
        {"task.supervision": "next"},
        "task.supervision = 'next' needs members; cycle-navigation answers '0', '1', '2', '3', '4': choose 'every'",
    ),
    ("parity", {"task.near_misses": 0.5}, "task.near_misses = 0.5: parity has no non-members, set it to 0"),
    (
        "parity",
        {"training.lengths_per_step": 3},
        "training.batch_size = 128 cannot be shared among training.lengths_per_step = 3 lengths; make it a multiple",
    ),
    (
        "parity",
        {"training.curriculum": (8, 16)},
        "training.curriculum needs training.stage_below > 0, the running loss at which the next stage begins",
    ),
    (
        "parity",
        {"training.curriculum": (16, 8), "training.stage_below": 0.1},
        "training.curriculum = [16, 8]; its lengths must increase",
    ),
]


@pytest.mark.parametrize(("language", "values", "message"), REFUSED)
def test_refusals(language: str, values: dict, message: str):
    with pytest.raises(ConfigError) as error:
        check(values, language)
    assert str(error.value) == message


@pytest.mark.parametrize("key", ["task.edits", "evaluation.edits"])
def test_a_bound_is_told_before_near_misses_are_prepared(key: str):
    near = {"task.near_misses": 0.5, "evaluation.near_misses": 0.5, "evaluation.also": ("hard-2",)}
    with pytest.raises(ConfigError, match=f"^{key} = -3; a near miss has at least 1 edit"):
        check(near | {key: -3}, "dyck-2")


@pytest.mark.parametrize("key", AT_LEAST)
def test_every_lower_bound_refuses_what_is_below_it_and_allows_itself(key: str):
    low, why = AT_LEAST[key]
    below = low - 1 if type_of(key) is int else low - 1e-9
    with pytest.raises(ConfigError) as error:
        check({key: below})
    assert str(error.value) == f"{key} = {below}; {why}"
    # What the smallest width, train length or batch needs of the others.
    needed = {"model.n_heads": 1, "model.chunk_size": 2, "training.lengths_per_step": 1}
    if key == "task.train_len":
        needed["model.name"] = "gru"
    check(needed | {key: type_of(key)(low)})


@pytest.mark.parametrize("key", BELOW)
def test_every_upper_bound_refuses_itself(key: str):
    high, _ = BELOW[key]
    for value in (float(high), -1e-9, float("nan"), float("inf")):
        with pytest.raises(ConfigError) as error:
            check({key: value})
        assert str(error.value).startswith(f"{key} = {value}; ")
    check({key: 0.0})


@pytest.mark.parametrize("key", [key for key in keys() if type_of(key) is float])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_every_number_must_be_finite(key: str, value: float):
    with pytest.raises(ConfigError, match=f"^{key} = {value}; "):
        check({key: value})


@pytest.mark.parametrize(
    "key",
    ["seed", "threads", "task.train_len", "model.d_model", "training.batch_size", "evaluation.test_len"],
)
def test_what_no_machine_can_hold_is_refused_at_once(key: str):
    with pytest.raises(ConfigError, match=f"^{key} = {10**30}; "):
        check({"evaluation.test_len": 10**31, key: 10**30} if key == "task.train_len" else {key: 10**30})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_valid_model_can_be_built_and_one_that_cannot_is_refused_before(name: str, encoding: str):
    built = 0
    for d_model, n_heads in itertools.product((1, 2, 3, 6, 8), (1, 2, 3, 4)):
        values = {"model.name": name, "model.encoding": encoding, "model.d_model": d_model, "model.n_heads": n_heads}
        config = RunConfig().replaced(values | {"model.d_ff": 2})
        try:
            validate(config, languages.get("parity"))
        except ConfigError:
            if encoding == "none" or name == "transformer":
                with pytest.raises(UserError):
                    models.build(config.model, 2, 2, torch.Generator().manual_seed(0))
            continue
        model = models.build(config.model, 2, 2, torch.Generator().manual_seed(0))
        assert model(torch.tensor([[0, 1, 1]])).shape == (1, 2)
        built += 1
    assert bool(built) == (name == "transformer" or encoding == "none")


def test_the_longest_lengths_are_checked_without_listing_them():
    check({"evaluation.test_len": 1_000_000, "evaluation.beyond": (100_000_000,)})
