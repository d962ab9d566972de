"""What a sweep goes over: values as they are written, their product, names."""

import dataclasses
import hashlib
import inspect
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import languages
from languages.errors import UserError
from regulargpt.config import ModelConfig, RunConfig, keys, value_of
from regulargpt.models import MODELS, model_class
from regulargpt.recipes import CERTIFY, recommended, resolve
from regulargpt.sweep import grid as grids
from regulargpt.sweep.applies import NEEDS, NODES, NON_MEMBERS, TREE, applies
from regulargpt.sweep.grid import Grid
from regulargpt.sweep.names import is_name_of, name_of
from regulargpt.sweep.values import read_all, read_values

LANGUAGES = ("parity", "tomita-3", "modular-arithmetic", "parity:p_one=0.1", "regex:(a|b),c")
SAFE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.=_-")


@pytest.mark.parametrize(
    ("key", "texts", "values"),
    [
        ("seed", ["0-2,7"], (0, 1, 2, 7)),
        ("seed", ["3", "0-3", "3"], (3, 0, 1, 2)),
        ("seed", ["5-5"], (5,)),
        ("seed", [" 1 , 2 "], (1, 2)),
        ("training.lr", ["1e-4,3e-4", "5e-4"], (1e-4, 3e-4, 5e-4)),
        ("training.lr", ["1e-4"], (1e-4,)),
        ("model.norm", ["pre,post"], ("pre", "post")),
        ("compile", ["true,false"], (True, False)),
        ("evaluation.beyond", ["1000,10000"], ((1000, 10000),)),
        ("evaluation.beyond", ["1000", "1000,10000", ""], ((1000,), (1000, 10000), ())),
    ],
)
def test_values_as_they_are_written(key: str, texts: list[str], values: tuple[Any, ...]):
    assert read_values(key, texts) == values


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("seed", "3-1", "seed = '3-1'; a range increases, as in 1-3"),
        ("seed", "0-10000", "seed = '0-10000': 10,001 values; at most 10,000"),
        ("seed", ",".join(["0-9998"] * 2), "seed: 19,998 values; at most 10,000"),
        ("seed", "1-", "seed = '1-'; give a whole number"),
        ("seed", "1,,2", "seed = ''; give a whole number"),
        ("seed", "0-2-4", "seed = '0-2-4'; give a whole number"),
        ("training.lr", "1-2", "training.lr = '1-2'; give a number"),
        ("training.lr", "fast,1e-3", "training.lr = 'fast'; give a number"),
        ("model.norm", "pre,psot", "model.norm = 'psot'; choose one of pre, post"),
        ("compile", "yes", "compile = 'yes'; give true or false"),
        ("training.curriculum", "8;16", "training.curriculum = '8;16'; give a whole number"),
        ("training.clipp", "1", "unknown key 'training.clipp'; did you mean 'clip'?"),
    ],
)
def test_values_that_are_refused(key: str, text: str, message: str):
    with pytest.raises(UserError) as refused:
        read_values(key, [text])
    assert str(refused.value).replace("training.curriculum = '8;16'", key + " = '8;16'") == message


def test_a_key_given_again_adds_values():
    found = read_all(
        {"seed": ("0-1",), "model.d_model": ()}, ["seed=7", "training.curriculum=8,16", "training.curriculum="]
    )
    assert found == {"seed": (0, 1, 7), "training.curriculum": ((8, 16), ())}


@pytest.mark.parametrize("key", ["task.language", "model.name", "recipe", "protocol"])
def test_what_has_an_option_of_its_own_is_not_set(key: str):
    with pytest.raises(UserError, match=f"^--set {key}: "):
        read_all({}, [f"{key}=parity"])


