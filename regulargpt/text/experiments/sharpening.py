"""The temperature that a strategy finds for a trained run at a longer length, and the network with it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from regulargpt.config.schema import RunConfig
from regulargpt.storage.folder import RunFolder

if TYPE_CHECKING:
    from regulargpt.evaluation.temperature import Temperature
    from regulargpt.models.base import Model


@lru_cache(maxsize=64)
def temperature_at(folder: RunFolder, length: int, strategy: str) -> Temperature | None:
    """The temperature at a length; None without a strategy, and at the training length, where there is none.

    It is kept: the search reads the words of both lengths again and again. Raises UserError for a model without
    attention.
    """
    from regulargpt.text.measurements.alignment.setting import find, setting_of

    if not strategy or length <= RunConfig.parse(folder.config_text).data.train_len:
        return None
    return find(setting_of(folder, length), strategy)


def reader_at(folder: RunFolder, length: int, strategy: str) -> Model:
    """The network of a run, its attention divided by the temperature at a length."""
    from regulargpt.runs.load import load_reader

    model = load_reader(folder)
    if (temperature := temperature_at(folder, length, strategy)) is not None:
        temperature.set_on(model)
    return model
