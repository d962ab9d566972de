"""The page of runs: what each network learned, and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from languages.automata.pushdown import PushdownTransducer
from regulargpt.classroom import curves, facts, nested, rows_page
from regulargpt.classroom.data import OtherRun, PageRun
from regulargpt.classroom.document import document, file
from regulargpt.classroom.live.gathering import Live
from regulargpt.classroom.live.twins import NESTED, WEIGHTS, bundle
from regulargpt.classroom.map_section import map_section, vector_part
from regulargpt.classroom.network import script_data
from regulargpt.classroom.scatter import scatter
from regulargpt.classroom.sections import machine_section, wrong_words
from regulargpt.findings.html import html
from regulargpt.findings.markup import scrolling, section, tag, text
from regulargpt.models.tree.options import TreeOptions
from regulargpt.options.registry import load
from regulargpt.storage.atomic import write_text

SCRIPTS = (
    *("word.js", "nodes.js", "tree.js", "cayley.js"),
    *(
        "live.js",
        "parting.js",
        "prefixes.js",
        "vector.js",
        "crowd.js",
        "map.js",
        "training.js",
        "player.js",
        "build.js",
        "changes.js",
        "patch.js",
    ),
    *("run.js", "rows.js", "stack.js", "page.js", "compare.js"),
)
FLAT = "This tree does not follow the brackets: its nodes cut them apart, and stand for no element of the algebra."
TOO_MANY = "The nodes are not drawn: the algebra has more elements than a page names."
PROVEN = "No word is wrong, at any length: that is proven, in real arithmetic."
MOST_WORDS = 2  # of a prototype, in its label


def write(runs: Sequence[PageRun | OtherRun], out: Path) -> int:
    """Write the page; its size in bytes. StorageError if the disk refuses."""
    page = render(runs)
    write_text(out, page)
    return len(page.encode())


def render(runs: Sequence[PageRun | OtherRun]) -> str:
    """The page as text. Words are typed where a run has them; runs on other data are compared, if there are several."""
    others = [run for run in runs if not isinstance(run, PageRun)]
    has_words = any(isinstance(run, PageRun) and run.is_on_language for run in runs)
    data = [data_of(run) for run in runs]
    networks = [run.live.network for run in runs if isinstance(run, PageRun) and run.live.network]
    twins = [twin for network in networks for twin in (WEIGHTS, *network.twins)]
    if any(isinstance(run, PageRun) and isinstance(run.machine, PushdownTransducer) for run in runs):
        twins.append(NESTED)
    names = ", ".join(dict.fromkeys(run.config.data.name for run in runs))
    articles = [any_article(i, run, of_run) for i, (run, of_run) in enumerate(zip(runs, data, strict=True))]
    if len(others) > 1:
        articles.insert(0, load(f"{others[0].page}:comparison")(others))
    if sum(isinstance(run, PageRun) and run.rows is None and run.live.network is not None for run in runs) > 1:
        articles.insert(0, file("compare.html"))
    body = Template(file("page.html")).substitute(form=file("form.html") if has_words else "", runs="\n".join(articles))
    has_trees = any(isinstance(run, PageRun) and has_tree(run, of_run) for run, of_run in zip(runs, data, strict=True))
    return document(
        title=f"What a network learned: {names}",
        heading="What a network learned",
        skip=("runs", "To the runs"),
        body=body + (file("footer.html") if has_trees else ""),
        data=data,
        styles=(
            "page.css",
            *(["states.css", "tools.css", "rows.css"] if has_words else []),
            *dict.fromkeys(style for run in others for style in load(f"{run.page}:STYLES")),
        ),
        scripts=SCRIPTS if has_words else (),
        modules=bundle(twins) if twins else "",
    )


def data_of(run: PageRun | OtherRun) -> dict[str, Any]:
    """What the script reads of a run."""
    if not isinstance(run, PageRun):
        return script_data(None, None)
    if run.rows is not None:
        return script_data(None, None) | {"rows": run.rows.data(), "live": run.live.data()}
    aligned = run.config.model.aligned
    return script_data(run.machine, run.certificate, aligned, run.nested_task) | {"live": run.live.data()}


def has_tree(run: PageRun, data: Mapping[str, Any]) -> bool:
    """Whether the nodes of a word are drawn, and named by monoid elements."""
    return bool(data["network"]) or (run.live.prototypes is not None and bool(data["elements"]))


def any_article(i: int, run: PageRun | OtherRun, data: Mapping[str, Any]) -> str:
    """All sections of a run, of any kind."""
    if not isinstance(run, PageRun):
        return load(f"{run.page}:article")(i, run)
    return article(i, run, data) if run.rows is None else rows_page.article(i, run, run.rows)


def article(i: int, run: PageRun, data: Mapping[str, Any]) -> str:
    """All sections of a run."""
    language = tag("h2", text(run.config.data.name), id=f"run-{i}")
    line = tag("p", text(facts.identity(run.config)), class_="identity")
    folder = tag("p", "folder ", tag("code", text(facts.name(run.path))), class_="folder")
    answer = tag("p", class_="answer", aria_live="polite", hidden="" if run.machine is None else None)
    parts = [tag("header", language, line, folder, facts.badge(run)), answer]
    parts += live_parts(run)
    if run.machine is not None:
        parts.append(machine_section(run.machine))
    if data["network"]:
        parts += [tree_section(run.live, *nested_note(run)), prototypes_section(run, data), cayley_section(data)]
    elif has_tree(run, data):
        why = "The certificate's table is too large for a page." if run.certificate else "There is no certificate."
        note = f"{why} Each node is named by the {element_of(run)} whose states lie nearest to its own."
        parts.append(tree_section(run.live, tag("p", note), *nested_note(run)))
    elif run.machine is not None and (run.live.network is not None or isinstance(run.config.model, TreeOptions)):
        parts.append(section("tree", "The network's tree", tag("p", no_table(run))))
    if run.live.network is not None:
        parts.append(map_section(run.live, element_of(run)))
    if run.points:
        parts.append(html(curves.by_length(run.points, run.summary)))
    if run.field is not None:
        parts.append(html(run.field, "Receptive field", kind="field"))
    parts.append(section("proof", "What is proven, and what is observed", facts.proof(run)))
    return tag("article", *parts, class_="run", data_run=i, aria_labelledby=f"run-{i}")


def element_of(run: PageRun) -> str:
    """What the elements are called: of a language with brackets they are no monoid's."""
    return nested.NOUN if isinstance(run.machine, PushdownTransducer) else "monoid element"


