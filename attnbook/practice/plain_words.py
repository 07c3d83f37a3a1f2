"""What the judge of plain lists says: kinds, sizes, numbers, errors, verdicts, in words.

It runs in the reader's page, too, as `plain.py` does.
"""

try:  # noqa: SIM105 - nor has it contextlib
    from typing import Any
except ImportError:
    pass  # in MicroPython

# Operators, by the names that MicroPython's messages give them.
OPERATORS = {
    "__add__": "+",
    "__sub__": "-",
    "__mul__": "*",
    "__truediv__": "/",
    "__floordiv__": "//",
    "__mod__": "%",
    "__pow__": "**",
    "__matmul__": "@",
    "__xor__": "^",
    "__and__": "&",
    "__or__": "|",
    "__lshift__": "<<",
    "__rshift__": ">>",
}
COMPARISONS = {"__lt__": "<", "__gt__": ">", "__le__": "<=", "__ge__": ">="}
UNARY = {"__neg__": "-", "__pos__": "+", "__invert__": "~"}
LISTS = "Lists are not computed with as a whole: take them number by number."
WHOLE = "To divide into whole numbers, write `//`."
# What an error says, in parts, and what a newcomer may need on top of it.
HINTS = (
    (("operand type(s) for ^",), "A power is written `**`."),
    (("operand type", "'list'"), LISTS),
    (("not supported between", "'list'"), LISTS),
    (("convert list to float",), LISTS),
    (("unhashable type: 'list'",), "A list cannot be a key: use a tuple."),
    (("'NoneType' object is", "callable"), "It is None: has a function no `return`?"),
    (("object is", "callable"), "Only functions are called with `()`; items are read with `[]`."),
    (("math domain error",), "It may be the root of a negative number, or a logarithm of 0."),
    (("math range error",), "The power is too large for a float."),
    (("convert float to int",), WHOLE),
    (("slice indices must be",), WHOLE),
    (("object cannot be interpreted as an integer",), WHOLE),
    (("indices must be integers",), "An index is one whole number; a slice is `[start:stop]`."),
    (("not associated with a value",), "A name needs a value first, before the loop for instance."),
    (("name 'math'",), "Begin with `import math`."),
)


def message_of(error: BaseException) -> str:
    """What an error says, if that can be read, with operators as Python writes them."""
    try:
        message = str(error)[:300]
    except Exception:
        return ""
    return as_python(message)


def as_python(message: str) -> str:
    """A message about types, as Python words it; MicroPython's has the names of methods."""
    if not message.startswith("unsupported type"):
        return message
    name, kinds = message.split(" for ", 1)[1].split(": ", 1)
    kinds = kinds.replace(", ", " and ")
    if name == "__hash__":
        return f"unhashable type: {kinds}"
    if name in COMPARISONS:
        return f"'{COMPARISONS[name]}' not supported between instances of {kinds}"
    if name in UNARY:
        return f"bad operand type for unary {UNARY[name]}: {kinds}"
    return f"unsupported operand type(s) for {OPERATORS.get(name, name)}: {kinds}"


def describe_error(error: BaseException) -> str:
    """An error's class and what it says, with a hint if there is one."""
    message = message_of(error)
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    hint = next((hint for parts, hint in HINTS if all(part in message for part in parts)), "")
    return f"{text}. {hint}" if hint else f"{text}."


def a_kind(value: Any) -> str:
    """What kind of thing a value is, with its article."""
    noun = kind_of(value)
    return f"an {noun}" if noun == "empty list" else noun if value is None else f"a {noun}"


def kind_of(value: Any) -> str:
    """What kind of thing a value is."""
    if not isinstance(value, list):
        named = "None" if value is None else "bool" if isinstance(value, bool) else "number"
        return str(value.get("kind", named)) if isinstance(value, dict) else named
    inner = sorted({kind_of(each) for each in value})
    plurals = [each.replace("list", "lists", 1) if "list" in each else each + "s" for each in inner]
    return f"list of {' and '.join(plurals)}" if plurals else "empty list"


def sizes(value: Any) -> str:
    """How long a list is, and each list in it, in words."""
    if not isinstance(value, list):
        return "a number"
    inner = [sizes(each) for each in value]
    if not inner or inner[0] == "a number":
        return "1 number" if len(inner) == 1 else f"{len(inner)} numbers"
    same = all(each == inner[0] for each in inner)
    lists = "1 list" if len(inner) == 1 else f"{len(inner)} lists"
    if same:
        return f"{lists} of {inner[0]}"
    return f"{lists}, one of {' and one of '.join(inner)}"


def flat(value: Any, place: str = "") -> list[Any]:
    """All numbers in a row, each with its place as Python writes it."""
    if not isinstance(value, list):
        return [(place, value)]
    return [pair for i in range(len(value)) for pair in flat(value[i], f"{place}[{i}]")]


def told_number(number: Any, beside: Any = None) -> str:
    """A number as a sentence says it, with as many digits as tell it from another one."""
    if isinstance(number, dict):
        return str(number["number"])
    if isinstance(number, (bool, int)):
        return str(number)
    near = isinstance(beside, float) and f"{number:.4g}" == f"{beside:.4g}"
    return f"{number:.9g}" if near else f"{number:.4g}"


def as_call(called: str, arguments: list[Any]) -> str:
    """A call as the reader would type it."""
    return f"{called}({', '.join(told_argument(each) for each in arguments)})"


def told_argument(value: Any) -> str:
    """An argument as the reader would type it."""
    if isinstance(value, list):
        return f"[{', '.join(told_argument(each) for each in value)}]"
    whole = isinstance(value, float) and value == int(value)
    return str(int(value) if whole else value)


def paragraphs(
    name: str, held: int, case: str, wrong: str, bugs: list[tuple[str, str]], said: str = ""
) -> list[str]:
    """A verdict in words.

    Args:
        name: the task's.
        held: how many cases hold.
        case: the name of the first that does not; nothing if all hold.
        wrong: what is wrong there.
        bugs: of each that does the same, its sentence and its mend.
        said: what was printed.
    """
    if not case:
        return [f"✓ {name}: right. All {held} cases hold."]
    count = "1 case that holds" if held == 1 else f"{held} cases that hold"
    told = [f"✗ {name}: not yet. Case: {case}{', after ' + count if held else ''}.", wrong]
    if said:
        told.append(f"It said: {said[:300]}")
    if bugs:
        faults, mends = (
            " Or when ".join(bug[0] for bug in bugs),
            " Or: ".join(bug[1] for bug in bugs),
        )
        told += [f"This is what you get when {faults}", f"To mend it: {mends}"]
    return told
