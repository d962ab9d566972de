"""How far back a prediction depends on what is read: cumulative normalised gradients (sections 4.5.1 and 6.6.4).

The thesis writes ERF = min{m : c_m > 0.99} with c_m the share behind position m, which is always 1, since c_1 = 1.
Meant are the fewest most recent symbols that hold more than 99 %, and so it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from languages.errors import UserError, shown
from languages.randomness import rng
from regulargpt import plots
from regulargpt.config.schema import RunConfig
from regulargpt.data.base import Words
from regulargpt.data.options import FURTHEST
from regulargpt.evaluation.by_length import words_at_once
from regulargpt.evaluation.interval import FILES, Interval
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.measurements.options import HELD, REACH, ReceptiveFieldOptions
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.sample import SEGMENTS, Sample, segments_of, words_of
from regulargpt.models.base import device_of
from regulargpt.models.hooks import HookPoint, hooks
from regulargpt.models.regulargpt import RegularGPT
from regulargpt.models.transformer import Transformer
from regulargpt.objectives.answers import to_tensor
from regulargpt.plots import Line
from regulargpt.runs.opened import Opened
from regulargpt.tables import Table

# Symbols differentiated at once, for memory.
SYMBOLS_AT_ONCE = 1 << 14
BAND = (0.05, 0.95)
SHARES = (0.5, 0.9, HELD)
WORDS = 32
TENTHS = 10
CURVES = ("c", "low", "high")
# Of a claim: so many points of a curve in a training length, and so many draws of the segments for an interval.
POINTS, DRAWS = 16, 400

Shares = npt.NDArray[np.float64]  # (words, length)
Targets = npt.NDArray[np.integer]  # (words,)


@dataclass(frozen=True)
class ReceptiveField:
    """c[m - 1] is the share of the gradient that the m most recent symbols hold: mean over words, and the band.

    `erf` is the smallest m with c_m > 0.99 of the mean curve, `erf_words` the smallest and largest of single words.
    `deviation` is the largest distance of the mean curve from the straight line m / T. Words whose prediction depends
    on no symbol at all have no curve; `flat` counts them. With no curve left, all of it is None or empty.

    `erf_at(q)` is the same for another share than 0.99, `share(m)` the share on the m most recent symbols.
    """

    c: Shares  # (length,)
    low: Shares  # (length,)
    high: Shares  # (length,)
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

    Each word is normalised before the mean: a word with large gradients would decide alone.
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


def cumulative(s: Shares) -> Shares:
    """c_m, the sum of s over the m most recent symbols, for m = 1..T (words, length).

    >>> cumulative(np.array([[0.25, 0.0, 0.75]])).tolist()
    [[0.75, 0.75, 1.0]]
    """
    return s[:, ::-1].cumsum(1)


def erf(c: Shares, q: float = HELD) -> int:
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


def gradient_norms(model: nn.Module, words: Words, *, k_hot: bool = False, targets: Targets | None = None) -> Shares:
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


def norms_of(model: nn.Module, words: Words, k_hot: bool, targets: Targets | None) -> Shares:
    """`gradient_norms` of words that fit into memory together."""
    passed: list[Tensor] = []
    device = device_of(model)

    def detach(value: Tensor, hook: HookPoint) -> Tensor:
        # A leaf of its own: the gradient then stops at the embeddings, and is kept for each position.
        passed.append(value.detach().requires_grad_())
        return passed[-1]

    options = {"computation": "dense" if model.full else "plain-tree"} if isinstance(model, RegularGPT) else {}
    with torch.enable_grad(), frozen(model), hooks(model, [("hook_embed", detach)]):
        logits = model(to_tensor(words, device), readout="last", **options)
        wanted = None if targets is None else to_tensor(targets, device)
        gradients = torch.autograd.grad(margin(logits, k_hot, wanted).sum(), passed)
    # Recurrent models read a word in pieces, each of which passed by itself.
    return torch.cat(gradients, dim=1).norm(dim=-1).cpu().numpy()  # (words, length)


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

    The answer y is the target, without targets the predicted symbol. Its cross-entropy is log(1 + exp(-margin)): its
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


def measure(run: Opened, options: ReceptiveFieldOptions) -> Finding:
    """Of a run on a language that of the predicted answer, of a model on a text that of the symbol that comes next.

    Raises UserError for a language model that depends on no symbol.
    """
    if run.data.kind == "text":
        sample = segments_of(run, options.length, options.words or SEGMENTS, options.seed, paired=True)
    else:
        sample = words_of(run, options.length, options.words or WORDS, options.seed)
    k_hot, targets = run.config.objective.name == "next", sample.words[:, -1] if sample.is_text else None
    with run.through():
        bound = theoretical(run.model, sample.length)
        field = receptive_field(run.model, sample.read, k_hot=k_hot, targets=targets)
    if sample.is_text and field.erf is None:
        raise UserError(f"{shown(run.path)}: {sentence(field, sample.length)}; there is nothing to measure")
    return finding_of(sample, field, bound)


def finding_of(sample: Sample, field: ReceptiveField, bound: int | None) -> Finding:
    """The finding of a field."""
    run, length = sample.run, sample.length
    said = text_sentence(field, length, run.train_len) if sample.is_text else sentence(field, length)
    values = {
        "target": "true" if sample.is_text else "predicted",
        "summary": said,
        "erf": field.erf,
        "erf_words": field.erf_words,
        "erf_by_share": {f"{q:g}": field.erf_at(q) for q in SHARES},
        "share_in_train_len": field.share(run.train_len),
        "theoretical": bound,
        "deviation_from_line": field.deviation,
        "words_without_gradient": field.flat,
        **{name: getattr(field, name).tolist() for name in CURVES},
    }
    return of_report({**sample.facts, **rounded(values)}, run.config)


def of_report(report: Mapping[str, Any], config: RunConfig) -> Finding:
    """The finding that a report says: a row of the CSV for each number of most recent symbols."""
    rows = [*zip(range(1, len(report["c"]) + 1), *(report[name] for name in CURVES), strict=True)]
    is_text, length, bound = report["target"] == "true", report["length"], report["theoretical"]
    at = powers(length) if is_text else {-(-length * part // TENTHS) for part in range(1, TENTHS + 1)}
    what = "segments" if is_text else "words"
    return Finding(
        name="receptive-field",
        title=f"{report['language']}, {report['model']}: gradients on {report[what]} {what}",
        values=report,
        data=Data(("m", *CURVES), rows),
        picture=picture(report, config.data.train_len, plots.title(config)),
        tables=[
            Table(("m", "c_m", "5 %", "95 %"), [(str(m), *(f"{c:.3f}" for c in row)) for m, *row in rows if m in at])
        ],
        sentence=report["summary"],
        notes=[] if bound is None else [f"windows: no symbol beyond the last {bound:,} can count"],
    )


def picture(report: Mapping[str, Any], train_len: int, title: str) -> Picture:
    """Figures 4.4 and 6.4a: c_m over the m most recent symbols, with its band, the straight line, the training length.

    Beyond the theoretical receptive field nothing can count; it is marked if it lies within the word.
    """
    length, bound = len(report["c"]), report["theoretical"]
    lines = [
        Line("mean over words", range(1, length + 1), *(report[name] for name in CURVES)),
        Line("every symbol alike", (0, length), (0.0, 1.0), like=6, dash=":"),
    ]
    marks = {"training length": train_len}
    if bound is not None and bound <= length:
        marks["theoretical receptive field"] = bound
    band = f"{100 * BAND[0]:.0f}-{100 * BAND[1]:.0f} % of the words"
    x, y = Axis("m most recent symbols", False), Axis("share of the gradient", low=0, high=1)
    return Picture([Curves(lines[: 2 * bool(length)], x, y, marks, band=band)], title)


def powers(length: int) -> set[int]:
    """1, 2, 4, ... and the length.

    >>> sorted(powers(11))
    [1, 2, 4, 8, 11]
    """
    return {length, *(1 << i for i in range(length.bit_length()) if 1 << i <= length)}


def sentence(field: ReceptiveField, length: int) -> str:
    """What was found, in words.

    >>> import numpy as np
    >>> c = np.array([0.5, 1.0])
    >>> sentence(ReceptiveField(c, c, c, 2, (2, 2), 0.0, 0), 2)
    '99 % of the gradient lies on 2 of 2 symbols, the most recent (2-2 in single words), 0.000 off a straight line'
    """
    if field.erf is None or field.erf_words is None:
        return f"the prediction depends on no symbol of any word of length {length}: all gradients are 0 or not finite"
    low, high = field.erf_words
    text = f"99 % of the gradient lies on {field.erf} of {length} symbols, the most recent"
    text += f" ({low}-{high} in single words), {field.deviation:.3f} off a straight line"
    return text + (f"; {field.flat} words without a gradient" if field.flat else "")


def text_sentence(field: ReceptiveField, length: int, train_len: int) -> str:
    """The same of a text: the fewest most recent symbols for each share, and the share within the training length.

    >>> import numpy as np
    >>> c = np.array([0.5, 0.6, 1.0])
    >>> text_sentence(ReceptiveField(c, c, c, 3, (3, 3), 0.0, 0), 3, 2).split("; ")[1]
    'the last 2, the training length, hold 60.0 %'
    """
    counts = "{}, {} and {}".format(*(field.erf_at(q) for q in SHARES))
    text = f"50, 90 and 99 % of the gradient lie on the last {counts} of {length} symbols"
    if length > train_len:
        text += f"; the last {train_len}, the training length, hold {100 * (field.share(train_len) or 0.0):.1f} %"
    return text + (f"; {field.flat} segments without a gradient" if field.flat else "")


@lru_cache(maxsize=1)
def gradient_shares(run: Opened) -> tuple[Shares, Int[npt.NDArray, " segments"] | None]:
    """The share of each read symbol in the gradient of the true next symbol, and the file of each segment.

    UserError if it depends on none.
    """
    # Rows of a longer training length are measured on segments as long as those of the others.
    length, seed = REACH * run.config.tested[-1] // FURTHEST, run.config.seed
    words, files = run.data.test(seed, length, SEGMENTS), run.data.files(seed, length, SEGMENTS)
    with run.through():
        norms = gradient_norms(run.model, words[:, :-1], targets=words[:, -1])  # (segments, length)
    total = norms.sum(1)
    whole = (total > 0) & np.isfinite(total)
    if whole.sum() < 2:
        raise UserError("the prediction depends on no symbol")
    return norms[whole] / total[whole, None], None if files is None else files[whole]


def share_in_training_length(run: Opened) -> Mapping[int, Interval]:
    """How much of the gradient of the true next symbol lies on as many recent symbols as a training segment has.

    The empirical receptive field is within the training length where it is above 0.99.
    """
    shares, files = gradient_shares(run)
    return {shares.shape[1]: Interval.of_mean(shares[:, -run.train_len :].sum(1), files)}


def cumulative_share(run: Opened) -> Mapping[int, Interval]:
    """The same for any number of recent symbols: the curves c_m of Figures 4.4 to 4.11, read from the last symbol."""
    shares, files = gradient_shares(run)
    curves = cumulative(shares)  # (segments, length)
    step = max(1, run.train_len // POINTS)
    return {m: Interval.of_mean(curves[:, m - 1], files) for m in range(step, curves.shape[1] + 1, step)}


def field_length(run: Opened) -> Mapping[int, Interval]:
    """The fewest recent symbols that hold 99 % of the gradient, over the training length.

    The interval is that of the mean curves of files drawn again and again from those that were measured.
    """
    shares, files = gradient_shares(run)
    curves = cumulative(shares)  # (segments, length)
    names, of = np.unique(np.arange(len(curves)) if files is None else files, return_inverse=True)
    again = rng(0, "files of an interval").integers(0, len(names), (DRAWS, len(names)))
    weights = np.array([np.bincount(each, minlength=len(names))[of] for each in again])  # (draws, segments)
    low, high = np.quantile([erf(weight @ curves / weight.sum(), HELD) for weight in weights], (0.025, 0.975))
    length = Interval(erf(curves.mean(0), HELD), float(low), float(high), {FILES: len(names)})
    return {curves.shape[1]: length.through(lambda symbols: symbols / run.train_len)}


def jump(run: Opened) -> Mapping[int, Interval]:
    """How much of the gradient lies on the positions from 3/4 to 5/4 of the training length, counted from the first.

    An even gradient has an eighth there.
    """
    shares, files = gradient_shares(run)
    around = slice(3 * run.train_len // 4, 5 * run.train_len // 4)
    return {shares.shape[1]: Interval.of_mean(shares[:, around].sum(1), files)}
