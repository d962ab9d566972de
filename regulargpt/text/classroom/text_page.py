"""The sections of a page on runs on texts, and the comparison of several."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from regulargpt.classroom import curves, facts
from regulargpt.findings.html import html
from regulargpt.findings.markup import scrolling, section, tag, text
from regulargpt.objectives.measures import denominator
from regulargpt.options import as_mapping
from regulargpt.plots import Line
from regulargpt.tables import Table
from regulargpt.text.classroom.gathering import TEMPERATURE, Continuation, Surprise, TextRun

STYLES = ("regulargpt.text.classroom:text.css",)
RATIO = "×\u00a0{:.3f} ({:.3f}\u00a0to\u00a0{:.3f})"  # in a narrow column a line for each of its two parts
LEVELS = (1.0, 2.0, 4.0, 6.0, 8.0)  # bits from which a symbol is darker
MARKS = {
    **dict.fromkeys(("improves", "holds"), ("✓", "good")),
    **{"weak": ("○", "bad"), "degrades": ("◐", "bad")},
    **dict.fromkeys(("explodes", "damaged"), ("✗", "bad")),
}
COMPARED = (
    *("run", "training length", "protocol", "symbols trained", "bits per byte at it", "at the longest"),
    *("perplexity, longest to training length", "gradient within the training length", "verdict"),
)


def article(i: int, run: TextRun) -> str:
    """All sections of a run."""
    head = tag("h2", text(run.config.data.name), id=f"run-{i}")
    line = tag("p", text(identity(run)), class_="identity")
    folder = tag("p", "folder ", tag("code", text(facts.name(run.path))), class_="folder")
    parts = [tag("header", head, line, folder, badge(run)), lengths_section(run)]
    if run.behaviour is not None:
        parts.append(html(run.behaviour.field, "Receptive field", kind="field"))
    if run.kernels:
        parts.append(html(run.kernels, "The bias of each head", kind="bias"))
    if run.behaviour is not None:
        parts += [surprise_section(run), continuation_section(run.behaviour.continuations)]
    else:
        parts.append(section("gone", "The network on the text", tag("p", text(f"Not shown: {run.reason}."))))
    parts.append(section("facts", "What was run", facts_list(run)))
    # The script looks for these; a text has neither word nor states.
    unused = tag("p", class_="answer", hidden="")
    return tag("article", *parts, unused, class_="run text", data_run=i, aria_labelledby=f"run-{i}")


def label(run: TextRun) -> str:
    """Model and encoding.

    >>> from pathlib import Path
    >>> from regulargpt.config.schema import RunConfig
    >>> config = RunConfig().replaced({"model.name": "transformer", "model.encoding.name": "alibi"})
    >>> label(TextRun(Path("a"), config, {}, "", None, "", ()))
    'transformer, alibi'
    """
    encoding = as_mapping(run.config.model).get("encoding")
    return ", ".join([run.config.model.label, *([] if encoding is None else [encoding["name"]])])


def identity(run: TextRun) -> str:
    """The run in a line under its text."""
    config = run.config
    trained = f"trained on segments of {run.train_len:,} symbols"
    return f"{label(run)} · recipe {config.recipe} · seed {config.seed} · {trained}"


def protocol(run: TextRun) -> str:
    """How it was tested, in words."""
    summary, data = run.summary, as_mapping(run.config.data)
    more = {
        "last_k": f": the last {min(data['last'], data['train_len'])} symbols of each segment",
        "last": ": the last symbol of each segment",
        "nonoverlapping": ": all symbols of segments end to end",
        "sliding": f": the last {data.get('step')} symbols of windows that move by as many",
        "position": ": every position by itself",
    }
    seen = "" if summary["attention"] == "full" else f", attention {summary['attention']}"
    return f"protocol {summary['scoring']}{more.get(summary['scoring'], '')}{seen}"


def badge(run: TextRun) -> str:
    """Whether it extrapolates, never without what the sentence rests on."""
    extrapolation = run.summary["extrapolation"]
    if extrapolation is None:
        words = "Whether it extrapolates is not known: no longer length was tested."
        return tag("p", text(words), " ", text(grounds(run)), class_="badge")
    mark, kind = MARKS[extrapolation["verdict"]]
    sign = tag("span", mark, class_="mark", aria_hidden="true")
    sentence = tag("strong", text(extrapolation["sentence"]))
    return tag("p", sign, " ", sentence, " ", text(grounds(run)), class_=f"badge {kind}")


def grounds(run: TextRun) -> str:
    """The protocol, symbols trained, what was learned beside a bigram, and how far the gradient reaches."""
    trained, extrapolation = f"{run.summary['symbols_trained']:,} symbols trained", run.summary["extrapolation"]
    lead = protocol(run)
    beginning = f"{lead[0].upper()}{lead[1:]}; {trained}; "
    if extrapolation is not None:
        beginning += f"perplexity at the training length x {extrapolation['bigram'][0]:.3f} that of a bigram; "
    if run.behaviour is None:
        return f"{beginning}the share of the gradient inside the training length is not known."
    held = f"{100 * run.behaviour.share:.1f} % of the gradient inside the training length"
    if run.behaviour.share > 0.99:
        meaning = "farther symbols hardly count, so a flat curve says that they do no harm, not that they help"
        return f"{beginning}{held}: {meaning}."
    return f"{beginning}{held}."


def line(run: TextRun, name: str) -> Line:
    """Its bits per byte by length."""
    bits, lengths = run.summary["measures"]["bits_per_byte"], run.lengths
    values, sides = bits["values"], bits["intervals"]
    low, high = ([sides[str(T)][side] for T in lengths] for side in (0, 1))
    return Line(name, lengths, [values[str(T)] for T in lengths], low, high)


def lengths_section(run: TextRun) -> str:
    """The curve by length, and the same as a table."""
    measures, extrapolation = run.summary["measures"], run.summary["extrapolation"]
    ratios = {} if extrapolation is None else extrapolation["ratios"]
    rows = []
    for T in map(str, run.lengths):
        low, high = measures["bits_per_byte"]["intervals"][T]
        ratio = RATIO.format(*ratios[T]) if T in ratios else ""
        bits, perplexity = (measures[name]["values"][T] for name in ("bits_per_byte", "perplexity"))
        count = run.summary["samples"][T]
        interval = f"{low:.3f} to\u00a0{high:.3f}"
        rows.append((f"{int(T):,}", f"{bits:.3f}", interval, f"{perplexity:.4g}", ratio, f"{count:,}"))
    ratio = f"perplexity to {denominator(extrapolation)}"
    heads = ("length", "bits per byte", "95 % interval", "perplexity", ratio, "segments")
    table = Table(heads, rows, caption="Bits per byte by length")
    return html(curves.of_texts("lengths", [line(run, label(run))], run.train_len, table), folded=False)


def surprise_section(run: TextRun) -> str:
    """A passage of the test part, darker where the network is surprised."""
    assert run.behaviour is not None
    passage, train_len = run.behaviour.passage, run.train_len
    bits = [surprise.bits for surprise in passage if surprise.bits is not None]
    key = [tag("span", text(words), class_=f"s{i}") for i, words in enumerate(level_names())]
    lead = (
        f"A passage of the test part. The darker a symbol, the more bits it cost: {sum(bits) / len(bits):.2f} on "
        "average. Point at one to read its bits."
    )
    spans = [*map(span, (surprise for surprise in passage if surprise.at < train_len))]
    rest = [*map(span, (surprise for surprise in passage if surprise.at >= train_len))]
    border = tag("span", text(f"⟨{train_len:,} symbols: the training length ends⟩"), class_="border") if rest else ""
    whole = tag("pre", *spans, border, *rest, class_="surprise")
    region = scrolling("A passage with its surprise", whole)
    most = sorted((surprise for surprise in passage if surprise.bits), key=lambda surprise: -(surprise.bits or 0.0))[:5]
    worst = ", ".join(f"{quoted(surprise.text)} at {surprise.at:,} ({surprise.bits:.1f} bits)" for surprise in most)
    return section(
        "passage",
        "Where it is surprised",
        tag("p", text(lead)),
        tag("p", *key, class_="key-line"),
        region,
        tag("p", text(f"Most surprising: {worst}.")),
    )


def level_names() -> list[str]:
    """The levels of surprise in words.

    >>> level_names()[0], level_names()[-1]
    ('below 1 bit', '8 bits and more')
    """
    between = [f"{low:g} to {high:g}" for low, high in pairwise(LEVELS)]
    return [f"below {LEVELS[0]:g} bit", *between, f"{LEVELS[-1]:g} bits and more"]


def level(bits: float) -> int:
    """How dark so many bits are.

    >>> level(0.3), level(2.0), level(99.0)
    (0, 2, 5)
    """
    return sum(bits >= least for least in LEVELS)


def span(surprise: Surprise) -> str:
    """A character on its background. A newline is drawn, or its surprise could not be seen."""
    shown = "⏎\n" if surprise.text == "\n" else surprise.text
    if surprise.bits is None:
        return text(shown)
    return tag("span", text(shown), class_=f"s{level(surprise.bits)}", title=f"{surprise.bits:.2f} bits")


def quoted(character: str) -> str:
    """A character in a sentence.

    >>> quoted("a"), quoted("\\n")
    ('“a”', 'a newline')
    """
    return {"\n": "a newline", " ": "a space", "\t": "a tab"}.get(character, f"“{character}”")


def continuation_section(continuations: Sequence[Continuation]) -> str:
    """Prompts of the test part, and how the network goes on."""
    if not continuations:
        return section("samples", "How it goes on", tag("p", "The training length is too short for a prompt."))
    parts = []
    for continuation in continuations:
        mine = tag(
            "pre", tag("span", text(continuation.prompt), class_="prompt"), tag("mark", text(continuation.network))
        )
        true = tag(
            "details", tag("summary", "How the text goes on"), tag("pre", text(continuation.prompt + continuation.text))
        )
        parts += [tag("div", mine, true, class_="continuation")]
    words = (
        f"The first symbols of test segments; on coloured ground what the network wrote, at temperature {TEMPERATURE}."
    )
    return section("samples", "How it goes on", tag("p", text(words)), *parts)


def facts_list(run: TextRun) -> str:
    """What was run, in numbers."""
    summary = run.summary
    trained = f"{summary['symbols_trained']:,} symbols"
    lines: list[tuple[str, Any]] = [
        ("text", run.config.data.name),
        ("SHA-256 of the text", run.digest),
        ("model", f"{label(run)}, {summary['parameters']:,} parameters"),
        ("training", f"{summary['steps']:,} steps, {trained}, {summary['train_seconds']:.0f} s"),
        ("test", protocol(run)),
    ]
    if missing := summary.get("no_words_of_length"):
        lines.append(("not tested", f"lengths {', '.join(map(str, missing))}: the test part is too short"))
    return tag("dl", *(tag("dt", text(name)) + tag("dd", text(value)) for name, value in lines))


def comparison(runs: Sequence[TextRun]) -> str:
    """All runs in a single picture and one table, and in what they were not tested alike."""
    names = [f"{label(run)} ({facts.name(run.path)})" for run in runs]
    trained = {run.train_len for run in runs}
    lines = [line(run, name) for run, name in zip(runs, names, strict=True)]
    rows = [compared(run, name) for run, name in zip(runs, names, strict=True)]
    table = Table(COMPARED, rows, caption="The runs compared", notes=unlike(runs))
    finding = curves.of_texts("compare", lines, min(trained) if len(trained) == 1 else None, table)
    return html(finding, "All runs", level=2, folded=False)


def compared(run: TextRun, name: str) -> tuple[str, ...]:
    """A run's line in the table."""
    values, longest = run.summary["measures"]["bits_per_byte"]["values"], run.lengths[-1]
    extrapolation = run.summary["extrapolation"]
    ratio = "–" if extrapolation is None else RATIO.format(*extrapolation["ratios"][str(longest)])
    at = values.get(str(run.train_len))
    return (
        name,
        f"{run.train_len:,}",
        protocol(run).removeprefix("protocol ").partition(":")[0],
        f"{run.summary['symbols_trained']:,}",
        "–" if at is None else f"{at:.3f}",
        f"{values[str(longest)]:.3f} at {longest:,}",
        ratio,
        "–" if run.behaviour is None else f"{100 * run.behaviour.share:.1f} %",
        "–" if extrapolation is None else extrapolation["verdict"],
    )


def unlike(runs: Sequence[TextRun]) -> list[str]:
    """In what the runs differ that makes their numbers no comparison."""
    conditions = {
        "texts": {run.digest for run in runs},
        "protocols": {protocol(run) for run in runs},
        "test segments (another seed)": {run.config.seed for run in runs},
        "training lengths": {run.train_len for run in runs},
        "numbers of symbols trained": {run.summary["symbols_trained"] for run in runs},
    }
    several = [name for name, values in conditions.items() if len(values) > 1]
    return [f"Compare with care: these runs have different {', '.join(several)}."] if several else []
