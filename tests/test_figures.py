"""What README and guides say in numbers of results: each sentence is made here, of all rows of the file behind it."""

import csv
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from experiments.atlas import columns
from experiments.atlas.two_states import two_state_dfas
from experiments.chains import TITLES as CHAINS
from experiments.hierarchy import LANGUAGES as HIERARCHY_LANGUAGES
from experiments.nested.table import NESTED, RANDOM
from experiments.random_dfas import seconds
from experiments.recorded import DONE, FILE, STOPPED, RecordedRun, read
from experiments.registry import experiment
from experiments.results_page import HIERARCHY, LINK, RECOGNISERS, RESULTS, TREES, cells, page
from experiments.rivals import NETWORKS as RIVALS
from experiments.rivals import TASKS
from regulargpt.cli import call
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.tables import percent
from regulargpt.text.evaluation.methods import METHODS

ROOT = Path(__file__).parents[1]
README = "README.md"
TABLE_6_1 = experiment("table-6.1")
ENCODED = ("encodings-languages-cpu", "encodings-languages-2-cpu")
# Of words that count: a sentence with one of them says something of all rows.
COUNTS = re.compile(
    r"\b(all|each|every|none|both|only|never|no|\d+|one|two|three|four|five|six|seven|eight|nine|ten)\b"
)


def lines(*place: str) -> list[dict[str, str]]:
    """All rows of a CSV file of results."""
    with (RESULTS.joinpath(*place)).open(encoding="utf-8") as file:
        return [*csv.DictReader(file)]


def numbers(rows: Sequence[Mapping[str, str]], key: str) -> list[float]:
    return sorted(float(row[key]) for row in rows if row[key])


def runs_of(name: str) -> list[RecordedRun]:
    """All lines of a table of scores."""
    return read(RESULTS / name / FILE)


def trees(name: str) -> list[RecordedRun]:
    """The runs of trees along brackets that had begun, whatever became of them."""
    return [run for run in runs_of(name) if run.runs in NESTED and run.state in (DONE, STOPPED)]


def done(runs: Sequence[RecordedRun]) -> list[RecordedRun]:
    return [run for run in runs if run.state == DONE]


def of_test(runs: Sequence[RecordedRun], begins: str) -> list[float]:
    """The scores of the test whose name begins so, ascending."""
    tests = (test for run in runs for name, test in run.tests.items() if name.startswith(begins))
    return sorted(score for test in tests for score in test.scores)


def known(values: Iterable[float | None]) -> list[float]:
    return sorted(value for value in values if value is not None)


