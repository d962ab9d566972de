"""`regulargpt align`: how attention flattens at a greater length, the temperatures that mend it, and what they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from regulargpt import findings, plots
from regulargpt.config.schema import RunConfig
from regulargpt.evaluation import temperature as files_of_temperature
from regulargpt.evaluation.by_length import Point
from regulargpt.evaluation.interval import Interval
from regulargpt.evaluation.temperature import Temperature, shown
from regulargpt.findings import Axis, Curves, Data, Finding, Picture
from regulargpt.findings.files import refuse_file
from regulargpt.measurements.alignment import propositions
from regulargpt.measurements.alignment.search import Groups, Search
from regulargpt.measurements.alignment.setting import SEARCHED, SEGMENTS, Setting, as_measured, search_of, setting_of
from regulargpt.measurements.alignment.statistics import Logits, Sharpness, average_logits
from regulargpt.measurements.alignment.views import AttentionViews, RunFacts, look
from regulargpt.measurements.rounding import rounded
from regulargpt.objectives.measures import measure
from regulargpt.plots import Line
from regulargpt.runs.again import points_again
from regulargpt.runs.opened import Opened
from regulargpt.storage import atomic
from regulargpt.storage.folder import RunFolder
from regulargpt.tables import Table, number

FOLDER, PAGE = "align", "align.html"
SCORED = 64
COLUMNS = ("strategy", "layer", "head", "temperature")
NOT_DRAWN = Picture(())
WritePage = Callable[[AttentionViews, Path], None]


def align_report(
    place: RunFolder | Opened,
    *,
    length: int | None = None,
    words: int = SEGMENTS,
    by: str = "model",
    on: str = "all",
    fixed: float | None = None,
    seed: int | None = None,
    out: Path | None = None,
    write_page: WritePage | None = None,
) -> Finding:
    """Find the temperatures by each strategy (thesis, Algorithm 1), and the score with each and without.

    `p_max` and `entropy` restore the mean largest probability and the mean entropy of attention at the training length,
    `log` is ln L_tr / ln L_ex, and `fixed` a number of yours. A temperature is shared by the whole `model`, a `layer`
    or a `head`. Writes align.json, .csv and .png, and a file temperature-STRATEGY.json for each, to be used by
    `evaluate --temperature`; with `write_page` the page align.html, too. The report's `page` is None without it, where
    words are too long to be shown, or an encoder reads them apart from the questions.

    Raises UserError, before anything is written, for a run that is not finished, a model without attention,
    lengths without words, or one that is not longer than the training words.
    """
    run = as_measured(place)
    out = refuse_file(run.results(FOLDER) if out is None else out)
    setting, config = setting_of(run, length, words, by, on, seed), run.config
    page = RunFacts(config, run.data, config.seed if seed is None else seed)
    score = partial(scores, run, config, setting)
    return aligned(setting, run.facts(), score, out, plots.title(config), fixed, page, write_page)


def aligned(
    setting: Setting,
    facts: Mapping[str, str],
    score: Callable[[Mapping[str, Temperature]], Mapping[str, Point]],
    out: Path,
    title: str,
    fixed: float | None = None,
    run: RunFacts | None = None,
    write_page: WritePage | None = None,
) -> Finding:
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
    views = None if run is None or write_page is None else look(run, setting, temperatures)
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
        "page": None if views is None else str(out / PAGE),
    }
    report = rounded({**report, "summary": sentence(report)})
    rows = [
        (name, layer, head, tau)
        for name, temperature in temperatures.items()
        for layer, heads in enumerate(temperature.tau)
        for head, tau in enumerate(heads, 1)
    ]
    finding = finding_of(report, rows, picture(report, searches, logits, title))
    if views is not None and write_page is not None:
        atomic.make_folder(out)
        write_page(views, out / PAGE)
    findings.write(finding, out)
    for name, temperature in temperatures.items():
        files_of_temperature.write(out / f"temperature-{name}.json", temperature)
    return finding


def scores(
    run: Opened, config: RunConfig, setting: Setting, temperatures: Mapping[str, Temperature]
) -> dict[str, Point]:
    """The test at the greater length, without a temperature ("") and with each."""
    config = config.replaced({"evaluation.samples": SCORED})
    return {
        name: points_again(run, config, setting.lengths[1:], config.seed, temperature=temperature)[0]
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


def finding_of(report: Mapping[str, Any], rows: Sequence[Sequence[Any]] = (), picture: Picture = NOT_DRAWN) -> Finding:
    """The finding of a report: for people two rows without a temperature, then one a strategy."""
    before, strategies = report["before"], report["strategies"]
    shown_rows = [
        row(f"none, at {report['train_len']:,}", "1", before["short"], None, report),
        row(f"none, at {report['length']:,}", "1", before["long"], report["score"], report),
    ]
    for name, found in strategies.items():
        shown_rows.append(row(name, shown(found["tau"]) + "!" * bool(found["at_bound"]), found, found["score"], report))
    header = ("strategy", "temperature", "P_max", "H (nats)", measure(report["measure"]).label)
    closed = ", ".join(
        f"{name} {'no solution' if value is None else f'{value:.3f}'}" for name, value in report["propositions"].items()
    )
    notes = []
    if any(found["at_bound"] for found in strategies.values()):
        notes.append("! at a bound: what is wanted lies beyond it")
    if any(found["is_monotone"] is False for found in strategies.values()):
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
    name: str, tau: str, found: Mapping[str, Any], score: Mapping[str, float] | None, report: Mapping[str, Any]
) -> tuple[str, ...]:
    """A row for people: the statistics at a temperature, and the score if it was tested."""
    unit = measure(report["measure"]).unit
    interval = ""
    if score:
        interval = "{} ({}-{})".format(*(number(score[key], unit) for key in ("value", "low", "high")))
    return (name, tau, f"{found['p_max']:.3f}", f"{found['entropy']:.2f}", interval)


def picture(
    report: Mapping[str, Any], searches: Mapping[str, Search], logits: Mapping[str, Logits], title: str
) -> Picture:
    """Left and middle: the statistics at the temperatures tried, and where they should be; right: QQ plots."""
    at = {"short": f"at {report['train_len']:,}", "long": f"at {report['length']:,}"}
    panels = []
    for name, label in (("p_max", "$P_{max}$"), ("entropy", "H (nats)")):
        line = Line(at["long"], *zip(*sorted(zip(*tried(searches[name]), strict=True)), strict=True))
        target = {at["short"]: report["before"]["short"][name]}
        panels.append(Curves([line], Axis("temperature (mean over groups)", False), Axis(label), levels=target))
    lines = [
        Line(f"{at[name]}: r = {found.gaussian:.3f}", found.quantiles.tolist(), (found.values / found.sigma).tolist())
        for name, found in logits.items()
        if found.sigma
    ]
    ends = [lines[-1].lengths[0], lines[-1].lengths[-1]] if lines else []
    lines.append(Line("", ends, ends, like=6, dash="--"))  # what a normal distribution has
    panels.append(Curves(lines, Axis("normal quantiles", False), Axis("logits of layer 0 / sigma")))
    return Picture(panels, title, across=3, size=(4, 3.8))


def tried(found: Search) -> tuple[Sequence[float], Sequence[float]]:
    """The temperatures tried and what they came to, as means over groups."""
    return [float(one.tau.mean()) for one in found.tried], [float(one.value.mean()) for one in found.tried]
