"""How attention is computed: masks made once, pieces, tied readouts, random positions, groups of parameters."""

import copy
import subprocess
import sys

import pytest
import torch
from torch import nn

from languages.errors import UserError
from regulargpt.config.schema import TrainingOptions
from regulargpt.encodings import ENCODINGS
from regulargpt.encodings.base import Encoding
from regulargpt.models.layers import seed_counted
from regulargpt.models.options import TransformerOptions
from regulargpt.models.rnn import Rnn
from regulargpt.models.transformer import Transformer, attention, masks
from regulargpt.models.transformer.positions import RandomPositions
from regulargpt.training.trainer import make_optimiser
from tests.regulargpt.attending import attended, attention_of, transformer, words
from tests.regulargpt.cases import BIDIRECTIONAL, assert_equal, slopes

FIXED = [name for name in ENCODINGS if ENCODINGS[name].load().fixed_bias]
OWN_BIAS = [name for name in ENCODINGS if ENCODINGS[name].load().bias is not Encoding.bias]
SHARED = [name for name in OWN_BIAS if ENCODINGS[name].load().shared_bias and name not in FIXED]


@pytest.fixture
def biases(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The encodings whose biases are made, a name a call."""
    made: list[str] = []

    def counting(make):
        def bias(self, q, k, at):
            made.append(type(self).__name__)
            return make(self, q, k, at)

        return bias

    # Where it stands: several inherit it.
    classes = {cls for name in [*FIXED, *SHARED] for cls in ENCODINGS[name].load().__mro__ if "bias" in vars(cls)}
    for cls in classes - {Encoding}:
        monkeypatch.setattr(cls, "bias", counting(cls.bias))
    return made


@pytest.mark.parametrize("name", [*FIXED, *SHARED])
def test_a_fixed_bias_is_made_once_and_a_learned_one_of_all_layers_once_a_pass(name: str, biases: list[str]):
    model, text = transformer(name).train(name in SHARED), words(2, 12)
    first = model(text, readout="all")
    assert len(biases) == (1 if model.encoding.shared_bias else 2)
    biases.clear()
    with torch.no_grad():
        for p in model.encoding.parameters():
            p.mul_(0.5).add_(0.3)
    assert torch.equal(model(text, readout="all"), first) == (name in FIXED)
    assert len(biases) == (name in SHARED)
    assert set(model.state_dict()) == set(transformer(name).state_dict())


@pytest.mark.parametrize("name", FIXED[:2])
def test_masks_made_without_gradients_serve_in_training(name: str):
    model, text = transformer(name), words(2, 12)
    with torch.inference_mode():
        model(text)
        model(text, readout="all")
    copy.deepcopy(model)(text, readout="all").sum().backward()
    model(text, readout="all").sum().backward()
    assert model.float()(text).dtype == torch.float32


def test_what_is_kept_has_a_bound(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(masks, "KEPT", 20_000)
    model = transformer("alibi")
    with torch.no_grad():
        for length in range(2, 60):
            model(words(1, length), readout="all")
    kept = sum(mask.numel() for mask in model.kept_masks.values())
    assert 10_000 < kept <= 20_000
    model.kept_masks.clear()
    monkeypatch.setattr(masks, "LONGEST_KEPT", 32)
    model(words(1, 33), readout="all")
    assert not model.kept_masks


DIRECTIONS = [(name, causal) for name in ENCODINGS for causal in ((True, False) if name in BIDIRECTIONAL else (True,))]


@pytest.mark.parametrize(("name", "causal"), DIRECTIONS)
def test_pieces_and_the_whole_have_the_same_gradients(name: str, causal: bool, monkeypatch: pytest.MonkeyPatch):
    model, text, results = transformer(name, train_len=70, causal=causal).train(), words(2, 70), []
    for at_once, fewest in ((1 << 22, 32), (1, 7), (1, 64)):
        monkeypatch.setattr(attention, "CPU_AT_ONCE" if causal else "BOTH_WAYS_AT_ONCE", at_once)
        monkeypatch.setattr(attention, "MIN_QUERIES", fewest)
        model.kept_masks.clear()
        results.append(slopes(model, model(text, readout="all")))
    for pieces in results[1:]:
        assert_equal(pieces, results[0], 1e-9)
    seen = torch.ones(70, 70, dtype=torch.bool)
    x, n = model.encoding.embed(model.embedding(text) * 4.0, torch.arange(70.0)), torch.arange(70, dtype=torch.float64)
    block = model.blocks[0]
    found = block.attn(block.ln1(x), model.encoding, n, 0)
    assert_equal([found], [attended(model, 0, block.ln1(x), seen.tril() if causal else seen)], 1e-9)


@pytest.mark.parametrize("name", ["none", "alibi", *SHARED[:1], "transformer_xl"])
def test_in_half_precision_the_softmax_is_that_of_float32(name: str):
    model, text = transformer(name), words(1, 300)
    exact = model(text, readout="all")
    rough = copy.deepcopy(model).bfloat16()(text, readout="all")
    assert rough.dtype == torch.bfloat16
    assert torch.nn.functional.cosine_similarity(rough.double(), exact, dim=-1).min() > 0.98


class Clamped(Encoding):
    """A parameter that must not be negative."""

    def draw(self, generator: torch.Generator) -> None:
        self.r = nn.Parameter(-torch.ones(()))

    def project(self) -> None:
        self.r.clamp_(min=0.25)


def test_a_pass_leaves_the_parameters_alone_so_that_two_may_come_before_their_gradient():
    model = transformer("kerple_log").train()
    (model(words(1, 3)).sum() + model(words(1, 5)).sum()).backward()
    model.encoding = Clamped(d_model=16, n_heads=2)
    model(words(1, 3))
    assert model.encoding.r == -1
    with torch.no_grad():
        model.project()
    assert model.encoding.r == 0.25


@pytest.mark.parametrize("name", ["alibi", "rotary"])
def test_a_compiled_model_gives_the_same_outputs_and_gradients(name: str):
    model, text = transformer(name).train(), words(2, 9)
    compiled = torch.compile(model, backend="eager")
    for _ in range(2):
        assert_equal(*(slopes(model, run(text, readout="all")) for run in (compiled, model)))


def test_a_tied_readout_has_the_embedding_as_its_weights():
    model, text = transformer("alibi", tied=True), words(2, 5)
    assert not [name for name in model.state_dict() if name.startswith("readout")]
    x = torch.randn(3, 16, dtype=torch.float64)
    assert torch.allclose(model.readout(x), x @ model.embedding.weight.T)
    again = copy.deepcopy(model)
    with torch.no_grad():
        again.embedding.weight.zero_()
    assert bool((again(text) == 0).all())
    assert bool((model(text) != 0).any())
    with pytest.raises(UserError, match="tied = true, but there are 2 symbols and 3 outputs"):
        Transformer(2, 3, d_model=8, n_heads=2, tied=True)


def test_an_embedding_is_scaled_or_not():
    plain, scaled = transformer("none", scale_embedding=False), transformer("none")
    with torch.no_grad():
        plain.embedding.weight.mul_(4.0)  # sqrt(16)
    assert torch.allclose(plain(words(2, 5)), scaled(words(2, 5)), atol=1e-12)


def test_random_positions_are_drawn_without_replacement_and_by_the_step():
    drawing = RandomPositions(50).train()
    seed_counted(drawing, seed=0, step=1)
    first, second = drawing(20), drawing(20)
    seed_counted(drawing, seed=0, step=1)
    assert torch.equal(drawing(20), first)
    assert not torch.equal(first, second)
    for n in (first, second, drawing.eval()(50)):
        assert bool((n.diff() > 0).all())
        assert 0 <= n.min() <= n.max() < 50
    assert torch.equal(drawing(20), drawing(20))


@pytest.mark.parametrize("name", list(ENCODINGS))
def test_a_model_of_random_positions_is_told_where_its_symbols_stand(name: str):
    model = transformer(name, train_len=64, random_positions=64)
    text, n = words(2, 9), RandomPositions(64).eval()(9)
    told = transformer(name, train_len=64)
    found = told.logits(text, n, "all", attention.Pass(masks=masks.Masks()))
    assert torch.allclose(model(text, readout="all"), found, atol=1e-12)


def test_random_positions_are_refused_where_they_make_no_sense():
    options = TransformerOptions("transformer", random_positions=64)
    assert options.too_long(64) is None
    assert options.too_long(65) == "model.random_positions = 64 has fewer positions"
    with pytest.raises(UserError, match="words of length 65; random_positions = 64 has fewer positions"):
        transformer("none", random_positions=64)(words(1, 65))


def test_parameters_of_the_encoding_have_a_rate_of_their_own_and_do_not_decay():
    model = transformer("transformer_xl")
    model.encoding.learning_rate = 3.0
    optimiser = make_optimiser(model, TrainingOptions(lr=0.01, weight_decay=0.1))
    rest, position = optimiser.param_groups
    assert (rest["weight_decay"], position["weight_decay"], position["times"]) == (0.1, 0.0, 3.0)
    assert {id(p) for p in position["params"]} == {id(p) for p in model.encoding.parameters()}
    assert len(rest["params"]) + len(position["params"]) == len(list(model.parameters()))
    for one in (Rnn(2, 2, d_model=4), transformer("alibi")):
        assert [len(group["params"]) for group in one.parameter_groups()] == [len(list(one.parameters()))]


def test_short_words_that_look_both_ways_stay_whole_and_long_ones_are_cut():
    model = transformer("alibi", causal=False)
    for length, counts in ((1024, [1024]), (4096, [512] * 8)):
        x, n = torch.zeros(1, length, 16, dtype=torch.float64), torch.arange(length, dtype=torch.float64)
        whole, _ = attention_of(model, 0).turned(x, model.encoding, n, 0, "all", attention.Pass())
        where = list(attention.pieces(whole))
        assert [queries.stop - queries.start for queries, _ in where] == counts
        assert all(keys == slice(0, length) for _, keys in where)


LONG = """
import resource, torch
from regulargpt.models.transformer import Transformer
torch.set_num_threads(1)
torch.set_grad_enabled(False)
model = Transformer(5, 5, d_model=32, n_heads=8, d_ff=32, n_layers=1, causal=False, encoding="t5").eval()
model(torch.zeros(1, 64, dtype=torch.long))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model(torch.zeros(1, 4096, dtype=torch.long), readout="all")
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.slow
def test_a_long_word_that_is_seen_both_ways_takes_little_memory():
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True, check=True)
    # Its pattern alone would have 512 MiB, and so would its mask.
    assert int(done.stdout) < 250
