"""The judge of answers on plain lists; it also runs in the reader's page.

There MicroPython runs it, which has few modules and ignores annotations. The judge needs only
data: the outcomes of right code and of each known bug in each case. Below the judge are its
messages about kinds, sizes, numbers, errors and verdicts.
"""

from attnbook.practice.judge import judging

try:
    from collections.abc import Callable
    from typing import Any
except ImportError:
    pass  # in MicroPython

DEEPEST = 20  # lists within lists
TOO_DEEP = "it has more than 20 lists within lists, or holds itself"
LARGEST = 10**300  # of a whole number
SHARE, LEAST = 1e-6, 1e-9  # how far numbers may be apart, as a share and in all
# Errors that have another name in MicroPython.
SAME_ERRORS = {"RecursionError": "RuntimeError"}
# Too many mistakes end in these for two to be the same by their name.
OF_ALL_KINDS = ("AttributeError", "NameError", "SyntaxError", "TypeError")


class Unreadable(Exception):  # noqa: N818 - like `Stopped`, not a fault of this package
    """A result that cannot be compared; the text goes on after "The result cannot be read:"."""


def judge(
    task: dict[str, Any],
    written: Callable[..., Any],
    before_naming: Callable[[], object] = list,
    call_function: Callable[..., dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Run the cases in order, up to the first that fails; then search for its bug.

    Args:
        task: as `as_data` gives it.
        written: the reader's function.
        before_naming: is called before the later cases run, which only serve to name the bug.
        call_function: calls the function instead of `outcome_of`, with a time limit for example.

    Returns:
        How many cases hold; for the first that does not, its number, what is wrong, the
        numbers of the bugs that do the same, and the error, if one was raised.
    """
    found = judging.judge(ListAnswer(task, written, call_function or outcome_of), before_naming)
    if not found["wrong"]:
        return {"held": found["held"], "case": None, "wrong": "", "bugs": [], "error": None}
    case = found["held"]
    call = as_call(task["called"], task["cases"][case]["arguments"])
    wrong = f"{found['wrong']} It was called as `{call}`."
    error = found["outcome"].get("error")
    return {"held": case, "case": case, "wrong": wrong, "bugs": found["bugs"], "error": error}


class ListAnswer:
    """An answer to a task on plain lists, as `judging` needs it."""

    def __init__(
        self,
        task: dict[str, Any],
        written: Callable[..., Any],
        call_function: Callable[..., dict[str, Any]],
    ) -> None:
        self.task, self.written, self.call_function = task, written, call_function
        self.cases = task["cases"]
        self.num_cases, self.num_bugs = len(self.cases), len(task["bugs"])

    def run(self, case: int) -> dict[str, Any]:
        return self.call_function(self.written, self.cases[case]["arguments"])

    def difference(self, case: int, outcome: dict[str, Any]) -> str:
        return difference(self.task, outcome, self.cases[case]["right"])

    def is_same(self, case: int, outcome: dict[str, Any], bug: int) -> bool:
        return same_outcome(outcome, self.bug_outcome(case, bug))

    def is_wrong(self, case: int, bug: int) -> bool:
        return not same_outcome(self.bug_outcome(case, bug), self.cases[case]["right"])

    def bug_outcome(self, case: int, bug: int) -> dict[str, Any]:
        """Give the outcome of a bug in a case; nothing is stored where it is the right one."""
        outcome: dict[str, Any] = self.cases[case]["bugs"][bug] or self.cases[case]["right"]
        return outcome

    def needs_no_name(self, outcome: dict[str, Any]) -> bool:
        return "refused" in outcome

    def is_all_nan(self, outcome: dict[str, Any]) -> bool:
        numbers = [number for _, number in flat(outcome["gives"])] if "gives" in outcome else []
        return len(numbers) > 0 and all(number == {"number": "NaN"} for number in numbers)

    def needed(self, case: int, counted: int) -> float:
        """Half of the cases, or all where answers are True or False, which may agree by chance."""
        yes_or_no = isinstance(self.cases[case]["right"].get("gives"), bool)
        return counted if yes_or_no else counted / 2


def outcome_of(
    written: Callable[..., Any],
    arguments: list[Any],
    read: Callable[[Any], Any] | None = None,
) -> dict[str, Any]:
    """Call an answer: it returns something or raises, and may change its arguments.

    Args:
        written: the function to call.
        arguments: as `as_plain` gives them.
        read: reads the result, instead of `as_plain`.
    """
    read = read or as_plain
    inputs = as_plain(arguments)
    try:
        result = written(*inputs)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        name = type(error).__name__
        return {"raises": SAME_ERRORS.get(name, name), "error": error}
    try:
        outcome = {"gives": read(result)}
        now = [read(each) for each in inputs]
    except Unreadable as error:
        return {"refused": f"The result cannot be read: {error}."}
    changed = [i for i in range(len(inputs)) if now[i] != arguments[i]]
    if changed:
        outcome["changes"] = changed
    return outcome


def as_plain(value: Any, depth: int = 0) -> Any:
    """Convert to lists and numbers for JSON; anything else becomes the name of its kind."""
    if isinstance(value, (list, tuple)):
        if depth == DEEPEST:
            raise Unreadable(TOO_DEEP)
        return [as_plain(each, depth + 1) for each in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return {"number": "infinity" if value > 0 else "-infinity" if value < 0 else "NaN"}
    if isinstance(value, int) and not -LARGEST < value < LARGEST:
        raise Unreadable("one of its whole numbers is larger than any float")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return {"kind": type(value).__name__}


def difference(task: dict[str, Any], found: dict[str, Any], right: dict[str, Any]) -> str:
    """Describe in a sentence how an outcome differs from the right one; empty if it does not."""
    if "refused" in found:
        return str(found["refused"])
    if "raises" in found:
        return f"It raises {describe_error(found['error'])}"
    wrong = describe_difference(found["gives"], right["gives"])
    if "changes" in found:
        names = [task["arguments"][i] for i in found["changes"]]
        changes = f"changes the caller's `{'`, `'.join(names)}`: make a new list."
        return f"{wrong} It also {changes}" if wrong else f"It {changes}"
    return wrong


def describe_difference(mine: Any, right: Any) -> str:
    """Describe how a result differs from the right one: in kind, in size, then in numbers."""
    wanted = "True or False" if isinstance(right, bool) else a_kind(right)
    if mine is None:
        return f"It returns None where {wanted} was expected. Is there a `return` on every path?"
    if a_kind(mine).replace("bool", "number") != a_kind(right).replace("bool", "number"):
        return f"It returns {a_kind(mine)} where {wanted} was expected."
    if sizes(mine) != sizes(right):
        return f"It returns {sizes(mine)}, and should return {sizes(right)}."
    if isinstance(right, bool) and mine not in (True, False):
        return f"It returns {format_number(mine)} where True or False was expected."
    if isinstance(right, bool):
        return "" if mine == right else f"It returns {mine}, and should return {right}."
    return describe_wrong_numbers(mine, right)


def describe_wrong_numbers(mine: Any, right: Any) -> str:
    """Describe how many numbers differ, and the first one, without the right number."""
    ours, theirs = flat(mine), flat(right)
    wrong = [i for i in range(len(ours)) if not close(ours[i][1], theirs[i][1])]
    if not wrong:
        return ""
    (index, number), expected = ours[wrong[0]], theirs[wrong[0]][1]
    text = format_number(number, expected)
    if not any(isinstance(each, (bool, dict)) for each in (number, expected)):
        text += f", and should be {'larger' if number < expected else 'smaller'}"
    if not index:
        return f"It returns {text}."
    if len(ours) == 1:
        return f"The number is wrong: it is {text}."
    if len(wrong) == 1:
        return f"1 of {len(ours)} numbers is wrong: the one at `{index}` is {text}."
    return f"{len(wrong)} of {len(ours)} numbers are wrong; the first, at `{index}`, is {text}."


def close(one: Any, other: Any) -> bool:
    """Whether two numbers are equal up to the tolerance."""
    if isinstance(one, dict) or isinstance(other, dict):
        return bool(one == other)
    return bool(abs(one - other) <= LEAST + SHARE * abs(other))


def same_outcome(found: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two outcomes, wrong ones for instance, are the same."""
    if "raises" in found or "raises" in other:
        name = found.get("raises")
        return bool(name == other.get("raises") and name not in OF_ALL_KINDS)
    if "refused" in found or "refused" in other:
        return False
    if found.get("changes") != other.get("changes"):
        return False
    mine, theirs = found["gives"], other["gives"]
    # Without this, a list of a million numbers is read again for each known bug.
    if isinstance(mine, list) and isinstance(theirs, list) and len(mine) != len(theirs):
        return False
    return not describe_difference(mine, theirs)


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
LISTS = "Python does not compute with a whole list: take its numbers one by one."
WHOLE = "To divide into whole numbers, write `//`."
# Parts of an error's message, and a hint for beginners.
HINTS = (
    (("operand type(s) for ^",), "A power is written `**`."),
    (("operand type", "'list'"), LISTS),
    (("not supported between", "'list'"), LISTS),
    (("convert list to float",), LISTS),
    (("unhashable type: 'list'",), "A list cannot be a key: use a tuple."),
    (("'NoneType' object is", "callable"), "It is None: does a function have no `return`?"),
    (("object is", "callable"), "Only functions are called with `()`; items are read with `[]`."),
    (("math domain error",), "It may be the root of a negative number, or a logarithm of 0."),
    (("math range error",), "The result is too large for a float."),
    (("convert float to int",), WHOLE),
    (("slice indices must be",), WHOLE),
    (("object cannot be interpreted as an integer",), WHOLE),
    (("indices must be integers",), "An index is one whole number; a slice is `[start:stop]`."),
    (("not associated with a value",), "A name needs a value first, before the loop for instance."),
    (("name 'math'",), "Begin with `import math`."),
)


def message_of(error: BaseException) -> str:
    """Give the message of an error, if it can be read, with operators as Python writes them."""
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
    """Describe an error by its class and message, with a hint if there is one."""
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


def flat(value: Any, index: str = "") -> list[Any]:
    """All numbers in a row, each with its index as Python writes it."""
    if not isinstance(value, list):
        return [(index, value)]
    return [pair for i in range(len(value)) for pair in flat(value[i], f"{index}[{i}]")]


def format_number(number: Any, other: Any = None) -> str:
    """Format a number with enough digits to distinguish it from another one."""
    if isinstance(number, dict):
        return str(number["number"])
    if isinstance(number, (bool, int)):
        return str(number)
    near = isinstance(other, float) and f"{number:.4g}" == f"{other:.4g}"
    return f"{number:.9g}" if near else f"{number:.4g}"


def as_call(called: str, arguments: list[Any]) -> str:
    """A call as the reader would type it."""
    return f"{called}({', '.join(format_argument(each) for each in arguments)})"


def format_argument(value: Any) -> str:
    """An argument as the reader would type it."""
    if isinstance(value, list):
        return f"[{', '.join(format_argument(each) for each in value)}]"
    whole = isinstance(value, float) and value == int(value)
    return str(int(value) if whole else value)


def paragraphs(
    task: dict[str, Any],
    held: int,
    case: str,
    wrong: str,
    bugs: list[tuple[str, str]],
    printed: str = "",
) -> list[str]:
    """A verdict in words.

    Args:
        task: its name and, if the reader has to find a bug, the cause and the symptom of it.
        held: how many cases hold.
        case: the name of the first that does not; nothing if all hold.
        wrong: what is wrong there.
        bugs: the cause and the fix of each that does the same.
        printed: what was printed.
    """
    name, planted = task["name"], task.get("planted")
    if not case:
        fixed = [f"You found the bug. {capitalized(planted[0])}"] if planted else []
        return [f"✓ {name}: right. All {held} cases hold."] + fixed  # noqa: RUF005 - MicroPython
    count = "1 case that holds" if held == 1 else f"{held} cases that hold"
    lines = [f"✗ {name}: not yet. Case: {case}{', after ' + count if held else ''}.", wrong]
    if printed:
        lines.append(f"It printed: {printed[:300]}")
    if planted and planted[0] in [bug[0] for bug in bugs]:
        lines.append(planted[1])
    elif bugs:
        faults, fixes = (
            " Or when ".join(bug[0] for bug in bugs),
            " Or: ".join(bug[1] for bug in bugs),
        )
        lines += [f"This is what you get when {faults}", f"To fix it: {fixes}"]
    return lines


def capitalized(text: str) -> str:
    """Begin a sentence with a capital letter."""
    return text[:1].upper() + text[1:]
