"""A network is the same function on a GPU: losses and gradients agree with those of the CPU."""

import pytest
import torch

from experiments.gpu import NETWORKS, apart


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize(("language", "model"), NETWORKS)
def test_losses_and_gradients_are_those_of_the_cpu(language: str, model: str):
    assert apart(language, model, torch.device("cuda")) < 1e-9
