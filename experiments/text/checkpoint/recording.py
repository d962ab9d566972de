"""From what a checkpoint answered to the record of its page."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

from experiments.page.details import source
from experiments.published import published
from experiments.text.checkpoint.claims import ALL, EXACT, TEMPERATURE, WHOLE, Gap, claims
from experiments.text.checkpoint.kept import Column, Identity
from experiments.text.checkpoint.plan import (
    STRATEGIES,
    TABLE,
    TEMPERATURES,
    TITLES,
    TRAIN_LEN,
    Plan,
    published_as,
    published_value,
)
from experiments.text.checkpoint.record import AskedCell, CheckpointRecord
from experiments.text.claims import OPEN, Bound, Claim
from experiments.text.record import ClaimRecord
from experiments.text.results import Results
from languages.text.retrieval.prompts import PROMPTS
from regulargpt.evaluation.interval import Interval

# By task, size and strategy.
Found = Mapping[tuple[str, int, str], Column]
TABLES = {EXACT: TABLE, TEMPERATURE: TEMPERATURES}
NOTES = (
    "Topics and conversations are ours, in LongEval's form and about as long; LongEval's are a data set of its own. "
    "Exchanges would fit any topic. Lines and pass keys are worded as in the papers.",
    "An answer is right if all words of the topic stand in it one after the other; if its last number is that of the "
    "line, as LongEval has it; if its first number is the pass key.",
    "Sizes of the pass key are characters of filler: the published table calls them sentences, and so many sentences "
    "would be far longer than 15,000 tokens.",
)


def record(
    plan: Plan, identity: Identity, found: Found, command: str, session_seconds: Sequence[float]
) -> CheckpointRecord:
    """The page as values, of the columns of a plan."""
    model = published_as(identity.sizes)
    measured = {EXACT: exact(plan, found), TEMPERATURE: temperatures(plan, found)}
    # A checkpoint is one network, as a run with one seed is.
    results = Results(1, {}, {name: {row: {0: one} for row, one in rows.items()} for name, rows in measured.items()})
    asked = list(product(plan.columns, STRATEGIES))
    return CheckpointRecord(
        experiment=TABLE,
        scale=plan.scale,
        heading=f"{published(TABLE).printed}, with {identity.name}",
        title="What is found, and at which temperature",
        lead=tuple(lead(plan, identity, found)),
        curves=(),
        left_out=tuple(task for task in PROMPTS if task not in plan.sizes),
        failed=(),
        missing=tuple(f"{task}/{size}, {s}" for (task, size), s in asked if (task, size, s) not in found),
        command=command,
        session_seconds=tuple(session_seconds),
        train_seconds=0.0,
        environments=(identity.environment,),
        checkpoint=identity.name,
        weights=identity.weights,
        published_as=model,
        claims=tuple(claim(one, plan, model, results) for one in claims(plan)),
        cells=tuple(
            cell(plan, found, task, size, strategy, model)
            for task, sizes in plan.sizes.items()
            for strategy in STRATEGIES
            for size in sizes
        ),
        conditions=tuple(conditions(plan, identity, found)),
        notes=NOTES,
    )


def lead(plan: Plan, identity: Identity, found: Found) -> Iterator[str]:
    """The source, which checkpoint it is, and how much of it is here."""
    yield source(published(TABLE))
    model, of = published_as(identity.sizes), sizes(identity)
    if model:
        yield (
            f"The checkpoint {identity.name} has the sizes of {TITLES[model]} ({of}), whose published values stand "
            "below ours. T5 1.1 and its adaptation to language modelling have these sizes too; the published table has "
            "Flan-T5 alone."
        )
    else:
        yield f"No published model has the sizes of {identity.name} ({of}): there is nothing to compare it with."
    done = sum((task, size, strategy) in found for (task, size), strategy in product(plan.columns, STRATEGIES))
    asked = len(plan.columns) * len(STRATEGIES)
    yield f"Scale {plan.scale}: {done} of {asked} columns and strategies are done, {plan.samples} prompts each."
    if plan.scale == "smoke":
        yield "At this scale prompts are short and few: it shows that everything runs, and nothing else."


def sizes(identity: Identity) -> str:
    """The sizes of the network in words."""
    names = {"d_model": "d_model", "num_layers": "layers", "d_ff": "d_ff", "num_heads": "heads"}
    return ", ".join(f"{name} {identity.sizes[key]:,}" for key, name in names.items())


def exact(plan: Plan, found: Found) -> dict[str, dict[int, Interval]]:
    """The share of right answers by row and size with Wilson's interval; of all sizes and tasks together, if whole."""
    rows: dict[str, dict[int, Interval]] = {}
    for strategy in STRATEGIES:
        whole: list[Column | None] = []
        for task, sizes in plan.sizes.items():
            columns = [found.get((task, size, strategy)) for size in sizes]
            whole += columns
            known = {size: one for size, one in zip(sizes, columns, strict=True) if one is not None}
            row = {size: wilson([one]) for size, one in known.items()}
            rows[f"{task}/{strategy}"] = row | ({WHOLE: wilson(known.values())} if len(known) == len(sizes) else {})
        known_all = [one for one in whole if one is not None]
        if len(known_all) == len(whole) and len(plan.sizes) == len(PROMPTS):
            rows[f"{ALL}/{strategy}"] = {WHOLE: wilson(known_all)}
    return rows