values = st.fixed_dictionaries(
    {},
    optional={
        "model.chunk_size": st.lists(st.integers(2, 9), min_size=1, max_size=2, unique=True),
        "model.n_layers": st.lists(st.integers(1, 5), min_size=1, max_size=2, unique=True),
        "training.lr": st.lists(st.sampled_from([1e-4, 3e-4, 1e-3]), min_size=1, max_size=2, unique=True),
        "seed": st.lists(st.integers(0, 99), min_size=1, max_size=2, unique=True),
        "task.near_misses": st.lists(st.sampled_from([0.0, 0.5]), min_size=1, max_size=2, unique=True),
        "training.curriculum": st.lists(st.sampled_from([(), (8,), (8, 16)]), min_size=1, max_size=2, unique=True),
    },
)
grid = st.builds(
    Grid,
    st.lists(st.sampled_from(LANGUAGES), min_size=1, max_size=2, unique=True),
    st.lists(st.sampled_from(list(MODELS)), min_size=1, max_size=2, unique=True),
    values=values,
)


@settings(max_examples=25, deadline=None)
@given(grid)
def test_a_grid_is_the_product_of_what_changes_something(grid: Grid):
    """By a second way: each combination by itself, what it ignores set back, equal ones once and in order."""
    expected: list[RunConfig] = []
    used = set()
    for language in grid.languages:
        task = languages.get(language)
        for model in grid.models:
            recipe = recommended(language, model)
            combinations: list[dict[str, Any]] = [{}]
            for key, several in grid.values.items():
                combinations = [{**chosen, key: value} for chosen in combinations for value in several]
            for chosen in combinations:
                base = resolve(recipe, model, language, task.sampling, chosen.get("model.chunk_size", 2))
                kept = {key: value for key, value in chosen.items() if applies(key, base, task)}
                used |= set(kept)
                config = base.replaced(kept)
                expected.append(config)
    unused = [key for key in grid.values if key not in used]
    if unused:
        with pytest.raises(UserError, match=f"^{unused[0]} changes nothing in any of these runs; leave it out$"):
            _ = grid.configs
        return
    assert grid.configs == list(dict.fromkeys(expected))
    names = [name_of(config) for config in grid.configs]
    assert len(set(names)) == len(names)
    differences = grid.differences()
    assert len(differences) == len(names)
    # What differs tells the runs apart.
    assert len({repr(sorted(row.items())) for row in differences}) == len(names)


@settings(max_examples=25, deadline=None)
@given(grid, st.integers(0, 10**6))
def test_names_are_file_names_and_functions_of_the_config(grid: Grid, seed: int):
    try:
        config = grid.configs[0].replaced({"seed": seed})
    except UserError:
        return
    name = name_of(config)
    assert set(name) <= SAFE
    assert len(name) < 150
    assert name_of(RunConfig.parse(config.render())) == name
    assert is_name_of(name, config.render())
    assert f"-seed{seed}-" in name
    assert name_of(config.replaced({"seed": seed + 1})) != name


def test_the_digest_in_a_name_is_of_the_fields_that_differ_from_their_default():
    told = hashlib.sha256(b'{"model.chunk_size": 3, "seed": 7}').hexdigest()[:12]
    config = RunConfig().replaced({"model.chunk_size": 3, "seed": 7})
    assert name_of(config) == f"parity-regulargpt-C3-robust-seed7-{told}"
    assert not is_name_of(name_of(config), "a line that is no config")


@pytest.mark.parametrize(
    ("language", "model", "start"),
    [
        ("regex:(ab)*", "gru", "regex-ab-gru-robust-seed0-"),
        ("dfa:../a/b.json", "lstm", "dfa-..-a-b.json-lstm-robust-seed0-"),
        ("parity:p_one=0.1", "regulargpt", "parity-p_one=0.1-regulargpt-C2-robust-seed0-"),
        ("regex:" + "(a|b)*" * 50, "rnn", "regex-" + "a-b-" * 13 + "a-rnn-robust-seed0-"),
    ],
)
def test_names_for_the_eye(language: str, model: str, start: str):
    name = name_of(RunConfig().replaced({"task.language": language, "model.name": model}))
    assert name[:-12] == start


def test_the_fields_of_a_model_are_those_that_it_takes():
    fields = {field.name for field in dataclasses.fields(ModelConfig)}
    for name, row in MODELS.items():
        taken = set(inspect.signature(model_class(name)).parameters)
        assert set(row.fields) == taken & fields, name
    assert set(keys()) >= TREE | NODES | NON_MEMBERS


