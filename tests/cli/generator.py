"""Argument lists and damaged files at random: what every verb takes, right, nearly right, and nothing like it."""

from __future__ import annotations

import random
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import click

from regulargpt.cli import group, verbs
from regulargpt.cli.flags import flags
from regulargpt.config.protocols import PROTOCOLS
from regulargpt.config.recipes import RECIPES
from regulargpt.config.schema import RunConfig, keys, type_of
from regulargpt.encodings import ENCODINGS
from regulargpt.models import MODELS
from regulargpt.objectives import OBJECTIVES

SLOW_VERBS = ("verify", "receptive-field", "extract", "check")
LANGUAGES = ["parity", "even-pairs", "tomita-3", "dyck-2", "cyclic-5", "flip-flop", "parity:p_one=0.1", "regex:(ab)*"]
LANGUAGES += ["retrieval:line", "retrieval:passkey:values=3", "retrieval:topic:keys=8"]
ODD_LANGUAGES = [
    *("dyck-0", "dyck-", "dyck--1", "dyck-999999999", "cyclic-0", "symmetric-99", "tomita-9", "tomita-٣", "partiy"),
    *("parity:", "parity:,", "parity:=", "parity:p_one=nan", "parity:p_one=2", "parity:p_two=1", "parity:p_one=1e400"),
    *("modular-arithmetic:modulus=1", f"modular-arithmetic:modulus={'9' * 5000}", "cycle-navigation:size=-1"),
    *("regex:x{0}", "regex:(a|b)*a(a|b){6}", "regex:(a|b)*a(a|b){30}", "regex:a**", "regex:a&b^c", "dyck-60"),
    *("regex:", "regex:(", "dfa:", "dfa:.", "dfa:folder", "dfa:/dev/zero", "dfa:missing.json", "dfa:deep.json"),
    *("retrieval:", "retrieval:lien", "retrieval:line:", "retrieval:line:keys=0", "retrieval:topic:values=3"),
    *(
        f"retrieval:needles:keys={'9' * 5000}",
        "retrieval:needles:questions=3",
        "retrieval:line:keys=4096,questions=4096",
    ),
    *("dfa:mealy.dot", "dfa:good.jff", "dfa:nfa.att", "dfa:nfa.att;determinise=true", "dfa:good.json;empty=maybe"),
    *("dfa:good.json", "dfa:good.dot", "dfa:bytes.json", "dfa:half.json", "dfa:digits.json", "dfa:folder.json"),
]
FOLDERS = ["begun", "sweep", "forged", "folder", "missing", "a-file", ".", "..", "/", "/dev/zero", "fifo", "ring"]
FOLDERS += ["run", "certified"] * 4 + ["documents"] * 2
FILES = ["run/config.toml", "good.toml", "typo.toml", "deep.toml", "digits.toml", "bytes.toml", "folder", "/dev/zero"]
# No path outside the folder is ever written to: a test may run as root.
OUTPUTS = ["new", "new.json", "new.dot", "new.png", "new/deeper.json", "a-file", "folder", "run", "fifo", "dangling"]
NUMBERS = ["0", "1", "2", "3", "8", "41", "-1", "1e3", "0.5", "nan", "inf", "1e400", "0x10", "1_0", "٣", "9" * 30]
NASTY = [
    *("", " ", "-", "--", "=", ",", ":", ";", "a=b", "=3", "1,,2", "5-3", "41-50", "%s", "{}", "[", "'", '"', "\\"),
    *("\n", "\t", "\x1b[31m", "\u202e", "é", "日本", "\udcff", "a\udc80b", "x" * 300, "x" * 5000, "9" * 5000),
    *("fifo", "true", "null", "[]", "--no-such", "-x"),
]
TEXTS: dict[str, list[str]] = {
    "lengths": ["9", "9-12", "40,60", "5-3", "12,9", "0", "1-999999999", "100000001"],
    "group_by": ["language", "language,seed", "colour", "settings"],
    "where": ["model=gru", "seed=0", "seed=x", "model", "colour=red", "length=9"],
    "only": ["parity", "partiy", "parity,parity"],
    "tested": ["thesis", "hard-2"],
    "representation": ["matrix", "one-hot"],
    "encoding": [*ENCODINGS, "alibi:slopes=press", "alibi:slopes=1", "no.such:Encoding", "json:decoder"],
    "name": ["figure-6.4a", "table-6.3", "ablation"],
    "model": [*MODELS, "gru:d_model=8", "gru:d_model", "no.such:Model", "json:JSONDecoder"],
    "models": [*MODELS, "gru,lstm", "gru,"],
    "recipe": [*RECIPES],
    "recipes": [*RECIPES, "words,paper"],
    "protocol": [*PROTOCOLS, "thesis-1", "thesis-9"],
    "protocols": [*PROTOCOLS, "thesis,hard"],
    "preset": [*PROTOCOLS],
    "device": ["cpu", "auto", "gpu"],
    "model.encoding": [*ENCODINGS, "alibi:", "alibi:=", "alibi:slopes=1", "no.such:Encoding", "json:decoder"],
    "objective": [*OBJECTIVES, "last:output_token=true", "last:bracketings=0.5", "last:"],
}
PARTS = [
    *({"model.name": model} for model in MODELS),
    *({"objective.name": objective} for objective in OBJECTIVES),
    {"phases.table_fine_tuning.every": 100},
    {"data.name": "dyck-2"},
]
# The keys of all parts, and what they take.
KINDS = {key: type_of(config, key) for config in map(RunConfig().replaced, PARTS) for key in keys(config)}
KINDS |= {"objective": str, "model.encoding": str}


