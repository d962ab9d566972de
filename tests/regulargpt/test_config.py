"""The configuration: nothing unknown, nothing of another type, and what is written is what is read."""

import typing
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import languages
from languages.errors import UserError
from languages.registry import names
from regulargpt import data
from regulargpt.cli.configure import configure
from regulargpt.config import protocols, recipes
from regulargpt.config.recipes import RECIPES, certified, resolve
from regulargpt.config.schema import Draft, RunConfig, flat, keys, type_of, value_of
from regulargpt.config.validation import validate
from regulargpt.models import MODELS, recipes_of
from regulargpt.options import ConfigError, Options, as_mapping, describe, hints, read, shown
from regulargpt.options.lengths import read_lengths
from regulargpt.runs import run as running
from regulargpt.training import chain_fine_tuning, table_fine_tuning
from tests.regulargpt.parts import NAMES, PLACES, configs, places


@given(configs())
def test_parsing_what_was_rendered_gives_the_config_back(config: RunConfig):
    text = config.render()
    assert RunConfig.parse(text) == config
    assert RunConfig.parse(text).render() == text


@given(configs())
def test_rendering_is_complete(config: RunConfig):
    lines = {line.partition(" = ")[0] for line in config.render().split("\n") if " = " in line}
    assert {key.rpartition(".")[2] for key in keys(config)} <= lines
    assert keys(config) == [place.key for place in places(config)]
    assert config.replaced(flat(config)) == config


def other(kind: typing.Any) -> typing.Any:
    """A value that a field of this type must refuse."""
    if kind is float:
        return True
    if kind is int:
        return 2.0
    if typing.get_origin(kind) is tuple:
        return ["two"] if typing.get_args(kind)[0] is float else [2.5]
    return 3


@pytest.mark.parametrize("key", PLACES)
def test_every_option_refuses_another_type_and_names_itself(key: str):
    config, place = PLACES[key]
    with pytest.raises(ConfigError) as error:
        config.replaced({key: other(place.kind)})
    assert str(error.value).startswith(f"{key} = ")
    assert "; " in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("key", PLACES)
def test_every_option_is_read_from_the_command_line_as_it_is_rendered(key: str):
    config, _ = PLACES[key]
    value = value_of(config, key)
    assert config.reading({key: "" if value == () else shown(value)}) == config


@pytest.mark.parametrize("key", [key for key, (_, place) in PLACES.items() if place.kind in (int, float, bool)])
def test_every_number_and_switch_refuses_other_words(key: str):
    for text in ("", "many", "1,2", "True", "0x10", "1.5.2"):
        with pytest.raises(ConfigError, match=f"^{key} = {text!r}; give "):
            PLACES[key][0].reading({key: text})


@pytest.mark.parametrize("key", [key for key in PLACES if key not in NAMES])
def test_every_option_has_a_line_of_help_and_a_reason_for_each_bound(key: str):
    place = PLACES[key][1]
    told = place.field.metadata
    assert told["help"][0].isupper() or told["help"].startswith(("auto", "last"))
    assert told["help"].endswith(".")
    assert "\n" not in told["help"]
    # A share is told by its bounds; a largest value far above what anybody wants needs no reason.
    assert told["why"] or (told["least"], told["below"]) == (None, None)
    if told["needs"]:
        assert told["needs"] in hints(place.owner)


@pytest.mark.parametrize("owner", sorted({place.owner for _, place in PLACES.values()}, key=str))
def test_lists_describe_every_option_of_a_part(owner: type[Options]):
    lines = describe(owner)
    own = [name for name in hints(owner) if name != "name"]
    assert list(dict.fromkeys(line.name.partition(".")[0] for line in lines)) == own
    assert all(line.accepts and line.help and "MISSING" not in line.default for line in lines)


VALUES = [
    *(("training.lr", "3e-4", 3e-4), ("training.lr", "1", 1.0), ("model.norm", "post", "post")),
    *(("compile", "true", True), ("compile", "false", False), ("evaluation.extra_lengths", "10000", (10_000,))),
    *(("training.curriculum", "8,16", (8, 16)), ("training.curriculum", "", ())),
]


