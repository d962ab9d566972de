"""Findings: what a measurement came to, as plain values. They are written, printed and shown here, and nowhere else.

`finding` says what they are; `files` writes NAME.json, .csv and .png, `text` prints them, `html` shows them on pages,
`draw` and `svg` draw their pictures. Nothing here knows a measurement, and torch is not imported.
"""

from regulargpt.findings.files import write
from regulargpt.findings.finding import Arrow, Axis, Curves, Data, Dots, Finding, Group, HeatMap, Outline, Picture
from regulargpt.findings.text import text

__all__ = [
    "Arrow",
    "Axis",
    "Curves",
    "Data",
    "Dots",
    "Finding",
    "Group",
    "HeatMap",
    "Outline",
    "Picture",
    "text",
    "write",
]
