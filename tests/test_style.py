"""What every file keeps to: shapes beside the reshapes."""

import ast
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESHAPES = {"reshape", "unflatten", "permute", "expand", "view"}
FILES = [
    path
    for package in ("languages", "regulargpt")
    for path in sorted((ROOT / package).rglob("*.py"))
    if "experiments" not in path.parts  # whose views are what a network sees
]


def is_reshape(node: Any) -> bool:
    """Whether this is a call that reshapes; a `view` with a type as its argument does not."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in RESHAPES):
        return False
    return not (node.func.attr == "view" and ast.unparse(node.args[0]).startswith("np."))


def test_every_reshape_says_its_shape():
    silent = []
    for path in FILES:
        lines = path.read_text("utf-8").splitlines()
        reshapes: list[Any] = [*filter(is_reshape, ast.walk(ast.parse("\n".join(lines))))]
        silent += [
            f"{path.relative_to(ROOT)}:{node.lineno}"
            for node in reshapes
            if not any(" # " in line for line in lines[node.lineno - 1 : node.end_lineno])
        ]
    assert len(FILES) > 200
    assert silent == []
