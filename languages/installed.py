"""Languages of installed packages: the entry points of the group `regulargpt.languages`.

A package whose pyproject.toml says

    [project.entry-points."regulargpt.languages"]
    last-bit = "my_package.my_module:last_bit"

brings the language `last-bit`: the function's keyword parameters are written after a colon, as those of a built-in
language, and it returns a Task. A name that ends in -N is a family: the function's first argument is the number.
"""

import inspect
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from languages.errors import LanguageError, UserError, one_of
from languages.specification import Family, Parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

    from languages.task import Task

GROUP = "regulargpt.languages"
ACCEPTS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}


def installed() -> tuple[Family, ...]:
    """A row for each entry point, in the order of their names; none of the packages is imported.

    LanguageError for a name that two packages bring.
    """
    # Reading what is installed takes some milliseconds, which built-in languages do not pay.
    from importlib.metadata import entry_points

    rows: dict[str, Family] = {}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        row = Family(point.name, point.value, f"of the package {package_of(point)}", package=package_of(point))
        other = rows.setdefault(point.name, row)
        if other.package != row.package:
            both = f"{other.package} and {row.package}"
            raise LanguageError(f"the packages {both} both bring the language {point.name!r}; uninstall one")
    return tuple(rows.values())


def package_of(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else point.module


def load(family: Family) -> "Callable[..., Task]":
    """The function of an installed language, whose results are checked. LanguageError if it cannot be imported."""
    from importlib.metadata import EntryPoint

    try:
        function = EntryPoint(family.pattern, family.function, GROUP).load()
    except Exception as error:
        raise failure(family, "cannot be imported", error) from error

    def checked(*number: int, **values: Any) -> "Task":
        from languages.task import Task

        try:
            task = function(*number, **values)
        except UserError:
            raise
        except Exception as error:
            raise failure(family, "fails", error) from error
        if not isinstance(task, Task):
            raise LanguageError(f"{place(family)} returns {type(task).__name__}; it must return a languages.Task")
        return task

    checked.__wrapped__ = function  # type: ignore[attr-defined]  # `inspect.signature` follows it
    return checked


def parameters(family: Family) -> tuple[Parameter, ...]:
    """What may be written after the name: the function's parameters that have a default of a simple type."""
    function = load(family)
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:  # an annotation that is known to type checkers only
        signature = inspect.signature(function)
    given = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    missing = [p.name for p in given if p.default is p.empty][int(family.is_numbered) :]
    if missing:
        raise LanguageError(f"{place(family)} needs {one_of(missing)}; give every parameter a default")
    return tuple(parameter(p) for p in given if type(p.default) in ACCEPTS)


def parameter(given: inspect.Parameter) -> Parameter:
    choices = get_args(given.annotation) if get_origin(given.annotation) is Literal else ()
    texts = tuple(choice for choice in choices if isinstance(choice, str))
    return Parameter(given.name, given.default, one_of(texts) if texts else ACCEPTS[type(given.default)], texts)


def place(family: Family) -> str:
    return f"{family.function} of the package {family.package}, the language {family.pattern!r},"


def failure(family: Family, what: str, error: Exception) -> LanguageError:
    reason = " ".join(str(error).split())
    return LanguageError(f"{place(family)} {what} ({type(error).__name__}: {reason:.200}); mend or uninstall it")
