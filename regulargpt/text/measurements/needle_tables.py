"""The finding of needles in a checkpoint: tables of methods by length and by depth, heat maps, CSV, a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from jaxtyping import Bool, Float
from numpy import ndarray

from regulargpt.evaluation.interval import Interval
from regulargpt.findings import Data, Finding, Picture
from regulargpt.measurements.rounding import rounded
from regulargpt.objectives.measures import measure as measure_of
from regulargpt.tables import Table
from regulargpt.text.measurements.method_tables import TRAINED
from regulargpt.text.measurements.needles import ByDepth, heat_map, of_length

ACROSS = 3
"""Heat maps beside each other."""
Values = dict[str, Any]
Right = Mapping[int, Bool[ndarray, "words"]]
Found = Mapping[str, Mapping[str, Right]]
"""Which documents' needles are found, by kind, method and length."""
COLUMNS = ("kind", "method", "length", "depth_from", "depth_to", "needles", "found", "value", "low", "high")


def finding_of(
    facts: Values, is_right: Found, depths: Mapping[str, Float[ndarray, "words"]], notes: Sequence[str]
) -> Finding:
    """The finding. A row of the CSV is a kind, method, length and bin; a heat map is a kind and method."""
    values = {
        kind: {name: values_of(right, methods[TRAINED], depths[kind], facts) for name, right in methods.items()}
        for kind, methods in is_right.items()
    }
    values = rounded({kind: {name: of for name, of in methods.items() if of} for kind, methods in values.items()})
    said = "; ".join(sentence(kind, methods) for kind, methods in values.items())
    said += "" if facts["chance"] is None else f"; chance {facts['chance']:.3g} %"
    label = measure_of(facts["measure"]).label
    panels = [
        heat_map(facts, of, f"{kind}, {name}") for kind, methods in values.items() for name, of in methods.items()
    ]
    title = f"{facts['model']}, trained on {facts['train_len']:,} tokens: {label}"
    return Finding(
        name="needles",
        title=f"{title}, {facts['words']} documents a length",
        facts=facts,
        values={"kinds": values, "summary": said},
        data=Data(COLUMNS, [row for kind, methods in values.items() for row in rows(kind, methods, facts["depths"])]),
        picture=Picture(panels, title, across=min(ACROSS, len(panels)), size=(5.6, 1.6 + 0.36 * len(facts["lengths"]))),
        tables=[table for kind, methods in values.items() for table in tables(kind, methods, facts)],
        sentence=said,
        notes=notes,
    )


def values_of(right: Right, trained: Right, depths: Float[ndarray, "words"], facts: Values) -> Values:
    """What is said of a method by length: all needles, those of each bin, and how many more than as trained."""
    bins, by_length = len(facts["depths"]) - 1, {}
    for T, these in right.items():
        by_length[str(T)] = of_length(ByDepth.count(these, depths, bins))
        if T in trained:
            more = Interval.of_paired(these, trained[T])
            by_length[str(T)]["to_trained"] = [more.value, more.low, more.high]
    return by_length


def rows(kind: str, methods: Values, depths: Sequence[float]) -> list[tuple[Any, ...]]:
    """The rows of the CSV."""
    return [
        (kind, name, T, low, high, *(part[key] for key in ("needles", "found", "value", "low", "high")))
        for name, of in methods.items()
        for T, by_depth in of.items()
        for (low, high), part in zip(pairwise(depths), by_depth["bins"], strict=True)
    ]


def tables(kind: str, methods: Values, facts: Values) -> list[Table]:
    """Of one kind: methods by lengths, the same less the network as trained, and at each length methods by depths."""
    lengths = [str(T) for T in facts["lengths"]]
    header = [f"{T:,}" for T in facts["lengths"]]
    every = [(name, *(share(of[T]["all"]) if T in of else "" for T in lengths)) for name, of in methods.items()]
    more = [(name, *(difference(of, T) for T in lengths)) for name, of in methods.items() if name != TRAINED]
    tables_of = [Table((f"{kind} (%)", *header), every)]
    tables_of += [Table(("minus trained", *header), more)] if more else []
    starts = [f"{low:.3g}" for low in facts["depths"][:-1]]
    for T, shown in zip(lengths, header, strict=True):
        by_depth = [(name, *map(whole, of[T]["bins"])) for name, of in methods.items() if T in of]
        tables_of.append(Table((f"{shown}, by depth (%)", *starts), by_depth))
    return tables_of


def whole(part: Values) -> str:
    """A share in percent without decimals, never rounded to 0 or 100; a dash where no needle stands.

    >>> whole({"value": 99.9}), whole({"value": None}), whole({"value": 0.0})
    ('99', '-', '0')
    """
    value = part["value"]
    return "-" if value is None else str(round(value)) if value in (0, 100) else str(min(99, max(1, round(value))))


def share(every: Values) -> str:
    """A share with its interval.

    >>> share({"value": 50.0, "low": 20.4, "high": 79.6})
    '50 (20-80)'
    """
    return f"{whole(every)} ({every['low']:.0f}-{every['high']:.0f})"


def difference(of: Values, length: str) -> str:
    """The difference to the network as trained with its interval, in points of percent; empty where there is none.

    >>> difference({"64": {"to_trained": [-2.5, -10.0, 4.9]}}, "64")
    '-2 (-10 to 5)'
    """
    if "to_trained" not in of.get(length, {}):
        return ""
    value, low, high = map(round, of[length]["to_trained"])
    return f"{value:+d} ({low} to {high})"


def sentence(kind: str, methods: Values) -> str:
    """Which method finds most at the longest length, and whether it is more than as trained, by its own interval.

    Many are compared, so a close result may be chance.

    >>> def share(value: float, *more: float) -> dict:
    ...     return {"512": {"all": {"value": value, "low": value, "high": value}, "to_trained": list(more)}}
    >>> sentence("line", {"trained": share(10.0, 0.0, -5.0, 5.0), "yarn": share(90.0, 80.0, 60.0, 90.0)})
    'line at 512 tokens: yarn finds most, 90 % (90 to 90), as trained 10 %'
    >>> sentence("line", {"trained": share(10.0, 0.0, -5.0, 5.0), "yarn": share(12.0, 2.0, -3.0, 7.0)})
    'line at 512 tokens: 10 % (10 to 10) as trained, and no method is clearly above it (most: yarn, 12 %)'
    """
    longest = max((T for of in methods.values() for T in of), key=int)
    at = {name: of[longest] for name, of in methods.items() if longest in of}
    best, lead = max(at, key=lambda name: at[name]["all"]["value"]), f"{kind} at {int(longest):,} tokens:"
    figure = {name: f"{whole(of['all'])} %" for name, of in at.items()}
    interval = {name: f"({of['all']['low']:.0f} to {of['all']['high']:.0f})" for name, of in at.items()}
    if TRAINED not in at:
        return f"{lead} {best} finds most, {figure[best]} {interval[best]}"
    if at[best]["to_trained"][1] > 0:
        return f"{lead} {best} finds most, {figure[best]} {interval[best]}, as trained {figure[TRAINED]}"
    as_trained = f"{lead} {figure[TRAINED]} {interval[TRAINED]} as trained"
    most = "" if best == TRAINED else f" (most: {best}, {figure[best]})"
    return as_trained if len(at) == 1 else f"{as_trained}, and no method is clearly above it{most}"
