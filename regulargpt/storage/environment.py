"""What a run was made with, for environment.json: enough to repeat it, nothing about who or where you are."""

import hashlib
import os
import platform
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
NAMES_A_REPOSITORY = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"}


def environment(device: str = "cpu") -> dict[str, Any]:
    """Versions, machine, device, threads, the source, and its commit if it lies in a git checkout. Never fails.

    >>> sorted(environment())[:8]
    ['commit', 'cpu_count', 'device', 'device_name', 'machine', 'numpy', 'python', 'regulargpt']
    >>> sorted(environment())[8:]
    ['source', 'system', 'threads', 'torch']
    """
    import torch

    return {
        "commit": _commit(),
        "cpu_count": os.cpu_count(),
        "device": device,
        "device_name": _device_name(device),
        "machine": platform.machine(),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "regulargpt": version("regulargpt-testbed"),
        "source": source_digest(),
        "system": platform.system(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def source_digest() -> str:
    """The first 12 hexadecimal digits of the SHA-256 of the code, with its names: an installed copy knows no commit.

    >>> len(source_digest())
    12
    """
    digest = hashlib.sha256()
    for root in (PACKAGE, PACKAGE.parent / "languages"):
        for file in sorted(root.rglob("*.py")):
            # Each part with its length, so that no two sets of files have the same bytes in a row.
            for part in (file.relative_to(PACKAGE.parent).as_posix().encode(), file.read_bytes()):
                digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:12]


def version(distribution: str) -> str:
    """Of an installed package; unknown where it left no record of itself."""
    from importlib import metadata  # slow, and help and refusals import this file

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "unknown"


def _device_name(device: str) -> str:
    import torch

    if not device.startswith("cuda"):
        return platform.processor() or platform.machine()
    try:
        return torch.cuda.get_device_name(device)
    except (RuntimeError, AssertionError, ValueError):
        return "unknown"


def _commit() -> str | None:
    # Only of a repository that holds the package at its top: a virtual environment may lie inside another, even
    # committed.
    if _git("ls-files", "--full-name", "__init__.py") != f"{PACKAGE.name}/__init__.py":
        return None
    return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(*arguments: str) -> str | None:
    import subprocess

    # A hook of git's has variables that name the repository it runs for.
    own = {name: value for name, value in os.environ.items() if name not in NAMES_A_REPOSITORY}
    try:
        result = subprocess.run(
            ["git", "-C", str(PACKAGE), *arguments], capture_output=True, text=True, timeout=5, check=True, env=own
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
