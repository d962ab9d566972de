"""The machine of a stack network, its states merged, and the network itself beside the float64 one."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from regulargpt.certificate.stack.search import attempt, network_of
from regulargpt.extraction.stack import extraction_of
from regulargpt.finite.stack_product import Proven, StackProduct, Transducer, Wrong
from tests.regulargpt import stack_networks
from tests.regulargpt.test_stack_product import WORDS, cases, late, machine_of, outputs


@settings(max_examples=25)
@given(cases(True), outputs, st.integers(0, 2), st.integers(0, 2**32 - 1))
def test_the_machine_of_a_network_is_the_network(moves, names, times, seed):
    """Merged states answer as before; a network of a machine made late is merged to about its size."""
    reference, random = machine_of(moves, names, False), np.random.default_rng(seed)
    machine = reference
    for _ in range(times):
        machine = late(machine)
    weights = stack_networks.network_of(machine)
    if seed % 2:
        name = ("readout.weight", "action.weight", "push.weight")[seed % 3]
        weights[name] = weights[name] * np.where(random.random(weights[name].shape) < 0.05, -1, 1).astype(np.float32)
    model = stack_networks.model_of(weights)
    found = attempt(model, reference, limit=5000)
    if found.product.doubt is not None or not isinstance(found.verdict, Proven | Wrong):
        return
    again = StackProduct(found.network, reference, wanted=0, limit=20_000)
    again.run()
    if again.doubt is not None:
        return
    extracted = extraction_of(model, reference)
    same = StackProduct(Transducer(extracted.machine, reference), reference).run()
    assert type(same) is type(found.verdict)
    assert extracted.machine.n_states <= 1 + extracted.states
    asked = reference.answers(WORDS[4], every=True) >= 0
    with torch.no_grad():
        given = model(torch.tensor(WORDS[4]), readout="all").argmax(-1).numpy()
    assert (extracted.machine.answers(WORDS[4], every=True) == given)[asked].all()


def test_states_that_only_the_past_tells_apart_are_merged():
    """A network with a state for each case of a machine has as few states as the machine, merged."""
    moves = [("q" if i % 2 else "p", (0, 2, 3)[i % 3]) for i in range(18)]
    machine = machine_of(moves, ("no", "yes", "yes"), False)
    extracted = extraction_of(stack_networks.model_of(stack_networks.network_of(machine)), machine)
    assert extracted.states > extracted.machine.n_states
    assert extracted.machine.n_states <= machine.n_states
    assert extracted.word is None


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_machine_in_float64_goes_as_the_model_goes(seed, visible):
    """States, actions and answers of random networks, along random words."""
    from regulargpt.models.stack_rnn.model import StackRnn

    options = {"actions": "visible"} if visible else {}
    model = StackRnn(
        3, 2, d_model=12, stack_width=4, empty=-(seed % 2), generator=torch.Generator().manual_seed(seed), **options
    )
    if visible:
        model.follow([1, -1, 0])
    words, network = np.random.default_rng(seed).integers(3, size=(8, 30)), network_of(model.eval())
    with torch.no_grad():
        given = model(torch.tensor(words), readout="all").argmax(-1)
    for word, answers in zip(words.tolist(), given.tolist(), strict=True):
        state, stack = network.start, [-1]
        for x, answer in zip(word, answers, strict=True):
            [(state, action)] = network.moves([(state, x, stack[-1])])
            stack = [*stack, action] if action >= 0 else stack[:-1] if action == -2 and len(stack) > 1 else stack
            assert network.answer(state) == answer
