"""What the thesis says of real checkpoints, as sentences that the answers of one can be tested by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from experiments.claims import ALL, Bound, Claim, ClaimPlace, Gap
from regulargpt.text.corpora.retrieval.prompts import PROMPTS
from regulargpt.text.experiments.checkpoint.plan import NONE, ColumnPlan

EXACT, TEMPERATURE = "exact match in %", "temperature"
SECTION, OF_TEMPERATURES = "thesis, section 5.5.2", "thesis, section 5.10.5"


def more(tasks: Iterable[str], strategy: str, other: str) -> Bound:
    """More is found with one strategy than with another, all sizes of a task together."""
    gaps = tuple(Gap(EXACT, ClaimPlace(task, strategy), ClaimPlace(task, other)) for task in tasks)
    return Bound(gaps, "above", 0.0)


def claims(plan: ColumnPlan) -> tuple[Claim, ...]:
    """The claims, of which those about tasks that are left out are not decidable."""
    return (as_trained(plan), *of_strategies(), *of_temperatures(plan))


def as_trained(plan: ColumnPlan) -> Claim:
    """Without a temperature, longer inputs are harder."""
    sentence = "As trained, the model finds less in the longest inputs than in the shortest."
    return Claim(sentence, SECTION, (Bound(from_first_to_last(plan, EXACT, NONE), "below", 0.0),))


def of_strategies() -> Iterator[Claim]:
    """Which strategy finds more than which."""
    for task in PROMPTS:
        yield Claim(f"P_max makes the model find more: {task}.", SECTION, (more([task], "p_max", NONE),))
    yield Claim("P_max makes the model find more, all columns together.", SECTION, (more([ALL], "p_max", NONE),))
    yield Claim("So does entropy.", SECTION, (more([ALL], "entropy", NONE),))
    yield Claim("P_max finds more than entropy.", SECTION, (more([ALL], "p_max", "entropy"),))
    by_lengths = "P_max finds more than the rule that knows lengths alone."
    yield Claim(by_lengths, "thesis, section 5.6", (more([ALL], "p_max", "log"),))


def of_temperatures(plan: ColumnPlan) -> Iterator[Claim]:
    """They fall with the length, those by entropy most."""
    for strategy, title in (("p_max", "P_max"), ("entropy", "entropy")):
        lower = Bound(from_first_to_last(plan, TEMPERATURE, strategy), "below", 0.0)
        yield Claim(f"The temperature by {title} falls with the length.", OF_TEMPERATURES, (lower,))
    below = tuple(
        Gap(TEMPERATURE, ClaimPlace(t, "entropy", size), ClaimPlace(t, "p_max", size)) for t, size in plan.columns
    )
    each = Bound(below, "below", 0.0)
    yield Claim("Entropy lowers the temperature more than P_max does.", "thesis, section 5.7", (each,))


def from_first_to_last(plan: ColumnPlan, measure: str, strategy: str) -> tuple[Gap, ...]:
    """A measure at the last size of a task minus that at its first, of each task that was asked at several."""
    ends = ((task, sizes[0], sizes[-1]) for task, sizes in plan.sizes.items() if len(sizes) > 1)
    return tuple(
        Gap(measure, ClaimPlace(task, strategy, last), ClaimPlace(task, strategy, first)) for task, first, last in ends
    )
