"""Count the calls of our own functions in one cached step of `MultiHeadAttention`.

python -m tools.bench.calls

On small inputs a call of Python takes as long as a small operation of torch.
"""

from __future__ import annotations

import sys
from collections import Counter
from types import FrameType
from typing import Any

import torch

from attnbook import KeyValueCache, MultiHeadAttention
from tools import ROOT

PACKAGE = str(ROOT / "attnbook")


def count_calls(*, keep_weights: bool) -> Counter[str]:
    """Count them by name, for one token, with four heads of queries to each head of keys."""
    layer = MultiHeadAttention(64, 64, 64, 64, 16, num_kv_heads=4, keep_weights=keep_weights)
    caches, token = KeyValueCache(1, 1, 4, 4, 4), torch.ones(1, 1, 64)
    cache, found = caches.layer(0), Counter[str]()

    def count(frame: FrameType, event: str, _: Any) -> None:  # noqa: ANN401 - sys.setprofile's
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            found[frame.f_code.co_qualname] += 1

    with torch.no_grad(), caches.step(1):
        before = sys.getprofile()
        sys.setprofile(count)
        try:
            layer(token, token, token, cache=cache)
        finally:
            sys.setprofile(before)
    return found


if __name__ == "__main__":
    for keep_weights in (False, True):
        calls = count_calls(keep_weights=keep_weights)
        print(f"\nkeep_weights={keep_weights}: {calls.total()} calls")
        for name, number in calls.most_common():
            print(f"{number:3} {name}")