@pytest.mark.parametrize(("key", "text", "value"), VALUES)
def test_values_on_the_command_line(key: str, text: str, value: object):
    found = read(key, type_of(RunConfig(), key), text)
    assert (found, type(found)) == (value, type(value))


PARTS = [
    ({"model": "lstm:d_model=8"}, {"model.name": "lstm", "model.d_model": 8, "model.n_layers": 1}),
    ({"model.name": "lstm", "model.d_model": "8"}, {"model.d_model": 8}),
    ({"model": "transformer:encoding=alibi,n_heads=2"}, {"model.encoding.name": "alibi", "model.n_heads": 2}),
    ({"model": "transformer", "model.encoding": "rotary"}, {"model.encoding.name": "rotary"}),
    # Half of the head's width is odd until both are set.
    ({"model": "transformer:d_model=8", "model.encoding": "rotary", "model.n_heads": "2"}, {"model.n_heads": 2}),
    ({"objective": "last:bracketings=0.5,merged=0.25"}, {"objective.bracketings": 0.5, "objective.merged": 0.25}),
    ({"objective.bracketings": "0.5", "objective": "last"}, {"objective.bracketings": 0.5}),
    ({"data": "dyck-2:depth=every", "data.test.edits": "3"}, {"data.name": "dyck-2:depth=every", "data.test.edits": 3}),
    ({"data.name": "regex:(a,b)*"}, {"data.name": "regex:(a,b)*", "data.members": 0.5}),
    ({"phases.table_fine_tuning.steps": "7"}, {"phases.table_fine_tuning.every": 100}),
]


@pytest.mark.parametrize(("texts", "values"), PARTS, ids=str)
def test_parts_are_named_with_their_options(texts: dict[str, str], values: dict[str, object]):
    config = RunConfig().reading(texts)
    assert {key: value_of(config, key) for key in values} == values
    assert RunConfig.parse(config.render()) == config
    # In whichever order.
    assert RunConfig().reading(dict(reversed(texts.items()))) == config


def test_another_part_keeps_the_options_that_it_has_too():
    config = RunConfig().replaced({"model.d_model": 32, "model.n_heads": 2, "model.chunk_size": 3})
    transformer = config.replaced({"model.name": "transformer", "model.encoding.name": "alibi"})
    assert (transformer.model.d_model, value_of(transformer, "model.n_heads")) == (32, 2)
    lstm = transformer.replaced({"model": "lstm:n_layers=2"})
    assert as_mapping(lstm.model) == {"name": "lstm", "d_model": 32, "n_layers": 2}
    back = lstm.replaced({"model.name": "regulargpt"})
    assert (back.model.d_model, value_of(back, "model.chunk_size")) == (32, 2)
    dyck = config.replaced({"data.train_len": 20, "data.name": "dyck-2", "data.test.members": 0.25})
    assert (dyck.data.train_len, value_of(dyck, "data.test.members")) == (20, 0.25)
    assert dyck.replaced({"data.name": "parity", "data.train_len": 40}).data == config.data


