"""The judge of answers on plain lists; it also runs in the reader's page.

There MicroPython runs it, which has few modules and ignores annotations. The judge needs only
data: the outcomes of right code and of each known bug in each case. Below the judge are its
messages about kinds, sizes, numbers, errors and verdicts.
"""

from attnbook.messages import Messages
from attnbook.practice.judge import judging

try:
    from collections.abc import Callable
    from typing import Any
except ImportError:
    pass  # in MicroPython

TEXT = Messages(__file__)
DEEPEST = 20  # lists within lists
WRONG_TRIES: dict[str, int] = {}  # by task, as long as this Python runs
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
        As `judging.judge`; what is wrong is followed by the call. `hides_fix` is whether the
        fix comes with a later verdict.
    """
    found = judging.judge(ListAnswer(task, written, call_function or outcome_of), before_naming)
    if found["wrong"]:
        arguments = format_argument(task["cases"][found["held"]]["arguments"])
        found["wrong"] += " " + TEXT("called_as", call=f"{task['called']}({arguments[1:-1]})")
        WRONG_TRIES[task["name"]] = WRONG_TRIES.get(task["name"], 0) + 1
        found["hides_fix"] = task["fix_later"] and WRONG_TRIES[task["name"]] == 1
    return found


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

    def describe_constant(self, outcome: dict[str, Any]) -> str:
        numbers = [number for _, number in flat(outcome.get("gives", []))]
        is_constant = len(numbers) > 0 and all(number == numbers[0] for number in numbers)
        if not (is_constant and kind_of(numbers[0]) in ("number", "bool")):
            return ""
        return TEXT("constant", number=format_number(numbers[0]))

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
        return {"refused": TEXT("cannot_be_read", reason=error)}
    changed = [i for i in range(len(inputs)) if now[i] != arguments[i]]
    if changed:
        outcome["changes"] = changed
    return outcome


def as_plain(value: Any, depth: int = 0) -> Any:
    """Convert to lists and numbers for JSON; anything else becomes the name of its kind."""
    if isinstance(value, (list, tuple)):
        if depth == DEEPEST:
            raise Unreadable(TEXT("too_deep", most=DEEPEST))
        return [as_plain(each, depth + 1) for each in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return {"number": "infinity" if value > 0 else "-infinity" if value < 0 else "NaN"}
    if isinstance(value, int) and not -LARGEST < value < LARGEST:
        raise Unreadable(TEXT("too_large"))
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return {"kind": type(value).__name__}


def difference(task: dict[str, Any], found: dict[str, Any], right: dict[str, Any]) -> str:
    """Describe in a sentence how an outcome differs from the right one; empty if it does not."""
    if "refused" in found:
        return str(found["refused"])
    if "raises" in found:
        error = found["error"]
        return add_hint(TEXT("raises", error=class_and_message(error)), error)
    wrong = describe_difference(found["gives"], right["gives"])
    if "changes" in found:
        names = "`, `".join(task["arguments"][i] for i in found["changes"])
        if wrong:
            return wrong + " " + TEXT("also_changes_list", names=names)
        return TEXT("changes_list", names=names)
    return wrong


def describe_difference(mine: Any, right: Any) -> str:
    """Describe how a result differs from the right one: in kind, in size, then in numbers."""
    wanted = TEXT("true_or_false") if isinstance(right, bool) else describe_kind(right)
    if mine is None:
        return TEXT("returns_none", wanted=wanted)
    hint = " " + TEXT("return_in_loop") if is_first_only(mine, right) else ""
    if kind_of(mine).replace("bool", "number") != kind_of(right).replace("bool", "number"):
        asynchronous = TEXT.group("asynchronous").get(kind_of(mine).replace(" object", ""))
        text = TEXT("returns_other_kind", returned=describe_kind(mine), wanted=wanted)
        return asynchronous or text + hint
    if sizes(mine) != sizes(right):
        return TEXT("returns_other", returned=sizes(mine), right=sizes(right)) + hint
    if isinstance(right, bool) and not isinstance(mine, bool):
        return TEXT("returns_other_kind", returned=format_number(mine), wanted=wanted)
    if isinstance(right, bool):
        return "" if mine == right else TEXT("returns_other", returned=mine, right=right)
    return describe_wrong_numbers(mine, right)


def is_first_only(mine: Any, right: Any) -> bool:
    """Whether one item, or a list of one, is returned where several are expected."""
    if not isinstance(right, list) or len(right) < 2:
        return False
    return kind_of(mine) == kind_of(right[0]) or (isinstance(mine, list) and len(mine) == 1)


def describe_wrong_numbers(mine: Any, right: Any) -> str:
    """Describe how many numbers differ, and the first one, without the right number."""
    ours, theirs = flat(mine), flat(right)
    wrong = [i for i in range(len(ours)) if not close(ours[i][1], theirs[i][1])]
    if not wrong:
        return ""
    (index, number), expected = ours[wrong[0]], theirs[wrong[0]][1]
    text = format_number(number, expected)
    if not any(isinstance(each, (bool, dict)) for each in (number, expected)):
        text = TEXT("too_small" if number < expected else "too_big", number=text)
    if not index:
        return TEXT("returns", number=text)
    if len(ours) == 1:
        return TEXT("only_number_wrong", number=text)
    return TEXT("numbers_wrong", count=len(wrong), total=len(ours), index=index, number=text)


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
# Parts of an error's message, and the name of a hint for beginners.
HINTS: list[tuple[tuple[str, ...], str]] = [
    (("operand type(s) for ^",), "power"),
    (("bitwise_xor",), "power"),
    (("operand type", "'list'"), "whole_list"),
    (("not supported between", "'list'"), "whole_list"),
    (("convert list to float",), "whole_list"),
    (("must be real number, not list",), "whole_list"),
    (("can't multiply sequence",), "whole_list"),
    (("unhashable type: 'list'",), "list_as_key"),
    (("'NoneType' object is", "callable"), "none_is_called"),
    (("object is", "callable"), "value_is_called"),
    (("math domain error",), "math_domain"),
    (("math range error",), "math_range"),
    (("convert float to int",), "whole_number"),
    (("slice indices must be",), "whole_number"),
    (("object cannot be interpreted as an integer",), "whole_number"),
    (("indices must be integers",), "index"),
    (("not associated with a value",), "no_value"),
    (("name 'math'",), "import_math"),
]
for part in ("subscriptable", "has no len()", "iterable"):
    HINTS += [(("'int'", part), "no_items"), (("'float'", part), "no_items")]


def message_of(error: BaseException) -> str:
    """Give the message of an error, if it can be read, with operators as Python writes them."""
    try:
        message = str(error)[:300]
    except Exception:
        return ""
    return as_python(message)


def as_python(message: str) -> str:
    """A message about types, as Python words it; MicroPython's has the names of methods."""
    name, _, kinds = message.partition(" for ")[2].partition(": ")
    if not (message.startswith("unsupported type") and kinds):
        return message  # a reader may raise such an error
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
    return add_hint(f"{class_and_message(error)}.", error)


