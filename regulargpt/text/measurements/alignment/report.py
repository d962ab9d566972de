"""`regulargpt align`: how attention flattens at a greater length, the temperatures that mend it, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from regulargpt import plots
from regulargpt.evaluation import temperature as files_of_temperature
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.temperature import Temperature, shown
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.measurements.rounding import rounded
from regulargpt.objectives.measures import measure as measure_named
from regulargpt.options.registry import load
from regulargpt.plots import Line
from regulargpt.runs.again import points_again
from regulargpt.runs.opened import Opened, OpenedRun
from regulargpt.storage import atomic
from regulargpt.tables import Table, number
from regulargpt.text.measurements.alignment import checkpoint, propositions
from regulargpt.text.measurements.alignment.search import HALVINGS, Groups, TemperatureSearch
from regulargpt.text.measurements.alignment.setting import (
    SEARCHED,
    AlignmentTarget,
    Setting,
    search_of,
    setting_of,
    symbols_of_search,
)
from regulargpt.text.measurements.alignment.statistics import Logits, Sharpness, average_logits
from regulargpt.text.measurements.alignment.views import RunFacts, look
from regulargpt.text.measurements.method_cells import Progress
from regulargpt.text.measurements.options import AlignOptions
from regulargpt.text.opened import T5OnText

PAGE, DRAWN = "align.html", "regulargpt.text.classroom.alignment_page:write"
SCORED = 64
COLUMNS = ("strategy", "layer", "head", "temperature")
NOT_DRAWN = Picture(())


def measure(
    subject: Opened | T5OnText, options: AlignOptions, out: Path, progress: Progress = lambda done, count: None
) -> Finding:
    """Find the temperatures by each strategy (thesis, Algorithm 1), and the score with each and without.

    `p_max` and `entropy` restore the mean largest probability and the mean entropy of attention at the training length,
    `log` is ln L_tr / ln L_ex, and `fixed` a number of yours. A temperature is shared by the whole `model`, a `layer`
    or a `head`. Writes a file temperature-STRATEGY.json for each, to be used by `evaluate --temperature`, and of a run
    the page align.html. The report's `page` is None where words are too long to be shown, or an encoder reads them
    apart from the questions.

    Raises UserError, before anything is written, for a run that is not finished, a model without attention,
    lengths without words, or a length that is not longer than the training words.
    """
    target = target_of(subject, options) if isinstance(subject, Opened) else checkpoint.target_of(subject, options)
    count = len(SEARCHED) + 1 + (options.fixed is not None)
    setting = replace(target.setting, heard=heard_by(progress, target.setting, count))
    target = replace(target, setting=setting)
    searches = {name: search_of(setting, name) for name in SEARCHED}
    taus = {name: search.tau for name, search in searches.items()}
    taus["log"] = np.array([propositions.of_lengths(*setting.lengths)])
    taus |= {} if options.fixed is None else {"fixed": np.array([options.fixed])}
    temperatures = {name: setting.temperature(tau, name) for name, tau in taus.items()}
    points = {name: target.point(tau) for name, tau in [("", None), *temperatures.items()]}
    page = write_page(subject, options, setting, temperatures, out) if isinstance(subject, OpenedRun) else None
    logits = {name: average_logits(setting.model, words) for name, words in setting.words.items()}
    strategies = {name: of_strategy(setting, name, tau, searches.get(name), points) for name, tau in taus.items()}
    report = report_of(target, points[""], logits, strategies, page)
    for name, temperature in temperatures.items():
        atomic.make_folder(out)
        files_of_temperature.write(out / f"temperature-{name}.json", temperature)
    rows = [
        (name, layer, head, tau)
        for name, temperature in temperatures.items()
        for layer, heads in enumerate(temperature.tau)
        for head, tau in enumerate(heads, 1)
    ]
    return finding_of(report, rows, picture(report, searches, logits, target.title))


def heard_by(progress: Progress, setting: Setting, strategies: int) -> Callable[[int], None]:
    """Counts the symbols of all passes: those of the searches, and of the test of what so many strategies found."""
    (words, length), tried = setting.long.shape, len(SEARCHED) * HALVINGS + strategies
    read, total = 0, symbols_of_search(setting.short.shape[1], length, words, tried)

    def heard(symbols: int) -> None:
        nonlocal read
        read += symbols
        progress(read, total)

    return heard


def target_of(run: Opened, options: AlignOptions) -> AlignmentTarget:
    """A run, or a decoder on a text."""
    config = run.config.replaced({"evaluation.samples": SCORED})
    setting = setting_of(run, options.length, options.words, options.by, options.part, options.seed)

    def point(temperature: Temperature | None) -> Point:
        return points_again(run, config, setting.lengths[1:], config.seed, temperature=temperature)[0]

    return AlignmentTarget(setting, run.facts(), plots.title(run.config), point)


def write_page(
    run: OpenedRun, options: AlignOptions, setting: Setting, temperatures: Mapping[str, Temperature], out: Path
) -> Path | None:
    """The page of a run's attention, written; None where there is none."""
    facts = RunFacts(run.config, run.data, run.config.seed if options.seed is None else options.seed)
    if (views := look(facts, setting, temperatures)) is None:
        return None
    atomic.make_folder(out)
    load(DRAWN)(views, out / PAGE)
    return out / PAGE


