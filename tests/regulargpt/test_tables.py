"""Tables letter by letter: every character of a name, cells that stand out, captions."""

import csv
import io

import pytest

from regulargpt import tables
from regulargpt.tables import LATEX, Bold, Table, latex_cell

NASTY = r"regex:(a|b)*_1 & {50%} #$^~<>\"'`--x"
TABLE = Table(("a_b", "c"), [(NASTY, Bold("99.00 ± 1.00")), ("–", "98.00–100")], caption="50 % of a_b")
EXPECTED = {
    "text": r"""
50 % of a_b
a_b                                   c
regex:(a|b)*_1 & {50%} #$^~<>\"'`--x  99.00 ± 1.00*
-                                     98.00-100
""",
    "markdown": r"""
50 % of a\_b

| a\_b | c |
| --- | ---: |
| regex:(a\|b)\*\_1 \& {50%} \#\$^\~\<\>\\"'\`--x | **99.00 ± 1.00** |
| – | 98.00–100 |
""",
    "latex": r"""
\begin{table}
\centering
\caption{50 \% of a\_b}
\begin{tabular}{lr}
\toprule
a\_b & c \\
\midrule
regex:(a\textbar{}b)*\_1 \& \{50\%\} \#\$\textasciicircum{}\textasciitilde{}\textless{}\textgreater{}\textbackslash{}\symbol{34}\textquotesingle{}\textasciigrave{}-{}-x & \textbf{99.00 $\pm$ 1.00} \\
-- & 98.00--100 \\
\bottomrule
\end{tabular}
\end{table}
""",  # noqa: E501
}


@pytest.mark.parametrize("form", EXPECTED)
def test_every_letter(form: str):
    assert getattr(tables, form)(TABLE) == EXPECTED[form].strip("\n")


def test_latex_sets_every_printable_character_of_a_name():
    for character in map(chr, range(33, 127)):
        special = character in LATEX
        assert latex_cell(f"a{character}b") == f"a{LATEX[character] if special else character}b"
        assert special or character.isalnum() or character in "!()*+,-./:;=?@[]"


def test_csv_is_read_as_it_was_written():
    lines = [["run", "reason"], [NASTY, 'said "no", left\nthen']]
    assert list(csv.reader(io.StringIO(tables.csv(lines)))) == lines
