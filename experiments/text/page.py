"""The page of a text table as Markdown: the claims first, then every row by length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from experiments.page import details
from experiments.page.contents import joined
from experiments.page.markdown import items, pictures, safe, table
from experiments.page.wording import Entry, Line
from experiments.text.claims import FAILS, HOLDS, OPEN, number
from experiments.text.record import ClaimRecord, Printed, TextCell, TextRecord
from experiments.text.results import Interval
from experiments.text.table import BY_POSITION

SCORINGS = {
    "last": "the last symbol of each test segment",
    "last_k": "the last symbols of each test segment, the same ones at every length",
    "nonoverlapping": "all symbols of test segments that lie side by side",
    "sliding": "the last symbols of windows a step apart",
    BY_POSITION: "the symbols up to that position of the longest segments, from a factor of about 1.4 before it on",
}
VERDICTS = (
    "A claim holds where the 95 % interval of each figure lies on its side of the bound, does not where one lies on "
    "the other side, and is not decidable here in between. Intervals are paired by segment. Of several seeds the "
    "figure is the mean, and the interval goes from the lowest end to the highest: what holds, holds for each."
)


def page(found: TextRecord) -> str:
    """page.md."""
    sections = {
        "Which published claims hold here": claims(found.claims),
        found.title: lengths(found),
        "Conditions": conditions(found),
        f"By {found.axis}": curves(found),
        "Every row in numbers": [models(found)],
        "Runs that learned too little to count": unlearned(found),
        "Runs that failed or are missing": details.unfinished(found),
        "How it was made": details.origin(found),
    }
    return joined(found, {name: blocks for name, blocks in sections.items() if blocks})


def unlearned(found: TextRecord) -> list[str]:
    """Names, and what they come to at their training length."""
    if not found.unlearned:
        return []
    why = "What a network has not learned at its training length it cannot lose beyond it."
    return [why, items(f"{one['run']}: {one['value']:.4g} % at the training length" for one in found.unlearned)]


def claims(found: Sequence[ClaimRecord], verdicts: str = VERDICTS) -> list[str]:
    """A row a claim, and the rules; `verdicts` say what a verdict means."""
    rows = [
        (f"{number}. {one.sentence} ({one.source})", verdict(one), one.figure or "–", one.published or "–")
        for number, one in enumerate(found, 1)
    ]
    counts = Counter(one.answer for one in found)
    told = f"{counts[HOLDS]} hold, {counts[FAILS]} do not, {counts[OPEN]} are not decidable"
    rules = [f"{number}: {'; '.join(one.rules)}" for number, one in enumerate(found, 1)]
    header = ("claim", "here", "our figure [95 % interval]", "as published")
    folded = f"<details><summary>The rule of each claim</summary>\n\n{items(rules)}\n\n</details>"
    return [safe(f"Of {len(found)} claims: {told}. {verdicts}"), table(header, rows), folded]


def verdict(claim: ClaimRecord) -> Entry:
    """The verdict, and why."""
    return Entry((Line(claim.answer, "ours"), *[Line(claim.why)] * bool(claim.why)))


def lengths(found: TextRecord) -> list[str]:
    """A row a model, a column a length."""
    columns = list(dict.fromkeys((cell.multiple, cell.length) for cell in found.cells))
    header = ("", *(f"{multiple}x ({length:,})" for multiple, length in columns))
    rows = [(row[0].title, *map(entry, row)) for row in found.rows]
    what = found.measure or "bits per byte, and the perplexity over that of the first column"
    text = [f"In each cell: our {what}."]
    if any(cell.published for cell in found.cells):
        text.append(
            "Below it: what was published, of other text and models hundreds of times as large. The two cannot be "
            "subtracted."
        )
    if not found.measure:
        text.append(f"Ours are of {SCORINGS.get(found.scoring, found.scoring)}.")
    text.append(f"Columns are by {found.axis}: 1x is the training length, {found.train_len} symbols.")
    marked = any(one.mark or one.doubt for cell in found.cells for one in cell.published)
    signs = [safe("† and * are the published signs of significance; ? is a doubtful value.")] * marked
    doubts = [safe("Doubtful values:"), items(found.doubts)] if found.doubts else []
    return [safe(" ".join(text)), table(header, rows), *signs, *doubts]


def entry(cell: TextCell) -> Entry:
    """Ours, then the published values."""
    lines = [Line(printed(one)) for one in cell.published]
    if cell.measure is not None:
        lines.insert(0, Line(number(cell.measure.value), "ours"))
    elif cell.bits is not None:
        ratio = f" (×{number(cell.ratio.value)})" if cell.ratio is not None else ""
        lines.insert(0, Line(f"{cell.bits.value:.3f}{ratio}", "ours"))
    return Entry(tuple(lines) or (Line("–", "state"),))


def printed(value: Printed) -> str:
    """A published value.

    >>> printed(Printed("ArXiv", 5.58, 0.4, "†", 1.0629, ""))
    'ArXiv 5.58 ± 0.4† (×1.06)'
    """
    deviation = f" ± {value.sd:g}" if value.sd is not None else ""
    ratio = f" (×{value.ratio:.3g})" if value.ratio is not None else ""
    text = f"{value.data} {value.value:g}" if value.data else f"published {value.value:g}"
    return f"{text}{deviation}{value.mark}{'?' * bool(value.doubt)}{ratio}"


def conditions(found: TextRecord) -> list[str]:
    """Published beside ours, and what was scaled down."""
    return [table(("", "as published", "here"), found.conditions), *[items(found.notes)] * bool(found.notes)]


def curves(found: TextRecord) -> list[str]:
    """The picture."""
    return pictures(found.curves)


def models(found: TextRecord) -> str:
    """A row a model: its runs, and its intervals at every length."""
    has_losses = any(cell.bits for cell in found.cells) or not found.measure
    what = f"{'loss in bits per byte' if has_losses else found.measure} [95 %] by {found.axis}"
    header = ("row", "attention", "seeds done", "trained on", "training, s", what)
    rows = []
    for model in found.models:
        ours = [(c.length, c.bits if has_losses else c.measure) for c in found.cells if c.row == model.row]
        trained = f"{model.tokens:,} symbols in segments of {model.train_len:,}"
        done, seconds = f"{model.done} of {model.runs}", f"{model.train_seconds:.0f}"
        done += f", {model.unlearned} learned too little" * bool(model.unlearned)
        losses = "; ".join(filter(None, (model.problem, by_length(ours)))) or "–"
        rows.append((model.title, model.attention, done, trained, seconds, losses))
    return table(header, rows, folded="Runs, symbols trained on, and intervals")


def by_length(found: Iterable[tuple[int, Interval | None]]) -> str:
    """Each length with what was measured there."""
    return "; ".join(f"{n:,}: {one.value:.3f} [{one.low:.3f}, {one.high:.3f}]" for n, one in found if one)
