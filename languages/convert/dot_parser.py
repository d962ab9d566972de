"""The part of the DOT language that drawings of machines use, with the lines for error messages."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from languages.budget import allowed, too_large
from languages.errors import AutomatonError

TOKEN = re.compile(
    r"""(?P<blank>\s+|//[^\n]*|/\*.*?\*/|(?m:^\#[^\n]*))
      | (?P<string>"(?:[^"\\]++|\\.)*+")
      | (?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<mark>->|--|[{}\[\];,=:])
      | (?P<wrong>.)""",
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(.)", re.DOTALL)
KEPT = {"alphabet", "output_names", "label", "shape", "style", "peripheries", "is_start"}  # of all attributes
WRONG = {'"': "a string without an end", "<": "a label in HTML, write it in quotes"}
MAX_TOKENS = 2**22
MAX_DEPTH = 50
Attributes = dict[str, str]


class Token(NamedTuple):
    kind: str
    text: str
    at: int


class Edge(NamedTuple):
    source: str
    target: str
    attributes: Attributes
    at: int


@dataclass(frozen=True)
class DotGraph:
    """Attribute values keep their backslashes, which labels need; names of nodes do not."""

    text: str = ""
    attributes: Attributes = field(default_factory=dict[str, str])
    nodes: dict[str, Attributes] = field(default_factory=dict[str, Attributes])
    edges: list[Edge] = field(default_factory=list[Edge])

    def line(self, edge: Edge) -> int:
        return line_at(self.text, edge.at)


def parse(text: str) -> DotGraph:
    """The nodes and edges of a directed graph, with the defaults of `node [...]` and `edge [...]` applied.

    Attributes that say nothing about a machine, such as colours, are left out.
    """
    return _DotParser(text).graph()


def tokens(text: str) -> Iterator[Token]:
    """What is no blank and no comment, and a last token for the end."""
    most = allowed(MAX_TOKENS)
    # Lazily, so that a file that is refused at its beginning is not taken apart to its end.
    for count, match in enumerate(TOKEN.finditer(text)):
        if count > most:
            raise too_large(count, MAX_TOKENS, f"the drawing has {count:,} words and marks or more")
        kind = match.lastgroup or ""
        if kind == "wrong":
            what = WRONG.get(match.group(), f"unexpected {match.group()!r}")
            raise AutomatonError(f"line {line_at(text, match.start())}: {what}; only plain digraphs are read")
        if kind != "blank":
            yield Token(kind, match.group(), match.start())
    yield Token("end", "the end of the file", len(text))


def line_at(text: str, at: int) -> int:
    """The line, from 1, of a place in a text."""
    return text.count("\n", 0, at) + 1


class _DotParser:
    def __init__(self, text: str) -> None:
        self.tokens = tokens(text)  # one token is looked at ahead; there is no going back
        self.token = next(self.tokens)
        self.drawing = DotGraph(text)
        self.defaults: dict[str, Attributes] = {"node": {}, "edge": {}, "graph": self.drawing.attributes}
        self.depth = 0  # of groups
        self.written: dict[str, str] = {}  # how each node's name is written

    def advance(self) -> Token:
        token = self.token
        self.token = next(self.tokens, token)
        return token

    def take(self, mark: str) -> bool:
        """Whether the next token is this mark; it is then passed over."""
        matches = self.token.text == mark and self.token.kind == "mark"
        if matches:
            self.advance()
        return matches

    def take_keyword(self, word: str) -> bool:
        matches = self.token.kind == "word" and self.token.text.lower() == word
        if matches:
            self.advance()
        return matches

    def expect(self, is_there: bool, what: str) -> None:
        if not is_there:
            raise self.error(f"expected {what!r}")

    def error(self, expected: str) -> AutomatonError:
        line = line_at(self.drawing.text, self.token.at)
        # A quoted name may hold a newline, and what a terminal obeys; the message stays a line.
        return AutomatonError(f"line {line}: {expected}, found {repr(self.token.text[:40])[1:-1]}")

    def graph(self) -> DotGraph:
        """graph = "strict"? "digraph" identifier? "{" statements "}", and nothing behind it."""
        self.take_keyword("strict")
        self.expect(self.take_keyword("digraph"), "digraph")
        if self.token.text != "{":
            self.identifier()
        self.statements()
        if self.token.kind != "end":
            raise self.error("expected nothing after the graph")
        return self.drawing

    def statements(self) -> None:
        """ "{" (statement ";"*)* "}"."""
        self.expect(self.take("{"), "{")
        while not self.take("}"):
            self.statement()
            while self.take(";"):
                pass

    def statement(self) -> None:
        """Attributes of all nodes or edges or of the graph, nodes, edges, or a group of such."""
        first = self.token
        if first.kind in ("mark", "word") and first.text.lower() in ("{", "subgraph"):
            self.subgraph()
            return
        keyword = first.text.lower() if first.kind == "word" else ""
        name = self.identifier()
        if keyword in self.defaults and self.token.text == "[":
            self.defaults[keyword].update(self.attribute_lists())
        elif self.take("="):
            self.defaults["graph"][name] = self.value()
        else:
            self.nodes_or_edges(name, first.at)

    def subgraph(self) -> None:
        """("subgraph" identifier?)? statements: how nodes lie, as in {rank=same; p q}. Its attributes end with it."""
        if self.take_keyword("subgraph") and self.token.text != "{":
            self.identifier()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"expected at most {MAX_DEPTH} groups in one another")
        outside, self.defaults = self.defaults, {key: dict(values) for key, values in self.defaults.items()}
        self.statements()
        self.defaults = outside
        self.depth -= 1
        if self.token.text == "->":
            raise self.error("arrows to or from a group are not read; draw one for each node; expected a node")

    def nodes_or_edges(self, first: str, at: int) -> None:
        """A node, or a chain of edges, with its attributes; `first` is the first name, at the place `at`."""
        chain = [self.node(first)]
        while self.take("->"):
            if self.token.text in ("{", "subgraph"):
                raise self.error("arrows to or from a group are not read; draw one for each node; expected a node")
            chain.append(self.node(self.identifier()))
        attributes = self.attribute_lists()
        nodes, edges = self.drawing.nodes, self.drawing.edges
        for name in chain:
            if name not in nodes:
                # Defaults count for nodes that come after them, as in graphviz.
                nodes[name] = dict(self.defaults["node"])
        if len(chain) == 1:
            nodes[chain[0]].update(attributes)
        # a -> b -> c is two edges with the same attributes.
        attributes = self.defaults["edge"] | attributes
        edges += [Edge(source, target, attributes, at) for source, target in pairwise(chain)]

    def node(self, written: str) -> str:
        """The name of a node, without the port that an arrow is drawn to."""
        while self.take(":"):
            self.identifier()
        name = unescape(written)
        if self.written.setdefault(name, written) != written:
            raise self.error(f"the names {self.written[name]!r:.80} and {written!r:.80} are too alike; rename one")
        return name

    def attribute_lists(self) -> Attributes:
        """("[" (identifier "=" value ("," | ";")?)* "]")*, of which the names in KEPT are kept."""
        attributes: Attributes = {}
        while self.take("["):
            while not self.take("]"):
                key = self.identifier()
                self.expect(self.take("="), "=")
                value = self.value()
                if key in KEPT:
                    attributes[key] = value
                if not self.take(","):
                    self.take(";")
        return attributes

    def identifier(self) -> str:
        return self.value("expected a name")

    def value(self, expected: str = "expected a value") -> str:
        if self.token.kind not in ("word", "string"):
            raise self.error(expected)
        kind, text, _ = self.advance()
        return text[1:-1] if kind == "string" else text


def unescape(name: str) -> str:
    r"""A name on a line, without its backslashes, each of which takes the next character as it is.

    >>> unescape(r"odd\nnumber \"of\" 1s")
    'odd number "of" 1s'
    """
    return ESCAPE.sub(lambda match: " " if match[1] in "nlr" else match[1], name) if "\\" in name else name
