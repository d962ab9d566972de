"""Positional encodings against their papers' formulas, written out position by position in float64."""

import math
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from languages.errors import UserError, one_of
from regulargpt import encodings
from regulargpt.encodings.alibi import Alibi, geometric, press
from regulargpt.encodings.base import Encoding, consecutive
from regulargpt.encodings.rotary import Rotary
from regulargpt.encodings.sinusoidal import Sinusoidal, sinusoid
from regulargpt.encodings.transformer_xl import TransformerXL

LENGTHS = [1, 2, 3, 5, 8, 13]
RELATIVE = ["rotary", "alibi", "transformer_xl"]


def normal(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def built(name: str, causal: bool, d_model: int = 8, n_heads: int = 2) -> Encoding:
    generator = torch.Generator().manual_seed(5)
    made = encodings.build(name, d_model=d_model, n_heads=n_heads, n_layers=2, causal=causal, generator=generator)
    return made.double()


def position_logits(encoding: Encoding, q: Tensor, k: Tensor, layer: int = 0) -> Tensor:
    """Scaled logits with the encoding; above the diagonal of a causal model, where anything may stand, 0."""
    at = consecutive(q, k, layer)
    q, k = encoding.rotate(q, k, at)
    logits = q @ k.mT / math.sqrt(q.shape[-1])
    bias = encoding.bias(q, k, at)
    logits = logits if bias is None else logits + bias
    return logits.tril(k.shape[-2] - q.shape[-2]) if encoding.causal else logits


@pytest.mark.parametrize("width", [1, 2, 5, 8])
def test_sinusoid_is_the_papers_formula(width: int):
    table = sinusoid(torch.tensor([0.0, 1.0, 7.0, 1e6, -3.0], dtype=torch.float64), width)
    for row, m in zip(table, [0.0, 1.0, 7.0, 1e6, -3.0], strict=True):
        for column in range(width):
            angle = m / 10000 ** ((column - column % 2) / width)
            wanted = math.cos(angle) if column % 2 else math.sin(angle)
            assert float(row[column]) == pytest.approx(wanted, abs=1e-9)


def test_sinusoidal_adds_to_the_input_and_to_nothing_else():
    encoding, x = Sinusoidal(d_model=6, n_heads=2), normal(0, 3, 4, 6)
    assert torch.equal(
        encoding.embed(x, torch.arange(4.0).double()) - x, (x * 0 + sinusoid(torch.arange(4.0).double(), 6) + x) - x
    )
    q = normal(1, 3, 2, 4, 3)
    assert encoding.rotate(q, q, consecutive(q, q))[0] is q
    assert encoding.bias(q, q, consecutive(q, q)) is None


@pytest.mark.parametrize("length", LENGTHS)
def test_rotary_is_the_papers_block_diagonal_matrix(length: int):
    width = 6
    q = normal(length, 2, 3, length, width)
    rotated, _ = Rotary(d_model=18, n_heads=3).rotate(q, q, consecutive(q, q))
    for m in range(length):
        r = torch.zeros(width, width, dtype=torch.float64)
        for i in range(width // 2):
            angle = m * 10000 ** (-2 * i / width)
            c, s = math.cos(angle), math.sin(angle)
            r[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor([[c, -s], [s, c]], dtype=torch.float64)
        assert torch.allclose(rotated[:, :, m], q[:, :, m] @ r.T, atol=1e-12, rtol=0)


def test_alibi_is_equation_4_3():
    q = normal(0, 2, 4, 7, 3)
    bias = Alibi(d_model=12, n_heads=4).bias(q, q, consecutive(q, q))
    for head in range(4):
        for m in range(7):
            for n in range(7):
                assert float(bias[0, head, m, n]) == -abs(m - n) / 2 ** ((head + 1) * 8 / 4)


def test_alibi_slopes_are_those_the_paper_prints_for_8_and_16_heads():
    assert geometric(8).tolist() == [2.0**-h for h in range(1, 9)]
    assert torch.allclose(geometric(16), torch.tensor([2 ** (-h / 2) for h in range(1, 17)], dtype=torch.float64))


@pytest.mark.parametrize("n_heads", range(1, 17))
def test_alibi_slopes_of_the_published_code(n_heads: int):
    """The recursion of fairseq's get_slopes, on exponents: P heads, then every second one of 2 P heads."""

    def exponents(n: int) -> list[float]:
        if n & (n - 1) == 0:
            return [8 * (h + 1) / n for h in range(n)]
        power = max(2**k for k in range(5) if 2**k <= n)
        return exponents(power) + exponents(2 * power)[0::2][: n - power]

    assert torch.allclose(press(n_heads), torch.tensor([2.0**-e for e in exponents(n_heads)], dtype=torch.float64))
    assert (n_heads & (n_heads - 1) == 0) == bool(torch.equal(press(n_heads), geometric(n_heads)))


def naive_xl_logits(encoding: TransformerXL, q: Tensor, k: Tensor, layer: int) -> Tensor:
    """(q_m + u) k_n + (q_m + v) W_R R_{m-n}, one pair of positions at a time; 0 in the future of a causal model."""
    _, heads, n_queries, width = q.shape
    n_keys = k.shape[-2]
    rows = []
    for m in range(n_keys - n_queries, n_keys):
        row = []
        for n in range(n_keys):
            r = sinusoid(torch.tensor([float(m - n)], dtype=torch.float64), heads * width)[0]
            r = (r @ encoding.weight[layer]).reshape(heads, width)
            query = q[:, :, m - n_keys + n_queries]
            value = ((query + encoding.u[layer]) * k[:, :, n]).sum(-1) + ((query + encoding.v[layer]) * r).sum(-1)
            row.append(value / math.sqrt(width) * (0.0 if encoding.causal and n > m else 1.0))
        rows.append(torch.stack(row, -1))
    return torch.stack(rows, -2)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("n_queries", [1, 2, None])
def test_transformer_xl_equals_a_loop_over_pairs(length: int, n_queries: int | None, causal: bool):
    n_queries = min(n_queries or length, length)
    encoding = TransformerXL(d_model=6, n_heads=2, n_layers=2, causal=causal).double()
    gradients = []
    for logits in (position_logits, naive_xl_logits):
        q = normal(1, 3, 2, n_queries, 3).requires_grad_()
        k = normal(2, 3, 2, length, 3).requires_grad_()
        out = logits(encoding, q, k, 1)
        loss = (out * normal(3, *out.shape)).sum()
        wanted = [q, k, encoding.weight, encoding.u, encoding.v]
        gradients.append([out, *torch.autograd.grad(loss, wanted)])
    for fast, naive in zip(*gradients, strict=True):
        assert torch.allclose(fast, naive, atol=1e-12, rtol=0)


def test_the_table_of_sinusoids_gives_every_distance_in_any_order_of_asking():
    encoding = TransformerXL(d_model=6, n_heads=2)
    with torch.inference_mode():
        encoding.sinusoids(2, -1)
    for highest, lowest in [(0, -1), (4, -5), (3, -1), (40, -1), (0, -33), (31, -32), (32, -1)]:
        wanted = sinusoid(torch.arange(highest, lowest - 1, -1).double(), 6)
        assert torch.equal(encoding.sinusoids(highest, lowest), wanted)
    q = normal(0, 1, 2, 3, 3).requires_grad_()
    encoding.float().double().bias(q, q, consecutive(q, q)).sum().backward()
    assert encoding.weight.grad is not None


@pytest.mark.parametrize("name", RELATIVE)
@pytest.mark.parametrize("causal", [True, False])
def test_relative_encodings_are_translation_invariant(name: str, causal: bool):
    """With the same query and the same key everywhere, a logit depends on m - n alone, and not on the length."""
    encoding = built(name, causal)
    q, k = (normal(seed, 1, 2, 1, 4).expand(-1, -1, 12, -1) for seed in (1, 2))
    logits = position_logits(encoding, q, k, layer=1)
    assert torch.allclose(logits[..., 1:, 1:], logits[..., :-1, :-1], atol=1e-12, rtol=0)
    shorter = position_logits(encoding, q[:, :, :7], k[:, :, :7], layer=1)
    assert torch.allclose(logits[..., :7, :7], shorter, atol=1e-12, rtol=0)


def test_transformer_xl_parameters_are_drawn_from_the_generator_alone():
    before = torch.get_rng_state()
    first, second = built("transformer_xl", True), built("transformer_xl", True)
    assert torch.equal(before, torch.get_rng_state())
    assert [tuple(p.shape) for p in first.parameters()] == [(2, 8, 8), (2, 2, 4), (2, 2, 4)]
    assert all(torch.equal(p, q) for p, q in zip(first.parameters(), second.parameters(), strict=True))


REFUSALS = {
    ("rotery", 8, 2): "unknown encoding 'rotery'; did you mean 'rotary'?",
    ("zzz", 8, 2): "unknown encoding 'zzz'; choose " + one_of(list(encodings.ENCODINGS)),
    ("rotary", 6, 2): "rotary needs heads of even width, d_model / n_heads = 6 / 2 = 3; change d_model or n_heads",
    ("alibi", 8, 3): "n_heads = 3 does not divide d_model = 8; choose one that does",
}


@pytest.mark.parametrize(("given", "message"), REFUSALS.items())
def test_refusals(given: tuple[str, int, int], message: str):
    name, d_model, n_heads = given
    with pytest.raises(UserError) as refused:
        encodings.build(name, d_model=d_model, n_heads=n_heads)
    assert str(refused.value) == message


def test_every_file_of_the_package_is_in_the_registry():
    files = {path.stem for path in Path(encodings.__file__).parent.glob("*.py")} - {
        "__init__",
        "wrapper",
        "base",
        "distance",
        "options",
        "tempered",  # put around a trained one
    }
    assert files == {row.place.partition(":")[0].rpartition(".")[2] for row in encodings.ENCODINGS.values()}


def test_the_guide_names_every_encoding():
    guide = Path(encodings.__file__).parents[2] / "docs/models.md"
    rows = [line.split("|")[1] for line in guide.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = " ".join(rows).replace("`", "").replace(",", "").split()
    assert [name for name in encodings.ENCODINGS if name not in named] == []


def test_listing_the_encodings_does_not_import_torch():
    code = "import sys; from regulargpt.encodings import ENCODINGS; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
