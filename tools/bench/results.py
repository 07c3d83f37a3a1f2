"""Where results are kept, with the machine that made them, and what the book shows of them.

Rows of different processors stand side by side: what one measures never replaces what another
did, here and in what the book shows.
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from attnbook.timing import readable
from tools import ROOT
from tools.repository_address import git

Result = dict[str, Any]
RESULTS = ROOT / "_build" / "bench.json"
MEASURED = ROOT / "attnbook" / "costs" / "measured.json"
SIZES = ("layer", "program", "mode", "batch", "queries", "keys", "size")
AMOUNTS = ("seconds", "bytes")
GROWTH = ("growth-additive", "growth-dot")


def processor() -> str:
    """The model of the processor, as the system calls it."""
    cpuinfo = Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    found = re.search(r"^model name\s*: (.+)$", text, re.MULTILINE)
    return found[1] if found else platform.processor() or platform.machine()


def machine() -> Result:
    """Name what the numbers belong to."""
    facts = {
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": " ".join((platform.system(), *platform.libc_ver())).strip(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "attnbook": version("attnbook"),
        "commit": git(ROOT, "rev-parse", "--short=10", "HEAD"),
        "local changes": bool(git(ROOT, "status", "--porcelain", "-uno")),
    }
    if torch.cuda.is_available():
        facts["gpu"] = torch.cuda.get_device_name()
    return facts


def stored(path: Path = RESULTS) -> dict[str, Result]:
    """The rows measured so far, by processor and name, each with its machine."""
    found: Result = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if "rows" not in found:
        return found.get("processors", {})  # type: ignore[no-any-return]
    # Before, there was one row of a name, whoever had measured it.
    old: dict[str, Result] = {}
    for name, row in found["rows"].items():
        if "machine" in row:
            old.setdefault(row["machine"]["processor"], {})[name] = row
    return old


def store(name: str, row: Result, path: Path = RESULTS) -> None:
    """Add a row to those measured before; an interruption leaves the file whole."""
    about, found = machine(), stored(path)
    rows = found.get(about["processor"], {}) | {name: {"machine": about, "measured": row}}
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({"processors": found | {about["processor"]: rows}}, indent=1)
    write(path, text)


def by_name(found: dict[str, Result]) -> Result:
    """The rows of all processors in one, named with the processor where there are several."""
    several = len(found) > 1
    return {
        f"{name} on {maker}" if several else name: row
        for maker, rows in found.items()
        for name, row in rows.items()
    }


def write(path: Path, text: str) -> None:
    """Replace a file at once."""
    new = path.with_suffix(".new")
    new.write_text(text + "\n", "utf-8")
    new.replace(path)


def rounded(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Keep three digits of each number."""
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    if isinstance(value, list):
        return [rounded(part) for part in value]
    if isinstance(value, bool) or not isinstance(value, int | float) or value == 0:
        return value
    digits = 2 - math.floor(math.log10(abs(value)))
    return round(value, digits) if isinstance(value, float) else int(round(value, digits))


def shown(rows: Result) -> Result:
    """What the book shows of growth: the measured points of both layers, and how they grow."""
    points = [
        {what: point[what] for what in SIZES} | rounded({what: point[what] for what in AMOUNTS})
        for name in GROWTH
        for point in rows[name]["measured"]["points"]
        if point["axis"] == "queries = keys"
    ]
    exponents = {name: rows[name]["measured"]["exponents"] for name in GROWTH}
    return {
        "machine": rows[GROWTH[0]]["machine"] | {"threads": 1, "allocator of points": "default"},
        "points": points,
        "exponents": rounded(exponents),
    }


def ratios_in(rows: Result) -> Result:
    """The ratios of all rows that have some."""
    found = {name: row["measured"] for name, row in rows.items()}
    return {name: ratios_of(row) for name, row in found.items() if "case" in row}


