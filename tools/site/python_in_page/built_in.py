"""Built-in functions that MicroPython lacks, or that it computes differently."""

import math

try:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any
except ImportError:
    pass  # in MicroPython

builtin_round, builtin_zip = round, zip
DEEPEST = 20  # depth of nested lists whose floats are printed as Python prints them
EXACT = 2**53  # from here on, a float has no digits after the point


def sort_stably(
    values: "Iterable[Any]",
    *,
    key: "Callable[[Any], Any] | None" = None,
    reverse: bool = False,
) -> "list[Any]":
    """As `sorted`: what compares equal stays in its order, which MicroPython does not promise."""
    pairs = [(value if key is None else key(value), value) for value in values]
    # Reversed twice, what is equal stays in its order, too.
    pairs = merge_sort(pairs[::-1])[::-1] if reverse else merge_sort(pairs)
    return [value for _, value in pairs]


def merge_sort(pairs: "list[tuple[Any, Any]]") -> "list[tuple[Any, Any]]":
    """Sort by the first of each pair: sort both halves, then merge them."""
    if len(pairs) < 2:
        return pairs
    left, right = merge_sort(pairs[: len(pairs) // 2]), merge_sort(pairs[len(pairs) // 2 :])
    i, j, both = 0, 0, []
    while i < len(left) and j < len(right):
        if right[j][0] < left[i][0]:
            both.append(right[j])
            j += 1
        else:
            both.append(left[i])
            i += 1
    return both + left[i:] + right[j:]


def round_exactly(number: "Any", ndigits: "int | None" = None) -> "Any":
    """As `round`: by the exact value, where MicroPython multiplies, rounds and divides."""
    if ndigits is None:
        return builtin_round(number)
    if isinstance(number, int):
        step = 10 ** max(0, -ndigits)
        return divide_half_even(number, step) * step
    if not math.isfinite(number):
        return number
    mantissa, exponent = math.frexp(number)
    top, bottom = int(mantissa * EXACT), 1
    shift = exponent - 53  # number = top * 2**shift
    top, bottom = (top << shift, 1) if shift >= 0 else (top, 1 << -shift)
    ten = 10 ** abs(ndigits)
    if ndigits < 0:
        return float(divide_half_even(top, bottom * ten) * ten)
    whole = divide_half_even(top * ten, bottom)
    return number if abs(whole) >= EXACT else math.copysign(whole / ten, number)


def divide_half_even(top: int, bottom: int) -> int:
    """The whole number nearest to top / bottom; of two, the even one."""
    whole, rest = divmod(top, bottom)
    return whole + (2 * rest > bottom or (2 * rest == bottom and whole % 2 == 1))


def zip_lists(*lists: "Iterable[Any]", strict: bool = False) -> "Any":
    """As `zip`, which in MicroPython does not know `strict`."""
    return zip_strictly(lists) if strict else builtin_zip(*lists)


def zip_strictly(lists: "tuple[Iterable[Any], ...]") -> "Iterator[Any]":
    """As `zip` with strict=True."""
    iterators = [iter(each) for each in lists]
    while iterators:
        row = [next(each, zip_strictly) for each in iterators]
        ended = [each is zip_strictly for each in row]
        if all(ended):
            return
        if any(ended):
            raise ValueError("zip() with strict=True: the lists have different lengths")
        yield tuple(row)


def format_value(value: object, spec: str = "") -> str:
    """As `format`."""
    return ("{:" + spec + "}").format(value)


def ascii_of(value: object) -> str:
    """As `ascii`."""
    return "".join(map(escape_letter, repr(value)))


def escape_letter(letter: str) -> str:
    """A letter as `ascii` writes it."""
    code = ord(letter)
    if code < 128:
        return letter
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )


def printable(value: "Any", depth: int = 0) -> "Any":
    """A value that `print` writes as Python does: MicroPython writes 0.7616 as 0.7616000000000001.

    Args:
        value: what is printed; floats in lists, tuples and dicts are found, too.
        depth: how many of these are around it.
    """
    kind = type(value)
    if kind is float:
        short = f"{value:.15g}"
        is_exact = 1e-4 <= abs(value) < 1e15 and float(short) == value
        text = (short if "." in short else f"{short}.0") if is_exact else repr(value)
    elif kind not in (list, tuple, dict) or depth > DEEPEST:
        return repr(value) if depth else value
    elif kind is dict:
        pairs = [
            f"{printable(key, depth + 1)}: {printable(value[key], depth + 1)}" for key in value
        ]
        text = f"{{{', '.join(pairs)}}}"
    else:
        inner = ", ".join([printable(each, depth + 1) for each in value])
        comma = "," if len(value) == 1 else ""
        text = f"[{inner}]" if kind is list else f"({inner}{comma})"
    return text


def attributes_of(value: object) -> "dict[str, Any]":
    """As `vars`, of an object or a class."""
    found: dict[str, Any] = value.__dict__
    return found


ADDED = {
    "sorted": sort_stably,
    "round": round_exactly,
    "zip": zip_lists,
    "format": format_value,
    "vars": attributes_of,
    "ascii": ascii_of,
    # MicroPython raises the class on the right where Python raises the one on the left.
    "RecursionError": RuntimeError,
    "ModuleNotFoundError": ImportError,
    "UnboundLocalError": NameError,
    "IOError": OSError,
}
