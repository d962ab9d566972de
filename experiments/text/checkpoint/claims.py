"""What the thesis says of real checkpoints, as sentences that the answers of one can be tested by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from experiments.text.checkpoint.plan import NONE, Plan
from experiments.text.claims import Bound, Claim, Printed
from experiments.text.results import Interval, Results, Unknown
from languages.text.retrieval.prompts import PROMPTS

EXACT, TEMPERATURE = "exact match in %", "temperature"
SECTION, OF_TEMPERATURES = "thesis, section 5.5.2", "thesis, section 5.10.5"
# All sizes of a task, or all tasks, together.
WHOLE, ALL = 0, "all"


@dataclass(frozen=True)
class Place:
    """A strategy on a task at one size, or at all of its sizes; or on all tasks at all sizes."""

    task: str
    strategy: str
    size: int = WHOLE

    @property
    def row(self) -> str:
        """As results call it."""
        return f"{self.task}/{self.strategy}"

    @property
    def text(self) -> str:
        """In words."""
        where = (
            "all columns" if self.task == ALL else f"{self.task}/{self.size}" if self.size else f"all of {self.task}"
        )
        return f"{self.strategy} in {where}"


@dataclass(frozen=True)
class Gap:
    """A measure at one place minus that at another. The two intervals are added up: they are not paired."""

    measure: str
    first: Place
    second: Place

    @property
    def name(self) -> str:
        """What it is."""
        return f"{self.measure}, {self.first.text} − {self.second.text}"

    def of(self, results: Results) -> Interval:
        """The difference, with the interval that holds both; Unknown if one was not asked."""
        first, second = (self.known(results, place) for place in (self.first, self.second))
        return first.minus(second)

    def known(self, results: Results, place: Place) -> Interval:
        """The measure at a place."""
        found = results.curve(self.measure, place.row).get(place.size)
        if found is None:
            raise Unknown(f"{place.text} was not asked")
        return found

    def printed(self, value: Printed) -> float | None:
        """Of published values, as the measure's table has them."""
        first, second = (value(place.row, place.size) for place in (self.first, self.second))
        return None if first is None or second is None else first - second


def more(tasks: Iterable[str], strategy: str, other: str) -> Bound:
    """More is found with one strategy than with another, all sizes of a task together."""
    gaps = tuple(Gap(EXACT, Place(task, strategy), Place(task, other)) for task in tasks)
    return Bound("more is found", gaps, "above", 0.0)


def claims(plan: Plan) -> tuple[Claim, ...]:
    """The claims, of which those about tasks that are left out are not decidable."""
    ends = {task: (sizes[0], sizes[-1]) for task, sizes in plan.sizes.items() if len(sizes) > 1}
    fewer = (Gap(EXACT, Place(t, NONE, last), Place(t, NONE, first)) for t, (first, last) in ends.items())
    lower = {
        strategy: tuple(
            Gap(TEMPERATURE, Place(t, strategy, last), Place(t, strategy, first)) for t, (first, last) in ends.items()
        )
        for strategy in ("p_max", "entropy")
    }
    below = tuple(Gap(TEMPERATURE, Place(t, "entropy", size), Place(t, "p_max", size)) for t, size in plan.columns)
    return (
        Claim(
            "As trained, the model finds less in the longest inputs than in the shortest.",
            SECTION,
            (
                Bound(
                    "less is found at the last size of each task that was asked than at its first",
                    tuple(fewer),
                    "below",
                    0.0,
                ),
            ),
        ),
        *(
            Claim(f"P_max makes the model find more: {task}.", SECTION, (more([task], "p_max", NONE),))
            for task in PROMPTS
        ),
        Claim("P_max makes the model find more, all columns together.", SECTION, (more([ALL], "p_max", NONE),)),
        Claim("So does entropy.", SECTION, (more([ALL], "entropy", NONE),)),
        Claim("P_max finds more than entropy.", SECTION, (more([ALL], "p_max", "entropy"),)),
        Claim(
            "P_max finds more than the rule that knows lengths alone.",
            "thesis, section 5.6",
            (more([ALL], "p_max", "log"),),
        ),
        *(
            Claim(
                f"The temperature by {title} falls with the length.",
                OF_TEMPERATURES,
                (
                    Bound(
                        "lower at the last size of each task that was asked than at its first",
                        lower[strategy],
                        "below",
                        0.0,
                    ),
                ),
            )
            for strategy, title in (("p_max", "P_max"), ("entropy", "entropy"))
        ),
        Claim(
            "Entropy lowers the temperature more than P_max does.",
            "thesis, section 5.7",
            (Bound("lower in every column", below, "below", 0.0),),
        ),
    )
