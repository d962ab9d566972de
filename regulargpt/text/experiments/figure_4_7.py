"""Figure 4.7 of the thesis: the receptive field of Sinusoidal, and where it jumps, for two training lengths."""

from __future__ import annotations

from experiments.claims import above
from regulargpt.measurements.options import REACH
from regulargpt.text.experiments.receptive_field import field_figure, spreads
from regulargpt.text.experiments.subjects import SINUSOIDAL, alone, longer
from regulargpt.text.experiments.testing import quantities
from regulargpt.text.measurements.quantities import FIELD, GRADIENT, JUMP

# The positions around L are an eighth of the segment.
EVEN, TIMES = 1 / 8, 2
ROWS = {"sinusoidal": alone(SINUSOIDAL), "sinusoidal-longer": alone(longer(SINUSOIDAL, TIMES))}
CLAIMS = {
    "thesis, section 4.5.3": {
        "Sinusoidal does not keep to the last L symbols.": spreads("sinusoidal"),
        "It looks at the symbols around position L, where training ended: they have more than their share of the "
        "gradient, whatever L is.": (
            above(JUMP, "sinusoidal", EVEN, at=REACH),
            above(JUMP, "sinusoidal-longer", TIMES * EVEN, at=REACH),
        ),
    }
}
EXPERIMENT = field_figure(
    "figure-4.7",
    "The receptive field of Sinusoidal",
    ROWS,
    CLAIMS,
    measuring=quantities(JUMP, FIELD, GRADIENT),
    shown=JUMP,
    remarks=(
        "The cells are the share of the gradient on the positions from 3/4 to 5/4 of the row's own training length; an "
        f"even gradient has {EVEN:.3g} there, and {TIMES * EVEN:.3g} in the second row.",
        "The second training length is twice the first, in print a quarter.",
    ),
)
