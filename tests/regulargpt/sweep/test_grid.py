"""What a sweep goes over: values as they are written, their product, names."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from languages.errors import UserError
from regulargpt import data
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig, flat, value_of, why_unused
from regulargpt.models import MODELS
from regulargpt.options import changed, from_mapping, shown
from regulargpt.runs.sweep import grid as grids
from regulargpt.runs.sweep.grid import Grid
from regulargpt.runs.sweep.names import is_name_of, name_of
from regulargpt.runs.sweep.values import all_texts, read_values
from tests.regulargpt.parts import PLACES

LANGUAGES = ("parity", "tomita-3", "modular-arithmetic", "parity:p_one=0.1", "regex:(a|b),c")
SAFE = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.=_-")


WRITTEN = [
    *(("seed", ["0-2,7"], (0, 1, 2, 7)), ("seed", ["3", "0-3", "3"], (3, 0, 1, 2)), ("seed", ["5-5"], (5,))),
    *(("seed", [" 1 , 2 "], (1, 2)), ("training.lr", ["1e-4,3e-4", "5e-4"], (1e-4, 3e-4, 5e-4))),
    *(("training.lr", ["1e-4"], (1e-4,)), ("model.norm", ["pre,post"], ("pre", "post"))),
    *(("compile", ["true,false"], (True, False)), ("evaluation.extra_lengths", ["1000,10000"], ((1000, 10000),))),
    ("evaluation.extra_lengths", ["1000", "1000,10000", ""], ((1000,), (1000, 10000), ())),
    ("objective", ["last,last:bracketings=0.5,merged=0.25"], ("last", "last:bracketings=0.5,merged=0.25")),
    ("objective.name", ["last,next"], ("last", "next")),
]


@pytest.mark.parametrize(("key", "texts", "values"), WRITTEN)
def test_values_as_they_are_written(key: str, texts: list[str], values: tuple[Any, ...]):
    assert read_values(RunConfig(), key, texts) == values


NOT_READ = [
    ("seed", "3-1", "seed = '3-1'; a range increases, as in 1-3"),
    *(("seed", f"0-{most}", f"seed = '0-{most}': {most + 1:,} values; at most 10,000")
      for most in (10_000, 1_000_000_000, 2**63 - 1)),
    ("seed", f"0-{10**30}", f"seed = '0-{10**30}'; a whole number is at most 9223372036854775807"),
    ("seed", ",".join(["0-9998"] * 2), "seed: 19,998 values; at most 10,000"),
    *(("seed", text, f"seed = '{said}'; give a whole number")
      for text, said in (("1-", "1-"), ("1,,2", ""), ("0-2-4", "0-2-4"))),
    ("training.lr", "1-2", "training.lr = '1-2'; give a number"),
    ("training.lr", "fast,1e-3", "training.lr = 'fast'; give a number"),
    ("model.norm", "pre,psot", "model.norm = 'psot'; choose one of pre, post"),
    ("compile", "yes", "compile = 'yes'; give true or false"),
    ("training.curriculum", "8;16", "training.curriculum = '8;16'; give a whole number"),
    ("training.clipp", "1", "unknown key 'training.clipp'; did you mean 'clip'?"),
]  # fmt: skip


@pytest.mark.parametrize(("key", "text", "message"), NOT_READ)
def test_values_that_are_refused(key: str, text: str, message: str):
    with pytest.raises(UserError) as refused:
        read_values(RunConfig(), key, [text])
    assert str(refused.value) == message


def test_a_key_given_again_adds_values():
    found = all_texts(
        {"seed": ("0-1",), "model.d_model": ()}, ["seed=7", "training.curriculum=8,16", "training.curriculum="]
    )
    assert found == {"seed": ["0-1", "7"], "training.curriculum": ["8,16", ""]}


@pytest.mark.parametrize("key", ["data.name", "model.name", "model", "recipe", "protocol"])
def test_what_has_an_option_of_its_own_is_not_set(key: str):
    with pytest.raises(UserError, match=f"^--set {key}: "):
        all_texts({}, [f"{key}=parity"])


def some(of: st.SearchStrategy) -> st.SearchStrategy:
    return st.lists(of, min_size=1, max_size=2, unique=True)


SWEPT = {
    "model.chunk_size": some(st.integers(2, 9)),
    "model.n_layers": some(st.integers(1, 5)),
    "training.lr": some(st.sampled_from([1e-4, 3e-4, 1e-3])),
    "seed": some(st.integers(0, 99)),
    "data.near_misses": some(st.sampled_from([0.0, 0.5])),
    "evaluation.extra_lengths": some(st.sampled_from([(), (800, 900)])),
}
grid = st.builds(
    Grid,
    some(st.sampled_from(LANGUAGES)),
    some(st.sampled_from(list(MODELS))),
    values=st.fixed_dictionaries({}, optional=SWEPT),
)


@settings(max_examples=25)
@given(grid)
def test_a_grid_is_the_product_of_what_changes_something(grid: Grid):
    """By a second way: each combination by itself, without the keys that its parts lack, equal ones once, in order."""
    expected: list[RunConfig] = []
    used = set()
    for language in grid.languages:
        spelled = {resolve(None, model, language).data.name for model in grid.models}
        for model in grid.models:
            combinations: list[dict[str, Any]] = [{}]
            for key, several in grid.values.items():
                combinations = [{**chosen, key: value} for chosen in combinations for value in several]
            for chosen in combinations:
                base = resolve(None, model, language)
                base = base.replaced({"data.name": language}) if len(spelled) > 1 else base
                kept = {key: value for key, value in chosen.items() if key in flat(base)}
                used |= set(kept)
                expected.append(base.replaced(kept))
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


@settings(max_examples=25)
@given(grid, st.integers(0, 10**6))
def test_names_are_file_names_and_functions_of_the_config(grid: Grid, seed: int):
    try:
        config = grid.configs[0].replaced({"seed": seed})
    except UserError:
        return
    name = name_of(config)
    # A digest that forgot an option would give two configs one name.
    assert from_mapping(RunConfig, changed(config)) == config
    assert set(name) <= SAFE
    assert len(name) < 150
    assert name_of(RunConfig.parse(config.render())) == name
    assert is_name_of(name, config.render())
    assert f"-seed{seed}-" in name
    assert name_of(config.replaced({"seed": seed + 1})) != name


def test_the_digest_in_a_name_is_of_all_that_is_run():
    config = RunConfig().replaced({"model.chunk_size": 3, "seed": 7})
    start, _, told = name_of(config).rpartition("-")
    assert start == "parity-regulargpt-C3-answers-seed7"
    assert (len(told), set(told) - set("0123456789abcdef")) == (12, set())
    others = [config.replaced({key: value}) for key, value in (("training.lr", 0.5), ("data.train_len", 20))]
    others += [config.replaced({"phases.table_fine_tuning.every": 7})]
    assert len({name_of(other) for other in [config, *others]}) == 4
    assert not is_name_of(name_of(config), "a line that is no config")


def test_a_new_option_at_its_default_renames_no_run_and_another_value_is_refused():
    config = RunConfig().replaced({"model.chunk_size": 3})
    name, text = name_of(config), config.render()
    older = text.replace("clip = 1.0\n", "").replace("samples = 64\n", "")
    assert len(older) < len(text) - 20
    assert is_name_of(name, older)
    # As where a default has changed since: the name is the same, the run another.
    assert not is_name_of(name, text.replace("clip = 1.0\n", "clip = 2.0\n"))


FOR_THE_EYE = [
    ("regex:(ab)*", "gru", "regex-ab-gru-answers-seed0-"),
    ("parity:p_one=0.1", "regulargpt", "parity-p_one=0.1-regulargpt-C2-answers-seed0-"),
    ("regex:" + "(a|b)*" * 50, "rnn", "regex-" + "a-b-" * 13 + "a-rnn-answers-seed0-"),
]


@pytest.mark.parametrize(("language", "model", "start"), FOR_THE_EYE)
def test_names_for_the_eye(language: str, model: str, start: str):
    assert name_of(RunConfig().replaced({"data.name": language, "model.name": model}))[:-12] == start


def seen(grid: Grid, *keys: str) -> list[tuple[Any, ...]]:
    """These options of each run; None for one that a run does not have."""
    return [tuple(value_of(config, key) for key in keys) for config in grid.configs]


def test_an_option_that_a_model_lacks_makes_no_run_twice():
    grid = Grid(("parity",), ("regulargpt", "lstm"), values={"model.chunk_size": (2, 3), "seed": (0, 1)})
    assert seen(grid, "model.name", "model.chunk_size", "seed") == [
        *(("regulargpt", C, seed) for C in (2, 3) for seed in (0, 1)),
        *(("lstm", None, seed) for seed in (0, 1)),
    ]


def test_an_option_that_another_switches_off_makes_no_run_twice():
    values = {"data.test.near_misses": (0.0, 0.5), "data.test.edits": (1, 3)}
    found = seen(Grid(("dyck-2",), ("lstm",), values=values), *values)
    assert found == [(0.0, 2), (0.5, 1), (0.5, 3)]
    # The growth of the noise needs the loss from which on it grows, and that needs noise.
    values = {"model.state_noise": (0.0, 0.1), "model.noise_loss": (0.0, 0.2), "model.noise_growth": (1.1, 1.2)}
    grid = Grid(("parity",), recipes=("gpt2",), values=values)
    assert seen(grid, *values) == [(0.0, 0.0, 1.01), (0.1, 0.0, 1.01), (0.1, 0.2, 1.1), (0.1, 0.2, 1.2)]


def needed(key: str) -> list[str]:
    """What an option needs, and what that needs."""
    place, name = key.rpartition(".")[0], PLACES[key][1].field.metadata.get("needs")
    return [f"{place}.{name}", *needed(f"{place}.{name}")] if name else []


@pytest.mark.parametrize("key", [key for key in PLACES if needed(key)])
def test_what_needs_another_option_changes_nothing_without_it(key: str):
    usual = {"training.curriculum": (8,), "model.encoding.scaling": "ntk", "model.tied": True}
    ons = {other: usual.get(other, 1) for other in needed(key)}
    on = PLACES[key][0].replaced({"training.stage_loss": 0.1, **ons})
    assert why_unused(on, key) is None
    for other in ons:
        off = on.replaced({other: "none" if other == "model.encoding.scaling" else type(value_of(on, other))()})
        assert why_unused(off, key) == f"with {other} = {shown(value_of(off, other))}"


def test_parts_are_swept_with_their_options():
    values = {"model.encoding": ["alibi,rotary"], "model.n_heads": ["2"]}
    grid = Grid(("parity",), ("transformer", "lstm", "regulargpt:chunk_size=3,d_model=32"), values=values)
    assert seen(grid, "model.name", "model.encoding.name", "model.n_heads", "model.d_model") == [
        ("transformer", "alibi", 2, 64),
        ("transformer", "rotary", 2, 64),
        ("lstm", None, None, 32),
        ("regulargpt", None, 2, 32),
    ]
    assert [row.get("model.encoding.name") for row in grid.differences()] == ["alibi", "rotary", None, None]
    grid = Grid(("parity",), ("gru",), values={"objective": ["last,prefixes"], "objective.output_token": ["true"]})
    assert seen(grid, "objective.name", "objective.output_token") == [("last", True), ("prefixes", None)]


def test_a_protocol_comes_after_the_recipe_and_before_the_values():
    grid = Grid(("dyck-4",), ("lstm",), protocols=("thesis", "hard-1"), values={"seed": (3,)})
    assert [(c.protocol, c.data.name, c.data.train_len, c.seed) for c in grid.configs] == [
        ("thesis-1", "dyck-4", 50, 3),
        ("hard-1", "dyck-4:depth=every", 40, 3),
    ]
    assert [row["protocol"] for row in grid.differences()] == ["thesis-1", "hard-1"]


def test_certify_where_there_can_be_a_certificate():
    options = ("phases.table_fine_tuning.every", "phases.table_fine_tuning.lr")
    values = {options[1]: (1e-3, 2e-3)}
    grid = Grid(("parity",), ("regulargpt", "gru"), ("words",), values=values, certify=True)
    expected = [*(("regulargpt", 100, lr) for lr in (1e-3, 2e-3)), ("gru", None, None)]
    assert seen(grid, "model.name", *options) == expected


LR, EVERY = "phases.table_fine_tuning.lr", "phases.table_fine_tuning.every"
NOTHING = "changes nothing in any of these runs; leave it out"
NO_GRID = [
    (Grid(("partiy",)), "unknown language 'partiy'; did you mean 'parity'?"),
    (Grid(("parity",), ("lstn",)), "unknown model 'lstn'; did you mean 'lstm'?"),
    (Grid(("parity",), recipes=("wrods",)), "unknown recipe 'wrods'; did you mean 'words'?"),
    (Grid(("parity",), protocols=("theses",)), "unknown protocol 'theses'; did you mean 'thesis'?"),
    (Grid(("parity",), ("lstm",), values={"model.chunk_size": (2, 3)}), f"model.chunk_size {NOTHING}"),
    (Grid(("parity",), values={"data.near_misses": (0.5,)}), f"data.near_misses {NOTHING}"),
    (Grid(("parity",), ("gru",), ("words",), values={LR: (1e-3, 2e-3)}), f"{LR} {NOTHING}"),
    (Grid(("parity",), ("transformer",), certify=True),
     "--certify: transformer does not use one map at every level of a tree"),
    (Grid(("parity",), ("lstm", "regulargpt"), values={"model.chunk_size": ["two"]}),
     "model.chunk_size = 'two'; give a whole number"),
    (Grid(("parity",), ("lstm",), values={"model.chunk_size": ["2,3"]}),
     "unknown key 'model.chunk_size': 'lstm' has no chunk_size; 'regulargpt' has"),
    (Grid(("parity",), certify=True, values={EVERY: (0,)}),
     f"--certify and {EVERY} = 0 contradict each other; leave one of them out"),
    (Grid(("parity",), values={"seed": range(1000), "training.lr": range(1000)}),
     "1,000,000 runs; a sweep has at most 100,000"),
]  # fmt: skip


@pytest.mark.parametrize(("grid", "message"), NO_GRID)
def test_grids_that_are_refused(grid: Grid, message: str):
    with pytest.raises(UserError) as refused:
        _ = grid.configs
    assert str(refused.value) == message


def test_the_size_is_judged_before_anything_is_built(monkeypatch):
    monkeypatch.setattr(grids, "resolve", lambda *arguments: pytest.fail("built"))
    with pytest.raises(UserError, match="at most 100,000"):
        _ = Grid(("parity",), values={"seed": range(10**6)}).configs


def test_what_differs_names_the_options_of_a_part_that_is_swept_over():
    written = {"model.encoding": ["alibi:slopes=press", "alibi:slopes=geometric", "rotary"]}
    rows = Grid(("parity",), ("transformer",), values=written).differences()
    assert [row["model.encoding.name"] for row in rows] == ["alibi", "alibi", "rotary"]
    assert [row.get("model.encoding.slopes") for row in rows] == ["press", "geometric", None]


TOGETHER = ("lstm", "regulargpt", "regulargpt:gates=false", "ldru", "transformer", "regulargpt:chunk_size=3")


def batches(config: RunConfig) -> list[list[list[int]]]:
    """The first training words of a run, with their answers, and some test words."""
    words = data.of_words(config.data)
    drawn = [
        words.batch(config.seed, "train", step, words.lengths(config.data.train_len), config.training.batch_size)
        for step in range(3)
    ]
    drawn += [words.test(config.seed, config.scored[0], 8)]
    return [np.concatenate([w, words.task.labels(w)[:, None]], axis=1).tolist() for w in drawn]


@pytest.mark.parametrize(
    ("language", "protocol"),
    [
        *((name, None) for name in ("parity", "modular-arithmetic", "dyck-4", "tomita-5")),
        *((name, "hard") for name in ("parity", "dyck-12")),
    ],
)
def test_all_models_of_a_sweep_have_the_same_supervision_and_the_same_words(language: str, protocol: str | None):
    configs = Grid((language,), TOGETHER, protocols=(protocol,)).configs
    assert len(configs) == len(TOGETHER)
    # Random bracketings are the network's own way to read a word: what is shown of its answer is the same.
    shown = [(c.data, c.objective.name, value_of(c, "objective.output_token")) for c in configs]
    assert len(set(shown)) == 1
    assert {config.objective.name for config in configs} == {"last"}
    # `answers` has larger batches where there is a tree, beside them the recurrent network and the Transformer.
    for size, count in ((128, 2), (256, 4)):
        same_size = [config for config in configs if config.training.batch_size == size]
        assert len(same_size) == count
        assert all(batches(config) == batches(same_size[0]) for config in same_size)


def test_what_models_share_is_as_the_user_wrote_it_and_what_all_recipes_agree_on():
    pair = ("lstm", "regulargpt")
    assert {c.data.name for c in Grid(("modular-arithmetic",), pair).configs} == {"modular-arithmetic"}
    plus = "modular-arithmetic:plus=true"
    assert {c.data.name for c in Grid((plus,), pair).configs} == {plus}
    for recipe in ("words", "paper"):
        found = Grid(("modular-arithmetic",), pair, (recipe,)).configs
        assert [(c.data.name, c.recipe) for c in found] == [("modular-arithmetic", recipe)] * 2
    # All trees need the + in front: their recipes agree.
    trees = Grid(("modular-arithmetic",), ("regulargpt", "ldru"), ("answers",))
    assert {c.data.name for c in trees.configs} == {plus}
    assert trees.notices() == []
    alone = Grid(("dyck-4", "modular-arithmetic"), ("regulargpt",))
    assert [(c.recipe, c.data.name) for c in alone.configs] == [("answers", "dyck-4"), ("answers", plus)]
    assert alone.notices() == []


def test_the_user_may_say_otherwise_and_is_told_what_was_chosen():
    grid = Grid(("dyck-4",), ("lstm", "regulargpt"), recipes=("words",), values={"objective.name": ("prefixes",)})
    assert {c.objective.name for c in grid.configs} == {"prefixes"}
    assert grid.notices() == []
    (words,) = Grid(("dyck-4", "modular-arithmetic"), ("lstm", "regulargpt")).notices()
    assert words == (
        "all models have the same words (alone regulargpt has data.name = modular-arithmetic:plus=true); "
        "write the language so, or --set them, for all"
    )
