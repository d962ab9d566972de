"""One small table in every format, letter by letter; the same pivoted; no digit lost in CSV."""

import csv
import io
from dataclasses import replace

import pytest

from regulargpt.cli.commands import results
from regulargpt.objectives.measures import Measure
from regulargpt.results import render
from regulargpt.results.beside import Beside
from regulargpt.results.render import Grouped
from regulargpt.results.row import Value
from regulargpt.results.statistics import RunGroup

BY = ("language", "chunk_size")
GROUPS = [
    RunGroup(("parity", 2), 3, 1, (98.0, 99.9996), 99.9996, 98.9998, 1.41393, 98.0, None, None, None, 1, 2, 21),
    RunGroup(("a_b", None), 1, 1, (), None, None, None, None, None, None, None, 0, 0),
    RunGroup(("dyck-2", 3), 1, 0, (100.0,), 100.0, 100.0, None, 100.0, None, None, 10_000, 0, 0),
]
EXPECTED = {
    "text": r"""
language  chunk_size  max    mean   sd    range        below 99 % at  first wrong at  runs  failed  proven
parity    2           99.99  99.00  1.41  98.00-99.99  -              21              3     1       1 of 2
a_b       -           -      -      -     -            -              -               1     1       -
dyck-2    3           100    100    -     100-100      10000          -               1     0       -
""",
    "markdown": r"""
| language | chunk\_size | max | mean | sd | range | below 99 % at | first wrong at | runs | failed | proven |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| parity | 2 | 99.99 | 99.00 | 1.41 | 98.00–99.99 | – | 21 | 3 | 1 | 1 of 2 |
| a\_b | – | – | – | – | – | – | – | 1 | 1 | – |
| dyck-2 | 3 | 100 | 100 | – | 100–100 | 10000 | – | 1 | 0 | – |
""",
    "latex": r"""
\begin{tabular}{llrrrrrrrrr}
\toprule
language & chunk\_size & max & mean & sd & range & below 99 \% at & first wrong at & runs & failed & proven \\
\midrule
parity & 2 & 99.99 & 99.00 & 1.41 & 98.00--99.99 & -- & 21 & 3 & 1 & 1 of 2 \\
a\_b & -- & -- & -- & -- & -- & -- & -- & 1 & 1 & -- \\
dyck-2 & 3 & 100 & 100 & -- & 100--100 & 10000 & -- & 1 & 0 & -- \\
\bottomrule
\end{tabular}
""",
}
CSV = """
language,chunk_size,max,mean,sd,min,low,high,first_below_99,n_runs,n_failed,n_proven,n_asked,first_wrong,n_as_it_is,measure,chance,majority,differ,conditions,given,given_least,given_most
parity,2,99.9996,98.9998,1.41393,98.0,,,,3,1,1,2,21,0,accuracy,50.0,52.5,,b,,,
a_b,,,,,,,,,1,1,0,0,,0,accuracy,,,"lr, clip",a,,,
dyck-2,3,100.0,100.0,,100.0,,,10000,1,0,0,0,,0,accuracy,,,,,,,
"""
MANY = RunGroup(("rnn",), 7, 0, (90.0, *(95.0,) * 5, 99.5), 99.5, 94.9, 2.8, 90.0, 90.0, 99.5, 41, 0, 0)
FEW = RunGroup(("lstm",), 1, 0, (50.0,), 50.0, 50.0, None, 50.0, None, None, 41, 0, 0)
BITS = Measure("bits_per_byte", "bits per byte", "bits", False, 0.0, None)


@pytest.mark.parametrize("form", EXPECTED)
def test_every_letter(form: str):
    assert render.FORMATS[form](render.table(Grouped(GROUPS, BY))) == EXPECTED[form].strip("\n")


def test_every_letter_and_every_digit_of_csv():
    group = RunGroup(("parity", 2), 2, 0, (99.0, 100 / 3), 99.0, 200 / 3, 1 / 7, 100 / 3, 0.1 + 0.2, 100.0, None, 0, 0)
    (line,) = csv.DictReader(io.StringIO(render.comma_separated(Grouped([group], BY))))
    assert [float(line[name]) for name in render.NUMBERS[:6]] == [99.0, 200 / 3, 1 / 7, 100 / 3, 0.1 + 0.2, 100.0]
    beside = {("parity", 2): Beside(50.0, 52.5, (), "b"), ("a_b", None): Beside(None, None, ("lr", "clip"), "a")}
    assert render.comma_separated(Grouped(GROUPS, BY, beside=beside)) == CSV.lstrip("\n")


