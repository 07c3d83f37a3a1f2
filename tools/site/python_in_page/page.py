"""What MicroPython does for a page: it runs what the reader wrote, judges it, and calls it.

A question comes as JSON, and so does its answer. CPython runs this, too, for the tests.
"""

import builtins
import io
import json
import sys

from attnbook.practice.judge.lists import as_plain, describe_error, judge, message_of, paragraphs

try:
    from typing import Any
except ImportError:
    pass  # in MicroPython, which reads no annotations

IN_MICROPYTHON = hasattr(sys, "print_exception")
if IN_MICROPYTHON:
    # The files beside this one; mypy, as CPython, looks for them elsewhere.
    import mathematics as math  # type: ignore[import-not-found]
    from advice import advice  # type: ignore[import-not-found]
    from built_in import ADDED, printable  # type: ignore[import-not-found]
else:  # what CPython says needs no advice, and it lacks nothing
    import math

    def printable(value: Any) -> Any:
        """What `print` is given: CPython prints it well."""
        return value


FILE = "your code"
# What ran last, and what it defined.
last_code = ""
last_parts: dict[str, str] = {}
last_names: dict[str, Any] = {}
printing = {"in a line": False}  # whether the last thing printed did not end its line


def answer(question: str) -> str:
    """Answer one question: {"code"} runs it, {"task"} judges it, {"called", "calls"} calls it.

    {"parts"} is the code of functions, by their names, that the code may call.
    """
    asked = json.loads(question)
    reply: dict[str, Any]
    try:
        if "calls" in asked:
            reply = {"given": called(asked)}
        else:
            names = defined(asked["code"], asked.get("parts"))
            reply = judged(asked["task"], names) if asked.get("task") else {}
    except BaseException as error:
        reply = {"error": describe_error(error), "line": line_of(error), "advice": helpful(error)}
    end_line()
    return json.dumps(reply)


def defined(code: str, parts: "dict[str, str] | None" = None) -> dict[str, Any]:
    """Run the code, and give all names that it defines."""
    global last_code, last_parts, last_names
    names: dict[str, Any] = {"__name__": "__main__", "input": nobody_types}
    # What is printed while the judge looks for a bug's name would only confuse.
    names["print"] = lambda *values, **how: None if names.get("hush") else printed(*values, **how)
    last_code, last_parts, last_names = code, parts or {}, names
    restore()
    try:
        for called, part in last_parts.items():
            names[called] = part_named(called, part)
        exec(compile(code, FILE, "exec"), last_names)  # noqa: S102 - in the reader's own browser
    finally:
        restore()
    return last_names


def part_named(called: str, code: str) -> Any:
    """The function of a part, which sees no names but its own and prints nothing."""
    names: dict[str, Any] = {"__name__": "a part", "print": print_nothing}
    exec(compile(code, "a part", "exec"), names)  # noqa: S102 - the reader's, or the book's
    return names[called]


def print_nothing(*_: Any, **__: Any) -> None:
    """In place of `print`, in a part."""


def printed(*values: Any, **how: Any) -> None:
    """Print, and know whether the line has an end: the page shows whole lines."""
    printing["in a line"] = how.get("file") is None  # an error may come within a line
    print(*map(printable, values), **how)
    if printing["in a line"]:
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
    reply: dict[str, Any] = {"verdict": paragraphs(task, found["held"], case, found["wrong"], bugs)}
    if found["error"]:
        reply["line"] = line_of(found["error"])
        if helpful(found["error"]):
            reply["verdict"].insert(2, helpful(found["error"]))
    return reply


def called(asked: dict[str, Any]) -> list[Any]:
    """What the function gives for each list of arguments; the code runs again if it is another."""
    code, parts = asked["code"], asked.get("parts") or {}
    is_last = last_code == code and last_parts == parts
    names = last_names if is_last else defined(code, parts)
    return [as_plain(names[asked["called"]](*arguments)) for arguments in asked["calls"]]


def helpful(error: BaseException) -> str:
    """What to do about an error, if this page's Python says less than Python would."""
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


def nobody_types(*_: str) -> None:
    """In place of `input`."""
    raise OSError("there is nobody to type: write what you would type into the code")


def restore() -> None:
    """Undo what code assigned to Python's own functions: `math.exp = …`, `builtins.len = …`."""
    for name, value in built_in.items():
        put(builtins, name, value)  # MicroPython does not list what was put there
    for name, value in mathematical.items():
        if get(math, name, None) is not value:
            put(math, name, value)
    sys.modules["math"] = math


get, put = getattr, setattr  # which code may replace, too
built_in = {name: getattr(builtins, name) for name in dir(builtins)}
mathematical = {name: getattr(math, name) for name in dir(math)}
if IN_MICROPYTHON:
    built_in.update(ADDED)
    math.__name__ = "math"
restore()
