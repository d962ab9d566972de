"""RegularGPT: its three computations against each other and against Eq. (6.1) written out in Python, in float64."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import Tensor

from languages.errors import UserError
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.tree.depth import depth
from regulargpt.models.tree.levels import tree_levels

SYMBOLS, OUTPUTS = 3, 4


def built(chunk_size: int = 2, thickness: int = 1, seed: int = 0, **options) -> RegularGPT:
    generator = torch.Generator().manual_seed(seed)
    sizes = {"d_model": 8, "n_heads": 2, "d_ff": 12} | options
    model = RegularGPT(
        SYMBOLS, OUTPUTS, chunk_size=chunk_size, thickness=thickness, generator=generator, **sizes
    ).double()
    with torch.no_grad():
        for parameter in model.parameters():  # no parameter may hide at 0 or 1
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return model.eval()


def some_words(length: int, batch: int = 4, seed: int = 0) -> Tensor:
    words = torch.randint(0, SYMBOLS, (batch, length), generator=torch.Generator().manual_seed(seed + length))
    words[-1] = words[0]
    return words


def with_gradients(model: RegularGPT, outputs: Tensor) -> list[Tensor]:
    weights = torch.linspace(-1, 1, outputs.numel(), dtype=torch.float64).reshape(outputs.shape)
    gradients = torch.autograd.grad((outputs * weights).mean(), list(model.parameters()), allow_unused=True)
    found = [torch.zeros(()) if g is None else g for g in gradients]
    return [outputs.detach(), *found]


def assert_equal(found: list[Tensor], expected: list[Tensor], tolerance: float = 1e-12) -> None:
    for a, b in zip(found, expected, strict=True):
        assert float((a - b).detach().abs().max()) <= tolerance


def assert_one_function(model: RegularGPT, words: Tensor, every_position: bool = True) -> None:
    """All computations have the same outputs and gradients, for the last position and for all."""
    dense = with_gradients(model, model(words, computation="dense"))
    for computation in ("tree", "plain-tree", "every"):
        assert_equal(with_gradients(model, model(words, computation=computation)), dense)
    if every_position:
        reference = with_gradients(model, model(words, readout="all", computation="dense"))
        assert_equal(with_gradients(model, model(words, readout="all")), reference)


def lengths_around_powers(chunk_size: int, longest: int) -> list[int]:
    powers = [chunk_size**level for level in range(8)]
    around = {T + off for T in powers for off in (-1, 0, 1)} | {T + T // 2 for T in powers}
    return sorted(T for T in around | {1, 2, 3, longest} if 1 <= T <= longest)


@pytest.mark.parametrize("chunk_size", range(2, 9))
@pytest.mark.parametrize("thickness", [1, 2, 3])
def test_tree_plain_tree_and_every_equal_dense_in_outputs_and_gradients(chunk_size: int, thickness: int):
    norm = ("pre", "post")[(chunk_size + thickness) % 2]
    model = built(chunk_size, thickness, norm=norm, state_norm=chunk_size % 3 != 0, distinct_levels=thickness)
    for length in lengths_around_powers(chunk_size, 40):
        assert_one_function(model, some_words(length))


def test_they_are_equal_at_each_length_to_40():
    model = built(3)
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
        dense = model(words, readout="all", computation="dense")
        assert_equal([model(words, readout="all")], [dense])


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("state_norm", [True, False])
@pytest.mark.parametrize("distinct_levels", [1, 2, 3])
def test_they_are_equal_with_every_option(norm: str, state_norm: bool, distinct_levels: int):
    options = itertools.product((1, 2), ("relu", "gelu"), (True, False))
    for thickness, activation, attention_bias in options:
        model = built(
            2,
            thickness,
            norm=norm,
            state_norm=state_norm,
            distinct_levels=distinct_levels,
            activation=activation,
            attention_bias=attention_bias,
            embedding_scale=0.7,
        )
        for length in (1, 2, 5, 11):
            assert_one_function(model, some_words(length))


ABLATIONS = [
    {"levels": 1, "thickness": 2},
    {"levels": 2, "distinct_levels": 2},
    {"levels": 5, "norm": "post"},
    {"pad": "masked"},
    {"pad": "masked", "thickness": 3, "norm": "post"},
    {"pad": "masked", "levels": 2, "thickness": 2, "state_norm": False},
]


@pytest.mark.parametrize("chunk_size", range(2, 9))
@pytest.mark.parametrize("options", ABLATIONS, ids=str)
def test_they_are_equal_with_a_fixed_depth_and_with_a_masked_pad(chunk_size: int, options: dict):
    model = built(chunk_size, **options)
    lengths = {1, chunk_size - 1, chunk_size, chunk_size + 1, 11, chunk_size**2 - 1, chunk_size**2, chunk_size**2 + 1}
    for length in sorted(length for length in lengths if length <= 17):
        assert_one_function(model, some_words(length, batch=2))


@pytest.mark.parametrize("chunk_size", [2, 3, 5])
@pytest.mark.parametrize("options", [{}, {"pad": "masked"}], ids=str)
def test_a_fixed_depth_at_the_adaptive_depth_changes_no_bit(chunk_size: int, options: dict):
    adaptive = built(chunk_size, **options)
    for length in lengths_around_powers(chunk_size, 28):
        fixed = built(chunk_size, levels=depth(length, chunk_size), **options)
        words = some_words(length)
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


def places(model: RegularGPT, m: int, dilation: int) -> dict[int, int | None]:
    """What position m reads, itself first: positions, negative before the word, with their offsets, None without."""
    chunk = {m - i * dilation: i for i in range(model.chunk_size) if m >= i * dilation or not model.masked}
    return {**chunk, **{n: None for n in range(m + 1) if model.full and n not in chunk}}


def written_out(model: RegularGPT, word: list[int], norm: str, act) -> np.ndarray:
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


@pytest.mark.parametrize("chunk_size", [2, 3, 4, 7])
@pytest.mark.parametrize("thickness", [1, 2])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_all_of_them_equal_equation_6_1_written_out(chunk_size: int, thickness: int, norm: str):
    activation = "gelu" if norm == "pre" else "relu"
    act = gelu if norm == "pre" else (lambda x: np.maximum(x, 0.0))
    options = {"norm": norm, "activation": activation, "embedding_scale": 1.3, "distinct_levels": 2}
    model = built(chunk_size, thickness, state_norm=chunk_size != 3, **options)
    for length in (1, 2, 3, 4, 5, 8, 10, 17):
        words = some_words(length, batch=2)
        expected = torch.from_numpy(np.stack([written_out(model, word.tolist(), norm, act) for word in words]))
        for computation in ("auto", "dense"):
            assert_equal([model(words, readout="all", computation=computation)], [expected], 1e-11)
        assert_equal([model(words)], [expected[:, -1]], 1e-11)


@pytest.mark.parametrize("chunk_size", [2, 3, 4])
@pytest.mark.parametrize("attention", ["dilated", "full"])
@pytest.mark.parametrize("options", [{"levels": 2}, {"pad": "masked"}, {"pad": "masked", "levels": 3}, {}], ids=str)
def test_the_ablations_equal_their_equations_written_out(chunk_size: int, attention: str, options: dict):
    model = built(chunk_size, 2, attention=attention, distinct_levels=2, **options)
    for length in (1, 2, 3, 4, 7, 10):
        words = some_words(length, batch=2)
        expected = torch.from_numpy(np.stack([written_out(model, word.tolist(), "pre", gelu) for word in words]))
        assert_equal([model(words, readout="all", computation="dense")], [expected], 1e-11)
        assert_equal([model(words, readout="all"), model(words)], [expected, expected[:, -1]], 1e-11)


@pytest.mark.parametrize(("chunk_size", "levels"), [(2, 1), (2, 3), (3, 2), (8, 1)])
@pytest.mark.parametrize("computation", ["tree", "plain-tree", "every", "dense"])
@pytest.mark.parametrize("pad", ["learned", "masked"])
def test_with_a_fixed_depth_the_answer_sees_the_last_symbols_only(
    chunk_size: int, levels: int, computation: str, pad: str
):
    model, words = built(chunk_size, levels=levels, pad=pad), some_words(20, batch=1)
    before = model(words, computation=computation)
    for changed in range(20):
        other = words.clone()
        other[0, changed] = (other[0, changed] + 1) % SYMBOLS
        moved = bool((model(other, computation=computation) != before).any())
        assert moved == (20 - changed <= chunk_size**levels)


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_with_full_attention_each_position_sees_all_of_its_past_at_every_depth(levels: int):
    model, words = built(3, attention="full", levels=levels), some_words(12, batch=1)
    before = model(words, readout="all")
    for changed in range(12):
        other = words.clone()
        other[0, changed] = (other[0, changed] + 1) % SYMBOLS
        moved = (model(other, readout="all") - before).abs().amax(-1)[0] > 0
        assert moved.tolist() == [position >= changed for position in range(12)]
    together, alone = model(some_words(9, batch=5)), [model(word[None]) for word in some_words(9, batch=5)]
    assert_equal([together], [torch.cat(alone)])


def test_a_masked_pad_is_no_parameter_and_leaves_the_other_weights_as_they_are():
    learned, masked = (built(2, 2, pad=pad).state_dict() for pad in ("learned", "masked"))
    assert sorted(learned) == sorted([*masked, "pad"])
    fresh = [
        RegularGPT(3, 4, d_model=8, n_heads=2, pad=pad, generator=torch.Generator().manual_seed(5)).state_dict()
        for pad in ("learned", "masked")
    ]
    assert all(torch.equal(fresh[0][name], weight) for name, weight in fresh[1].items())
    names = [name for name, _ in built(2, pad="masked").named_parameters()]
    outputs = built(2, pad="masked")(some_words(5))
    assert "pad" not in names
    assert outputs.isfinite().all()


@pytest.mark.parametrize(("chunk_size", "length"), [(2, 8), (3, 9), (5, 5)])
def test_where_the_word_fills_the_tree_masking_the_pad_changes_nothing(chunk_size: int, length: int):
    learned, masked = built(chunk_size), built(chunk_size, pad="masked")
    masked.load_state_dict({name: weight for name, weight in learned.state_dict().items() if name != "pad"})
    assert torch.equal(masked(some_words(length)), learned(some_words(length)))
    assert not torch.equal(masked(some_words(length - 1)), learned(some_words(length - 1)))


@pytest.mark.parametrize("chunk_size", [2, 3, 5])
@pytest.mark.parametrize("computation", ["every", "dense"])
def test_no_position_sees_the_future_and_each_sees_all_of_its_past(chunk_size: int, computation: str):
    # One fixed depth: T = 20 throughout, and each position reaches back C^L - 1 >= 19 positions.
    model, words = built(chunk_size), some_words(20, batch=1)
    before = model(words, readout="all", computation=computation)
    for changed in range(20):
        other = words.clone()
        other[0, changed] = (other[0, changed] + 1) % SYMBOLS
        moved = (model(other, readout="all", computation=computation) - before).abs().amax(-1)[0] > 0
        assert moved.tolist() == [position >= changed for position in range(20)]


@pytest.mark.parametrize("computation", ["tree", "plain-tree", "every", "dense"])
@pytest.mark.parametrize("length", [1, 7, 16])
def test_words_of_a_batch_are_independent(computation: str, length: int):
    model = built(3, 2)
    words = some_words(length, batch=6)
    together = model(words, computation=computation)
    alone = torch.cat([model(word[None], computation=computation) for word in words])
    assert_equal([together], [alone])
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    assert_equal([model(words[order], computation=computation)], [together[order]])


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


@pytest.mark.parametrize(("chunk_size", "length"), [(2, 8), (3, 9), (5, 5)])
def test_the_pad_is_read_only_where_the_word_does_not_fill_the_tree(chunk_size: int, length: int):
    model = built(chunk_size)
    with torch.no_grad():
        model.pad[:] = torch.nan
    assert model(some_words(length)).isfinite().all()
    assert model(some_words(length - 1)).isnan().all()


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
    words = torch.randint(0, SYMBOLS, (4, 500), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        levels = list(tree_levels(built(2), words))
    assert len(levels[1].children) == SYMBOLS**2
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


def test_a_seed_gives_the_weights_and_the_global_random_state_is_left_alone():
    before = torch.get_rng_state()
    twins = [built(3, seed=1).state_dict() for _ in range(2)]
    assert all(torch.equal(twins[0][name], twins[1][name]) for name in twins[0])
    assert not torch.equal(built(3, seed=2).readout.weight, twins[0]["readout.weight"])
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: built(1), "chunk_size = 1; a chunk has at least 2 symbols"),
        (lambda: built(0), "chunk_size = 0; a chunk has at least 2 symbols"),
        (lambda: built(n_heads=3), "n_heads = 3 does not divide d_model = 8; choose one that does"),
        (lambda: built(norm="psot"), "unknown norm 'psot'; did you mean 'post'?"),
        (lambda: built(activation="tanh"), "unknown activation 'tanh'; known are 'relu', 'gelu'"),
        (lambda: built(pad="mask"), "unknown pad 'mask'; did you mean 'masked'?"),
        (lambda: built(attention="dense"), "unknown attention 'dense'; known are 'dilated', 'full'"),
        *(
            (
                lambda computation=computation: built(attention="full")(some_words(3), computation=computation),
                f"computation = '{computation}' is for dilated attention; full attention needs 'dense'",
            )
            for computation in ("tree", "plain-tree", "every")
        ),
        (lambda: built()(some_words(3), readout="first"), "unknown readout 'first'; known are 'last', 'all'"),
        (
            lambda: built()(torch.zeros(2, 0, dtype=torch.long)),
            "words of shape (2, 0); a batch is (batch, length) with length >= 1",
        ),
    ],
)
def test_refusals(call, message: str):
    with pytest.raises(UserError) as error:
        call()
    assert str(error.value) == message


SHAPES = """
from jaxtyping import install_import_hook
with install_import_hook("regulargpt.models.regulargpt", "beartype.beartype"):
    from regulargpt.models.regulargpt import RegularGPT
import torch
for C, K, T in ((2, 1, 1), (2, 2, 5), (3, 1, 10), (8, 3, 70)):
    model = RegularGPT(3, 4, chunk_size=C, thickness=K, d_model=8, n_heads=2, d_ff=16)
    model.state_noise.level = 0.1
    words = torch.randint(0, 3, (5, T))
    for computation in ("tree", "plain-tree", "every", "dense"):
        assert model(words, computation=computation).shape == (5, 4)
    for computation in ("every", "dense"):
        assert model(words, "all", computation).shape == (5, T, 4)
    for pad, attention in (("masked", "dilated"), ("learned", "full"), ("masked", "full")):
        ablated = RegularGPT(
            3, 4, chunk_size=C, thickness=K, d_model=8, n_heads=2, d_ff=16, levels=2, pad=pad, attention=attention
        )
        assert ablated(words).shape == (5, 4)
        assert ablated(words, "all").shape == (5, T, 4)
try:
    model(words.double())
except Exception as error:
    print(type(error).__name__)
"""


def test_every_annotated_shape_holds():
    done = subprocess.run([sys.executable, "-c", SHAPES], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "TypeCheckError\n"), done.stderr
