"""What a trained network has learned, read from the inside: a measurement is one file, of which a verb is made.

A file has `measure(run, options) -> Finding`, and a docstring with the formula and its source; its options lie in
`options`, which does not import torch. A measurement outside is a class with both, as `package.module:Class`.
"""

from __future__ import annotations

from regulargpt.measurements import options
from regulargpt.measurements.options import MeasurementOptions
from regulargpt.options.registry import Registry, Row

PLACE = "regulargpt.measurements."
MEASUREMENTS = Registry(
    "measurement",
    {
        "kernels": Row(
            PLACE + "bias_kernels:measure",
            options.KernelOptions,
            "Say what kernel an encoding's bias is, before training and after, and how far it reaches.",
            "Chi 2024, sections 3.3 and 3.7.5",
        ),
        "position-variance": Row(
            PLACE + "variance_by_position:measure",
            options.PositionVarianceOptions,
            "Say how a model without encodings knows positions: simulated, or of a run.",
            "Chi 2024, chapter 2",
        ),
        "receptive-field": Row(
            PLACE + "receptive_field:measure",
            options.ReceptiveFieldOptions,
            "Measure how far back a trained model's prediction depends on the word.",
            "Chi 2024, sections 4.5.1 and 6.6.4",
        ),
        "resolution": Row(
            PLACE + "resolution:measure",
            options.ResolutionOptions,
            "Measure how well a trained Transformer's attention tells distances apart.",
            "Sun et al. 2022, section 3.1",
        ),
        "needles": Row(
            PLACE + "needle_methods:measure",
            options.NeedleOptions,
            "Say how often a network finds what it is asked for, by length and depth.",
            "Hsieh et al. 2024",
        ),
        "positions": Row(
            PLACE + "positions:measure",
            options.PositionOptions,
            "Measure what a symbol of a text costs by its position, and whether far context helps.",
            "Chi 2024, section 3.5.5",
        ),
        "methods": Row(
            PLACE + "methods:measure",
            options.MethodOptions,
            "Compare what makes a trained network read longer texts, without training.",
            "Peng et al. 2023; Sun et al. 2023; Jin et al. 2024",
        ),
        "align": Row(
            PLACE + "alignment.report:measure",
            options.AlignOptions,
            "Sharpen a Transformer's attention where length has flattened it.",
            "Chi 2024, section 5.4",
        ),
        "clusters": Row(
            PLACE + "state_clusters:measure",
            options.ClusterOptions,
            "Hold the clusters of a model's hidden states against the language's automaton.",
            "Chi 2024, section 6.6.3",
        ),
    },
    MeasurementOptions,
    "regulargpt.measurements",
)
