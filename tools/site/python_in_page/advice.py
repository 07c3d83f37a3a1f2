"""Advice about an error in a page's Python, from its message and the line that raised it.

MicroPython reports "invalid syntax" for every line that it cannot parse, and lacks some of Python.
"""

try:
    from collections.abc import Callable
except ImportError:
    pass  # in MicroPython

PAIRS = {")": "(", "]": "[", "}": "{"}
INDENT = "The line after a colon must be indented by four spaces; an empty block needs `pass`."
UNREADABLE = "Python cannot read this line: is a comma, an operator or a bracket missing?"
FSTRING = (
    "In this page's Python, an f-string holds simple values only: calculate before it, and "
    "write `x=` without spaces."
)
SPELLING = "Is it spelled right? If it is, this page's Python lacks it."
NO_STAR = "This page's Python has no star in a list or a tuple: add lists with `+`."
ELSEWHERE = "Colab and Jupyter have all of Python."
# Characters that resemble others, most of them from a copied text.
LOOKALIKES = {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "×": "*", "−": "-", "–": "-"}
SPACES = "\u00a0\u2007\u202f\u3000"
HEADERS = ("if", "elif", "else", "for", "while", "def", "class", "try", "except", "finally", "with")
KEYWORDS = HEADERS + (  # noqa: RUF005 - MicroPython has no star in a tuple
    "lambda",
    "return",
    "in",
    "is",
    "not",
    "and",
    "or",
    "import",
    "from",
    "pass",
    "global",
    "True",
    "False",
    "None",
    "del",
    "as",
    "assert",
    "break",
    "continue",
    "raise",
    "yield",
)
# Parts of a line outside strings and comments, and what to write instead.
OPERATORS = (
    ("&&", "Write `and` instead of `&&`."),
    ("||", "Write `or` instead of `||`."),
    ("++", "To add 1, write `x += 1`."),
    ("--", "To subtract 1, write `x -= 1`."),
    ("===", "To compare, write `==`."),
    ("else if", "Write `elif` instead of `else if`."),
    ("[*", NO_STAR),
    ("(*", NO_STAR),
    (", *", NO_STAR),
    ("{**", "This page's Python has no stars in a dict: copy one, then use `update`."),
)
# Words that no line of Python begins with.
FIRST_WORDS = {
    "function": "A function begins with `def`.",
    "func": "A function begins with `def`.",
    "let": "A variable needs no declaration: write `x = 1`.",
    "var": "A variable needs no declaration: write `x = 1`.",
    "const": "A variable needs no declaration: write `x = 1`.",
}
# Modules and what is missing in modules, with a way to do without.
IMPORTS = {
    "__future__": "Leave this line out: annotations are not read here.",
    "dataclasses": "Write a class with `__init__` instead of a dataclass.",
    "statistics": "The mean of a list is `sum(x) / len(x)`.",
    "Counter": "Count in a dict: `counts[x] = counts.get(x, 0) + 1`.",
    "lru_cache": "Store results in a dict of your own.",
    "cache": "Store results in a dict of your own.",
    "cached_property": "Store the result in an attribute.",
    "enum": "Use constants, such as `RED = 1`.",
    "fractions": "Calculate with the numerator and the denominator, which are whole numbers.",
    "decimal": "Use floats and `round`, or whole numbers.",
    "bisect": "Search with a loop.",
    "product": "Use one loop within another.",
    "combinations": "Use loops within loops.",
    "permutations": "Use loops within loops.",
    "pairwise": "Use `zip(x, x[1:])`.",
    "zip_longest": "Use the index, `for i in range(...)`.",
    "groupby": "Collect the groups in a dict.",
    "itemgetter": "Use `lambda x: x[0]`.",
    "NamedTuple": "Use `namedtuple` from `collections`.",
    "Generic": "Leave it out: types are not read here.",
    "Protocol": "Leave it out: types are not read here.",
    "TypedDict": "Leave it out: types are not read here.",
    "SimpleNamespace": "Write a class.",
    "contextlib": "Write a class with `__enter__` and `__exit__`.",
    "findall": "Search again in the rest, in a loop.",
    "nsmallest": "Write `sorted(x)[:n]`.",
    "nlargest": "Write `sorted(x, reverse=True)[:n]`.",
    "shuffle": "Swap each item with one at a random index.",
    "mul": "Write `lambda a, b: a * b`.",
    "add": "Write `lambda a, b: a + b`.",
    "sub": "Write `lambda a, b: a - b`.",
    "matmul": "Write the loops: that is what the book is about.",
    "numpy": "Here, vectors are lists of numbers. numpy and torch are in Colab and Jupyter.",
    "torch": "Here, vectors are lists of numbers. numpy and torch are in Colab and Jupyter.",
}
# Names that a kind of value does not have, in this Python or in any, and what to write instead.
ATTRIBUTES = {
    "length": "The length is `len(x)`.",
    "size": "The length is `len(x)`.",
    "shape": "A list has no shape: `len(x)` is the number of rows, `len(x[0])` of columns.",
    "T": "To transpose a list of lists, write `[list(row) for row in zip(*x)]`.",
    "push": "To add at the end, write `x.append(value)`.",
    "add": "To add at the end of a list, write `x.append(value)`.",
    "sum": "The sum is `sum(x)`.",
    "max": "The largest is `max(x)`.",
    "min": "The smallest is `min(x)`.",
    "mean": "The mean is `sum(x) / len(x)`.",
    "item": "A number is a number already: leave `.item()` out.",
    "tolist": "It is a list already: leave `.tolist()` out.",
    "contains": "Write `value in x`.",
    "is_integer": "Write `x == int(x)`.",
    "as_integer_ratio": ELSEWHERE,
    "bit_length": "Write `len(bin(x)) - 2`.",
    "bit_count": "Write `bin(x).count('1')`.",
    "real": "A number that is not complex is its own real part.",
    "capitalize": "Write `x[:1].upper() + x[1:].lower()`.",
    "title": "Capitalize word by word: `x[:1].upper() + x[1:]`.",
    "casefold": "Write `x.lower()`.",
    "removeprefix": "Write `x[len(prefix):]` if `x.startswith(prefix)`.",
    "removesuffix": "Write `x[:-len(suffix)]` if `x.endswith(suffix)`.",
    "zfill": "Write `'{:0>5}'.format(x)` for five characters.",
    "ljust": "Write `'{:<5}'.format(x)` for five characters.",
    "rjust": "Write `'{:>5}'.format(x)` for five characters.",
    "isalnum": "Write `x.isalpha() or x.isdigit()` for each character.",
    "isnumeric": "Write `x.isdigit()`.",
    "isdecimal": "Write `x.isdigit()`.",
    "maketrans": "Replace characters with `x.replace(old, new)`.",
    "translate": "Replace characters with `x.replace(old, new)`.",
    "swapcase": "Write `c.lower() if c.isupper() else c.upper()` for each character.",
    "expandtabs": "Write `x.replace(tab, spaces)`.",
    "isidentifier": ELSEWHERE,
    "isascii": "Write `all(ord(c) < 128 for c in x)`.",
    "__getitem__": "Write `lambda i: x[i]`.",
    "__doc__": "Docstrings are not stored here.",
}
# Parts of MicroPython's messages about a line that it cannot parse.
SYNTAX = (
    ("*x must be", NO_STAR),
    ("integer with base 0", "A whole number cannot begin with 0."),
    ("invalid syntax for", "A name cannot begin with a digit, and a product needs `*`."),
    ("assign to", "The name is on the left of `=`, the value on the right."),
    ("expecting key:value", "A dict has a key and a value in each item: `{key: value}`."),
)
# Parts of messages that only MicroPython has.
MESSAGES = (
    ("invalid syntax for", "The string is not a number that Python can read."),
    ("'defaultdict'", "A `defaultdict` can do less here: use a dict and `x.setdefault(key, [])`."),
    ("dict update sequence", "A dict is made from another dict, or from pairs."),
    ("'dict_view'", "Make sets of both first: `set(a) & set(b)`."),
    (
        "'type' object isn't subscriptable",
        "Leave the square brackets out: types are not read here.",
    ),
    (
        "keyword arguments",
        "Pass it by position: some functions know fewer names here than in Python.",
    ),
    ("function takes", "Count the arguments: some functions take fewer here than in Python."),
    ("function missing", "Count the arguments: here, `deque(x, 10)` needs a largest length."),
    ("can't create 'slice' instances", "Write the slice itself, `x[start:stop]`."),
    ("regex too complex", "Here, regular expressions are simple ones: look for less at once."),
    ("unknown format code", "Convert it first, with `float(x)` or `str(x)`."),
    ("recursion depth", "A function calls itself without an end, or a list holds itself."),
    ("not supported between instances", "Compare two numbers, or two strings."),
)
ASSIGNMENTS = ("= ", "+=", "-=", "*=", "/=", "//=")
# Names of other languages, and of modules that are not here.
NAMES = {
    "true": "Write `True`.",
    "false": "Write `False`.",
    "null": "Write `None`.",
    "none": "Write `None`.",
    "np": IMPORTS["numpy"],
    "torch": IMPORTS["torch"],
}


