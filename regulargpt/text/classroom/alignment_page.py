"""The page of an alignment: a word before and after, shaded by the attention that it gets, and a slider."""

from __future__ import annotations

import base64
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8
from numpy import ndarray

from regulargpt import plots
from regulargpt.classroom.document import document, file
from regulargpt.findings.markup import tag, text
from regulargpt.options import as_mapping
from regulargpt.storage.atomic import write_text
from regulargpt.text.measurements.alignment.questions import questions_of
from regulargpt.text.measurements.alignment.stops import TRAINED, trained
from regulargpt.text.measurements.alignment.views import AttentionViews, HeadView, Word

# Attention from which a box is darker.
LEVELS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
# What a strategy is called on a button, and on the slider.
NAMES = {
    TRAINED: ("as trained", ""),
    "p_max": ("P_max", "P"),
    "entropy": ("entropy", "H"),
    "log": ("log", "log"),
    "fixed": ("yours", "yours"),
}
ROWS = {
    "p_max": "largest attention (P_max)",
    "entropy": "entropy (H, nats)",
    "needle": "attention to the answer",
    "answer": "the network answers",
    "p": "probability of the right answer",
}


def write(seen: AttentionViews, out: Path) -> None:
    """Write the page. StorageError if the disk refuses."""
    write_text(out, render(seen))


def render(seen: AttentionViews) -> str:
    """The page as text: one file, with nothing fetched from anywhere."""
    at = trained(list(seen.stops))
    body = Template(file("regulargpt.text.classroom:alignment.html")).substitute(
        identity=text(identity(seen)),
        lead="".join(tag("p", text(sentence)) for sentence in sentences(seen)),
        questions="".join(tag("option", text(name), value=i) for i, name in enumerate(question_names(seen))),
        views="".join(option(i, view, seen) for i, view in enumerate(seen.views)),
        last=len(seen.stops) - 1,
        trained=at,
        ticks=ticks(seen),
        jumps=jumps(seen),
        numbers=numbers(seen),
        legend=legend(),
        short=panel(seen.short, f"{seen.extent.lengths[0]:,} symbols, as in training"),
        long=panel(seen.long, f"{seen.extent.lengths[1]:,} symbols, as trained"),
        notes=text(" ".join(notes(seen))),
    )
    return document(
        title=f"Attention before and after: {plots.title(seen.run.config)}",
        heading="Attention before and after",
        skip=("temperature", "To the temperature"),
        body=body,
        data=script_data(seen, at),
        styles=("page.css", "regulargpt.text.classroom:alignment.css"),
        scripts=("regulargpt.text.classroom:alignment.js",),
    )


def identity(seen: AttentionViews) -> str:
    """The run in a line."""
    config = seen.run.config
    encoding = as_mapping(config.model)["encoding"]["name"]
    trained_on = f"trained on {config.data.train_len:,} symbols"
    return f"{config.data.name} · {config.model.label}, {encoding} · {trained_on} · seed {config.seed}"


def sentences(seen: AttentionViews) -> tuple[str, ...]:
    """What one sees."""
    short, long = seen.extent.lengths
    asks, answer = ("question", "; the outlined box holds the answer") if has_needles(seen) else ("last box", "")
    return (
        f"Each box is a symbol: the more attention the {asks} pays to it, the stronger its colour{answer}.",
        f"Among {long:,} symbols more boxes share the attention than among {short:,}, so it may become flat.",
        "A temperature below 1 sharpens it again: move the slider, and see what the network answers.",
    )


def has_needles(seen: AttentionViews) -> bool:
    """Whether the answers stand in the words."""
    return any(place is not None for word in (seen.short, seen.long) for place in word.questioned.needles)


def question_names(seen: AttentionViews) -> list[str]:
    """The questions, by what is asked of the long word."""
    if not has_needles(seen):
        return ["the last position"]
    return [f"{i + 1}: {question_words(seen.long, i)}" for i in range(len(seen.long.questioned.at))]


def question_words(word: Word, question: int) -> str:
    """The two symbols of a question behind a document."""
    at = word.questioned.at[question]
    return " ".join(word.questioned.names[at - 1 : at + 1])


def question_text(seen: AttentionViews, word: Word, question: int) -> str:
    """The question and its right answer in a line."""
    right = word.questioned.reading.right[question]
    if (place := word.questioned.needles[question]) is not None:
        return f"Asked: {question_words(word, question)}. Right: {right}, which stands at {place + 1:,}."
    return f"Asked: what {'comes next' if seen.run.source.kind == 'text' else 'the answer is'}. Right: {right}."


def option(i: int, view: HeadView, seen: AttentionViews) -> str:
    """A head to look at. Of a retrieval run it says how much the head looks at the answers as trained."""
    name = f"layer {view.layer + 1}, " + ("mean of its heads" if view.head is None else f"head {view.head + 1}")
    if has_needles(seen):
        share = float(np.nanmean(seen.short.on_needle[:, i]))
        name += f" ({100 * share:.0f} % on the answer at {seen.extent.lengths[0]:,})"
    return tag("option", text(name), value=i, selected="" if i == first_view(seen) else None)


def first_view(seen: AttentionViews) -> int:
    """The head that looks at the answers most, as trained; without answers to look at, the mean."""
    return int(np.nanmean(seen.short.on_needle, axis=(0, 2)).argmax()) if has_needles(seen) else 0


