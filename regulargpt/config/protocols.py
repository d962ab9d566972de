"""Protocols: named, versioned presets of how words are drawn, read and scored, so that results can be compared.

A recipe says how a model is trained, a protocol on which words it is trained and tested. What a protocol fixes cannot
be set otherwise while its name is on the result; a change of a protocol is a new version. protocols.toml has them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from languages.errors import nearest, one_of
from languages.kept import rewritten
from languages.registry import has_brackets, has_rows, level_of
from regulargpt.config.schema import Draft, EvaluationOptions, RunConfig, flat, parts_first
from regulargpt.data import is_language, noun_of, sampling
from regulargpt.data.options import TestMixture
from regulargpt.options import ConfigError, shown
from regulargpt.options.presets import dotted, presets

Fields = Mapping[str, Any]


@dataclass(frozen=True)
class Protocol:
    """One protocol.

    `fields` are the fields of the config that it fixes; `balanced` those for tasks of members and non-members;
    `families[stem]` those for a family of languages ("dyck" for dyck-N). `spelling[stem]` is what stands behind the
    colon of such a language; `statistic` how accuracies become a score; `departures` what differs from its source.
    """

    name: str
    version: int
    summary: str
    source: str
    statistic: str
    fields: Fields
    balanced: Fields = field(default_factory=dict)
    families: Mapping[str, Fields] = field(default_factory=dict)
    spelling: Mapping[str, str] = field(default_factory=dict)
    departures: tuple[str, ...] = ()
    of_brackets: bool = False
    """Whether it is about languages with visible brackets alone."""
    free: tuple[str, ...] = ()
    """Parameters of the spelling for which a user may write another value."""
    of: str = ""
    """The only language that it is about, if any."""
    of_training_lengths: bool = False
    """Whether fresh words of the training lengths make the score; else they are longer."""

    @property
    def id(self) -> str:
        """Name and version, as results record it."""
        return f"{self.name}-{self.version}"

    def fixes(self, language: str) -> dict[str, Any]:
        """All that is fixed for a language, by dotted keys, but its spelling.

        Raises UserError for a text or a retrieval task, which no protocol is about.
        """
        if not is_language(language):
            noun = noun_of(language)
            raise ConfigError(f"{language} is a {noun}, and a protocol is about words of a language; leave it out")
        if level_of(language) == "unknown":
            raise ConfigError(f"{language} has words of its own, and a protocol says how words are drawn; leave it out")
        if self.of_brackets and not has_brackets(language):
            raise ConfigError(f"protocol {self.id} is of languages with brackets, {language} is none; leave it out")
        if self.of and language.partition(":")[0] != self.of:
            raise ConfigError(f"protocol {self.id} is of {self.of}, not of {language}; leave it out")
        balanced = self.balanced if sampling(language) == "balanced" else {}
        name = language.partition(":")[0]
        fields = rows_of(self.fields) if has_rows(language) else self.fields
        return {**fields, **balanced, **self.families.get(stem(name), {}), **self.families.get(name, {})}

    def spelled(self, language: str) -> str:
        """The language with the parameters that this protocol gives it.

        Raises ConfigError if the language has another value for one of them.

        >>> protocol("hard").spelled("dyck-4"), protocol("hard").spelled("parity")
        ('dyck-4:depth=every', 'parity')
        """
        name, _, written = language.partition(":")
        given = self.usual(name)
        mark = ";" if name == "pushdown" else ","  # a file may have commas in its name
        parts = written.split(mark) if written else []
        for part in given.split(",") if given else ():
            if part in parts:
                continue
            key = part.partition("=")[0]
            if any(key == other.partition("=")[0] for other in parts):
                if key in self.free:
                    continue
                raise ConfigError(f"protocol {self.id} draws {name} with {given}, not {language}; write {name}")
            parts.append(part)
        return rewritten(language, f"{name}:{mark.join(parts)}") if parts else language

    def usual(self, name: str) -> str:
        """What stands behind the colon of a language; of a product, what stands behind that of each factor.

        >>> protocol("merrill2024").usual("alternating-4*cyclic-5"), protocol("grazzi2025").usual("cyclic-2*cyclic-3")
        ('letters=elements', '')
        """
        spellings = {self.spelling.get(factor, self.spelling.get(stem(factor), "")) for factor in name.split("*")}
        return spellings.pop() if len(spellings) == 1 else ""

    def put(self, draft: Draft) -> Draft:
        """Set all that is fixed in a config in the making."""
        fixed = self.fixes(draft.flat["data.name"])
        draft.put({"data.name": self.spelled(draft.flat["data.name"]), "protocol": self.id})
        # Parts first: which of the other keys there are depends on them.
        for key in sorted(fixed, key=parts_first):
            if not is_absent(key, fixed[key], draft.flat):
                draft.put({key: fixed[key]})
        return draft

    def apply(self, config: RunConfig) -> RunConfig:
        """The config under this protocol.

        >>> config = protocol("thesis").apply(RunConfig().replaced({"data.name": "dyck-4"}))
        >>> config.protocol, config.data.train_len, config.scored
        ('thesis-1', 50, range(51, 101))
        """
        return self.put(Draft(config)).config()

    def test_of(self, config: RunConfig) -> RunConfig:
        """The same training, tested under this protocol with as many words a length and the same stride.

        Raises ConfigError if a model trained so cannot be queried as this protocol asks.

        >>> protocol("hard").test_of(RunConfig()).evaluation.extra_lengths
        (1000, 10000)
        """
        fixed, draft = self.fixes(config.data.name), Draft(config)
        language = self.spelled(without_sampling(config.data.name))
        draft.put({"data.name": language, "protocol": self.id, **fresh(config)})
        # A trained model answers one kind of question; words and lengths may be others.
        for key, value in fixed.items():
            if key.startswith("objective.") and not agrees(key, value, draft.flat):
                trained = shown(draft.flat.get(key))
                raise ConfigError(f"protocol {self.id} asks with {key} = {shown(value)}, the run {trained}")
        if 0 < fixed["evaluation.test_from"] <= config.data.train_len and not self.of_training_lengths:
            first, trained = fixed["evaluation.test_from"], config.data.train_len
            raise ConfigError(f"protocol {self.id} scores from {first} symbols on; the run was trained on {trained}")
        return draft.put({key: value for key, value in fixed.items() if key.startswith(OF_THE_TEST)}).config()

    def problems(self, config: RunConfig) -> list[str]:
        """What in a config contradicts this protocol: one line each."""
        fixed, now = self.fixes(config.data.name), flat(config)
        problems = [
            f"protocol {self.id} fixes {key} = {shown(value)}, not {shown(now.get(key))}; "
            "leave that out, or the protocol"
            for key, value in fixed.items()
            if not agrees(key, value, now)
        ]
        spelled = self.spelled(config.data.name)
        if spelled != config.data.name:
            problems.append(f"protocol {self.id} draws {spelled}, not {config.data.name}; write {spelled}")
        return problems


def rows_of(fields: Fields) -> dict[str, Any]:
    """What a protocol fixes, of a language whose words are answered by a row: that is requested, and nothing else.

    >>> rows_of({"objective.name": "last", "objective.output_token": True, "evaluation.test_len": 500})
    {'evaluation.test_len': 500, 'objective.name': 'transduction'}
    """
    kept = {key: value for key, value in fields.items() if not key.startswith("objective.")}
    return {**kept, "objective.name": "transduction"}


# How much is tested under a protocol, unless the user says otherwise: results are compared to a tenth of a percent.
MANY: Fields = {"evaluation.samples": 512, "evaluation.symbols": 33_554_432}
# What a test has of its own, whatever the model was trained on.
OF_THE_TEST = ("evaluation.", "data.test.")


def fresh(config: RunConfig) -> dict[str, Any]:
    """The options of a test at their defaults, but as many words a length and the same stride."""
    kept = {key: getattr(config.evaluation, key) for key in ("samples", "symbols", "stride")}
    options = {f"evaluation.{key}": value for key, value in vars(EvaluationOptions(**kept)).items()}
    mixture = {f"data.test.{key}": value for key, value in vars(TestMixture()).items()}
    return options | {key: value for key, value in mixture.items() if key in flat(config)}


def is_absent(key: str, value: Any, now: Fields) -> bool:
    """Whether a config has no such key because what the protocol fixes to be off is not there at all."""
    return not value and key not in now


def agrees(key: str, value: Any, now: Fields) -> bool:
    """Whether a config has what a protocol fixes."""
    return is_absent(key, value, now) or now.get(key) == value


def stem(name: str) -> str:
    """The family of a numbered language.

    >>> stem("dyck-12"), stem("parity")
    ('dyck', 'parity')
    """
    return re.sub(r"-\d+$", "", name)


# The parameters of families that say how words are drawn, and nothing about the language.
SAMPLED: Mapping[str, tuple[str, ...]] = {
    "dyck": ("depth", "members"),
    "tomita": ("members",),
    "flip-flop": ("p_ignore",),
    "flip-flop-reads": ("p_ignore",),
    "mqar": ("pairs", "power", "fill"),
}


def without_sampling(language: str) -> str:
    """The language without the parameters that say how its words are drawn.

    >>> without_sampling("dyck-4:depth=every"), without_sampling("modular-arithmetic:plus=true")
    ('dyck-4', 'modular-arithmetic:plus=true')
    >>> without_sampling("tomita-3:forbidden=later"), without_sampling("mqar:pairs=8,vocabulary=32")
    ('tomita-3:forbidden=later', 'mqar:vocabulary=32')
    """
    name, _, written = language.partition(":")
    if stem(name) not in SAMPLED:
        return language
    kept = [part for part in written.split(",") if part and part.partition("=")[0] not in SAMPLED[stem(name)]]
    return f"{name}:{','.join(kept)}" if kept else name


def written(id: str, table: Mapping[str, Any]) -> Protocol:
    """A table of protocols.toml as a protocol; TypeError for what none has."""
    name, _, version = id.rpartition("-")
    options = {key: dotted(table[key]) for key in ("fields", "balanced") if key in table}
    families = {family: dotted(of) for family, of in table.get("families", {}).items()}
    tuples = {key: tuple(of) for key, of in table.items() if isinstance(of, list)}
    return Protocol(name, int(version), **{**table, **options, **tuples, "families": families})


PROTOCOLS = {id: written(id, table) for id, table in presets("regulargpt.config", "protocols.toml").items()}


def protocol(name: str) -> Protocol:
    """The protocol of a name: "thesis" for its newest version, "thesis-1" for that version.

    Raises ConfigError with the nearest name for an unknown name.

    >>> protocol("hard").id
    'hard-2'
    >>> protocol("theses")
    Traceback (most recent call last):
    regulargpt.options.ConfigError: unknown protocol 'theses'; did you mean 'thesis'?
    """
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    versions = [p for p in PROTOCOLS.values() if p.name == name]
    if not versions:
        known = list(dict.fromkeys(p.name for p in PROTOCOLS.values()))
        hint = nearest(name, [*known, *PROTOCOLS]) or f" choose {one_of(known)}"
        raise ConfigError(f"unknown protocol '{name}';{hint}")
    return max(versions, key=lambda p: p.version)
