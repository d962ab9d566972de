"""`regulargpt kernels ENCODING`: the bias of an encoding as a kernel, head by head."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from languages.errors import UserError
from regulargpt import encodings, plots
from regulargpt.encodings.base import Encoding, Positions
from regulargpt.measurements import files
from regulargpt.measurements.effective_length import LONGEST, THRESHOLD, effective_lengths
from regulargpt.measurements.kernels import Shift, definiteness, shift_error, smallest_shift, softmax_change
from regulargpt.measurements.subject import refuse_file
from regulargpt.objectives.measures import Measure

D_HEAD = 8  # a bias that looks at no input does not depend on it
MOST_ENTRIES = 1 << 24  # of the matrices of all heads: 128 MiB
MOST_SHIFTED = 128  # positions that are shifted: each shift is another matrix a head
INVARIANT = 1e-12  # relative, in float64
COLUMNS = ("head", "distance", "bias")


def kernels_report(text: str, *, n_heads: int, length: int, seed: int = 0, out: Path | None = None) -> dict[str, Any]:
    """What `kernels` and `effective_length` find for each head of an encoding as it is before training.

    With `out`, kernels.json, .csv and .png are written there. Raises UserError, before anything is written, for an
    encoding without a bias, or with one that depends on what is read, and for matrices beyond memory.

    >>> report = kernels_report("alibi", n_heads=8, length=32)
    >>> report["heads"][0]["shift"]["smallest_c"], report["heads"][0]["effective_length"]["text"]
    ({'2': 0.25, '8': 1.75, '32': 7.75}, '5')
    """
    if out is not None:
        refuse_file(out)
    if n_heads * length**2 > MOST_ENTRIES:
        raise UserError(f"{n_heads} heads on {length} positions: too large; choose fewer heads or a shorter length")
    generator = torch.Generator().manual_seed(seed)
    encoding = encodings.build(text, d_model=n_heads * D_HEAD, n_heads=n_heads, generator=generator).double().eval()
    facts = {"encoding": text, "n_heads": n_heads, "length": length, "seed": seed}
    report = plain({**facts, **of_encoding(encoding, text, length)})
    if out is not None:
        write(out, report)
    return report


def of_encoding(encoding: Encoding, name: str, length: int, layer: int = 0) -> dict[str, Any]:
    """The report of an encoding at hand, a trained one too."""
    at = np.arange(length, dtype=float)
    bias = bias_between(encoding, name, at, at, layer)  # (n_heads, length, length)
    seen = np.tri(length, dtype=bool)
    difference = shift_error(lambda m, n: bias_between(encoding, name, m, n, layer), min(length, MOST_SHIFTED))
    far = np.arange(LONGEST + 1, dtype=float)
    by_distance = bias_between(encoding, name, far[-1:], far, layer)[:, 0, ::-1]  # (n_heads, LONGEST + 1)
    finite = bias[:, seen][np.isfinite(bias[:, seen])]
    is_invariant = difference <= INVARIANT * max(1.0, float(np.abs(finite).max(initial=0.0)))
    effective = effective_lengths(by_distance)
    return {
        "shift_invariance": {"largest_difference": difference, "is_invariant": is_invariant},
        "also_multiplies_logits": encoding.changes_score,
        "softmax_ignores_a_constant": softmax_change(bias[:, -1], 10.0) < INVARIANT,
        "heads": [
            {"head": head, **of_kernel(mirrored(bias[head - 1])), "effective_length": found.as_json()}
            for head, found in enumerate(effective, 1)
        ],
        "bias": by_distance[:, :length].tolist(),
    }


def of_kernel(K: Float[ndarray, "n n"]) -> dict[str, Any]:
    """Definiteness on all points, and the smallest constant on the first n of them for three n."""
    length = len(K)
    lengths = sorted({max(2, length // 16), max(2, length // 4), length})
    shift = Shift({n: smallest_shift(K[:n, :n]) for n in lengths})
    return {"definiteness": definiteness(K).as_json(), "shift": shift.as_json()}


def mirrored(bias: Float[ndarray, "n n"]) -> Float[ndarray, "n n"]:
    """What a causal bias says of m >= n, in the other half too: k(m, n) = k(n, m), as the thesis extends it.

    >>> mirrored(np.array([[0.0, 9.0], [-1.0, 0.0]])).tolist()
    [[0.0, -1.0], [-1.0, 0.0]]
    """
    lower = np.tri(len(bias), dtype=bool)
    return np.where(lower, bias, bias.T)


@torch.no_grad()
def bias_between(
    encoding: Encoding, name: str, m: Float[ndarray, "queries"], n: Float[ndarray, "keys"], layer: int
) -> Float[ndarray, "n_heads queries keys"]:
    """The bias between queries and keys at these positions. Raises UserError if there is none, or it reads the input.

    It is asked twice, for queries, keys and inputs of zeros and at random: what differs depends on more than positions.
    """
    generator = torch.Generator().manual_seed(0)
    answers = [_bias(encoding, m, n, layer, generator, scale) for scale in (0.0, 1.0)]
    if answers[0] is None or answers[1] is None:
        raise UserError(f"{name} adds no bias to the logits; choose an encoding that does, such as alibi")
    if not torch.equal(answers[0], answers[1]):
        raise UserError(f"the bias of {name} depends on what is read, not on positions alone; it is no kernel of them")
    return answers[0].numpy()


def _bias(
    encoding: Encoding, m: ndarray, n: ndarray, layer: int, generator: torch.Generator, scale: float
) -> torch.Tensor | None:
    def drawn(*shape: int) -> torch.Tensor:
        return scale * torch.randn(*shape, generator=generator, dtype=torch.float64)

    state = encoding.prepare(drawn(1, len(n), encoding.d_model), layer)
    q, k = (drawn(1, encoding.n_heads, len(points), encoding.d_head) for points in (m, n))
    bias = encoding.bias(q, k, Positions(torch.from_numpy(m), torch.from_numpy(n), layer, state))
    return None if bias is None else bias[0].double().expand(encoding.n_heads, len(m), len(n))  # (n_heads, m, n)


def plain(value: Any) -> Any:
    """What JSON can say: six significant digits, 0 for what is rounding, null for what is infinite.

    >>> plain({"a": [-math.inf, 0.123456789, 1e-17], "b": "text"})
    {'a': [None, 0.123457, 0.0], 'b': 'text'}
    """
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return 0.0 if abs(value) < INVARIANT else float(f"{value:.6g}")


def write(out: Path, report: dict[str, Any]) -> None:
    """A row a head and distance."""
    rows = [
        (head, distance, value)
        for head, values in enumerate(report["bias"], 1)
        for distance, value in enumerate(values)
    ]
    files.write(out, "kernels", report, [COLUMNS, *rows], lambda path: picture(path, report))


def picture(path: Path, report: dict[str, Any]) -> None:
    """The bias of each head by distance, without that at distance 0, and the line that ends the effective length."""
    lines = [line(head, values) for head, values in enumerate(report["bias"], 1)]
    measure = Measure("bias", "bias(x) - bias(0)", "", True, None, None)
    figure = plots.single(lines, measure, levels={"ends the effective length": THRESHOLD})
    figure.axes[0].set(xlabel="distance m - n")
    figure.axes[0].set_title(f"{report['encoding']}, {report['n_heads']} heads", parse_math=False)
    plots.save(path, figure)


def line(head: int, values: list[float | None]) -> plots.Line:
    """A head's curve, up to where it is -inf.

    >>> line(1, [1.0, 0.5, None]).values
    [0.0, -0.5]
    """
    drawn = [value for value in values[: values.index(None) if None in values else None] if value is not None]
    shown = [value - drawn[0] for value in drawn]
    return plots.Line(f"head {head}", range(len(shown)), shown, shown, shown)
