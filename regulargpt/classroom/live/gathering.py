"""What a page needs of a run to compute its network, and what is found of that network in advance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

import languages
from languages.automata import MooreMachine
from languages.tasks import TreeTask, tree_task
from regulargpt.classroom.live.network import LiveNetwork, not_computed
from regulargpt.classroom.live.snapshots import KeptSnapshots, gather_snapshots
from regulargpt.classroom.live.state_map import StateMap, node_map, prefix_map
from regulargpt.classroom.live.states import Prototypes, mean_states, nested_mean_states
from regulargpt.classroom.live.wrong_words import Answers, Words, WrongWords, search
from regulargpt.classroom.nested import Machine
from regulargpt.config.recipes import CONSTRUCTED
from regulargpt.config.schema import RunConfig
from regulargpt.findings.markup import by_element
from regulargpt.models import MODELS
from regulargpt.storage.folder import WEIGHTS, RunFolder
from regulargpt.storage.tensors import parse_arrays

if TYPE_CHECKING:
    from regulargpt.models.base import Model
    from regulargpt.models.tree.base import Tree

DOCUMENTS = "No word can be typed for this network: it reads documents with questions, not words of a language."
RESTRICTED = "This page does not compute the network: it was tested with attention that sees a part of the word."
NO_LANGUAGE = "This page does not compute the network: its language is not found here, or its file has changed."


@dataclass(frozen=True)
class Live:
    """A network in the page: `reason` says why there is none. `wrong` is None where none is looked for.

    Nobody trained a network that `is_constructed`: the numbers behind its answers do not say how sure it is.
    """

    network: LiveNetwork | None = None
    reason: str = ""
    output_names: tuple[str, ...] = ()
    wrong: WrongWords | None = None
    prototypes: Prototypes | None = None
    map: StateMap | None = None
    snapshots: KeptSnapshots = field(default_factory=KeptSnapshots)
    is_constructed: bool = False

    def data(self) -> dict[str, Any] | None:
        """JSON values for the script."""
        if self.network is None:
            return None
        prototypes = self.prototypes and self.prototypes.data()
        values = {**self.network.data(), "output_names": list(self.output_names), "prototypes": prototypes}
        where = self.map and self.map.data() | {"colours": self.colours()}
        return values | {"map": where, "snapshots": self.snapshots.data(), "is_constructed": self.is_constructed}

    def colours(self) -> list[tuple[str, str]]:
        """Colour and ink of each anchor of the map: by monoid element, or by state of the automaton."""
        assert self.map is not None
        stand_for = [[number] for number in self.map.numbers] if self.prototypes is None else self.prototypes.elements
        return by_element(stand_for)


def gather(
    folder: RunFolder, config: RunConfig, machine: Machine | None, known: Prototypes | None, *, is_proven: bool
) -> Live:
    """The network of a finished run.

    `known` are the prototypes of a certificate. Where the network as it is `is_proven`, there is no wrong word to look
    for, and torch is not needed but for the states of a recurrent network.
    """
    if config.objective.reading is None:
        return Live(reason=DOCUMENTS)
    if machine is None:
        return Live(reason=NO_LANGUAGE)
    if config.evaluation.attention != "full":
        return Live(reason=RESTRICTED)
    record = folder.load_model_config()
    options = MODELS.options(record["model"], "model")
    weights = parse_arrays(folder.final_bytes(WEIGHTS), folder.path / WEIGHTS)
    if (reason := not_computed(options, weights)) is not None:
        return Live(reason=reason)
    # Where there are more symbols than the language has, the last is the token at which the answer is read.
    token = machine.n_symbols if record["n_symbols"] > machine.n_symbols else None
    network = LiveNetwork(
        options,
        record["n_symbols"],
        record["n_outputs"],
        weights,
        config.objective.reading,
        token,
        record.get("direction"),
    )
    live = Live(
        network,
        output_names=tuple(record["output_names"]),
        prototypes=known,
        map=known and node_map(known),
        snapshots=gather_snapshots(folder, weights),
        is_constructed=config.recipe in CONSTRUCTED,
    )
    if is_proven and not config.model.carries_state:
        return live
    return looked_into(live, folder, config, machine, is_proven=is_proven)


def looked_into(live: Live, folder: RunFolder, config: RunConfig, machine: Machine, *, is_proven: bool) -> Live:
    """With what torch finds: wrong words and, without prototypes, the mean states of a tree or of prefixes."""
    from regulargpt.models.tree.base import Tree
    from regulargpt.runs.load import load_reader

    assert live.network is not None
    model, task = load_reader(folder), tree_task(languages.find(config.data.name))
    answers = answers_of(model, live.network, machine, live.output_names)
    wrong = None if is_proven else search(answers, machine, task, config.seed, config.model.too_long)
    prototypes, is_one_map = live.prototypes, config.model.why_no_certificate() is None
    if prototypes is None and isinstance(model, Tree) and (model.direction is not None or is_one_map):
        prototypes = mean_states_of(model, machine, task, config.data.train_len, config.seed)
    if prototypes is not None:
        return replace(live, wrong=wrong, prototypes=prototypes, map=node_map(prototypes))
    map_of_states = prefix_map(model, machine, task, config.data.train_len, config.seed, live.network.token)
    return replace(live, wrong=wrong, map=map_of_states)


def mean_states_of(model: Tree, machine: Machine, task: TreeTask, train_len: int, seed: int) -> Prototypes | None:
    """The mean states of the elements; None for a tree that cuts brackets apart, whose nodes have none."""
    if isinstance(machine, MooreMachine):
        return mean_states(model, machine, task, train_len, seed)
    return None if model.direction is None else nested_mean_states(model, machine, task, train_len, seed)


def answers_of(
    model: Model, network: LiveNetwork, machine: Machine, output_names: tuple[str, ...]
) -> Callable[[Words], Answers]:
    """The network's answers to words of one length, as the machine numbers them; -2 for one that it does not have."""
    import torch

    names = list(machine.output_names)
    number = np.array([names.index(name) if name in names else -2 for name in output_names])

    def answers(words: Words) -> Answers:
        symbols = words if network.token is None else np.pad(words, [(0, 0), (0, 1)], constant_values=network.token)
        with torch.no_grad():
            logits = model(torch.from_numpy(symbols.astype(np.int64)))  # (words, n_outputs)
        chosen = logits.argmax(-1) if network.reading == "largest" else (logits[:, -1] > 0).long()
        return number[chosen.numpy()]

    return answers