def advice(error: BaseException, message: str, code: str, line: "int | None") -> str:
    """A sentence of advice, or an empty text.

    Args:
        error: what was raised.
        message: its text.
        code: what the reader wrote.
        line: where in the code the error was raised, from 1.
    """
    lines = code.split("\n")
    text = lines[line - 1] if line and line <= len(lines) else ""
    if isinstance(error, (NameError, SyntaxError)):
        found = lookalike(text) or next(filter(None, map(lookalike, lines)), "")
        if found:
            return found
    subjects: list[tuple[type[BaseException], Callable[[], str]]] = [
        (SyntaxError, lambda: about_syntax(code, line or 1, message)),
        (ImportError, lambda: about_import(message)),
        (AttributeError, lambda: about_attribute(message, code)),
        (OSError, lambda: "A page has no files." if message.isdigit() else ""),
        (NotImplementedError, lambda: about_missing_features(message, text)),
        (NameError, lambda: about_name(message, text)),
    ]
    for kind, about in subjects:
        if isinstance(error, kind):
            return about()
    return about_messages(message)


def about_messages(message: str) -> str:
    """Advice about a message that only MicroPython has."""
    return next((hint for part, hint in MESSAGES if part in message), "")


def lookalike(text: str) -> str:
    """Advice about a character that resembles one of Python's; empty if there is none."""
    for letter in text:
        if letter in SPACES:
            return f"Type the spaces of `{text.strip()}` again: one is a special character."
        if letter in LOOKALIKES:
            return f"Write {LOOKALIKES[letter]} instead of {letter}, which only looks like it."
    return ""


