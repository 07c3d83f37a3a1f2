"""Store results with their machine, and publish their ratios.

Each processor has its own rows: measuring on one never replaces the rows of another, neither in
the stored results nor in the published ones.
"""

from __future__ import annotations

import json
import math
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from attnbook.selftest.environment import processor
from attnbook.timing import readable
from tools import ROOT
from tools.repository_address import git

Result = dict[str, Any]
RESULTS = ROOT / "_build" / "bench.json"
MEASURED = ROOT / "tools" / "bench" / "measured.json"


def machine() -> Result:
    """Describe the machine of the results."""
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


def read_results(path: Path = RESULTS) -> dict[str, Result]:
    """The rows measured so far, by processor and name, each with its machine."""
    found: Result = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if "rows" not in found:
        return found.get("processors", {})  # type: ignore[no-any-return]
    # In the old format there was one row for a name, from any processor.
    old: dict[str, Result] = {}
    for name, row in found["rows"].items():
        if "machine" in row:
            old.setdefault(row["machine"]["processor"], {})[name] = row
    return old


def store(name: str, row: Result, path: Path = RESULTS) -> None:
    """Add a row to the stored ones; an interruption leaves the file unchanged."""
    about, found = machine(), read_results(path)
    rows = found.get(about["processor"], {}) | {name: {"machine": about, "measured": row}}
    path.parent.mkdir(exist_ok=True)
    text = json.dumps({"processors": found | {about["processor"]: rows}}, indent=1)
    write(path, text)


def by_name(found: dict[str, Result]) -> Result:
    """The rows of all processors together, named with the processor if there are several."""
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


def round_numbers(value: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Round each number to three digits."""
    if isinstance(value, dict):
        return {name: round_numbers(part) for name, part in value.items()}
    if isinstance(value, list):
        return [round_numbers(part) for part in value]
    if isinstance(value, bool) or not isinstance(value, int | float) or value == 0:
        return value
    digits = 2 - math.floor(math.log10(abs(value)))
    return round(value, digits) if isinstance(value, float) else int(round(value, digits))


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


def read_published(path: Path = MEASURED) -> dict[str, Result]:
    """The published ratios, by processor."""
    published: Result = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return published.get("processors", {})  # type: ignore[no-any-return]


def publish(path: Path = MEASURED, found: dict[str, Result] | None = None) -> None:
    """Add the ratios of the stored rows; published rows of other processors are unchanged."""
    published = read_published(path)
    for maker, rows in (read_results() if found is None else found).items():
        if ratios := round_numbers(ratios_in(rows)):
            before = published.get(maker, {}).get("rows", {})
            about = rows[[*ratios][-1]]["machine"] | {"threads": 1}
            published[maker] = {"machine": about, "rows": before | ratios}
    if not published:
        raise SystemExit("there is nothing to publish yet: measure a row of layers first")
    parts = (f"{json.dumps(maker)}: {format_results(part)}" for maker, part in published.items())
    write(path, '{"processors": {\n' + ",\n".join(parts) + "\n}}")


def format_results(part: Result) -> str:
    """The results of one processor as JSON, one row on each line."""
    lines = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in part["rows"].items())
    return (
        f'{{\n"machine": {json.dumps(part["machine"])},\n"rows": {{\n'
        + ",\n".join(lines)
        + "\n}\n}"
    )


def side_by_side(name: str, found: dict[str, Result], known: dict[str, Result]) -> list[str]:
    """A row of all processors as text; lines of the same program are together."""
    texts: dict[str, list[str]] = {}
    for maker in dict.fromkeys([*found, *known]):
        published = known.get(maker, {}).get("rows", {}).get(name)
        row = found.get(maker, {}).get(name, {}).get("measured") or published
        for what, words in lines(name, row).items() if row else ():
            texts.setdefault(what, []).append(f"{maker}: {words}")
    return [f"{what}, on {words}" for what, all_words in texts.items() for words in all_words]


def lines(name: str, row: Result) -> dict[str, str]:
    """A row as text: a line for each program, or one line."""
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
        f"{name}, {allocator}, {mode}, {program}": describe(found)
        for allocator, modes in raced.items()
        for mode, programs in modes.items()
        for program, found in programs.items()
    }


def describe(found: Result) -> str:
    """The results of one program as text; published ones have no time."""
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
