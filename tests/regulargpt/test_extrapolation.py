"""Whether a network extrapolates: what its ratios are to, what it must have learned, and what is said of it."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from languages.randomness import rng
from regulargpt import api
from regulargpt.classroom.data import gather
from regulargpt.classroom.page import render
from regulargpt.cli import call
from regulargpt.config.schema import RunConfig
from regulargpt.data import read_data
from regulargpt.evaluation import segments
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.temperature import Temperature
from regulargpt.options import ConfigError
from regulargpt.runs.again import evaluate
from regulargpt.runs.run import run
from regulargpt.storage.folder import RunFolder
from regulargpt.text.corpora import corpus
from regulargpt.text.corpora.bigram import BLOCK, BLOCKS, Bigram
from regulargpt.text.data.options import TextOptions
from regulargpt.text.data.segments import TextData
from regulargpt.text.evaluation.extrapolation import Extrapolation
from regulargpt.text.evaluation.reference import as_trained
from tests.regulargpt.attending import transformer, words
from tests.regulargpt.texts import TRAIN_LEN, text_config, write_text

LENGTHS = (TRAIN_LEN, 2 * TRAIN_LEN)
DOCS = Path(__file__).parents[2] / "docs"


def by_hand(text: list[int], size: int, a: int, b: int) -> float:
    """p(b | a) by the formula, from counts of a list."""
    pairs, single = Counter(pairwise(text)), Counter(text)
    kinds = sum(pair[0] == a for pair in pairs)
    alone = (single[b] + 1) / (len(text) + size)
    followed = sum(count for pair, count in pairs.items() if pair[0] == a)
    return (pairs[a, b] + kinds * alone) / (followed + kinds) if kinds else alone


@given(st.lists(st.integers(0, 4), min_size=2, max_size=30))
def test_a_bigram_is_its_formula_and_its_probabilities_sum_to_1(text: list[int]):
    bigram, size = Bigram.fit(np.array(text, dtype=np.uint8), 5), 5
    all_pairs = np.array(list(product(range(size), repeat=2)))
    p = np.exp(-bigram.nats(all_pairs)[:, 0]).reshape(size, size)
    np.testing.assert_allclose(p, [[by_hand(text, size, a, b) for b in range(size)] for a in range(size)])
    np.testing.assert_allclose(p.sum(1), 1)


@given(arrays(np.uint8, (3, 7), elements=st.integers(0, 4)))
def test_a_bigram_predicts_every_symbol_of_a_segment_but_the_first(some: np.ndarray):
    bigram = Bigram.fit(np.arange(40) ** 2 % 5, 5)
    alone = [[bigram.nats(row[None, i : i + 2])[0, 0] for i in range(6)] for row in some]
    assert bigram.nats(some).tolist() == alone


def test_a_long_text_is_counted_in_blocks_from_its_beginning_to_its_end():
    text = np.zeros(BLOCKS * BLOCK + 3, dtype=np.uint8)
    text[: BLOCK // 2], text[-BLOCK // 2 :] = 1, 2
    bigram = Bigram.fit(text, 3)
    assert bigram.followed.sum() == BLOCKS * (BLOCK - 1)
    assert (bigram.followed[1:] > BLOCK // 2 - 2).all()


def test_the_guide_quotes_what_a_bigram_pays_on_code():
    data = read_data("text:code")
    assert isinstance(data, TextData)
    ends = data.test(0, 64, 128)[:, -data.counted(64) - 1 :]
    bits = Bigram.fit(data.corpus.train, 256).nats(ends).mean() / math.log(2)
    assert f"On `text:code` it pays {bits:.2f} bits a byte" in (DOCS / "text.md").read_text(encoding="utf-8")


def test_a_network_as_it_was_trained_has_no_scaling_and_has_it_again_afterwards():
    encoding = {"name": "rotary", "scaling": "yarn", "factor": 8.0}
    scaled, plain, text = (
        transformer({"name": "log_n", "inner": encoding}),
        transformer("log_n:inner=rotary"),
        words(2, 9),
    )
    before = scaled(text)
    with as_trained(scaled):
        assert torch.equal(scaled(text), plain(text))
    assert torch.equal(scaled(text), before)
    assert not torch.allclose(before, plain(text))


# Three letters in any order and a blank: after two symbols of a word the rest is certain, after one it is not.
WORDS = [bytes(letters) + b" " for letters in (b"abc", b"acb", b"bac", b"bca", b"cab", b"cba")]
LEARNT = {"training__steps": 250, "training__batch_size": 32, "training__lr": 1e-2, "model__d_model": 32}
LEARNT |= {"evaluation__samples": 64, "model__dropout": 0.0}


def write_words(path: Path) -> str:
    path.write_bytes(b"".join(WORDS[i] for i in rng(0, "words").integers(6, size=4000)))
    return f"text:{path}"


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """Networks that have learned a text, and one that has not; one of them is tested with a scaling."""
    path = tmp_path_factory.mktemp("runs")
    text, noise = write_words(path / "words"), write_text(path / "noise")
    for name, encoding in (
        ("kerple_log", "kerple_log"),
        ("rotary", "rotary"),
        ("scaled", "rotary:scaling=yarn,factor=16"),
    ):
        run(text_config(text, model__encoding=encoding, **LEARNT), path / name)
    run(text_config(noise, model__encoding="alibi", evaluation__samples=64), path / "untrained")
    return path


def again(path: Path, attention: str = "full", changes=None, temperature: float | None = None) -> dict:
    folder = RunFolder.open(path)
    config = RunConfig.parse(folder.config_text).replaced({"evaluation.attention": attention})
    tau = None if temperature is None else Temperature(((temperature,) * 2,) * 2)
    return evaluate(folder, config, LENGTHS, config.seed, changes=changes or {}, temperature=tau)


def test_a_network_that_has_learned_more_than_pairs_extrapolates(place: Path):
    found = RunFolder.open(place / "kerple_log").load_summary()["extrapolation"]
    assert found["verdict"] == "improves"
    assert found["bigram"][0] < 0.8
    assert list(found["ratios"]) == ["16"]
    assert found["sentence"].startswith("It extrapolates and improves")
    assert '<p class="badge good">' in render([gather(place / "kerple_log")])
    assert again(place / "kerple_log")["extrapolation"] == found


def test_a_flat_curve_of_a_network_that_has_learned_nothing_is_no_extrapolation(place: Path):
    found = RunFolder.open(place / "untrained").load_summary()["extrapolation"]
    assert found["ratios"]["16"][0] == pytest.approx(1, abs=0.01)
    assert found["verdict"] == "weak"
    assert found["sentence"].startswith("It says nothing about length: at the training length, perplexity x ")
    page = render([gather(place / "untrained")])
    assert '<p class="badge bad">' in page
    assert "extrapolates" not in page


ALTERED = {
    "a scaling": {"changes": {"encoding.scaling": "yarn", "encoding.factor": 16.0}},
    "a temperature": {"temperature": 20.0},
    "an attention": {"attention": "sliding:1"},
}


@pytest.mark.parametrize("how", ALTERED)
def test_ratios_are_to_the_network_as_it_was_trained(place: Path, how: str):
    """An altered network that is as bad at every length would be flat beside itself."""
    trained = segments.read(RunFolder.open(place / "rotary"))[TRAIN_LEN]
    result = again(place / "rotary", **ALTERED[how])
    found = result["extrapolation"]
    assert found["verdict"] == "damaged"
    assert "worse already at the training length" in found["sentence"]
    assert found["ratios"].keys() == {"8", "16"}
    for T, perplexity in result["measures"]["perplexity"]["values"].items():
        assert found["ratios"][T][0] == pytest.approx(perplexity / math.exp(trained.mean()), rel=1e-5)


def test_a_run_that_is_tested_with_a_scaling_is_held_against_itself_without(place: Path):
    """The weights are those of the run without, since a scaling is of tests alone."""
    found = RunFolder.open(place / "scaled").load_summary()["extrapolation"]
    assert (
        found == again(place / "rotary", changes={"encoding.scaling": "yarn", "encoding.factor": 16.0})["extrapolation"]
    )
    assert "perplexity to the network as trained, at its training length" in render([gather(place / "scaled")])


def test_the_api_and_the_command_line_change_the_network_alike(place: Path, capsys: pytest.CaptureFixture[str]):
    options = {"model.encoding.scaling": "yarn", "model.encoding.factor": 16.0}
    wanted = again(place / "rotary", **ALTERED["a scaling"])["extrapolation"]
    assert api.evaluate(place / "rotary", LENGTHS, **options)["extrapolation"] == wanted
    settings = [part for key, value in options.items() for part in ("--set", f"{key}={value}")]
    assert call(["evaluate", str(place / "rotary"), *settings]) == 0
    printed = capsys.readouterr().out
    assert ", encoding.scaling = yarn, encoding.factor = 16.0\n" in printed.splitlines(keepends=True)[0]
    assert "to the network as trained, at its training length" in printed
    assert "x {:.3f} ({:.3f}-{:.3f})".format(*wanted["ratios"]["8"]) in printed
    assert printed.endswith(f"{wanted['sentence']}\n")
    with pytest.raises(ConfigError, match=r"^model\.d_ff: a trained run can be tested under other data"):
        api.evaluate(place / "rotary", LENGTHS, d_ff=8)


@pytest.mark.parametrize("scoring", ["last_k", "last", "nonoverlapping", "sliding", "position"])
def test_the_bigram_is_asked_for_the_symbols_that_count(place: Path, scoring: str):
    folder = RunFolder.open(place / "kerple_log")
    config = RunConfig.parse(folder.config_text).replaced({"data.scoring": scoring, "data.last": 3, "data.step": 5})
    found = evaluate(folder, config, LENGTHS, config.seed)
    assert isinstance(config.data, TextOptions)
    text = corpus(config.data.name)
    data, train = TextData(text, config.data), text.train.tolist()
    counted, nats = data.counted(TRAIN_LEN), []
    p = {(a, b): by_hand(train, 256, a, b) for a, b in product(sorted(set(train)), repeat=2)}
    for segment in data.test(config.seed, TRAIN_LEN, 64).tolist():
        nats.append(-sum(math.log(p[pair]) for pair in list(pairwise(segment))[-counted:]) / counted)
    trained = math.log(found["measures"]["perplexity"]["values"][str(TRAIN_LEN)])
    assert found["extrapolation"]["bigram"][0] == pytest.approx(math.exp(trained - np.mean(nats)), rel=1e-6)


def value(middle: float, half: float = 0.0) -> Interval:
    return Interval(middle, middle - half, middle + half)


def test_only_what_has_learned_and_is_not_damaged_extrapolates():
    """Every rule at both sides of its bound, with and without room for chance."""
    at, longer, bigrams = (None, 1.0, 1.05, 1.06), (0.98, 1.0, 1.05, 1.06, 1.6), (0.5, 0.89, 0.9, 1.0)
    for changed, ratio, bigram, half in product(at, longer, bigrams, (0.0, 0.15)):
        ratios = {} if changed is None else {8: value(changed, half)}
        found = Extrapolation(8, {**ratios, 16: value(ratio, half)}, value(bigram, half))
        largest = max(ratio, changed or 0)
        wanted = (
            "damaged" if changed == 1.06
            else "explodes" if largest - half > 1.5
            else "degrades" if largest > 1.05
            else "weak" if bigram + half >= 0.9
            else "improves" if ratio == 0.98 and not half
            else "holds"
        )  # fmt: skip
        assert found.verdict == wanted
        assert ("extrapolates" in found.sentence) == (wanted in ("holds", "improves"))