ENCODED = "[model]\nname = 'transformer'\n[model.encoding]\nname = "
NO_CHUNKS = "unknown key 'model.chunk_size': 'lstm' has no chunk_size; 'regulargpt' has"
REFUSED_TEXTS = [
    ("[model]\nname = 'regulargpt'\nchunk_sise = 3", "unknown key 'model.chunk_sise'; did you mean 'chunk_size'?"),
    ("[model]\nname = 'lstm'\nchunk_size = 3", NO_CHUNKS),
    ("[model]\nchunk_size = 3", "[model] has no name; write name = 'MODEL' in it"),
    ("[model]\nname = ['rnn']", "model.name = ['rnn']; give a text"),
    ("[model]\nname = 'regulargtp'", "unknown model 'regulargtp'; did you mean 'regulargpt'?"),
    ("[objective]\nname = 'evry'", "unknown supervision 'evry'; choose 'last', 'prefixes', 'next', 'transduction', "
                                   "'language_model', 'retrieve'"),
    (f"{ENCODED}'rotery'", "unknown encoding 'rotery'; did you mean 'rotary'?"),
    (f"{ENCODED}'none'\nslopes = 1", "unknown key 'model.encoding.slopes': 'none' has no slopes; 'alibi' has"),
    (f"{ENCODED}'none'\nradix = 1", "unknown key 'model.encoding.radix'; it has none"),
    ("[data]\nname = 'dyck-2'\n[data.test]\nmember = 0.5", "unknown key 'data.test.member'; did you mean 'members'?"),
    ("[data]\nname = 'dyck-2'\ntest = 3", "data.test = 3: data.test is a section; write [data.test]"),
    ("phases = 3", "phases = 3: phases is a section; write [phases.NAME]"),
    ("[phases]\ntable_fine_tuning = 3", "phases.table_fine_tuning = 3: phases.table_fine_tuning is a section; write "
                                        "[phases.table_fine_tuning]"),
    ("[phases.tabel_fine_tuning]", "unknown phase 'tabel_fine_tuning'; did you mean 'table_fine_tuning'?"),
    ("[phases.table_fine_tuning]\nstps = 3", "unknown key 'phases.table_fine_tuning.stps'; did you mean 'steps'?"),
    ("[phases.table_fine_tuning]\nname = 'words'", "unknown key 'phases.table_fine_tuning.name'; known: every, "
     "automaton, membership_queries_from, steps, settling, windows, lr, noise, contraction, max_error_share"),
    ("sede = 3", "unknown key 'sede'; did you mean 'seed'?"),
    ("[trainnig]\nlr = 1.0", "unknown key 'trainnig'; did you mean 'training'?"),
    ("[training]\nlr = 'fast'", "training.lr = 'fast'; give a number"),
    ("[training]\nlr = true", "training.lr = True; give a number"),
    ("[training]\nsteps = 10.0", "training.steps = 10.0; give a whole number"),
    ("[training]\ncurriculum = 8", "training.curriculum = 8; give a list of ints"),
    ("[training]\ncurriculum = [8, true]", "training.curriculum = True; give a whole number"),
    ("[model]\nname = 'regulargpt'\nnorm = 'psot'", "model.norm = 'psot'; choose one of pre, post"),
    ("compile = 1", "compile = 1; give true or false"),
    ("recipe = 3", "recipe = 3; give a text"),
    ("model = 3", "model = 3: model is a section; write [model]"),
    ("training = 3", "training = 3: training is a section; write [training]"),
    ("seed = [1]", "seed = [1]; give a whole number"),
    ("[training]\nlr = inf", "training.lr = inf; it is a finite number"),
    ("[training]\nlr = 1" + "0" * 400,
     f"training.lr = a number of more than 40 digits; at most {2**63 - 1}"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED_TEXTS)
def test_refused_files_name_the_field_and_what_it_takes(text: str, message: str):
    with pytest.raises(ConfigError) as error:
        RunConfig.parse(text)
    assert str(error.value) == message


NO_TOML = {
    **{text: text for text in ("seed", "seed = ", "[model", "seed = 1\nseed = 2", "a.b.c")},
    "5000 digits": "seed = 1" + "0" * 5000,
    "5000 hexadecimal digits": "seed = 0x" + "f" * 5000,
    "20000 brackets": "x = " + "[" * 20_000,
}


@pytest.mark.parametrize("what", NO_TOML)
def test_what_is_no_toml_is_refused_in_one_line(what: str):
    with pytest.raises(UserError, match=r"^here.toml( is not TOML|: a number has|: the brackets are)") as error:
        RunConfig.parse(NO_TOML[what], "here.toml")
    assert "\n" not in str(error.value)


PHASE = "is a section; set one of its keys, as in phases.table_fine_tuning.every"
ENCODERS = (
    "unknown key 'model.encoding': 'regulargpt' has no encoding; "
    "'transformer', 'decoder-only', 'encoder-decoder', 'looped' have"
)
MEMBERS = "languages of members and non-members have"
REFUSED_KEYS = [
    ("chunk_size", "unknown key 'chunk_size'; did you mean 'model.chunk_size'?"),
    ("training.chunk_size", "unknown key 'training.chunk_size'; did you mean 'model.chunk_size'?"),
    ("training.lrr", "unknown key 'training.lrr'; did you mean 'lr'?"),
    ("modle.norm", "unknown section 'modle'; did you mean 'model'?"),
    ("a.b.c", "unknown section 'a'; known: data, objective, model, training, phases, observers, evaluation"),
    ("sede", "unknown key 'sede'; did you mean 'seed'?"),
    ("seed.more", "unknown key 'seed.more'; seed is one value"),
    ("model.d_model.more", "unknown key 'model.d_model.more'; model.d_model is one value"),
    ("model.d_modle", "unknown key 'model.d_modle'; did you mean 'd_model'?"),
    ("model.n_layers", "unknown key 'model.n_layers': 'regulargpt' has no n_layers; 'rnn', 'lstm', 'gru', "
                       "'transformer', 'decoder-only', 'encoder-decoder', 'linear-rnn', 'delta', 'mlstm', 'slstm', "
                       "'mamba', 'mamba2' and 5 more have"),
    ("model.encoding", ENCODERS),
    ("model.encoding.name", ENCODERS),
    ("data.near_misses", f"unknown key 'data.near_misses': 'parity' has no near_misses; {MEMBERS}"),
    ("data.test.edits", f"unknown key 'data.test': 'parity' has no test; {MEMBERS}"),
    ("phases.table_fine_tunin.every", "unknown phase 'table_fine_tunin'; did you mean 'table_fine_tuning'?"),
    ("phases.table_fine_tuning.evry", "unknown key 'phases.table_fine_tuning.evry'; did you mean 'every'?"),
    ("training", "'training' is a section; set one of its keys, as in training.steps"),
    ("evaluation", "'evaluation' is a section; set one of its keys, as in evaluation.test_from"),
    *((f"phases{rest}", f"'phases.table_fine_tuning' {PHASE}") for rest in ("", ".table_fine_tuning",
                                                                           ".table_fine_tuning.name")),
]  # fmt: skip


@pytest.mark.parametrize(("key", "message"), REFUSED_KEYS)
def test_unknown_keys_say_the_nearest_or_who_has_them(key: str, message: str):
    for refusing in (RunConfig().reading, RunConfig().replaced):
        with pytest.raises(ConfigError) as error:
            refusing({key: "1"})
        assert str(error.value) == message


REFUSED_PARTS = [
    *((text, f"model = '{text}'; options are written lstm:key=value,key=value")
      for text in ("lstm:d_model", "lstm:d_model=8,n_layers")),
    ("lstm:d_model=x", "model.d_model = 'x'; give a whole number"),
    ("lstm:d_modle=3", "unknown key 'model.d_modle'; did you mean 'd_model'?"),
    ("lstm:chunk_size=3", NO_CHUNKS),
    ("lstm:name=rnn", "unknown key 'model.name'; known: d_model, n_layers"),
    ("lstm:d_model=0", "model.d_model = 0; a state has at least 1 number"),
    ("lstn:d_model=8", "unknown model 'lstn'; did you mean 'lstm'?"),
    ("Mamba-3", "unknown model 'Mamba-3'; write mamba2:version=3"),
    ("xlstm", "unknown model 'xlstm'; write mlstm or slstm"),
    ("transformer:encoding=alibbi", "unknown encoding 'alibbi'; did you mean 'alibi'?"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED_PARTS)
def test_parts_that_are_refused(text: str, message: str):
    with pytest.raises(ConfigError) as error:
        RunConfig().reading({"model": text})
    assert str(error.value) == message


def test_replacing_changes_these_options_and_no_others():
    values = {"model.chunk_size": 3, "seed": 1, "evaluation.extra_lengths": (7,)}
    changed = flat(RunConfig().replaced(values))
    assert {key: new for key, new in changed.items() if new != value_of(RunConfig(), key)} == values
    assert RunConfig().replaced({}) == RunConfig()


OF_WORDS = [name for name, recipe in RECIPES.items() if recipe.is_for == "words"]


@pytest.mark.parametrize("recipe", OF_WORDS)
@pytest.mark.parametrize("model", MODELS)
def test_every_recipe_of_every_model_can_run_every_listed_language(recipe: str, model: str):
    if model not in RECIPES[recipe].models(recipe):
        with pytest.raises(UserError, match=f"recipe '{recipe}' is for .*, not for '{model}'; choose --recipe words"):
            resolve(recipe, model, "parity")
        return
    for language in names():
        config = resolve(recipe, model, language)
        validate(config)
        assert (config.recipe, config.model.name) == (recipe, model)
        assert config.data.name.partition(":")[0] == language
        assert RunConfig.parse(config.render()) == config
        # All that a model says of a recipe is there: it names no option that it lacks.
        own = recipes_of(model).get(recipe, {})
        assert {key for of in own.values() for key in of} <= flat(config).keys()


@pytest.mark.parametrize("model", [name for name in MODELS if name not in ("encoder-decoder", "tape-rnn")])
def test_the_recipe_of_a_text_is_for_every_model_of_texts_and_for_no_language(model: str):
    config = resolve(None, model, "text:code")
    validate(config)
    assert (config.recipe, config.objective.name) == ("text", "language_model")
    assert config.scored == (64, 128, 256, 512, 1024)
    for recipe, language in (("text", "parity"), ("words", "text:code")):
        with pytest.raises(UserError, match=f"recipe '{recipe}' is for {recipe}, {language} is not"):
            resolve(recipe, model, language)


def test_a_model_that_reads_a_text_at_once_is_refused_in_one_line():
    said = "it asks for the next symbol of a text: the encoder has seen all that it would predict; choose model.name"
    with pytest.raises(UserError, match=f"^objective.name = 'language_model': {said} = 'transformer'$"):
        validate(resolve(None, "encoder-decoder", "text:code"))


ABLATED = ("model.thickness=2", "model.distinct_levels=2", "model.levels=6", "model.gates=false model.pad=masked")
ABLATED += ("objective=prefixes",)


@pytest.mark.parametrize("model", [*MODELS, *(f"regulargpt {change}" for change in ABLATED)])
def test_answers_is_the_usual_recipe_and_what_can_have_no_certificate_learns_from_words_alone(model: str):
    name, _, change = model.partition(" ")
    written = dict(pair.split("=") for pair in change.split())
    config = resolve(None, name, "dyck-4", lambda draft: draft.read(written))
    validate(config)
    is_proven = name in (*table_fine_tuning.CHECKED, *chain_fine_tuning.CHECKED) and not change
    assert (config.recipe, bool(config.phases)) == ("answers", is_proven)
    words = resolve("words", name, "dyck-4", lambda draft: draft.read(written))
    # The network is that of `answers`, whatever becomes of it; the rest is that of `words`.
    network = {key: value for key, value in flat(config).items() if key.startswith("model.")}
    assert (config == words.replaced({"recipe": "answers", **network})) is not is_proven


def test_the_user_stands_over_the_protocol_which_stands_over_the_recipe():
    written = {"evaluation.samples": 7, "training.steps": 5}
    config = resolve("answers", "regulargpt", "dyck-4", written, preset="thesis")
    assert (config.evaluation.samples, config.training.steps, config.data.train_len) == (7, 5, 50)
    assert (value_of(config, "data.near_misses"), value_of(config, "data.test.near_misses")) == (0.5, 0.0)
    assert resolve("answers", "regulargpt", "dyck-4", preset="thesis").evaluation.samples == 512
    assert resolve("answers", "regulargpt", "dyck-4").evaluation.samples == 64


def test_one_run_makes_two_configs_and_one_automaton(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    checked, find = RunConfig.__post_init__, languages.find
    monkeypatch.setattr(RunConfig, "__post_init__", lambda self: (made.append("config"), checked(self)))
    monkeypatch.setattr(languages, "find", lambda name: (made.append(name), find(name))[1])
    data._task.cache_clear()
    written = {"model.chunk_size": "3", "training.steps": "5"}
    config = configure("dyck-4", None, None, None, written, "thesis")
    running.phases_of(config, validate(config), lambda phase, error: None)
    assert made.count("config") == 2
    assert made.count("dyck-4") == 1


OF_THEIR_OWN = [
    *(("answers", "ldru", name) for name in RECIPES["answers"].fields if name != "*"),
    *(
        (recipe, "regulargpt", name)
        for recipe in ("words", "paper")
        for name in recipes_of("regulargpt")["paper"]
        if name != "*"
    ),
]


@pytest.mark.parametrize(("recipe", "model", "language"), OF_THEIR_OWN)
def test_a_language_spelled_as_its_recipe_would_has_the_recipe_of_the_bare_name(recipe: str, model: str, language: str):
    bare = resolve(recipe, model, language)
    assert resolve(recipe, model, bare.data.name) == bare


def test_how_a_language_is_drawn_is_the_users_choice_and_the_rest_the_recipes():
    bare = resolve("answers", "regulargpt", "dyck-12")
    assert bare.data.name == "dyck-12:depth=every"
    blocks = resolve("answers", "regulargpt", "dyck-12:members=blocks")
    assert blocks == bare.replaced({"data.name": "dyck-12:members=blocks"})
    # Another language of the same name has nothing of its own.
    without = resolve("paper", "regulargpt", "modular-arithmetic:plus=false")
    assert without.training == resolve("paper", "gru", "parity").training


@pytest.mark.parametrize("written", [recipes.written, partial(protocols.written, "mine-1")])
def test_a_table_with_a_name_that_none_has_is_refused(written: Callable[[dict[str, Any]], object]):
    with pytest.raises(TypeError, match="sumary"):
        written({"sumary": "a typing error", "fields": {}})


def test_recipes_of_languages_show_final_answers_only():
    for name in OF_WORDS:
        own = [of for model in MODELS for of in recipes_of(model).get(name, {}).values()]
        for fields in (*RECIPES[name].fields.values(), RECIPES[name].balanced, *own):
            assert fields.get("objective.name", "last") == "last"


def test_a_certificate_is_asked_for_by_a_phase():
    config = RunConfig().replaced(certified(Draft()))
    assert [phase.is_on for phase in config.phases] == [True]
    off = config.replaced({"phases.table_fine_tuning.every": 0})
    assert [phase.is_on for phase in off.phases] == [False]
    assert RunConfig.parse(off.render()) == off


@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 30)), min_size=1, max_size=5), st.booleans())
def test_lengths_as_people_write_them(parts: list[tuple[int, int]], spaced: bool):
    text = (", " if spaced else ",").join(str(low) if not more else f"{low}-{low + more}" for low, more in parts)
    expected = sorted({T for low, more in parts for T in range(low, low + more + 1)})
    assert read_lengths(text) == tuple(expected)


