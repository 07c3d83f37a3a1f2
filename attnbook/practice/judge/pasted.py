"""Read numbers that a program printed anywhere, and name the bug that gives them.

MicroPython runs this in the reader's page, as `lists`. It needs only data: the output of right code
and of each known bug on the inputs that the reader's code ran on. An output is a dict of its
`shape` and its `numbers` in a row.
"""

from attnbook.messages import Messages
from attnbook.practice.judge.judging import MOST_NAMED
from attnbook.practice.judge.lists import Unreadable, format_number

try:
    from typing import Any
except ImportError:
    pass  # in MicroPython

TEXT = Messages(__file__)
LARGE = 1e30  # infinity is close to itself only
LONGEST = 20000  # characters of a text: the right ones have some 2000
# How far numbers may be apart, as a share and in all, by the type that the text names.
CLOSE = (("bfloat16", 4e-2, 1e-2), ("float16", 1e-2, 2e-3), ("", 1e-4, 1e-5))
# What torch, numpy, JAX and TensorFlow print after the numbers, or before them.
ABOUT = ("device", "dtype", "grad_fn", "requires_grad", "shape", "size", "layout", "weak_type")
LEFT_OUT = ("torch.size", "out", "in")  # `torch.Size([2, 3])`, and the `Out[3]` of a notebook
VALUES = {"true": 1.0, "false": 0.0, "nan": float("nan"), "inf": float("inf")}
VALUES["infinity"] = VALUES["inf"]
DIGITS = "0123456789"
WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_" + DIGITS
NUMERIC = tuple(DIGITS + ".")
PAIRS = {"[": "]", "(": ")", "<": ">", "'": "'", '"': '"'}


def read_text(text: str) -> dict[str, Any]:
    """Read the print of a tensor, an array or nested lists, with the digits that it shows.

    Raises:
        Unreadable: there is not one result, with all its numbers; the text is a whole sentence.
    """
    if len(text) > LONGEST:
        raise Unreadable(TEXT("pasted_too_long", most=LONGEST))
    if "..." in text or "…" in text:
        raise Unreadable(TEXT("pasted_summary"))
    if text.strip() == "None":
        raise Unreadable(TEXT("returns_none_for_tensor"))
    nested, decimals, scientific = parse(text.replace("\u2212", "-"))
    lists = [each for each in nested if isinstance(each, list) and each]
    if len(lists) > 1:
        raise Unreadable(TEXT("pasted_several", count=len(lists)))
    found = read_value(lists[0] if lists else nested, text)
    half, (share, least) = 0.5 * 10.0**-decimals if decimals else 0.0, found["tolerance"]
    found["tolerance"] = (share + half, least) if scientific else (share, least + half)
    return found


def read_value(nested: Any, kind: str = "") -> dict[str, Any]:
    """Take nested lists of numbers as an output; `kind` names their type, if it is a short one."""
    shape, numbers = flatten(nested)
    if not numbers:
        raise Unreadable(TEXT("pasted_nothing"))
    tolerance = next(each[1:] for each in CLOSE if each[0] in kind)
    return {"shape": shape, "numbers": numbers, "tolerance": tolerance}


def flatten(nested: Any) -> tuple[list[int], list[float]]:
    """The shape of nested lists, and all their numbers in a row."""
    if not isinstance(nested, (list, tuple)):
        return [], [float(nested)]
    parts = [flatten(each) for each in nested]
    numbers: list[float] = []
    for shape, inside in parts:
        if shape != parts[0][0]:
            raise Unreadable(TEXT("pasted_ragged"))
        numbers += inside
    return [len(nested)] + (parts[0][0] if parts else []), numbers


def parse(text: str) -> tuple[list[Any], int, bool]:
    """Give the nested lists, the most decimals of a number, and whether there is an exponent."""
    root: list[Any] = []
    lists, calls = [root], []  # the open lists; of each open bracket, whether it is that of a call
    decimals, scientific, i = 0, False, 0
    while i < len(text):
        start, letter = i, text[i]
        i += 1
        if letter in "[(":
            calls.append(start > 0 and text[start - 1] in WORD)
            if not calls[-1]:
                lists[-1].append([])
                lists.append(lists[-1][-1])
        elif letter in "])" and calls:
            if not calls.pop():
                lists.pop()
        elif letter in DIGITS or (letter in "-." and text[i : i + 1] in NUMERIC):
            i = end_of(text, i, DIGITS + ".")
            decimals = max(decimals, len(text[start:i].partition(".")[2]))
            if text[i : i + 1] in ("e", "E"):
                scientific = True
                i = end_of(text, i + 2, DIGITS)
            lists[-1].append(as_number(text[start:i]))
        elif letter in WORD:
            i = end_of(text, i, WORD + ".")
            word, sign = text[start:i].lower(), -1 if text[max(start - 1, 0)] == "-" else 1
            if word in VALUES:
                lists[-1].append(sign * VALUES[word])
            elif word in LEFT_OUT and text[i : i + 1] in ("[", "("):
                i = skip(text, i)
            elif word in ABOUT and text[i : i + 1] == "=":
                i = skip(text, i + 1)
    if calls:
        raise Unreadable(TEXT("pasted_cut"))
    return root, decimals, scientific


