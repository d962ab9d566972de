"""The page of an alignment: its numbers against whole patterns written out, and the slider in a real browser."""

from __future__ import annotations

import base64
import copy
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regulargpt import data
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Positions
from regulargpt.evaluation.temperature import read, weights_of
from regulargpt.measurements.measuring import measured
from regulargpt.models.hooks import run_with_cache
from regulargpt.runs import run as running
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from regulargpt.text.classroom.alignment_page import LEVELS, quantised, write
from regulargpt.text.measurements.alignment import questions
from regulargpt.text.measurements.alignment.extent import MOST_BYTES, extent, shown_lengths
from regulargpt.text.measurements.alignment.setting import setting_of
from regulargpt.text.measurements.alignment.views import AttentionViews, RunFacts, look
from regulargpt.text.measurements.patterns import rows_at
from tests.regulargpt.attending import options_of, transformer, words
from tests.regulargpt.browser import Browser
from tests.regulargpt.markup import SYMBOLS, assert_one_file, data_of
from tests.regulargpt.pixels import CONTRAST
from tests.regulargpt.small import config

PAGES = ("retrieval", "text", "next", "strange")


def page(place: Path, name: str = "retrieval") -> Path:
    return place / name / "align" / "align.html"


def told(place: Path, name: str = "retrieval") -> dict[str, Any]:
    return data_of(page(place, name))


def attention(part: dict[str, Any], views: int) -> np.ndarray:
    """The rows of a word (questions, views, stops, length), as the page has them."""
    found = np.frombuffer(base64.b64decode(part["rows"]), dtype=np.uint8)
    return (found.reshape(-1, views, part["stops"], part["length"]) / 255) ** 2


def seen(place: Path, name: str = "retrieval", length: int = 128, **options: Any) -> AttentionViews:
    folder = RunFolder.open(place / name)
    strategies = ("p_max", "entropy", "log")
    beside = page(place, name).parent
    found = {each: read(beside / f"temperature-{each}.json", weights_of(folder)) for each in strategies}
    whole = look(shown_of(folder), setting_of(folder, length, 2, **options), found)
    assert whole is not None
    return whole


def shown_of(folder: RunFolder) -> RunFacts:
    config = RunConfig.parse(folder.config_text)
    return RunFacts(config, data.build(config.data), config.seed)


# The rows.


ALLOWED = [
    (name, way) for name in ENCODINGS for way in (True, False) if way or not options_of(name, 64).not_bidirectional()
]


@pytest.mark.parametrize(("name", "causal"), ALLOWED)
def test_single_rows_are_those_of_the_whole_pattern(name: str, causal: bool):
    model, word = transformer(name, causal=causal), words(1, 11)
    model.set_temperature(torch.tensor([[0.5, 1.25], [0.8, 2.0]], dtype=torch.float64))
    rows, logits = rows_at(model, word.numpy(), [3, 10, 7])
    _, cache = run_with_cache(model, word, readout="all")
    patterns = torch.stack([cache[f"blocks.{layer}.attn.hook_pattern"][0] for layer in range(2)])
    assert torch.allclose(rows.double(), patterns[:, :, [3, 10, 7]], atol=1e-6)
    assert torch.allclose(logits, model(word, readout="all")[0, [3, 10, 7]], atol=1e-12)
    model.set_temperature(None)
    assert not torch.allclose(rows_at(model, word.numpy(), [3, 10, 7])[0], rows, atol=1e-4)


