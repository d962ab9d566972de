"""A page as Markdown as GitHub shows it, in which no text is markup."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import indent

import numpy as np

from experiments.claims import FAILS, HOLDS, OPEN, SHORT
from experiments.page.record import (
    Block,
    Cell,
    CellLine,
    ClaimVerdict,
    Curve,
    ItemList,
    Page,
    PagePicture,
    PageTable,
    Section,
    Values,
)
from regulargpt.evaluation.interval import ENOUGH_SEEDS
from regulargpt.tables import MARKDOWN, escaped, piped

BARS, POINTS = "▁▂▃▄▅▆▇█", 24
FEW = {0: "for these networks", 1: "for this network"}
KINDS = "about models and encodings, of three seeds or more"
THESE = "about just these networks"


def markdown(page: Page, drawn: bool = False) -> str:
    """page.md; with links to the pictures of curves where these are `drawn` beside it, else with tables of them."""
    parts = [f"# {safe(page.heading)}", *map(safe, page.lead)]
    for section in sections(page):
        if section.blocks:
            parts += [f"## {safe(section.title)}", *(shown(block, drawn) for block in section.blocks)]
    return "\n\n".join(parts) + "\n"


def sections(page: Page) -> Iterator[Section]:
    """All sections: the claims first, last how the page was made."""
    yield Section("Which published claims hold here", tuple(claims(page)))
    yield from page.sections
    yield Section("Runs that failed or are missing", tuple(unfinished(page)))
    yield Section("How it was made", tuple(origin(page)))


def shown(block: Block, drawn: bool) -> str:
    """A block."""
    if isinstance(block, str):
        return block if block.startswith("    ") else safe(block)
    if isinstance(block, ItemList):
        marks = (f"{n}." if block.numbered else "-" for n in range(1, len(block.items) + 1))
        text = "\n".join(f"{mark} {safe(item)}" for mark, item in zip(marks, block.items, strict=True))
    elif isinstance(block, PageTable):
        text = table(block)
    else:
        return picture(block, drawn)
    return f"<details><summary>{safe(block.folded)}</summary>\n\n{text}\n\n</details>" if block.folded else text


def safe(text: str) -> str:
    """Text in which nothing is markup."""
    return escaped(text, MARKDOWN)


def table(block: PageTable) -> str:
    """Its rows between pipes."""
    rows = ([safe(content) if isinstance(content, str) else cell(content) for content in row] for row in block.rows)
    return piped([[*map(safe, block.header)], ["---"] * len(block.header), *rows])


def cell(content: Cell) -> str:
    """A cell: its lines below each other, ours in bold, then the notes."""
    notes = f"<br><sub>notes {', '.join(map(str, content.notes))}</sub>" if content.notes else ""
    return "<br>".join(map(line, content.lines)) + notes


def line(part: CellLine) -> str:
    """A line of a cell."""
    marks = {"ours": "**", "state": "*"}.get(part.kind, "")
    return f"{marks}{safe(part.text)}{marks}"


def picture(drawing: PagePicture, drawn: bool) -> str:
    """A picture with its title; curves that are not drawn as a table of bars, with what is known to the last digit."""
    title = f"**{safe(drawing.title)}**"
    if drawn or not drawing.lines:
        return f"{title}\n\n![{safe(drawing.text)}]({drawing.file})"
    every = [value for line in drawing.lines for value in line.values]
    rows = tuple(sparkline(line, min(every), max(every)) for line in drawing.lines)
    if drawing.from_drawing:
        bars = PageTable((f"by {drawing.axis}", ""), tuple((name, bars) for name, *_, bars in rows))
        return "\n\n".join((title, safe(f"{drawing.text}."), table(bars)))
    return f"{title}\n\n{table(PageTable((f'by {drawing.axis}', 'from', 'to', 'lowest', 'highest', ''), rows))}"


def sparkline(curve: Curve, low: float, high: float) -> tuple[str, ...]:
    """A curve as a row: its first and last place with the values there, the extremes, and bars from low to high.

    >>> sparkline(Curve("rnn", [41, 42, 44], [100.0, 50.0, 75.0], [], []), 50.0, 100.0)[:5]
    ('rnn', '100 at 41', '75 at 44', '50', '100')
    """
    places, values = curve.lengths, curve.values
    at = np.interp(np.linspace(places[0], places[-1], POINTS), places, values)
    heights = (
        np.rint((at - low) / (high - low) * (len(BARS) - 1)).astype(int) if high > low else [len(BARS) - 1] * POINTS
    )
    first, last = (f"{values[end]:.4g} at {places[end]:,}" for end in (0, -1))
    extremes = f"{min(values):.4g}", f"{max(values):.4g}"
    return curve.name, first, last, *extremes, "".join(BARS[height] for height in heights)


def claims(page: Page) -> Iterator[Block]:
    """A row a claim, and the rules."""
    if not page.claims:
        return
    kinds, these = ([claim for claim in page.claims if is_of_a_kind(claim) is kind] for kind in (True, False))
    counts = [counted(some, what) for some, what in ((kinds, KINDS), (these, THESE)) if some]
    yield " ".join([*counts, page.judged])
    rows = (
        (f"{number}. {claim.sentence} ({claim.source})", verdict(claim), claim.figure or "–", claim.published or "–")
        for number, claim in enumerate(page.claims, 1)
    )
    ends = "lowest, highest run" if page.layout == "scores" else "95 % interval"
    yield PageTable(("claim", "here", f"our figure [{ends}]", "as published"), tuple(rows))
    rules = tuple(f"{number}: {'; '.join(claim.rules)}" for number, claim in enumerate(page.claims, 1))
    yield ItemList(rules, folded="The rule of each claim")


def is_of_a_kind(claim: ClaimVerdict) -> bool:
    """Whether it is about an encoding or a model, and not about just these networks."""
    return claim.seeds >= ENOUGH_SEEDS


def counted(verdicts: Sequence[ClaimVerdict], what: str) -> str:
    """How many claims have which verdict."""
    counts = Counter(verdict.answer for verdict in verdicts)
    says = {HOLDS: "hold", FAILS: "do not", SHORT: "are not reached", OPEN: "are not decidable"}
    each = ", ".join(f"{counts[answer]} {what}" for answer, what in says.items())
    return f"Of {len(verdicts)} claims {what}: {each}."


def verdict(claim: ClaimVerdict) -> Cell:
    """The verdict, of which networks if they are few, and why."""
    few = FEW.get(claim.seeds, f"for these {claim.seeds} networks")
    is_few = claim.answer != OPEN and not is_of_a_kind(claim)
    return Cell((CellLine(claim.text, "ours"), *[CellLine(few)] * is_few, *[CellLine(claim.why)] * bool(claim.why)))


def unfinished(page: Page) -> Iterator[Block]:
    """Names and reasons."""
    if not page.failed and not page.missing:
        yield "None."
        return
    failed = (f"{failure['run']}: failed, {failure['reason']}" for failure in page.failed)
    yield ItemList((*failed, *(f"{name}: missing" for name in page.missing)))
    yield "The same command runs those that are missing; with --retry, those that failed too."


def origin(page: Page) -> Iterator[Block]:
    """Command, time and environment."""
    seconds, trained = page.session_seconds, page.train_seconds
    spent = f"{duration(sum(seconds))} in {len(seconds)} session{'s' * (len(seconds) != 1)}"
    alone = "" if trained is None else f"training alone {duration(trained)}, all runs added up"
    yield indent(page.command, "    ")
    if times := "; ".join([spent] * bool(seconds) + [alone] * bool(alone)):
        yield f"Time: {times}."
    if page.environments:
        yield ItemList(tuple(map(environment, page.environments)))
    yield from page.remarks


def environment(known: Values) -> str:
    """Where runs were made, in a line.

    >>> versions = {"source": "c0", "python": 3, "torch": 2, "numpy": 1}
    >>> environment({**versions, "device": "cpu", "device_name": "x", "system": "Linux"})
    'source c0, Python 3, PyTorch 2, NumPy 1, x (cpu), Linux'
    """
    source = f"source {known['source']}" if known.get("source") else "no commit known"
    commit = f"commit {known['commit']}" if known.get("commit") else source
    software = f"Python {known.get('python')}, PyTorch {known.get('torch')}, NumPy {known.get('numpy')}"
    cores = f", {known['cpu_count']} CPU cores" if known.get("cpu_count") else ""
    machine = f"{known.get('device_name')} ({known.get('device')}){cores}"
    runs = f": {known['runs']} run{'s' * (known['runs'] != 1)}" if "runs" in known else ""
    models = f" of {', '.join(known['models'])}" if "models" in known else ""
    return f"{commit}, {software}, {machine}, {known.get('system')}{runs}{models}"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> duration(3.21), duration(90), duration(7230)
    ('3.2 s', '1 min 30 s', '2 h 0 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"
