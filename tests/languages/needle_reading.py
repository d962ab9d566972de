"""Readers of prompts with needles, in plain Python, which know nothing of how these are made."""

import re
from collections.abc import Callable
from typing import NamedTuple

NOISE = r"The grass is green\.|The sky is blue\.|The sun is yellow\.|Here we go\.|There and back again\."


class Read(NamedTuple):
    """The numbers or names of an answer, in order, and the share of the document that stands before the needle."""

    answer: list[str]
    depth: float


def pass_key(text: str) -> Read:
    """The number behind the words that announce it; depth in characters of filler."""
    _, before, said, after, question = text.split("\n")
    assert question == "What is the pass key? The pass key is"
    return Read(re.findall("The pass key is ([0-9]+)", said), len(before) / (len(before) + len(after)))


def line(text: str) -> Read:
    """The content of the line that the last sentence names; depth in lines."""
    asked = re.search(r" The <REGISTER_CONTENT> in line (\S+) is$", text)
    assert asked
    lines = re.findall(r"^line (\S+): REGISTER_CONTENT is <([0-9]+)>$", text, re.MULTILINE)
    (at,) = (at for at, (name, _) in enumerate(lines) if name == asked[1])
    return Read([lines[at][1]], at / len(lines))


def magic(text: str) -> Read:
    """The numbers of all keys that the question names; depth in sentences of noise, of the first of them."""
    context, question = text.split("\n")[1:]
    asked = re.search(r"special magic numbers? for (.+) mentioned in the provided text (?:is|are)$", question)
    assert asked
    keys, found, at = re.findall(r"[a-z]+-[a-z]+", asked[1]), list[tuple[float, str, str]](), 0
    sentence = rf"One of the special magic numbers for (\S+) is: ([0-9]+)\.|{NOISE}"
    for match in re.finditer(sentence, context):
        if match[1] in keys:
            found.append((at, match[1], match[2]))
        at += match[1] is None
    return Read([number for _, _, number in found], min(found)[0] / at)


def variables(text: str) -> Read:
    """All variables that come to the value; depth in sentences of noise, of the first assignment."""
    context = text.split("\n")[2]
    asked = re.search(r"assigned the value ([0-9]+), they are:$", text)
    assert asked
    values, at, first = dict[str, str](), 0, None
    for match in re.finditer(rf"VAR ([A-Z]+) = (?:VAR )?(\w+)\.|{NOISE}", context):
        if match[1]:
            values[match[1]] = values.get(match[2], match[2])
            first = at if first is None else first
        at += match[1] is None
    assert first is not None
    return Read([name for name, value in values.items() if value == asked[1]], first / at)


READERS: dict[str, Callable[[str], Read]] = {
    "passkey": pass_key,
    "single": magic,
    "multikey": magic,
    "multivalue": magic,
    "multiquery": magic,
    "line": line,
    "variables": variables,
}
