"""Run a chapter in a kernel where a layer that stores its weights computes what the book shows."""

from __future__ import annotations

import traitlets
from nbclient import NotebookClient

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
)


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