def report_of(
    target: AlignmentTarget,
    plain: Point,
    logits: Mapping[str, Logits],
    strategies: Mapping[str, Any],
    page: Path | None,
) -> dict[str, Any]:
    """All that was found, with `plain`, the test without a temperature."""
    setting, (train_len, length) = target.setting, target.setting.lengths
    report: dict[str, Any] = {
        **target.facts,
        "train_len": train_len,
        "length": length,
        "words": len(setting.long),
        "by": setting.by,
        "on": setting.on,
        "measure": next(iter(plain.measures)),
        "before": {name: of_sharpness(sharp) for name, sharp in setting.before.items()},
        "logits": {name: of_logits(spread) for name, spread in logits.items()},
        "propositions": closed_forms(setting.before["short"], logits, train_len, length),
        "score": of_point(plain),
        "strategies": strategies,
        "page": None if page is None else str(page),
    }
    return rounded({**report, "summary": sentence(report)})


def closed_forms(
    short: Sharpness, logits: Mapping[str, Logits], train_len: int, length: int
) -> dict[str, float | None]:
    """What Propositions 5.1 and 5.2 say."""
    sigma = logits["short"].sigma, logits["long"].sigma
    return {
        "p_max": propositions.of_p_max(train_len, length, *sigma, float(short.p_max.mean())),
        "entropy": propositions.of_entropy(train_len, length, *sigma),
    }


def of_sharpness(sharp: Sharpness) -> dict[str, Any]:
    """Means over all heads, and every head."""
    return {
        "p_max": float(sharp.p_max.mean()),
        "entropy": float(sharp.entropy.mean()),
        "p_max_by_head": sharp.p_max.tolist(),
        "entropy_by_head": sharp.entropy.tolist(),
    }


def of_logits(spread: Logits) -> dict[str, float]:
    """The spread, the largest, and how Gaussian they are."""
    return {"sigma": spread.sigma, "largest": spread.largest, "gaussian": spread.gaussian}


def of_point(point: Point) -> dict[str, float]:
    """The first measure with its interval."""
    score = next(iter(point.measures.values()))
    return {"value": score.value, "low": score.low, "high": score.high}


def of_strategy(
    setting: Setting, name: str, tau: Groups, search: TemperatureSearch | None, points: Mapping[str, Point]
) -> dict[str, Any]:
    """Temperatures, what they restore and how near, and the score with them."""
    after = setting.at(tau)
    return {
        "tau": tau.tolist(),
        "p_max": float(after.p_max.mean()),
        "entropy": float(after.entropy.mean()),
        "is_monotone": None if search is None else search.is_monotone,
        "at_bound": None if search is None else bool(search.at_bound.any()),
        "largest_miss": None if search is None else float(np.abs(search.value - search.target).max()),
        "score": of_point(points[name]),
        "difference": difference(points[name], points[""]),
    }


def difference(after: Point, before: Point) -> dict[str, float] | None:
    """After minus before in nats, paired by segment; None where a measure is no mean of numbers."""
    if "nll" not in after.of_words:
        return None
    paired = Interval.of_mean(after.of_words["nll"] - before.of_words["nll"], after.files)
    return {"value": paired.value, "low": paired.low, "high": paired.high}


