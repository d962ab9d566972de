"""Experiments run what they ran: a recipe that changes is written out in the experiments that relied on it.

`python -m tests.experiments.test_configs` writes the digests again, after a change that is meant.
"""

import json
from pathlib import Path

import pytest

from experiments.registry import EXPERIMENTS, experiment
from regulargpt.config.schema import value_of
from regulargpt.runs.sweep.names import name_of
from regulargpt.storage.manifest import digest

DIGESTS = Path(__file__).with_name("configs.json")
SAID = "other runs than before; write out in the experiment what it relied on, or renew configs.json"


def digest_of(name: str) -> str:
    """Of the names of all runs at scale cpu, each of which has a digest of its config."""
    return digest("\n".join(map(name_of, experiment(name).all_configs("cpu"))).encode())[:12]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_has_the_runs_that_it_had(name: str):
    assert json.loads(DIGESTS.read_text())[name] == digest_of(name), SAID


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_recurrent_networks_beside_nested_words_are_as_wide_as_they_were(name: str):
    for table in ("nested", "nested-random"):
        widths = {value_of(c, "model.d_model") for c in experiment(table).all_configs("cpu") if c.model.name == name}
        assert widths == {256}


if __name__ == "__main__":
    DIGESTS.write_text(json.dumps({name: digest_of(name) for name in EXPERIMENTS}, indent=0) + "\n")