def test_an_interval_has_a_column_of_its_own_where_there_is_one():
    assert render.FORMATS["text"](render.table(Grouped([MANY, FEW], ["model"]))).splitlines() == [
        "model  max    mean   sd    range        median, 95 % interval  below 99 % at  runs  failed  proven",
        "rnn    99.50  94.90  2.80  90.00-99.50  90.00-99.50            41             7     0       -",
        "lstm   50.00  50.00  -     50.00-50.00  -                      41             1     0       -",
    ]
    assert "interval" not in render.FORMATS["markdown"](render.table(Grouped([FEW], ["model"])))


def test_a_measure_that_is_no_share_has_its_own_digits_and_no_99_percent():
    group = replace(FEW, max=1.23456, mean=1.23456, min=1.0, sd=0.12345, first_below_99=None)
    assert render.FORMATS["text"](render.table(Grouped([group], ["model"], BITS))).splitlines() == [
        "model  max    mean   sd    range    runs  failed  proven",
        "lstm   1.235  1.235  0.12  1-1.235  1     0       -",
    ]


def crossed(*cells: tuple[str, Value, float | None, float | None, int]) -> list[RunGroup]:
    """Groups of a language and something else, with a mean, its deviation, and how many of three runs failed."""
    return [
        RunGroup((a, b), 3, failed, (), None, mean, sd, None, None, None, None, 0, 0)
        for a, b, mean, sd, failed in cells
    ]


PIVOTED = crossed(
    ("parity", "gru", 50.0, 0.25, 0),
    ("parity", "rnn", 99.9996, None, 0),
    ("parity", "slow", 99.9951, 0.1, 1),
    ("dyck-2", "rnn", 80.0, 1.0, 0),
    ("dyck-2", "slow", None, None, 3),
    ("ww", "slow", 70.0, None, 0),
)


def test_a_pivot_has_one_row_a_language_one_column_a_model_and_the_best_in_bold():
    table = render.pivot(Grouped(PIVOTED, ["language", "model"]))
    assert render.FORMATS["markdown"](table).splitlines() == [
        "| language | gru | rnn | slow |",
        "| --- | ---: | ---: | ---: |",
        # Both print the same: nobody sees which one is better.
        "| parity | 50.00 ± 0.25 | **99.99** | **99.99 ± 0.10 (1 of 3 failed)** |",
        "| dyck-2 | – | **80.00 ± 1.00** | (3 of 3 failed) |",
        "| ww | – | – | 70.00 |",
    ]
    assert r"\textbf{99.99 $\pm$ 0.10 (1 of 3 failed)} \\" in render.FORMATS["latex"](table)


def test_where_less_is_better_the_least_is_bold_and_lengths_do_not_compete():
    for rows, column, marks in ((("text", "text"), "model", 1), (("alibi", "alibi"), "length", 0)):
        pair = crossed((rows[0], "gru", 1.5, 0.1, 0), (rows[1], "rnn", 2.5, 0.1, 0))
        table = render.FORMATS["text"](render.pivot(Grouped(pair, ["language", column], BITS)))
        assert table.splitlines()[1].split()[1:] == ["1.5", "±", "0.1" + "*" * marks, "2.5", "±", "0.1"]
    assert (*render.FORMATS, "csv") == results.FORMATS


def test_a_pivot_over_numbers_names_them_and_sorts_them():
    groups = crossed(("a", 10, 1.0, None, 0), ("a", 9, 2.0, None, 0), ("b", None, 3.0, None, 0))
    assert render.pivot(Grouped(groups, ["language", "chunk_size"])).header == (
        *("language", "chunk_size 9", "chunk_size 10", "chunk_size –"),
    )


def test_a_pivot_as_csv_has_means_with_every_digit():
    assert render.pivot_csv(Grouped(PIVOTED, ["language", "model"])).splitlines() == [
        "language,gru,rnn,slow",
        "parity,50.0,99.9996,99.9951",
        "dyck-2,,80.0,",
        "ww,,,70.0",
    ]


def test_line_breaks_and_controls_do_not_break_a_table():
    groups = [RunGroup(("a\nb\t|c\x1b[0m",), 1, 1, (), None, None, None, None, None, None, None, 0, 0)]
    shown = {form: write(render.table(Grouped(groups, BY[:1]))).splitlines() for form, write in render.FORMATS.items()}
    assert shown["markdown"][2].startswith(r"| a b \|c \[0m | ")
    assert shown["latex"][4].startswith(r"a b \textbar{}c [0m & ")
    assert shown["text"][1].startswith("a b |c [0m  ")
