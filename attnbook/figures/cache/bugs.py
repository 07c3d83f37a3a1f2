"""Known bugs of a cache, by the names that the page's code and this package's share."""

from __future__ import annotations

from typing import NamedTuple


class Settings(NamedTuple):
    """How a text is read and written.

    Args:
        chunk: how many tokens of the prompt are read in a step; 0 means all.
        padding: how many tokens of padding come before the prompt.
        window: how many positions a token sees, its own included; 0 means all.
        sinks: how many first positions stay visible although there is a window.
        drafts: how many tokens are drafted, read and rejected before each written one.

    Example:
        >>> from attnbook.figures.cache.bugs import Settings
        >>> Settings(window=4).padding
        0
    """

    chunk: int = 0
    padding: int = 0
    window: int = 0
    sinks: int = 0
    drafts: int = 0


class CacheBug(NamedTuple):
    """A bug of a cache.

    Args:
        origin: where it was found in real code.
        shows: settings with which the outputs of the bug differ from right ones.
        positions: the kind of positions that a model must have, or none.

    Example:
        >>> from attnbook.figures.cache.bugs import BUGS
        >>> BUGS["positions restart"].origin
        'mlx-lm#93'
    """

    origin: str
    shows: Settings = Settings()
    positions: str = ""


STAYS = "another user's tokens stay"

BUGS: dict[str, CacheBug] = {
    "positions restart": CacheBug("mlx-lm#93"),
    "positions counted twice": CacheBug("tiny-llm#46"),
    "one position too low": CacheBug(""),
    "last key overwritten": CacheBug("onnxruntime-genai#2354"),
    "values one late": CacheBug(""),
    "only the first layer": CacheBug(""),
    "causal from the first key": CacheBug("pytorch#144858"),
    "past ignored": CacheBug("LLMs-from-scratch#697"),
    "own key hidden": CacheBug("cs249r_book#1953"),
    "empty slots visible": CacheBug("transformers#30414"),
    "future of the chunk": CacheBug("", Settings(chunk=4)),
    "padding visible": CacheBug("TransformerLens#1005", Settings(padding=2)),
    "padding counted": CacheBug("unsloth#3699", Settings(padding=2)),
    "window one too long": CacheBug("mlx-lm#390", Settings(window=8)),
    "evicted too early": CacheBug("LLMs-from-scratch#1013", Settings(chunk=4, window=8)),
    "newest evicted": CacheBug("", Settings(window=8)),
    "slot as position": CacheBug("mlx-vlm#1715", Settings(window=8)),
    "rejected drafts stay": CacheBug("mlx-lm#1109", Settings(drafts=2)),
    "rewound too far": CacheBug("mlx-lm#1109", Settings(drafts=2)),
    "keys rotated again": CacheBug("gemma#392", positions="rotary"),
    "keys not rotated": CacheBug("", positions="rotary"),
    STAYS: CacheBug("vllm-mlx#385"),
}
