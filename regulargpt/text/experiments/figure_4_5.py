"""Figure 4.5 of the thesis: the receptive fields of ALiBi with shifted slopes; Figure 4.13 has OpenWebText2."""

from __future__ import annotations

from experiments.claims import leads
from regulargpt.measurements.options import REACH
from regulargpt.text.experiments.receptive_field import field_figure, reaches_beyond
from regulargpt.text.experiments.table_4_1 import SHIFTS, SLOPE_REMARK, SUBJECTS
from regulargpt.text.measurements.quantities import FIELD

ROWS = tuple(f"shift={d}" for d in SHIFTS)
CLAIMS = {
    "thesis, section 4.5.1": {
        "With every shift the receptive field is longer than L.": tuple(map(reaches_beyond, ROWS)),
        "The steepest slopes, h - 3, have the shortest receptive field.": tuple(
            leads(FIELD, row, ROWS[0], at=REACH) for row in ROWS[1:]
        ),
    }
}
EXPERIMENT = field_figure(
    "figure-4.5",
    "Receptive fields of ALiBi with shifted slopes",
    {row: SUBJECTS[row] for row in ROWS},
    CLAIMS,
    remarks=(SLOPE_REMARK,),
)
