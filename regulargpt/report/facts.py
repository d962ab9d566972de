"""What is said of a run in words: what it is, what is proven of it, and what is only observed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regulargpt.cli.output import percent
from regulargpt.config import RunConfig
from regulargpt.recipes import CONSTRUCTED
from regulargpt.report.data import Gathered
from regulargpt.report.svg import tag, text
from regulargpt.storage.folder import CERTIFICATE

PROVEN, PARTLY, OBSERVED = "proven", "partly", "observed"
MARKS = {PROVEN: "✓", PARTLY: "◐", OBSERVED: "○"}


def identity(config: RunConfig) -> str:
    """The run in a line under its language.

    >>> identity(RunConfig())
    'regulargpt, C = 2 · recipe robust · seed 0 · trained on words of up to 40 symbols'
    """
    model = config.model.name + (f", C = {config.model.chunk_size}" if config.model.name == "regulargpt" else "")
    words = f"trained on words of up to {config.task.train_len} symbols"
    if config.recipe in CONSTRUCTED:
        words = "not trained: its weights were constructed"
    return f"{model} · recipe {config.recipe} · seed {config.seed} · {words}"


def status(run: Gathered) -> tuple[str, str]:
    """How much is proven, and that in words."""
    if run.certificate is None:
        return OBSERVED, f"Nothing is proven: accuracy was observed on samples. {without(run)}."
    raw = run.certificate.get("raw", {})
    K = len(run.certificate["prototypes"])
    if raw.get("proven"):
        return PROVEN, "Proven for every length, for the network as it is."
    return PARTLY, (
        f"Proven for every length, for the snapped network: each node's state is replaced by the nearest of {K} "
        "prototypes. Of the network as it is, this is observed."
    )


def without(run: Gathered) -> str:
    """That there is no certificate, and why, or how to ask for one."""
    if run.why:
        return run.why[0][0].upper() + run.why[0][1:]
    return "No certificate" + (f"; run `regulargpt verify {run.path}`" if run.config.model.name == "regulargpt" else "")


def badge(run: Gathered) -> str:
    """The status in a box, with a mark beside its colour."""
    kind, words = status(run)
    return tag(
        "p", tag("span", MARKS[kind], class_="mark", aria_hidden="true"), " ", code(words), class_=f"badge {kind}"
    )


def proof(run: Gathered) -> str:
    """The section on what is proven and what is observed, with the digests and how to check them."""
    observed = tag("h4", "Observed, not proven") + listed(observations(run))
    if run.certificate is None:
        return tag("p", code(status(run)[1])) + (listed(run.why[1:]) if run.why[1:] else "") + observed
    record = run.certificate
    lines = [("claim", text(record["claim"])), ("unsnapped", text(unsnapped(record.get("raw", {}))))]
    lines.append(("table", text(entries(record))))
    lines += [
        (record[name]["file"], tag("code", text(record[name]["sha256"])))
        for name in ("weights", "network", "automaton")
    ]
    rows = [tag("dt", text(name)) + tag("dd", value) for name, value in lines]
    path = tag("code", text(f"regulargpt check {run.path / CERTIFICATE}"))
    how = "This page shows the certificate; it does not check it. The checker is independent of the code that trained: "
    return tag("h4", "Proven") + tag("dl", *rows) + tag("p", text(how), path) + observed


def listed(lines: Sequence[str]) -> str:
    """A list of sentences."""
    return tag("ul", *(tag("li", text(line)) for line in lines))


def unsnapped(raw: dict[str, Any]) -> str:
    """What is proven of the network as it is, with its slack, or why nothing is.

    >>> unsnapped({"proven": False, "reason": "no balls are closed"})
    'not proven: no balls are closed'
    """
    if raw.get("proven"):
        return raw.get("claim", "proven too")
    return "not proven" + (f": {raw['reason']}" if "reason" in raw else "")


def entries(record: dict[str, Any]) -> str:
    """The table of the certificate in numbers."""
    margins = [*record["leaves"]["margins"], *record["nodes"]["margins"]]
    one = "each prototype stands for one transition" if record["homomorphism"] else "a prototype may stand for several"
    smallest = f", nearest rival at least {min(margins):.3g} farther" if margins else ""
    return f"{len(record['prototypes'])} prototypes, {len(margins)} entries{smallest}; {one}"


def observations(run: Gathered) -> list[str]:
    """What was measured on samples.

    Accuracy by length is always there; the rest where it was measured.
    """
    summary = run.summary
    found = [
        f"mean accuracy {percent(summary['score'])} % over lengths {summary['train_len'] + 1} to "
        f"{summary['test_len']}, worst {percent(summary['min_accuracy'])} %"
    ]
    beyond = [(length, share) for length, share in run.accuracy if length > summary["test_len"]]
    found += [f"{percent(share)} % at length {length:,}" for length, share in beyond]
    if run.field is not None and run.field.erf is not None:
        found.append(f"99 % of the gradient in the last {run.field.erf} of {len(run.field.c)} symbols")
    return found


def code(words: str) -> str:
    """Text in which `...` is code.

    >>> code("run `a<b`")
    'run <code>a&lt;b</code>'
    """
    parts = words.split("`")
    return "".join(tag("code", text(part)) if i % 2 else text(part) for i, part in enumerate(parts))


def name(path: Path) -> str:
    """A folder's name, also of `.`."""
    return path.resolve().name
