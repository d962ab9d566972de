"""Networks with a stack of which it is known what they do: any pushdown transducer as weights of signs."""

import numpy as np
import torch

from regulargpt.models.stack_rnn.model import StackRnn


def network_of(machine, spare=0):
    """Weights of a network that does what a machine does; `spare` units more are always -1.

    Unit 0 is 1 from the first symbol on. Every other is 1 when one case (state, symbol, top) has just occurred, so the
    machine is in a state where a case that leads to it has. The first move has cases of its own: all units are 0 then.
    A pushed cell has a 1 at its symbol.
    """
    symbols, width = machine.n_symbols, max(len(machine.stack), 1)
    known = [(q, x, t) for q, x, t in np.argwhere(machine.table >= 0).tolist() if q < machine.n_states]
    cases = [(-1, x, t) for q, x, t in known if q == machine.initial_index and t == 0] + known
    target, action = ([array[q if q >= 0 else machine.initial_index, x, t] for q, x, t in cases]
                      for array in (machine.table, machine.actions))  # fmt: skip
    units = 1 + len(cases) + spare
    sizes = {"input": (units, symbols + width), "recurrent": (units, units), "push": (width, units)}
    sizes |= {"action": (3, units), "readout": (len(machine.output_names), units)}
    w, b = ({name: np.zeros(size[:n], np.float32) for name, size in sizes.items()} for n in (2, 1))
    b["input"][:] = -1
    b["input"][0] = 1
    for unit, (q, x, t) in enumerate(cases, 1):
        w["input"][unit, x] = 1
        w["input"][unit, symbols:] = -1 if t == 0 else np.eye(width)[t - 1]
        b["input"][unit] = -2.5 + (t == 0)
        into = [c for c, to in enumerate(target, 1) if to == q]
        w["recurrent"][unit, into] = 0.5
        w["recurrent"][unit, 0] = 0.5 * len(into) if q >= 0 else -1
        b["recurrent"][unit] = q < 0
        acts = action[unit - 1]
        w["action"][0 if acts >= 0 else 1 if acts == -2 else 2, unit] = 1
        if acts >= 0:
            w["push"][acts, unit] = 0.5
        if (output := machine.outputs[target[unit - 1]]) >= 0:
            w["readout"][output, unit] = 1
    for name in ("push", "action", "readout"):
        b[name] = w[name].sum(1)
    return {f"{name}.{kind}": array for kind, of in (("weight", w), ("bias", b)) for name, array in of.items()}


def run(weights, words, empty=0, direction=None):
    """The states (batch, length, units) and answers (batch, length) of a network, symbol by symbol in float32."""
    (w, b), found = ({name.split(".")[0]: a for name, a in weights.items() if name.endswith(kind)}
                     for kind in ("weight", "bias")), []  # fmt: skip
    for word in words:
        h, stack, seen = np.zeros(len(b["input"]), np.float32), [], []
        for x in word:
            read = stack[-1] if stack else np.full(len(b["push"]), empty, np.float32)
            z = np.concatenate([np.eye(w["input"].shape[1] - len(read), dtype=np.float32)[x], read])
            h = np.where(w["input"] @ z + b["input"] + w["recurrent"] @ h + b["recurrent"] >= 0, 1, -1)
            h = h.astype(np.float32)
            acts = (w["action"] @ h + b["action"]).argmax() if direction is None else {1: 0, -1: 1, 0: 2}[direction[x]]
            if acts == 0:
                stack.append(w["push"] @ h + b["push"])
            elif acts == 1 and stack:
                stack.pop()
            seen.append(h)
        found.append(seen)
    states = np.array(found)
    return states, (states @ w["readout"].T + b["readout"]).argmax(-1)


def model_of(weights, **options):
    """The network of these weights as torch has it."""
    width, units = weights["push.weight"].shape
    outputs, symbols = len(weights["readout.weight"]), weights["input.weight"].shape[1] - width
    model = StackRnn(symbols, outputs, d_model=units, stack_width=width, **options).eval()
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return model
