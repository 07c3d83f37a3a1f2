"""Let small calls take the plain formulas, or the fast paths that only large ones take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

from attnbook.fused import blocks, choose, dot_product

# The last path differs from the one before only in the size of its blocks.
PATHS = ("plain", "fast", "fast in large blocks")
# What is no threshold of size.
OTHERS = ("TYPE_CHECKING", "BLOCK", "NUMBERS_CLEARED")
SMALLEST = [name for name in vars(choose) if name.isupper() and name not in OTHERS]


@contextmanager
def take_path(path: str) -> Iterator[None]:
    """While this is open, all calls take one of `PATHS`, as far as it is right for them."""
    smallest = math.inf if path == "plain" else 0
    # One example's queries do not fit in a small block.
    block, rows = (100, 2) if path == "fast" else (blocks.BLOCK, dot_product.ROWS)
    with ExitStack() as stack:
        for name in SMALLEST:
            stack.enter_context(patch.object(choose, name, smallest))
        stack.enter_context(patch.object(blocks, "BLOCK", block))
        stack.enter_context(patch.object(dot_product, "ROWS", rows))
        yield
