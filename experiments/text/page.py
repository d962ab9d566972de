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
from experiments.text.table import BY_POSITION
from regulargpt.evaluation.interval import FILES, SEGMENTS, WORDS, Interval

SCORINGS = {
    "last": "the last symbol of each test segment",
    "last_k": "the last symbols of each test segment, the same ones at every length",
    "nonoverlapping": "all symbols of test segments that lie side by side",
    "sliding": "the last symbols of windows a step apart",
    BY_POSITION: "the symbols up to that position of the longest segments, from a factor of about 1.4 before it on",
}
RULE = (
    "A claim holds where the 95 % interval of each figure lies on its side of the bound, does not where one lies on "
    "the other side, and is not decidable here in between."
)
# By what intervals are over, beside seeds.
INTERVALS = {
    FILES: "Figures are paired by seed and segment. Intervals are over seeds and over the files of the text, from "
    "three seeds on. Of fewer they are over files alone, hold the interval of each network, and the claim is about "
    "just these networks.",
    SEGMENTS: "The losses of single segments were not kept. So intervals are over segments of one network each, not "
    "clustered by file: they are up to 1.8 times narrower than they should be. Of several seeds they go from the "
    "lowest end to the highest. All claims here are about just these networks.",
    "": "The figures are exact, of just these networks.",
    WORDS: "Intervals are over words of one network each. Of several seeds they go from the lowest end to the highest. "
    "All claims here are about just these networks.",
}


def page(found: TextRecord) -> str:
    """page.md."""
    sections = {
        "Which published claims hold here": claims(found.claims, verdicts(found)),
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


def verdicts(found: TextRecord) -> str:
    """What a verdict means, and what it can be computed from."""
    again = f"The loss of each segment is in {found.losses}, from which these verdicts follow."
    return " ".join([RULE, INTERVALS[found.over], *[again] * bool(found.losses)])


def claims(found: Sequence[ClaimRecord], verdicts: str) -> list[str]:
    """A row a claim, and the rules; `verdicts` say what a verdict means."""
    rows = [
        (f"{number}. {one.sentence} ({one.source})", verdict(one), one.figure or "–", one.published or "–")
        for number, one in enumerate(found, 1)
    ]
    of_kinds, others = ([one for one in found if one.is_of_a_kind is of_a_kind] for of_a_kind in (True, False))
    told = [counted(of_kinds, "about models and encodings, of three seeds or more")] * bool(of_kinds)
    told += [counted(others, "about just these networks")] * bool(others)
    rules = [f"{number}: {'; '.join(one.rules)}" for number, one in enumerate(found, 1)]
    header = ("claim", "here", "our figure [95 % interval]", "as published")
    folded = f"<details><summary>The rule of each claim</summary>\n\n{items(rules)}\n\n</details>"
    return [safe(" ".join([*told, verdicts])), table(header, rows), folded]


def counted(found: Sequence[ClaimRecord], what: str) -> str:
    """How many claims have which verdict."""
    counts = Counter(one.answer for one in found)
    told = f"{counts[HOLDS]} hold, {counts[FAILS]} do not, {counts[OPEN]} are not decidable"
    return f"Of {len(found)} claims {what}: {told}."


def verdict(claim: ClaimRecord) -> Entry:
    """The verdict, of which networks if they are few, and why."""
    few = {0: "for these networks", 1: "for this network"}.get(claim.seeds, f"for these {claim.seeds} networks")
    is_few = claim.answer != OPEN and not claim.is_of_a_kind
    return Entry((Line(claim.answer, "ours"), *[Line(few)] * is_few, *[Line(claim.why)] * bool(claim.why)))


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
