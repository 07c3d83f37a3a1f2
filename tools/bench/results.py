"""Where results are kept, with the machine that made them, and what the book shows of them."""

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
from tools.provenance import git

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


def stored(path: Path = RESULTS) -> Result:
    """The rows measured so far, each with its machine."""
    rows: Result = json.loads(path.read_text("utf-8"))["rows"] if path.exists() else {}
    # Rows of an older kind had one machine for all.
    return {name: row for name, row in rows.items() if "machine" in row}


def store(name: str, row: Result, path: Path = RESULTS) -> None:
    """Add a row to those measured before; an interruption leaves the file whole."""
    rows = stored(path) | {name: {"machine": machine(), "measured": row}}
    path.parent.mkdir(exist_ok=True)
    write(path, json.dumps({"rows": rows}, indent=1))


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
    """What the book shows: the measured points of both layers, and all ratios."""
    points = [
        {what: point[what] for what in SIZES} | rounded({what: point[what] for what in AMOUNTS})
        for name in GROWTH
        for point in rows[name]["measured"]["points"]
        if point["axis"] == "queries = keys"
    ]
    exponents = {name: rows[name]["measured"]["exponents"] for name in GROWTH}
    ratios = {
        name: ratios_of(row["measured"]) for name, row in rows.items() if "case" in row["measured"]
    }
    return {
        "machine": rows[GROWTH[0]]["machine"] | {"threads": 1, "allocator of points": "default"},
        "points": points,
        "exponents": rounded(exponents),
        "rows": rounded(ratios),
    }


def ratios_of(row: Result) -> Result:
    """The ratios of one row with their quartiles, by allocator, mode and program."""
    return {
        allocator: {
            mode: {
                program: {
                    what: number
                    for what, number in found.items()
                    if what.startswith("times as fast") or what == "bytes"
                }
                for program, found in programs.items()
                if "seconds" in found
            }
            for mode, programs in row[allocator].items()
        }
        for allocator in row
        if allocator != "case"
    }


def write_shown(path: Path = MEASURED, rows: Result | None = None) -> None:
    """Write what the book shows of the stored rows, one point a line."""
    rows = stored() if rows is None else rows
    lacking = [name for name in GROWTH if name not in rows]
    if lacking:
        raise SystemExit(f"nothing to show yet: measure {' and '.join(lacking)} first")
    book = shown(rows)
    parts = [f'"machine": {json.dumps(book["machine"])}']
    parts.append('"points": [\n' + ",\n".join(map(json.dumps, book["points"])) + "\n]")
    parts.append(f'"exponents": {json.dumps(book["exponents"])}')
    lines = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in book["rows"].items())
    parts.append('"rows": {\n' + ",\n".join(lines) + "\n}")
    write(path, "{\n" + ",\n".join(parts) + "\n}")


def lines(name: str, row: Result) -> list[str]:
    """A row as text: one line for each program that raced, or one line in all."""
    if "case" not in row and "exponents" not in row:
        cells = (f"{k} {v:.2f}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())
        return [f"{name}: {', '.join(cells)}"]
    if "exponents" in row:
        return [
            f"{name}, {what}: time grows with exponent {found['seconds']:.2f}, "
            f"memory with {found['bytes']:.2f}"
            for what, found in row["exponents"].items()
        ]
    return [
        f"{name}, {allocator}, {mode}, {program}: {in_words(found)}"
        for allocator in row
        if allocator != "case"
        for mode, programs in row[allocator].items()
        for program, found in programs.items()
    ]


def in_words(found: Result) -> str:
    """What was measured of one program."""
    if "not measured" in found:
        return f"not measured: {found['not measured']}"
    ratios = (
        "{1:.2f} {what} ({0:.2f} to {2:.2f})".format(*quartiles, what=what)
        for what, quartiles in found.items()
        if what.startswith("times as fast")
    )
    memory = f"{found['bytes'] / 2**20:.1f} MiB"
    if "resident bytes" in found:
        memory += f" (the process grew by {found['resident bytes'] / 2**20:.1f})"
    return ", ".join([*ratios, readable(found["seconds"]), memory])
