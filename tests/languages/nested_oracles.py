"""What the words of context-free languages are worth, by other means than a machine; None for no question."""

import ast
import json
import re
from xml.etree import ElementTree

CLASSES = ("reject", "accept")


def brackets(pairs):
    """Innermost pairs are taken out until there is none."""

    def answer(word):
        before = None
        while word != before:
            before = word
            for a, b in pairs:
                word = word.replace(a + b, "")
        return CLASSES[not word]

    return answer


def depth_first(pairs, bound):
    """By a stack; for words with a bound."""
    partner = dict(pairs)

    def answer(word):
        stack = []
        for symbol in word:
            if symbol in partner:
                stack.append(partner[symbol])
                if len(stack) > bound:
                    return "reject"
            elif not stack or stack.pop() != symbol:
                return "reject"
        return CLASSES[not stack]

    return answer


def xml(word):
    try:
        ElementTree.fromstring("".join(word.split()))
    except ElementTree.ParseError:
        return "reject"
    return "accept"


def json_tokens(word):
    try:
        json.loads(" ".join(word.replace("s", '"').replace('"', '"s"').replace("n", "1")))
    except json.JSONDecodeError:
        return "reject"
    return "accept"


def reversal(word):
    half = len(word) // 2
    first, second = word[:half], word[half:]
    return CLASSES[not word or (first.islower() and second.isupper() and first == second.lower()[::-1])]


def formula(word):
    """By rewriting: !0 -> 1, (1&0) -> 0, ..."""
    rules = {"!0": "1", "!1": "0"} | {
        f"({a}{op}{b})": str(int(a) & int(b) if op == "&" else int(a) | int(b))
        for a in "01"
        for b in "01"
        for op in "&|"
    }
    before = None
    while word != before:
        before = word
        for old, new in rules.items():
            word = word.replace(old, new)
    return word if word in ("0", "1") else None


def arithmetic(word, operators="+-*", modulus=5):
    """Python's own value of it, where rewriting innermost brackets finds that each operation stands in some."""
    shape, before = re.sub("[0-9]", "d", word), None
    while shape != before:
        before, shape = shape, re.sub(rf"\((?:-?d|(?:-?d|E)[{re.escape(operators)}](?:-?d|E))\)", "E", shape)
    return str(eval(word, {}) % modulus) if shape in ("d", "-d", "E") else None


def precedence(word, modulus=5):
    """Python's value of the expression, where its parser sees operations on single digits and nothing else."""
    try:
        tree = ast.parse(word, mode="eval")
    except (SyntaxError, MemoryError):
        return None
    allowed = (ast.Expression, ast.BinOp, ast.Constant, ast.Add, ast.Sub, ast.Mult)
    if re.search("[0-9][0-9]", word) or not all(isinstance(node, allowed) for node in ast.walk(tree)):
        return None
    return str(eval(word, {}) % modulus)


def equation(word, modulus=5):
    """All digits are tried."""
    left, _, right = word.partition("=")
    if left.count("x") != 1 or len(right) != 1 or not right.isdigit():
        return None
    solutions = [d for d in range(modulus) if arithmetic(left.replace("x", str(d)), "+-", modulus) == right]
    return str(solutions[0]) if solutions else None


def list_ops(word):
    """By rewriting innermost lists."""
    operations = {"MAX": max, "MIN": min, "SM": lambda values: sum(values) % 10}

    def value(match):
        return str(operations[match[1]]([int(digit) for digit in match[2].split()]))

    before = None
    while word != before:
        before, word = word, re.sub(r"\[(MAX|MIN|SM)((?: [0-9])+) \]", value, word)
    return word if re.fullmatch("[0-9]", word) else None
