"""One small table in every format, letter by letter."""

import csv
import io

import pytest

from regulargpt.cli import results_
from regulargpt.results.render import FORMATS, LATEX, NUMBERS, latex_cell
from regulargpt.results.statistics import Group

NASTY = r"regex:(a|b)*_1 & {50%} #$^~<>\"'`--x"
BY = ("language", "chunk_size")
GROUPS = [
    Group(("parity", 2), 3, 1, (98.0, 99.9996), 99.9996, 98.9998, 1.41393, 98.0, None, None, None, 1, 2),
    Group((NASTY, None), 1, 1, (), None, None, None, None, None, None, None, 0, 0),
    Group(("dyck-2", 3), 1, 0, (100.0,), 100.0, 100.0, None, 100.0, None, None, 10_000, 0, 0),
]
EXPECTED = {
    "text": r"""
language                              chunk_size  max    mean   sd    range        below 99 % at  runs  failed  proven
parity                                2           99.99  99.00  1.41  98.00-99.99  -              3     1       1 of 2
regex:(a|b)*_1 & {50%} #$^~<>\"'`--x  -           -      -      -     -            -              1     1       -
dyck-2                                3           100    100    -     100-100      10000          1     0       -
""",
    "markdown": r"""
| language | chunk\_size | max | mean | sd | range | below 99 % at | runs | failed | proven |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| parity | 2 | 99.99 | 99.00 | 1.41 | 98.00–99.99 | – | 3 | 1 | 1 of 2 |
| regex:(a\|b)\*\_1 \& {50%} \#\$^\~\<\>\\"'\`--x | – | – | – | – | – | – | 1 | 1 | – |
| dyck-2 | 3 | 100 | 100 | – | 100–100 | 10000 | 1 | 0 | – |
""",
    "latex": r"""
\begin{tabular}{llrrrrrrrr}
\toprule
language & chunk\_size & max & mean & sd & range & below 99 \% at & runs & failed & proven \\
\midrule
parity & 2 & 99.99 & 99.00 & 1.41 & 98.00--99.99 & -- & 3 & 1 & 1 of 2 \\
regex:(a\textbar{}b)*\_1 \& \{50\%\} \#\$\textasciicircum{}\textasciitilde{}\textless{}\textgreater{}\textbackslash{}\symbol{34}\textquotesingle{}\textasciigrave{}-{}-x & -- & -- & -- & -- & -- & -- & 1 & 1 & -- \\
dyck-2 & 3 & 100 & 100 & -- & 100--100 & 10000 & 1 & 0 & -- \\
\bottomrule
\end{tabular}
""",  # noqa: E501
    "csv": r"""
language,chunk_size,max,mean,sd,min,low,high,first_below_99,n_runs,n_failed,n_proven,n_asked
parity,2,99.9996,98.9998,1.41393,98.0,,,,3,1,1,2
"regex:(a|b)*_1 & {50%} #$^~<>\""'`--x",,,,,,,,,1,1,0,0
dyck-2,3,100.0,100.0,,100.0,,,10000,1,0,0,0
""",
}


MANY = Group(("rnn",), 7, 0, (90.0, *(95.0,) * 5, 99.5), 99.5, 94.9, 2.8, 90.0, 90.0, 99.5, 41, 0, 0)


def test_an_interval_has_a_column_of_its_own_where_there_is_one():
    few = Group(("lstm",), 1, 0, (50.0,), 50.0, 50.0, None, 50.0, None, None, 41, 0, 0)
    assert FORMATS["text"]([MANY, few], ["model"]).splitlines() == [
        "model  max    mean   sd    range        median, 95 % interval  below 99 % at  runs  failed  proven",
        "rnn    99.50  94.90  2.80  90.00-99.50  90.00-99.50            41             7     0       -",
        "lstm   50.00  50.00  -     50.00-50.00  -                      41             1     0       -",
    ]
    assert r"& median, 95 \% interval &" in FORMATS["latex"]([MANY], ["model"])
    assert "interval" not in FORMATS["markdown"]([few], ["model"])


@pytest.mark.parametrize("form", FORMATS)
def test_every_letter(form: str):
    assert FORMATS[form](GROUPS, BY) == EXPECTED[form].strip("\n")


def test_the_command_offers_the_formats_there_are():
    assert tuple(FORMATS) == results_.FORMATS


def test_csv_keeps_every_digit():
    group = Group(("parity", 2), 2, 0, (99.0, 100 / 3), 99.0, 200 / 3, 1 / 7, 100 / 3, 0.1 + 0.2, 100.0, None, 0, 0)
    (line,) = csv.DictReader(io.StringIO(FORMATS["csv"]([group], BY)))
    assert [float(line[name]) for name in NUMBERS[:6]] == [99.0, 200 / 3, 1 / 7, 100 / 3, 0.1 + 0.2, 100.0]


def test_line_breaks_and_controls_do_not_break_a_table():
    groups = [Group(("a\nb\t|c\x1b[0m",), 1, 1, (), None, None, None, None, None, None, None, 0, 0)]
    assert FORMATS["markdown"](groups, BY[:1]).splitlines()[2].startswith(r"| a b \|c \[0m | ")
    assert FORMATS["latex"](groups, BY[:1]).splitlines()[4].startswith(r"a b \textbar{}c [0m & ")
    assert FORMATS["text"](groups, BY[:1]).splitlines()[1].startswith("a b |c [0m  ")


def test_latex_sets_every_printable_character_of_a_name():
    for character in map(chr, range(33, 127)):
        special = character in LATEX
        assert latex_cell(f"a{character}b") == f"a{LATEX[character] if special else character}b"
        assert special or character.isalnum() or character in "!()*+,-./:;=?@[]"