def brackets() -> Iterator[tuple[str, str]]:
    """All languages with brackets, also those on which no training has ended; and all random machines."""
    every, random = done(trees("nested-cpu")), trees("nested-random-cpu")
    languages = {row for run in runs_of("nested-cpu") for row in run.rows}
    on, took = len({run.rows for run in every}), known(run.train_seconds for run in every)
    drawn = done(random)
    proven, among_drawn = ([run for run in some if run.proven] for some in (every, drawn))
    yield (
        README,
        f"{len(proven)} of {len(every)} finished trees, on {on} of {len(languages)} languages, are "
        f"proven, at every length and depth, after {took[0]:.0f} to {took[-1]:.0f} seconds; on random machines "
        f"{len(among_drawn)} of {len(drawn)}.",
    )
    as_it_is = sum(run.as_it_is for run in every)
    yield "results.md", f"{len(every)} trees along brackets came to an end, on {on} of the {len(languages)} languages."
    yield (
        "results.md",
        f"All {len(proven)} are proven, {as_it_is} of them as they are, and have 100 % at every length",
    )
    assert {test.worst for run in every for test in run.tests.values()} == {100.0}
    proofs, labels = known(run.certify_seconds for run in every), {run.labels for run in every}
    yield (
        "results.md",
        f"Training took {took[0]:.0f} to {took[-1]:.0f} s, and their proof at most {-(-proofs[-1] // 1):.0f} s.",
    )
    assert {8_994, 654_434, 670_214} <= labels
    assert known(labels)[-1] == 670_214
    yield "results.md", f"{len(trees('nested-cpu')) - len(every)} trees were stopped before they were done."
    stopped = known(run.steps[-1] for run in random if run.runs == "gated" and run not in drawn)
    assert (len(drawn), len(among_drawn), len(RANDOM)) == (12, 6, 20)
    yield (
        "results.md",
        (
            f"Of the twenty random machines twelve had all their steps or an end of their own, with gates: six are "
            f"proven after at most {max(run.steps[-1] for run in among_drawn):,.0f} steps, six are not, though two of "
            "these have 100 %"
        ),
    )
    others = [value for value in known(r.tests[""].scores[0] for r in drawn if not r.proven) if value < 100]
    assert len(others) == 4
    yield "results.md", f"and the others {percent(others[0])} to {percent(others[-1])} %."
    assert len(stopped) == 3
    yield (
        "results.md",
        f"Three were stopped at {stopped[0]:,.0f} to {stopped[-1]:,.0f} of 8,000 steps, and five did not begin.",
    )
    assert len(RANDOM) - len({run.rows for run in random}) == 5
    rivals = [run for run in runs_of("nested-cpu") if run.runs not in NESTED]
    best = percent(max(run.tests[""].scores[0] for run in done(rivals)))
    long, deep = (percent(of_test(rivals, begins)[-1]) for begins in ("at ", "deep"))
    at = f"at most {long} % at 10,000 symbols and {deep} % at 1,000 deep."
    yield "results.md", f"Rivals have {best} % at best (LSTM, `document`), {at}"
    assert not of_test([run for run in rivals if run.runs == "transformer"], "at ")
    yield "results.md", "The Transformer was not tested at 10,000 symbols."
    assert all(of_test([run], "at ") and of_test([run], "deep") for run in every)
    assert {run.rows[0] for run in random if run.device == "1 of 16 cores"} == {"random-0", "random-1"}
    yield "results.md", "random-0 and random-1 had begun on the first machine."
    kept = [line["kept"] for line in lines("..", "nested", "machines", "tried.csv")]
    yield "results.md", f"of {len(kept)} numbers {kept.count('no')} were skipped"


def stacks() -> Iterator[tuple[str, str]]:
    """All languages with a run that is done."""
    found = {row: cell for (row, column), cell in cells("hierarchy-cpu").items() if column == "proven-binary"}
    each = [(row, cell["group"]["n_proven"], cell["done"]) for row, cell in found.items() if cell["done"]]
    text = ", ".join(f"`{row}` {n_proven} of {runs}" for row, n_proven, runs in each)
    yield README, f"proven on {text}."
    yield "hierarchy.md", f"Networks are proven on {text}."
    lacking = " and ".join(f"`{row}`" for row in HIERARCHY_LANGUAGES if row not in {row for row, *_ in each})
    assert lacking
    yield "results.md", f"{lacking} have no run here yet; one of the first is [below]"


def recurrences() -> Iterator[tuple[str, str]]:
    """All languages, also those that are not learned."""
    found = {place: cell for place, cell in cells("chains-cpu").items() if place[1] in CHAINS}
    networks, languages = sum(cell["done"] for cell in found.values()), {row for row, _ in found}
    as_it_is, either = (sum(cell["group"][key] for cell in found.values()) for key in ("n_as_it_is", "n_proven"))
    yield README, f"of {networks} (tanh RNN, GRU, LSTM; {len(languages)} languages) {as_it_is} are proven as they are."
    yield (
        "results.md",
        (
            f"Of {networks} networks on {len(languages)} languages {as_it_is} are proven as they are, "
            f"{either - as_it_is} with points alone, {networks - either} are not."
        ),
    )
    without = {row: sum(found[row, name]["group"]["n_proven"] for name in CHAINS) for row in languages}
    never = {row for row, count in without.items() if not count}
    assert never == {"dyck-12", "symmetric-5"}
    assert all(found[row, name]["steps"] == [6_000, 6_000] for row in never for name in CHAINS)
    rest = [(place, cell["done"] - cell["group"]["n_proven"]) for place, cell in found.items() if place[0] not in never]
    assert [place for place, lacks in rest if lacks] == [("cycle-navigation", "rnn"), ("tomita-5", "rnn")]
    assert sum(lacks for _, lacks in rest) == 2
    yield "results.md", "Beside those on `dyck-12` and `symmetric-5` two have no proof, both tanh RNNs"