def as_number(text: str) -> float:
    """A number as it is printed."""
    try:
        return float(text)
    except ValueError:
        raise Unreadable(TEXT("pasted_no_number", text=text[:20])) from None


def end_of(text: str, i: int, letters: str) -> int:
    """The first index from `i` on that has none of these letters."""
    while i < len(text) and text[i] in letters:
        i += 1
    return i


def skip(text: str, i: int) -> int:
    """The index after a value such as `'cuda:0'`, `(2, 3)`, `<AddBackward0>` or `torch.int64`."""
    end = PAIRS.get(text[i : i + 1])
    if end:
        found = text.find(end, i + 1)
        return len(text) if found < 0 else found + 1
    while i < len(text) and text[i] not in ",)]> \n":
        i += 1
    return i


def judge_output(data: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Whether an output is right, else which bugs give it, else what is wrong with its numbers.

    Args:
        data: as `recognition.data_of` gives it.
        found: as `read_text` or `read_value` gives it.

    Returns:
        Whether it is `right`, the numbers of the `bugs`, and the `paragraphs` of the verdict.
    """
    right, task, tolerance = data["right"], data["name"], found["tolerance"]
    outputs = [bug["output"] for bug in data["bugs"]]
    bugs = [i for i in range(len(outputs)) if agree(found, outputs[i], tolerance)]
    if agree(found, right, tolerance):
        if bugs:
            return verdict([TEXT("pasted_few_digits")])
        return {"right": True, "bugs": [], "paragraphs": [TEXT("pasted_right", task=task)]}
    empty, too = empty_rows(right), []
    if not bugs and empty:  # many programs give a fully masked row other numbers
        too = [TEXT("wrong_empty_too")]
        bugs = [
            i
            for i in range(len(outputs))
            if agree(found, outputs[i], tolerance, empty)
            and not agree(right, outputs[i], tolerance, empty)
        ]
    first = TEXT("pasted_wrong", task=task)
    if not 0 < len(bugs) <= MOST_NAMED:
        return verdict([first] + describe(data, found, empty))  # noqa: RUF005 - MicroPython
    (one, other), alone = [data["bugs"][bugs[i]] for i in (0, -1)], len(bugs) == 1
    cause = TEXT("cause" if alone else "two_causes", cause=one["cause"], other=other["cause"])
    fix = TEXT("fix" if alone else "two_fixes", fix=one["fix"], other=other["fix"])
    return verdict([first, cause, fix] + too, bugs)  # noqa: RUF005 - MicroPython


def verdict(paragraphs: list[str], bugs: "list[int] | None" = None) -> dict[str, Any]:
    """A verdict on an output that is not right."""
    return {"right": False, "bugs": bugs or [], "paragraphs": paragraphs}


def close(one: float, other: float, tolerance: tuple[float, float]) -> bool:
    """Whether two numbers are equal up to a share and a least number; NaN equals NaN."""
    if one == other or (one != one and other != other):  # noqa: PLR0124 - NaN
        return True
    return abs(one - other) <= tolerance[1] + tolerance[0] * min(abs(other), LARGE)


def agree(
    one: dict[str, Any],
    other: dict[str, Any],
    tolerance: tuple[float, float],
    skipped: "list[int] | None" = None,
) -> bool:
    """Whether two outputs have the same numbers, except for some; axes of size 1 do not count."""
    if without_ones(one) != without_ones(other):
        return False
    pairs = list(zip(one["numbers"], other["numbers"]))  # noqa: B905 - MicroPython
    return all(
        close(float(pairs[i][0]), float(pairs[i][1]), tolerance)
        for i in range(len(pairs))
        if i not in (skipped or [])
    )


def without_ones(output: dict[str, Any]) -> list[int]:
    """The sizes of all axes that are not 1."""
    return [size for size in output["shape"] if size != 1]


def rows_of(output: dict[str, Any]) -> list[list[int]]:
    """The indices of the numbers of each row."""
    size = output["shape"][-1]
    return [list(range(i, i + size)) for i in range(0, len(output["numbers"]), size)]


def empty_rows(right: dict[str, Any]) -> list[int]:
    """The indices of all numbers in rows where the right output is 0: nothing is visible there."""
    rows = [row for row in rows_of(right) if all(right["numbers"][i] == 0 for i in row)]
    return [i for row in rows for i in row]


def describe(data: dict[str, Any], found: dict[str, Any], empty: list[int]) -> list[str]:
    """Describe the kind of error where no bug is known: shape, NaN, sums, sign, scale, place."""
    right, mine, tolerance = data["right"], found["numbers"], found["tolerance"]
    if without_ones(found) != without_ones(right):
        shape, right_shape = tuple(found["shape"]), tuple(right["shape"])
        return [TEXT("wrong_shape", output=data["output"], shape=shape, right=right_shape)]
    numbers = right["numbers"]
    wrong = [i for i in range(len(mine)) if not close(mine[i], numbers[i], tolerance)]
    lost = [i for i in wrong if not abs(mine[i]) < float("inf")]
    if lost:
        lines = [TEXT("pasted_not_finite", count=len(lost))]
    else:
        lines = describe_sums(data, mine, tolerance) + describe_factor(mine, numbers, tolerance)
    lines += describe_place(data, lost or wrong, empty)
    if not lost:
        first = wrong[0]
        text, small = format_number(mine[first], numbers[first]), mine[first] < numbers[first]
        number = TEXT("too_small" if small else "too_big", number=text)
        place = {"index": index_text(right["shape"], first), "number": number}
        lines.append(TEXT("numbers_wrong", count=len(wrong), total=len(mine), **place))
    return lines + [TEXT("no_bug_known")]  # noqa: RUF005 - MicroPython


def describe_sums(
    data: dict[str, Any], mine: list[float], tolerance: tuple[float, float]
) -> list[str]:
    """Describe a row of weights whose sum is wrong, if weights or their sums are in the output."""
    right = data["right"]
    for row in rows_of(right) if data["sums"] else []:
        summed = row if data["sums"] == "rows" else row[-1:]
        total, wanted = (sum(each[i] for i in summed) for each in (mine, right["numbers"]))
        if not close(total, wanted, (tolerance[0], len(summed) * tolerance[1])):
            index = index_text(right["shape"], row[0]).rpartition("[")[0]
            sums = {"row": index, "sum": f"{total:.3g}", "right": f"{wanted:.3g}"}
            return [TEXT("weights_sum" if data["sums"] == "rows" else "last_is_sum", **sums)]
    return []


def describe_factor(
    mine: list[float], numbers: list[float], tolerance: tuple[float, float]
) -> list[str]:
    """Describe a factor between an output and the right one, if there is one."""
    product = sum(mine[i] * numbers[i] for i in range(len(mine)))
    factor = product / sum(number * number for number in numbers)
    scaled = [factor * number for number in numbers]
    if not factor or not all(close(mine[i], scaled[i], tolerance) for i in range(len(mine))):
        return []
    if close(factor, -1, tolerance):
        return [TEXT("opposite_sign")]
    return [TEXT("scaled", factor=f"{factor:.4g}")]


def describe_place(data: dict[str, Any], wrong: list[int], empty: list[int]) -> list[str]:
    """Describe where numbers are wrong, if some examples, queries or components are right."""
    if all(i in empty for i in wrong):
        return [TEXT("wrong_in_empty")]
    shape, names = data["right"]["shape"], TEXT.group("axes")
    lines: list[str] = []
    for axis in range(len(shape)):
        places = sorted({index_of(shape, i)[axis] for i in wrong})
        if axis == 0 and all(place in data["padded"] for place in places):
            lines.append(TEXT("wrong_in_padded"))
        elif len(places) < shape[axis]:
            name, first = names[data["axes"][axis]], places[0]
            if len(places) > 1 and places == list(range(first, shape[axis])):
                lines.append(TEXT("wrong_from", axis=name, first=first))
            else:
                listed = ", ".join(str(place) for place in places)
                lines.append(TEXT("wrong_in", axis=name, places=listed))
    return lines


def index_of(shape: list[int], i: int) -> list[int]:
    """The index of a number on each axis."""
    index: list[int] = []
    for size in reversed(shape):
        index = [i % size] + index  # noqa: RUF005 - MicroPython
        i //= size
    return index


def index_text(shape: list[int], i: int) -> str:
    """The index of a number, as Python writes it."""
    return "".join(f"[{place}]" for place in index_of(shape, i))
