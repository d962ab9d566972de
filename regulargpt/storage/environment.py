"""What a run was made with, for environment.json: enough to repeat it, nothing about who or where you are."""

import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent


def environment(device: str = "cpu") -> dict[str, Any]:
    """Versions, machine, device, threads, and the commit if the package lies in a git checkout. Never fails.

    >>> sorted(environment())
    ['commit', 'cpu_count', 'device', 'device_name', 'machine', 'numpy', 'python', 'regulargpt', 'system', 'threads', 'torch']
    """  # noqa: E501
    import torch

    return {
        "commit": _commit(),
        "cpu_count": os.cpu_count(),
        "device": device,
        "device_name": _device_name(device),
        "machine": platform.machine(),
        "numpy": _version("numpy"),
        "python": platform.python_version(),
        "regulargpt": _version("regulargpt-testbed"),
        "system": platform.system(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def _version(distribution: str) -> str:
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
    # Asked only if git knows this very file: a virtual environment may lie inside somebody else's repository.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    return _git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(*arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ["git", "-C", str(PACKAGE), *arguments], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
