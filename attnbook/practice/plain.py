"""The judge of what is written on plain lists; it runs in the reader's page, too.

There MicroPython runs it, which knows few modules and reads no annotations: so it imports nothing
but its words. What it judges by is data: what right code and each known bug did in each case.
"""

from attnbook.practice.plain_words import (
    a_kind,
    as_call,
    flat,
    sizes,
    told_error,
    told_number,
)

try:
    from collections.abc import Callable
    from typing import Any
except ImportError:
    pass  # in MicroPython

MOST_NAMED = 2  # more bugs than these that do the same name nothing
SHARE, LEAST = 1e-6, 1e-9  # how far numbers may be apart, as a share and in all
# Errors that have another name in MicroPython.
SAME_ERRORS = {"RecursionError": "RuntimeError"}
# Too many slips end in these for two to be the same by their name.
OF_ALL_KINDS = ("AttributeError", "NameError", "SyntaxError", "TypeError")


def judge(
    task: dict[str, Any], written: Callable[..., Any], before_naming: Callable[[], object] = list
) -> dict[str, Any]:
    """Run the cases in their order, up to the first that fails; then look for its bug.

    Args:
        task: as `ListTask.as_data` gives it.
        written: the reader's function.
        before_naming: is called before the function runs on, for its bug's name alone.

    Returns:
        How many cases hold; for the first that does not, its number, what is wrong, the
        numbers of the bugs that do the same, and the error, if one was raised.
    """
    done = []
    for number, case in enumerate(task["cases"]):
        outcome = outcome_of(written, case["arguments"])
        done.append(outcome)
        wrong = difference(task, outcome, case["right"])
        if wrong:
            before_naming()
            called = f"{wrong} It was called as `{as_call(task['called'], case['arguments'])}`."
            bugs = named(task, number, done, written)
            error = outcome.get("error")
            return {"held": number, "case": number, "wrong": called, "bugs": bugs, "error": error}
    return {"held": len(done), "case": None, "wrong": "", "bugs": [], "error": None}


def outcome_of(written: Callable[..., Any], arguments: list[Any]) -> dict[str, Any]:
    """What a call does: it gives something, or raises, and may change what it was handed."""
    handed = as_plain(arguments)
    try:
        given = written(*handed)
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        name = type(error).__name__
        return {"raises": SAME_ERRORS.get(name, name), "error": error}
    outcome = {"gives": as_plain(given)}
    changed = [i for i in range(len(handed)) if as_plain(handed[i]) != arguments[i]]
    if changed:
        outcome["changes"] = changed
    return outcome


def as_plain(value: Any) -> Any:
    """Lists and numbers as JSON can hold them; of anything else its kind."""
    if isinstance(value, (list, tuple)):
        return [as_plain(each) for each in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return {"number": "infinity" if value > 0 else "-infinity" if value < 0 else "NaN"}
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return {"kind": type(value).__name__}


def difference(task: dict[str, Any], found: dict[str, Any], right: dict[str, Any]) -> str:
    """Say in a sentence how an outcome differs from what is right; nothing if it does not."""
    if "raises" in found:
        return f"It raises {told_error(found['error'])}"
    wrong = unlike(found["gives"], right["gives"])
    if "changes" in found:
        names = [task["arguments"][i] for i in found["changes"]]
        changes = f"changes the caller's `{'`, `'.join(names)}`: make a new list."
        return f"{wrong} It also {changes}" if wrong else f"It {changes}"
    return wrong


def unlike(mine: Any, right: Any) -> str:
    """How what was given differs from what is right: in kind, in size, then in numbers."""
    wanted = "True or False" if isinstance(right, bool) else a_kind(right)
    if mine is None:
        return f"It returns None where {wanted} was expected. Is there a `return`, on every way?"
    if a_kind(mine).replace("bool", "number") != a_kind(right).replace("bool", "number"):
        return f"It returns {a_kind(mine)} where {wanted} was expected."
    if sizes(mine) != sizes(right):
        return f"It returns {sizes(mine)}, and should return {sizes(right)}."
    if isinstance(right, bool) and mine not in (True, False):
        return f"It returns {told_number(mine)} where True or False was expected."
    if isinstance(right, bool):
        return "" if mine == right else f"It returns {mine}, and should return {right}."
    return unlike_numbers(mine, right)


def unlike_numbers(mine: Any, right: Any) -> str:
    """How many numbers differ, and how the first one does, but not what is right."""
    ours, theirs = flat(mine), flat(right)
    wrong = [i for i in range(len(ours)) if not close(ours[i][1], theirs[i][1])]
    if not wrong:
        return ""
    (place, number), expected = ours[wrong[0]], theirs[wrong[0]][1]
    said = told_number(number, expected)
    if not any(isinstance(each, (bool, dict)) for each in (number, expected)):
        said += f", and should be {'larger' if number < expected else 'smaller'}"
    if not place:
        return f"It returns {said}."
    if len(ours) == 1:
        return f"The number is wrong: it is {said}."
    if len(wrong) == 1:
        return f"1 of {len(ours)} numbers is wrong: the one at `{place}` is {said}."
    return f"{len(wrong)} of {len(ours)} numbers are wrong; the first, at `{place}`, is {said}."


def close(one: Any, other: Any) -> bool:
    """Whether two numbers are the same, as far as one looks."""
    if isinstance(one, dict) or isinstance(other, dict):
        return bool(one == other)
    return bool(abs(one - other) <= LEAST + SHARE * abs(other))


def alike(found: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two outcomes, wrong ones for instance, are the same."""
    if "raises" in found or "raises" in other:
        name = found.get("raises")
        return bool(name == other.get("raises") and name not in OF_ALL_KINDS)
    return not unlike(found["gives"], other["gives"]) and found.get("changes") == other.get(
        "changes"
    )


def named(
    task: dict[str, Any],
    number: int,
    done: list[dict[str, Any]],
    written: Callable[..., Any],
) -> list[int]:
    """The known bugs that do what was done, wrong as it is, in more cases than all others.

    A bug must do the same up to the case that failed, and in half of those after it; where an
    answer is True or False, which two may share by chance, in all of them.
    """
    cases = task["cases"]
    same = [
        bug
        for bug in range(len(task["bugs"]))
        if all(alike(done[i], of_bug(cases[i], bug)) for i in range(number + 1))
    ]
    rest = [(outcome_of(written, case["arguments"]), case) for case in cases[number + 1 :]]
    scores = [sum(alike(outcome, of_bug(case, bug)) for outcome, case in rest) for bug in same]
    yes_or_no = isinstance(cases[number]["right"].get("gives"), bool)
    needed = len(rest) if yes_or_no else len(rest) / 2
    same = [same[i] for i in range(len(same)) if scores[i] == max(scores) and scores[i] >= needed]
    return same if len(same) <= MOST_NAMED else []


def of_bug(case: dict[str, Any], bug: int) -> dict[str, Any]:
    """What a bug does in a case: nothing is stored where it does what is right."""
    outcome: dict[str, Any] = case["bugs"][bug] or case["right"]
    return outcome
