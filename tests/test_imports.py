"""What an import costs: help, listings and refusals are instant, and `languages` never needs torch."""

import ast
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest

from regulargpt.config.recipes import resolve
from regulargpt.storage.folder import MODEL_CONFIG, WEIGHTS, RunFolder

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "networkx", "sklearn", "matplotlib", "scipy", "automata", "safetensors", "tqdm")
CODE = """
import sys
sys.stdout = sys.stderr = open("/dev/null", "w")
from regulargpt.cli import call
for arguments in sys.argv[1:]:
    code = call(arguments.split())
    print(f"{arguments}: {code}", *(name for name in HEAVY if name in sys.modules), file=sys.__stdout__)
"""
LIGHT = [
    ("--help", 0),
    ("--version", 0),
    ("run --help", 0),
    ("evaluate --help", 0),
    ("list languages", 0),
    ("list models --json", 0),
    ("list encodings", 0),
    ("list recipes", 0),
    ("list objectives", 0),
    ("list models regulargpt", 0),
    ("list phases table_fine_tuning --json", 0),
    ("list models lstmm", 2),
    ("list recipes words", 2),
    ("list retrieval", 0),
    ("sample parity --length 5", 0),
    ("show retrieval:line", 0),
    ("sample retrieval:line --length 60", 0),
    ("sample retrieval:lien --length 60", 2),
    ("run retrieval:lien", 2),
    ("run retrieval:line --supervision last", 2),
    ("run retrieval:line --train-len 20", 2),
    ("run retrieval:line --protocol hard", 2),
    ("sweep retrieval:line --encoding t5,alibi --dry-run", 0),
    ("construct --help", 0),
    ("construct partiy --out x", 2),
    ("construct dyck-12 --representation one-hot --out x", 2),
    ("run partiy", 2),
    ("run parity --chunk-size 1", 2),
    ("run parity --chunk-sise 3", 2),
    ("run parity --model regulargtp", 2),
    ("run parity --set training.clipp=1", 2),
    ("run parity --model gru --chunk-size 3", 2),
    ("run parity --encoding alibi", 2),
    ("run parity --set phases.table_fine_tuning.every=0 --set phases.table_fine_tuning.lr=1", 2),
    ("run parity --test-len 3", 2),
    ("resume missing", 2),
    ("evaluate missing", 2),
    ("align --help", 0),
    ("align missing", 2),
    ("align missing --text README.md", 2),
    ("align hf:missing", 2),
    ("evaluate docs/certified/parity --temperature missing.json", 2),
    ("extract --help", 0),
    ("extract missing", 2),
    ("extract missing --out machine.txt", 2),
    ("extract missing --codebook clases", 2),
    ("evaluate missing --lengths 5-3", 2),
    ("verify --help", 0),
    ("shortcuts --help", 0),
    ("shortcuts partiy", 2),
    ("shortcuts parity --test-len 3", 2),
    ("receptive-field --help", 0),
    ("kernels --help", 0),
    ("kernels alib", 2),
    ("kernels alibi --heads 0", 2),
    ("position-variance --help", 0),
    ("position-variance --preset long", 2),
    ("position-variance missing", 2),
    ("position-variance --length 9", 2),
    ("kernels runs/missing", 2),
    ("kernels runs/missing --heads 2", 2),
    ("resolution --help", 0),
    ("resolution missing", 2),
    ("positions --help", 0),
    ("positions missing --words 1", 2),
    ("needles --help", 0),
    ("needles missing", 2),
    ("needles docs/certified/parity --lengths 5-3", 2),
    ("needles docs/certified/parity --temperature missing.json", 2),
    ("verify missing", 2),
    ("receptive-field missing --length 0", 2),
    ("reproduce --help", 0),
    ("list experiments", 0),
    ("reproduce table-6.9", 2),
    ("reproduce table-6.1 --only partiy", 2),
    ("reproduce table-6.1 --scale huge", 2),
    ("reproduce table-6.1 --page-only --retry", 2),
    ("reproduce table-6.1 --page-only --out missing", 2),
    ("reproduce table-6.2 --scale smoke --dry-run --out missing", 0),
    ("reproduce table-6.1 --model hf:missing", 2),
    ("reproduce table-5.4 --model hf:missing", 2),
    ("reproduce table-5.4 --model hf:docs", 2),
    ("reproduce table-5.4 --model hf:missing --only lines", 2),
    ("reproduce table-5.4 --model hf:missing --jobs 2", 2),
    ("reproduce table-5.4 --samples 5", 2),
    ("results --help", 0),
    ("results missing", 2),
    ("results missing --group-by langauge", 2),
    ("results missing --plot curves.pdf", 2),
    ("report --help", 0),
    ("report missing", 2),
    ("demo --help", 0),
    ("demo partiy", 2),
    ("demo dyck-12", 2),
    ("demo tomita-3", 2),
    ("demo --run missing", 2),
    ("demo parity --run docs/certified/parity", 2),
    ("demo --beside missing", 2),
    ("demo --out docs", 2),
    ("sweep --help", 0),
    ("sweep parity tomita-3 --model regulargpt,lstm --chunk-size 2,3 --seed 0-2 --dry-run", 0),
    ("sweep dyck-2 --protocol thesis,hard --dry-run --json", 0),
    ("sweep partiy", 2),
    ("sweep parity --seed 3-1", 2),
    ("sweep parity --steps 0", 2),
    ("sweep parity --out README.md", 2),
    ("sweep parity --partition gpu", 2),
    ("sweep parity --engine slurm --dry-run", 0),
]