def class_and_message(error: BaseException) -> str:
    """Give an error's class and message, as Python prints them."""
    message = message_of(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def add_hint(text: str, error: BaseException) -> str:
    """Add a hint to a text about an error, if there is one."""
    message, hints = message_of(error), TEXT.group("hints")
    hint = next(
        (hints[name] for parts, name in HINTS if all(part in message for part in parts)), ""
    )
    return f"{text} {hint}" if hint else text


def kind_of(value: Any) -> str:
    """The kind of a value, to compare: `[number]` of a list of numbers."""
    if isinstance(value, list):
        return f"[{', '.join(sorted({kind_of(each) for each in value}))}]"
    if isinstance(value, dict) and "kind" in value:
        return f"{value['kind']} object"  # a class may be named `number`
    return "None" if value is None else "bool" if isinstance(value, bool) else "number"


def describe_kind(value: Any, count: int = 1) -> str:
    """What kind of thing a value is, in words; in the plural if `count` is not 1."""
    if isinstance(value, list):
        one_of_each = {kind_of(each): each for each in value}
        kinds = sorted({describe_kind(each, count=2) for each in one_of_each.values()})
        if not kinds:
            return TEXT("empty_list", count=count)
        return TEXT("list", kinds=TEXT("and").join(kinds), count=count)
    if value is None:
        return TEXT("none", count=count)
    kind = kind_of(value)
    if kind == "number":
        return TEXT("number", count=count)
    if isinstance(value, dict) and value["kind"] != "number":
        kind = value["kind"]
    return TEXT("kind", kind=kind, count=count)


def sizes(value: Any) -> str:
    """How long a list is, and each list in it, in words."""
    if not isinstance(value, list):
        return TEXT("number", count=1)
    if not value or not isinstance(value[0], list):
        return TEXT("numbers", count=len(value))
    inner = [sizes(each) for each in value]
    if all(each == inner[0] for each in inner):
        return TEXT("lists", count=len(inner), size=inner[0])
    return TEXT("lists_of_sizes", number=len(inner), sizes=TEXT("and_one_of").join(inner))


def flat(value: Any, index: str = "") -> list[Any]:
    """All numbers in a row, each with its index as Python writes it."""
    if not isinstance(value, list):
        return [(index, value)]
    return [pair for i in range(len(value)) for pair in flat(value[i], f"{index}[{i}]")]


def format_number(number: Any, other: Any = None) -> str:
    """Format a number with enough digits to distinguish it from another one."""
    if isinstance(number, dict):
        return TEXT.group("not_finite")[number["number"]]
    if isinstance(number, (bool, int)):
        return str(number)
    near = isinstance(other, float) and f"{number:.4g}" == f"{other:.4g}"
    return f"{number:.9g}" if near else f"{number:.4g}"


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
        wrong, printed: what is wrong there, and what was printed.
        bugs: the cause and the fix of each that does the same; a fix that comes later is empty.
    """
    name, planted = task["name"], task.get("planted")
    if not case:
        fixed = [TEXT("found_bug", cause=capitalized(planted[0]))] if planted else []
        return [TEXT("right", task=name, held=held)] + fixed  # noqa: RUF005 - MicroPython
    lines = [TEXT("not_yet_after" if held else "not_yet", task=name, case=case, count=held), wrong]
    if printed:
        lines.append(TEXT("printed", text=printed[:300]))
    if planted and planted[0] in [bug[0] for bug in bugs]:
        lines.append(planted[1])
    elif bugs:  # one or two: `judging` names no more
        (cause, fix), (other_cause, other_fix) = bugs[0], bugs[-1]
        one = len(bugs) == 1
        lines.append(TEXT("cause" if one else "two_causes", cause=cause, other=other_cause))
        lines.append(
            TEXT("fix" if one else "two_fixes", fix=fix, other=other_fix)
            if fix
            else TEXT("fix_later")
        )
    return lines


def capitalized(text: str) -> str:
    """Begin a sentence with a capital letter."""
    return text[:1].upper() + text[1:]
