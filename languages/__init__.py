"""What there is to learn: automata, their monoids, tasks and exact samplers. Never imports torch.

Names are imported from their modules when they are first used, so that `import languages` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from languages.automata import Dfa, MooreMachine, Semiautomaton
    from languages.automata.monoid import TransitionMonoid
    from languages.errors import UserError
    from languages.randomness import rng
    from languages.registry import find, get, register
    from languages.regular.user import task_of
    from languages.task import Task

__all__ = [
    "Dfa",
    "MooreMachine",
    "Semiautomaton",
    "Task",
    "TransitionMonoid",
    "UserError",
    "find",
    "get",
    "register",
    "rng",
    "task_of",
]

HOME = {
    "Dfa": "automata",
    "MooreMachine": "automata",
    "Semiautomaton": "automata",
    "Task": "task",
    "TransitionMonoid": "automata.monoid",
    "UserError": "errors",
    "find": "registry",
    "get": "registry",
    "register": "registry",
    "rng": "randomness",
    "task_of": "regular.user",
}


def __getattr__(name: str) -> object:
    if name not in HOME:
        raise AttributeError(f"module 'languages' has no attribute {name!r}")
    return getattr(import_module(f"languages.{HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *HOME})