def verb(arguments: str) -> str:
    """The first word, or "" of options of the program itself."""
    return arguments.split()[0].removeprefix("--help").removeprefix("--version")


def heavy(cwd: Path, *lines: str) -> list[str]:
    """Of each line its exit code, and what heavy has been imported by it or one before: all in one process."""
    command = [sys.executable, "-c", f"HEAVY = {HEAVY!r}\n{CODE}", *lines]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd).stdout.splitlines()


@pytest.mark.parametrize("of", sorted({verb(arguments) for arguments, _ in LIGHT}))
def test_help_listings_and_refusals_import_nothing_heavy(of: str):
    cases = [(arguments, code) for arguments, code in LIGHT if verb(arguments) == of]
    assert heavy(ROOT, *(arguments for arguments, _ in cases)) == [f"{case}: {code}" for case, code in cases]


def finished_run(path: Path, data: str, recipe: str) -> None:
    """A run on a text or a retrieval task whose weights are nothing: enough to be refused."""
    run = RunFolder.create(path, resolve(recipe, "transformer", data).render(), {})
    run.append_metrics([{"step": 1, "loss": 0.5}])
    (path / WEIGHTS).write_bytes(b"weights")
    (path / MODEL_CONFIG).write_text("{}")
    run.write_measures({}, {})
    run.write_summary({})
    run.finish()


@pytest.mark.parametrize(("data", "recipe"), [("text:missing.txt", "text"), ("retrieval:line", "retrieval")])
def test_that_a_run_has_no_automaton_is_said_without_torch(tmp_path: Path, data: str, recipe: str):
    finished_run(tmp_path / "run", data, recipe)
    cases = ["verify run", "extract run", "shortcuts --config run/config.toml"]
    assert heavy(tmp_path, *cases) == [f"{case}: 2" for case in cases]


def test_a_run_imports_no_compiler(tmp_path: Path):
    """torch's, and the algebra it brings along, take a second and a half of each run that compiles nothing."""
    code = "import sys; from regulargpt.cli import call; assert call(sys.argv[1].split()) == 0; "
    code += "assert not {'torch._dynamo', 'sympy'} & {*sys.modules}"
    line = "run parity --train-len 4 --steps 2 --test-len 5 --extra-lengths 6 --set phases.table_fine_tuning.every=1"
    subprocess.run([sys.executable, "-c", code, line], capture_output=True, check=True, cwd=tmp_path)


