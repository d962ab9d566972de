"""How far back a prediction depends on what is read: cumulative normalised gradients (sections 4.5.1 and 6.6.4).

The thesis writes ERF = min{m : c_m > 0.99} with c_m the share behind position m, which is always 1, since c_1 = 1.
Meant are the fewest most recent symbols that hold more than 99 %, and so it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from regulargpt.data.language import Words
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.models.hooks import HookPoint, hooks
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.transformer import Transformer
from regulargpt.objectives.answers import to_tensor

# Symbols differentiated at once, for memory.
SYMBOLS_AT_ONCE = 1 << 14
HELD = 0.99
BAND = (0.05, 0.95)

Curves = npt.NDArray[np.float64]  # (words, length)
Targets = npt.NDArray[np.integer]  # (words,)


@dataclass(frozen=True)
class ReceptiveField:
    """c[m - 1] is the share of the gradient that the m most recent symbols hold: mean over words, and the band.

    `erf` is the smallest m with c_m > 0.99 of the mean curve, `erf_words` the smallest and largest of single words.
    `deviation` is the largest distance of the mean curve from the straight line m / T. Words whose prediction depends
    on no symbol at all have no curve; `flat` counts them. With no curve left, all of it is None or empty.

    `erf_at(q)` is the same for another share than 0.99, `share(m)` the share on the m most recent symbols.
    """

    c: Curves  # (length,)
    low: Curves  # (length,)
    high: Curves  # (length,)
    erf: int | None
    erf_words: tuple[int, int] | None
    deviation: float | None
    flat: int

    def erf_at(self, q: float) -> int | None:
        """The fewest most recent symbols that hold more than a share q of the mean curve."""
        return erf(self.c, q) if len(self.c) else None

    def share(self, m: int) -> float | None:
        """The share that the m most recent symbols hold."""
        return float(self.c[min(m, len(self.c)) - 1]) if len(self.c) else None


def receptive_field(
    model: nn.Module, words: Words, *, k_hot: bool = False, targets: Targets | None = None
) -> ReceptiveField:
    """The receptive field of the model's prediction at the end of these words: of the answer it gives, or of `targets`.

    Each word is normalised before the mean: one with large gradients would decide alone.
    """
    norms = gradient_norms(model, words, k_hot=k_hot, targets=targets)
    total = norms.sum(1)
    # A word without a gradient has no curve: it would divide 0 by 0.
    whole = (total > 0) & np.isfinite(total)
    if not whole.any():
        none = np.zeros(0)
        return ReceptiveField(none, none, none, None, None, None, len(words))
    curves = cumulative(norms[whole] / total[whole, None])
    c = curves.mean(0)
    low, high = np.quantile(curves, BAND, axis=0)
    each = [erf(curve) for curve in curves]
    line = np.arange(1, len(c) + 1) / len(c)
    return ReceptiveField(
        c, low, high, erf(c), (min(each), max(each)), float(np.abs(c - line).max()), int((~whole).sum())
    )


def cumulative(s: Curves) -> Curves:
    """c_m, the sum of s over the m most recent symbols, for m = 1..T (words, length).

    >>> cumulative(np.array([[0.25, 0.0, 0.75]])).tolist()
    [[0.75, 0.75, 1.0]]
    """
    return s[:, ::-1].cumsum(1)


def erf(c: Curves, q: float = HELD) -> int:
    """The empirical receptive field min{m | c_m > q}, in most recent symbols; at most the length.

    >>> erf(np.array([0.5, 0.985, 0.995, 1.0])), erf(np.array([0.5, 0.9])), erf(np.array([0.5, 0.9, 1.0]), q=0.5)
    (3, 2, 2)
    """
    held = c > q
    return int(held.argmax()) + 1 if held.any() else len(c)


def theoretical(model: nn.Module, length: int) -> int | None:
    """How many symbols the last position can depend on at most; None where nothing bounds it.

    With windows of w keys in R layers R (w - 1) + 1, and not R w, as the papers say: each window holds its query.
    """
    if not isinstance(model, Transformer) or not model.causal:
        return None
    span, view, first = model.encoding.span, model.view, length - 1
    if span is None and view.most is None:
        return None
    for _ in model.blocks:
        of_encoding = [] if span is None else [first - span + 1]
        of_view = [] if view.most is None else [view.first(first)]
        first = max([*of_encoding, *of_view])
    return length - first


def gradient_norms(model: nn.Module, words: Words, *, k_hot: bool = False, targets: Targets | None = None) -> Curves:
    """||g_m||_2 at each position m of each word (words, length), in float64.

    g_m is the gradient of the prediction (`margin`) at the last position with respect to the embedding of the symbol at
    position m: the value at `hook_embed`, for rnn, lstm and gru the one-hot vector of the symbol. In RegularGPT equal
    sub-words are not shared here, so that each position has a gradient of its own.
    """
    model = model.double().eval()
    at_once = max(1, min(words_at_once(model, words.shape[1]), SYMBOLS_AT_ONCE // words.shape[1]))
    pieces = [slice(at, at + at_once) for at in range(0, len(words), at_once)]
    parts = [norms_of(model, words[at], k_hot, None if targets is None else targets[at]) for at in pieces]
    return np.concatenate(parts)


def norms_of(model: nn.Module, words: Words, k_hot: bool, targets: Targets | None) -> Curves:
    """`gradient_norms` of words that fit into memory together."""
    passed: list[Tensor] = []
    cpu = torch.device("cpu")

    def detach(value: Tensor, hook: HookPoint) -> Tensor:
        # A leaf of its own: the gradient then stops at the embeddings, and is kept for each position.
        passed.append(value.detach().requires_grad_())
        return passed[-1]

    options = {"computation": "dense" if model.full else "plain-tree"} if isinstance(model, RegularGPT) else {}
    with torch.enable_grad(), frozen(model), hooks(model, [("hook_embed", detach)]):
        logits = model(to_tensor(words, cpu), readout="last", **options)
        wanted = None if targets is None else to_tensor(targets, cpu)
        gradients = torch.autograd.grad(margin(logits, k_hot, wanted).sum(), passed)
    # Recurrent models read a word in pieces, each of which passed by itself.
    return torch.cat(gradients, dim=1).norm(dim=-1).numpy()  # (words, length)


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """As long as it is open, no parameter asks for a gradient: what is learned is then computed as fast as what is not.

    >>> model = nn.Linear(1, 1)
    >>> with frozen(model):
    ...     model(torch.ones(1)).requires_grad
    False
    """
    learned = [p for p in model.parameters() if p.requires_grad]
    for p in learned:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in learned:
            p.requires_grad_(True)


def margin(
    logits: Float[Tensor, "batch n_outputs"], k_hot: bool, targets: Int[Tensor, "batch"] | None = None
) -> Float[Tensor, "batch"]:
    """What is differentiated: how far an answer is ahead of the others, z_y - log sum_{k != y} exp z_k.

    The answer y is the target, without targets the predicted one. Its cross-entropy is log(1 + exp(-margin)): its
    gradient, and that of its log-probability, is the margin's times one number for the whole word, which s_m divides
    out. So all three have the same curves; but that number vanishes where the model is certain, the margin's gradient
    does not. With k-hot answers, the sum of |z_k|: every answer's distance from its threshold.

    >>> margin(torch.tensor([[3.0, 1.0]]), k_hot=False).tolist(), margin(torch.tensor([[3.0, -1.0]]), True).tolist()
    ([2.0], [4.0])
    """
    if k_hot:
        return logits.abs().sum(1)
    if logits.shape[1] == 1:
        return logits[:, 0]
    chosen = logits.argmax(1, keepdim=True) if targets is None else targets[:, None]  # (batch, 1)
    others = logits.scatter(1, chosen, -torch.inf)
    return logits.gather(1, chosen)[:, 0] - others.logsumexp(1)
