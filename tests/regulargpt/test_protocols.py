"""Protocols: what each fixes, for every language; what it refuses; and that a test under one is that test."""

from pathlib import Path
from typing import Any

import pytest

import languages
from regulargpt import api
from regulargpt.config.protocols import PROTOCOLS, protocol
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import ConfigError, RunConfig, value_of
from regulargpt.config.validation import validate
from regulargpt.data import read_data
from regulargpt.runs.run import run

MACHINE = "experiments/nested/machines/counted.json"
DEEP = {"evaluation.extra_protocols": ("deep-1",)}
# (protocol, language): longest training word, first and last scored length, language as spelled.
CASES = [
    ("thesis", "parity", 40, 41, 500, "parity"),
    ("thesis", "modular-arithmetic", 40, 41, 500, "modular-arithmetic"),
    ("thesis", "dyck-12", 50, 51, 100, "dyck-12"),
    ("thesis", "tomita-3", 50, 51, 100, "tomita-3"),
    ("regular-gpt-code", "parity", 40, 42, 500, "parity"),
    ("regular-gpt-code", "modular-arithmetic", 40, 42, 500, "modular-arithmetic:plus=true"),
    ("regular-gpt-code", "tomita-5", 40, 42, 100, "tomita-5"),
    ("regular-gpt-code", "tomita-3", 40, 42, 100, "tomita-3:members=runs"),
    ("regular-gpt-code", "dyck-12", 80, 82, 500, "dyck-12:members=blocks"),
    ("deletang2023", "cycle-navigation", 40, 41, 500, "cycle-navigation"),
    ("bhattamishra2020", "tomita-5", 50, 51, 100, "tomita-5"),
    ("ldru2026", "prefix:p=4,k=4", 40, 41, 500, "prefix:p=4,k=4"),
    ("ldru2026", "dyck-8", 40, 41, 500, "dyck-8"),
    ("ldru2026", "modular-arithmetic-left-to-right", 40, 41, 500, "modular-arithmetic-left-to-right"),
    ("grazzi2025", "parity", 40, 41, 256, "parity"),
    ("grazzi2025", "symmetric-5", 32, 33, 500, "symmetric-5:letters=elements"),
    ("siems2025", "alternating-5", 128, 129, 512, "alternating-5:letters=elements"),
    ("walker2025", "modular-arithmetic", 40, 41, 256, "modular-arithmetic"),
    ("walker2025", "symmetric-3", 40, 41, 256, "symmetric-3"),
    ("merrill2024", "cyclic-60", 20, 2, 20, "cyclic-60:letters=elements"),
    ("liu2023", "flip-flop-reads", 511, 511, 511, "flip-flop-reads:p_ignore=0.8"),
    ("liu2023-sparse", "flip-flop-reads", 511, 511, 511, "flip-flop-reads:p_ignore=0.98"),
    ("liu2023-dense", "flip-flop-reads", 511, 511, 511, "flip-flop-reads:p_ignore=0.1"),
    ("zoology", "mqar:fill=blank", 255, 63, 255, "mqar:fill=blank,pairs=any,vocabulary=8192"),
    ("zoology-most", "mqar:vocabulary=8192", 255, 1023, 1023, "mqar:vocabulary=8192,pairs=most"),
    ("hard", "parity", 40, 41, 500, "parity"),
    ("hard", "dyck-12", 40, 41, 500, "dyck-12:depth=every"),
]
EXTRA = "evaluation.extra_protocols"
REFUSED = [
    ("thesis-1", {"evaluation.test_len": 400}, "protocol thesis-1 fixes evaluation.test_len = 500, not 400"),
    ("thesis-1", {"objective.output_token": True}, "protocol thesis-1 fixes objective.output_token = false, not true"),
    ("hard-1", {"evaluation.extra_lengths": ()},
     "protocol hard-1 fixes evaluation.extra_lengths = 1000,10000, not none"),
    ("hard", {}, "protocol = 'hard': a config names the version, protocol = 'hard-2'"),
    ("thesis-1", {EXTRA: ("hard",)}, "evaluation.extra_protocols = 'hard': a config names the version, 'hard-2'"),
    ("hadr-1", {}, "unknown protocol 'hadr-1'; did you mean 'hard-1'?"),
    ("thesis-1", {EXTRA: ("deletang2023-1",)}, "protocol deletang2023-1 asks with objective.output_token = true"),
    ("hard-1", {"data.train_len": 60, EXTRA: ("thesis-1",)}, "protocol hard-1 fixes data.train_len = 40"),
]  # fmt: skip


def made(language: str, recipe: str = "paper", model: str = "regulargpt", **values: Any) -> RunConfig:
    return resolve(recipe, model, language).replaced(values)


@pytest.mark.parametrize(("name", "language", "longest", "first", "last", "spelled"), CASES)
def test_lengths_and_spelling(name: str, language: str, longest: int, first: int, last: int, spelled: str):
    config = protocol(name).apply(made(language, model="rnn"))
    assert (config.data.train_len, config.scored.start, config.scored[-1]) == (longest, first, last)
    assert (config.data.name, config.protocol) == (spelled, protocol(name).id)


