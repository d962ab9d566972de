"""Table 5.9 of the thesis: the temperatures that are found for retrieval tasks."""

from __future__ import annotations

from regulargpt.text.experiments.alignment import TEMPERATURE, temperature_of
from regulargpt.text.experiments.retrieval import ABOUT, SIZES, by_task, retriever
from regulargpt.text.experiments.subjects import aligned
from regulargpt.text.experiments.table import PublishedSource, text_table
from regulargpt.text.experiments.temperatures import temperatures_fall

TASKS = ("topic", "line", "passkey")
LONGER = (2, 4, 8, 16)
ROWS = {
    row: subject
    for task in TASKS
    for row, subject in aligned(f"{task}/t5", retriever(task)).items()
    if subject.sharpened
}


CLAIMS = {
    "thesis, sections 5.5.2 and 5.7": {
        sentence: tests for task in TASKS for sentence, tests in temperatures_fall(f"{task}/t5", of=task).items()
    }
}
EXPERIMENT = text_table(
    "table-5.9",
    "Temperatures for retrieval",
    ROWS,
    [PublishedSource("table-5.9", SIZES, by_task)],
    CLAIMS,
    sharpening={TEMPERATURE: temperature_of},
    drawn=TEMPERATURE,
    multiples=LONGER,
    about=ABOUT,
    remarks=(
        "The published ones are on a grid that ends at 0.5, where many of the entropy's lie; ours are found by halving "
        "between 0.2 and 1.5.",
    ),
)
