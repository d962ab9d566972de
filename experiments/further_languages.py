"""Three languages that no recipe was found on, from final answers alone, as in `answers`.

The smallest group that is not solvable, whose word problem is complete for NC^1 (Barrington 1989); the binary numbers
that 3 divides; and comments as in C, `c` for the slash and `s` for the star: opened by `cs`, ended by the first `sc`.
"""

from __future__ import annotations

from collections.abc import Mapping

from experiments import answers
from experiments.experiment import Experiment, Scale
from regulargpt.config.schema import RunConfig

LANGUAGES: Mapping[str, str] = {
    "alternating-5": "alternating-5",
    "divisible-by-3": "regex:(0|1(01*0)*1)*",
    "comments": "regex:cs(a|c|ss*a)*ss*c",
}
NETWORKS = ("gated-C2", "gated-C3", "regulargpt-C2")


def runs(row: str, name: str, scale: Scale) -> list[RunConfig]:
    """The runs behind a cell: those of `answers` for another language.

    >>> [(c.data.name, c.recipe, c.model.label) for c in runs("comments", "gated-C3", "smoke")]
    [('regex:cs(a|c|ss*a)*ss*c', 'answers', 'gated-regulargpt-C3')]
    """
    return answers.runs(LANGUAGES[row], name, scale)


EXPERIMENT = Experiment(
    "further-languages",
    "Three languages never tried before, from final answers alone",
    tuple(LANGUAGES),
    answers.columns(NETWORKS),
    runs,
    statistics=("mean",),
)