def ratios_of(row: Result) -> Result:
    """The ratios of one row with their quartiles, by allocator, mode and program."""
    return {
        allocator: {
            mode: {
                program: {
                    what: number
                    for what, number in found.items()
                    if what.startswith("times as fast") or what in ("bytes", "rounds")
                }
                for program, found in programs.items()
                if "seconds" in found
            }
            for mode, programs in row[allocator].items()
        }
        for allocator in row
        if allocator != "case"
    }


def shown_before(path: Path = MEASURED) -> dict[str, Result]:
    """What the book shows already, by processor."""
    known: Result = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return known.get("processors", {})  # type: ignore[no-any-return]


def write_shown(path: Path = MEASURED, found: dict[str, Result] | None = None) -> None:
    """Add the stored rows to what the book shows; those of other processors stay as they are."""
    book = shown_before(path)
    for maker, rows in (stored() if found is None else found).items():
        lacking = [name for name in GROWTH if name not in rows]
        before = book.get(maker)
        if lacking and not before:
            what = " and ".join(lacking)
            raise SystemExit(f"nothing to show yet of {maker}: measure {what} there first")
        ratios = (before["rows"] if before else {}) | rounded(ratios_in(rows))
        book[maker] = ((before or {}) if lacking else shown(rows)) | {"rows": ratios}
    if not book:
        raise SystemExit(f"nothing to show yet: measure {' and '.join(GROWTH)} first")
    parts = (f"{json.dumps(maker)}: {as_text(part)}" for maker, part in book.items())
    write(path, '{"processors": {\n' + ",\n".join(parts) + "\n}}")


def as_text(book: Result) -> str:
    """What one processor has measured, one point a line."""
    parts = [f'"machine": {json.dumps(book["machine"])}']
    parts.append('"points": [\n' + ",\n".join(map(json.dumps, book["points"])) + "\n]")
    parts.append(f'"exponents": {json.dumps(book["exponents"])}')
    lines = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in book["rows"].items())
    parts.append('"rows": {\n' + ",\n".join(lines) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}"


def side_by_side(name: str, found: dict[str, Result], book: dict[str, Result]) -> list[str]:
    """A row of all processors as text, what each has measured of one program in lines together."""
    told: dict[str, list[str]] = {}
    for maker in dict.fromkeys([*found, *book]):
        shown = book.get(maker, {}).get("rows", {}).get(name)
        row = found.get(maker, {}).get(name, {}).get("measured") or shown
        for what, words in lines(name, row).items() if row else ():
            told.setdefault(what, []).append(f"{maker}: {words}")
    return [f"{what}, on {words}" for what, all_words in told.items() for words in all_words]


def lines(name: str, row: Result) -> dict[str, str]:
    """A row as text: what was measured of each program that raced, or of all."""
    if "exponents" in row:
        return {
            f"{name}, {what}": f"time grows with exponent {found['seconds']:.2f}, "
            f"memory with {found['bytes']:.2f}"
            for what, found in row["exponents"].items()
        }
    raced = {part: modes for part, modes in row.items() if part != "case"}
    if not all(isinstance(modes, dict) for modes in raced.values()):
        cells = (f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
        return {name: ", ".join(cells)}
    return {
        f"{name}, {allocator}, {mode}, {program}": in_words(found)
        for allocator, modes in raced.items()
        for mode, programs in modes.items()
        for program, found in programs.items()
    }


def in_words(found: Result) -> str:
    """What was measured of one program; what the book shows of it has no time."""
    if "not measured" in found:
        return f"not measured: {found['not measured']}"
    words = [
        "{1:.2f} {what} ({0:.2f} to {2:.2f})".format(*quartiles, what=what)
        for what, quartiles in found.items()
        if what.startswith("times as fast")
    ]
    words += [readable(found["seconds"])] if "seconds" in found else []
    memory = f"{found['bytes'] / 2**20:.1f} MiB"
    if "resident bytes" in found:
        memory += f" (the process grew by {found['resident bytes'] / 2**20:.1f})"
    words += [memory]
    return ", ".join([*words, f"{found['rounds']} rounds"] if "rounds" in found else words)
