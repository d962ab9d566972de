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
        "receptive-field": Row(
            PLACE + "receptive_field:measure",
            options.ReceptiveFieldOptions,
            "Measure how far back a trained model's prediction depends on the word.",
            "Chi 2024, sections 4.5.1 and 6.6.4",
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
