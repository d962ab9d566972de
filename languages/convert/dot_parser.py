"""The part of the DOT language that drawings of machines use, with the lines for error messages."""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from languages.errors import AutomatonError

TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|(?m:^\#[^\n]*))
      | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<mark>->|--|[{}\[\];,=:])""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
Attributes = dict[str, str]


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Node:
    name: str
    attributes: Attributes


@dataclass(frozen=True)
class Edge:
    source: str
    target: str
    attributes: Attributes
    line: int


@dataclass(frozen=True)
class Drawing:
    """Attribute values keep their backslashes, which labels need; names of nodes do not."""

    attributes: Attributes = field(default_factory=dict[str, str])
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    edges: list[Edge] = field(default_factory=list[Edge])


def parse(text: str) -> Drawing:
    """The nodes and edges of a directed graph, with the defaults of `node [...]` and `edge [...]` applied."""
    return _Parser(tokens(text)).graph()


def tokens(text: str) -> list[Token]:
    found: list[Token] = []
    at, line = 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            what = "a string without an end" if text[at] == '"' else f"unexpected {text[at]!r}"
            raise AutomatonError(f"line {line}: {what}; only plain digraphs are read")
        if match.lastgroup != "blank":
            found.append(Token(match.lastgroup or "", match.group(), line))
        at, line = match.end(), line + match.group().count("\n")
    return [*found, Token("end", "the end of the file", line)]


class _Parser:
    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.at = 0
        self.drawing = Drawing()
        self.defaults: dict[str, Attributes] = {"node": {}, "edge": {}, "graph": self.drawing.attributes}

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def take(self, mark: str) -> bool:
        """Whether the next token is this mark or keyword; it is then passed over."""
        matches = self.token.kind in ("mark", "word") and self.token.text.lower() == mark
        self.at += matches
        return matches

    def expect(self, mark: str) -> None:
        if not self.take(mark):
            raise self.error(f"expected {mark!r}")

    def error(self, expected: str) -> AutomatonError:
        return AutomatonError(f"line {self.token.line}: {expected}, found {self.token.text:.40}")

    def graph(self) -> Drawing:
        self.take("strict")
        self.expect("digraph")
        if self.token.text != "{":
            self.identifier()
        self.expect("{")
        while not self.take("}"):
            self.statement()
            while self.take(";"):
                pass
        if self.token.kind != "end":
            raise self.error("expected nothing after the graph")
        return self.drawing

    def statement(self) -> None:
        line = self.token.line
        if self.token.text.lower() in ("subgraph", "{"):
            raise self.error("subgraphs are not read; expected a node or an edge")
        keyword = self.token.text.lower() if self.token.kind == "word" else ""
        name = self.identifier()
        if keyword in self.defaults and self.token.text == "[":
            self.defaults[keyword].update(self.attribute_lists())
        elif self.take("="):
            self.drawing.attributes[name] = self.value()
        else:
            self.nodes_or_edges(unescape(name), line)

    def nodes_or_edges(self, first: str, line: int) -> None:
        chain = [first]
        while self.take("->"):
            chain.append(unescape(self.identifier()))
        attributes = self.attribute_lists()
        for name in chain:
            self.drawing.nodes.setdefault(name, Node(name, dict(self.defaults["node"])))
        if len(chain) == 1:
            self.drawing.nodes[first].attributes.update(attributes)
        for source, target in pairwise(chain):
            self.drawing.edges.append(Edge(source, target, self.defaults["edge"] | attributes, line))

    def attribute_lists(self) -> Attributes:
        attributes: Attributes = {}
        while self.take("["):
            while not self.take("]"):
                key = self.identifier()
                self.expect("=")
                attributes[key] = self.value()
                if not self.take(","):
                    self.take(";")
        return attributes

    def identifier(self) -> str:
        return self.value("expected a name")

    def value(self, expected: str = "expected a value") -> str:
        """A word, or the inside of a string with its backslashes."""
        token = self.token
        if token.kind not in ("word", "string"):
            raise self.error(expected)
        self.at += 1
        return token.text[1:-1] if token.kind == "string" else token.text


def unescape(name: str) -> str:
    """A name without its backslashes, each of which takes the next character as it is."""
    return ESCAPE.sub(r"\1", name)
