"""Figure 4.11 of the thesis: the receptive fields of Sandwich, its smoothed form, KERPLE and T5, with ALiBi beside."""

from __future__ import annotations

from experiments.claims import Bound, above, below, lead, leads
from regulargpt.text.experiments.receptive_field import field_figure
from regulargpt.text.experiments.subjects import ALIBI, KERPLE_LOG, SANDWICH, SANDWICH_SMOOTH, T5, alone
from regulargpt.text.measurements.quantities import GRADIENT

# "About 60 %", and how far shares may differ that are called similar.
LEAST, MOST, SIMILAR = 0.5, 0.7, 0.1
OTHERS = ("sandwich_smooth", "kerple_log", "t5")


def similar(row: str) -> tuple[Bound, Bound]:
    """The share of the last L symbols is that of Sandwich, more or less."""
    leading = (lead(GRADIENT, row, "sandwich", 1),)
    return Bound(leading, "below", SIMILAR), Bound(leading, "above", -SIMILAR)


CLAIMS = {
    "thesis, section 4.6": {
        "Sandwich has about 60 % of the gradient on the last L symbols.": (
            above(GRADIENT, "sandwich", LEAST, at=1, is_printed=True),
            below(GRADIENT, "sandwich", MOST, at=1, is_printed=True),
        ),
        "Smoothed Sandwich, KERPLE-log and T5 have a similar receptive field.": tuple(
            bound for row in OTHERS for bound in similar(row)
        ),
        "ALiBi's is another: more of its gradient lies on the last L symbols.": leads(
            GRADIENT, "alibi", "sandwich", at=1
        ),
    }
}
EXPERIMENT = field_figure(
    "figure-4.11",
    "Receptive fields of Sandwich and those like it",
    {
        "sandwich": alone(SANDWICH),
        "sandwich_smooth": SANDWICH_SMOOTH,
        "kerple_log": alone(KERPLE_LOG),
        "t5": alone(T5),
        "alibi": alone(ALIBI),
    },
    CLAIMS,
    shown=GRADIENT,
    multiples=(1, 2, 3),
)