def nested_note(run: PageRun) -> list[str]:
    """How the brackets stand in the tree, where it follows them."""
    if not isinstance(run.machine, PushdownTransducer):
        return []
    words = "The tree follows the brackets: what stands in a pair is computed as a word of its own, then the pair."
    opened = " A node that is open holds the call and the inside; the return stands beside it."
    return [tag("p", words + (opened if getattr(run.config.model, "chunk_size", 0) == 2 else ""))]


def live_parts(run: PageRun) -> list[str]:
    """Where the script says at which node network and automaton part, and words that the network answers wrongly.

    Where the page does not compute the network, why.
    """
    if run.live.network is None:
        return [tag("p", text(run.live.reason), class_="not-live")]
    buttons = wrong_words(run.live.wrong, partial(written, run), PROVEN)
    return [tag("p", class_="parting", data_part="parting", aria_live="polite"), buttons]


def written(run: PageRun, word: Sequence[int]) -> str:
    """A word as people read it."""
    assert run.machine is not None
    return run.machine.decode(np.array(word))


def tree_section(live: Live, *notes: str) -> str:
    """The network's tree over the typed word, which the script draws."""
    return section(
        "tree",
        "The network's tree",
        *notes,
        file("build.html"),
        tag("div", class_="picture", data_part="tree"),
        tag("p", class_="detail", data_part="detail"),
        *([tag("p", data_part="edges"), file("patch.html"), vector_part()] if live.prototypes is not None else []),
        tag("div", class_="scroll", data_part="levels"),
        tag("details", tag("summary", "All nodes as a table"), scrolling("All nodes", data_part="nodes")),
    )


def prototypes_section(run: PageRun, data: Mapping[str, Any]) -> str:
    """The prototypes: a picture and a table, both with the number of nodes of the typed word."""
    assert run.certificate is not None
    labels = [label(words) for words in run.certificate.words]
    picture = scatter(np.array(run.certificate.record["prototypes"]), labels, data["network"]["colours"])
    answers = data["network"]["answers"]
    rows = [
        tag(
            "tr",
            tag("th", text(f"#{i}"), scope="row"),
            tag("td", text(bracketed(words)), class_="word"),
            tag("td", text("–" if answer is None else answer)),
            tag("td", class_="count"),
            data_prototype=i,
        )
        for i, (words, answer) in enumerate(zip(run.certificate.words, answers, strict=True), 1)
    ]
    heads = (tag("th", name, scope="col") for name in ("prototype", "stands for", "answer", "nodes"))
    table = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows), class_="prototypes")
    return section(
        "prototypes",
        "The prototypes",
        tag("p", "Each dot is a prototype, named by the least words it stands for. The typed word's nodes are lit."),
        picture,
        tag("details", tag("summary", "Prototypes as a table"), scrolling("The prototypes", table)),
    )


def cayley_section(data: Mapping[str, Any]) -> str:
    """The multiplication table of the prototypes, which the script draws."""
    with_pads = " (a window of two nodes and pads)" if data["network"]["chunk_size"] > 2 else ""
    words = f"Row, then column: what the network makes of two neighbouring nodes{with_pads}. Arrow keys move."
    return section(
        "cayley",
        "The Cayley table of the network",
        tag("p", text(words)),
        tag("div", class_="scroll picture", data_part="cayley"),
        tag("p", class_="detail", data_part="product", aria_live="polite"),
    )


def no_table(run: PageRun) -> str:
    """Why there is no tree."""
    if isinstance(run.machine, PushdownTransducer) and isinstance(run.config.model, TreeOptions):
        return TOO_MANY if run.config.model.follows_brackets else FLAT
    if run.config.model.name != "regulargpt":
        return text(f"{run.config.model.name} has no tree.")
    unknown = "Without a certificate the page does not know this network's states."
    if run.reasons:
        return facts.code(f"{unknown} {facts.without(run)}.")
    return facts.code(f"{unknown} Run `regulargpt verify {run.path}`, then `regulargpt report` again.")


def label(words: Sequence[str]) -> str:
    """What a prototype stands for, short.

    >>> label(["0", "01"]), label([""]), label(["0", "1", "00"]), label(["001100110"])
    ('0|01', 'ε', '0|1|…', '0011…110')
    """
    shown = [word or "ε" for word in words[:MOST_WORDS]] + ["…"] * (len(words) > MOST_WORDS)
    return "|".join(word if len(word) <= 8 else f"{word[:4]}…{word[-3:]}" for word in shown) or "unused"


def bracketed(words: Sequence[str]) -> str:
    """What a prototype stands for, in full.

    >>> bracketed(["", "01"])
    '[ε] [01]'
    """
    return " ".join(f"[{word or 'ε'}]" for word in words) or "no node comes to it"
