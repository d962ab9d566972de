"""Nothing that is read can run code, and nothing in the sources draws from a random state that others share."""

import ast
import contextlib
import io
import os
import pickle
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from languages.errors import UserError
from regulargpt.storage import RunFolder, checkpoint, manifest
from regulargpt.storage.folder import FINAL
from tests.pairwise import pairwise

SOURCES = Path(__file__).resolve().parents[3]


class Canary:
    """Unpickled, it makes a folder."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def zipped(**entries):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "/"), data)
    return buffer.getvalue()


def legacy_tar(payload):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name in ("storages", "tensors", "pickle"):
            entry = tarfile.TarInfo(name)
            entry.size = len(payload)
            archive.addfile(entry, io.BytesIO(payload))
    return buffer.getvalue()


def torch_zip(canary):
    buffer = io.BytesIO()
    torch.save({"step": 2, "state": {"x": canary}}, buffer)
    return buffer.getvalue()


def torch_old(canary):
    buffer = io.BytesIO()
    torch.save(canary, buffer, _use_new_zipfile_serialization=False)
    return buffer.getvalue()


def climbing_zip(canary):
    payload = pickle.dumps(canary)
    return zipped(archive__version="3", **{"..__..__evil": payload, "archive__data.pkl": payload})


PAYLOADS = {
    "pickle": pickle.dumps,
    "pickle0": lambda canary: pickle.dumps(canary, protocol=0),
    "zip": torch_zip,
    "legacy": torch_old,
    "tar": lambda canary: legacy_tar(pickle.dumps(canary)),
    "climbing zip": climbing_zip,
}


@pytest.fixture(autouse=True)
def unsafe_environment(monkeypatch):
    """The variable with which torch lets a user turn its protection off, where a call leaves it open."""
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")


@pytest.fixture
def run(tmp_path):
    run = RunFolder.create(tmp_path / "run", "seed = 0\n", {})
    for step in (1, 2):
        run.save_checkpoint(step, {"w": torch.ones(1)}, {"x": 1})
    run.append_metrics([{"step": 1}])
    run.write_weights({"w": torch.ones(1)}, {"d_model": 1})
    run.write_measures({"1": 1}, {"nll": {"values": {"1": 1.0}, "intervals": {"1": [1.0, 1.0]}}})
    run.write_summary({})
    run.finish()
    return run


def read_everything(run):
    """Call every reader; a refusal is fine, anything but a UserError is not."""
    opened = RunFolder(run.path)
    readers = [
        lambda: RunFolder.open(run.path),
        lambda: opened.config_text,
        opened.load_weights,
        opened.load_model_config,
        opened.load_summary,
        opened.load_checkpoint,
        lambda: manifest.verify(run.path),
        lambda: opened.locked().__enter__(),
    ]
    for reader in readers:
        with contextlib.suppress(UserError):
            reader()


@pytest.mark.parametrize(
    ("kind", "signed", "name"), pairwise(list(PAYLOADS), [False, True], [*FINAL, "manifest.json", "DONE", ".lock"])
)
def test_a_pickle_in_a_file_of_the_run_is_never_run(run, tmp_path, kind, signed, name):
    (run.path / name).write_bytes(PAYLOADS[kind](Canary(tmp_path / "ran")))
    if signed and name in FINAL:
        manifest.write_manifest(run.path, FINAL)
    read_everything(run)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("kind", "signed", "name"),
    pairwise(list(PAYLOADS), [False, True], ["model.safetensors", "state.pt", "manifest.json"]),
)
def test_a_pickle_in_a_checkpoint_is_never_run(run, tmp_path, kind, signed, name):
    folder = run.path / "checkpoints" / "000000002"
    (folder / name).write_bytes(PAYLOADS[kind](Canary(tmp_path / "ran")))
    if signed and name != "manifest.json":
        manifest.write_manifest(folder, ["model.safetensors", "state.pt"])
    found = checkpoint.load_latest(run.path)
    assert found is not None
    assert found.step == 1
    assert str(folder / name) in found.skipped[0]
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path.parent / "evil").exists()


def test_the_canary_sings_where_it_is_let(tmp_path):
    pickle.loads(pickle.dumps(Canary(tmp_path / "ran")))
    assert (tmp_path / "ran").exists()


GLOBAL_TORCH = {"manual_seed", "seed", "set_rng_state", "initial_seed"}
DRAWING_TORCH = {"rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial"}
CODE_FROM_DATA = {"pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}


def names_of_modules(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for: `np` -> numpy, `load` -> torch.load."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def dotted(node: ast.AST, names: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return names.get(node.id, "")
    if isinstance(node, ast.Attribute):
        base = dotted(node.value, names)
        return base and f"{base}.{node.attr}"
    return ""


def has(call: ast.Call, keyword: str, value: object = ...) -> bool:
    found = [item.value for item in call.keywords if item.arg == keyword]
    return bool(found) and (value is ... or (isinstance(found[0], ast.Constant) and found[0].value is value))


def fault(call: ast.Call, name: str) -> str | None:
    package, _, function = name.rpartition(".")
    if name in ("torch.load", "torch.serialization.load") and not has(call, "weights_only", True):
        return "loads without weights_only=True"
    if name in ("numpy.load", "numpy.lib.npyio.load") and has(call, "allow_pickle"):
        return "loads pickles"
    if package == "random" and function not in ("Random", "SystemRandom"):
        return "draws from Python's global random state"
    if package == "numpy.random" and function[0].islower() and not (function == "default_rng" and call.args):
        return "draws from numpy's global random state"
    if package in ("torch", "torch.random", "torch.cuda", "torch.cuda.random") and function.startswith(
        tuple(GLOBAL_TORCH)
    ):
        return "sets torch's global random state"
    if package == "torch" and function in DRAWING_TORCH and not has(call, "generator"):
        return "draws from torch's global random state"
    return None


def faults(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    names = names_of_modules(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (name := dotted(node.func, names)) and (what := fault(node, name)):
            yield node.lineno, what
        if isinstance(node, ast.Import | ast.ImportFrom):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
            if CODE_FROM_DATA & {module.split(".")[0] for module in modules}:
                yield node.lineno, "imports a module that runs code from data"


@pytest.mark.parametrize("package", ["languages", "regulargpt", "experiments"])
def test_the_sources_neither_run_data_nor_share_a_random_state(package):
    files = sorted((SOURCES / package).rglob("*.py"))
    assert files
    assert [f"{file}:{line} {what}" for file in files for line, what in faults(file.read_text())] == []


FORBIDDEN = [
    *("import torch\ntorch.load(f)", "import torch\ntorch.load(f, weights_only=False)", "import torch as t\nt.load(f)"),
    *("import torch\ntorch.load(f, weights_only=safe)", "from torch import load as get\nget(f)", "import pickle"),
    *("import numpy as np\nnp.load(f, allow_pickle=True)", "import numpy as np\nnp.random.seed(0)"),
    *("import numpy as np\nnp.random.default_rng()", "from numpy.random import rand\nrand()"),
    *(
        "import numpy.random as r\nr.shuffle(x)",
        "import random\nrandom.shuffle(x)",
        "from random import choice\nchoice(x)",
    ),
    *(
        "import torch\ntorch.manual_seed(0)",
        "import torch\ntorch.cuda.manual_seed_all(0)",
        "import torch\ntorch.randn(3)",
    ),
    "from pickle import loads",
]
ALLOWED = [
    *("import torch\ntorch.load(f, weights_only=True)", "import torch\ntorch.randn(3, generator=g)"),
    "import numpy as np\nnp.random.Generator(np.random.SFC64(np.random.SeedSequence(0)))",
    *("import json\njson.load(f)", "import random\nrandom.Random(0)"),
]


@pytest.mark.parametrize(("source", "wrong"), [*((one, True) for one in FORBIDDEN), *((one, False) for one in ALLOWED)])
def test_the_check_sees_what_is_wrong_and_lets_the_rest_pass(source: str, wrong: bool):
    assert bool(list(faults(source))) == wrong
