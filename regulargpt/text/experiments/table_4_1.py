"""Table 4.1 of the thesis: slopes shifted, slopes equal, and windows, on ArXiv; Table 4.4 has OpenWebText2."""

from __future__ import annotations

from dataclasses import replace

from experiments.claims import Claim, above, below, explodes, rises, stays_within
from regulargpt.measurements.options import HELD
from regulargpt.text.experiments.subjects import encoding, shifted
from regulargpt.text.experiments.table import PublishedSource, Subject, by_length, text_table
from regulargpt.text.experiments.testing import quantities
from regulargpt.text.measurements.quantities import SHARE

SHIFTS, EQUAL = (-3, 0, 2, 4, 6, 8), (0, 2, 4, 6, 8)
# By published window, one that is in four layers as many times shorter than the training length as that in twelve: what
# it reaches, w R, is the same multiple. The last would be longer than a training segment.
WINDOWS, LAYERS, PUBLISHED_LAYERS = {40: 15, 80: 30, 100: 37, 120: 45, 160: 60, 320: 64}, 4, 12
NARROW, WIDE = ("window=40", "window=80", "window=100"), ("window=160", "window=320")
SECTIONS = {"table-4.1": "thesis, section 4.4", "table-4.4": "thesis, section 4.9.1"}


def windowed(published: int) -> Subject:
    """A window and no other positions."""
    width = WINDOWS[published]
    subject = encoding(f"window {width}", "window", width=lambda base: min(width, base.data.train_len))
    full = {"model.encoding.width": published, "model.n_layers": PUBLISHED_LAYERS}
    return replace(subject, options={**subject.options, "model.n_layers": LAYERS}, full=full)


SUBJECTS = {
    **{f"shift={d}": encoding(f"ALiBi, h {d:+d}", "alibi", shift=shifted(d)) for d in SHIFTS},
    **{f"equal={h}": encoding(f"ALiBi, all h = {h}", "alibi", slopes="equal", shift=shifted(h)) for h in EQUAL},
    **{f"window={w}": windowed(w) for w in WINDOWS},
}
SLOPE_REMARK = (
    "Slopes: the rows are named after the published h. Here each h is lower by log2(512 / L), so that the bias at the "
    "end of a training segment is the published one."
)
WINDOW_REMARK = (
    "Windows: the rows are named after the published ones. Here they are "
    f"{', '.join(map(str, WINDOWS.values()))} symbols wide in {LAYERS} layers: w R is the same multiple of L as in "
    "twelve layers, but for the last."
)
REMARKS = (SLOPE_REMARK, WINDOW_REMARK)


def claims(section: str) -> tuple[Claim, ...]:
    """What is claimed of both data sets."""
    return (
        Claim(
            "Slope shift: with h + 0 and h + 2 the perplexity stays within 8 % of its value at L.",
            section,
            (stays_within("shift=0", 8), stays_within("shift=2", 8)),
        ),
        Claim("Slope shift: with h + 6 and h + 8 it explodes.", section, (explodes("shift=6"), explodes("shift=8"))),
        Claim(
            "ALiBi does not in fact extrapolate: its perplexity at 16x is above that at L, with every shift.",
            section,
            tuple(rises(f"shift={d}") for d in SHIFTS),
        ),
        Claim(
            "Equal slopes: only large ones extrapolate. All h = 0 or 2 stay within 8 %.",
            section,
            (stays_within("equal=0", 8), stays_within("equal=2", 8)),
        ),
        Claim("Equal slopes: all h = 6 or 8 explode.", section, (explodes("equal=6"), explodes("equal=8"))),
        Claim(
            "Equal slopes: h = 8 would need a receptive field within L; it holds 99 % of the gradient with h = 0, and "
            "not with h = 8.",
            "thesis, section 4.5.1",
            (above(SHARE, "equal=0", HELD, at=4), below(SHARE, "equal=8", HELD, at=4)),
        ),
        Claim(
            "Windows up to w = 100 stay within 1 %, though w R is up to 2.3 L.",
            section,
            tuple(stays_within(row, 1) for row in NARROW),
        ),
        Claim("Windows of w = 160 and 320 explode.", section, tuple(explodes(row) for row in WIDE)),
        Claim(
            "Windows: the empirical receptive field is within L up to w = 100, and beyond it from w = 160 on.",
            "thesis, section 4.5.1, Figure 4.4",
            (*(above(SHARE, row, HELD, at=4) for row in NARROW), *(below(SHARE, row, HELD, at=4) for row in WIDE)),
        ),
        Claim(
            "From 4x on no perplexity rises by more than 3 %: symbols farther back are ignored.",
            section,
            tuple(stays_within(row, 3, (8, 16), base=4) for row in SUBJECTS),
        ),
    )


def table(name: str, title: str, data: dict[str, str], *more: str):
    """The table of a data set; `more` are remarks."""
    return text_table(
        name,
        title,
        SUBJECTS,
        [PublishedSource(name, data, by_length)],
        claims(SECTIONS[name]),
        remarks=(*REMARKS, *more),
        measuring=quantities(SHARE),
    )


EXPERIMENT = table("table-4.1", "Slopes and windows (ArXiv)", {"arxiv": "ArXiv"})
