"""Parts by name, by import path, by entry point; and that the trunk knows none of them."""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import torch

from regulargpt.config.phases import PHASES
from regulargpt.config.recipes import resolve
from regulargpt.config.schema import RunConfig, value_of
from regulargpt.config.validation import validate
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.objectives import OBJECTIVES
from regulargpt.options import ConfigError, Options, hints, option
from regulargpt.options import registry as registries
from regulargpt.options.registry import Registry
from regulargpt.runs.run import resume, run
from regulargpt.training.chain_fine_tuning import CHECKED
from tests.regulargpt.small import COMMON, trainer_of

ROOT = Path(__file__).parents[2]
KINDS: list[Registry] = [MODELS, ENCODINGS, OBJECTIVES, PHASES]

SLOPE = '''
from dataclasses import dataclass
from regulargpt.options import option
from regulargpt.encodings.base import Encoding
from regulargpt.encodings.options import EncodingOptions

@dataclass(frozen=True)
class SlopeOptions(EncodingOptions):
    slope: float = option(0.5, "What a symbol of distance costs.", least=0, why="a slope is not negative")

class Slope(Encoding):
    Options = SlopeOptions

    def __init__(self, *, slope=0.5, **sizes):
        super().__init__(**sizes)
        self.slope = slope

    def bias(self, q, k, at):
        return -self.slope * at.distances.abs().to(q)[None, None]

class Plain(Encoding):
    """Without options of its own."""

class Wrong(Encoding):
    Options = dict

A_VALUE = 3
'''


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package outside the tree; of each name it is forgotten afterwards."""
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "__init__.py").write_text("")
    (tmp_path / "lab" / "slope.py").write_text(SLOPE)
    (tmp_path / "lab" / "broken.py").write_text("import lab\n1 / 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registries.outside.cache_clear()
    yield
    registries.outside.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "lab"]:
        del sys.modules[name]


def config_of(encoding: str, **changes: object) -> RunConfig:
    """A small transformer with an encoding as it is written on the command line."""
    small = {**COMMON, "model.n_heads": 2, "training.steps": 2, "evaluation.test_len": 9}
    config = RunConfig().replaced({"model.name": "transformer", **small, **changes})
    return config.reading({"model.encoding": encoding})


def test_an_encoding_from_outside_is_trained_with_its_option_and_comes_back(outside: None, tmp_path: Path):
    config = config_of("lab.slope:Slope:slope=0.25")
    assert [value_of(config, f"model.encoding.{key}") for key in ("name", "slope")] == ["lab.slope:Slope", 0.25]
    assert RunConfig.parse(config.render()) == config
    assert '[model.encoding]\nname = "lab.slope:Slope"\nslope = 0.25\n' in config.render()
    assert trainer_of(config).model.encoding.slope == 0.25
    summary = run(config, tmp_path / "run")
    assert summary["steps"] == 2
    assert resume(tmp_path / "run") == summary
    losses = []
    for slope in (0.25, 2.0):
        trainer = trainer_of(config.reading({"model.encoding.slope": str(slope)}))
        trainer.step()
        losses.append(trainer.since_log[0][0])
    assert losses[0] != losses[1]


def test_a_class_without_options_has_those_of_its_kind(outside: None):
    config = config_of("lab.slope:Plain")
    validate(config)
    assert ENCODINGS["lab.slope:Plain"].summary == "Without options of its own."
    trainer_of(config).step()


MINE = "from regulargpt.models import gru, options\nclass Mine(gru.Gru):\n    Options = options.RecurrentOptions\n"


def test_a_model_from_outside_has_the_recipe_that_is_for_any_model(outside: None, tmp_path: Path):
    (tmp_path / "lab" / "model.py").write_text(MINE)
    config = resolve("words", "lab.model:Mine:d_model=4", "parity")
    assert (config.model.name, config.model.d_model) == ("lab.model:Mine", 4)
    assert config.training.solved_loss == 0.02
    validate(config)
    # The same class under its own name draws the same weights.
    mine, gru = (trainer_of(config.replaced({"model.name": name})) for name in ("lab.model:Mine", "gru"))
    weights = zip(mine.model.state_dict().values(), gru.model.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in weights)


def test_a_phase_without_options_from_outside_is_not_lost(outside: None, tmp_path: Path):
    (tmp_path / "lab" / "phase.py").write_text("class Pause:\n    pass\n")
    config = RunConfig.parse("[phases.'lab.phase:Pause']")
    assert [phase.name for phase in config.phases] == ["lab.phase:Pause"]
    assert RunConfig.parse(config.render()) == config
    assert "phases" not in RunConfig().render()


REFUSED = [
    ("lab.slope:Slope:slope=-1", "model.encoding.slope = -1.0; a slope is not negative"),
    ("lab.slope:Slope:slope=steep", "model.encoding.slope = 'steep'; give a number"),
    ("lab.slope:Slope:slop=1", "unknown key 'model.encoding.slop'; did you mean 'slope'?"),
    ("lab.slope", "unknown encoding 'lab.slope'; choose 'none', "),
    *((name, f"encoding {name}: {reason}") for name, reason in (
        ("lab.slope:Slpoe", "lab.slope has no class Slpoe; did you mean 'Slope'?"),
        ("lab.slope:A_VALUE", "lab.slope has no class A_VALUE;"),
        ("lab.slope:SlopeOptions", "SlopeOptions is no Encoding; derive it from regulargpt.encodings.base.Encoding"),
        ("lab.slope:Wrong", "its Options is no EncodingOptions; derive it from that class"),
        ("lab.stairs:Slope", "No module named 'lab.stairs'; install the package, or put the folder that holds it on "
                             "PYTHONPATH"),
        ("lab.broken:Slope", "importing lab.broken fails with ZeroDivisionError: division by"))),
]  # fmt: skip


@pytest.mark.parametrize(("encoding", "message"), REFUSED)
def test_what_is_refused_of_outside(outside: None, encoding: str, message: str):
    with pytest.raises(ConfigError) as error:
        config_of(encoding)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_an_installed_package_offers_names_of_its_own(outside: None, monkeypatch: pytest.MonkeyPatch):
    found = {"regulargpt.encodings": [EntryPoint("one-slope", "lab.slope:Slope", "regulargpt.encodings")]}
    monkeypatch.setattr(metadata, "entry_points", lambda group: found.get(group, []))
    config = config_of("one-slope:slope=0.25")
    # By the name that was written: whoever reads the config needs the package either way.
    assert value_of(config, "model.encoding.name") == "one-slope"
    assert RunConfig.parse(config.render()) == config
    trainer_of(config).step()
    with pytest.raises(ConfigError, match=r"^unknown encoding 'one-slop'; did you mean 'one-slope'\?$"):
        config_of("one-slop")
    assert "one-slope" not in list(ENCODINGS)


@pytest.mark.parametrize("parts", KINDS, ids=lambda parts: parts.kind)
def test_every_row_of_a_registry_is_whole(parts: Registry):
    for name, row in parts.items():
        assert row.summary
        assert issubclass(row.options, parts.default)
        assert isinstance(row.load(), type)
        assert parts.options(name, "here").name == name


# What the trunk may know of parts, and why.
KNOWN = {
    "config/schema.py": {"RegularGPTOptions", "LastOptions", "regulargpt", "last"},  # the defaults of a run
    "runs/certify.py": {"chunk_size", "learned"},  # the certificate is of a tree of chunks; "learned" is an automaton
    # From the states of these it extracts; "learned" is an automaton.
    "cli/commands/extract.py": {"rnn", "lstm", "gru", "linear-rnn", "learned"},
    "cli/__init__.py": {"regulargpt"},  # the program's name
    # What can be certified.
    "training/table_fine_tuning.py": {"regulargpt", "ldru"},
    "training/chain_fine_tuning.py": {*CHECKED},
    **{file: {"learned"} for file in ("training/proof_options.py", "training/given.py")},  # an automaton
    # A bias is added to the encoding of a Transformer; "last" is a time's.
    "evaluation/bias.py": {"Transformer", "encoding", "n_heads", "n_layers"},
    "cli/commands/check.py": {"levels", "margin"},  # those that the checker found
    "cli/sweeping.py": {"model.chunk_size", "model.gates"},  # stand in the names of runs
    "results/columns.py": {"encoding", "model.encoding.name"},  # what everybody calls it
    "results/beside.py": {"objective.output_token"},  # a symbol more at the end of every word is another condition
    "cli/streams.py": {"encoding"},  # of a file
    "evaluation/shortcuts/rows.py": {"last"},  # the last symbol
    "runs/outside.py": {"regulargpt"},  # the package, whose own classes are not outside
}


def own_names() -> set[str]:
    """The names of models, encodings and objectives, of the classes behind them, and of options that only they have."""
    parts = [row for kind in (MODELS, ENCODINGS, OBJECTIVES) for row in kind.values()]
    own = {name for row in parts for name in hints(row.options)}
    shared = {name for owner in trunk_options() for name in hints(owner)}
    # Words with another meaning everywhere: nothing at all, a norm of a gradient, the base of a registry, the run's,
    # what a machine does with a stack, the empty symbol, how words are drawn, what a slider is, where a file lies,
    # and the blocks of a text or a page.
    ordinary = {"none", "norm", "weight", "base", "fit", "width", "shift", "train_len"}
    ordinary |= {"push", "empty", "drawn", "range", "path", "blocks"}
    names = {*MODELS, *ENCODINGS, *OBJECTIVES, *(own - shared)} - ordinary
    classes = {row.place.partition(":")[2] for row in parts} | {row.options.__name__ for row in parts}
    return names | classes


def trunk_options() -> Iterator[type[Options]]:
    """The options that every run has."""
    config = RunConfig()
    yield from (type(config), type(config.training), type(config.evaluation), *(kind.default for kind in KINDS))


def named(path: Path) -> Iterator[str]:
    """What a file's code names: attributes, imports, and texts that are nothing but a name or a dotted key."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


TRUNK = [
    path.relative_to(ROOT / "regulargpt").as_posix()
    for room in ("config", "runs", "training", "evaluation", "results", "cli")
    for path in sorted((ROOT / "regulargpt" / room).rglob("*.py"))
    if path.name not in ("recipes.py", "protocols.py")
]


@pytest.mark.parametrize("file", TRUNK)
def test_the_trunk_knows_no_model_encoding_or_objective(file: str):
    own = own_names()
    keys = {f"{section}.{name}" for section in ("model", "objective") for name in own} | {"model.encoding.name"}
    found = {name for name in named(ROOT / "regulargpt" / file) if name in own | keys}
    assert found == KNOWN.get(file, set())


def test_a_bound_without_a_reason_says_the_bound():
    @dataclass(frozen=True)
    class Bounded(Options):
        low: int = option(1, "At least one.", least=1)
        share: float = option(0.5, "Below one.", below=1)

    for values, said in (({"low": 0}, "low = 0; at least 1"), ({"share": 1.0}, "share = 1.0; it is below 1")):
        with pytest.raises(ConfigError) as refused:
            Bounded(**values)
        assert str(refused.value) == said
