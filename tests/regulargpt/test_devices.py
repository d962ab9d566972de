"""A network is the same function on a GPU: losses and gradients agree with those of the CPU."""

import pytest
import torch

from regulargpt import data, objectives
from regulargpt.config.recipes import resolve
from regulargpt.runs.run import first_model

CPU, GPU = torch.device("cpu"), torch.device("cuda")
NETWORKS = [
    *((language, model) for language in ("parity", "brackets-2", "formula") for model in ("regulargpt", "ldru")),
    *(("brackets-2", f"regulargpt:chunk_size=3,gates={gates}") for gates in ("true", "false")),
    *(("dyck-2", model) for model in ("rnn", "lstm", "gru", "linear-rnn", "transformer", "stack-rnn", "tape-rnn")),
]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize(("language", "model"), NETWORKS)
def test_losses_and_gradients_are_those_of_the_cpu(language: str, model: str):
    config = resolve("answers", model, language, {"model.d_model": 16})
    words = data.build(config.data)
    goal = objectives.build(config.objective, words)
    batch = words.batch(0, "test", 0, [24], 16)
    found = []
    for device in (CPU, GPU):
        # Without dropout, which differs; cuDNN's recurrent layers then have no gradients, so torch's own are used.
        network = first_model(config, words, goal, CPU).double().to(device).eval()
        with torch.backends.cudnn.flags(enabled=False):
            loss, _ = goal.loss(network, batch, device)
            loss.backward()
        found.append([loss, *(p.grad for p in network.parameters() if p.grad is not None)])
    assert len(found[0]) == len(found[1]) > 2
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(here.detach(), there.detach().cpu(), rtol=1e-9, atol=1e-11)
