"""The sections of a page on a run whose words are answered by rows: the row, the stacks, sample words, the curves."""

from __future__ import annotations

from collections.abc import Iterable

from regulargpt.classroom import curves, facts
from regulargpt.classroom.data import PageRun
from regulargpt.classroom.rows import DrawnRows, Row, Shown
from regulargpt.classroom.sections import machine_section, wrong_words
from regulargpt.findings.html import html
from regulargpt.findings.markup import scrolling, section, tag, text

PROVEN = "No word is wrong, at any length: that is proven, in real arithmetic and in float32."
STACKS = (
    "A column for each symbol read: what stands on the stack after it, and below that what was done, ▲ push, ▼ pop, "
    "· neither. A cell of the network names the symbol at which it was pushed, one of the automaton what was pushed. "
    "Cells that are pushed where the automaton pushes have the colour of what it pushes."
)
SOFT = " Here the network takes all actions by their weights; drawn is the likeliest."


def article(i: int, run: PageRun, rows: DrawnRows) -> str:
    """All sections of a run."""
    language = tag("h2", text(run.config.data.name), id=f"run-{i}")
    line = tag("p", text(facts.identity(run.config)), class_="identity")
    folder = tag("p", "folder ", tag("code", text(facts.name(run.path))), class_="folder")
    parts = [tag("header", language, line, folder, facts.badge(run)), tag("p", class_="answer", aria_live="polite")]
    parts += live_parts(run, rows)
    parts.append(row_section(rows))
    if has_stacks(run):
        parts.append(stack_section(run))
    parts.append(machine_part(rows))
    if rows.shown:
        parts.append(samples_section(rows))
    parts += [html(finding) for finding in curves.by_measure(run.summary)]
    if run.field is not None:
        parts.append(html(run.field, "Receptive field", kind="field"))
    parts.append(section("proof", "What is proven, and what is observed", facts.proof(run)))
    return tag("article", *parts, class_="run", data_run=i, aria_labelledby=f"run-{i}")


def has_stacks(run: PageRun) -> bool:
    """Whether the page computes a network that acts on stacks."""
    return run.live.network is not None and hasattr(run.config.model, "stacks")


def live_parts(run: PageRun, rows: DrawnRows) -> list[str]:
    """Why the page does not compute the network, if it does not; and words that it answers wrongly, if tried."""
    reason = [] if run.live.network else [tag("p", text(run.live.reason), class_="not-live")]
    if not rows.shown:
        return reason
    return [*reason, wrong_words(run.live.wrong, rows.written, PROVEN)]


def row_section(rows: DrawnRows) -> str:
    """The typed word, and the answers at each place, which the script writes."""
    words = "The word, and the answer at its last symbol."
    if rows.has_rows:
        mark = rows.task.alphabet[-1]
        words = f"The word, then {mark} for each answer that is asked for. The page adds them: type the word alone."
    return section("row", "Answers", tag("p", text(words)), scrolling("Answers", data_part="row"))


def stack_section(run: PageRun) -> str:
    """The stacks over time, which the script draws."""
    soft = SOFT if getattr(run.config.model, "tests", "hard") != "hard" else ""
    return section(
        "stack",
        "The stack over time",
        tag("p", text(STACKS + soft)),
        tag("div", class_="scroll picture", data_part="stack", tabindex=0, role="group", aria_label="Stacks"),
        tag("p", class_="detail", data_part="stack-detail", aria_live="polite"),
    )


def machine_part(rows: DrawnRows) -> str:
    """The machine; or that the language has none with one stack."""
    if rows.machine is None:
        words = "No machine with one stack answers this language: the answers here are those of a program."
        return section("automaton", "The automaton", tag("p", words))
    return machine_section(rows.machine)


def samples_section(rows: DrawnRows) -> str:
    """Words of several lengths, with the right rows and the network's, answer by answer."""
    heads = ("length", "word", "right", "network", "right answers")
    head = tag("tr", *(tag("th", name, scope="col") for name in heads))
    table = tag("table", tag("thead", head), tag("tbody", *(sample(rows, of) for of in rows.shown)), class_="samples")
    missed = sum(bool((of.said != of.right).any()) for of in rows.shown)
    said = f"{len(rows.shown) - missed} of {len(rows.shown)} words are answered right throughout."
    return section("words", "Sample words", tag("p", said), scrolling("Sample words", table))


def sample(rows: DrawnRows, of: Shown) -> str:
    """A word in a row of the table."""
    word, has_answer = rows.task.written(of.word)[0], of.right >= 0
    right, said = of.right[has_answer], of.said[has_answer]
    count = int((right == said).sum())
    mark = "✓" if count == len(right) else "✗"
    cells = [text(rows.task.symbols(of.word)), text(word), named(rows, right, right), named(rows, said, right)]
    verdict = tag("td", text(f"{mark} {count} of {len(right)}"), class_=f"mark {'right' if mark == '✓' else 'missed'}")
    return tag("tr", *(tag("td", cell) for cell in cells), verdict)


def named(rows: DrawnRows, answers: Row, right: Row) -> str:
    """Answers as people read them, those that are not right marked."""
    names = rows.task.output_names
    apart = "" if all(len(name) == 1 for name in names) else " "

    def marked() -> Iterable[str]:
        for answer, truth in zip(answers.tolist(), right.tolist(), strict=True):
            yield text(names[answer]) if answer == truth else tag("span", text(names[answer]), class_="wrong")

    return apart.join(marked())
