"""The programs of the recipes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nbformat import NotebookNode


def programs(cells: Iterable[NotebookNode]) -> Iterator[tuple[NotebookNode, str]]:
    """Each cell that shows a result, and its code after that of the cells that show none."""
    before: list[str] = []
    for cell in cells:
        if cell.cell_type == "code":
            code = "\n".join([*before, cell.source])
            before = [] if cell.outputs else [code]
            if cell.outputs:
                yield cell, code
