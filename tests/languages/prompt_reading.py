"""Readers of prompts in plain Python, which know nothing of how these are made."""

import re
from collections.abc import Callable


def topics_of(text: str) -> list[str]:
    """The topics of a conversation, in order."""
    return re.findall(r"^USER: I would like to discuss the topic of (.+)\.$", text, re.MULTILINE)


def lines_of(text: str) -> list[tuple[str, str]]:
    """Names and contents of a record's lines."""
    return re.findall(r"^line (\S+): REGISTER_CONTENT is <([0-9]+)>$", text, re.MULTILINE)


def first_topic(text: str) -> str:
    """The first topic, if it is asked for."""
    assert text.split("\n")[-1].startswith("Now the record ends. What is the first topic we discussed?")
    return topics_of(text)[0]


def content(text: str) -> str:
    """The content of the line that is asked for."""
    asked = re.search(r"what is the <REGISTER_CONTENT> in line (\S+)\? I need the number\.$", text)
    assert asked is not None
    return dict(lines_of(text))[asked.group(1)]


def pass_key(text: str) -> str:
    """The pass key, if it is asked for."""
    assert text.endswith("What is the pass key? The pass key is")
    (key,) = set(re.findall(r"(?:key is|it\.) ([0-9]+)", text))
    return key


FOUND: dict[str, Callable[[str], str]] = {"topic": first_topic, "line": content, "passkey": pass_key}
