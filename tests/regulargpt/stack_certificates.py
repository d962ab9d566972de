"""Networks with a stack that are made by hand, and certificates of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save

from regulargpt.certificate.checker.claims import stack_claim
from regulargpt.storage.manifest import digest

Record = dict[str, Any]
Weights = dict[str, np.ndarray]
NAMES = {"weights": "model.safetensors", "network": "config.json", "automaton": "automaton.json"}
OPTIONS: Record = {
    "name": "stack-rnn",
    "controller": "binary",
    "stacks": 1,
    "actions": "learned",
    "push": "linear",
    "empty": 0,
    "tests": "hard",
    "hardening": 1.0,
    "hardening_loss": 0.03,
    "hardening_growth": 1.005,
    "margin": 0.05,
}
PUSH, POP, NOOP = range(3)


def move(source: str, read: str, target: str, **does: Any) -> Record:
    """A move of automaton.json."""
    return {"from": source, "read": read, "to": target, **does}


REVERSE: Record = {
    "alphabet": ["0", "1", "_"],
    "initial": "read",
    "outputs": {"read": None, "said 0": "0", "said 1": "1"},
    "output_names": ["0", "1"],
    "moves": [
        *(move("read", x, "read", push=x) for x in "01"),
        *(move(q, "_", f"said {x}", tops=[x], pop=True) for q in ("read", "said 0", "said 1") for x in "01"),
    ],
}

BRACKETS: Record = {
    "alphabet": ["(", ")"],
    "initial": "balanced",
    "outputs": {"balanced": "accept", "open": "reject", "wrong": "reject"},
    "output_names": ["reject", "accept"],
    "moves": [
        move("balanced", "(", "open", push="first"),
        move("open", "(", "open", push="other"),
        move("open", ")", "open", tops=["other"], pop=True),
        move("open", ")", "balanced", tops=["first"], pop=True),
        move("balanced", ")", "wrong"),
        *(move("wrong", x, "wrong") for x in "()"),
    ],
}


def late_reverse() -> Record:
    """The same machine, but that a symbol is pushed when the next is read: its stack is one lower while it reads."""
    states, said = ("empty", "hold 0", "hold 1"), ("said 0", "said 1")
    return {
        **REVERSE,
        "initial": "empty",
        "outputs": {**dict.fromkeys(states), "said 0": "0", "said 1": "1"},
        "moves": [
            *(move("empty", x, f"hold {x}") for x in "01"),
            *(move(f"hold {y}", x, f"hold {x}", push=y) for x in "01" for y in "01"),
            *(move(f"hold {y}", "_", f"said {y}") for y in "01"),
            *(move(q, "_", f"said {x}", tops=[x], pop=True) for q in said for x in "01"),
        ],
    }


def reverse() -> Weights:
    """Reverse String in two units: whether a symbol was read that is not empty, and which, or which was popped.

    A cell is one number, -1 of the symbol 0 and 1 of 1. Each |u| is 1 or more, each gap of logits 2.
    """
    return {
        "input.weight": np.array([[1.0, 1, -1, 0], [-2, 2, 0, 1]]),
        "push.weight": np.array([[0.0, 1]]),
        "action.weight": np.array([[1.0, 0], [-1, 0], [0, 0]]),
        "action.bias": np.array([0.0, 0, -1]),
        "readout.weight": np.array([[0.0, -1], [0, 1]]),
    }


def brackets() -> Weights:
    """Dyck-1 at every prefix in four units: whether all is lost, a bracket opened, all closed, nothing was open.

    A cell is 1 of a bracket that opened at the bottom, else 2. Once all is lost nothing is pushed. Each |u| is 0.5 or
    more, each gap of logits 1.
    """
    return {
        "input.weight": np.array([[-1.0, 3, -3], [1, -1, 0], [-5, 1.5, -1], [0.5, 0.5, -1]]),
        "recurrent.weight": np.array([[2.0, 0, 0, 0], [0] * 4, [0] * 4, [0] * 4]),
        "push.weight": np.array([[0.0, 0, 0, -0.5]]),
        "push.bias": np.array([1.5]),
        "action.weight": np.array([[-1.0, 1, 0, 0], [-1, -1, 0, 0], [0] * 4]),
        "action.bias": np.array([0.0, 0, 1]),
        "readout.weight": np.array([[0.0] * 4, [-1, 0, 1, 0]]),
        "readout.bias": np.array([1.0, 0]),
    }


def completed(weights: Weights, automaton: Record, visible: bool = False) -> Weights:
    """The same with zeros for what is left out, in float32."""
    symbols, answers = len(automaton["alphabet"]), len(automaton["output_names"])
    H, width = weights["input.weight"].shape
    shapes = {"input": (H, width), "recurrent": (H, H), "push": (width - symbols, H), "readout": (answers, H)}
    shapes |= {} if visible else {"action": (3, H)}
    found: Weights = {}
    for name, shape in shapes.items():
        found[f"{name}.weight"], found[f"{name}.bias"] = np.zeros(shape), np.zeros(shape[0])
    return {name: weights.get(name, zeros).astype(np.float32) for name, zeros in found.items()}


def runs(weights: Weights, automaton: Record, word: Sequence[int]) -> tuple[list[str], list[str]] | None:
    """The answers of the machine and of the network along a word, where the machine has any; None without moves.

    As they are defined, in float32, with lists for stacks; the network's actions are learned.
    """
    state, symbols, stack = automaton["initial"], list[str | None](), list[np.ndarray]()
    h, found = np.zeros(weights["recurrent.bias"].shape, np.float32), ([], [])
    for x in word:
        top, read = symbols[-1] if symbols else None, automaton["alphabet"][x]
        fits = [one for one in automaton["moves"] if (one["from"], one["read"]) == (state, read) and at(one, top)]
        if not fits:
            return None
        state = fits[0]["to"]
        if "push" in fits[0]:
            symbols.append(fits[0]["push"])
        elif "pop" in fits[0]:
            symbols.pop()
        h = stepped(weights, h, x, stack)
        if (answer := automaton["outputs"][state]) is not None:
            found[0].append(answer)
            found[1].append(
                automaton["output_names"][int((weights["readout.weight"] @ h + weights["readout.bias"]).argmax())]
            )
    return found


def at(one: Record, top: str | None) -> bool:
    """Whether a move is possible with this on top."""
    return top in one["tops"] if "tops" in one else not (one.get("pop") and top is None)


def stepped(weights: Weights, h: np.ndarray, x: int, stack: list[np.ndarray]) -> np.ndarray:
    """The state after a symbol; the stack does what the network says."""
    width = len(weights["push.bias"])
    r = stack[-1] if stack else np.zeros(width, np.float32)
    z = np.concatenate([np.eye(weights["input.weight"].shape[1] - width, dtype=np.float32)[x], r])
    u = (
        weights["input.weight"] @ z
        + weights["input.bias"]
        + weights["recurrent.weight"] @ h
        + weights["recurrent.bias"]
    )
    h = np.where(u >= 0, 1, -1).astype(np.float32)
    action = int((weights["action.weight"] @ h + weights["action.bias"]).argmax())
    if action == PUSH:
        stack.append(weights["push.weight"] @ h + weights["push.bias"])
    elif action == POP and stack:
        stack.pop()
    return h


def files(
    weights: Weights, automaton: Record, lag: int = 0, direction: list[int] | None = None, **options: Any
) -> tuple[bytes, dict[str, bytes]]:
    """A certificate and what it is about."""
    whole = completed(weights, automaton, direction is not None)
    model = OPTIONS | {"d_model": whole["recurrent.bias"].shape[0], "stack_width": whole["push.bias"].shape[0]}
    model |= {"actions": "learned" if direction is None else "visible"} | options
    config = {
        "model": model,
        "n_symbols": len(automaton["alphabet"]),
        "n_outputs": len(automaton["output_names"]),
        "alphabet": automaton["alphabet"],
        "output_names": automaton["output_names"],
        **({} if direction is None else {"direction": direction}),
        "supervision": "transduction",
    }
    made = {"weights": save(whole), "network": json.dumps(config).encode(), "automaton": json.dumps(automaton).encode()}
    return certificate(made, lag), made


def certificate(made: Mapping[str, bytes], lag: int) -> bytes:
    """The certificate of these files."""
    record = {
        "format": "regulargpt certificate 3",
        "kind": "stack",
        "claim": stack_claim(),
        **{name: {"file": NAMES[name], "sha256": digest(data)} for name, data in made.items()},
        "lag": lag,
    }
    return json.dumps(record).encode()


def written(folder: Path, text: bytes, made: Mapping[str, bytes]) -> Path:
    """All of it in a folder."""
    for name, data in made.items():
        (folder / NAMES[name]).write_bytes(data)
    (folder / "certificate.json").write_bytes(text)
    return folder