def by_hand(model: Any, word: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All patterns (n_layers, n_heads, queries, keys) and logits of a causal pre-LN model with T5's biases.

    softmax((q k / sqrt(d_head) + bias) / tau), layer by layer and in float64, without the attention that is tested.
    """
    model = copy.deepcopy(model).double()
    n = torch.arange(word.shape[1], dtype=torch.float64)
    x, patterns = model.embedding(torch.from_numpy(word[0]).long()) * model.scale, []
    for layer, block in enumerate(model.blocks):
        attn = block.attn
        q, k, v = (block.ln1(x) @ attn.qkv.weight.T).chunk(3, -1)  # type: ignore[operator, union-attr]
        q, k, v = (y.unflatten(-1, (attn.n_heads, -1)).transpose(0, 1) for y in (q, k, v))  # (n_heads, length, d_head)
        bias = model.encoding.bias(q[None], k[None], Positions(n, n, layer))
        assert bias is not None
        logits = (q @ k.mT / math.sqrt(q.shape[-1]) + bias[0]) / torch.from_numpy(tau[layer])[:, None, None]
        e = logits.exp().tril()
        p = e / e.sum(-1, keepdim=True)
        x = x + (p @ v).transpose(0, 1).flatten(1) @ attn.out.weight.T  # (length, d_model)
        x = x + block.mlp(block.ln2(x))  # type: ignore[operator]
        patterns.append(p.detach().numpy())
    return np.stack(patterns), model.readout(model.ln_final(x)).detach().numpy()


@pytest.mark.parametrize("stop", [0, 3, -1])
def test_the_numbers_of_the_page_are_those_of_the_patterns_written_out(alignments: Path, stop: int):
    found, whole = told(alignments), seen(alignments)
    task, (word,) = whole.run.source.task, (whole.long.questioned.word,)  # type: ignore[attr-defined]
    assert np.array_equal(word, whole.run.source.test(whole.run.seed, 128, 1))
    tau = whole.stops[stop].tau
    patterns, logits = by_hand(whole.setting.model, word, tau)
    at = [128 - 2 * (task.questions - i) + 1 for i in range(task.questions)]
    heads = [patterns[-1].mean(0), *patterns.reshape(-1, *patterns.shape[2:])]
    expected = np.array([[head[m] for head in heads] for m in at])  # (questions, views, keys)
    long, needles = found["long"], task.needles_in(word)[0]
    assert [question["asked"] for question in long["questions"]] == at
    assert [question["needle"] for question in long["questions"]] == needles.tolist()
    shown = attention(long, found["views"])[:, :, stop]
    assert np.abs(np.sqrt(shown) - np.sqrt(expected)).max() < 0.51 / 255 + 1e-4
    entropy = -np.sum(expected * np.log(np.maximum(expected, 1e-300)), -1)
    on_needle = np.take_along_axis(expected, needles[:, None, None], -1)[..., 0]
    for name, value in (("p_max", expected.max(-1)), ("entropy", entropy), ("needle", on_needle)):
        assert np.allclose(np.array(long[name])[:, :, stop], value, atol=2e-4), name
    p = np.exp(logits[at]) / np.exp(logits[at]).sum(-1, keepdims=True)
    right = task.answers_in(word)[0]
    assert np.allclose([row[stop] for row in long["p"]], p[np.arange(len(at)), right], atol=2e-4)
    assert [row[stop] for row in long["answers"]] == [task.answers[i] for i in logits[at].argmax(-1)]
    assert [question["right"] for question in long["questions"]] == [task.answers[i] for i in right]


def test_the_short_word_is_shown_as_trained(alignments: Path):
    found, whole = told(alignments), seen(alignments)
    patterns, _ = by_hand(whole.setting.model, whole.short.questioned.word, np.ones((2, 2)))
    shown = attention(found["short"], found["views"])
    assert shown.shape == (3, 5, 1, 16)
    assert np.abs(np.sqrt(shown[0, 0, 0]) - np.sqrt(patterns[-1].mean(0)[11])).max() < 0.51 / 255 + 1e-4
    assert [stop["label"] for stop in found["stops"]][found["trained"]] == "1"
    # The page leaves the network as it was.
    fresh = load_reader(RunFolder.open(alignments / "retrieval"))
    word = torch.from_numpy(whole.long.questioned.word).long()
    assert torch.equal(whole.setting.model(word), fresh(word))


def test_what_is_found_is_marked_and_rises(alignments: Path):
    for name in ("retrieval", "text"):
        whole, report = told(alignments, name), json.loads((page(alignments, name).parent / "align.json").read_text())
        taus = [float(np.mean([float(x) for x in stop["label"].split(" to ")])) for stop in whole["stops"]]
        assert taus == sorted(taus) or report["by"] == "head"
        marks = [mark for stop in whole["stops"] for mark in stop["names"]]
        assert sorted(marks) == ["P_max", "as trained", "entropy", "log"]


# What is asked.


def test_what_comes_next_is_asked_of_a_text(alignments: Path):
    whole, found = seen(alignments, "text", length=64), told(alignments, "text")
    segment = whole.run.source.test(whole.run.seed, 64, 1)
    logits = load_reader(RunFolder.open(alignments / "text"))(torch.from_numpy(segment[:, :-1]).long())[0]
    (question,) = found["long"]["questions"]
    assert question["asked"] == 63
    assert question["needle"] is None
    p = float(logits.softmax(-1)[int(segment[0, -1])].detach())
    assert found["long"]["p"][0][found["trained"]] == pytest.approx(p, abs=1e-4)
    # Both segments end where the other does: the same symbol is asked for.
    assert question["right"] == found["short"]["questions"][0]["right"]
    assert whole.long.questioned.names[-8:] == whole.short.questioned.names[-8:]


def test_which_symbols_may_follow_is_asked_of_a_language(alignments: Path):
    whole, found = seen(alignments, "next", length=24), told(alignments, "next")
    word = whole.long.questioned.word
    task = whole.run.source.task  # type: ignore[attr-defined]
    legal = task.next_symbols(word)[0, -1]
    names = [name for name, there in zip([*task.alphabet, "end"], legal, strict=True) if there]
    (question,) = found["long"]["questions"]
    assert question["right"] == (", ".join(names) or "nothing")
    p = load_reader(RunFolder.open(alignments / "next"))(torch.from_numpy(word).long())[0].sigmoid().detach().numpy()
    expected = float(np.where(legal, p, 1 - p).prod())
    assert found["long"]["p"][0][found["trained"]] == pytest.approx(expected, abs=1e-4)


def test_a_token_behind_the_word_is_read_and_shown(tmp_path: Path):
    token = {"objective__name": "last", "objective__output_token": True}
    running.run(config("transformer", data__name="parity", **token), tmp_path / "run")
    folder = RunFolder.open(tmp_path / "run")
    whole = look(shown_of(folder), setting_of(folder, 24, 2), {})
    assert whole is not None
    assert whole.long.questioned.word.shape == (1, 25)
    assert whole.long.questioned.names[-1] == questions.TOKEN
    assert whole.long.questioned.at == (24,)
    assert whole.long.rows.shape[-1] == 25


@pytest.mark.parametrize("name", ["line", "needles", "passkey", "documents", "code-key", "topic"])
def test_every_answer_of_a_retrieval_task_stands_where_it_is_outlined(name: str):
    source = data.read_data(f"retrieval:{name}")
    asked = questions.ask(source, resolve(None, "transformer", source.name), 3, 96, 4)
    assert len(asked.names) == 96
    for at, needle, right in zip(asked.at, asked.needles, asked.reading.right, strict=True):
        assert needle is not None
        assert asked.names[needle] == right
        assert needle < 96 - source.task.tail <= at  # type: ignore[attr-defined]


# How much of it.


@given(*(st.integers(low, high) for low, high in ((1, 1024), (1, 2048), (1, 48), (1, 64), (13, 17), (1, 64))))
def test_a_page_is_small_and_shows_something(short, more, n_layers, n_heads, stops, asked):
    size = extent((short, short + more), (n_layers, n_heads), stops, asked)
    views = 1 + size.layers * n_heads
    row = short + stops * (short + more)
    assert 0 <= size.layers <= n_layers
    assert 1 <= size.questions <= asked
    assert views * size.questions * row <= max(MOST_BYTES, row)
    # A layer or a question more would not fit, or there is none.
    assert size.layers == n_layers or (views + n_heads) * row > MOST_BYTES
    assert size.questions == asked or views * (size.questions + 1) * row > MOST_BYTES


def test_only_lengths_with_words_are_shown():
    assert shown_lengths(data.read_data("dyck-2"), 40, 1000) == (40, 512)
    # Members of (ab)* have even lengths, and others of odd ones do not suffice here.
    known = resolve(None, "transformer", "regex:(ab)*")
    source = data.build(known.replaced({"data.test.both_classes": True}).data)
    assert not source.is_tested(511)
    assert shown_lengths(source, 40, 511) == (40, 510)
    assert shown_lengths(source, 3000, 6000) is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_a_byte_is_nearly_the_probability(p: list[float]):
    back = (quantised(np.array(p)) / 255) ** 2
    assert np.all(np.abs(np.sqrt(back) - np.sqrt(p)) <= 0.5 / 255 + 1e-12)
    # So a shade is wrong only where a probability is next to the border of two.
    assert all(least > 3 / 255**2 for least in LEVELS)


# The file.


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_one_small_file_that_the_report_names(alignments: Path, name: str):
    path = page(alignments, name)
    assert json.loads((path.parent / "align.json").read_text())["page"] == str(path)
    assert path.stat().st_size < 500_000
    assert_one_file(path.read_text())
    assert path.read_text().count("</script>") == 3


def test_a_page_is_made_again_to_the_byte(alignments: Path, tmp_path: Path):
    write(seen(alignments), tmp_path / "again.html")
    assert (tmp_path / "again.html").read_bytes() == page(alignments).read_bytes()


def test_the_largest_page_is_below_its_limit():
    """512 symbols at every temperature, as many rows as fit, and names of 8 bytes: what fills a page."""
    assert 4 * math.ceil(MOST_BYTES / 3) + 2 * 1024 * len("<span>12345678</span>") + 50_000 < 500_000


def test_words_that_are_too_long_have_no_page(alignments: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("regulargpt.text.measurements.alignment.extent.LONGEST_TRAINED", 15)
    assert measured("align", alignments / "retrieval", tmp_path, length=128, words=1).report["page"] is None
    assert not (tmp_path / "align.html").exists()


# In a browser.

SHOWN = """(() => {
  const numbers = (column) => Object.fromEntries([...document.querySelectorAll(`td[data-column="${column}"]`)].map(
    (cell) => [cell.closest("tr").dataset.row, cell.textContent]));
  const shades = (part) =>
    [...document.querySelectorAll(`.${part} .boxes span`)].map((box) => box.className.split(" ")[0]);
  return { short: numbers("short"), before: numbers("before"), now: numbers("now"), long: shades("long"),
    needles: [...document.querySelectorAll(".long .boxes span")].flatMap((box, i) => box.matches(".needle") ? [i] : []),
    text: document.querySelector("#temperature").getAttribute("aria-valuetext"),
    line: document.querySelector("#now").textContent };
})()"""


def shades(p: np.ndarray) -> list[str]:
    return [f"a{sum(each >= least for least in LEVELS)}" for each in p]


def test_the_slider_moves_shades_numbers_and_answer(browser: Browser, alignments: Path):
    browser.open(page(alignments))
    found = told(alignments)
    long, rows = found["long"], attention(found["long"], found["views"])
    view = int(browser.one("#view", "e.value"))
    assert view == int(np.array(found["short"]["needle"])[:, :, 0].mean(0).argmax())

    def check(question: int, view: int, stop: int) -> dict[str, Any]:
        shown = browser.evaluate(SHOWN)
        assert shown["long"] == shades(rows[question, view, stop])
        for column, part, at in (("now", long, stop), ("before", long, found["trained"]), ("short", found["short"], 0)):
            right = part["questions"][question]["right"]
            answer = part["answers"][question][at]
            assert shown[column] == {
                "p_max": f"{part['p_max'][question][view][at]:.3f}",
                "entropy": f"{part['entropy'][question][view][at]:.2f}",
                "needle": f"{part['needle'][question][view][at]:.3f}",
                "answer": f"{answer} {'✓' if answer == right else '✗'}",
                "p": f"{part['p'][question][at]:.3f}",
            }
        assert shown["needles"] == [long["questions"][question]["needle"]]
        label = found["stops"][stop]["label"]
        assert shown["text"].split(", ")[0] == f"temperature {label}"
        assert shown["line"].startswith(f"Temperature {label}: P_max {shown['now']['p_max']}, ")
        return shown

    as_trained = check(0, view, found["trained"])
    browser.key("ArrowLeft", "#temperature")
    check(0, view, found["trained"] - 1)
    browser.key("Home")
    sharpest = check(0, view, 0)
    assert sharpest["long"] != as_trained["long"]
    assert sharpest["now"]["p_max"] != as_trained["now"]["p_max"]
    assert sharpest["before"] == as_trained["now"]
    for i in range(len(found["stops"])):
        browser.choose("#temperature", i)
        check(0, view, i)
    # A button goes to a temperature that was found, and says so.
    names = browser.all(".jumps button")
    browser.key("Enter", f".jumps button:nth-of-type({1 + next(i for i, name in enumerate(names) if 'P_max' in name)})")
    stop = next(i for i, stop in enumerate(found["stops"]) if "P_max" in stop["names"])
    assert "P_max" in check(0, view, stop)["text"]
    assert browser.count(".jumps [aria-pressed=true]") >= 1
    # Another question, another head.
    browser.choose("#question", 2)
    browser.choose("#view", 0)
    check(2, 0, stop)


@pytest.mark.parametrize("name", PAGES)
def test_every_shade_can_be_read(browser: Browser, alignments: Path, name: str):
    for width, dark in ((390, True), (1280, False)):
        browser.open(page(alignments, name), width=width, dark=dark)
        # At the sharpest and the flattest temperature.
        for stop in (0, 99):
            browser.choose("#temperature", stop)
            assert browser.evaluate(f"({CONTRAST})()") == []
        browser.assert_fits()


def test_everything_is_reached_by_the_keyboard(browser: Browser, alignments: Path):
    browser.open(page(alignments))
    reached = []
    for _ in range(11):
        browser.key("Tab")
        reached.append(browser.evaluate("document.activeElement.id || document.activeElement.textContent"))
    assert reached[:6] == ["To the temperature", "link", "theme", "question", "view", "temperature"]
    without_place = [name.split(" ", 1)[1] for name in browser.all(".jumps button")]
    assert [name.split(" ", 1)[1] for name in reached[6:10]] == without_place


def test_the_address_keeps_question_head_and_temperature(browser: Browser, alignments: Path):
    browser.look(390)
    label = told(alignments)["stops"][0]["label"]
    browser.open(page(alignments), f"#question=3&head=1&temperature={label}")
    chosen = "['question', 'view', 'temperature'].map((id) => byId(id).value)"
    assert browser.evaluate(chosen) == ["2", "0", "0"]
    shown = browser.evaluate(SHOWN)
    assert shown["line"].startswith(f"Temperature {label}: ")
    # A button makes an entry of the history, to which one comes back.
    browser.click(".jumps button", browser.count(".jumps button") - 1)
    assert f"temperature={label}" not in browser.evaluate("location.hash")
    browser.evaluate("history.back()")
    browser.pause()
    assert browser.evaluate(SHOWN) == shown
    browser.open(page(alignments), "#question=99&head=x&temperature=cold")
    question, _, temperature = browser.evaluate(chosen)
    assert (question, temperature) == ("0", str(told(alignments)["trained"]))
    # One word alone.
    browser.open(page(alignments), f"?embed=long#question=3&temperature={label}")
    seen = "h1:not(.heard), h2, p, table, input, .boxes"
    assert [kind for kind in browser.all(seen, "e.checkVisibility() && e.className") if kind is not False] == ["boxes"]
    browser.assert_fits()


def test_strange_symbols_are_text(browser: Browser, alignments: Path):
    browser.open(page(alignments, "strange"))
    boxes = browser.all(".long .boxes span")
    assert boxes == list(seen(alignments, "strange", length=24).long.questioned.names)
    assert set(boxes) <= set(SYMBOLS)
    assert browser.count("main b, main i") == 0
    # A bidirectional model sees all of the word.
    assert browser.count(".unseen") == 0
    browser.open(page(alignments, "text"))
    shown = browser.all(".long .boxes span")
    assert len(shown) == 64
    assert not set("".join(shown)) & set("\n\t \x1b\u202e")
