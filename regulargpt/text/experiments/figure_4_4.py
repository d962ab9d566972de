"""Figure 4.4 of the thesis: the receptive fields of windows; Figure 4.12 is the same on OpenWebText2."""

from __future__ import annotations

from experiments.claims import leads
from regulargpt.measurements.options import REACH
from regulargpt.text.experiments.receptive_field import field_figure, reaches_beyond, stays_inside
from regulargpt.text.experiments.table_4_1 import NARROW, SUBJECTS, WINDOW_REMARK, WINDOWS
from regulargpt.text.measurements.quantities import FIELD

BEYOND = ("window=120", "window=160", "window=320")
CLAIMS = {
    "thesis, section 4.5.1": {
        "With w up to 100 the receptive field is within L.": tuple(map(stays_inside, NARROW)),
        "From w = 120 on it is beyond L.": tuple(map(reaches_beyond, BEYOND)),
        "The wider the window, the longer the receptive field.": tuple(
            leads(FIELD, *pair, at=REACH) for pair in zip(BEYOND[1:], BEYOND, strict=False)
        ),
    }
}
EXPERIMENT = field_figure(
    "figure-4.4",
    "Receptive fields of windows",
    {f"window={w}": SUBJECTS[f"window={w}"] for w in WINDOWS},
    CLAIMS,
    remarks=(WINDOW_REMARK,),
)