def sentence(report: Mapping[str, Any]) -> str:
    """How attention has changed with the length, and what the temperature that restores P_max does.

    The thesis's choice is named, never the strategy that happened to score best: that would choose on the test.

    >>> one, score = {"p_max": 0.5, "entropy": 1.0}, {"value": 2.0}
    >>> strategies = {"p_max": {"tau": [0.8], "score": {"value": 1.9}}}
    >>> sentence({"before": {"short": one, "long": {"p_max": 0.4, "entropy": 2.0}}, "train_len": 8, "length": 64,
    ...           "measure": "bits_per_byte", "score": score, "strategies": strategies})
    'P_max 0.500 at 8, 0.400 at 64; temperature 0.8 restores it: 1.900 bits per byte instead of 2.000'
    """
    short, long, known = report["before"]["short"], report["before"]["long"], measure_named(report["measure"])
    chosen = report["strategies"]["p_max"]
    after, before = (f"{record['score']['value']:.3f}" for record in (chosen, report))
    return (
        f"P_max {short['p_max']:.3f} at {report['train_len']:,}, {long['p_max']:.3f} at {report['length']:,}; "
        f"temperature {shown(chosen['tau'])} restores it: {after} {known.unit or known.label} instead of {before}"
    )


def finding_of(report: Mapping[str, Any], rows: Sequence[Sequence[Any]] = (), picture: Picture = NOT_DRAWN) -> Finding:
    """The finding of a report: for people two rows without a temperature, then one a strategy."""
    before, strategies = report["before"], report["strategies"]
    shown_rows = [
        row(f"none, at {report['train_len']:,}", "1", before["short"], None, report),
        row(f"none, at {report['length']:,}", "1", before["long"], report["score"], report),
    ]
    for name, values in strategies.items():
        shown_rows.append(
            row(name, shown(values["tau"]) + "!" * bool(values["at_bound"]), values, values["score"], report)
        )
    header = ("strategy", "temperature", "P_max", "H (nats)", measure_named(report["measure"]).label)
    closed = ", ".join(
        f"{name} {'no solution' if value is None else f'{value:.3f}'}" for name, value in report["propositions"].items()
    )
    notes = []
    if any(values["at_bound"] for values in strategies.values()):
        notes.append("! at a bound: what is wanted lies beyond it")
    if any(values["is_monotone"] is False for values in strategies.values()):
        notes.append("a statistic does not fall or rise all along: the nearest temperature tried stands")
    # Reports that were written before there was a page have none.
    if report.get("page"):
        notes.append(f"a page to look at: {report['page']}")
    return Finding(
        name="align",
        title=f"{report['language']}, {report['model']}: one temperature a {report['by']}, on {report['on']}",
        facts={},
        values=report,
        data=Data(COLUMNS, rows),
        picture=picture,
        tables=[Table(header, shown_rows, notes=[f"Propositions 5.1 and 5.2 say: {closed}"])],
        sentence=report["summary"],
        notes=notes,
    )


def row(
    name: str, tau: str, values: Mapping[str, Any], score: Mapping[str, float] | None, report: Mapping[str, Any]
) -> tuple[str, ...]:
    """A row for people: the statistics at a temperature, and the score if it was tested."""
    unit = measure_named(report["measure"]).unit
    interval = ""
    if score:
        interval = "{} ({}-{})".format(*(number(score[key], unit) for key in ("value", "low", "high")))
    return (name, tau, f"{values['p_max']:.3f}", f"{values['entropy']:.2f}", interval)


def picture(
    report: Mapping[str, Any], searches: Mapping[str, TemperatureSearch], logits: Mapping[str, Logits], title: str
) -> Picture:
    """Left and middle: the statistics at the temperatures tried, and where they should be; right: QQ plots."""
    at = {"short": f"at {report['train_len']:,}", "long": f"at {report['length']:,}"}
    panels = []
    for name, label in (("p_max", "$P_{max}$"), ("entropy", "H (nats)")):
        line = Line(at["long"], *zip(*sorted(zip(*tried(searches[name]), strict=True)), strict=True))
        target = {at["short"]: report["before"]["short"][name]}
        panels.append(Curves([line], Axis("temperature (mean over groups)", False), Axis(label), levels=target))
    lines = [
        Line(
            f"{at[name]}: r = {statistics.gaussian:.3f}",
            statistics.quantiles.tolist(),
            (statistics.values / statistics.sigma).tolist(),
        )
        for name, statistics in logits.items()
        if statistics.sigma
    ]
    ends = [lines[-1].lengths[0], lines[-1].lengths[-1]] if lines else []
    lines.append(Line("", ends, ends, like=6, dash="--"))  # what a normal distribution has
    panels.append(Curves(lines, Axis("normal quantiles", False), Axis("logits of layer 0 / sigma")))
    return Picture(panels, title, across=3, size=(4, 3.8))


def tried(search: TemperatureSearch) -> tuple[Sequence[float], Sequence[float]]:
    """The temperatures tried and what they came to, as means over groups."""
    return [float(trial.tau.mean()) for trial in search.tried], [float(trial.value.mean()) for trial in search.tried]
