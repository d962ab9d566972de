"""What the text wing measures: the rows of its measurements, which entry points name. Nothing here imports torch."""

from __future__ import annotations

from regulargpt.options.registry import Row
from regulargpt.text.examples import RUN_ON_RETRIEVAL, RUN_ON_TEXT
from regulargpt.text.measurements import options

PLACE = "regulargpt.text.measurements."
KERNELS = Row(
    PLACE + "bias_kernels:measure",
    options.KernelMeasurementOptions,
    "Say what kernel an encoding's bias is, before training and after, and how far it reaches.",
    "Chi 2024, sections 3.3 and 3.7.5",
    after="generate",
    examples=("alibi", RUN_ON_TEXT),
)
POSITION_VARIANCE = Row(
    PLACE + "variance_by_position:measure",
    options.PositionVarianceOptions,
    "Say how a model without encodings knows positions: simulated, or of a run.",
    "Chi 2024, chapter 2",
    after="kernels",
    examples=("", "--preset thesis --updates 0 --out variance"),
)
RESOLUTION = Row(
    PLACE + "resolution:measure",
    options.ResolutionOptions,
    "Measure how well a trained Transformer's attention tells distances apart.",
    "Sun et al. 2022, section 3.1",
    after="receptive-field",
    examples=(RUN_ON_TEXT, f"{RUN_ON_TEXT} --attention bca"),
)
NEEDLES = Row(
    PLACE + "needle_methods:measure",
    options.NeedleOptions,
    "Say how often a network finds what it is asked for, by length and depth.",
    "Hsieh et al. 2024",
    after="resolution",
    examples=(f"{RUN_ON_RETRIEVAL} --lengths 64,256", f"{RUN_ON_RETRIEVAL} --bins 5"),
)
POSITIONS = Row(
    PLACE + "positions:measure",
    options.PositionOptions,
    "Measure what a symbol of a text costs by its position, and whether far context helps.",
    "Chi 2024, section 3.5.5",
    after="needles",
    examples=(RUN_ON_TEXT, f"{RUN_ON_TEXT} --length 256"),
)
METHODS = Row(
    PLACE + "methods:measure",
    options.MethodOptions,
    "Compare what makes a trained network read longer texts, without training.",
    "Peng et al. 2023; Sun et al. 2023; Jin et al. 2024",
    after="positions",
    examples=(RUN_ON_TEXT, f"{RUN_ON_TEXT} --methods bca,sinks"),
)
ALIGN = Row(
    PLACE + "alignment.report:measure",
    options.AlignOptions,
    "Sharpen a Transformer's attention where length has flattened it.",
    "Chi 2024, section 5.4",
    after="methods",
    examples=(f"{RUN_ON_TEXT} --length 512", f"{RUN_ON_TEXT} --by head"),
)
