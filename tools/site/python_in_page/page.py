"""The program that MicroPython runs for a page: it runs, judges and calls the reader's code.

Questions and answers are JSON. The tests also run this program in CPython.
"""

import builtins
import io
import json
import sys

from attnbook.messages import Messages
from attnbook.practice.judge.lists import (
    Unreadable,
    as_plain,
    describe_error,
    judge,
    message_of,
    paragraphs,
)
from attnbook.practice.judge.pasted import judge_output, read_text

try:
    from typing import Any
except ImportError:
    pass  # in MicroPython, which reads no annotations

IN_MICROPYTHON = hasattr(sys, "print_exception")
if IN_MICROPYTHON:
    # These files are next to this one; mypy and CPython search elsewhere.
    import mathematics as math  # type: ignore[import-not-found]
    from advice import advice  # type: ignore[import-not-found]
    from built_in import ADDED, printable  # type: ignore[import-not-found]
else:  # CPython's messages need no advice, and it lacks no function
    import math

    def printable(value: Any) -> Any:
        """The value as it is: CPython prints it correctly."""
        return value


TEXT = Messages(__file__)
FILE = "your code"
# The code that ran last, and the names that it defined.
last_code = ""
last_parts: dict[str, str] = {}
last_names: dict[str, Any] = {}
printing = {"in a line": False}  # whether the last printed line is incomplete


def answer(question: str) -> str:
    """Answer one question: {"code"} runs it, {"task"} judges it, {"called", "calls"} calls it.

    {"parts"} is the code of functions, by their names, that the code may call. {"pasted", "data"}
    judges an output of code that ran elsewhere.
    """
    request = json.loads(question)
    reply: dict[str, Any]
    try:
        if "pasted" in request:
            reply = {
                "verdict": judge_output(request["data"], read_text(request["pasted"]))["paragraphs"]
            }
        elif "calls" in request:
            reply = {"given": call_function(request)}
        else:
            names = run_code(request["code"], request.get("parts"))
            reply = judge_task(request["task"], names) if request.get("task") else {}
    except Unreadable as error:
        reply = {"verdict": [str(error)]}
    except BaseException as error:
        reply = {
            "error": describe_error(error),
            "line": line_of(error),
            "advice": advice_about(error),
        }
    end_line()
    return json.dumps(reply)


def run_code(code: str, parts: "dict[str, str] | None" = None) -> dict[str, Any]:
    """Run the code, and return all names that it defines."""
    global last_code, last_parts, last_names
    names: dict[str, Any] = {"__name__": "__main__", "input": refuse_input}
    # While the judge searches for a bug's name, nothing is printed.
    names["print"] = lambda *values, **how: (
        None if names.get("hush") else print_values(*values, **how)
    )
    last_code, last_parts, last_names = code, parts or {}, names
    restore()
    try:
        for called, part in last_parts.items():
            names[called] = load_part(called, part)
        exec(compile(code, FILE, "exec"), last_names)  # noqa: S102 - in the reader's own browser
    finally:
        restore()
    return last_names


def load_part(called: str, code: str) -> Any:
    """The function of a part, which has no access to other names and prints nothing."""
    names: dict[str, Any] = {"__name__": "a part", "print": print_nothing}
    exec(compile(code, "a part", "exec"), names)  # noqa: S102 - the reader's, or the book's
    return names[called]


def print_nothing(*_: Any, **__: Any) -> None:
    """Replaces `print` in a part."""


def print_values(*values: Any, **how: Any) -> None:
    """Print, and store whether the line is complete: the page shows whole lines."""
    printing["in a line"] = how.get("file") is None  # an error may come within a line
    print(*map(printable, values), **how)
    if printing["in a line"]:
        end = how.get("end", "\n")
        end = "\n" if end is None else end or (str(values[-1]) if values else "")
        printing["in a line"] = not end.endswith("\n")


def end_line() -> None:
    """End the line that was printed last, so that it is shown now and not with the next run."""
    if printing["in a line"]:
        printing["in a line"] = False
        print()


def judge_task(task: dict[str, Any], names: dict[str, Any]) -> dict[str, Any]:
    """The judge's verdict on the function that the task requires."""
    function = names.get(task["called"])
    if not callable(function):
        return {"error": TEXT("no_function", called=task["called"])}
    found = judge(task, function, lambda: names.update(hush=True))
    case = task["cases"][found["held"]]["name"] if found["wrong"] else ""
    bugs = [task["bugs"][number] for number in found["bugs"]]
    if found.get("hides_fix"):
        bugs = [(cause, "") for cause, _ in bugs]
    reply: dict[str, Any] = {"verdict": paragraphs(task, found["held"], case, found["wrong"], bugs)}
    error = found["outcome"].get("error") if found["wrong"] else None
    if error:
        reply["line"] = line_of(error)
        if advice_about(error):
            reply["verdict"].insert(2, advice_about(error))
    return reply


def call_function(request: dict[str, Any]) -> list[Any]:
    """The function's results for each list of arguments; code that is new runs first."""
    code, parts = request["code"], request.get("parts") or {}
    is_last = last_code == code and last_parts == parts
    names = last_names if is_last else run_code(code, parts)
    return [as_plain(names[request["called"]](*arguments)) for arguments in request["calls"]]


def advice_about(error: BaseException) -> str:
    """Advice about an error, where MicroPython's message explains less than Python's."""
    if not IN_MICROPYTHON:
        return ""
    return str(advice(error, message_of(error), last_code, line_of(error)))


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


def refuse_input(*_: str) -> None:
    """Replaces `input`."""
    raise OSError("nobody can type here: write the value in your code instead")


def restore() -> None:
    """Restore what code assigned to Python's own functions: `math.exp = …`, `builtins.len = …`."""
    for name, value in built_in.items():
        put(builtins, name, value)  # MicroPython does not list what was put there
    for name, value in mathematical.items():
        if get(math, name, None) is not value:
            put(math, name, value)
    sys.modules["math"] = math


get, put = getattr, setattr  # which code may replace as well
built_in = {name: getattr(builtins, name) for name in dir(builtins)}
mathematical = {name: getattr(math, name) for name in dir(math)}
if IN_MICROPYTHON:
    built_in.update(ADDED)
    math.__name__ = "math"
restore()
