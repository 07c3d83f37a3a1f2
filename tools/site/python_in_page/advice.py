"""Advice about an error in a page's Python, from its message and the line that raised it.

MicroPython reports "invalid syntax" for every line that it cannot parse, and lacks some of Python.
"""

from attnbook.messages import Messages

try:
    from collections.abc import Callable
except ImportError:
    pass  # in MicroPython

TEXT = Messages(__file__)
PAIRS = {")": "(", "]": "[", "}": "{"}
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
# Parts of a line outside strings and comments, and the name of the advice.
OPERATORS = (
    (">>>", "prompt"),
    ("... ", "prompt"),
    ("&&", "and"),
    ("||", "or"),
    ("++", "plus_plus"),
    ("--", "minus_minus"),
    ("===", "compare"),
    ("else if", "else_if"),
    ("[*", "no_star"),
    ("(*", "no_star"),
    (", *", "no_star"),
    ("{**", "no_dict_star"),
)
# Parts of MicroPython's messages about a line that it cannot parse.
SYNTAX = (
    ("*x must be", "no_star"),
    ("integer with base 0", "leading_zero"),
    ("invalid syntax for", "name_with_digit"),
    ("assign to", "assignment"),
    ("expecting key:value", "dict_items"),
)
# Parts of messages that only MicroPython has.
MESSAGES = (
    ("invalid syntax for", "not_a_number"),
    ("'defaultdict'", "defaultdict"),
    ("dict update sequence", "dict_source"),
    ("'dict_view'", "dict_view"),
    ("'type' object isn't subscriptable", "subscripted_type"),
    ("keyword arguments", "keyword_arguments"),
    ("function takes", "too_many_arguments"),
    ("function missing", "missing_argument"),
    ("can't create 'slice' instances", "slice_object"),
    ("regex too complex", "complex_regex"),
    ("unknown format code", "format_code"),
    ("recursion depth", "recursion"),
    ("not supported between instances", "comparison"),
)
ASSIGNMENTS = ("= ", "+=", "-=", "*=", "/=", "//=")


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
        (OSError, lambda: TEXT("no_files") if message.isdigit() else ""),
        (NotImplementedError, lambda: about_missing_features(message, text)),
        (NameError, lambda: about_name(message, text)),
    ]
    for kind, about in subjects:
        if isinstance(error, kind):
            return about()
    return about_messages(message)


def about_messages(message: str) -> str:
    """Advice about a message that only MicroPython has."""
    hints = TEXT.group("messages")
    return next((hints[name] for part, name in MESSAGES if part in message), "")


def lookalike(text: str) -> str:
    """Advice about a character that resembles one of Python's; empty if there is none."""
    for letter in text:
        if letter in SPACES:
            return TEXT("special_space", line=text.strip())
        if letter in LOOKALIKES:
            return TEXT("lookalike", right=LOOKALIKES[letter], wrong=letter)
    return ""


class Scan:
    """Code without its strings and comments, and what is not closed in it.

    `lines` are the code's lines with every string as `""`. `depths` is the number of brackets open
    where each line begins. `open_brackets` are never closed, `extra_brackets` never opened, and
    `open_strings` have no end: each with its line.
    """

    def __init__(self, code: str) -> None:
        self.lines: list[str] = []
        self.depths: list[int] = []
        self.open_brackets: list[tuple[str, int]] = []
        self.extra_brackets: list[tuple[str, int]] = []
        self.open_strings: list[int] = []
        quote = ""  # of a string that goes on over several lines
        for text in code.split("\n"):
            self.depths.append(len(self.open_brackets))
            outside, quote = without_strings(text, quote)
            for letter in outside:
                self._bracket(letter)
            self.lines.append(outside)
            if len(quote) == 1:
                self.open_strings.append(len(self.lines))
                quote = ""
        if quote:
            self.open_strings.append(len(self.lines))

    def _bracket(self, letter: str) -> None:
        number = len(self.lines) + 1
        if letter in "([{":
            self.open_brackets.append((letter, number))
        elif letter in PAIRS:
            if self.open_brackets and self.open_brackets[-1][0] == PAIRS[letter]:
                self.open_brackets.pop()
            else:
                self.extra_brackets.append((letter, number))


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
        hints = TEXT.group("syntax")
        return next((hints[name] for part, name in SYNTAX if part in message), "")
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
    return TEXT("complex_fstring" if is_fstring else "unreadable")