def ticks(seen: AttentionViews) -> str:
    """The temperatures under the slider, those that were found by their letters."""
    labels, last = [], len(seen.stops) - 1
    for i, stop in enumerate(seen.stops):
        letters = "".join(NAMES[name][1] for name in stop.names[:1])
        kind = "tick found" if letters else "tick"
        label = tag("span", text(letters or stop.label))
        labels.append(tag("span", label, class_=kind, aria_hidden="true", style=f"--at: {i / last:.4f}"))
    return "".join(labels)


def jumps(seen: AttentionViews) -> str:
    """A button for 1 and for every temperature that was found."""
    return "".join(
        tag("button", text(f"{stop.label} {NAMES[name][0]}"), type="button", value=i, aria_pressed="false")
        for i, stop in reversed([*enumerate(seen.stops)])
        for name in stop.names
    )


def numbers(seen: AttentionViews) -> str:
    """The table that the script fills: the short word, the long word, and the long word at the temperature."""
    short, long = seen.extent.lengths
    columns = {"short": f"{short:,}, as trained", "before": f"{long:,}, as trained", "now": f"{long:,}"}
    heads = [tag("th", text(name), scope="col", data_column=key, class_=key) for key, name in columns.items()]
    rows = [
        tag(
            "tr",
            tag("th", text(name), scope="row"),
            *(tag("td", data_column=column, class_=column) for column in columns),
            data_row=key,
        )
        for key, name in ROWS.items()
        if key != "needle" or has_needles(seen)
    ]
    return tag("table", tag("thead", tag("tr", tag("th", "symbols", scope="col"), *heads)), tag("tbody", *rows))


def legend() -> str:
    """What the shades mean."""
    names = [f"below {100 * LEVELS[0]:g} %", *(f"{100 * least:g} %" for least in LEVELS)]
    shades = (tag("li", text(name), class_=f"a{i}") for i, name in enumerate(names))
    return tag("p", "The attention of a box, at least:") + tag("ul", *shades, class_="legend")


def panel(word: Word, heading: str) -> str:
    """The boxes of a word, which the script shades."""
    boxes = "".join(tag("span", text(name)) for name in word.questioned.names)
    picture = tag("div", boxes, class_="boxes", role="img", aria_label=f"{heading}: the boxes")
    return tag("h2", text(heading)) + tag("p", class_="asked") + picture + tag("p", class_="most")


def notes(seen: AttentionViews) -> list[str]:
    """What the page leaves out, and whose words these are."""
    setting, size = seen.setting, seen.extent
    sentences = [
        "P_max and entropy (H) name the temperatures that bring these, as means over all heads, back to what they are "
        "at the training length; log looks at the lengths alone.",
        f"The words are the first test words of their lengths, by seed {seen.run.seed}.",
    ]
    if size.lengths[1] != setting.lengths[1]:
        sentences.append(
            f"The temperatures were found at {setting.lengths[1]:,} symbols; the page shows {size.lengths[1]:,}."
        )
    if size.questions < (asked_in_all := questions_of(seen.run.source)):
        sentences.append(f"It shows {size.questions} of {asked_in_all} questions.")
    if size.layers < setting.shape[0]:
        sentences.append(f"Of {setting.shape[0]} layers it shows the heads of the last {size.layers}.")
    return sentences


def script_data(seen: AttentionViews, at: int) -> dict[str, Any]:
    """What the script looks up: rows as bytes, numbers rounded, names. Nothing of it is computed in the page."""
    return {
        "levels": LEVELS,
        "causal": seen.setting.model.causal,
        "views": len(seen.views),
        "trained": at,
        "stops": [{"label": stop.label, "names": [NAMES[name][0] for name in stop.names]} for stop in seen.stops],
        "short": of_word(seen, seen.short),
        "long": of_word(seen, seen.long),
    }


def of_word(seen: AttentionViews, word: Word) -> dict[str, Any]:
    """A word's rows, numbers and questions; lists are nested by question, view and temperature."""
    questions = [
        {"asked": at, "needle": needle, "text": question_text(seen, word, i), "right": right_of(word, i)}
        for i, (at, needle) in enumerate(zip(word.questioned.at, word.questioned.needles, strict=True))
    ]
    return {
        "length": word.rows.shape[-1],
        "stops": word.rows.shape[-2],
        "rows": base64.b64encode(quantised(word.rows).tobytes()).decode(),
        "questions": questions,
        "p_max": listed(word.p_max),
        "entropy": listed(word.entropy),
        "needle": listed(word.on_needle),
        "answers": word.answers,
        "p": listed(word.p),
    }


def right_of(word: Word, question: int) -> str | None:
    """The right answer; None where it is not known."""
    return None if np.isnan(word.p[question]).any() else word.questioned.reading.right[question]


def quantised(p: Float[ndarray, "*shape"]) -> UInt8[ndarray, "*shape"]:
    """255 times the roots: small probabilities need the finer steps.

    >>> quantised(np.array([0.0, 0.002, 0.25, 1.0])).tolist()
    [0, 11, 128, 255]
    """
    return np.rint(255 * np.sqrt(p)).clip(0, 255).astype(np.uint8)


def listed(values: Float[ndarray, "*shape"]) -> Any:
    """Nested lists of numbers with four decimals, and None for nan."""
    if values.ndim:
        return [listed(each) for each in values]
    return None if np.isnan(values) else round(float(values), 4)
