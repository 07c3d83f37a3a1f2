"""Run a chapter in a kernel where a layer that stores its weights computes what the book shows."""

from __future__ import annotations

from typing import Any

import traitlets
from nbclient import NotebookClient
from nbformat import NotebookNode

from tools.book.cells import EDITOR, has_tag, task_in

# Such a layer has no fast path then, and computes no weights on demand: a chapter that shows a
# layer's lines but runs others fails.
NO_FAST_PATHS = """
import attnbook.attention, attnbook.layers
attnbook.attention.fast_weigh = attnbook.layers.fast_additive_score = None
attnbook.layers.WeightsOnDemand = None
del attnbook
"""
# The first two measure the fast paths; the others run models on them, and show no lines of a layer.
WITH_FAST_PATHS = (
    "what-attention-costs",
    "fast-additive-attention",
    "heads-that-copy",
    "where-attention-comes-in",
    "attention-from-nothing",
    "writing-with-a-cache",
)


# What runs instead of a cell that the reader of a notebook writes: its output is the page's editor.
EDITOR_OF = """{imports}
from attnbook.figures import CodeTask
CodeTask("{task}")"""


class ChapterClient(NotebookClient):
    """Runs a chapter; jupyter-cache, which runs it for the page, offers none of these options."""

    # The end of a progress bar, not each of its states; and a slow print is one output.
    coalesce_streams = traitlets.Bool(True)
    fast_paths = traitlets.Bool()

    @traitlets.default("fast_paths")
    def _need_fast_paths(self) -> bool:
        # Cells are named after their chapter.
        return any(cell.get("id", "").startswith(WITH_FAST_PATHS) for cell in self.nb.cells)

    @traitlets.default("extra_arguments")
    def _arguments_of_kernel(self) -> list[str]:
        # Errors only: each kernel would warn about its local socket.
        lines = [] if self.fast_paths else [f"--InteractiveShellApp.exec_lines={NO_FAST_PATHS}"]
        return ["--log-level=ERROR", *lines]

    async def async_execute_cell(self, cell: NotebookNode, *position: Any, **options: Any) -> Any:  # noqa: ANN401 - as nbclient
        """Run a cell; where the page has an editor, make that."""
        if not has_tag(cell, EDITOR):
            return await super().async_execute_cell(cell, *position, **options)
        written = cell.source
        imports = "\n".join(it for it in written.splitlines() if it.startswith(("import", "from")))
        cell.source = EDITOR_OF.format(imports=imports, task=task_in(written))
        try:
            return await super().async_execute_cell(cell, *position, **options)
        finally:
            cell.source = written