@pytest.mark.parametrize("name", [name for name, p in PROTOCOLS.items() if not p.of_brackets and not p.of])
@pytest.mark.parametrize("recipe", ["paper", "words", "answers"])
@pytest.mark.parametrize("language", ["parity", "even-pairs", "modular-arithmetic", "dyck-4", "tomita-5"])
def test_every_recipe_runs_under_every_protocol_or_says_what_contradicts(name: str, recipe: str, language: str):
    config = PROTOCOLS[name].apply(made(language, recipe))
    task = languages.get(config.data.name)
    fixed = PROTOCOLS[name].fixes(task.name)
    # What is not there is off: only the supervision "last" has an output token.
    assert all(value_of(config, key) in (value, None) for key, value in fixed.items())
    assert not any(value for key, value in fixed.items() if value_of(config, key) is None)
    asks_for = fixed.get("objective.name", "")
    if asks_for == "next" and not task.is_classification:
        with pytest.raises(ConfigError, match="needs members"):
            validate(config)
    elif recipe == "answers" and (asks_for not in ("", "last") or fixed.get("objective.output_token")):
        with pytest.raises(ConfigError, match=r"^phases\.table_fine_tuning: the run"):
            validate(config)
    else:
        validate(config)


@pytest.mark.parametrize(
    ("language", "drawn", "length"),
    [
        ("brackets-2", "brackets-2:depth=1000", 5000),
        ("arithmetic-brackets:precedence=true", "arithmetic-brackets:precedence=true,depth=1000", 5001),
        (f"pushdown:{MACHINE}", f"pushdown:{MACHINE};depth=1000", 5000),
    ],
)
def test_deep_words_of_families_and_of_files(language: str, drawn: str, length: int):
    found = protocol("deep").test_of(made(language, "answers"))
    assert (found.data.name, found.tested) == (drawn, [length])
    assert read_data(drawn).is_tested(length)
    validate(made(language, "answers", **DEEP))


def test_deep_words_are_of_languages_with_brackets_that_have_some():
    with pytest.raises(ConfigError, match="deep-1 is of languages with brackets, parity is none; leave it out"):
        protocol("deep").test_of(made("parity"))
    bounded = made("brackets-2:bound=3", "answers", **DEEP)
    with pytest.raises(ConfigError, match="'deep-1': length 5000: brackets-2:bound=3,depth=1000 has no members"):
        validate(bounded)


@pytest.mark.parametrize(("name", "changes", "message"), REFUSED)
def test_what_contradicts_is_refused(name: str, changes: dict[str, Any], message: str):
    base = PROTOCOLS[name].apply(made("parity")) if name in PROTOCOLS else made("parity", protocol=name)
    with pytest.raises(ConfigError) as caught:
        validate(base.replaced(changes))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_spelling_of_the_users_own_is_kept_or_refused():
    hard = protocol("hard")
    assert hard.spelled("dyck-4:depth=every") == "dyck-4:depth=every"
    with pytest.raises(ConfigError, match="draws dyck-4 with depth=every, not dyck-4:depth=any; write dyck-4"):
        hard.spelled("dyck-4:depth=any")


def test_a_protocol_of_one_language_refuses_others():
    with pytest.raises(ConfigError, match="protocol liu2023-1 is of flip-flop-reads, not of parity; leave it out"):
        protocol("liu2023").apply(made("parity"))
    with pytest.raises(ConfigError, match=r"protocol zoology-1 draws mqar with .*, not mqar:vocabulary=16; write mqar"):
        protocol("zoology").apply(made("mqar:vocabulary=16", model="lstm"))


TESTED = [
    ("liu2023", "flip-flop-reads", "liu2023-dense", "flip-flop-reads:p_ignore=0.1"),
    ("zoology", "mqar", "zoology-most", "mqar:vocabulary=8192,pairs=most"),
    ("merrill2024", "cyclic-5", "merrill2024", "cyclic-5:letters=elements"),
    ("hard", "tomita-3:forbidden=later", "hard", "tomita-3:forbidden=later"),
]


@pytest.mark.parametrize(("trained", "language", "name", "drawn"), TESTED)
def test_a_test_draws_other_words_of_the_same_language(trained: str, language: str, name: str, drawn: str):
    """And of the training lengths, where the protocol is of them."""
    config = protocol(trained).apply(made(language, "words", "lstm"))
    tested = protocol(name).test_of(config)
    assert (tested.data.name, tested.protocol) == (drawn, protocol(name).id)
    validate(tested)


def test_a_run_scored_on_training_lengths_is_tested_again_at_any(tmp_path: Path):
    small = {"training.steps": 2, "training.cooldown": 0, "model.d_model": 8, "evaluation.samples": 4}
    run(protocol("merrill2024").apply(made("cyclic-5", "words", "rnn")).replaced(small), tmp_path / "run")
    assert list(api.evaluate(tmp_path / "run", [5, 30])["samples"]) == ["5", "30"]


