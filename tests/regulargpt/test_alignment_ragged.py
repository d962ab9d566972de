"""Words of different lengths aligned together: each counts by its queries, and nothing is read behind its end."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from regulargpt.text.encoder_decoder import EncoderDecoder
from regulargpt.text.measurements.alignment.ragged import RaggedSetting, ragged
from regulargpt.text.measurements.alignment.setting import Setting, find, search_of
from regulargpt.text.measurements.alignment.statistics import sharpness


def network() -> EncoderDecoder:
    """A random one whose attention is not flat."""
    generator = torch.Generator().manual_seed(1)
    model = EncoderDecoder(9, 9, d_model=8, n_heads=2, d_ff=16, n_layers=2, generator=generator).eval()
    with torch.no_grad():
        for attn in model.attentions:
            attn.qkv.weight[: attn.inner].mul_(6)
    return model


def words(*sizes: int, seed: int = 0) -> list[list[int]]:
    random = np.random.default_rng(seed)
    return [random.integers(1, 9, size).tolist() for size in sizes]


def test_words_of_one_length_are_aligned_as_a_batch_is():
    model, short, long = network(), words(9, 9, 9), words(40, 40, 40, seed=1)
    one = ragged(model, "w", short, long, unread=1)
    batch = Setting(model, "w", np.array(short), np.array(long), "model", "all", unread=1)
    assert one.lengths == batch.lengths == (8, 39)
    for strategy in ("p_max", "entropy", "log"):
        found, expected = find(one, strategy), find(batch, strategy)
        assert np.allclose(found.tau, expected.tau, rtol=1e-6)
        assert (found.train_len, found.length, found.weights) == (8, 39, "w")


def test_every_query_counts_once():
    model, long = network(), words(12, 31, 55)
    setting = ragged(model, "", words(9, 7), long, unread=1)
    assert setting.lengths == (7, round((11 + 30 + 54) / 3))
    each = [sharpness(model, np.array([word])) for word in long]
    for name in ("p_max", "entropy"):
        expected = sum(getattr(one, name) * n for one, n in zip(each, (11, 30, 54), strict=True)) / 95
        assert np.allclose(getattr(setting.before["long"], name), expected, rtol=1e-6)


def test_padding_is_never_read():
    model = network()
    setting = ragged(model, "", words(9, 5), words(20, 33), unread=1)
    other = {name: found.copy() for name, found in setting.words.items()}
    for name, found in other.items():
        for row, size in zip(found, setting.sizes[name], strict=True):
            row[size:] = 7
    changed: RaggedSetting = replace(setting, short=other["short"], long=other["long"])
    assert not (setting.long == changed.long).all()
    for name in ("short", "long"):
        assert np.array_equal(setting.before[name].p_max, changed.before[name].p_max)


def test_the_temperature_restores_the_statistic():
    setting = ragged(network(), "", words(30, 24, 27), words(60, 50), unread=1)
    for name in ("p_max", "entropy"):
        found = search_of(setting, name)
        assert not found.at_bound.any()
        assert abs(found.value - found.target).max() < 0.01
        after = getattr(setting.at(found.tau), name).mean()
        assert after == pytest.approx(getattr(setting.before["short"], name).mean(), abs=0.01)


LONG = """
import resource, torch
from regulargpt.text.measurements.alignment.ragged import ragged
from regulargpt.text.encoder_decoder import EncoderDecoder
from regulargpt.text.encoder_decoder.greedy import greedy
torch.set_num_threads(1)
model = EncoderDecoder(5, 5, d_model=16, n_heads=2, d_ff=16).eval()

def ask(length):
    setting = ragged(model, "", [[1, 2, 3, 0]], [[1] * length], unread=1)
    setting.at(torch.tensor([0.8]).double().numpy())
    greedy(model, [1] * length, start=0, ends=(), most=2)

ask(64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ask(6_000)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_prompt_of_6_000_tokens_takes_little_memory():
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True)
    # Its pattern alone would have 275 MiB, and the logits before it as many.
    assert int(done.stdout) < 200
