"""Weight-shared trees: gated RegularGPT and ldru against what their equations say, and random bracketings."""

import itertools
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import languages
from regulargpt.construct.configuration import configuration
from regulargpt.construct.weights import constructed
from regulargpt.models.hooks import HookPoint
from regulargpt.models.layers import Readout
from regulargpt.models.ldru.model import Ldru
from regulargpt.models.ldru.operators import OPERATORS, MlpOperator
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.regulargpt.gated import GatedAttention
from regulargpt.models.regulargpt.options import RegularGPTOptions
from regulargpt.models.tree.base import Tree
from regulargpt.models.tree.bracketings import bracketed_root, random_windows
from regulargpt.models.tree.levels import tree_levels
from regulargpt.models.tree.noise import StateNoise
from regulargpt.models.tree.ragged import ragged_logits
from regulargpt.models.tree.shape import Side
from tests.regulargpt.cases import assert_equal, built, slopes, words_of

D = 8


def gated(C: int, **options: Any) -> Any:
    return built("regulargpt:gates=true", chunk_size=C, **options)


TREES = [
    *(gated(C) for C in (2, 3, 4)),
    gated(2, norm="post", activation="relu"),
    *(built(f"ldru:operator={operator}") for operator in OPERATORS),
]


@pytest.mark.parametrize("model", TREES, ids=lambda model: type(model).__name__)
def test_shared_sub_words_change_nothing_and_every_prefix_ends_as_the_word(model: Any):
    for length in (1, 2, 3, 4, 5, 8, 9, 13, 16, 17, 27, 30):
        words, found = words_of(40, length), []
        for share in (True, False):
            *_, root = tree_levels(model, words, share=share)
            found.append(slopes(model, model.readout(root.states[root.node[:, 0]])))
        assert_equal(*found, 1e-9)
        every = model(words, readout="all")
        assert_equal([model(words), every[:, -1]], [found[1][0]] * 2, 1e-12)
        for T in {1, (length + 1) // 2, length - 1} - {0}:
            # RegularGPT has as many levels at every position as the whole word needs, ldru as many as the prefix.
            if not (isinstance(model, RegularGPT) and model.depth(T) < model.depth(length)):
                assert_equal([every[:, T - 1]], [model(words[:, :T])], 1e-12)


def left_tree(model: Any, word: list[int]) -> Tensor:
    """Section 7 of the paper's conventions, a pair at a time: what is alone passes the level through FFN and norm."""
    nodes = [model.embedding_ffn(model.embedding_norm(model.embedding.weight[symbol]))[None] for symbol in word]
    while True:
        pairs = [nodes[i : i + 2] for i in range(0, len(nodes), 2)]
        joined = [model.operator(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
        nodes = [model.state_norm(z + model.ffn.ff_out(model.ffn.ff_in(z).relu())) for z in joined]
        if len(nodes) == 1:
            return model.readout(nodes[0])[0]


@pytest.mark.parametrize("operator", OPERATORS)
def test_ldru_is_the_binary_tree_from_the_left(operator: str):
    model = built(f"ldru:operator={operator}")
    for length in (1, 2, 3, 5, 6, 7, 12):
        words = words_of(5, length)
        assert_equal([model(words)], [torch.stack([left_tree(model, word) for word in words.tolist()])], 1e-12)


def test_the_operator_of_ldru_starts_as_a_gated_sum():
    model = Ldru(2, 2, d_model=4)
    assert isinstance(model.operator, MlpOperator)
    x, y = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    operator = model.operator
    hidden = operator.wider(operator.wide(torch.cat([x, y], 1)).relu()).relu()
    g_x, g_y = operator.gates(hidden).split(4, dim=1)
    torch.testing.assert_close(operator(x, y), g_x * x + g_y * y)


def test_the_norms_of_ldru_do_not_decay():
    decaying, kept = Ldru(2, 2, d_model=4).parameter_groups()
    assert kept["weight_decay"] == 0
    assert sum(p.numel() for p in kept["params"]) == 4 * 4  # two norms with gain and bias
    assert "weight_decay" not in decaying


@pytest.mark.parametrize("C", [2, 3])
def test_a_gated_window_is_as_its_equation_says(C: int):
    model = gated(C)
    states = torch.randn(5, D, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    rows = torch.cat([model.pad, states])
    block = model.layers(0)[0]
    assert isinstance(block.attn, GatedAttention)
    gates = block.attn.gates
    for window in itertools.product(range(1, 6), *[range(6)] * (C - 1)):
        x = block.ln1(rows[list(window)])  # (C, d)
        g = gates.gate(gates.wider(gates.wide(x.flatten()).relu()).relu()).view(C, D)
        mixed = []
        for h, cut in enumerate((slice(0, D // 2), slice(D // 2, D))):
            q, k = block.attn.query(x[0])[cut], block.attn.key(x)[:, cut]
            p = (k @ q / (D // 2) ** 0.5 + block.attn.r[h]).softmax(0)
            mixed.append(p @ block.attn.value(g * x)[:, cut])
        own = rows[window[0]] + block.attn.out(torch.cat(mixed))
        expected = model.state_norm(own + block.ff_out(nn.functional.gelu(block.ff_in(block.ln2(own)))))
        assert_equal([model.merge(rows, torch.tensor([window]))[0]], [expected], 1e-12)


@pytest.mark.parametrize("C", [2, 3, 4, 8])
@pytest.mark.parametrize("options", [{}, {"norm": "post", "thickness": 2}, {"distinct_levels": 2, "levels": 3}])
def test_the_computations_of_a_gated_network_agree_in_answers_and_gradients(C: int, options: dict[str, Any]):
    model = gated(C, **options)
    for length in (1, C, C + 1, C**2 + 1, 20):
        words = words_of(3, length)
        dense, *others = (
            slopes(model, model(words, computation=name)) for name in ("dense", "tree", "plain-tree", "every")
        )
        for other in others:
            assert_equal(other, dense, 1e-12)
        of_all = [model(words, readout="all", computation=name) for name in ("dense", "every")]
        assert_equal(of_all[:1], of_all[1:], 1e-12)


class Concatenation(Tree):
    """A tree whose states are the words themselves: (number of the word, k to its length)."""

    hook_embed: HookPoint

    def __init__(self, chunk_size: int, aligned: Side):
        super().__init__()
        self.chunk_size, self.aligned, self.state_noise = chunk_size, aligned, StateNoise()
        self.readout, self.state_norm, self.hook_embed = nn.Identity(), nn.Identity(), HookPoint()

    @property
    def absent(self) -> Tensor:
        return torch.tensor([[0.0, 1.0]], dtype=torch.float64)

    def leaf(self, embedded: Tensor) -> Tensor:
        return embedded

    def leaves(self) -> Tensor:
        return torch.tensor([[0.0, 1.0], [0.0, 3.0], [1.0, 3.0], [2.0, 3.0]], dtype=torch.float64)

    def positions(self, words: Tensor) -> Tensor:
        return self.leaves()[1:][words]

    def merge(self, states: Tensor, children: Tensor) -> Tensor:
        windows = states[children].unbind(1)
        value, size = torch.zeros(2, len(children), dtype=torch.float64)
        size = size + 1
        for column in windows[::-1] if self.aligned == "right" else windows:
            value, size = value * column[:, 1] + column[:, 0], size * column[:, 1]
        return torch.stack([value, size], 1)

    def forward(self, words: Tensor, readout: Readout = "last") -> Tensor:
        *_, root = tree_levels(self, words)
        return root.states[root.node[:, 0]]


@settings(max_examples=80)
@given(
    C=st.integers(2, 5),
    aligned=st.sampled_from(["right", "left"]),
    length=st.integers(1, 30),
    share=st.floats(0, 1),
    seed=st.integers(0, 10**6),
)
def test_any_bracketing_keeps_the_word(C: int, aligned: Side, length: int, share: float, seed: int):
    tree, words = Concatenation(C, aligned), words_of(3, length)
    number = (words * 3 ** torch.arange(length - 1, -1, -1)).sum(1).double()
    found = bracketed_root(tree, words, share, torch.Generator().manual_seed(seed))
    assert torch.equal(found[:, 0], number)
    assert torch.equal(tree(words)[:, 0], number)


@settings(max_examples=60)
@given(C=st.integers(2, 5), more=st.integers(1, 30), share=st.floats(0, 1), seed=st.integers(0, 10**6))
def test_random_windows_are_disjoint_and_leave_the_rest(C: int, more: int, share: float, seed: int):
    n = C + more
    starts, rest = random_windows(n, C, share, torch.Generator().manual_seed(seed))
    inside = [start + j for start in starts.tolist() for j in range(C)]
    assert len(starts) >= 1
    assert sorted(inside + rest.tolist()) == list(range(n))


@pytest.mark.parametrize("spec", ["parity", "cycle-navigation", "symmetric-3"])
@pytest.mark.parametrize("C", [2, 3])
def test_a_network_that_is_right_is_right_in_every_bracketing(spec: str, C: int):
    task, made = languages.get(spec), configuration(spec, chunk_size=C)
    assert isinstance(made.model, RegularGPTOptions)
    model = constructed(made.model, task, made.recipe.removeprefix("constructed-"))
    for seed, length in enumerate((2, 7, 20)):
        words = task.sample(languages.rng(seed, "test", length), length, 64)
        root = bracketed_root(model, torch.from_numpy(words).long(), 0.5, torch.Generator().manual_seed(seed))
        assert (model.readout(root).argmax(1).numpy() == task.labels(words)).all()


PLAIN = [RegularGPT(3, 4, chunk_size=C, d_model=D, n_heads=2, d_ff=8).double().eval() for C in (2, 3, 4)]


@pytest.mark.parametrize("model", [*TREES, *PLAIN], ids=lambda model: f"{type(model).__name__}-{model.chunk_size}")
@settings(max_examples=15)
@given(sizes=st.lists(st.tuples(st.integers(1, 40), st.integers(1, 30)), min_size=1, max_size=6))
def test_words_of_all_lengths_at_once_have_the_answers_that_each_length_has_by_itself(
    model: Tree, sizes: list[tuple[int, int]]
):
    batches = [words_of(length, count) for count, length in sizes]
    with torch.no_grad():
        alone = torch.cat([model(words) for words in batches])
        torch.testing.assert_close(ragged_logits(model, batches), alone, rtol=0, atol=1e-12)
