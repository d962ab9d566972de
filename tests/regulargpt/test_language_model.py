"""What a language model's numbers say: which symbols count, with what before them, and what a run keeps of it."""

import math
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import nn

from languages.errors import UserError
from regulargpt.config.schema import EvaluationOptions
from regulargpt.evaluation.by_length import measures_by_length
from regulargpt.evaluation.interval import Interval
from regulargpt.objectives.measures import exp
from regulargpt.runs.run import run
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder
from regulargpt.text.corpora import corpus
from regulargpt.text.data.options import TextOptions
from regulargpt.text.data.segments import TextData
from regulargpt.text.objectives.language_model import LanguageModel
from tests.regulargpt.small import trainer_of
from tests.regulargpt.texts import text_config, write_text

CPU = torch.device("cpu")
SCORINGS = ("last_k", "last", "nonoverlapping", "sliding", "position")


class Numbered(nn.Module):
    """Its loss of a symbol is that of a text in which each position has a number of its own: symbol and place tell."""

    def __init__(self):
        super().__init__()
        self.p, self.read = nn.Parameter(torch.zeros(())), []
        self.noise = torch.randn(256, 256, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def forward(self, symbols, readout="last"):
        assert readout == "all"
        self.read.append(symbols.clone())
        place = torch.arange(symbols.shape[1], dtype=torch.float64)[:, None]
        return self.noise[symbols] / (1 + place)  # (batch, length, 256)


def data_of(path: Path, scoring: str, size: int = 3000, **options) -> TextData:
    name = write_text(path / "text", size)
    return TextData(corpus(name), TextOptions(name, scoring=cast(Any, scoring), **options))


def measured(data: TextData, lengths: list[int], model: nn.Module | None = None, samples: int = 20):
    config, objective = EvaluationOptions(samples=samples), LanguageModel(data)
    return measures_by_length(model or Numbered(), data, objective, lengths, config=config, seed=3, device=CPU)


def by_hand(data: TextData, length: int, ends: list[int], counted: int) -> list[float]:
    """The mean loss of the last `counted` symbols of the segments whose last symbol is just before each end."""
    model, found = Numbered(), []
    for end in ends:
        total = 0.0
        for target in range(end - counted, end):
            place = target - (end - length - 1) - 1
            logits = model.noise[int(data.corpus.test[target - 1])] / (1 + place)
            total += float(logits.logsumexp(0) - logits[int(data.corpus.test[target])])
        found.append(total / counted)
    return found


@pytest.mark.parametrize("scoring", SCORINGS)
def test_the_symbols_that_count_and_what_is_read_before_them(scoring: str, tmp_path: Path):
    data = data_of(tmp_path, scoring, last=5, step=7, region=100)
    size = 100
    for point in measured(data, [8, 16, 40]):
        T = point.length
        counted = {"last_k": 5, "last": 1, "sliding": 7}.get(scoring, T)
        if scoring in ("nonoverlapping", "sliding"):
            # Every target is in the region, and none counts twice.
            ends = list(range(T + 1, size + 2, T if scoring == "nonoverlapping" else 7))
            targets = [t for end in ends for t in range(end - counted, end)]
            assert len(set(targets)) == len(targets)
            assert max(targets) <= size
            assert len(targets) > size - 2 * T
        else:
            ends = [int(end) for end in ends_of(data, 20)]
        wanted = by_hand(data, T, ends, counted)
        assert np.allclose(point.of_words["nll"], wanted, atol=1e-5)
        mean = float(np.mean(wanted))
        assert point.measures["bits_per_byte"].value == pytest.approx(mean / math.log(2), abs=1e-5)
        assert point.measures["perplexity"].value == pytest.approx(math.exp(mean), rel=1e-5)


@pytest.mark.parametrize("scoring", SCORINGS)
def test_intervals_are_over_the_files_that_segments_lie_in(scoring: str, tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    names = [f"{at}.txt" for at in range(60)]
    for at, name in enumerate(names):
        (folder / name).write_bytes(bytes([at]) * 37)
    options = TextOptions(f"text:{folder}", train_len=8, scoring=cast(Any, scoring), last=5, step=7, region=200)
    data = TextData(corpus(options.name), options)
    inside = list(dict.fromkeys(np.asarray(data.corpus.test).tolist()))
    for length in (8, 16):
        words, counted = data.test(3, length, 20), data.counted(length)
        # A file has one symbol: that in the middle of those that count names it.
        middle = [inside.index(int(row[length - counted // 2])) for row in words]
        assert data.files(3, length, 20).tolist() == middle
    for point in measured(data, [8, 16]):
        assert point.files is not None
        found = Interval.of_mean(point.of_words["nll"], point.files)
        assert point.measures["perplexity"].over == found.over
        assert point.measures["perplexity"].low == pytest.approx(math.exp(found.low))


def ends_of(data: TextData, count: int) -> np.ndarray:
    """Where segments end that predict the same symbols at every length: found in the text by what they hold."""
    test = bytes(np.asarray(data.corpus.test))
    # Long enough to stand in one place only.
    rows = [bytes(row) for row in np.asarray(data.test(3, 40, count))]
    assert all(test.count(row) == 1 for row in rows)
    return np.array([test.index(row) + len(row) for row in rows])


def test_the_same_symbols_are_predicted_at_every_length_where_more_should_count_than_training_has(tmp_path: Path):
    data = data_of(tmp_path, "last_k", last=32, train_len=8)
    ends = [int(end) for end in ends_of(data, 20)]
    for point in measured(data, [8, 16, 40]):
        assert np.allclose(point.of_words["nll"], by_hand(data, point.length, ends, 8), atol=1e-5)


def test_windows_that_overlap_are_not_copied(tmp_path: Path):
    data = data_of(tmp_path, "sliding", size=6_000_000, step=1, region=500_000)
    windows = data.test(0, 65_536, 1)  # 29 GB, if each had bytes of its own
    assert windows.shape == (500_000 - 65_536 + 1, 65_537)
    assert np.shares_memory(windows, data.corpus.test)
    assert LanguageModel(data).measure(Numbered(), data.test(0, 9, 1)[:1], CPU)["nll"].shape == (1,)


def test_many_symbols_to_choose_from_are_few_segments_at_once(tmp_path: Path, monkeypatch):
    data, model = data_of(tmp_path, "last_k"), Numbered()
    monkeypatch.setattr("regulargpt.evaluation.by_length.LOGITS_AT_ONCE", 3 * 16 * 256)
    assert measured(data, [16], model)[0].samples == 20
    assert [len(symbols) for symbols in model.read] == [3, 3, 3, 3, 3, 3, 2]


class Overflowing(Numbered):
    def forward(self, symbols, readout="last"):
        return super().forward(symbols, readout) * (math.nan if symbols.shape[1] > 8 else 1.0)


def test_numbers_that_overflow_are_named(tmp_path: Path):
    with pytest.raises(UserError, match="overflow at length 16; test it at shorter lengths"):
        measured(data_of(tmp_path, "last_k"), [8, 16], Overflowing())


@pytest.mark.parametrize("nats", [700.0, 709.9, 1e9])
def test_the_perplexity_of_a_text_that_is_all_surprise_can_be_written(nats: float):
    atomic.render_json({"perplexity": exp(nats)})


def test_the_last_weights_are_in_their_domain(tmp_path: Path, monkeypatch):
    name = write_text(tmp_path / "text")
    trainer = trainer_of(text_config(name, model__encoding="kerple_log:learning_rate=1000", training__warmup=0))
    of_encoding = [p for key, p in trainer.model.named_parameters() if key.startswith("encoding.")]
    monkeypatch.setattr(trainer.objective, "loss", lambda *_: (torch.stack([p.sum() for p in of_encoding]).sum(), {}))
    trainer.step()
    assert [p.unique().tolist() for p in of_encoding] == [[np.float32(0.01)]] * 2


def test_a_run_that_ends_early_was_trained_on_fewer_symbols(tmp_path: Path):
    name = write_text(tmp_path / "text")
    config = text_config(name, training__solved_loss=1e3, training__loss_memory=0.0, training__steps=50)
    summary = run(config, tmp_path / "run")
    assert summary["steps"] < 50
    assert summary["symbols_trained"] == summary["steps"] * 4 * 8
    assert RunFolder.open(tmp_path / "run").is_done
