"""The options of stack-rnn. Never imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from regulargpt.models.options import ModelOptions, Noise
from regulargpt.options import option, share

WHILE_TRAINING = ("hardening", "hardening_loss", "hardening_growth")

# What a network has that the proof is about, and what others have in place of it.
PROVEN = {
    "controller": ("binary", "has no end of states"),
    "tests": ("hard", "takes soft actions, which leak"),
    "stacks": (1, "is more than one machine with a stack can follow"),
    "push": ("linear", "is pushed through a sigmoid"),
}


@dataclass(frozen=True)
class StackRnnOptions(ModelOptions):
    """stack-rnn.

    >>> StackRnnOptions("stack-rnn").label, StackRnnOptions("stack-rnn", controller="lstm", actions="visible").label
    ('stack-rnn', 'stack-rnn-lstm-visible')
    """

    controller: Literal["binary", "elman-relu", "tanh", "lstm"] = option("binary", "What the controller's units are.")
    d_model: int = option(
        64, "Units of the controller.", least=1, most=65_536, why="a controller has at least 1 unit", flag="--d-model"
    )
    stack_width: int = option(8, "Numbers in a cell.", least=1, most=65_536, why="a cell has at least 1 number")
    stacks: int = option(1, "Stacks.", least=1, most=1024, why="there is at least 1 stack")
    actions: Literal["learned", "visible"] = option("learned", "Whether the controller acts, or brackets do.")
    push: Literal["linear", "sigmoid"] = option("linear", "What is pushed: a linear map, or its sigmoid.")
    empty: int = option(0, "What an empty cell reads: 0, or -1.", least=-1, most=0, why="it is 0 or -1")
    tests: Literal["hard", "superposition"] = option(
        "hard", "Tests take the likeliest action, or all in superposition as training does.", at_test=True
    )
    hardening: float = share(0.0, "How far training brings soft actions and units towards hard ones.")
    hardening_loss: float = option(
        0.0,
        "It grows while the running loss is below; 0: at once.",
        least=0,
        needs="hardening",
        why="a loss is not negative",
    )
    hardening_growth: float = option(
        1.005,
        "Factor a step by which it grows.",
        least=1,
        most=1_000_000,
        needs="hardening_loss",
        why="hardening is multiplied by it as it grows: give 1 or more",
    )
    margin: float = option(
        0.05, "While training hardens, binary units are kept so far from 0.", least=0, why="a distance is not negative"
    )

    def arguments(self) -> dict[str, Any]:
        """How hard actions are, the training decides."""
        return {key: value for key, value in super().arguments().items() if key not in WHILE_TRAINING}

    @property
    def label(self) -> str:
        """With the controller and actions that are not the usual ones."""
        usual = StackRnnOptions(self.name)
        own = [getattr(self, key) for key in ("controller", "actions") if getattr(self, key) != getattr(usual, key)]
        return "-".join([self.name, *own])

    @property
    def noise(self) -> Noise:
        """How far it hardens."""
        return Noise(self.hardening, self.hardening_loss, self.hardening_growth)

    @property
    def follows_brackets(self) -> bool:
        """Whether brackets push and pop."""
        return self.actions == "visible"

    @property
    def has_stacks(self) -> bool:
        return True

    def why_no_stack_proof(self) -> str | None:
        """It has finitely many states and one stack, whose cells are what a state pushed.

        >>> StackRnnOptions("stack-rnn", controller="lstm").why_no_stack_proof()
        "model.controller = 'lstm' has no end of states; a proof needs 'binary'"
        """
        for key, (needed, why) in PROVEN.items():
            if (value := getattr(self, key)) != needed:
                return f"model.{key} = {value!r} {why}; a proof needs {needed!r}"
        return None

    def parameters(self) -> int:
        """Those that grow with the square of the width."""
        return (
            (4 if self.controller == "lstm" else 1) * self.d_model * (self.d_model + 2 * self.stacks * self.stack_width)
        )