def test_a_hard_test_has_both_classes_and_swaps_where_they_change_something():
    config = protocol("hard").apply(made("dyck-2", model="lstm"))
    words = validate(config)
    assert [T for T in range(41, 46) if words.is_tested(T)] == [42, 44]
    drawn = words.test(0, 100, 400)
    rejected = drawn[words.task.labels(drawn) == 0]
    assert len(rejected) == 200
    # Of 200 rejected words 50 have two symbols swapped; of two edits every second pair keeps the balance as well.
    assert 50 < (rejected.sum(1) == 50).sum() < 100
    with pytest.raises(ConfigError, match=r"protocol hard-2 fixes data\.test\.both_classes = true, not false"):
        validate(config.replaced({"data.test.both_classes": False}))
    assert validate(PROTOCOLS["hard-1"].apply(made("dyck-2", model="lstm"))).is_tested(41)


def test_a_language_without_members_of_any_tested_length_is_refused():
    config = protocol("thesis").apply(made("dyck-2", model="lstm"))
    config = config.replaced({"data.test.both_classes": True, "evaluation.test_len": 51, "protocol": ""})
    with pytest.raises(ConfigError, match="length 51: dyck-2 has no members, so every word is a non-member"):
        validate(config)


def test_another_test_keeps_the_training_and_how_much_is_drawn():
    config = protocol("thesis").apply(made("dyck-4", "words", **{"evaluation.samples": 7, "evaluation.stride": 3}))
    other = protocol("hard").test_of(config)
    assert (other.training, other.model, other.seed) == (config.training, config.model, config.seed)
    assert (other.data.train_len, other.scored) == (50, range(51, 501, 3))
    assert other.data.name == "dyck-4:depth=every"
    assert (other.evaluation.samples, other.data.test.near_misses, other.evaluation.extra_protocols) == (7, 0.5, ())
    blocks = protocol("regular-gpt-code").apply(made("dyck-4"))
    assert protocol("hard").test_of(blocks).data.name == "dyck-4:depth=every"
    with pytest.raises(ConfigError, match="scores from 41 symbols on; the run was trained on 60"):
        protocol("thesis").test_of(made("parity", **{"data.train_len": 60}))


@pytest.mark.parametrize("recipe", ["paper", "words"])
def test_a_run_is_tested_under_further_protocols(recipe: str, tmp_path: Path):
    small = {"training.steps": 2, "training.cooldown": 0, "model.d_model": 8, "model.n_heads": 2, "model.d_ff": 8}
    few = {"evaluation.samples": 4, "evaluation.stride": 25, "evaluation.extra_lengths": (), EXTRA: ("hard-2",)}
    config = protocol("thesis").apply(made("tomita-5", recipe)).replaced({**small, **few})
    summary = run(config, tmp_path / "run")
    assert summary["protocol"] == "thesis-1"
    assert (summary["test_from"], summary["test_len"], list(summary["samples"])) == (51, 100, ["51", "76"])
    extra = summary["extra_protocols"]["hard-2"]
    assert [int(T) for T in extra["measures"]["accuracy"]["values"]] == [*range(76, 501, 50), 1000, 10000]
    assert (extra["language"], extra["test_from"]) == ("tomita-5", 51)


@pytest.mark.parametrize("recipe", ["words", "answers"])
def test_ldru2026_draws_half_members_and_no_near_misses(recipe: str):
    """Two edits leave at most four 1s more than 0s, or fewer; of uniform words 43 in 100 are further off."""
    words = validate(protocol("ldru2026").apply(made("dyck-8", recipe, "regulargpt")))
    for drawn in (words.batch(0, "train", 0, [40], 2000), words.test(0, 40, 2000)):
        balance = (drawn.astype(int).sum(1) * 2 - 40)[words.task.labels(drawn) == 0]
        assert len(balance) == 1000
        assert (abs(balance) > 4).mean() > 0.3


def test_members_only_is_what_is_drawn():
    words = validate(protocol("bhattamishra2020").apply(made("dyck-2", model="lstm")))
    for drawn in (words.batch(0, "train", 0, [6], 50), words.test(0, 60, 50)):
        assert words.task.labels(drawn).all()


@pytest.mark.parametrize("group", ["alternating-4*cyclic-5", "heisenberg-3", "symmetric-5"])
def test_word_problems_have_all_elements_as_symbols_also_of_products(group: str):
    for name in ("merrill2024", "siems2025"):
        assert protocol(name).spelled(group) == f"{group}:letters=elements"
        with pytest.raises(ConfigError, match=r"draws .* with letters=elements"):
            protocol(name).spelled(f"{group}:letters=generators")


def test_grazzi_draws_elements_or_swaps():
    assert protocol("grazzi2025").spelled("symmetric-5") == "symmetric-5:letters=elements"
    assert protocol("grazzi2025").spelled("symmetric-5:letters=swaps") == "symmetric-5:letters=swaps"
