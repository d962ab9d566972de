"""The verbs of the text wing, which entry points name: each is imported when it is called."""

from __future__ import annotations

from regulargpt.options import Options
from regulargpt.options.registry import Row
from regulargpt.text.examples import RUN_ON_TEXT

GENERATE = Row(
    "regulargpt.text.cli.generate:command",
    Options,
    "Continue a text with a model that was trained on texts.",
    after="extract",
    examples=(f"{RUN_ON_TEXT} --symbols 50", f"{RUN_ON_TEXT} --temperature 0"),
)
LENGTHEN = Row(
    "regulargpt.text.cli.lengthen:command",
    Options,
    "Train a bias beside a network's own positions, so that it reads longer texts.",
    after="align",
    examples=(f"{RUN_ON_TEXT} --length 512", f"{RUN_ON_TEXT} --per layer --out bias"),
)
