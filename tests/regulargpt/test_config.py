"""The configuration: nothing unknown, nothing of another type, and what is written is what is read."""

import dataclasses
import math
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st

import languages
from languages.errors import UserError
from languages.registry import names
from regulargpt.config import (
    SECTIONS,
    ConfigError,
    EvaluationConfig,
    ModelConfig,
    RunConfig,
    TaskConfig,
    TrainingConfig,
    keys,
    read_lengths,
    read_value,
    type_of,
)
from regulargpt.models import MODELS
from regulargpt.recipes import RECIPES, recommended, resolve
from regulargpt.validation import AT_LEAST, BELOW, validate, value_of

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
FLOATS = st.floats(allow_nan=False)


def strategy(kind: typing.Any) -> st.SearchStrategy:
    """Any value of a field's type."""
    if dataclasses.is_dataclass(kind):
        return st.builds(kind, **{n: strategy(t) for n, t in typing.get_type_hints(kind).items()})
    if typing.get_origin(kind) is typing.Literal:
        return st.sampled_from(typing.get_args(kind))
    if typing.get_origin(kind) is tuple:
        return st.lists(strategy(typing.get_args(kind)[0]), max_size=4).map(tuple)
    return {int: st.integers(), float: FLOATS, bool: st.booleans(), str: TEXT}[kind]


@given(strategy(RunConfig))
def test_parsing_what_was_rendered_gives_the_config_back(config: RunConfig):
    text = config.render()
    assert RunConfig.parse(text) == config
    assert RunConfig.parse(text).render() == text


@given(strategy(RunConfig))
def test_rendering_is_complete(config: RunConfig):
    shown = {line.partition(" = ")[0] for line in config.render().split("\n") if " = " in line}
    assert {key.rpartition(".")[2] for key in keys()} <= shown


def other(kind: typing.Any) -> typing.Any:
    """A value that a field of this type must refuse."""
    if kind is float:
        return True
    if kind is int:
        return 2.0
    if typing.get_origin(kind) is tuple:
        return [2.5]
    return 3


@pytest.mark.parametrize("key", keys())
def test_every_field_refuses_another_type_and_names_itself(key: str):
    with pytest.raises(ConfigError) as error:
        RunConfig().replaced({key: other(type_of(key))})
    assert str(error.value).startswith(f"{key} = ")
    assert "; " in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", keys())
def test_every_field_is_read_from_the_command_line_as_it_is_rendered(key: str):
    value = value_of(RunConfig(), key)
    text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
    assert read_value(key, text.lower() if isinstance(value, bool) else text) == value


@pytest.mark.parametrize("key", [key for key in keys() if type_of(key) in (int, float, bool)])
@pytest.mark.parametrize("text", ["", "many", "1,2", "True", "0x10", "1.5.2"])
def test_every_number_and_switch_refuses_other_words(key: str, text: str):
    with pytest.raises(ConfigError, match=f"^{key} = {text!r}; give "):
        read_value(key, text)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("training.lr", "3e-4", 3e-4),
        ("training.lr", "1", 1.0),
        ("compile", "true", True),
        ("compile", "false", False),
        ("training.curriculum", "8,16", (8, 16)),
        ("training.curriculum", "", ()),
        ("evaluation.beyond", "10000", (10_000,)),
        ("model.norm", "post", "post"),
        ("task.language", "regex:(a,b)*", "regex:(a,b)*"),
    ],
)
def test_values_on_the_command_line(key: str, text: str, value: object):
    assert read_value(key, text) == value
    assert type(read_value(key, text)) is type(value)


