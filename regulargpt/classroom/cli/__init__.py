"""The verbs of the classroom wing, which entry points name: each is imported when it is called."""

from __future__ import annotations

from regulargpt.cli import RUN
from regulargpt.options import Options
from regulargpt.options.registry import Row

REPORT = Row(
    "regulargpt.classroom.cli.report:command",
    Options,
    "Write a page that shows what a network learned.",
    after="reproduce",
    examples=(RUN, f"{RUN} --out parity.html"),
)
DEMO = Row(
    "regulargpt.classroom.cli.demo:command",
    Options,
    "Write a lesson: how a network can be known to be right on every word.",
    after="report",
    examples=("", "'regex:(a|b)*abb' --out abb.html"),
)