@dataclass(frozen=True)
class Arguments:
    """Draws argument lists from what the verbs say of their own parameters."""

    random: random.Random

    def draw(self) -> list[str]:
        """Mostly what could be meant; sometimes with a word lost, doubled, moved or replaced by any other."""
        if self.random.random() < 0.03:
            return self.random.choices([*verbs(), *NASTY, *KINDS, *flags()], k=self.random.randrange(5))
        verb = self.random.choice([*verbs()])
        if verb in SLOW_VERBS and self.random.random() < 0.7:
            verb = "run"
        words = [verb, *self.parameters(parameters(verb))]
        if self.random.random() < 0.15:
            words = self.muddled(words)
        if words and words[0] in ("sweep", "reproduce"):
            words.append("--dry-run")
        return words

    def parameters(self, known: list[click.Parameter]) -> list[str]:
        """The arguments, and a few of the options."""
        words = []
        for parameter in known:
            if isinstance(parameter, click.Argument):
                if self.random.random() < 0.97:
                    words.append(self.value(parameter))
            elif self.random.random() < (0.9 if parameter.required else 0.15):
                is_flag = isinstance(parameter, click.Option) and parameter.is_flag
                words += [parameter.opts[0], *([] if is_flag else [self.value(parameter)])]
        return words

    def value(self, parameter: click.Parameter) -> str:
        """Now and then anything; else what the parameter's type and name ask for."""
        if self.random.random() < 0.07:
            return self.random.choice([*NASTY, *NUMBERS])
        text = self.sensible(parameter)
        return self.mutated(text) if self.random.random() < 0.05 and "/" not in text else text

    def sensible(self, parameter: click.Parameter) -> str:
        """A value of the right kind."""
        kind, name = parameter.type, parameter.name or ""
        if isinstance(kind, click.Choice):
            return self.random.choice(list(kind.choices))
        if isinstance(kind, click.Path):
            return self.random.choice({"out": OUTPUTS, "plot": OUTPUTS, "config_file": FILES}.get(name, FOLDERS))
        if name in ("language", "languages"):
            return self.random.choice(LANGUAGES * 8 + ODD_LANGUAGES)
        if name == "settings":
            key = self.random.choice([*KINDS])
            return f"{key}={self.field(key)}"
        if name.replace("__", ".") in KINDS:
            return self.field(name.replace("__", "."))
        return self.random.choice(TEXTS.get(name, NUMBERS))

    def field(self, key: str) -> str:
        """A value of a field of the config."""
        kind = KINDS[key]
        if typing.get_origin(kind) is typing.Literal:
            return self.random.choice(typing.get_args(kind))
        if kind is bool:
            return self.random.choice(["true", "false", "yes"])
        if kind is str:
            return self.random.choice(TEXTS.get(key, TEXTS.get(key.rpartition(".")[2], LANGUAGES)))
        return self.random.choice([*NUMBERS, "8,16", "16,8"])

    def mutated(self, text: str) -> str:
        """A letter lost, doubled or replaced."""
        at = self.random.randrange(len(text) + 1)
        return text[:at] + self.random.choice(["", "z", "-", " ", "é"]) + text[at + self.random.randrange(2) :]

    def muddled(self, words: list[str]) -> list[str]:
        """A word lost, doubled, moved or replaced."""
        at = self.random.randrange(len(words))
        word = words.pop(at)
        instead = self.random.choice([[], [word, word], [self.random.choice(NASTY)], [self.random.choice([*flags()])]])
        return words[:at] + instead + words[at:]


def parameters(verb: str) -> list[click.Parameter]:
    """What a verb takes."""
    command = group.get_command(click.Context(group), verb)
    assert command is not None
    return command.params


NUMBER_TEXTS = [
    b"NaN",
    b"-1",
    b"1e999",
    b"9" * 5000,
    b"null",
    b"[]",
    b"{}",
    b'""',
    b'"\\ud800"',
    b"true",
    b"0x" + b"f" * 5000,
]
Damage = Callable[[random.Random, bytes], bytes]


def flipped(chance: random.Random, data: bytes) -> bytes:
    """One bit changed."""
    if not data:
        return b"\0"
    bit = chance.randrange(8 * len(data))
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def cut(chance: random.Random, data: bytes) -> bytes:
    """The end lost."""
    return data[: chance.randrange(len(data) + 1)]


def doubled(chance: random.Random, data: bytes) -> bytes:
    """A part written twice."""
    at = chance.randrange(len(data) + 1)
    return data[:at] + data[max(0, at - chance.randrange(1, 200)) :]


def nested(chance: random.Random, data: bytes) -> bytes:
    """Thousands of brackets."""
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice([b"[", b'{"a":', b"("]) * 20_000 + data[at:]


def renumbered(chance: random.Random, data: bytes) -> bytes:
    """A number replaced by something that is none, or by one that no computer wants."""
    places = [at for at, byte in enumerate(data) if 48 <= byte <= 57]
    if not places:
        return b""
    at = chance.choice(places)
    end = next((i for i in range(at, len(data)) if not 48 <= data[i] <= 57), len(data))
    return data[:at] + chance.choice(NUMBER_TEXTS) + data[end:]


def unknown(chance: random.Random, data: bytes) -> bytes:
    """A letter of a name changed: an unknown key, or a wrong value."""
    places = [at for at, byte in enumerate(data) if 97 <= byte <= 122]
    if not places:
        return b"x"
    at = chance.choice(places)
    return data[:at] + bytes([chance.randrange(97, 123)]) + data[at + 1 :]


DAMAGES: Mapping[str, Damage] = {
    "flipped": flipped,
    "cut": cut,
    "doubled": doubled,
    "nested": nested,
    "renumbered": renumbered,
    "unknown": unknown,
    "emptied": lambda chance, data: b"",
    "bytes": lambda chance, data: chance.randbytes(chance.randrange(200)),
}