def small_languages() -> Iterator[tuple[str, str]]:
    """The atlas: every language, every run."""
    rows = columns.read(RESULTS / "atlas" / columns.FILE)
    states = {row["language"]: row["states"] for row in rows}
    assert sum(count == 2 for count in states.values()) == len(two_state_dfas())
    drawn = [count for count in states.values() if count != 2]
    assert (min(drawn), max(drawn)) == (3, 6)
    yield README, "An atlas: all automata of two states over two letters, random ones of three to six."
    assert len({(row["language"], row["network"]) for row in rows}) == len(rows)
    yield README, "Each network was trained once; so few steps refute none."
    hours = sum(row["seconds"] for row in rows) / 3600
    yield "results.md", f"{len(rows):,} runs took {hours:.1f} hours of a core"
    yield (
        "results.md",
        f"{len(states)} languages: the {len(two_state_dfas())} minimal automata of two states, and {len(drawn)} drawn",
    )


def further() -> Iterator[tuple[str, str]]:
    """Other tables, each over all of its rows."""
    yield "results.md", f"Seed 0 of all {len(of_tasks())} cells"
    fewest, *_, largest = sorted(network.steps for network in RIVALS.values())
    yield "models.md", f"at most {fewest:,} to {largest:,} steps"
    yield "results.md", f"some minutes of one core, at most {fewest:,} to {largest:,}, by network:"
    with_three = [cell["group"] for (_, column), cell in cells("table-6.1-cpu").items() if column == "certified-C3"]
    asked = [group for group in with_three if group and group["n_asked"]]
    assert {(group["n_proven"], group["n_runs"]) for group in asked} == {(3, 3)}
    assert len(asked) == 10
    yield "results.md", "With C = 3 all ten languages that were asked are proven, 3 of 3 each."
    others = {row["language"] for row in lines("others", "results.csv") if row["phases.table_fine_tuning.lr"]}
    yield "results.md", f"{len(others)} [others]"
    took = sorted(seconds({**row}) for row in lines("random-dfas", "one-core.csv"))
    yield (
        "results.md",
        f"{sum(s <= 40 for s in took)} of {len(took)} take at most 40 s, and one takes {took[-1]:.0f} s.",
    )
    yield README, f"Transformers with {len([*ENCODINGS])} position encodings"
    least, *_, most = numbers(lines("random-dfas", "random-dfas.csv"), "slack")
    yield "certificate.md", f"automata](../experiments/results/random-dfas) is {least:.2g} to {most:.2g}."


def most(name: str, *columns: str) -> int:
    """The most steps that a run of these columns of a page took; of five cells of Table 6.1 they were not kept."""
    return max(cell["steps"][-1] for (_, column), cell in cells(name).items() if column in columns and cell["steps"])


