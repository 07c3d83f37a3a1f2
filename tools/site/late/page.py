"""What MicroPython does for a page: it runs what the reader wrote, judges it, and calls it.

A question comes as JSON, and so does its answer. CPython runs this, too, for the tests.
"""

import builtins
import io
import json
import math
import sys

from attnbook.practice.plain import as_plain, judge
from attnbook.practice.plain_words import paragraphs, told_error

try:  # noqa: SIM105 - nor has it contextlib
    from typing import Any
except ImportError:
    pass  # in MicroPython, which reads no annotations

FILE = "your code"
SMALL = (
    "This page's Python is a small one, without numpy and torch: those are in Colab and Jupyter."
)
# What ran last, and what it defined.
last_code = ""
last_names: dict[str, Any] = {}
printing = {"in a line": False}  # whether the last thing printed did not end its line


def answer(question: str) -> str:
    """Answer one question: {"code"} runs it, {"task"} judges it, {"called", "calls"} calls it."""
    asked = json.loads(question)
    told: dict[str, Any]
    try:
        if "calls" in asked:
            told = {"given": called(asked)}
        else:
            names = defined(asked["code"])
            told = judged(asked["task"], names) if asked.get("task") else {}
    except BaseException as error:
        told = {"error": explained(error), "line": line_of(error)}
    end_line()
    return json.dumps(told)


def defined(code: str) -> dict[str, Any]:
    """Run the code, and give all names that it defines."""
    global last_code, last_names
    names: dict[str, Any] = {"__name__": "__main__", "input": nobody_types, "zip": zipped}
    # What is printed while the judge looks for a bug's name would only confuse.
    names["print"] = lambda *values, **how: None if names.get("hush") else printed(*values, **how)
    last_code, last_names = code, names
    restore()
    try:
        exec(compile(code, FILE, "exec"), last_names)  # noqa: S102 - in the reader's own browser
    finally:
        restore()
    return last_names


def printed(*values: Any, **how: Any) -> None:  # noqa: ANN401 - whatever is printed
    """Print, and know whether the line has an end: the page shows whole lines."""
    print(*values, **how)
    if how.get("file") is None:
        end = how.get("end", "\n")
        end = "\n" if end is None else end or (str(values[-1]) if values else "")
        printing["in a line"] = not end.endswith("\n")


def end_line() -> None:
    """End what was printed last, so that it is shown now and not with the next run."""
    if printing["in a line"]:
        printing["in a line"] = False
        print()


def judged(task: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """What the judge says of the function that the task asks for."""
    function = names.get(task["called"])
    if not callable(function):
        return {"error": f"There is no function `{task['called']}`: its first line must stay."}
    found = judge(task, function, lambda: names.update(hush=True))
    case = "" if found["case"] is None else task["cases"][found["case"]]["name"]
    bugs = [task["bugs"][number] for number in found["bugs"]]
    told: dict[str, Any] = {
        "verdict": paragraphs(task["name"], found["held"], case, found["wrong"], bugs)
    }
    if found["error"]:
        told["line"] = line_of(found["error"])
    return told


def called(asked: dict[str, Any]) -> list[Any]:
    """What the function gives for each list of arguments; the code runs again if it is another."""
    names = last_names if last_code == asked["code"] else defined(asked["code"])
    return [as_plain(names[asked["called"]](*arguments)) for arguments in asked["calls"]]


def explained(error: BaseException) -> str:
    """An error in Python's own words, and what they do not say."""
    return told_error(error) + (f" {SMALL}" if isinstance(error, ImportError) else "")


def line_of(error: BaseException) -> "int | None":
    """The innermost line of the reader's code that an error went through; None without one."""
    text = io.StringIO()
    if hasattr(sys, "print_exception"):
        sys.print_exception(error, text)
    else:  # in CPython
        import traceback  # noqa: PLC0415 - MicroPython has none

        traceback.print_exception(error, file=text)
    lines = [line for line in text.getvalue().split("\n") if f'File "{FILE}", line ' in line]
    return int(lines[-1].split(", line ")[1].split(",")[0]) if lines else None


def zipped(*lists: list[Any], strict: bool = False) -> Any:  # noqa: ANN401 - an iterator
    """The built-in `zip`, which in MicroPython does not know `strict`."""
    whole = [list(each) for each in lists]
    if strict and len({len(each) for each in whole}) > 1:
        raise ValueError("zip() with strict=True was handed lists of different lengths")
    return zip_of_old(*whole)


def nobody_types(*_: str) -> None:
    """In place of `input`."""
    raise OSError("there is nobody to type: write what you would type into the code")


zip_of_old = zip


class Maths:
    """The module `math`, whose `exp` says of a result too large what Python says of it."""


def exp(x: float) -> float:
    """The exponential; MicroPython's own would raise a ValueError."""
    if x > LARGEST and x != math.inf:
        raise OverflowError("math range error")
    return plain_exp(x)


def restore() -> None:
    """Undo what code assigned to Python's own functions: `math.exp = …`, `builtins.len = …`."""
    for name, value in built_in.items():
        put(builtins, name, value)  # MicroPython does not tell what was put there
    maths: Any = Maths() if in_micropython else math
    for name, value in mathematical.items():
        if get(maths, name, None) is not value:
            put(maths, name, value)
    sys.modules["math"] = maths


LARGEST = 709.782712893384  # its power is the largest float
in_micropython = hasattr(sys, "print_exception")
plain_exp, get, put = math.exp, getattr, setattr
built_in = {name: getattr(builtins, name) for name in dir(builtins)}
mathematical = {name: getattr(math, name) for name in dir(math)}
if in_micropython:
    mathematical["exp"] = exp
restore()