class Scan:
    """Code without its strings and comments, and what is not closed in it.

    `lines` are the code's lines with every string as `""`. `depths` is the number of brackets open
    where each line begins. `opened` are the brackets that are never closed, `closed` those that
    were never opened, `unended` the strings without an end: each with its line.
    """

    def __init__(self, code: str) -> None:
        self.lines: list[str] = []
        self.depths: list[int] = []
        self.opened: list[tuple[str, int]] = []
        self.closed: list[tuple[str, int]] = []
        self.unended: list[int] = []
        quote = ""  # of a string that goes on over several lines
        for text in code.split("\n"):
            self.depths.append(len(self.opened))
            outside, quote = without_strings(text, quote)
            for letter in outside:
                self._bracket(letter)
            self.lines.append(outside)
            if len(quote) == 1:
                self.unended.append(len(self.lines))
                quote = ""
        if quote:
            self.unended.append(len(self.lines))

    def _bracket(self, letter: str) -> None:
        number = len(self.lines) + 1
        if letter in "([{":
            self.opened.append((letter, number))
        elif letter in PAIRS:
            if self.opened and self.opened[-1][0] == PAIRS[letter]:
                self.opened.pop()
            else:
                self.closed.append((letter, number))


def without_strings(text: str, quote: str) -> "tuple[str, str]":
    """A line without strings and comments, and the quote that is open at its end.

    Args:
        text: the line.
        quote: what opened the string that the line begins in; empty outside strings.
    """
    outside, i = "", 0
    while i < len(text):
        if quote and text[i] == "\\":
            i += 2
        elif quote:
            is_end = text[i : i + len(quote)] == quote
            i += len(quote) if is_end else 1
            quote = "" if is_end else quote
        elif text[i] == "#":
            break
        elif text[i] in "\"'":
            quote = text[i] * 3 if text[i : i + 3] == text[i] * 3 else text[i]
            outside += '""'
            i += len(quote)
        else:
            outside += text[i]
            i += 1
    return outside, quote


