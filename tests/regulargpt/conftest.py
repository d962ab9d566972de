"""Runs and pages that several files show, each made once: nobody writes into them but who made them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from regulargpt.classroom.data import PageRun, gather
from regulargpt.classroom.lesson import making, page
from regulargpt.classroom.lesson.material import Material, material
from regulargpt.classroom.page import write
from regulargpt.config.recipes import resolve
from regulargpt.measurements.measuring import measured
from regulargpt.runs import run as running
from regulargpt.runs.load import load_reader
from regulargpt.storage.folder import RunFolder
from tests.regulargpt.certified import believed, certify, folder, spoil
from tests.regulargpt.markup import EVIL_BYTES, STRANGE, language_of
from tests.regulargpt.small import config
from tests.regulargpt.texts import text_config
from tests.test_imports import ROOT


def shown(path: Path) -> PageRun:
    """A finished run on a language, as a page shows it."""
    found = gather(path)
    assert isinstance(found, PageRun)
    return found


@dataclass
class Runs:
    """Runs whose weights are as they were drawn, and their pages."""

    place: Path
    made: dict[Any, PageRun] = field(default_factory=dict)
    pages: dict[tuple[Path, ...], Path] = field(default_factory=dict)

    def plain(self, language: str, C: int = 2, model: str = "regulargpt", seed: int = 0) -> PageRun:
        """Without a certificate."""
        return self.of(language, C, model, seed, None)

    def certified(self, language: str, C: int = 2, model: str = "regulargpt", spoilt: bool = False) -> PageRun:
        """With one, that says what it should, or is spoilt."""
        return self.of(language, C, model, 0, spoilt)

    def of(self, language: str, C: int, model: str, seed: int, spoilt: bool | None) -> PageRun:
        key = (language, C, model, seed, spoilt)
        if key not in self.made:
            run = folder(self.place / str(len(self.made)), language, C, model, seed)
            if spoilt is not None:
                certificate = certify(run, language, C)
                if spoilt:
                    spoil(run, certificate, seed=C)
            self.made[key] = shown(run.path) if spoilt is None else believed(run.path)
        return self.made[key]

    def committed(self) -> PageRun:
        """That of the package, which was trained until it was proven; it has two prototypes."""
        if PARITY not in self.made:
            self.made[PARITY] = shown(PARITY)
        return self.made[PARITY]

    def page(self, *runs: PageRun) -> Path:
        """The page of some runs."""
        key = tuple(run.path for run in runs)
        if key not in self.pages:
            self.pages[key] = self.place / f"page{len(self.pages)}.html"
            write(list(runs), self.pages[key])
        return self.pages[key]


def network_of(run: PageRun) -> Any:
    """The network of a run, in float64."""
    return load_reader(RunFolder.open(run.path)).double()


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))


# Trained for a moment: each is wrong on many words. A tree, recurrent networks, one whose script reads the word whole,
# a causal Transformer and one that is not, one that answers at a token, one of minus infinities left out, and some
# that are asked for the symbols that may follow.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "regulargpt": ("regulargpt", {"training__curriculum": ()}),
    "rnn": ("rnn", {}),
    "lstm": ("gru", {"model__name": "lstm"}),
    "linear-rnn": ("linear-rnn", {}),
    "transformer": ("transformer", {"model__encoding__name": "alibi"}),
    "bidirectional": (
        "transformer",
        {"model__causal": False, "model__encoding__name": "t5", "objective__name": "last"},
    ),
    "token": ("gru", {"objective__name": "last", "objective__output_token": True}),
    "full": ("rnn", {"model__name": "regulargpt", "model__attention": "full", "model__n_heads": 2, "model__d_ff": 8}),
}


@pytest.fixture(scope="session")
def family_of(tmp_path_factory) -> Callable[[str], PageRun]:
    """A run of a family, trained once."""
    path = tmp_path_factory.mktemp("families")

    @cache
    def trained(name: str) -> PageRun:
        family, changes = FAMILIES[name]
        running.run(config(family, training__steps=4, **changes), path / name)
        return shown(path / name)

    return trained


TEXTS = ("alibi", "rotary", "t5", "kerple_log")
MakesText = Callable[..., Path]


@pytest.fixture(scope="session")
def text_of(tmp_path_factory) -> MakesText:
    """Makes a run with an encoding, of a text with all that a page could trip over, once; where it is."""
    path = tmp_path_factory.mktemp("texts")
    words, random = [b"alpha ", b"beta ", b"gamma\n", EVIL_BYTES], np.random.default_rng(0)
    (path / "evil.txt").write_bytes(b"".join(words[i] for i in random.integers(4, size=3000)))

    @cache
    def made(name: str, encoding: str = "", **changes: Any) -> Path:
        kept = {"evaluation__attention": "full", "model__encoding__name": encoding or name, "model__dropout": 0.0}
        kept |= {"data__name": f"text:{path / 'evil.txt'}", "evaluation__test_len": 64, "training__steps": 20}
        running.run(config("text", **kept | changes), path / name)
        return path / name

    return made


@pytest.fixture(scope="session")
def on_texts(text_of: MakesText) -> Path:
    """The page of three runs on a text; beside it alone.html, of the first of them."""
    found = [gather(text_of(name)) for name in TEXTS[:3]]
    place = text_of("alibi").parent
    write(found[:1], place / "alone.html")
    write(found, place / "page.html")
    return place / "page.html"


RETRIEVAL = {"device": "cpu", "data.train_len": 16, "model.d_model": 16, "model.d_ff": 32, "model.n_heads": 2}
RETRIEVAL |= {"training.steps": 60, "training.batch_size": 16, "training.warmup": 10, "evaluation.samples": 4}


@pytest.fixture(scope="session")
def alignments(tmp_path_factory) -> Path:
    """Finished runs on a retrieval task, a text and languages, each with the page of its alignment."""
    path = tmp_path_factory.mktemp("alignments")
    (path / "evil.txt").write_bytes((EVIL_BYTES + b"alpha beta\n") * 120)
    task = "retrieval:line:keys=8,values=4,questions=3"
    running.run(resolve(None, "transformer", task).replaced(RETRIEVAL), path / "retrieval")
    running.run(text_config(f"text:{path / 'evil.txt'}", model__encoding__name="t5"), path / "text")
    running.run(config("transformer", data__name="dyck-2"), path / "next")
    strange = {"data__name": language_of(STRANGE, path), "objective__name": "last", "model__causal": False}
    running.run(config("transformer", **strange), path / "strange")
    for name, length in (("retrieval", 128), ("text", 64), ("next", 24), ("strange", 24)):
        by = "head" if name == "text" else "model"
        measured("align", path / name, length=length, words=2, by=by)
    return path


PARITY = ROOT / "docs" / "certified" / "parity"
BRACKETS = PARITY.with_name("brackets-2")  # a tree that follows them
TRANSFORMER = ROOT / "docs" / "gallery" / "runs" / "parity-transformer"


@pytest.fixture(scope="session")
def lesson() -> Material:
    """Parity, with a network beside that is wrong."""
    return material(making.words_of(gather(PARITY)), making.words_of(gather(TRANSFORMER)))


@pytest.fixture(scope="session")
def written(lesson: Material, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("lesson") / "lesson.html"
    page.write(lesson, path)
    return path


@pytest.fixture(scope="session")
def on_brackets(tmp_path_factory) -> Path:
    """The lesson on a language with brackets."""
    path = tmp_path_factory.mktemp("brackets") / "lesson.html"
    page.write(material(shown(BRACKETS)), path)
    return path


@pytest.fixture(scope="session")
def page_of(runs: Runs, request) -> Callable[[str], tuple[Path, str]]:
    """A page of each kind, and an address that shows much of it."""
    fixture, spoilt = request.getfixturevalue, partial(runs.certified, "tomita-3", spoilt=True)
    several = partial(runs.plain, "parity", model="rnn"), partial(runs.plain, "parity", 3), spoilt
    kinds: dict[str, tuple[Callable[[], Path], str]] = {
        "table": (lambda: runs.page(runs.certified("cycle-navigation")), "#word=0110&step=2&node=2.0"),
        "large": (lambda: runs.page(runs.certified("alternating-5")), ""),
        "pixels": (lambda: runs.page(runs.certified("symmetric-5")), "#word=cece"),
        "spoilt": (lambda: runs.page(spoilt()), "#word=0110100&view=tree&node=2.1"),
        "embedded": (lambda: runs.page(spoilt()), "?embed=tree#word=0110100"),
        "several": (lambda: runs.page(*(run() for run in several)), "#word=" + "0110" * 30),
        "texts": (lambda: fixture("on_texts"), ""),
        "alignment": (lambda: fixture("alignments") / "retrieval" / "align" / "align.html", "#temperature=0.2"),
        "strange": (lambda: fixture("alignments") / "strange" / "align" / "align.html", ""),
        "lesson": (lambda: fixture("written"), ""),
        "brackets": (lambda: runs.page(shown(BRACKETS)), "#word=([]())[&step=4&node=3.0"),
        "brackets' lesson": (lambda: fixture("on_brackets"), ""),
    }
    return lambda kind: (kinds[kind][0](), kinds[kind][1])
