"""How large a construction is, before anything is built: widths, memory, and the refusal of what is too large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from languages.automata import MooreMachine
from languages.automata.monoid import TransitionMonoid
from languages.automata.pushdown import PushdownTransducer
from languages.context_free.nested import NestedTask
from languages.errors import AutomatonError, UserError, one_of
from languages.tasks import TreeTask
from regulargpt.construct import matrix, nested, one_hot
from regulargpt.construct.representation import Representation
from regulargpt.models.regulargpt.options import RegularGPTOptions

MAX_BYTES = 2 << 30
MAX_ELEMENTS = 2000  # M^2 paths of more are too many anyway
ROWS = 8192  # nodes that go through the block at once
MAX_CHUNK = 16  # along brackets, where the windows there are have to be followed

AnyMachine = MooreMachine | PushdownTransducer


@dataclass(frozen=True)
class Construction:
    """One representation: how many numbers and paths it takes, and how it is made."""

    sizes: Callable[[Any, int], tuple[int, int]]
    make: Callable[[Any, int], Representation]


def matrix_sizes(machine: MooreMachine, chunk_size: int) -> tuple[int, int]:
    """|Q|^2 numbers, |Q|^(C + 1) paths: sequences of C + 1 states."""
    return machine.n_states**2, machine.n_states ** (chunk_size + 1)


def one_hot_sizes(machine: MooreMachine, chunk_size: int) -> tuple[int, int]:
    """M numbers, M^C paths: tuples of C elements; of a monoid too large to count, at least so many."""
    try:
        size = TransitionMonoid.from_machine(machine, MAX_ELEMENTS).size
    except AutomatonError:
        size = MAX_ELEMENTS
    return size, size**chunk_size


REPRESENTATIONS = {
    "matrix": Construction(matrix_sizes, matrix.matrix),
    "one-hot": Construction(one_hot_sizes, one_hot.one_hot),
}
# Of machines with a stack, along brackets.
NESTED = {"one-hot": Construction(nested.sizes, nested.one_hot)}


def representations(machine: AnyMachine) -> dict[str, Construction]:
    """Those that there are of such a machine."""
    return REPRESENTATIONS if isinstance(machine, MooreMachine) else NESTED


def machine_of(task: TreeTask) -> AnyMachine:
    """The machine of which a construction is made: the smallest if any."""
    return task.machine if isinstance(task, NestedTask) else task.machine.minimise()


@dataclass(frozen=True)
class ConstructionPlan:
    """A construction's sizes.

    >>> import languages
    >>> plan(languages.get("parity").machine, 2, "matrix")
    ConstructionPlan(chunk_size=2, size=4, paths=8)
    """

    chunk_size: int
    size: int
    paths: int

    @property
    def d_model(self) -> int:
        return self.chunk_size * self.size

    @property
    def d_ff(self) -> int:
        return 2 * self.paths + self.d_model

    @property
    def bytes(self) -> int:
        """Of the block's weights and of its hidden units, before and after the ReLU, in float32."""
        return 4 * (4 * self.d_model**2 + 2 * self.d_model * self.d_ff + 2 * ROWS * self.d_ff)


def plan(machine: AnyMachine, chunk_size: int, representation: str) -> ConstructionPlan:
    return ConstructionPlan(chunk_size, *representations(machine)[representation].sizes(machine, chunk_size))


def smaller(task: TreeTask, chunk_size: int) -> str:
    """The representation that needs less memory.

    >>> import languages
    >>> smaller(languages.get("parity"), 2), smaller(languages.get("dyck-12"), 2)
    ('one-hot', 'matrix')
    """
    machine = machine_of(task)
    ways = list(representations(machine))
    return ways[0] if len(ways) == 1 else min(ways, key=lambda name: plan(machine, chunk_size, name).bytes)


def model_config(task: TreeTask, chunk_size: int, representation: str) -> RegularGPTOptions:
    """The model that holds the construction: post-LN, ReLU, no biases in attention, as the original code's block.

    Raises UserError for an unknown representation, or if the model would need more than 2 GiB.

    >>> import languages
    >>> found = model_config(languages.get("parity"), 2, "matrix")
    >>> found.d_model, found.n_heads, found.d_ff
    (8, 2, 24)
    """
    if representation not in REPRESENTATIONS:
        raise UserError(f"unknown representation '{representation}'; choose {one_of(REPRESENTATIONS)}")
    machine = machine_of(task)
    if isinstance(machine, PushdownTransducer):
        check_nested(task, chunk_size, representation)
    size = plan(machine, chunk_size, representation)
    if size.bytes > MAX_BYTES:
        more = " or more" * (size.paths == nested.MAX_PATHS)
        raise UserError(
            f"{task.name} as '{representation}' with chunk_size = {chunk_size} needs {gibibytes(size.bytes)}{more}, "
            f"at most 2 are taken; {remedy(machine, chunk_size, representation)}"
        )
    return RegularGPTOptions(
        name="regulargpt",
        d_model=size.d_model,
        n_heads=chunk_size,
        d_ff=size.d_ff,
        norm="post",
        activation="relu",
        chunk_size=chunk_size,
        attention_bias=False,
        state_norm=False,
        tree="nested" if isinstance(machine, PushdownTransducer) else "flat",
    )


def check_nested(task: TreeTask, chunk_size: int, representation: str) -> None:
    """Refuse what there is not along brackets."""
    if representation not in NESTED:
        raise UserError(f"{task.name} has brackets: there is no '{representation}' of it; choose {one_of(NESTED)}")
    if chunk_size > MAX_CHUNK:
        raise UserError(
            f"{task.name} with chunk_size = {chunk_size}: along brackets at most {MAX_CHUNK}; choose --chunk-size 2"
        )


def gibibytes(count: int) -> str:
    """Bytes for people; a count may be larger than any float.

    >>> gibibytes(3 << 29), gibibytes(2 << 10_000)
    ('1.5 GiB', 'over 1,000,000 GiB')
    """
    return f"{count / 2**30:.1f} GiB" if count < 10**6 << 30 else "over 1,000,000 GiB"


def remedy(machine: AnyMachine, chunk_size: int, representation: str) -> str:
    """What is small enough: the other representation, else a smaller chunk size, else nothing."""
    others = sorted(representations(machine), key=lambda name: name == representation)
    for C in range(chunk_size, 1, -1):
        for name in others:
            if plan(machine, C, name).bytes <= MAX_BYTES:
                smaller_chunk = "" if chunk_size == C else f" --chunk-size {C}"
                return f"choose --representation {name}{smaller_chunk}"
    return "no representation of it is small enough, train one with `regulargpt run`"
