"""`regulargpt align`: how attention flattens at a greater length, the temperatures that mend it, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from regulargpt import data, plots
from regulargpt.classroom import alignment_page
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation import temperature as files_of_temperature
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.temperature import Temperature, shown
from regulargpt.measurements import files
from regulargpt.measurements.alignment import propositions
from regulargpt.measurements.alignment.search import Groups, Search
from regulargpt.measurements.alignment.seen import Seen, Shown, look
from regulargpt.measurements.alignment.setting import SEARCHED, SEGMENTS, Setting, search_of, setting_of
from regulargpt.measurements.alignment.statistics import Logits, Sharpness, average_logits
from regulargpt.measurements.rounding import rounded
from regulargpt.measurements.subject import config_of, refuse_file
from regulargpt.objectives.measures import measure
from regulargpt.runs.again import points_again
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder

FOLDER, PAGE = "align", "align.html"
SCORED = 64
COLUMNS = ("strategy", "layer", "head", "temperature")


def align_report(
    folder: RunFolder,
    *,
    length: int | None = None,
    words: int = SEGMENTS,
    by: str = "model",
    on: str = "all",
    fixed: float | None = None,
    seed: int | None = None,
    out: Path | None = None,
) -> dict[str, Any]:
    """Find the temperatures by each strategy (thesis, Algorithm 1), and the score with each and without.

    `p_max` and `entropy` restore the mean largest probability and the mean entropy of attention at the training length,
    `log` is ln L_tr / ln L_ex, and `fixed` a number of yours. A temperature is shared by the whole `model`, a `layer`
    or a `head`. Writes align.json, .csv and .png, the page align.html, and a file temperature-STRATEGY.json for each,
    to be used by `evaluate --temperature`. The report's `page` is None where words are too long to be shown, or
    an encoder reads them apart from the questions.

    Raises UserError, before anything is written, for a run that is not finished, a model without attention,
    lengths without words, or one that is not longer than the training words.
    """
    out = refuse_file(folder.path / FOLDER if out is None else out)
    setting = setting_of(folder, length, words, by, on, seed)
    config = config_of(folder, "full")
    facts = {"run_dir": str(folder.path), "language": config.data.name, "model": config.model.title}
    run = Shown(config, data.build(config.data), config.seed if seed is None else seed)
    return aligned(
        setting, facts, lambda tau: scores(folder, config, setting, tau), out, plots.title(config), fixed, run
    )


def aligned(
    setting: Setting,
    facts: Mapping[str, str],
    score: Callable[[Mapping[str, Temperature]], Mapping[str, Point]],
    out: Path,
    title: str,
    fixed: float | None = None,
    run: Shown | None = None,
) -> dict[str, Any]:
    """Find the temperatures, score without one ("") and with each, and write the files; of a run, its page too."""
    logits = {name: average_logits(setting.model, words) for name, words in setting.words.items()}
    searches = {name: search_of(setting, name) for name in SEARCHED}
    train_len, longer = setting.lengths
    found = {name: one.tau for name, one in searches.items()} | {
        "log": np.array([propositions.of_lengths(train_len, longer)])
    }
    found |= {} if fixed is None else {"fixed": np.array([fixed])}
    temperatures = {name: setting.temperature(tau, name) for name, tau in found.items()}
    points = score(temperatures)
    seen = None if run is None else look(run, setting, temperatures)
    report: dict[str, Any] = {
        **facts,
        "train_len": train_len,
        "length": longer,
        "words": len(setting.long),
        "by": setting.by,
        "on": setting.on,
        "measure": next(iter(points[""].measures)),
        "before": {name: of_sharpness(one) for name, one in setting.before.items()},
        "logits": {name: of_logits(one) for name, one in logits.items()},
        "propositions": closed_forms(setting.before["short"], logits, train_len, longer),
        "score": of_point(points[""]),
        "strategies": {
            name: of_strategy(setting, name, found[name], searches.get(name), points) for name in temperatures
        },
        "page": None if seen is None else str(out / PAGE),
    }
    report = rounded({**report, "summary": sentence(report)})
    write(out, report, temperatures, searches, logits, seen, title)
    return report


def scores(
    folder: RunFolder, config: RunConfig, setting: Setting, temperatures: Mapping[str, Temperature]
) -> dict[str, Point]:
    """The test at the greater length, without a temperature ("") and with each."""
    config = config.replaced({"evaluation.samples": SCORED})
    return {
        name: points_again(folder, config, setting.lengths[1:], config.seed, temperature=temperature)[0]
        for name, temperature in [("", None), *temperatures.items()]
    }


def closed_forms(
    short: Sharpness, logits: Mapping[str, Logits], train_len: int, length: int
) -> dict[str, float | None]:
    """What Propositions 5.1 and 5.2 say."""
    sigma = logits["short"].sigma, logits["long"].sigma
    return {
        "p_max": propositions.of_p_max(train_len, length, *sigma, float(short.p_max.mean())),
        "entropy": propositions.of_entropy(train_len, length, *sigma),
    }


def of_sharpness(found: Sharpness) -> dict[str, Any]:
    """Means over all heads, and every head."""
    return {
        "p_max": float(found.p_max.mean()),
        "entropy": float(found.entropy.mean()),
        "p_max_by_head": found.p_max.tolist(),
        "entropy_by_head": found.entropy.tolist(),
    }


def of_logits(found: Logits) -> dict[str, float]:
    """The spread, the largest, and how Gaussian they are."""
    return {"sigma": found.sigma, "largest": found.largest, "gaussian": found.gaussian}


def of_point(point: Point) -> dict[str, float]:
    """The first measure with its interval."""
    found = next(iter(point.measures.values()))
    return {"value": found.value, "low": found.low, "high": found.high}


def of_strategy(
    setting: Setting, name: str, tau: Groups, found: Search | None, points: Mapping[str, Point]
) -> dict[str, Any]:
    """Temperatures, what they restore and how near, and the score with them."""
    after = setting.at(tau)
    return {
        "tau": tau.tolist(),
        "p_max": float(after.p_max.mean()),
        "entropy": float(after.entropy.mean()),
        "is_monotone": None if found is None else found.is_monotone,
        "at_bound": None if found is None else bool(found.at_bound.any()),
        "largest_miss": None if found is None else float(np.abs(found.value - found.target).max()),
        "score": of_point(points[name]),
        "difference": difference(points[name], points[""]),
    }


def difference(after: Point, before: Point) -> dict[str, float] | None:
    """After minus before in nats, paired by segment; None where a measure is no mean of numbers."""
    if "nll" not in after.of_words:
        return None
    found = Interval.of_mean(after.of_words["nll"] - before.of_words["nll"], after.files)
    return {"value": found.value, "low": found.low, "high": found.high}


def sentence(report: Mapping[str, Any]) -> str:
    """How attention has changed with the length, and what the temperature that restores P_max does.

    The thesis's choice is named, never the strategy that happened to score best: that would choose on the test.

    >>> one, score = {"p_max": 0.5, "entropy": 1.0}, {"value": 2.0}
    >>> strategies = {"p_max": {"tau": [0.8], "score": {"value": 1.9}}}
    >>> sentence({"before": {"short": one, "long": {"p_max": 0.4, "entropy": 2.0}}, "train_len": 8, "length": 64,
    ...           "measure": "bits_per_byte", "score": score, "strategies": strategies})
    'P_max 0.500 at 8, 0.400 at 64; temperature 0.8 restores it: 1.900 bits per byte instead of 2.000'
    """
    short, long, known = report["before"]["short"], report["before"]["long"], measure(report["measure"])
    chosen = report["strategies"]["p_max"]
    after, before = (f"{one['score']['value']:.3f}" for one in (chosen, report))
    return (
        f"P_max {short['p_max']:.3f} at {report['train_len']:,}, {long['p_max']:.3f} at {report['length']:,}; "
        f"temperature {shown(chosen['tau'])} restores it: {after} {known.unit or known.label} instead of {before}"
    )


def write(
    out: Path,
    report: dict[str, Any],
    temperatures: Mapping[str, Temperature],
    searches: Mapping[str, Search],
    logits: Mapping[str, Logits],
    seen: Seen | None,
    title: str,
) -> None:
    """The page; a row a strategy, layer and head; and the files for `evaluate`."""
    atomic.make_folder(out)
    if seen is not None:
        alignment_page.write(seen, out / PAGE)
    rows = [
        (name, layer, head, tau)
        for name, found in temperatures.items()
        for layer, heads in enumerate(found.tau)
        for head, tau in enumerate(heads, 1)
    ]
    files.write(out, "align", report, [COLUMNS, *rows], lambda path: picture(path, report, searches, logits, title))
    for name, found in temperatures.items():
        files_of_temperature.write(out / f"temperature-{name}.json", found)


def picture(
    path: Path, report: Mapping[str, Any], searches: Mapping[str, Search], logits: Mapping[str, Logits], title: str
) -> None:
    """Left and middle: the statistics at the temperatures tried, and where they should be; right: QQ plots."""
    figure = plots.new_figure(12, 3.8)
    left, middle, right = figure.subplots(1, 3)
    for axes, (name, label) in zip((left, middle), (("p_max", "$P_{max}$"), ("entropy", "H (nats)")), strict=True):
        points = sorted(zip(*tried(searches[name]), strict=True))
        axes.plot(*zip(*points, strict=True), "o-", color=plots.BLUE, label=f"at {report['length']:,}")
        target = report["before"]["short"][name]
        axes.axhline(target, color=plots.VERMILION, linestyle="--", label=f"at {report['train_len']:,}")
        axes.set(xlabel="temperature (mean over groups)", ylabel=label)
        axes.legend(frameon=False)
    for (name, found), colour in zip(logits.items(), (plots.VERMILION, plots.BLUE), strict=True):
        at = report["train_len"] if name == "short" else report["length"]
        if found.sigma:
            label = f"at {at:,}: r = {found.gaussian:.3f}"
            right.plot(found.quantiles, found.values / found.sigma, ".", markersize=3, color=colour, label=label)
    ends = right.get_xlim()
    right.plot(ends, ends, color=plots.GREY, linewidth=0.8)
    right.set(xlabel="normal quantiles", ylabel="logits of layer 0 / sigma")
    right.legend(frameon=False)
    figure.suptitle(title, fontsize=10, parse_math=False)
    plots.save(path, figure)


def tried(found: Search) -> tuple[Sequence[float], Sequence[float]]:
    """The temperatures tried and what they came to, as means over groups."""
    return [float(one.tau.mean()) for one in found.tried], [float(one.value.mean()) for one in found.tried]
