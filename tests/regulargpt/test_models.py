"""What every model owes to whoever trains it, tests it and listens to it: one table of cases, one test a law."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from languages.errors import UserError
from regulargpt.models import MODELS
from regulargpt.models.hooks import hook_names, run_with_cache
from regulargpt.models.layers import Dropout, seed_counted
from regulargpt.storage import tensors
from tests.regulargpt import cases
from tests.regulargpt.cases import SMALL, assert_equal, built, fresh, slopes, words_of

WITH_DROPOUT = [case for case in cases.KINDS if case.startswith(("ldru", "transformer", "encoder"))]
ROOT = Path(__file__).parents[2]
PUBLISHED = ("a_log", "a_imag", "mu", "w_0", "a_0", "v_0", "k_k")
"""Weights that start at numbers of a publication, each channel at its own."""


@pytest.mark.parametrize("case", cases.CASES)
def test_a_generator_gives_the_weights_and_the_global_random_state_is_left_alone(case: str):
    before = torch.get_rng_state()
    first, again, other = (fresh(case, seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    for name, value in first.items():
        assert torch.equal(value, again[name])
        constant = (
            len(value.unique()) <= 2 or name.rpartition(".")[2] in PUBLISHED or name.endswith(".mixer.w.bias")
        )  # gains and biases
        assert not torch.equal(value, other[name]) or constant, name
    assert len({value.data_ptr() for value in first.values()}) == len(first)


@pytest.mark.parametrize("case", cases.EVERY)
@pytest.mark.parametrize("length", [2, 9, 33])
@torch.no_grad()
def test_a_change_at_t_alters_the_answer_there_and_none_before(case: str, length: int):
    model, words = built(case), words_of(1, length).repeat(length, 1)
    before = model(words[:1], readout="all")
    words.diagonal().add_(1).remainder_(3)  # the word of row t changes at t
    moved = (model(words, readout="all") - before).abs().amax(-1)  # (t, position)
    assert float(moved.diagonal().min()) > 1e-6
    assert float(moved.tril(-1).max()) < 1e-13 or case in cases.BOTH_WAYS
    assert case not in cases.BOTH_WAYS or float(moved[-1, 0]) > 1e-8


@pytest.mark.parametrize("case", cases.CASES)
@torch.no_grad()
def test_words_of_a_batch_do_not_see_each_other(case: str):
    model, words = built(case), words_of(5, 11)
    alone = torch.cat([model(word[None]) for word in words])
    assert_equal([model(words), model(words.flip(0))], [alone, alone.flip(0)], 1e-12)
    if case in cases.EVERY:
        alone = torch.cat([model(word[None], readout="all") for word in words])
        assert_equal([model(words, readout="all")], [alone], 1e-12)


@pytest.mark.parametrize("case", cases.EVERY)
@pytest.mark.parametrize("length", [1, 2, 9, 17])
def test_last_is_the_last_of_all_in_outputs_and_gradients(case: str, length: int):
    model = built(case, dropout=0.4).train() if case.startswith("transformer") else built(case)
    words, results = words_of(3, length, seed=length), []
    for readout in ("last", "all"):
        seed_counted(model, seed=0, step=1)
        outputs = model(words, readout=readout)
        results.append(slopes(model, outputs if readout == "last" else outputs[:, -1]))
    assert_equal(*results, 1e-11)


@pytest.mark.parametrize("case", [case for case in cases.CASES if case not in cases.CAUSAL])
@torch.no_grad()
def test_it_may_read_symbol_by_symbol_also_with_a_window(case: str):
    """Those that look back with attention have tests of their own: a window is another thing to them."""
    model, words = built(case), words_of(2, 12)
    for window in (12, 4):
        decoder = model.decoder(None if window == 12 else window)
        found = [decoder.feed(symbol) for symbol in words.split(1, dim=1)]
        for t in (0, 1, 8, 11):
            assert_equal([found[t]], [model(words[:, max(0, t + 1 - window) : t + 1])], 1e-10)


@pytest.mark.parametrize("case", cases.CASES)
def test_who_listens_changes_nothing_and_hears_every_point(case: str):
    model, words = built(case), words_of(2, 6)
    for readout in ("last", "all") if case in cases.EVERY else ("last",):
        output, cache = run_with_cache(model, words, readout=readout)
        assert_equal([output], [model(words, readout=readout)], 1e-12)
        assert {name.partition(":")[0] for name in cache} == set(hook_names(model))
    if case in cases.CAUSAL + cases.BOTH_WAYS:
        pattern = cache["blocks.1.attn.hook_pattern"]
        assert pattern.shape == (2, 2, 6, 6)
        assert_equal([pattern.sum(-1)], [torch.ones(2, 2, 6, dtype=torch.float64)], 1e-12)
        assert bool((pattern.triu(1) == 0).all()) == (case in cases.CAUSAL)


@pytest.mark.parametrize("case", cases.CASES)
@torch.no_grad()
def test_what_is_saved_is_the_model(case: str):
    model, words = built(case), words_of(2, 9)
    twin = fresh(case, seed=1)
    twin.load_state_dict(tensors.parse_weights(tensors.render_weights(model.state_dict()), Path("model.safetensors")))
    assert torch.equal(twin(words), model(words))


@pytest.mark.parametrize("case", cases.CASES)
@torch.no_grad()
def test_float32_stays_finite_and_close_to_float64_at_length_500(case: str):
    model, words = (built if case.startswith("transformer") else fresh)(case), words_of(1, 500)
    readout = "all" if case in cases.EVERY else "last"
    exact = model(words, readout)
    assert torch.allclose(model.float()(words, readout).double(), exact, atol=2e-4)
    assert bool(exact.isfinite().all())


@pytest.mark.parametrize("case", WITH_DROPOUT)
def test_dropout_is_a_function_of_seed_and_step(case: str):
    model, words, before = built(case, dropout=0.3).train(), words_of(4, 6), torch.get_rng_state()

    def drawn(step: int) -> torch.Tensor:
        seed_counted(model, seed=1, step=step)
        return model(words)

    first = drawn(7)
    assert not torch.equal(model(words), first)
    assert torch.equal(drawn(7), first)
    assert not torch.equal(drawn(8), first)
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(model.eval()(words), built(case, dropout=0.0)(words))


def test_dropout_keeps_the_mean_and_drops_the_stated_fraction():
    out = Dropout(0.25)(torch.ones(200_000))
    assert float((out == 0).double().mean()) == pytest.approx(0.25, abs=0.005)
    assert out.unique().tolist() == [0.0, pytest.approx(4 / 3)]


D, D_FF = SMALL["d_model"], SMALL["d_ff"]
OWN = 4 * D**2 + (2 * D * D_FF + D_FF + D) + 4 * D  # of a block: attention, FFN, two norms
PLAIN = 3 * D + 2 * OWN + D * 4 + 4
COUNTS = {
    **{
        name: gates * (3 * D + D * D + 2 * D) + gates * (2 * D * D + 2 * D) + D * 4 + 4
        for name, gates in (("rnn", 1), ("lstm", 4), ("gru", 3))
    },
    "linear-rnn": 3 * D + 2 * (4 * D * D + 3 * D + (2 * D * D + 2 * D) + 2 * D) + 2 * D + D * 4 + 4,
    "transformer:norm=post": PLAIN,
    **dict.fromkeys((f"transformer:encoding={name}" for name in ("none", "rotary", "alibi")), PLAIN + 2 * D),
    "transformer:encoding=transformer_xl": PLAIN + 2 * D + 2 * (D**2 + 2 * D),
}


@pytest.mark.parametrize("case", COUNTS)
def test_parameter_counts(case: str):
    assert sum(p.numel() for p in fresh(case).parameters()) == COUNTS[case]


@pytest.mark.parametrize("case", cases.KINDS)
@pytest.mark.parametrize(
    ("shape", "readout", "message"),
    [
        ((2, 0), "last", "words of shape (2, 0); a batch is (batch, length) with length >= 1"),
        ((3,), "last", "words of shape (3,); a batch is (batch, length) with length >= 1"),
        ((2, 3), "lst", "unknown readout 'lst'; did you mean 'last'?"),
        ((2, 3), "first", "unknown readout 'first'; known are 'last', 'all'"),
    ],
)
def test_refused_words(case: str, shape: tuple[int, ...], readout: str, message: str):
    with pytest.raises(UserError) as refused:
        built(case)(torch.zeros(shape, dtype=torch.long), readout)
    assert str(refused.value) == message


HEADS = "n_heads = 3 does not divide d_model = 8; choose one that does"
UNBUILT = [
    *((name, {"n_heads": 3}, HEADS) for name in ("transformer", "regulargpt")),
    *((name, {"norm": "psot"}, "unknown norm 'psot'; did you mean 'post'?") for name in ("transformer", "regulargpt")),
    ("transformer", {"activation": "tanh"}, "unknown activation 'tanh'; known are 'relu', 'gelu'"),
    ("regulargpt", {"activation": "tanh"}, "unknown activation 'tanh'; known are 'relu', 'gelu'"),
    ("encoder-decoder", {"activation": "tanh"}, "unknown activation 'tanh'; did you mean 'gelu_tanh'?"),
    ("transformer", {"encoding": "alibbi"}, "unknown encoding 'alibbi'; did you mean 'alibi'?"),
    ("transformer", {"dropout": 1.0}, "dropout = 1.0; it must be at least 0 and below 1"),
    *(("regulargpt", {"chunk_size": C}, f"chunk_size = {C}; a chunk has at least 2 symbols") for C in (0, 1)),
    ("regulargpt", {"pad": "mask"}, "unknown pad 'mask'; did you mean 'masked'?"),
    ("regulargpt", {"attention": "dense"}, "unknown attention 'dense'; known are 'dilated', 'full'"),
    ("regulargpt", {"gates": True, "pad": "masked"}, "pad = 'masked': gates need pad = 'learned'"),
    ("regulargpt", {"gates": True, "attention": "full"}, "attention = 'full': gates need attention = 'dilated'"),
]


@pytest.mark.parametrize(("name", "options", "message"), UNBUILT)
def test_a_constructor_refuses_what_no_option_checked(name: str, options: dict, message: str):
    with pytest.raises(UserError) as refused:
        MODELS[name].load()(3, 4, **({"d_model": 8, "n_heads": 2} | options))
    assert str(refused.value) == message


SHAPES = """
from jaxtyping import install_import_hook
with install_import_hook(["regulargpt.encodings", "regulargpt.models", "regulargpt.models.hooks"], "beartype.beartype"):
    from regulargpt.models.hooks import run_with_cache
    from tests.regulargpt.cases import CASES, built, words_of
for case in [*CASES, "regulargpt:chunk_size=8,thickness=3", "stack-rnn"]:
    model = built(case).train()
    model.set_noise(0.1)
    for T in (1, 5):
        words = words_of(2, T)
        assert (run_with_cache(model, words)[0] if T == 5 else model(words)).shape == (2, 4)
        assert model.answers(words, T).shape == (2, T, 4)
        for computation in ("tree", "plain-tree", "every", "dense") if case.startswith("regulargpt") else ():
            if computation == "dense" or "full" not in case:
                assert model(words, computation=computation).shape == (2, 4)
                if computation in ("every", "dense"):
                    assert model(words, "all", computation).shape == (2, T, 4)
try:
    model(words.double())
except Exception as error:
    print(type(error).__name__)
"""


def test_every_annotated_shape_holds():
    """Checked by beartype while every model runs."""
    done = subprocess.run([sys.executable, "-c", SHAPES], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "TypeCheckError\n"), done.stderr
