"""The page of a checkpoint: the claims, then a table for each task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby, product

from experiments.claims import ALL, RULE, WHOLE, Bound, Gap
from experiments.page.record import Block, Cell, CellLine, ItemList, Page, PageTable, Section, Values
from experiments.published import published, source
from regulargpt.evaluation.interval import Interval
from regulargpt.text.corpora.retrieval.prompts import PROMPTS
from regulargpt.text.experiments.checkpoint.answers import AnswerColumn, Identity
from regulargpt.text.experiments.checkpoint.claims import EXACT, TEMPERATURE, claims
from regulargpt.text.experiments.checkpoint.plan import (
    STRATEGIES,
    TABLE,
    TEMPERATURES,
    TITLES,
    TRAIN_LEN,
    ColumnPlan,
    published_as,
    published_value,
)
from regulargpt.text.experiments.results import TextResults

# By task, size and strategy.
Found = Mapping[tuple[str, int, str], AnswerColumn]
TABLES = {EXACT: TABLE, TEMPERATURE: TEMPERATURES}
NOTES = (
    "Topics and conversations are ours, in LongEval's form and about as long; LongEval's are a data set of its own. "
    "Exchanges would fit any topic. Lines and pass keys are worded as in the papers.",
    "An answer is right if all words of the topic stand in it one after the other; if its last number is that of the "
    "line, as LongEval has it; if its first number is the pass key.",
    "Sizes of the pass key are characters of filler: the published table calls them sentences, and so many sentences "
    "would be far longer than 15,000 tokens.",
)
INTERVALS = (
    "Shares have Wilson's interval; that of a difference holds all differences of the two. A temperature is one "
    "number, and has none."
)


def checkpoint_page(
    plan: ColumnPlan, identity: Identity, columns: Found, command: str, session_seconds: Sequence[float]
) -> Page:
    """The page of the columns of a plan."""
    model = published_as(identity.sizes)
    measured = {EXACT: exact(plan, columns), TEMPERATURE: temperatures(plan, columns)}
    # A checkpoint is one network, as a run with one seed is.
    results = TextResults(
        1, {}, {name: {row: {0: interval} for row, interval in rows.items()} for name, rows in measured.items()}
    )
    few = "too few prompts at this scale" if plan.scale == "smoke" else ""
    all_columns = product(plan.columns, STRATEGIES)
    return Page(
        experiment=TABLE,
        scale=plan.scale,
        heading=f"{published(TABLE).printed}, with {identity.name}",
        lead=tuple(lead(plan, identity, columns)),
        claims=tuple(claim.verdict(results, figures(claim.bounds, plan, model), few) for claim in claims(plan)),
        judged=f"{RULE} {INTERVALS}",
        sections=(
            Section("What is found, and at which temperature", tuple(tables(list(cells(plan, columns, model))))),
            Section("Conditions", conditions_of(plan, identity, columns)),
        ),
        facts={"checkpoint": identity.name, "weights": identity.weights, "published_as": model},
        left_out=tuple(task for task in PROMPTS if task not in plan.sizes),
        missing=tuple(f"{task}/{size}, {s}" for (task, size), s in all_columns if (task, size, s) not in columns),
        command=command,
        session_seconds=tuple(session_seconds),
        environments=(identity.environment,),
        remarks=(f"Weights: SHA-256 {identity.weights}",),
    )


def conditions_of(plan: ColumnPlan, identity: Identity, columns: Found) -> tuple[Block, ...]:
    """The conditions, published beside ours, and notes."""
    return PageTable(("", "as published", "here"), tuple(conditions(plan, identity, columns))), ItemList(NOTES)


def tables(cells: Sequence[Values]) -> Iterator[Block]:
    """A table a task: rows are strategies, columns are sizes."""
    text = ["In each cell: our share of right answers in percent, with its 95 % interval, and the temperature."]
    if any(values["published"] is not None or values["published_tau"] is not None for values in cells):
        text.append("Below each: what was published.")
    if any(values["at_bound"] for values in cells):
        text.append("! says that the search of a temperature ended at its bound.")
    yield " ".join(text)
    for task, of_task in groupby(cells, key=lambda values: values["task"]):
        rows = [list(row) for _, row in groupby(of_task, key=lambda values: values["strategy"])]
        header = (task, *map(size_title, rows[0]))
        yield PageTable(header, tuple((row[0]["title"], *map(entry, row)) for row in rows))


def size_title(values: Values) -> str:
    """The size of a column, and how many tokens that is."""
    tokens = "" if values["tokens"] is None else f", about {values['tokens']:,} tokens"
    return f"{values['size']:,} {PROMPTS[values['task']].unit}{tokens}"


def entry(values: Values) -> Cell:
    """The share, the temperature, and both as published."""
    share, tau = values["exact"], values["tau"]
    lines = [CellLine(share_text(share), "ours") if share else CellLine("missing", "state")]
    if values["published"] is not None:
        lines.append(CellLine(f"published {values['published']:g}", "published"))
    if tau is not None:
        lines.append(CellLine(f"temperature {tau:.3g}{'!' * values['at_bound']}"))
    if values["published_tau"] is not None:
        lines.append(CellLine(f"published {values['published_tau']:g}", "published"))
    return Cell(tuple(lines), values=values)


def share_text(share: Values) -> str:
    """A share with its interval.

    >>> share_text({"value": 92.0, "low": 85.0, "high": 95.94})
    '92 [85.0, 95.9]'
    """
    return f"{share['value']:.4g} [{share['low']:.1f}, {share['high']:.1f}]"


def lead(plan: ColumnPlan, identity: Identity, columns: Found) -> Iterator[str]:
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
    done = sum((task, size, strategy) in columns for (task, size), strategy in product(plan.columns, STRATEGIES))
    total = len(plan.columns) * len(STRATEGIES)
    yield f"Scale {plan.scale}: {done} of {total} columns and strategies are done, {plan.samples} prompts each."
    if left_out := [task for task in PROMPTS if task not in plan.sizes]:
        yield f"Not asked for yet: {', '.join(left_out)}."
    if plan.scale == "smoke":
        yield "At this scale prompts are short and few: it shows that everything runs, and nothing else."


def sizes(identity: Identity) -> str:
    """The sizes of the network in words."""
    names = {"d_model": "d_model", "num_layers": "layers", "d_ff": "d_ff", "num_heads": "heads"}
    return ", ".join(f"{name} {identity.sizes[key]:,}" for key, name in names.items())


def exact(plan: ColumnPlan, asked_columns: Found) -> dict[str, dict[int, Interval]]:
    """The share of right answers by row and size with Wilson's interval; of all sizes and tasks together, if whole."""
    rows: dict[str, dict[int, Interval]] = {}
    for strategy in STRATEGIES:
        whole: list[AnswerColumn | None] = []
        for task, sizes in plan.sizes.items():
            columns = [asked_columns.get((task, size, strategy)) for size in sizes]
            whole += columns
            known = {size: column for size, column in zip(sizes, columns, strict=True) if column is not None}
            row = {size: wilson([column]) for size, column in known.items()}
            rows[f"{task}/{strategy}"] = row | ({WHOLE: wilson(known.values())} if len(known) == len(sizes) else {})
        known_all = [column for column in whole if column is not None]
        if len(known_all) == len(whole) and len(plan.sizes) == len(PROMPTS):
            rows[f"{ALL}/{strategy}"] = {WHOLE: wilson(known_all)}
    return rows