def budgets() -> Iterator[tuple[str, str]]:
    """How many steps the columns of a table took, wherever they took different ones."""
    steps = [most("table-6.1-cpu", name) for name in ("rnn", "transformer", "words-C2", "certified-C2")]
    said = "At most, the RNN took {:,} steps, the Transformer {:,}, `words` {:,}, `certified` {:,}:".format(*steps)
    yield "results.md", said
    steps = [most("ldru-2026-cpu", name) for name in ("ldru", "gated-regulargpt", "rnn", "lstm")]
    yield (
        "results.md",
        "At most, `ldru` took {:,} steps, gated RegularGPT {:,}, the RNN {:,} and the LSTM {:,}:".format(*steps),
    )
    steps = [most("deletang-2023-cpu", name) for name in (*HIERARCHY, "rnn")]
    assert steps[0] == steps[1]
    yield (
        "results.md",
        "the RNN and the LSTM have at most {:,}, Stack-RNN {:,}, Tape-RNN {:,}, the Transformer {:,}, RegularGPT {:,}, "
        "along brackets {:,}, and `stack-rnn, signs` {:,}:".format(*steps[1:-1]),
    )
    steps = [most("flare-2025-cpu", name) for name in RECOGNISERS]
    assert steps[1] == steps[2]
    yield "results.md", "at most {:,} steps of a Transformer, {:,} of an RNN or LSTM, and one seed;".format(*steps)
    seeds = {cell["done"] for (_, column), cell in cells("flare-2025-cpu").items() if column == "stack-rnn"}
    assert seeds == {0, 3}
    yield "results.md", f"`stack-rnn, signs` has {steps[3]:,} and three seeds."
    most_of = {row: 0 for row, _ in cells("encodings-languages-cpu")}
    for name in ENCODED:
        for (row, _), cell in cells(name).items():
            most_of[row] = max(most_of[row], *(cell["steps"] or [0]))
    rnn, regulargpt = most_of.pop("rnn"), most_of.pop("regulargpt")
    assert set(most_of.values()) - {0} == {1_500}
    yield (
        "results.md",
        f"Transformers, `lstm` and `linear-rnn` took 1,500 steps, `rnn` {rnn:,}, `regulargpt` {regulargpt:,}:",
    )
    first, second = ({row for (row, _), cell in cells(name).items() if cell["done"]} for name in ENCODED)
    assert (len(second - first), first & second) == (10, {"ssmax:inner=rotary"})
    yield "results.md", "has ten more encodings and `ssmax:inner=rotary` once more."
    published = [cell for (_, column), cell in cells("table-6.1-cpu").items() if column.startswith("regulargpt-")]
    assert sum(cell["published"]["mean"] > cell["ours"]["max"] for cell in published) == 5
    yield "results.md", "In five cells of the recipe `paper` all runs are below the published mean."
    steps = {run.training.steps for row in TABLE_6_1.rows for run in TABLE_6_1.configs(row, "regulargpt-C2", "cpu")}
    yield "results.md", f"at most {min(steps):,} to {max(steps):,} of the 100,000 published steps."


def shortfalls() -> Iterator[tuple[str, str]]:
    """Where something was not reached: all cells, all rows, also those that a table leaves out."""
    table = cells("table-6.1-cpu")
    for size in (2, 3):
        low = {row for (row, of), cell in table.items() if of == f"words-C{size}" and cell["ours"]["mean"] < 99.9}
        low |= {row for (row, of), cell in table.items() if of == f"words-hard-C{size}" and cell["ours"]["mean"] < 99.5}
        assert low == {"modular-arithmetic", *(f"dyck-{n}" for n in (2, 3, 4, 12)), "tomita-3", "tomita-4"}
    yield "results.md", "with C = 2 as with C = 3, on Modular Arithmetic, on all D_n and on Tomita 3 and 4;"
    asked = {row: cell["group"] for (row, of), cell in table.items() if of == "certified-C2"}
    assert {row: (one["n_proven"], one["n_asked"]) for row, one in asked.items() if one["n_proven"] < 3} == {
        "dyck-12": (0, 3)
    }
    yield (
        "results.md",
        f"Of `dyck-12` a proof was tried too: in {table['dyck-12', 'certified-C2']['steps'][-1]:,} steps none of its "
        "three networks came to one.",
    )
    certified = {row for row, one in asked.items() if one["n_proven"] == 3}
    assert {table[row, "hard-certified-C2"]["group"]["min"] for row in certified} == {100}
    longest = lines("certified-C2-at-1000000", "results.csv")
    assert {(line["length"], line["samples"], line["accuracy"]) for line in longest} == {("1000000", "33", "100.0")}
    assert len(longest) == 3 * len(certified)
    yield "results.md", "All eleven languages have 100 % at 10,000 symbols, and unquantised on 33 words of 1,000,000"
    single = lines("single", "results.csv")
    twos, threes = ([line for line in single if line["chunk_size"] == size] for size in "23")
    assert {line["accuracy"] for line in twos} == {"100.0"}
    assert {key: len({line["run"] for line in some}) for key, some in (("2", twos), ("3", threes))} == {"2": 9, "3": 3}
    yield "results.md", f"have 100 % at 41..500, 10,000 and 1,000,000 ([accuracies]({LINK}/single/results.csv))."
    assert not numbers(single, "steps") + numbers(single, "train_seconds")
    wrong = [line for line in threes if line["length"] == "1000000" and line["accuracy"] != "100.0"]
    assert {line["language"] for line in threes if line["accuracy"] != "100.0"} == {"cycle-navigation"}
    yield (
        "results.md",
        "With C = 3, one seed each, Parity and Even Pairs have 100 % there, Cycle Navigation "
        f"{percent(float(wrong[0]['accuracy']))} % at 1,000,000. Steps and seconds were not kept.",
    )
    few = {place: cell["done"] for place, cell in cells("answers-cpu").items() if cell["done"] and place[1] in TREES}
    assert {place: seeds for place, seeds in few.items() if seeds < 3} == {
        ("modular-arithmetic", "gated-C3"): 1,
        ("modular-arithmetic", "regulargpt-C3"): 2,
        ("dyck-12", "gated-C2"): 1,
    }
    yield "results.md", "With C = 3 one seed of three is done with gates, two without."
    yield "results.md", "The other rows have three seeds."
    assert {cell["done"] for cell in cells("further-languages-cpu").values()} == {1, 2}
    yield "results.md", "A row has one or two seeds of three."
    drift = {
        (line["language"], line["recipe"]): float(line["unquantised"]) for line in lines("quantised", "quantised.csv")
    }
    later = {
        ("modular-arithmetic", "automaton"): table["modular-arithmetic", "automaton-C2"],
        ("dyck-12", "answers"): cells("answers-cpu")["dyck-12", "gated-C2"],
    }
    assert all(later[run]["ours"]["mean"] > score for run, score in drift.items())
    yield "results.md", "Both networks are earlier ones."