def about_unclosed(scan: Scan, line: int) -> str:
    """Advice about a string or a bracket that is not closed."""
    if line in scan.open_strings:
        return TEXT("open_string")
    for letter, number in scan.open_brackets:
        if number == line:
            return TEXT("open_bracket", bracket=letter)
        if number < line:
            return TEXT("open_bracket_above", bracket=letter, line=number)
    for letter, number in scan.extra_brackets:
        if number == line:
            return TEXT("wrong_bracket", bracket=letter)
    return ""


def about_indent(scan: Scan, line: int) -> str:
    """Advice about a line that should be indented."""
    before = [i for i in range(line - 1) if scan.lines[i].strip()]
    if not before or scan.depths[line - 1]:
        return ""
    above = scan.lines[before[-1]]
    text = scan.lines[line - 1]
    if lacks_except(scan, line):
        return TEXT("try_alone")
    is_header = above.rstrip().endswith(":") and first_word(above) in HEADERS
    return TEXT("indent") if is_header and indent(text) <= indent(above) else ""


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
    for written, name in OPERATORS:
        if written in text and not (written[-1] == "*" and ("def " in text or "=" in text[:2])):
            return TEXT.group("syntax")[name]
    for i in range(len(text)):
        if text[i] == "!" and text[i + 1 : i + 2] != "=":
            return TEXT("not")
    return ""


def about_words(text: str, word: str) -> str:
    """Advice about words that Python, or this Python, does not have."""
    if word in ("match", "case") and text.endswith(":"):
        return TEXT("no_match")
    if word == "def" and "/" in text:
        return TEXT("no_positional_only")
    for keyword in KEYWORDS:
        if text.startswith((f"{keyword} = ", f"def {keyword}(")):
            return TEXT("keyword", keyword=keyword)
    has_if = " if " in text and " else " not in text and word not in HEADERS
    if has_if and "[" not in text and "(" not in text:
        return TEXT("if_without_else")
    if word == "print" and not text[len(word) :].lstrip().startswith("("):
        return TEXT("print")
    return TEXT.group("first_words").get(word, "")


def about_header(text: str, word: str) -> str:
    """Advice about a line that begins a block."""
    if word not in HEADERS:
        return ""
    if ":" not in outside_brackets(text):
        return TEXT("colon", word=word)
    if word in ("if", "elif", "while") and has_single_equals(text):
        return TEXT.group("syntax")["compare"]
    if word in ("elif", "else", "except", "finally"):
        opener = "try" if word in ("except", "finally") else "if"
        return TEXT("needs_opener", word=word, opener=opener)
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
        if part in TEXT.group("imports"):
            return TEXT.group("imports")[part]
    return TEXT("spelling" if message.startswith("can't import name") else "no_module")


def about_attribute(message: str, code: str) -> str:
    """Advice about an attribute that a value does not have."""
    quoted = message.split("'")
    name = quoted[-2] if len(quoted) > 2 else ""
    owner = quoted[1] if len(quoted) > 2 else ""
    if f"class {owner}" in code and not name.startswith("_"):
        return ""  # it is for the reader's own class to have it
    if owner == "NoneType":
        return TEXT("none")
    if owner == "function":
        return TEXT("function_attribute")
    known = TEXT.group("imports") if "module" in message else TEXT.group("attributes")
    return known.get(name, TEXT("spelling"))


def about_missing_features(message: str, text: str) -> str:
    """Advice about what MicroPython has not implemented."""
    if "attributes not supported" in message:
        return TEXT("format")
    if "slices with step" in message or "::" in text.replace(" ", ""):
        return TEXT("slice_step")
    if "raise" in text:
        return "" if message else TEXT("not_written")
    return TEXT("not_implemented")


def about_name(message: str, text: str) -> str:
    """Advice about a name that has no value."""
    if "referenced before assignment" in message:
        word = first_word(text)
        rest = text.strip()[len(word) :].lstrip()
        if word and rest.startswith(ASSIGNMENTS):
            return TEXT("no_value_yet", name=word)
        return TEXT("some_name_has_no_value_yet")
    quoted = message.split("'")
    name = quoted[1] if len(quoted) > 1 else ""
    if name in ("np", "torch"):
        return TEXT.group("imports")["torch"]
    return TEXT.group("names").get(name, "")
