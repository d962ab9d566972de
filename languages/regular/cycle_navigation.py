"""Cycle Navigation: where on a cycle does a walk end?"""

from languages.automata import MooreMachine
from languages.budget import allowed, hint
from languages.errors import LanguageError
from languages.specification import spec
from languages.task import Task

MAX_SIZE = 1000


def cycle_navigation(size: int = 5) -> Task:
    """The position on a cycle of `size` after steps 0 = stay, 1 = one forward, 2 = one back, from position 0.

    The steps are encoded as in the thesis; the code of Deletang et al. and of RegularGPT has 0 = back, 1 =
    stay, 2 = forward: the same task with other names. All words of a length are equally likely.
    LanguageError: a size that is not in 2..1000.

    >>> cycle_navigation().machine.answers("010211", every=True).tolist()
    [0, 1, 1, 0, 1, 2]

    Source: thesis, section 6.4.1; Deletang et al. 2023, Cycle Navigation.
    """
    if not 2 <= size <= allowed(MAX_SIZE):
        most = f"{allowed(MAX_SIZE)} positions{hint(size, MAX_SIZE)}"
        raise LanguageError(f"cycle-navigation: size is {size}; a cycle has 2 to {most}")
    positions = tuple(str(position) for position in range(size))
    delta = tuple((p, (p + 1) % size, (p - 1) % size) for p in range(size))
    return Task(
        name=spec("cycle-navigation", {"size": (size, 5)}),
        machine=MooreMachine(positions, ("0", "1", "2"), delta, "0", tuple(range(size)), positions),
        summary=f"the position on a cycle of {size} after steps 0 stay, 1 forward, 2 back",
        source="thesis 6.4.1; Deletang et al. 2023 (Cycle Navigation)",
        examples=(("0", "0"), ("1", "1"), ("2", positions[-1]), ("010211", str(2 % size))),
    )
