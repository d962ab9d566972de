"""Findings: what a measurement came to, as plain values. They are written, printed and shown here, and nowhere else.

`finding` says what they are; `files` writes NAME.json, .csv and .png, `text` prints them, `html` shows them on pages,
`draw` and `svg` draw their pictures. Nothing here knows a measurement, and torch is not imported.
"""

from regulargpt.findings.files import write
from regulargpt.findings.finding import Axis, Curves, Data, Dots, Finding, Group, HeatMap, Picture
from regulargpt.findings.text import text

__all__ = ["Axis", "Curves", "Data", "Dots", "Finding", "Group", "HeatMap", "Picture", "text", "write"]
