"""Text as it may be shown: on a terminal, which obeys some characters, and on a page, which some turn around."""

from collections.abc import Iterator, Sequence

MOST_BYTES = 4  # of a character in UTF-8


def printable(text: str) -> str:
    r"""The text with the characters spelled out that nobody sees; newlines and tabs stay.

    >>> printable("a\tb\n\x1b[2J"), printable("\u202eé")
    ('a\tb\n\\x1b[2J', '\\u202eé')
    """
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def characters(data: bytes) -> Iterator[tuple[str, int]]:
    r"""The characters of some bytes, as they may be shown, each with its number of bytes; UTF-8 or not.

    >>> list(characters(b"a\xc3\xa9\xff\x00"))
    [('a', 1), ('é', 2), ('\\xff', 1), ('\\x00', 1)]
    """
    at = 0
    while at < len(data):
        text, count = _first(data[at : at + MOST_BYTES])
        yield text, count
        at += count


def _first(data: Sequence[int]) -> tuple[str, int]:
    for count in range(1, len(data) + 1):
        try:
            return printable(bytes(data[:count]).decode()), count
        except UnicodeDecodeError:
            continue
    return f"\\x{data[0]:02x}", 1
