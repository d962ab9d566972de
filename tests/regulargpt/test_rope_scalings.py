"""The scalings of rotary positions against those of transformers, for heads, bases, factors and lengths of any size."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from regulargpt.encodings.base import Positions
from regulargpt.encodings.options import RotaryOptions
from regulargpt.encodings.rotary import Rotary
from regulargpt.options import ConfigError

WIDTHS = st.integers(2, 64).map(lambda pairs: 2 * pairs)
BASES = st.floats(10.0, 1e7)
FACTORS = st.floats(1.01, 64.0)
LENGTHS = st.integers(8, 65_536)


def ours(width: int, length: int, **options) -> tuple[torch.Tensor, float]:
    """The angles a position, and the factor of queries and keys, in a word of so many symbols."""
    encoding = Rotary(d_model=width, n_heads=1, **options).eval()
    last = torch.tensor([length - 1.0], dtype=torch.float64)
    return encoding.scaled(Positions(last, last))


def theirs(kind: str, width: int, base: float, train_len: int, length: int, **more) -> tuple[torch.Tensor, float]:
    """The same of transformers."""
    given = {"rope_type": kind, "rope_theta": base, **more}
    sizes = {"hidden_size": width, "num_attention_heads": 1, "head_dim": width}
    config = LlamaConfig(**sizes, max_position_embeddings=train_len, rope_parameters=given)
    theta, scale = ROPE_INIT_FUNCTIONS[kind](config, torch.device("cpu"), seq_len=length)
    return theta.double(), scale


def assert_equal(one: tuple[torch.Tensor, float], other: tuple[torch.Tensor, float]):
    """Theirs are made in float32."""
    torch.testing.assert_close(one[0], other[0], rtol=1e-4, atol=0)
    assert one[1] == pytest.approx(other[1], rel=1e-6)


@given(WIDTHS, BASES, FACTORS, LENGTHS)
def test_interpolation_is_theirs(width: int, base: float, factor: float, train_len: int):
    found = ours(width, 2 * train_len, base=base, scaling="interpolation", factor=factor, train_len=train_len)
    assert_equal(found, theirs("linear", width, base, train_len, 2 * train_len, factor=factor))


@given(WIDTHS.filter(lambda width: width > 2), BASES, st.floats(1.0, 64.0), LENGTHS, st.floats(0.5, 64.0))
def test_dynamic_ntk_is_theirs(width: int, base: float, factor: float, train_len: int, times: float):
    length = max(1, int(times * train_len))
    found = ours(width, length, base=base, scaling="dynamic_ntk", factor=factor, train_len=train_len)
    assert_equal(found, theirs("dynamic", width, base, train_len, length, factor=factor))


@given(WIDTHS.filter(lambda width: width > 2), BASES, st.integers(2, 64), LENGTHS)
def test_ntk_is_their_dynamic_one_at_the_length_that_it_is_for(width: int, base: float, factor: int, train_len: int):
    found = ours(width, 2 * train_len, base=base, scaling="ntk", factor=float(factor), train_len=train_len)
    assert_equal(found, theirs("dynamic", width, base, train_len, factor * train_len, factor=1.0))


@given(
    *(WIDTHS, BASES, FACTORS, LENGTHS), *(st.floats(4.0, 64.0), st.floats(0.1, 3.9), st.none() | st.floats(0.5, 2.0))
)
def test_yarn_is_theirs(
    width: int, base: float, factor: float, train_len: int, fast: float, slow: float, attention: float | None
):
    """Wherever a pair turns once over a training word, and one less than `beta_fast` times."""
    options = {"factor": factor, "beta_fast": fast, "beta_slow": slow, "train_len": train_len}
    encoding = Rotary(d_model=width, n_heads=1, base=base, **options)
    if math.ceil(encoding.pair_of(slow)) < 0 or math.floor(encoding.pair_of(fast)) > width - 1:
        return
    found = ours(width, 2 * train_len, base=base, scaling="yarn", attention_factor=attention or 0.0, **options)
    more = {"factor": factor, "beta_fast": fast, "beta_slow": slow, "original_max_position_embeddings": train_len}
    more |= {} if attention is None else {"attention_factor": attention}
    assert_equal(found, theirs("yarn", width, base, train_len, 2 * train_len, **more))


@given(WIDTHS, BASES, FACTORS, LENGTHS, st.floats(0.1, 4.0), st.floats(1.01, 16.0))
def test_llama3_is_theirs(width: int, base: float, factor: float, train_len: int, low: float, times: float):
    """Each pair in its third of the turns; at the ends the ramp is continuous."""
    options = {"factor": factor, "low_freq_factor": low, "high_freq_factor": low * times}
    found = ours(width, 2 * train_len, base=base, scaling="llama3", train_len=train_len, **options)
    more = {**options, "original_max_position_embeddings": train_len}
    assert_equal(found, theirs("llama3", width, base, train_len, 2 * train_len, **more))


@given(st.data(), WIDTHS, BASES, LENGTHS, st.floats(0.5, 4.0), st.floats(1.0, 64.0))
def test_longrope_is_theirs(data: st.DataObject, width: int, base: float, train_len: int, times: float, factor: float):
    """Up to the training length by the short factors, one symbol more by the long ones."""
    numbers = st.lists(st.floats(0.5, 99.0), min_size=width // 2, max_size=width // 2)
    factors = {"short_factor": data.draw(numbers), "long_factor": data.draw(numbers)}
    length = max(1, data.draw(st.sampled_from([train_len, train_len + 1, int(times * train_len)])))
    more = {**factors, "factor": factor, "original_max_position_embeddings": train_len}
    expected = theirs("longrope", width, base, train_len, length, **more)
    options = {**factors, "attention_factor": expected[1]}
    assert_equal(ours(width, length, base=base, scaling="longrope", train_len=train_len, **options), expected)


def test_yarn_is_a_ramp_over_the_index_of_the_pair():
    """By hand: 64 positions, base 10,000 and 16 pairs; pair 4.03 turns once, and none turns 32 times."""
    theta, scale = ours(32, 128, scaling="yarn", factor=4.0, train_len=64)
    plain = 10_000.0 ** (-torch.arange(16, dtype=torch.float64) / 16)
    kept = torch.tensor([1, 0.8, 0.6, 0.4, 0.2, *[0] * 11], dtype=torch.float64)
    torch.testing.assert_close(theta, plain * (kept + (1 - kept) / 4))
    assert scale == 0.1 * math.log(4) + 1


def test_yarn_without_a_ramp_leaves_all_pairs_or_the_first_one():
    """Where every pair turns fast nothing is interpolated; where none turns once, all behind the first."""
    plain = 2.0 ** (-torch.arange(4, dtype=torch.float64) / 4)
    assert torch.allclose(ours(8, 8192, base=2.0, scaling="yarn", factor=4.0, train_len=4096)[0], plain)
    plain = 10_000.0 ** (-torch.arange(16, dtype=torch.float64) / 16)
    slow = torch.tensor([1, *[0.25] * 15], dtype=torch.float64)
    assert torch.allclose(ours(32, 6, scaling="yarn", factor=4.0, train_len=3)[0], plain * slow)


@pytest.mark.parametrize("fraction", [0.0, 0.25, 0.5])
def test_yarn_of_a_part_of_a_head_is_that_of_a_head_of_this_width(fraction: float):
    width = int(32 * fraction)
    found = ours(32, 256, scaling="yarn", fraction=fraction, train_len=64)
    assert len(found[0]) == width // 2
    if width:
        assert torch.equal(found[0], ours(width, 256, scaling="yarn", train_len=64)[0])


REFUSED = [
    ({"beta_fast": 1.0}, "beta_fast = 1.0 is not above beta_slow = 1.0"),
    ({"beta_slow": 0.0}, "beta_slow = 0.0; above 0"),
    ({"beta_fast": math.inf}, "beta_fast"),
    ({"attention_factor": -1.0}, "attention_factor = -1.0; it is not negative"),
    ({"scaling": "yarn", "base": 1.0}, "base = 1.0 lets all pairs turn alike"),
]


@pytest.mark.parametrize(("options", "reason"), REFUSED)
def test_what_yarn_cannot_do_is_refused(options: dict, reason: str):
    with pytest.raises(ConfigError, match=f"^{reason}"):
        RotaryOptions("rotary", **options)