MEANINGLESS = ["", ",", "0", "-5", "5-", "5-3", "0-4", "a", "4-b", "1-2-3", "1.5", "٣", "41-500,", "4 - 5x"]
TOO_LONG = ["100000001", "1000000000", "41,1-1000000000", "99999999999999999999", "9" * 5000]
REFUSED_LENGTHS = [
    *((text, r"is not a length or an increasing range; write 41-500,1000$") for text in MEANINGLESS),
    *((text, r": a word has at most 100,000,000 symbols$") for text in TOO_LONG),
    ("1-999999999", "lengths '1-999999999'"),  # before it fills the memory
]


@pytest.mark.parametrize(("text", "message"), REFUSED_LENGTHS)
def test_what_is_no_length_is_refused(text: str, message: str):
    with pytest.raises(ConfigError, match=message):
        read_lengths(text)


def test_the_limit_and_zeros_in_front_are_lengths():
    assert read_lengths("100000000,00000000000041") == (41, 100_000_000)


TITLES = [
    (None, {}, "gated-regulargpt"),
    (None, {"model.gates": False}, "regulargpt"),
    (None, {"model.thickness": 2}, "gated-regulargpt"),  # it can have no certificate, and is no other network
    ("words", {"model.gates": True}, "gated-regulargpt"),
    *((recipe, {}, "regulargpt") for recipe in ("words", "paper", "gpt2")),
]


@pytest.mark.parametrize(("recipe", "user", "title"), TITLES)
def test_the_usual_recipe_has_gates_and_the_published_ones_have_none(recipe: str | None, user: dict, title: str):
    assert resolve(recipe, "regulargpt", "parity", user).model.title == title
