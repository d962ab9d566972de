"""The answers to words that a function draws, by other means than the tasks' machines; None for no question."""

import re


def reverse(word):
    return list(word)[::-1]


def stack_left(word):
    bits = list(word)
    commands = []
    while bits and bits[-1] not in "01":
        commands.append(bits.pop())
    if not bits or any(symbol not in "01" for symbol in bits):
        return None
    for command in reversed(commands):
        if command == "POP":
            bits = bits[:-1]
        else:
            bits.append(command.removeprefix("PUSH"))
    return [*reversed(bits), "END"]


def twice(word):
    return list(word) * 2


def by_place(first):
    def answer(word):
        return [a for i, a in enumerate(word) if i % 2 == first] + [a for i, a in enumerate(word) if i % 2 != first]

    return answer


def missing(word, padded=True):
    """The one bit that makes the word a square."""
    word = "".join(word)
    if padded and len(word) % 2 and word.endswith("3"):
        word = word[:-1]
    fits = [bit for bit in "01" if (filled := word.replace("2", bit)) == filled[: len(filled) // 2] * 2]
    good = word.count("2") == 1 and "3" not in word and len(word) % 2 == 0
    return fits if good and fits else None


def least_first(word):
    return [symbol for symbol in "0123456789" for _ in range(list(word).count(symbol))]


def written_sum(word):
    """School's addition, a digit and a carry at a time."""
    first, plus, second = "".join(word).partition("+")
    if not (first and plus and second) or "+" in second:
        return None
    digits, carry = [], 0
    for i in range(len(word)):
        carry += (first[i : i + 1] == "1") + (second[i : i + 1] == "1")
        digits.append(str(carry % 2))
        carry //= 2
    return trimmed(digits)


def written_product(word):
    """School's multiplication: columns of products, then carries."""
    first, times, second = "".join(word).partition("*")
    if not (first and times and second) or "*" in second:
        return None
    columns = [0] * (len(word) + 1)
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            columns[i + j] += a == b == "1"
    digits, carry = [], 0
    for column in columns:
        carry += column
        digits.append(str(carry % 2))
        carry //= 2
    return trimmed(digits)


def trimmed(digits):
    while len(digits) > 1 and digits[-1] == "0":
        digits = digits[:-1]
    return [*digits, "END"]


def root(word):
    """By a search for the largest number whose square is not too large."""
    number, low = int("".join(word), 2), 0
    high = number + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle * middle <= number else (low, middle)
    return list(format(low, "b").zfill((len(word) + 1) // 2))


def little_root(word):
    return root(word[::-1])[::-1]


def accepts(condition):
    return lambda word: "accept" if condition("".join(word)) else "reject"


marked_reversal = accepts(lambda word: word.count("#") == 1 and word == word[::-1])
unmarked_reversal = accepts(lambda word: len(word) % 2 == 0 and word == word[::-1])
majority = accepts(lambda word: word.count("1") > word.count("0"))
anbn = accepts(lambda word: word == "a" * (len(word) // 2) + "b" * (len(word) // 2) != "")
anbncn = accepts(lambda word: word == "".join(sorted(word)) and len({word.count(a) for a in "abc"}) == 1)


def crossing(pairs):
    """Each kind alone, its innermost pairs taken out until there is none."""

    def balanced(word):
        for pair in pairs:
            kind = "".join(symbol for symbol in word if symbol in pair)
            while pair in kind:
                kind = kind.replace(pair, "")
            if kind:
                return False
        return True

    return accepts(balanced)


def prefix_formula(word):
    """By Python, from a formula with brackets; None for what is none."""

    def formula(place):
        symbol, place = word[place], place + 1
        if symbol in "01":
            return f"bool({symbol})", place
        first, place = formula(place)
        if symbol == "!":
            return f"(not {first})", place
        second, place = formula(place)
        return f"({first} {'and' if symbol == '&' else 'or'} {second})", place

    try:
        text, end = formula(0)
    except IndexError:
        return None
    return str(int(eval(text))) if end == len(word) else None


def halves(image):
    """A word, #, and what Python makes of it."""
    return accepts(lambda word: word.count("#") == 1 and image(word.split("#")[0]) == word.split("#")[1])


marked_copy = halves(str)
marked_odds = halves(lambda word: "".join(by_place(0)(word)))
marked_sort = halves(lambda word: "".join(sorted(word)))
missing_one = accepts(
    lambda word: word.count("_") == 1 and (full := word.replace("_", "1"))[: len(full) // 2] * 2 == full
)


def true_equation(word):
    """By regular expressions and Python's numbers."""
    found = re.fullmatch(r"([01]+)([+*])([01]+)=([01]+)", "".join(word))
    if found is None:
        return "reject"
    x, y, z = (int(found[i][::-1], 2) for i in (1, 3, 4))
    return "accept" if (x + y if found[2] == "+" else x * y) == z else "reject"


def true_root(word):
    found = re.fullmatch(r"([01]+)=([01]+)", "".join(word))
    if found is None:
        return "reject"
    x, z = (int(found[i][::-1], 2) for i in (1, 2))
    return "accept" if z * z <= x < (z + 1) ** 2 else "reject"


def stack_checked(word):
    """By rewriting: PUSH b is b, a bit before a POP goes."""
    text = "".join(word).replace("PUSH", "u").replace("POP", "o")
    found = re.fullmatch(r"([01]*)((?:u[01]|o)*)#([01]*)", text)
    if found is None:
        return "reject"
    left, right = (found[1] + found[2]).replace("u", ""), found[3]
    while (shorter := re.sub("[01]o", "", left)) != left:
        left = shorter
    return "accept" if left == right[::-1] else "reject"