def test_languages_imports_numpy_and_nothing_heavy():
    code = "import sys, languages; languages.get('parity'); "
    code += f"print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def imports(path: Path) -> list[str]:
    """The packages that a file imports, anywhere in it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name.partition(".")[0] for alias in node.names]
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module.partition(".")[0])
    return found


@pytest.mark.parametrize(
    ("package", "never"),
    [("languages", {"torch", "regulargpt", "experiments", "tests"}), ("regulargpt", {"experiments", "tests"})],
)
def test_imports_go_one_way_only(package: str, never: set[str]):
    files = sorted((ROOT / package).rglob("*.py"))
    assert len(files) > 10
    for path in files:
        assert not never & set(imports(path)), path


GLOBAL_RANDOM = {("np", "random"), ("numpy", "random"), ("torch", "manual_seed"), ("torch", "seed"), ("random", "seed")}
ALLOWED = {"Generator", "SFC64", "SeedSequence", "default_rng"}


def test_no_file_uses_the_global_random_state():
    for package in ("languages", "regulargpt", "experiments"):
        for path in sorted((ROOT / package).rglob("*.py")):
            tree = ast.parse(path.read_text())
            assert "random" not in imports(path), path
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
                    inner = node.value
                    if isinstance(inner.value, ast.Name) and (inner.value.id, inner.attr) in GLOBAL_RANDOM:
                        assert node.attr in ALLOWED, f"{path}:{node.lineno}"
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "torch":
                    assert node.attr not in ("manual_seed", "seed"), f"{path}:{node.lineno}"
                if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                    "torch.randn",
                    "torch.rand",
                    "torch.randint",
                ):
                    assert "generator" in {word.arg for word in node.keywords}, f"{path}:{node.lineno}"


# The files that import each other in a circle, in functions and for type checkers too, and why that is so.
CIRCLES = [
    # A section of options names its registry; a registry makes options.
    {"regulargpt.options", "regulargpt.options.registry"},
    # One function computed three ways: each way is a file, and the model calls them.
    {f"regulargpt.models.regulargpt.{name}" for name in ("dense", "all_positions", "model")},
    # A trainer runs phases, and a phase trains what the trainer holds.
    {f"regulargpt.training.{name}" for name in ("phase", "trainer", "words")},
]


# Rooms, folders of a package or files beside them, that import each other, and why that is so.
PAIRS = {
    ("regulargpt.certificate", "regulargpt.runs"): "the phase proves a run as `verify` does, which opens a run folder",
    ("regulargpt.config", "regulargpt.training"): "a trainer reads the config, which names its options",
    ("regulargpt.results", "regulargpt.runs"): "a sweep ends with its table",
}


def files() -> dict[str, Path]:
    """The modules of the three packages."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.glob("[elr]*/**/*.py")}
    return {name.removesuffix(".__init__"): path for name, path in paths.items()}


def arrows() -> nx.DiGraph:
    """Which file imports which, in functions and for type checkers too."""
    known, graph = files(), nx.DiGraph()
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    inside = f"{node.module}.{alias.name}"
                    graph.add_edges_from(
                        (name, other) for other in [inside if inside in known else node.module] if other in known
                    )
            if isinstance(node, ast.Import):
                graph.add_edges_from((name, alias.name) for alias in node.names if alias.name in known)
    assert graph.number_of_edges() > 1000
    return graph


def test_files_import_each_other_in_three_known_circles_only():
    found = [part for part in nx.strongly_connected_components(arrows()) if len(part) > 1]
    assert sorted(map(sorted, found)) == sorted(map(sorted, CIRCLES))


def room(name: str) -> str:
    """The room of a module of regulargpt: the folder, or the file beside the folders.

    >>> room("regulargpt.models.tree.base")
    'regulargpt.models'
    """
    return ".".join(name.split(".")[:2])


def test_three_pairs_of_rooms_import_each_other():
    between = {(room(a), room(b)) for a, b in arrows().edges if room(a) != room(b)}
    inside = {(a, b) for a, b in between if a.startswith("regulargpt.") and b.startswith("regulargpt.")}
    assert {(a, b) for a, b in inside if a < b and (b, a) in inside} == set(PAIRS)
