"""What learns, and what can be said about what it learned.

The names here are all that most people need; each is imported when it is first used, so that the command line starts
at once.

>>> import regulargpt
>>> regulargpt.RegularGPT(2, 2, chunk_size=3).chunk_size
3
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from regulargpt import encodings, models, objectives
    from regulargpt.api import Trained, evaluate, judge, load, resume, run, states, verify
    from regulargpt.config.schema import RunConfig
    from regulargpt.models.hooks import run_with_cache, run_with_hooks
    from regulargpt.models.regulargpt import RegularGPT
    from regulargpt.models.transformer import Transformer

__all__ = [
    "RegularGPT",
    "RunConfig",
    "Trained",
    "Transformer",
    "encodings",
    "evaluate",
    "judge",
    "load",
    "models",
    "objectives",
    "resume",
    "run",
    "run_with_cache",
    "run_with_hooks",
    "states",
    "verify",
]

HOME = {
    "RegularGPT": "models.regulargpt",
    "RunConfig": "config.schema",
    "Transformer": "models.transformer",
    **dict.fromkeys(("Trained", "evaluate", "judge", "load", "resume", "run", "states", "verify"), "api"),
    **dict.fromkeys(("run_with_cache", "run_with_hooks"), "models.hooks"),
}


def __getattr__(name: str) -> object:
    if name in HOME:
        return getattr(import_module(f"regulargpt.{HOME[name]}"), name)
    if name in __all__:
        return import_module(f"regulargpt.{name}")
    raise AttributeError(f"module 'regulargpt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
