"""graph.json of a run's network: what is proven of a class from outside is proven of that."""

from regulargpt.data.language import LanguageData
from regulargpt.finite.chain import chain_of
from regulargpt.graph.export import export, text
from regulargpt.models.recurrent import Recurrent


def graph(model: Recurrent, words: LanguageData) -> bytes:
    """graph.json of a recurrent network. Raises UserError where it has none."""
    machine = words.finite.machine
    return text(export(chain_of(model, machine.n_symbols), machine.alphabet, machine.output_names))