def test_a_field_that_changes_nothing_makes_no_run_twice():
    found = Grid(("parity",), ("regulargpt", "lstm"), values={"model.chunk_size": (2, 3), "seed": (0, 1)}).configs
    assert [(c.model.name, c.model.chunk_size, c.seed) for c in found] == [
        ("regulargpt", 2, 0),
        ("regulargpt", 2, 1),
        ("regulargpt", 3, 0),
        ("regulargpt", 3, 1),
        ("lstm", 2, 0),
        ("lstm", 2, 1),
    ]


def test_a_field_that_another_switches_off_makes_no_run_twice():
    values = {"training.curriculum": ((), (8,)), "training.stage_below": (0.1, 0.2)}
    found = Grid(("parity",), recipes=("robust",), values=values).configs
    assert [(c.training.curriculum, c.training.stage_below) for c in found] == [((), 0.0), ((8,), 0.1), ((8,), 0.2)]


def test_what_the_certificate_needs_counts_only_with_it():
    values = {"training.anchor_lr": (1e-3, 2e-3)}
    found = Grid(("parity",), ("regulargpt", "gru"), ("robust",), values=values, certify=True).configs
    assert [(c.model.name, c.training.anchor_lr) for c in found] == [
        ("regulargpt", 1e-3),
        ("regulargpt", 2e-3),
        ("gru", 2e-3),
    ]
    with pytest.raises(UserError, match=r"^training.anchor_lr changes nothing in any of these runs; leave it out$"):
        _ = Grid(("parity",), recipes=("robust",), values=values).configs


def test_switches_are_fields_and_off_by_default():
    assert set(keys()) >= set(NEEDS) | set(NEEDS.values())
    assert not any(value_of(RunConfig(), key) for key in NEEDS.values())


def test_a_protocol_comes_after_the_recipe_and_before_the_values():
    grid = Grid(("dyck-4",), ("lstm",), protocols=("thesis", "hard-1"), values={"seed": (3,)})
    assert [(c.protocol, c.task.language, c.task.train_len, c.seed) for c in grid.configs] == [
        ("thesis-1", "dyck-4", 50, 3),
        ("hard-1", "dyck-4:depth=every", 40, 3),
    ]
    assert [row["protocol"] for row in grid.differences()] == ["thesis-1", "hard-1"]


def test_certify_where_there_can_be_a_certificate():
    found = Grid(("parity",), ("regulargpt", "gru"), values={"training.anchor_steps": (7,)}, certify=True).configs
    assert [c.training.certify_every for c in found] == [CERTIFY["training.certify_every"], 0]
    assert found[0].training.anchor_steps == 7
    with pytest.raises(UserError, match=r"^--certify: the levels of gru are not one map on finitely many states$"):
        _ = Grid(("parity",), ("gru",), certify=True).configs


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (Grid(("partiy",)), "unknown language 'partiy'; did you mean 'parity'?"),
        (Grid(("parity",), ("lstn",)), "unknown model 'lstn'; did you mean 'lstm'?"),
        (Grid(("parity",), recipes=("robst",)), "unknown recipe 'robst'; did you mean 'robust'?"),
        (Grid(("parity",), protocols=("theses",)), "unknown protocol 'theses'; did you mean 'thesis'?"),
        (
            Grid(("parity",), ("lstm",), values={"model.chunk_size": (2, 3)}),
            "model.chunk_size changes nothing in any of these runs; leave it out",
        ),
        (
            Grid(("parity",), values={"task.near_misses": (0.5,)}),
            "task.near_misses changes nothing in any of these runs; leave it out",
        ),
        (
            Grid(("parity",), values={"seed": range(1000), "training.lr": range(1000)}),
            "1,000,000 runs; a sweep has at most 100,000",
        ),
    ],
)
def test_grids_that_are_refused(grid: Grid, message: str):
    with pytest.raises(UserError) as refused:
        _ = grid.configs
    assert str(refused.value) == message


def test_the_size_is_judged_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(grids, "resolve", lambda *arguments: pytest.fail("built"))
    with pytest.raises(UserError, match="at most 100,000"):
        _ = Grid(("parity",), values={"seed": range(10**6)}).configs
