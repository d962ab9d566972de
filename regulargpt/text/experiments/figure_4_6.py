"""Figure 4.6 of the thesis: the receptive field of Rotary."""

from __future__ import annotations

from regulargpt.text.experiments.receptive_field import field_figure, reaches_beyond, spreads
from regulargpt.text.experiments.subjects import ROTARY, alone

CLAIMS = {
    "thesis, section 4.5.3": {
        "Rotary does not keep to the last L symbols.": (spreads("rotary"), reaches_beyond("rotary", is_printed=False))
    }
}
EXPERIMENT = field_figure("figure-4.6", "The receptive field of Rotary", {"rotary": alone(ROTARY)}, CLAIMS)
