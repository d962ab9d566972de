"""The columns of a table: values of a row, and every key of the configs of its runs under a short name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from languages.errors import UserError, nearest
from regulargpt.results.row import OWN, Key, RunRow, cell

# What everybody calls the parts of a run by, and the key that says which part it is.
PARTS = {
    "language": "data.name",
    "model": "model.name",
    "recipe": "recipe",
    "supervision": "objective.name",
    "protocol": "protocol",
}
NAMES = PARTS | {"encoding": "model.encoding.name"}
# What changes no score: how a run is watched, where it runs, what is tested besides; and the seed, which is the sample.
IMMATERIAL = {
    *("seed", "device", "threads", "compile", "tensorboard", "training.log_every", "training.checkpoint_every"),
    *("evaluation.extra_protocols", "evaluation.extra_lengths", "evaluation.falsify"),
}


def known(rows: Iterable[RunRow]) -> dict[str, str]:
    """The key of each column that these rows have, by its name.

    A key of the config goes by its last part; of several with the same, that with the fewest parts does, if it is
    one, and the others go by the whole key.

    >>> config = {"data.name": "parity", "data.edits": 1, "data.test.edits": 2, "training.lr": 0.1}
    >>> [name for name in known([RunRow("a", "done", config=config)]) if name not in OWN and name not in PARTS]
    ['encoding', 'edits', 'data.test.edits', 'lr']
    """
    # All lengths of a run share one config: thousands of rows have few.
    configs = {id(row.config): row.config for row in rows}.values()
    keys = dict.fromkeys(key for config in configs for key in config if key not in NAMES.values())
    by_last: dict[str, list[str]] = defaultdict(list)
    for key in keys:
        by_last[key.rpartition(".")[2]].append(key)
    names = {**dict.fromkeys(OWN), **NAMES}
    return {name: name for name in OWN} | NAMES | {short(key, by_last, names): key for key in keys}


def short(key: str, by_last: Mapping[str, Sequence[str]], taken: Iterable[str]) -> str:
    """The name of a key's column."""
    last = key.rpartition(".")[2]
    fewest = min(other.count(".") for other in by_last[last])
    shortest = [other for other in by_last[last] if other.count(".") == fewest]
    return last if shortest == [key] and last not in taken else key


def key_of(name: str, names: Mapping[str, str], option: str) -> str:
    """The key of a column, by its name or by the key itself; UserError with the nearest key if there is none.

    >>> key_of("chunk-size", {"chunk_size": "model.chunk_size"}, "--group-by")
    Traceback (most recent call last):
    languages.errors.UserError: --group-by chunk-size: no such column; did you mean 'chunk_size'?
    """
    # A whole key is always clear, also where its last part belongs to a shorter key.
    if name in names.values():
        return name
    if name not in names:
        hint = nearest(name, names) or f" {', '.join(names)}"
        raise UserError(f"{option} {name or repr(name)}: no such column;{hint}")
    return names[name]


def split(text: str) -> tuple[str, ...]:
    """The names in `--group-by` or `--pivot`, each once.

    >>> split("language, chunk_size,language")
    ('language', 'chunk_size')
    """
    return tuple(dict.fromkeys(name.strip() for name in text.split(",")))


def differing(rows: Iterable[RunRow]) -> list[str]:
    """The keys of which the configs of these rows have several values; a config without the key is no other value.

    >>> differing([RunRow(n, "done", config={"training.lr": lr, "seed": 0}) for n, lr in (("a", 0.1), ("b", 0.2))])
    ['training.lr']
    """
    values: dict[str, set[str]] = defaultdict(set)
    for config in {id(row.config): row.config for row in rows}.values():
        for key, value in config.items():
            values[key].add(cell(value))
    return [key for key, different in values.items() if len(different) > 1]


def unlike(rows: Iterable[RunRow], by: Sequence[str]) -> list[str]:
    """The keys that matter in which runs differ that agree in `by`, and in language, model, recipe, ... too."""
    alike: dict[Key, list[RunRow]] = defaultdict(list)
    for row in rows:
        alike[tuple(row.get(key) for key in (*PARTS.values(), *by))].append(row)
    keys = dict.fromkeys(key for group in alike.values() for key in differing(group))
    return [key for key in keys if key not in IMMATERIAL]


def unequal(rows: Iterable[RunRow], by: Sequence[str]) -> list[str]:
    """The keys in which runs differ that agree in `by`: the parts of a run, and what `unlike` says.

    >>> rows = [RunRow(name, "done", config={"model.name": name, "model.d_model": at, "seed": at}) for at, name in enumerate("ab")]
    >>> unequal(rows, ["data.name"]), unequal(rows, ["model.name"])
    (['model.name'], [])
    """  # noqa: E501
    rows = list(rows)
    alike: dict[Key, list[RunRow]] = defaultdict(list)
    for row in rows:
        alike[tuple(map(row.get, by))].append(row)
    several = {key for group in alike.values() for key in differing(group)}
    return list(dict.fromkeys([*(key for key in PARTS.values() if key in several), *unlike(rows, by)]))


def varying(rows: Sequence[RunRow]) -> tuple[str, ...]:
    """The keys to group by if nobody says: where runs differ, without the seed; the language if they do nowhere.

    >>> varying([RunRow("a", "done", config={"data.name": "parity", "training.lr": lr}) for lr in (1, 2)])
    ('training.lr',)
    """
    whole = [row for row in rows if row.config]
    several = set(differing(whole))
    parts = [key for key in PARTS.values() if key in several]
    by_others = any(row.tested != (row.get("protocol") or "") for row in whole)
    tested = ["tested"] * (by_others and len({row.tested for row in whole}) > 1)
    return (*parts, *tested, *unlike(whole, ())) or (PARTS["language"],)
