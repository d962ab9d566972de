"""RegularGPT: its three computations against each other and against Eq. (6.1) written out in Python, in float64."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from languages.errors import UserError
from regulargpt.models.tree.depth import depth
from regulargpt.models.tree.levels import tree_levels
from tests.pairwise import pairwise
from tests.regulargpt import cases
from tests.regulargpt.cases import assert_equal, slopes, words_of

# The depth grows, or is fixed, with weights of its own on so many levels.
DEPTHS = [{}, {"distinct_levels": 2}, {"distinct_levels": 3}, {"levels": 1}, {"levels": 2, "distinct_levels": 2},
          {"levels": 5, "distinct_levels": 3}]  # fmt: skip
BLOCKS = pairwise(range(2, 9), (1, 2, 3), DEPTHS, ("pre", "post"), (True, False), ("relu", "gelu"), (True, False),
                  ("learned", "masked"))  # fmt: skip
OPTIONS = ("norm", "state_norm", "activation", "attention_bias", "pad")


def built(chunk_size: int = 2, thickness: int = 1, **options: Any) -> Any:
    return cases.built("regulargpt", chunk_size=chunk_size, thickness=thickness, **options)


def some_words(length: int, batch: int = 4) -> Tensor:
    """One word twice."""
    words = words_of(batch, length, seed=length)
    words[-1] = words[0]
    return words


def changed_everywhere(length: int) -> tuple[Tensor, Tensor]:
    """A word (1, length), and (length, length) the same with another symbol at one place each."""
    word = words_of(1, length)
    return word, (word + torch.eye(length, dtype=torch.long)) % 3


def assert_one_function(model: Any, words: Tensor, every_position: bool = True) -> None:
    """All computations have the same outputs and gradients, for the last position and for all."""
    dense = slopes(model, model(words, computation="dense"))
    for computation in ("tree", "plain-tree", "every"):
        assert_equal(slopes(model, model(words, computation=computation)), dense, 1e-12)
    if every_position:
        reference = slopes(model, model(words, readout="all", computation="dense"))
        assert_equal(slopes(model, model(words, readout="all")), reference, 1e-12)


def lengths_around_powers(chunk_size: int, longest: int) -> list[int]:
    powers = [chunk_size**level for level in range(8)]
    around = {T + off for T in powers for off in (-1, 0, 1)} | {T + T // 2 for T in powers}
    return sorted(T for T in around | {1, 2, 3, longest} if 1 <= T <= longest)


@pytest.mark.parametrize(("C", "K", "depths", "values"), [(*row[:3], row[3:]) for row in BLOCKS], ids=str)
def test_tree_plain_tree_and_every_equal_dense_in_outputs_and_gradients(C: int, K: int, depths: dict, values: tuple):
    model = built(C, K, **depths, **dict(zip(OPTIONS, values, strict=True)))
    for length in lengths_around_powers(C, 40 if K == 1 else 17):
        assert_one_function(model, some_words(length))


def test_they_are_equal_at_each_length_to_40():
    model = built(3, embedding_scale=0.7)
    for length in range(1, 41):
        assert_one_function(model, some_words(length))


@pytest.mark.parametrize("chunk_size", [2, 3, 4, 5])
def test_they_are_equal_at_lengths_to_130(chunk_size: int):
    model = built(chunk_size)
    for length in (53, 64, 97, 125, 127, 128, 130):
        assert_one_function(model, some_words(length, batch=3), every_position=length == 130)


@torch.no_grad()
@pytest.mark.parametrize("chunk_size", [8, 9, 32])
@pytest.mark.parametrize("pad", ["learned", "masked"])
def test_large_chunks_in_bands_give_what_dense_gives(chunk_size: int, pad: str):
    model = built(chunk_size, 2, pad=pad)
    for length in (1, 7, 8, 9, 40, 81, 300):
        words = some_words(length)
        assert_equal([model(words, readout="all")], [model(words, readout="all", computation="dense")], 1e-12)


@pytest.mark.parametrize("chunk_size", [2, 3, 5])
@pytest.mark.parametrize("pad", ["learned", "masked"])
def test_a_fixed_depth_at_the_adaptive_depth_changes_no_bit(chunk_size: int, pad: str):
    adaptive = built(chunk_size, pad=pad)
    for length in lengths_around_powers(chunk_size, 28):
        fixed, words = built(chunk_size, levels=depth(length, chunk_size), pad=pad), some_words(length)
        for readout, computation in (("last", "tree"), ("last", "plain-tree"), ("all", "every"), ("all", "dense")):
            assert torch.equal(fixed(words, readout, computation), adaptive(words, readout, computation))


# An independent RegularGPT: numpy vectors, one position at a time.


def numbers(tensor: Tensor) -> np.ndarray:
    return tensor.detach().numpy()


def affine(layer: torch.nn.Linear, x: np.ndarray) -> np.ndarray:
    return numbers(layer.weight) @ x + (0.0 if layer.bias is None else numbers(layer.bias))


def normal(layer: torch.nn.Module, x: np.ndarray) -> np.ndarray:
    if not isinstance(layer, torch.nn.LayerNorm):
        return x
    centred = x - x.mean()
    return centred / math.sqrt((centred**2).mean() + 1e-5) * numbers(layer.weight) + numbers(layer.bias)


def gelu(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x])


def attend(block: torch.nn.Module, window: list[np.ndarray], offsets: list[int | None]) -> np.ndarray:
    """softmax over the places of the window of q k / sqrt(d_head) + r_i, head by head; without an offset r is 0."""
    heads, mixed = block.attn.n_heads, []
    q = affine(block.attn.query, window[0]).reshape(heads, -1)
    k = [affine(block.attn.key, x).reshape(heads, -1) for x in window]
    v = [affine(block.attn.value, x).reshape(heads, -1) for x in window]
    for h in range(heads):
        r = numbers(block.attn.r)[h]
        bias = [0.0 if i is None else r[i] for i in offsets]
        logits = [q[h] @ k[p][h] / math.sqrt(q.shape[1]) + bias[p] for p in range(len(window))]
        weights = np.exp(logits) / np.exp(logits).sum()
        mixed.append(sum(w * v[p][h] for p, w in enumerate(weights)))
    return affine(block.attn.out, np.concatenate(mixed))


def layer_of(block: torch.nn.Module, window: list[np.ndarray], offsets: list[int | None], norm: str, act) -> np.ndarray:
    def ffn(x: np.ndarray) -> np.ndarray:
        return affine(block.ff_out, act(affine(block.ff_in, x)))

    if norm == "pre":
        x = window[0] + attend(block, [normal(block.ln1, x) for x in window], offsets)
        return x + ffn(normal(block.ln2, x))
    x = normal(block.ln1, window[0] + attend(block, window, offsets))
    return normal(block.ln2, x + ffn(x))


def places(model: Any, m: int, dilation: int) -> dict[int, int | None]:
    """What position m reads, itself first: positions, negative before the word, with their offsets, None without."""
    chunk = {m - i * dilation: i for i in range(model.chunk_size) if m >= i * dilation or not model.masked}
    return {**chunk, **{n: None for n in range(m + 1) if model.full and n not in chunk}}


def written_out(model: Any, word: list[int], norm: str, act) -> np.ndarray:
    """The logits at every position: layer l K + k lets position m read m, m - C^l, ..., m - (C-1) C^l."""
    C, K, T = model.chunk_size, model.thickness, len(word)
    pad = numbers(model.pad)[0]
    x = [normal(model.state_norm, model.embedding_scale * numbers(model.embedding.weight)[s]) for s in word]
    adaptive = max(1, next(level for level in itertools.count() if C**level >= T))
    for level in range(model.levels or adaptive):
        for k in range(K):
            block = model.blocks[min(level, model.distinct_levels - 1) * K + k]
            seen = [places(model, m, C**level) for m in range(T)]
            windows = [[x[n] if n >= 0 else pad for n in found] for found in seen]
            x = [
                layer_of(block, window, list(found.values()), norm, act)
                for window, found in zip(windows, seen, strict=True)
            ]
        x = [normal(model.state_norm, state) for state in x]
    return np.stack([affine(model.readout, state) for state in x])


KINDS = [("pre", "gelu", gelu), ("post", "relu", lambda x: np.maximum(x, 0.0))]


@pytest.mark.parametrize(
    ("chunk_size", "thickness", "kind", "attention", "pad", "levels", "state_norm"),
    pairwise([2, 3, 4, 7], [1, 2], KINDS, ["dilated", "full"], ["learned", "masked"], [0, 2, 3], [True, False]),
)
def test_all_of_them_equal_equation_6_1_written_out(chunk_size, thickness, kind, attention, pad, levels, state_norm):
    norm, activation, act = kind
    options = {"norm": norm, "activation": activation, "embedding_scale": 1.3, "distinct_levels": 2}
    options |= {"attention": attention, "pad": pad, "levels": levels, "state_norm": state_norm}
    model = built(chunk_size, thickness, **options)
    for length in (1, 2, 3, 4, 5, 8, 10, 17):
        words = some_words(length, batch=2)
        expected = torch.from_numpy(np.stack([written_out(model, word.tolist(), norm, act) for word in words]))
        for computation in ("auto", "dense"):
            assert_equal([model(words, readout="all", computation=computation)], [expected])
        assert_equal([model(words)], [expected[:, -1]])


@pytest.mark.parametrize(("chunk_size", "levels"), [(2, 1), (2, 3), (3, 2), (8, 1)])
@pytest.mark.parametrize("pad", ["learned", "masked"])
def test_with_a_fixed_depth_the_answer_sees_the_last_symbols_only(chunk_size: int, levels: int, pad: str):
    model, (word, changed) = built(chunk_size, levels=levels, pad=pad), changed_everywhere(20)
    for computation in ("tree", "plain-tree", "every", "dense"):
        moved = (model(changed, computation=computation) - model(word, computation=computation)).abs().amax(-1)
        assert (moved > 1e-9).tolist() == [20 - place <= chunk_size**levels for place in range(20)]


# At one fixed depth: T = 20 throughout, and each position reaches back C^L - 1 >= 19 positions.
SEEING = [
    *({"chunk_size": C, "computation": computation} for C in (2, 3, 5) for computation in ("every", "dense")),
    *({"chunk_size": 3, "attention": "full", "levels": levels} for levels in (0, 1, 2)),
]


@pytest.mark.parametrize("options", SEEING, ids=str)
def test_no_position_sees_the_future_and_each_sees_all_of_its_past(options: dict):
    computation, (word, changed) = options.pop("computation", "auto"), changed_everywhere(20)
    model = built(**options)
    before = model(word, readout="all", computation=computation)
    moved = (model(changed, readout="all", computation=computation) - before).abs().amax(-1) > 1e-12
    assert torch.equal(moved, torch.ones(20, 20, dtype=torch.bool).triu())


def test_a_masked_pad_is_no_parameter_and_leaves_the_other_weights_as_they_are():
    learned, masked = (cases.fresh("regulargpt", thickness=2, pad=pad) for pad in ("learned", "masked"))
    weights = learned.state_dict()
    assert sorted(weights) == sorted([*masked.state_dict(), "pad"])
    assert all(torch.equal(weights[name], weight) for name, weight in masked.state_dict().items())
    assert "pad" not in dict(masked.named_parameters())
    assert masked(some_words(5)).isfinite().all()


@pytest.mark.parametrize(("chunk_size", "length"), [(2, 8), (3, 9), (5, 5)])
def test_the_pad_is_read_only_where_the_word_does_not_fill_the_tree(chunk_size: int, length: int):
    learned, masked = built(chunk_size), built(chunk_size, pad="masked")
    masked.load_state_dict({name: weight for name, weight in learned.state_dict().items() if name != "pad"})
    assert torch.equal(masked(some_words(length)), learned(some_words(length)))
    assert not torch.equal(masked(some_words(length - 1)), learned(some_words(length - 1)))
    with torch.no_grad():
        learned.pad[:] = torch.nan
    assert learned(some_words(length)).isfinite().all()
    assert learned(some_words(length - 1)).isnan().all()


@pytest.mark.parametrize("computation", ["tree", "plain-tree", "every", "dense"])
def test_words_of_a_batch_are_independent(computation: str):
    model, order = built(3, 2), torch.tensor([3, 0, 5, 1, 4, 2])
    for length in (1, 7, 16):
        words = some_words(length, batch=6)
        together = model(words, computation=computation)
        alone = torch.cat([model(word[None], computation=computation) for word in words])
        permuted = model(words[order], computation=computation)
        assert_equal([together, permuted], [alone, together[order]], 1e-12)


@pytest.mark.parametrize("computation", ["tree", "plain-tree", "every"])
def test_nan_under_one_symbol_stays_in_the_words_that_have_it(computation: str):
    model = built(2, 2)
    words = torch.tensor([[0, 1, 1, 0, 1], [0, 1, 2, 0, 1], [1, 1, 1, 0, 1]])
    clean = model(words, computation=computation)
    with torch.no_grad():
        model.embedding.weight[2] = torch.nan
    poisoned = model(words, computation=computation)
    assert torch.equal(poisoned[[0, 2]], clean[[0, 2]])
    assert poisoned[1].isnan().all()
    if computation == "every":
        assert model(words, readout="all")[1].isnan().all(-1).tolist() == [False, False, True, True, True]


@pytest.mark.parametrize("chunk_size", [2, 3, 4, 8])
@pytest.mark.parametrize("thickness", [1, 2, 3])
def test_the_tree_has_a_number_of_nodes_linear_in_the_length(chunk_size: int, thickness: int):
    model = built(chunk_size, thickness)
    for length in (1, 2, 7, 64, 100, 1000):
        with torch.no_grad():
            levels = list(tree_levels(model, some_words(length, batch=1), share=False))
        nodes = sum(level.node.shape[1] for level in levels)
        on_level = [-(-length // chunk_size**level) for level in range(depth(length, chunk_size) + 1)]
        assert nodes == length + (thickness - 1) * sum(on_level[:-1]) + sum(on_level[1:])
        assert nodes <= 2 * thickness * length + thickness * len(on_level)
        assert levels[-1].node.shape[1] == 1


def subwords(words: Tensor, chunk_size: int, level: int) -> list[tuple[int, ...]]:
    """The sub-words under the nodes of one level, by cutting each word from the right."""
    size = chunk_size**level
    return [tuple(word[max(0, end - size) : end]) for word in words.tolist() for end in range(len(word), 0, -size)]


@pytest.mark.parametrize("chunk_size", [2, 3])
def test_each_distinct_subword_is_computed_once(chunk_size: int):
    words = torch.randint(0, 2, (200, 27), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        levels = list(tree_levels(built(chunk_size), words))
    for number, level in enumerate(levels[1:3], start=1):
        assert len(level.children) == len(set(subwords(words, chunk_size, number))) < level.node.numel()
        assert len(level.states) == 1 + len(level.children)


def test_sharing_stops_where_words_hardly_repeat():
    words = torch.randint(0, 3, (4, 500), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        levels = list(tree_levels(built(2), words))
    assert len(levels[1].children) == 3**2
    assert [len(level.children) for level in levels[-4:]] == [level.node.numel() for level in levels[-4:]]


def test_depth_equals_the_number_of_digits_for_every_length_to_100_000():
    for chunk_size in range(2, 10):
        # Level L serves the lengths C^(L-1) < T <= C^L; level 1 serves T = 1 too.
        bounds = [0, *itertools.takewhile(lambda T: T < 10**5, (chunk_size**level for level in itertools.count(1)))]
        levels = np.searchsorted(bounds, np.arange(1, 10**5 + 1), side="left")
        assert [depth(T, chunk_size) for T in range(1, 10**5 + 1)] == levels.tolist()


@pytest.mark.parametrize(("length", "chunk_size", "levels"), [(125, 5, 3), (243, 3, 5), (15_625, 5, 6), (16_807, 7, 5)])
def test_depth_where_logarithms_in_floating_point_are_wrong(length: int, chunk_size: int, levels: int):
    assert math.ceil(math.log(length) / math.log(chunk_size)) != levels or math.log(length, chunk_size) != levels
    assert depth(length, chunk_size) == levels


def test_state_noise_disturbs_training_only_and_is_counted():
    model, words = built(2), some_words(9)
    clean = model(words)
    model.state_noise.level = 0.3
    assert torch.equal(model(words), clean)
    model.train()
    model.state_noise.key, model.state_noise.calls = "0 7 0", 0
    noisy = model(words)
    model.state_noise.calls = 0
    assert torch.equal(model(words), noisy)
    model.state_noise.key = "0 8 0"
    assert not torch.allclose(model(words), noisy)
    assert not torch.allclose(noisy, clean)


def test_weights_are_shared_across_depth_and_the_ablation_has_its_own():
    sizes = [sum(p.numel() for p in built(2, distinct_levels=n).blocks.parameters()) for n in (1, 2, 3)]
    assert sizes == [sizes[0], 2 * sizes[0], 3 * sizes[0]]
    model = built(2, 2, distinct_levels=3)
    numbered = {id(block): number for number, block in enumerate(model.blocks)}
    chosen = [[numbered[id(block)] for block in model.layers(level)] for level in range(5)]
    assert chosen == [[0, 1], [2, 3], [4, 5], [4, 5], [4, 5]]


@pytest.mark.parametrize("computation", ["tree", "plain-tree", "every"])
def test_full_attention_is_computed_in_one_way(computation: str):
    said = f"computation = '{computation}' is for dilated attention; full attention needs 'dense'"
    with pytest.raises(UserError, match=f"^{said}$"):
        built(attention="full")(some_words(3), computation=computation)