def wilson(columns: Collection[Column]) -> Interval:
    """The share of right answers of columns together, in percent."""
    return Interval.of_right(sum(one.right for one in columns), sum(len(one.answers) for one in columns))


def temperatures(plan: Plan, found: Found) -> dict[str, dict[int, Interval]]:
    """By row and size; a temperature is what it is."""
    rows: dict[str, dict[int, Interval]] = {}
    for (task, size, strategy), column in found.items():
        if size in plan.sizes.get(task, ()):
            rows.setdefault(f"{task}/{strategy}", {})[size] = Interval.exactly(column.tau)
    return rows


def cell(plan: Plan, found: Found, task: str, size: int, strategy: str, model: str) -> AskedCell:
    """A cell as values."""
    column, name = found.get((task, size, strategy)), f"{task}/{size}"
    here = (None, None, None, False) if column is None else asked(column)
    tokens, share, tau, at_bound = here
    printed, tau_printed = (published_value(table, model, strategy, name) for table in (TABLE, TEMPERATURES))
    return AskedCell(
        task, size, STRATEGIES[strategy], strategy, plan.samples, tokens, share, tau, at_bound, printed, tau_printed
    )


def asked(column: Column) -> tuple[int, Interval, float, bool]:
    """What a column came to."""
    return column.tokens, wilson([column]), round(column.tau, 6), column.at_bound


def claim(one: Claim, plan: Plan, model: str, results: Results) -> ClaimRecord:
    """A claim with its verdict, and the published figures that decide it."""
    verdict, rules = one.verdict(results), tuple(bound.rule for bound in one.bounds)
    figures = (printed(bound, plan, model) for bound in one.bounds)
    published_figures = "; ".join(f"{value:.3g}" for value in figures if value is not None)
    answer, why = (OPEN, "too few prompts at this scale") if plan.scale == "smoke" else (verdict.answer, verdict.why)
    return ClaimRecord(one.sentence, one.source, rules, published_figures, answer, verdict.figure, why, verdict.seeds)


def printed(bound: Bound, plan: Plan, model: str) -> float | None:
    """The published figure that decides, of the table that its measure is in."""
    gaps = [figure for figure in bound.figures if isinstance(figure, Gap)]

    def value(row: str, size: int) -> float | None:
        task, _, strategy = row.partition("/")
        return published_at(TABLES[gaps[0].measure], plan, model, task, strategy, size)

    return bound.printed(value)


def published_at(table: str, plan: Plan, model: str, task: str, strategy: str, size: int) -> float | None:
    """A published value, at one size or as the mean over all published ones that are asked for.

    >>> from experiments.text.checkpoint.plan import plan
    >>> published_at("table-5.4", plan("full"), "large", "topic", "p_max", 0)
    92.8
    >>> published_at("table-5.4", plan("full"), "large", "all", "p_max", 0)
    92.0
    """
    if task == ALL:
        return published_value(table, model, strategy, "average")
    columns = plan.sizes.get(task, ()) if size == WHOLE else (size,)
    values = [published_value(table, model, strategy, f"{task}/{one}") for one in columns]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def conditions(plan: Plan, identity: Identity, found: Found) -> Iterator[tuple[str, str, str]]:
    """Published beside ours."""
    longest = max((column.tokens for column in found.values()), default=None)
    yield "model", "Flan-T5 with 0.8, 3 and 11 billion weights", f"{identity.name}: {sizes(identity)}"
    yield "training length", "512 tokens", f"{TRAIN_LEN} tokens"
    yield "prompts a column", "100", str(plan.samples)
    yield "longest prompts", "14.5k to 15.5k tokens", "–" if longest is None else f"about {longest:,} tokens"
    yield "search", "1.0, 0.95, 0.9 to 0.5", "halving between 0.2 and 1.5"
    yield "temperatures found on", "a few sequences", f"{plan.aligned} prompts of each length, others than those asked"
    yield "one temperature for", "the model, a task and a size", "the same"
    yield "answers", "not said", "greedy, at most 50 tokens, in float32"
