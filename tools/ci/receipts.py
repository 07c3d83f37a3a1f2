"""What the self-test saw on which processor, system and device, as a table in Markdown.

`python -m tools.ci.receipts` prints it from `tools/receipts`; `--into FILE` writes it between
`<!-- seen -->` and `<!-- /seen -->`. A receipt is what `python -m attnbook selftest --json` stores.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tools import ROOT

Receipt = dict[str, Any]
FOLDER = ROOT / "tools" / "receipts"
START, END = "<!-- seen -->", "<!-- /seen -->"
NEEDED = ("system", "device", "processor", "Python", "torch", "comparisons", "faults")
PLACE = NEEDED[:3]  # what is in the first column
# What a receipt must show for each kind of machine; without one, its row is empty.
KINDS = {
    "Linux, CPU": ("Linux", "cpu"),
    "Linux, CUDA": ("Linux", "cuda"),
    "macOS, CPU": ("Darwin", "cpu"),
    "macOS, MPS": ("Darwin", "mps"),
    "Windows, CPU": ("Windows", "cpu"),
    "Windows, CUDA": ("Windows", "cuda"),
}


def read_receipts(folder: Path = FOLDER) -> list[Receipt]:
    """All stored receipts, by their file's name.

    Raises:
        ValueError: a file is no receipt, or names a kind of machine that has no row.
    """
    found = []
    for path in sorted(folder.glob("*.json")):
        receipt = json.loads(path.read_text("utf-8"))
        missing = [name for name in NEEDED if name not in receipt]
        if missing:
            raise ValueError(f"{path.name} must be a receipt of the self-test, got no {missing[0]}")
        if not any(_is_of(receipt, kind) for kind in KINDS):
            where = f"{receipt['system']}, {receipt['device']}"
            raise ValueError(f"{path.name} must be of one of {', '.join(KINDS)}, got {where}")
        found.append(receipt)
    return found


def _is_of(receipt: Receipt, kind: str) -> bool:
    system, device = KINDS[kind]
    parts: tuple[bool, bool] = (
        receipt["system"].startswith(system),
        receipt["device"].startswith(device),
    )
    return all(parts)


def make_table(receipts: Iterable[Receipt]) -> str:
    """A row for each receipt, and one for each kind of machine that none was seen from."""
    receipts = [*receipts]
    lines = [_row(["machine", *NEEDED[3:]]), "|---" * 5 + "|"]
    for kind in KINDS:
        for it in (receipt for receipt in receipts if _is_of(receipt, kind)):
            machine = ", ".join(str(it[name]) for name in PLACE)
            lines.append(_row([machine, *(str(it[name]) for name in NEEDED[3:])]))
    unseen = [kind for kind in KINDS if not any(_is_of(it, kind) for it in receipts)]
    # No spaces in empty cells: the words of the README are counted.
    return "\n".join([*lines, *(f"| {kind} | not seen ||||" for kind in unseen)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def put_between_markers(text: str, table: str) -> str:
    """Replace what is between the markers.

    Raises:
        ValueError: there is not one of each marker, in this order.
    """
    before, start, rest = text.partition(START)
    inside, end, after = rest.partition(END)
    if not start or not end or START in inside + after or END in before + after:
        raise ValueError(f"the text must have one {START} and then one {END}, got another number")
    return f"{before}{START}\n{table}\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or write it into a file."""
    parser = argparse.ArgumentParser(prog="python -m tools.ci.receipts", description=__doc__)
    parser.add_argument("--into", type=Path, metavar="FILE", help="replace the table in this file")
    into = parser.parse_args(arguments).into
    table = make_table(read_receipts())
    if into is None:
        print(table)
    else:
        into.write_text(put_between_markers(into.read_text("utf-8"), table), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
