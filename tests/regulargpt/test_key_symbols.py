"""Key symbols: LongPPL against plain passes of transformers on explicit contexts, copies against a plain search."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from regulargpt import objectives
from regulargpt.evaluation.interval import Interval, student
from regulargpt.text.evaluation.copies import copied, distance_slowly, distances
from regulargpt.text.measurements.key_symbols import Copies, LongShort, nats_of, perplexity, windows
from regulargpt.text.objectives.language_model import LanguageModel
from regulargpt.text.opened import open_checkpoint
from tests.regulargpt.tiny_decoders import made

CPU = torch.device("cpu")


@given(st.lists(st.integers(0, 2), max_size=40), st.integers(1, 9))
def test_copies_are_those_of_a_plain_search(symbols: list[int], width: int):
    row = np.array(symbols, dtype=np.uint8)
    assert distances(row, width).tolist() == [distance_slowly(row, at, width) for at in range(len(row))]


@given(st.integers(0, 40), st.integers(1, 30))
def test_a_planted_copy_is_found_only_from_far(gap: int, far: int):
    """Words of 6 letters twice, other symbols between: the last letter is copied with the 5 before it."""
    row = np.array([*range(6), *range(100, 100 + gap), *range(6)])
    expected = [len(row) - 1] if gap + 6 > far else []
    assert copied(row[None], 5, far)[0].nonzero()[0].tolist() == expected
    # Once more within the last `far` symbols: it is no far copy any longer.
    near = np.concatenate([row, np.arange(6)])
    assert not copied(near[None], 5, max(far, 6))[0, -1]


@given(st.integers(2, 60), st.integers(1, 30), st.integers(1, 9), st.data())
def test_what_counts_is_in_one_window_with_as_much_before_it_as_is_said(
    symbols: int, least: int, stride: int, data: Any
):
    counted = data.draw(st.integers(1, symbols - 1))
    seen = []
    for start, first, end in windows(symbols, counted, least, stride):
        for at in range(first, end):
            assert at - start == at or least <= at - start < least + stride
            assert at - start >= min(at, least)
        seen += range(first, end)
    assert seen == list(range(symbols - counted, symbols))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, LanguageModel]:
    """A random network of bytes: that of transformers, ours, and what a text asks of it."""
    home = tmp_path_factory.mktemp("small")
    theirs = made(home / "bytes", "llama", vocab_size=256)
    (home / "book.txt").write_text("".join(np.random.default_rng(1).choice(list("abcdef "), 3000)))
    run = open_checkpoint(f"hf:{home / 'bytes'}", str(home / "book.txt"))
    objective = objectives.build(run.config.objective, run.data)
    assert isinstance(objective, LanguageModel)
    return theirs, run.network(), objective


@torch.no_grad()
def plain(theirs: Any, context: np.ndarray, symbol: int) -> float:
    """ln p of a symbol behind a context, by one pass of transformers."""
    logits = theirs(input_ids=torch.from_numpy(context.astype(np.int64))[None]).logits[0, -1]
    return float(logits.double().log_softmax(-1)[symbol])


@pytest.mark.parametrize(("longest", "context", "counted"), [(64, 12, 40), (64, 8, 7), (20, 12, 40), (13, 12, 5)])
def test_longppl_is_that_of_plain_passes(small: Any, longest: int, context: int, counted: int):
    """Keys and LongPPL by a loop over symbols, with contexts cut as PKU-ML/LongPPL cuts them."""
    theirs, ours, objective = small
    segments = np.random.default_rng(3).integers(0, 256, (3, 41))
    segments[:, 20:] = segments[:, 2:23]  # something far back to tell
    alpha, beta = 0.05, -6.5
    choice = LongShort(ours, objective, CPU, longest, context, alpha, beta)
    first, symbols = 41 - counted, 41

    def before(at: int, least: int, stride: int) -> int:
        """How many symbols: least, and one more for each step since the window was cut."""
        begin = max(first, least)
        return at if at < begin else min(at, least + (at - begin) % stride)

    keys, nats = np.zeros((3, counted), dtype=bool), np.zeros((3, counted))
    for row, segment in enumerate(segments):
        for at in range(first, symbols):
            stride = choice.stride
            most = at if symbols - 1 <= longest else before(at, longest - stride + 1, stride)
            least = before(at, context, stride)
            long, short = (plain(theirs, segment[at - n : at], segment[at]) for n in (most, least))
            keys[row, at - first] = long - short > alpha and long > beta
            nats[row, at - first] = -plain(theirs, segment[:at], segment[at])
            assert least <= most <= (longest if symbols - 1 > longest else at)
    assert 0 < keys.sum() < keys.size
    assert np.array_equal(choice.keys(segments, counted), keys)
    of_ours = nats_of(ours, objective, segments, CPU, counted)
    np.testing.assert_allclose(of_ours, nats, rtol=1e-4, atol=1e-4)
    found = perplexity((of_ours * keys).sum(1) * 30, keys.sum(1) * 30.0)
    assert found is not None
    assert found.value == pytest.approx(np.exp(nats[keys].mean()), rel=1e-4)


def test_a_segment_within_the_short_context_has_no_key(small: Any):
    _, ours, objective = small
    segments = np.zeros((2, 13), dtype=np.int64)
    assert not LongShort(ours, objective, CPU, 64, 13).keys(segments, 5).any()
    assert Copies(2, 3).keys(segments, 5).shape == (2, 5)


def test_the_interval_is_that_of_a_ratio():
    """Segments without keys change nothing; where each has as many, it is the interval of their means."""
    means, ten, none = np.random.default_rng(0).normal(2, 1, 8), np.full(8, 10.0), np.zeros(8)
    found, usual = perplexity(10 * means, ten), Interval.of_mean(means)
    assert found is not None
    assert (np.log(found.low), np.log(found.high)) == pytest.approx((usual.low, usual.high))
    more = np.concatenate([10 * means, none]), np.concatenate([ten, none])
    assert perplexity(*more) == found
    # All in one file: segments take the place of files.
    assert perplexity(*more, np.zeros(16, dtype=int)) == found
    by_file = perplexity(*more, np.arange(16) // 2)
    assert by_file is not None
    assert dict(by_file.over) == {"files": 4, "seeds": 1}
    # Another number of keys in each: sum over sum, with the linearised variance of a ratio, by hand.
    keys = np.arange(1.0, 9) * 3
    found = perplexity(keys * means, keys)
    assert found is not None
    middle = (keys * means).sum() / keys.sum()
    assert np.log(found.value) == pytest.approx(middle)
    q = keys / keys.sum()
    small = 1 / (1 - 2 * (q**3).sum() / (q**2).sum() + (q**2).sum())
    half = student(max(1, 1 / (q**2).sum() - 1)) * np.sqrt(small * ((q * (means - middle)) ** 2).sum())
    assert np.log(found.high) == pytest.approx(middle + half)
    assert perplexity(means, np.ones(8)) is None  # too few
    assert perplexity(np.array([90.0, 0]), np.array([90.0, 0])) is None  # nothing to tell an interval from