def about_syntax(code: str, line: int, message: str) -> str:
    """Advice about a line that cannot be parsed; empty if the message is clear enough."""
    if message != "invalid syntax":
        return next((hint for part, hint in SYNTAX if part in message), "")
    scan = Scan(code)
    line = min(line, len(scan.lines))  # MicroPython counts one more at the end
    text = scan.lines[line - 1]
    word = first_word(text)
    subjects: list[Callable[[], str]] = [
        lambda: about_unclosed(scan, line),
        lambda: about_indent(scan, line),
        lambda: about_operators(text),
        lambda: about_words(text.strip(), word),
        lambda: about_header(text.strip(), word),
    ]
    for about in subjects:
        found = about()
        if found:
            return found
    is_fstring = "f'" in code.split("\n")[line - 1] or 'f"' in code.split("\n")[line - 1]
    return FSTRING if is_fstring else UNREADABLE


def about_unclosed(scan: Scan, line: int) -> str:
    """Advice about a string or a bracket that is not closed."""
    if line in scan.unended:
        return "A string is not closed: end it with the quote that it begins with."
    for letter, number in scan.opened:
        if number <= line:
            where = "of this line" if number == line else f"of line {number}"
            return f"The bracket `{letter}` {where} is not closed."
    for letter, number in scan.closed:
        if number == line:
            return f"The bracket `{letter}` closes nothing, or not what was opened last."
    return ""


def about_indent(scan: Scan, line: int) -> str:
    """Advice about a line that should be indented."""
    before = [i for i in range(line - 1) if scan.lines[i].strip()]
    if not before or scan.depths[line - 1]:
        return ""
    above = scan.lines[before[-1]]
    text = scan.lines[line - 1]
    if lacks_except(scan, line):
        return "`try` needs an `except` or a `finally`."
    is_header = above.rstrip().endswith(":") and first_word(above) in HEADERS
    return INDENT if is_header and indent(text) <= indent(above) else ""


def lacks_except(scan: Scan, line: int) -> bool:
    """Whether the block above a line is that of a `try`, and nothing catches what it raises."""
    text = scan.lines[line - 1]
    for above in reversed(scan.lines[: line - 1]):
        if above.strip() and indent(above) <= indent(text):
            is_try = above.strip().startswith("try:")
            return is_try and first_word(text) not in ("except", "finally")
    return False


def about_operators(text: str) -> str:
    """Advice about operators of other languages, or of a newer Python."""
    for written, hint in OPERATORS:
        if written in text and not (written[-1] == "*" and ("def " in text or "=" in text[:2])):
            return hint
    for i in range(len(text)):
        if text[i] == "!" and text[i + 1 : i + 2] != "=":
            return "Write `not` instead of `!`."
    return ""