def speeds() -> Iterator[tuple[str, str]]:
    """Devices, and what trainings took."""
    trees, others = gains()
    yield "results.md", f"Trees gain little, {min(trees):.1f} to {max(trees):.1f} times:"
    yield "results.md", f"and networks on texts, gain much, {min(others):.1f} to {max(others):.1f} times."
    found = {(row[3], row[1]): row[5].split()[0] for row in cells_of("texts", "bench.md") if row[0] == "train"}
    assert min(found.values(), key=float) == found["alibi", "512"]
    same, longer = found["learned", "128"], found["learned", "512"]
    yield (
        "results.md",
        f"are {same} and {longer} times those of a Transformer written out with `learned`, and {found['alibi', '512']} "
        "times at worst (`alibi`, 512).",
    )
    means = [cell["train_seconds"] / cell["done"] for cell in of_tasks()]
    yield "experiments.md", f"one that does not up to {-(-max(means) // 600) * 10:.0f} minutes of a busy core:"
    asked = sum(cell["runs"] * cell["train_seconds"] / cell["done"] for cell in of_tasks())
    yield "experiments.md", f"all {sum(cell['runs'] for cell in of_tasks())} about {asked / 3600:.0f} core-hours."


def networks_with_a_state() -> Iterator[tuple[str, str]]:
    """What carries a state: its steps a second, its fast form and its memory; and single runs of the older ones."""
    found = {(row[0], row[1], row[2]): row[3] for row in cells_of("speed", "networks.md")}
    steps = {name: figure for (case, _, name), figure in found.items() if case == "rivals"}
    left_out = ("head-gla", "retnet", "bank-pd-ssm", "gated-delta", "delta-product-4", "looped")
    of_others = ("regulargpt", "ldru", "transformer", "transformer:encoding=path")
    shown = sorted({*steps} - {*left_out, *of_others}, key=lambda name: -float(steps[name]))
    beside = ", ".join(f"{name} {steps[name]}" for name in of_others[:3])
    yield "results.md", f"{', '.join(f'{name} {steps[name]}' for name in shown)}; beside them {beside}."
    loops = {kind: {} for kind in ("one layer", "recurrence")}
    for (case, kind, name), figure in found.items():
        if case == "chunks":
            loops[kind][name.removesuffix(" over its loop")] = figure
    layer, alone = loops["one layer"], loops["recurrence"]
    assert layer["delta-product-4"] == layer["rwkv7"] == "1.42"
    assert min(layer, key=lambda name: float(layer[name])) == "slstm"
    assert max(layer, key=lambda name: float(layer[name])) == "s4d"
    first = ", ".join(f"{name} {layer[name]}" for name in ("mamba3", "mamba2", "mlstm", "gla", "delta"))
    last = ", ".join(f"{name} {layer[name]}" for name in ("mamba", "pd-ssm", "slstm"))
    yield "results.md", f"s4d {layer['s4d']} times as fast, {first}, delta-product-4 and rwkv7 1.42, {last}."
    yield "results.md", f"Without the layers round the recurrence: gla {alone['gla']}, delta {alone['delta']}."
    rises = {(row[2], row[1].split()[2].strip(",")): row[3] for row in cells_of("speed", "memory.md")}
    assert max((name for name, length in rises), key=lambda name: float(rises[name, "1,000,000"])) == "mamba2"
    pairs = [f"{rises[name, '1,000,000']} and {rises[name, '65,536']}" for name in ("mamba2", "delta", "gla", "gru")]
    yield (
        "results.md",
        "it is at most {} MiB (mamba2), {} (delta), {} (gla), {} (gru); [six networks]".format(*pairs),
    )
    assert len({name for name, _ in rises}) == 6
    chains = cells("chains-cpu")
    lowest = [chains[place]["group"]["min"] for place in (("cycle-navigation", "lstm"), ("cycle-navigation", "rnn"))]
    yield (
        "results.md",
        f"the LSTM of seed 1 on `cycle-navigation` is such a one, with {percent(lowest[0])} % of its answers",
    )
    yield "results.md", f"that of seed 0 there, with {percent(lowest[1])} %, and that of seed 2 on `tomita-5`, with"
    yield "results.md", f"`tomita-5`, with {percent(chains['tomita-5', 'rnn']['group']['min'])} %."


