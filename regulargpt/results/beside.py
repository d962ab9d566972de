"""What stands beside the figures of a group: what guessing has, in what its runs differ, and under which conditions.

Conditions are what decides whether two rows can be compared: the words, and what training shows of their answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from string import ascii_lowercase

from regulargpt.objectives.measures import Measure
from regulargpt.results.columns import unequal
from regulargpt.results.row import Key, RunRow, Value, cell, sortable
from regulargpt.results.statistics import key_of
from regulargpt.training.given import Given, footnotes, given, marks

ALSO_GIVEN = "also given"
SUPERVISION = ("objective.name", "objective.output_token")
TESTED = ("evaluation.test_from", "evaluation.test_len")
OF_NEAR_MISSES = ("edits", "swaps")
Condition = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Beside:
    """Of a group: chance and the best single answer, in percent; the columns in which its runs differ; its conditions.

    These are letters, where the table has groups of the same language under others; lines below it explain them.
    `given` is what training had beside the answers to its batches, of each run that had any.
    """

    chance: float | None = None
    majority: float | None = None
    differ: tuple[str, ...] = ()
    conditions: str = ""
    given: tuple[Given, ...] = ()

    @property
    def mark(self) -> str:
        """Behind a number or a name.

        >>> Beside(differ=("recipe",), conditions="a", given=(Given("answers", "table_fine_tuning"),)).mark
        ' † ‡ [a]'
        """
        return " †" * bool(self.differ) + marks(self.given) + f" [{self.conditions}]" * bool(self.conditions)


NOTHING = Beside()


def beside(
    rows: Sequence[RunRow], by: Sequence[str], names: Mapping[str, str], measure: Measure
) -> tuple[dict[Key, Beside], tuple[str, ...]]:
    """What stands beside each group, by its key, and the sentences below the table; `names` are those of the keys."""
    grouped: dict[Key, list[RunRow]] = defaultdict(list)
    for row in rows:
        if row.is_done:
            grouped[key_of(row, by)].append(row)
    # In the order of the table, so that its first letter is an a.
    grouped = {key: grouped[key] for key in sorted(grouped, key=lambda key: [*map(sortable, key)])}
    differ = {key: tuple(names.get(k, k) for k in unequal(of, by)) for key, of in grouped.items()}
    letters, texts = conditions(grouped, names)
    had = {key: given_to(of) for key, of in grouped.items()}
    every = {
        key: Beside(*guesses(of, measure), differ[key], letters.get(key, ""), had[key]) for key, of in grouped.items()
    }
    mixed = dict.fromkeys(name for of in differ.values() for name in of)
    below = footnotes(of for of_group in had.values() for of in of_group)
    return every, (*([f"†: its runs differ in {', '.join(mixed)}."] if mixed else []), *below, *texts)


def given_to(rows: Iterable[RunRow]) -> tuple[Given, ...]:
    """What the runs of these rows had beside the answers to their batches, each run once."""
    of_runs = {row.run: row.beside_batches for row in rows}
    return tuple(of for of in of_runs.values() if of is not None)


def guesses(rows: Iterable[RunRow], measure: Measure) -> tuple[float | None, float | None]:
    """Chance and the best single answer, the means over runs; None where no run has any."""
    of_runs = {row.run: row.guesses[measure.name] for row in rows if measure.name in row.guesses}
    if not of_runs:
        return None, None
    chance, majority = zip(*of_runs.values(), strict=True)
    return fmean(chance), fmean(majority)


def conditions(
    grouped: Mapping[Key, Iterable[RunRow]], names: Mapping[str, str]
) -> tuple[dict[Key, str], tuple[str, ...]]:
    """A letter for each group that shares its language with a group under other conditions, and what they mean."""
    under: dict[str, dict[Condition, set[Key]]] = defaultdict(lambda: defaultdict(set))
    configs = {key: list({id(row.config): row.config for row in rows}.values()) for key, rows in grouped.items()}
    tables = compared([config for of in configs.values() for config in of])
    for key, of in configs.items():
        for config in of:
            under[tables[cell(config.get("data.name"))]][condition(config)].add(key)
    told: dict[Condition, str] = {}
    letters: dict[Key, dict[str, None]] = defaultdict(dict)
    for of_language in under.values():
        for known, keys in apart(of_language).items():
            letter = told.setdefault(known, letter_of(len(told)))
            for key in keys:
                letters[key][letter] = None
    texts = tuple(f"[{letter}]: {written(known, names)}" for known, letter in told.items())
    head = ("Conditions differ, so rows with different letters do not compare models alone:",) if texts else ()
    return {key: "".join(of) for key, of in letters.items()}, (*head, *texts)


def compared(configs: Sequence[Mapping[str, Value]]) -> dict[str, str]:
    """For each language, under which name it is compared: its own, or its family's if models differ in its parameters.

    >>> plus, plain = "modular-arithmetic:plus=true", "modular-arithmetic"
    >>> compared([{"data.name": plus, "model.name": "regulargpt"}, {"data.name": plain, "model.name": "lstm"}])[plus]
    'modular-arithmetic'
    >>> compared([{"data.name": name, "model.name": "lstm"} for name in (plus, plain)])[plus]
    'modular-arithmetic:plus=true'
    """
    of_models: dict[str, dict[Value, set[str]]] = defaultdict(lambda: defaultdict(set))
    for config in configs:
        name = cell(config.get("data.name"))
        of_models[family(name)][config.get("model.name")].add(name)
    same = {of for of, models in of_models.items() if len({frozenset(names) for names in models.values()}) == 1}
    names = {name for models in of_models.values() for of in models.values() for name in of}
    return {name: name if family(name) in same else family(name) for name in names}


def condition(config: Mapping[str, Value]) -> Condition:
    """What of a config decides on words and supervision, in order.

    >>> condition({"phases.stack_proof.every": 100, "phases.stack_proof.words": 64})
    (('also given', 'wrong words'),)
    """
    kept = {
        key: value
        for key, value in config.items()
        if key in (*SUPERVISION, *TESTED) or (key.startswith("data.") and not is_idle(key, config))
    }
    had = given(config)
    return (*sorted(kept.items()), (ALSO_GIVEN, "nothing" if had is None else had.kind))


def is_idle(key: str, config: Mapping[str, Value]) -> bool:
    """Whether an option of near misses decides nothing, since there are none.

    >>> is_idle("data.edits", {"data.near_misses": 0.0}), is_idle("data.members", {})
    (True, False)
    """
    section, _, name = key.rpartition(".")
    return name in OF_NEAR_MISSES and not config.get(f"{section}.near_misses")


def apart(of_language: Mapping[Condition, Iterable[Key]]) -> dict[Condition, set[Key]]:
    """The groups by those parts of their conditions that differ; none if nothing does."""
    values: dict[str, set[str]] = defaultdict(set)
    for known in of_language:
        for key, value in known:
            values[key].add(cell(value))
    several = {key for key, of in values.items() if len(of) > 1}
    keys_of: dict[Condition, set[Key]] = defaultdict(set)
    for known, keys in of_language.items() if several else ():
        keys_of[tuple((key, value) for key, value in known if key in several)].update(keys)
    return keys_of


def family(language: str) -> str:
    """The language without its parameters, which say how its words are made.

    >>> family("modular-arithmetic:plus=true"), family("regex:(ab)*")
    ('modular-arithmetic', 'regex:(ab)*')
    """
    name, _, parameters = language.partition(":")
    return name if all("=" in part for part in parameters.split(",")) else language


def letter_of(at: int) -> str:
    """a, b, ..., z, a1, b1, ...

    >>> letter_of(1), letter_of(27)
    ('b', 'b1')
    """
    more, letter = divmod(at, len(ascii_lowercase))
    return f"{ascii_lowercase[letter]}{more or ''}"


def written(known: Condition, names: Mapping[str, str]) -> str:
    """A condition in words.

    >>> written((("objective.name", "last"), ("data.name", "parity")), {"objective.name": "supervision"})
    'supervision last, data.name parity'
    """
    return ", ".join(f"{names.get(key, key)} {cell(value)}" for key, value in known)
