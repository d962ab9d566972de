"""The rows that several tables share: a run of the same options is trained once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from regulargpt.config.schema import RunConfig
from regulargpt.data.options import FURTHEST
from regulargpt.text.experiments.table import PUBLISHED_LENGTH, Option, Subject

MAIN_SEEDS = 3
# By which a temperature is found, and what they are called.
STRATEGIES = {"p_max": "P_max", "entropy": "entropy", "log": "log"}
CPU_LENGTH = 64
# Why encodings may not fall beyond L here.
SHORT = "2.5 million bytes of training teach little that lies further back than L"


def encoding(title: str, name: str, seeds: int = 1, attention: str = "full", **options: Option) -> Subject:
    """A Transformer with an encoding and its options."""
    keys = {f"model.encoding.{key}": value for key, value in options.items()}
    return Subject(title, {"model.encoding.name": name, **keys}, seeds, attention)


def by_encoding(*subjects: Subject) -> dict[str, Subject]:
    """Rows that are called as their encodings are."""
    return {str(subject.options["model.encoding.name"]): subject for subject in subjects}


def tested(subject: Subject, attention: str, title: str) -> Subject:
    """The same runs, tested under another attention."""
    return replace(subject, attention=attention, title=f"{subject.title} + {title}")


def shifted(h: float) -> Callable[[RunConfig], float]:
    """An exponent h of the slopes 2^-h at the published training length, moved so that the bias at the end of a
    training segment is the same: by 3 for segments of 64 symbols.
    """
    return lambda base: h - math.log2(PUBLISHED_LENGTH / base.data.train_len)


def longer(subject: Subject, times: int) -> Subject:
    """Trained on longer segments, as many symbols a step, and tested at the lengths of the others."""
    options: Mapping[str, Option] = {
        "data.train_len": lambda base: times * base.data.train_len,
        "training.batch_size": lambda base: max(1, base.training.batch_size // times),
        "evaluation.test_len": lambda base: FURTHEST * base.data.train_len,
    }
    return replace(subject, title=f"{subject.title}, trained on {times} L", options={**subject.options, **options})


def alone(subject: Subject) -> Subject:
    """Its first seed: figures show one model of each."""
    return replace(subject, seeds=1)


def sharpened(subject: Subject, strategy: str, title: str) -> Subject:
    """The same runs, with the temperature that a strategy finds for each length."""
    return replace(subject, sharpened=strategy, title=f"{subject.title} + {title}")


def aligned(row: str, subject: Subject, strategies: Iterable[str] = STRATEGIES) -> dict[str, Subject]:
    """A row as it is, and the same with each strategy behind its name.

    >>> list(aligned("t5", T5, ["p_max"]))
    ['t5', 't5+p_max']
    """
    return {row: subject, **{f"{row}+{key}": sharpened(subject, key, STRATEGIES[key]) for key in strategies}}


def bca(subject: Subject) -> Subject:
    """With blockwise causal attention."""
    return tested(subject, "bca", "BCA")


def sliding(subject: Subject) -> Subject:
    """With a window of the training length."""
    return tested(subject, "sliding:{L}", "sliding window")


def cached(subject: Subject) -> Subject:
    """With a cache of four training lengths."""
    return tested(subject, "sliding:{4L}", "window of 4 L")


KERPLE_LOG = encoding("KERPLE (log)", "kerple_log", MAIN_SEEDS)
ALIBI = encoding("ALiBi", "alibi", MAIN_SEEDS)
SANDWICH = encoding("Sandwich", "sandwich", MAIN_SEEDS)
ROTARY = encoding("Rotary", "rotary", MAIN_SEEDS)
T5 = encoding("T5", "t5", MAIN_SEEDS)
SINUSOIDAL = encoding("Sinusoidal", "sinusoidal", MAIN_SEEDS)
XPOS = encoding("xPos", "xpos", MAIN_SEEDS)

KERPLE_POWER = encoding("KERPLE (power)", "kerple_power")
SANDWICH_SMOOTH = encoding("Smoothed Sandwich", "sandwich_smooth")
XPOS_UNROTATED = encoding("xPos without rotation", "xpos", rotate=False)
XPOS_SCALAR = encoding("xPos, scalar zeta", "xpos", zeta="scalar")


def regulargpt(chunk_size: int, thickness: int, published: str) -> Subject:
    """RegularGPT with a chunk for training segments of 64 symbols; at full scale with the published C and K."""
    C, K = map(int, published.split("/"))
    options: Mapping[str, Option] = {
        "model.chunk_size": lambda base: max(2, chunk_size * base.data.train_len // CPU_LENGTH),
        "model.thickness": thickness,
    }
    full = {"model.chunk_size": C, "model.thickness": K}
    return Subject(f"RegularGPT {chunk_size} / {thickness}", options, model="regulargpt", full=full)