def cells_of(*place: str) -> list[list[str]]:
    """The rows of a table in Markdown, without its header."""
    text = RESULTS.joinpath(*place).read_text("utf-8").splitlines()
    return [[each.strip() for each in line.split("|")[1:-1]] for line in text if line.startswith("|")][2:]


def of_tasks() -> list[Mapping[str, Any]]:
    """The cells of today's recurrent networks that have the scores."""
    return [cell for (_, column), cell in cells("rivals-cpu").items() if column in TASKS and cell["done"]]


def gains() -> tuple[list[float], list[float]]:
    """How many times as fast each pair of trainings was on a GPU: trees on languages, and the others; ascending."""
    found: dict[bool, list[float]] = {True: [], False: []}
    for line in lines("devices", "devices.csv"):
        if not line["not_measured"]:
            is_tree = line["model"] == "regulargpt" and not line["language"].startswith("text:")
            found[is_tree].append(float(line["cuda_steps_a_second"]) / float(line["cpu_steps_a_second"]))
    return sorted(found[True]), sorted(found[False])


def devices() -> Iterator[tuple[str, str]]:
    """Every pair of speeds that was measured."""
    trees, others = gains()
    yield (
        "training.md",
        f"On languages trees gain at most {trees[-1]:.1f} times there; Transformers and texts gain {others[0]:.1f} to "
        f"{others[-1]:.0f} times",
    )


def answers_beside() -> Iterator[tuple[str, str]]:
    """Every run with its number of answers beside the batches."""
    run = json.loads((ROOT / "docs" / "certified" / "parity-delta" / "summary.json").read_text("utf-8"))
    looked_up = lines("certifying", "looked-up.csv")
    assert {line["language"] for line in looked_up} == {"dyck-12"}
    few, *_, many = numbers(looked_up, "labels_used")
    at = "(../experiments/results/certifying/looked-up.csv)"
    found = run["phases"]["chain_fine_tuning"]["labels_used"]
    yield "certificate.md", f"{found:,} on `parity`, [{few:,.0f} to {many:,.0f}]{at} on `dyck-12`."
    labels = known(run.labels for run in done(trees("nested-cpu")) if run.rows == ("json",))
    yield "nested.md", f"On `json` they are {labels[0]:,.0f} to {labels[-1]:,.0f}."