def wilson(columns: Collection[AnswerColumn]) -> Interval:
    """The share of right answers of columns together, in percent."""
    return Interval.of_right(sum(column.right for column in columns), sum(len(column.answers) for column in columns))


def temperatures(plan: ColumnPlan, columns: Found) -> dict[str, dict[int, Interval]]:
    """By row and size; a temperature is what it is."""
    rows: dict[str, dict[int, Interval]] = {}
    for (task, size, strategy), column in columns.items():
        if size in plan.sizes.get(task, ()):
            rows.setdefault(f"{task}/{strategy}", {})[size] = Interval.exactly(column.tau)
    return rows


def cells(plan: ColumnPlan, columns: Found, model: str) -> Iterator[Values]:
    """A strategy on a task at a size: what was answered to how many prompts, at which temperature, and as published.

    All numbers are None where it was not queried.
    """
    for task, sizes in plan.sizes.items():
        for strategy, size in product(STRATEGIES, sizes):
            column, name = columns.get((task, size, strategy)), f"{task}/{size}"
            yield {
                "task": task,
                "size": size,
                "title": STRATEGIES[strategy],
                "strategy": strategy,
                "samples": plan.samples,
                "tokens": column and column.tokens,
                "exact": column and asdict(wilson([column])),
                "tau": column and round(column.tau, 6),
                "at_bound": bool(column and column.at_bound),
                "published": published_value(TABLE, model, strategy, name),
                "published_tau": published_value(TEMPERATURES, model, strategy, name),
            }


def figures(bounds: Iterable[Bound], plan: ColumnPlan, model: str) -> str:
    """The published figures that decide a claim."""
    each = (printed(bound, plan, model) for bound in bounds)
    return "; ".join(f"{value:.3g}" for value in each if value is not None)


def printed(bound: Bound, plan: ColumnPlan, model: str) -> float | None:
    """The published figure that decides, of the table that its measure is in."""
    gaps = [figure for figure in bound.figures if isinstance(figure, Gap)]

    def value(row: str, size: int) -> float | None:
        task, _, strategy = row.partition("/")
        return published_at(TABLES[gaps[0].measure], plan, model, task, strategy, size)

    return bound.printed(value)


def published_at(table: str, plan: ColumnPlan, model: str, task: str, strategy: str, size: int) -> float | None:
    """A published value, at a size or as the mean over all published ones that are requested.

    >>> from regulargpt.text.experiments.checkpoint.plan import plan
    >>> published_at("table-5.4", plan("full"), "large", "topic", "p_max", 0)
    92.8
    >>> published_at("table-5.4", plan("full"), "large", "all", "p_max", 0)
    92.0
    """
    if task == ALL:
        return published_value(table, model, strategy, "average")
    columns = plan.sizes.get(task, ()) if size == WHOLE else (size,)
    values = [published_value(table, model, strategy, f"{task}/{size}") for size in columns]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def conditions(plan: ColumnPlan, identity: Identity, columns: Found) -> Iterator[tuple[str, str, str]]:
    """Published beside ours."""
    longest = max((column.tokens for column in columns.values()), default=None)
    yield "model", "Flan-T5 with 0.8, 3 and 11 billion weights", f"{identity.name}: {sizes(identity)}"
    yield "training length", "512 tokens", f"{TRAIN_LEN} tokens"
    yield "prompts a column", "100", str(plan.samples)
    yield "longest prompts", "14.5k to 15.5k tokens", "–" if longest is None else f"about {longest:,} tokens"
    yield "search", "1.0, 0.95, 0.9 to 0.5", "halving between 0.2 and 1.5"
    yield "temperatures found on", "a few sequences", f"{plan.aligned} prompts of each length, others than those asked"
    yield "one temperature for", "the model, a task and a size", "the same"
    yield "answers", "not said", "greedy, at most 50 tokens, in float32"