REFUSED_TEXTS = [
    ("[model]\nchunk_sise = 3", "unknown key 'model.chunk_sise'; did you mean 'chunk_size'?"),
    ("sede = 3", "unknown key 'sede'; did you mean 'seed'?"),
    ("[trainnig]\nlr = 1.0", "unknown key 'trainnig'; did you mean 'training'?"),
    ("[training]\nlr = 'fast'", "training.lr = 'fast'; give a number"),
    ("[training]\nlr = true", "training.lr = True; give a number"),
    ("[training]\nsteps = 10.0", "training.steps = 10.0; give a whole number"),
    ("[training]\ncurriculum = 8", "training.curriculum = 8; give a list of ints"),
    ("[training]\ncurriculum = [8, true]", "training.curriculum = True; give a whole number"),
    ("[model]\nnorm = 'psot'", "model.norm = 'psot'; choose one of pre, post"),
    ("[task]\nsupervision = ['last']", "task.supervision = ['last']; choose one of last, every, next, nodes"),
    ("compile = 1", "compile = 1; give true or false"),
    ("recipe = 3", "recipe = 3; give a text"),
    ("model = 3", "model = 3: model is a section; write [model]"),
    ("seed = [1]", "seed = [1]; give a whole number"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED_TEXTS)
def test_refused_files_name_the_field_and_what_it_takes(text: str, message: str):
    with pytest.raises(ConfigError) as error:
        RunConfig.parse(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    "text",
    [
        "seed",
        "seed = ",
        "[model",
        "seed = 1\nseed = 2",
        "seed = 1" + "0" * 5000,
        "seed = 0x" + "f" * 5000,
        "x = " + "[" * 20_000,
        "a.b.c",
    ],
    ids=[
        "no value",
        "no text",
        "no bracket",
        "twice",
        "5000 digits",
        "5000 hexadecimal digits",
        "20000 brackets",
        "no equals",
    ],
)
def test_what_is_no_toml_is_refused_in_one_line(text: str):
    with pytest.raises(UserError, match=r"^here.toml( is not TOML|: a number has|: the brackets are)") as error:
        RunConfig.parse(text, "here.toml")
    assert "\n" not in str(error.value)


def test_a_whole_number_too_large_for_a_float_is_refused():
    with pytest.raises(ConfigError, match=r"^training.lr = 1000.*; give a number"):
        RunConfig.parse("[training]\nlr = 1" + "0" * 400)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("chunk_size", "unknown key 'chunk_size'; did you mean 'model.chunk_size'?"),
        ("training.chunk_size", "unknown key 'training.chunk_size'; did you mean 'model.chunk_size'?"),
        ("training.lrr", "unknown key 'training.lrr'; did you mean 'lr'?"),
        ("modle.norm", "unknown section 'modle'; did you mean 'model'?"),
        ("a.b.c", "unknown section 'a.b'; known: task, model, training, evaluation"),
        ("sede", "unknown key 'sede'; did you mean 'seed'?"),
    ],
)
def test_unknown_keys_on_the_command_line_say_the_nearest(key: str, message: str):
    with pytest.raises(ConfigError) as error:
        read_value(key, "1")
    assert str(error.value) == message


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_is_no_key(section: str):
    with pytest.raises(ConfigError, match=f"'{section}'"):
        read_value(section, "1")
    with pytest.raises(ConfigError, match=f"'{section}' is a section; set one of its keys, as in {section}\\."):
        RunConfig().replaced({section: "1"})


def test_replacing_changes_these_fields_and_no_others():
    config = RunConfig().replaced({"model.chunk_size": 3, "seed": 1, "evaluation.beyond": [7]})
    assert config == RunConfig(seed=1, model=ModelConfig(chunk_size=3), evaluation=EvaluationConfig(beyond=(7,)))
    assert RunConfig().replaced({}) == RunConfig()


def test_keys_are_all_fields_of_all_sections():
    fields = [f"{s}.{f.name}" for s, owner in SECTIONS.items() for f in dataclasses.fields(owner)]
    assert keys() == [f.name for f in dataclasses.fields(RunConfig) if f.name not in SECTIONS] + fields
    assert {
        "task": TaskConfig,
        "model": ModelConfig,
        "training": TrainingConfig,
        "evaluation": EvaluationConfig,
    } == {**SECTIONS}
    assert set(AT_LEAST) | set(BELOW) <= set(keys())


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", MODELS)
def test_every_recipe_of_every_model_can_run_every_listed_language(recipe: str, model: str):
    if model not in RECIPES[recipe].fields:
        with pytest.raises(UserError, match=f"recipe '{recipe}' is for .*, not for '{model}'; choose --recipe robust"):
            resolve(recipe, model, "parity", "uniform")
        return
    for language in names():
        config = resolve(recipe, model, language, TASKS[language].sampling)
        validate(config, languages.get(config.task.language))
        assert (config.recipe, config.model.name) == (recipe, model)
        assert config.task.language.partition(":")[0] == language
        assert RunConfig.parse(config.render()) == config


TASKS = {name: languages.get(name) for name in names()}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("language", [*names(), "regex:(ab)*", "parity:p_one=0.1", "dyck-9"])
def test_the_recommended_recipe_is_for_that_model(model: str, language: str):
    assert model in RECIPES[recommended(language, model)].fields


def test_a_recipe_that_shows_more_than_final_answers_says_so_in_its_name():
    for name, recipe in RECIPES.items():
        for fields in (*recipe.fields.values(), recipe.balanced, *recipe.languages.values()):
            assert ("nodes" in name) or fields.get("task.supervision", "last") == "last"


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 30)), min_size=1, max_size=5), st.booleans())
def test_lengths_as_people_write_them(parts: list[tuple[int, int]], spaced: bool):
    text = (", " if spaced else ",").join(str(low) if not more else f"{low}-{low + more}" for low, more in parts)
    expected = sorted({T for low, more in parts for T in range(low, low + more + 1)})
    assert read_lengths(text) == tuple(expected)


@pytest.mark.parametrize(
    "text", ["", ",", "0", "-5", "5-", "5-3", "0-4", "a", "4-b", "1-2-3", "1.5", "٣", "9" * 10, "41-500,", "4 - 5x"]
)
def test_what_is_no_length_is_refused(text: str):
    with pytest.raises(ConfigError, match=r"is not a length or an increasing range; write 41-500,1000$"):
        read_lengths(text)


def test_a_range_too_long_to_test_is_refused_before_it_fills_the_memory():
    with pytest.raises(ConfigError, match="lengths '1-999999999'"):
        read_lengths("1-999999999")


def test_infinity_is_a_number_of_the_file_format():
    assert math.isinf(RunConfig.parse("[training]\nlr = inf").training.lr)