def made_to_read_on() -> Iterator[tuple[str, str]]:
    """Every method and length of the decoder."""
    found = {(one["row"], one["length"] // 256): one for one in page("decoder-cpu").cells if "length" in one}
    (left_out,) = {*METHODS} - {row for row, _ in found}
    yield (
        "text.md",
        f"has every method but `{left_out}` on a small Llama of bytes that was trained here, up to 16 times its",
    )
    ratios = {key: one["to_training_length"]["value"] for key, one in found.items()}
    yield (
        "text.md",
        f"costs {100 * ratios['kerple', 1] - 100:.0f} % at the training length. Over that of the network as trained, "
        f"at its training length, perplexity is then {ratios['kerple', 2]:.2f} where texts are 2 times as long, "
        f"{ratios['kerple', 4]:.2f} at 4 times and {ratios['kerple', 16]:.2f} at 16 times.",
    )
    flat = {row for row, _ in found if all(ratios[row, times] < 1.05 for times in (2, 4, 8, 16))}
    assert flat == {"sliding", "sinks", "bca"}
    for times, second in ((2, "llama3"), (4, "llama3"), (8, "yarn"), (16, "yarn")):
        others = sorted(
            (row for row, at in found if at == times and row not in flat), key=lambda row: ratios[row, times]
        )
        assert others[:2] == ["self-extend", second]
    yield "text.md", "helps most of those that see everything, then llama3 up to 4 times and YaRN beyond."


def short_trainings() -> Iterator[tuple[str, str]]:
    """Every cell that was trained."""
    mine = [cell for (_, column), cell in cells("rivals-cpu").items() if column in TASKS and cell["done"]]
    each = sorted(cell["train_seconds"] / cell["done"] for cell in mine)
    yield (
        "models.md",
        f"A network of a cell took {each[0]:.0f} seconds to {each[-1] / 60:.0f} minutes of a busy core, on average",
    )
    published = ("rnn", "lstm", "stack-rnn", "tape-rnn", "transformer")
    steps = [
        max(
            cell["steps"][1]
            for (_, name), cell in cells("deletang-2023-cpu").items()
            if name == column and cell["done"]
        )
        for column in published
    ]
    yield "hierarchy.md", f"the same networks have at most {min(steps):,} to {max(steps):,} here"


def models() -> Iterator[tuple[str, str]]:
    """Every model that is built in."""
    options = {name: MODELS.options(name, "model") for name in MODELS}
    *takers, last = [f"`{name}`" for name, of in options.items() if hasattr(of, "encoding")]
    yield "models.md", f"{', '.join(takers)} and {last} take one, and no other model."
    no_texts = [f"`{name}`" for name, of in options.items() if of.why_no_texts() is not None]
    yield "text.md", f"`--model` any [model](models.md) but {' and '.join(no_texts)}."


SENTENCES = [
    pair
    for part in (
        brackets,
        stacks,
        recurrences,
        small_languages,
        further,
        budgets,
        shortfalls,
        speeds,
        networks_with_a_state,
        devices,
        answers_beside,
        made_to_read_on,
        short_trainings,
        models,
    )
    for pair in part()
]


@pytest.mark.parametrize(("guide", "sentence"), SENTENCES)
def test_a_sentence_says_what_all_rows_of_its_file_say(guide: str, sentence: str):
    path = ROOT / guide if guide == README else ROOT / "docs" / guide
    # What is noted of results stands on the page of results, or beside their tables alone.
    text = noted() if guide == "results.md" else path.read_text("utf-8")
    assert sentence in " ".join(text.split())


@cache
def noted() -> str:
    """The page of results, and what else facts.toml has."""
    sections = tomllib.loads((RESULTS / "facts.toml").read_text("utf-8")).values()
    page = (ROOT / "docs" / "results.md").read_text("utf-8")
    return "\n".join([page, *(line for of in sections for line in of.get("log", ()))])


# Sentences of the section that count no rows of a table: how to read it, and one run with tests of its own.
OF_NO_TABLE = ("*Gates* are", '"Proven" is said', "`-`: no proof", "Signed DeltaNet, after 200")


def test_no_sentence_on_results_in_the_readme_counts_by_itself():
    text = (ROOT / README).read_text("utf-8").partition("## What it reaches\n")[2].partition("\n## ")[0]
    prose = " ".join(line for line in text.splitlines() if " | " not in line)
    made = [sentence for page, sentence in SENTENCES if page == README]
    for sentence in re.split(r"(?<=\.) +(?=[A-Z\[*`\"])", " ".join(prose.split())):
        if COUNTS.search(sentence) and not any(part in sentence for part in made):
            assert sentence.startswith(OF_NO_TABLE), sentence


def test_the_families_of_languages_are_counted(capsys):
    assert call(["list", "languages", "--json"]) == 0
    listed: Any = json.loads(capsys.readouterr().out)
    assert f"The testbed has {len(listed['languages'])} families;" in (ROOT / README).read_text("utf-8")
