"""What an import costs: help, listings and refusals are instant, and `languages` never needs torch."""

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import networkx as nx
import pytest

from regulargpt.config.recipes import resolve
from regulargpt.options.registry import of_house
from tests.experiments.folders import finished

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
# Of each verb, or of the program itself, what it is asked, between bars: first what it answers, then what it refuses.
LIGHT = {
    "": ("--help | --version", ""),
    "list": (
        "languages | models --json | encodings | recipes | objectives | models regulargpt | experiments | retrieval"
        " | phases table_fine_tuning --json",
        "models lstmm | recipes words",
    ),
    "show": ("retrieval:line", ""),
    "sample": ("parity --length 5 | retrieval:line --length 60", "retrieval:lien --length 60"),
    "run": (
        "--help",
        "retrieval:lien | retrieval:line --supervision last | retrieval:line --train-len 20"
        " | retrieval:line --protocol hard | partiy | parity --chunk-size 1 | parity --chunk-sise 3"
        " | parity --model regulargtp | parity --set training.clipp=1 | parity --model gru --chunk-size 3"
        " | parity --encoding alibi | parity --test-len 3 | parity --out docs | parity --out README.md"
        " | parity --set phases.table_fine_tuning.every=0 --set phases.table_fine_tuning.lr=1",
    ),
    "construct": ("--help", "partiy --out x | dyck-12 --representation one-hot --out x"),
    "resume": ("", "missing"),
    "evaluate": (
        "--help",
        "missing | hf:missing --text README.md | docs/certified/parity --temperature missing.json"
        " | missing --lengths 5-3",
    ),
    "lengthen": ("--help", "missing | missing --text README.md | hf:missing --text README.md | hf:missing"),
    "align": ("--help", "missing | missing --text README.md | hf:missing"),
    "extract": ("--help", "missing | missing --out machine.txt | missing --codebook clases"),
    "verify": ("--help", "missing"),
    "falsify": ("--help", "missing | missing --words 0"),
    "shortcuts": ("--help", "partiy | parity --test-len 3"),
    "receptive-field": ("--help", "missing --length 0"),
    "kernels": ("--help", "alib | alibi --heads 0 | runs/missing | runs/missing --heads 2"),
    "position-variance": ("--help", "--preset long | missing | --length 9"),
    "resolution": ("--help", "missing"),
    "positions": ("--help", "missing --words 1 | hf:missing | hf:missing --text README.md"),
    "methods": ("--help", "missing | hf:missing --text README.md"),
    "needles": (
        "--help",
        "missing | docs/certified/parity --lengths 5-3 | docs/certified/parity --temperature missing.json"
        " | hf:missing | hf:missing --kinds lines | missing --kinds line",
    ),
    "reproduce": (
        "--help | table-6.2 --scale smoke --dry-run --out missing",
        "table-6.9 | table-6.1 --only partiy | table-6.1 --scale huge | table-6.1 --page-only --retry"
        " | table-6.1 --page-only --out missing | table-6.1 --model hf:missing | table-5.4 --model hf:missing"
        " | table-5.4 --model hf:docs | table-5.4 --model hf:missing --only lines"
        " | table-5.4 --model hf:missing --jobs 2 | table-5.4 --samples 5",
    ),
    "results": ("--help", "missing | missing --group-by langauge | missing --plot curves.pdf"),
    "report": ("--help", "missing"),
    "demo": (
        "--help",
        "partiy | dyck-12 | tomita-3 | --run missing | parity --run docs/certified/parity | --beside missing"
        " | --out docs | --workbench docs | --train --workbench new.html | dyck-12 --workbench new.html",
    ),
    "sweep": (
        "--help | retrieval:line --encoding t5,alibi --dry-run | dyck-2 --protocol thesis,hard --dry-run --json"
        " | parity tomita-3 --model regulargpt,lstm --chunk-size 2,3 --seed 0-2 --dry-run"
        " | parity --engine slurm --dry-run",
        "partiy | parity --seed 3-1 | parity --steps 0 | parity --out README.md | parity --partition gpu",
    ),
}
# What of `languages` alone is done, in this order, and what more has been imported behind it.
LANGUAGES = {
    "import languages, languages.registry as r; r.listing(); r.names()": "",
    "try: r.get('partiy')\nexcept ValueError: pass": "",
    "import languages.automata.monoid, languages.automata.green, languages.convert.files, languages.convert.graph": (
        "numpy"
    ),
    "import languages.convert.automata_lib, languages.regex": "",
    "assert 'languages.regular.parity' not in sys.modules; r.get('parity')": "",
    "for name in r.names(): r.get(name)": "",
    "r.get('regex:(ab)*')": "",
    "import regulargpt.text.corpora as t; t.corpus('text:code-large').digest; t.corpus('text:recurrent')": "",
    "import regulargpt; assert len(dir(regulargpt)) > 13": "",
}