def about_words(text: str, word: str) -> str:
    """Advice about words that Python, or this Python, does not have."""
    if word in ("match", "case") and text.endswith(":"):
        return "This page's Python has no `match`: write `if`, `elif` and `else`."
    if word == "def" and "/" in text:
        return "This page's Python has no positional-only parameters: leave out the `/`."
    for keyword in KEYWORDS:
        if text.startswith((f"{keyword} = ", f"def {keyword}(")):
            return f"`{keyword}` is a word of Python itself: choose another name."
    has_if = " if " in text and " else " not in text and word not in HEADERS
    if has_if and "[" not in text and "(" not in text:
        return "A value with `if` needs an `else`: `a if condition else b`."
    if word == "print" and not text[len(word) :].lstrip().startswith("("):
        return "`print` is a function: write `print(...)`."
    return FIRST_WORDS.get(word, "")


def about_header(text: str, word: str) -> str:
    """Advice about a line that begins a block."""
    if word not in HEADERS:
        return ""
    if ":" not in outside_brackets(text):
        return f"A line that begins with `{word}` ends with a colon."
    if word in ("if", "elif", "while") and has_single_equals(text):
        return "To compare, write `==`."
    if word in ("elif", "else", "except", "finally"):
        opener = "try" if word in ("except", "finally") else "if"
        return f"`{word}` needs an `{opener}` above it, with the same indentation."
    return ""


def first_word(text: str) -> str:
    """The name that a line begins with."""
    text = text.strip()
    end = 0
    while end < len(text) and (text[end].isalpha() or text[end].isdigit() or text[end] == "_"):
        end += 1
    return text[:end]


def indent(text: str) -> int:
    """The number of spaces that a line begins with."""
    return len(text) - len(text.lstrip())


def outside_brackets(text: str) -> str:
    """The part of a line that is in no brackets."""
    depth, outside = 0, ""
    for letter in text:
        depth -= letter in PAIRS
        if depth <= 0:
            outside += letter
        depth += letter in "([{"
    return outside


def has_single_equals(text: str) -> bool:
    """Whether a line assigns, outside brackets."""
    text = outside_brackets(text)
    for compared in ("==", "<=", ">=", "!=", ":="):
        text = text.replace(compared, "")
    return "=" in text


def about_import(message: str) -> str:
    """Advice about a module that this Python lacks, or a name that a module lacks."""
    module = message.replace("'", " ").split()[-1] if message else ""
    for part in reversed(module.split(".")):
        if part in IMPORTS:
            return IMPORTS[part]
    if message.startswith("can't import name"):
        return SPELLING
    return f"This page's Python does not have it. {ELSEWHERE}"


def about_attribute(message: str, code: str) -> str:
    """Advice about an attribute that a value does not have."""
    quoted = message.split("'")
    name = quoted[-2] if len(quoted) > 2 else ""
    owner = quoted[1] if len(quoted) > 2 else ""
    if f"class {owner}" in code and not name.startswith("_"):
        return ""  # it is for the reader's own class to have it
    if owner == "NoneType":
        return "The value is None: does a function have no `return`?"
    if owner == "function":
        return "Here, functions have no attributes: use a list, or a class."
    if "module" in message:
        return IMPORTS.get(name, SPELLING)
    return ATTRIBUTES.get(name, SPELLING)


def about_missing_features(message: str, text: str) -> str:
    """Advice about what MicroPython has not implemented."""
    if "attributes not supported" in message:
        return "Here, `format` takes the value itself: write `'{}'.format(x[0])`, or an f-string."
    if "slices with step" in message or "::" in text.replace(" ", ""):
        return (
            "This page's Python takes steps only when it reads a list: "
            "use `''.join(reversed(x))` for a string backwards, or `list(x)[::2]`."
        )
    if "raise" in text:
        return "" if message else "It was raised by your code: something is not written yet."
    return f"This page's Python cannot do that. {ELSEWHERE}"


def about_name(message: str, text: str) -> str:
    """Advice about a name that has no value."""
    if "referenced before assignment" in message:
        word = first_word(text)
        rest = text.strip()[len(word) :].lstrip()
        name = f"`{word}`" if word and rest.startswith(ASSIGNMENTS) else "A name of this line"
        return (
            f"{name} has no value yet in this function: give it one first, or make it an argument."
        )
    quoted = message.split("'")
    name = quoted[1] if len(quoted) > 1 else ""
    return NAMES.get(name, "")
