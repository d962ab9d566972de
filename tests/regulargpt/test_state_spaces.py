"""mamba, mamba2 and s4d against their papers' equations in numpy, word by word and head by head, and against mambapy.

A wrong order of weights, a missing bias, a gate before the norm, an angle that is not that of the paper would be
noticed here alone: the laws of every network of mixers compare our forms with each other only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch

from regulargpt.models import MODELS
from regulargpt.models.mixing.mixer import Mixer
from regulargpt.options import ConfigError
from tests.regulargpt.cases import built
from tests.regulargpt.references import rms, sigmoid, silu, softplus

Weights = Mapping[str, np.ndarray]
Rows = list[np.ndarray]


def convolved(w: Weights, x: Rows) -> Rows:
    if "conv.weight" not in w:
        return [silu(row) for row in x]
    size = w["conv.weight"].shape[1]
    before = [np.zeros_like(x[0])] * (size - 1) + x
    sums = [sum(w["conv.weight"][:, j] * before[t + j] for j in range(size)) for t in range(len(x))]
    return [silu(row + w["conv.bias"]) for row in sums]


def mamba(w: Weights, x: Rows, signed: bool = False) -> Rows:
    N, E = w["a_log"].shape
    R = w["dt_proj"].shape[1]
    projected = [w["in_proj.weight"] @ row for row in x]
    h, found = np.zeros((E, N)), []
    for u, both in zip(convolved(w, [row[:E] for row in projected]), projected, strict=True):
        of_u = w["x_proj.weight"] @ u
        Delta = softplus(w["dt_proj"] @ of_u[:R] + w["dt_bias"])
        B, C = of_u[R : R + N], of_u[R + N :]
        factor = np.exp(-Delta[:, None] * np.exp(w["a_log"].T))
        h = (2 * factor - 1 if signed else factor) * h + np.outer(Delta * u, B)
        found.append(w["out_proj.weight"] @ ((h @ C + w["d"] * u) * silu(both[E:])))
    return found


def mamba2(w: Weights, x: Rows) -> Rows:
    H, E = len(w["d"]), w["out_proj.weight"].shape[1]
    projected = [w["in_proj.weight"] @ row for row in x]
    N = (len(projected[0]) - 2 * E - H) // 2
    S, P, found = np.zeros((H, E // H, N)), E // H, []
    for xbc, whole in zip(convolved(w, [row[E : 2 * E + 2 * N] for row in projected]), projected, strict=True):
        Delta, y = softplus(whole[-H:] + w["dt_bias"]), []
        B, C = xbc[E : E + N], xbc[E + N :]
        for i in range(H):
            of_head = xbc[i * P : (i + 1) * P]
            S[i] = np.exp(-np.exp(w["a_log"][i]) * Delta[i]) * S[i] + Delta[i] * np.outer(of_head, B)
            y.append(S[i] @ C + w["d"][i] * of_head)
        found.append(w["out_proj.weight"] @ rms(np.concatenate(y) * silu(whole[:E]), w["norm.weight"]))
    return found


def rotation(phi: np.ndarray) -> np.ndarray:
    """Of pairs of numbers that stand beside each other, as a matrix."""
    R = np.zeros((2 * len(phi), 2 * len(phi)))
    for i, angle in enumerate(phi):
        R[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return R


def mamba3(w: Weights, x: Rows) -> Rows:
    """As the paper has it: the angles add up, modulo 2 pi, and turn k and q."""
    (H, N), E = w["b_bias"].shape, w["out_proj.weight"].shape[1]
    P, found = E // H, []
    phi, S = np.zeros((H, N // 2)), np.zeros((H, P, N))
    k_before, v_before = np.zeros((H, N)), np.zeros((H, P))
    for row in x:
        parts = np.split(w["in_proj.weight"] @ row, np.cumsum([E, E, N, N, H, H, H]))
        z, v, B, C, delta, rate, part, theta = parts
        Delta, lam, a = softplus(delta + w["dt_bias"]), sigmoid(part), -np.maximum(softplus(rate), 1e-4)
        y = []
        for i in range(H):
            phi[i] = (phi[i] + Delta[i] * np.pi * np.tanh(theta)) % (2 * np.pi)
            k = rotation(phi[i]) @ (rms(B, w["b_norm.weight"]) + w["b_bias"][i])
            q = rotation(phi[i]) @ (rms(C, w["c_norm.weight"]) + w["c_bias"][i])
            of_head, alpha = v[i * P : (i + 1) * P], np.exp(a[i] * Delta[i])
            old = (1 - lam[i]) * Delta[i] * alpha * np.outer(v_before[i], k_before[i])
            S[i] = alpha * S[i] + old + lam[i] * Delta[i] * np.outer(of_head, k)
            y.append(S[i] @ q + w["d"][i] * of_head)
            k_before[i], v_before[i] = k, of_head
        found.append(w["out_proj.weight"] @ (np.concatenate(y) * silu(z)))
    return found


def s4d(w: Weights, x: Rows) -> Rows:
    """As a sum over all that came before."""
    alpha, Delta = -np.exp(w["a_log"]) + 1j * w["a_imag"], np.exp(w["dt_log"])[:, None]
    a, c = np.exp(Delta * alpha), w["c"][..., 0] + 1j * w["c"][..., 1]
    b, found = (a - 1) / alpha, []
    for t, row in enumerate(x):
        y = sum(2 * (c * a ** (t - s) * b).sum(1).real * x[s] for s in range(t + 1)) + w["d"] * row
        y = np.array([v * (1 + torch.erf(torch.tensor(v / 2**0.5)).item()) / 2 for v in y])
        left, right = np.split(w["out.weight"] @ y + w["out.bias"], 2)
        found.append(left * sigmoid(right))
    return found


EQUATIONS: dict[str, Callable[..., Rows]] = {
    "mamba": mamba,
    "mamba:range=signed": lambda w, x: mamba(w, x, signed=True),
    "mamba:conv=0,expand=1,d_state=3": mamba,
    "mamba2": mamba2,
    "mamba2:conv=0,d_state=5": mamba2,
    "mamba2:version=3,d_state=6": mamba3,
    "s4d": s4d,
}


def mixer_of(case: str, **sizes: int) -> Mixer:
    """The mixer of the first block, in float64, with no weight at 0 or 1."""
    return built(case, **sizes).blocks[0].mixer


@pytest.mark.parametrize("case", EQUATIONS)
@torch.no_grad()
def test_a_mixer_computes_the_equations_of_its_paper(case: str):
    mixer = mixer_of(case)
    x = 2 * torch.randn(2, 9, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weights = {name: value.numpy() for name, value in mixer.state_dict().items()}
    found, _ = mixer(x, None, "all")
    for word, expected in zip(x.numpy(), found.numpy(), strict=True):
        np.testing.assert_allclose(EQUATIONS[case](weights, [*word]), expected, rtol=1e-11, atol=1e-12)


@torch.no_grad()
def test_a_mixer_computes_what_mambapy_computes():
    """To float32, in which mambapy has A. To have it: `pip install --no-deps mambapy`."""
    oracle = pytest.importorskip("mambapy.mamba", reason="mambapy is not installed")
    mixer = mixer_of("mamba", d_model=24)
    block = oracle.MambaBlock(oracle.MambaConfig(d_model=24, n_layers=1, pscan=False)).double()
    weights = mixer.state_dict()
    same = {name: weights[name] for name in ("in_proj.weight", "x_proj.weight", "out_proj.weight")}
    conv = {"conv1d.weight": weights["conv.weight"][:, None], "conv1d.bias": weights["conv.bias"]}
    delta = {"dt_proj.weight": weights["dt_proj"], "dt_proj.bias": weights["dt_bias"]}
    block.load_state_dict({**same, **conv, **delta, "A_log": weights["a_log"].T, "D": weights["d"]})
    x = torch.randn(3, 12, 24, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(mixer(x, None, "all")[0], block(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("mamba2:version=3,d_state=3", "d_state = 3: version = 3 turns pairs of rows; give an even number"),
        ("mamba2:version=1", "version = 1; there are versions 2 and 3"),
        ("mamba2:n_heads=5", "d_model = 64 is not a multiple of model.n_heads = 5"),
        ("mamba:range=closed", "range = 'closed'; choose one of unit, signed"),
        ("mamba:d_state=0", "d_state = 0; a channel has at least 1"),
        ("s4d:d_state=7", "d_state = 7: a complex number is a pair; give an even number"),
    ],
)
def test_refused_options(written: str, message: str):
    with pytest.raises(ConfigError) as refused:
        MODELS.options(written, "model")
    assert message in str(refused.value)