def heavy(cwd: Path, *lines: str) -> list[str]:
    """Of each line its exit code, and what heavy has been imported by it or one before: all in one process."""
    command = [sys.executable, "-c", f"HEAVY = {HEAVY!r}\n{CODE}", *lines]
    return subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd).stdout.splitlines()


@pytest.mark.parametrize("verb", LIGHT)
def test_help_listings_and_refusals_import_nothing_heavy(verb: str):
    given = [
        (f"{verb} {rest}".strip(), code) for code in (0, 2) for rest in LIGHT[verb][code // 2].split(" | ") if rest
    ]
    assert heavy(ROOT, *(arguments for arguments, _ in given)) == [f"{case}: {code}" for case, code in given]


@pytest.mark.parametrize(("data", "recipe"), [("text:missing.txt", "text"), ("retrieval:line", "retrieval")])
def test_that_a_run_has_no_automaton_is_said_without_torch(tmp_path: Path, data: str, recipe: str):
    finished(tmp_path / "run", resolve(recipe, "transformer", data), 50.0)
    cases = ["verify run", "extract run", "shortcuts --config run/config.toml"]
    assert heavy(tmp_path, *cases) == [f"{case}: 2" for case in cases]


def test_a_run_imports_no_compiler(tmp_path: Path):
    """torch's, and the algebra it brings along, take a second and a half of each run that compiles nothing."""
    code = "import sys; from regulargpt.cli import call; assert call(sys.argv[1].split()) == 0; "
    code += "assert not {'torch._dynamo', 'sympy'} & {*sys.modules}"
    line = "run parity --train-len 4 --steps 2 --test-len 5 --extra-lengths 6 --set phases.table_fine_tuning.every=1"
    subprocess.run([sys.executable, "-c", code, line], capture_output=True, check=True, cwd=tmp_path)


def test_languages_and_regulargpt_import_numpy_at_most(tmp_path: Path):
    heavy = ("numpy", *HEAVY, "datasets", "tokenizers", "pandas")
    code = "import sys\nknown = set()\n"
    for statement in LANGUAGES:
        code += f"{statement}\nnew = {{*{heavy}}} & {{*sys.modules}} - known; known |= new; print(*sorted(new))\n"
    environment = {**os.environ, "LANGUAGES_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [*LANGUAGES.values()]


@cache
def parsed(path: Path) -> list[ast.AST]:
    """All nodes of a file."""
    return [*ast.walk(ast.parse(path.read_text("utf-8")))]


@cache
def modules() -> dict[str, Path]:
    """The modules of the three packages."""
    paths = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in ROOT.glob("[elr]*/**/*.py")}
    return {name.removesuffix(".__init__"): path for name, path in paths.items()}


def imports(path: Path) -> set[str]:
    """The modules that a file imports, in functions and for type checkers too, and what it imports of them."""
    found: set[str] = set()
    for node in parsed(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (inside & modules().keys()) | ({node.module} if inside - modules().keys() else set())
    return found


NEVER = {"languages": {"torch", "regulargpt", "experiments", "tests"}, "regulargpt": {"experiments", "tests"}}
# A wing stands above the core, and what is reproduced of it above all.
NEVER |= {"regulargpt.text.experiments": {"tests"}}


def test_imports_go_one_way_only():
    for name, path in modules().items():
        packages = {module.partition(".")[0] for module in imports(path)}
        above = max((above for above in NEVER if f"{name}.".startswith(f"{above}.")), key=len, default="")
        assert not packages & NEVER.get(above, {"tests"}), path


WINGS = ("regulargpt.text.", "regulargpt.classroom.")


def core() -> dict[str, Path]:
    """The modules of the core: all of `languages` and `regulargpt` but the wings."""
    ours = {name: path for name, path in modules().items() if name.startswith(("languages", "regulargpt"))}
    return {name: path for name, path in ours.items() if not f"{name}.".startswith(WINGS)}


def test_the_core_names_no_module_of_a_wing():
    """Not in an import, in functions and for type checkers too, nor as a text: entry points alone name them."""
    for path in core().values():
        assert not any(f"{module}.".startswith(WINGS) for module in imports(path)), path
        texts = [node.value for node in parsed(path) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        # Examples of a docstring may show what is brought; nothing of them is imported.
        run = [text for text in texts if ">>>" not in text]
        assert not any(wing.rstrip(".") in text for wing in WINGS for text in run), path


ON_WORDS = (
    "run parity --train-len 4 --steps 2 --test-len 5 --extra-lengths 6 --set phases.table_fine_tuning.every=1 --out a",
    "run parity --model transformer --recipe words --train-len 4 --steps 2 --test-len 5 --extra-lengths 6 --out b",
    *("resume a", "evaluate a --lengths 5", "verify a", "falsify a --words 10", "extract a", "list languages"),
    *("sample dyck-2 --length 8", "show parity", "receptive-field b --words 2"),
)


def test_a_run_on_a_language_imports_nothing_of_a_wing(tmp_path: Path):
    code = "import sys; from regulargpt.cli import call\n"
    code += "for line in sys.argv[1:]:\n    call(line.split())\n"
    code += f"    assert not (found := [name for name in sys.modules if name.startswith({WINGS!r})]), (line, found)\n"
    code += (
        f"call('report a --out page.html'.split())\nassert not any(n.startswith({WINGS[0]!r}) for n in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, *ON_WORDS], capture_output=True, check=True, cwd=tmp_path)


def test_everything_that_the_wings_bring_is_there():
    """An entry point names what can be imported, without torch; the name in a group is one alone."""
    points = [point for point in of_house() if point.group != "console_scripts"]
    assert len({(point.group, point.name) for point in points}) == len(points) > 15
    assert all(point.value.startswith(WINGS) and point.load() is not None for point in points)


ALLOWED = {"Generator", "SFC64", "SeedSequence"}
DRAWING = {"torch.randn", "torch.rand", "torch.randint"}


def test_no_file_uses_the_global_random_state():
    for path in modules().values():
        assert not {"random", "numpy.random"} & imports(path), path
        for node in parsed(path):
            place = f"{path}:{getattr(node, 'lineno', 0)}"
            of = ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""
            if isinstance(node, ast.Attribute) and of in ("np.random", "numpy.random"):
                assert node.attr in ALLOWED or (node.attr == "default_rng" and "certificate" in path.parts), place
            if isinstance(node, ast.Attribute) and of in ("torch", "torch.random"):
                assert node.attr not in ("manual_seed", "seed"), place
            if isinstance(node, ast.Call) and ast.unparse(node.func) in DRAWING:
                assert "generator" in {word.arg for word in node.keywords}, place


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


def arrows() -> nx.DiGraph:
    """Which file imports which."""
    graph = nx.DiGraph((name, other) for name, path in modules().items() for other in imports(path) & modules().keys())
    assert graph.number_of_edges() > 1000
    return graph


def test_files_import_each_other_in_three_known_circles_only():
    found = [part for part in nx.strongly_connected_components(arrows()) if len(part) > 1]
    assert sorted(map(sorted, found)) == sorted(map(sorted, CIRCLES))


def room(name: str) -> str:
    """The room of a module: the folder `regulargpt.models` of `regulargpt.models.tree.base`, or the file beside it."""
    return ".".join(name.split(".")[:2])


def test_three_pairs_of_rooms_import_each_other():
    between = {(room(a), room(b)) for a, b in arrows().edges if room(a) != room(b)}
    inside = {(a, b) for a, b in between if a.startswith("regulargpt.") and b.startswith("regulargpt.")}
    assert {(a, b) for a, b in inside if a < b and (b, a) in inside} == set(PAIRS)
