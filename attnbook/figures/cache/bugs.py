"""Known bugs of a cache, by the names that the page's code and this package's share."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Settings:
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

    def as_dict(self) -> dict[str, int]:
        """The settings by their names."""
        return asdict(self)


class CacheBug(NamedTuple):
    """A bug of a cache.

    Args:
        origin: where it was found in real code.
        shows: settings with which the outputs of the bug differ from right ones.

    Example:
        >>> from attnbook.figures.cache.bugs import BUGS
        >>> BUGS["positions_restart"].origin
        'mlx-lm#93'
    """

    origin: str
    shows: Settings = Settings()


STAYS = "another_user_tokens_stay"

BUGS: dict[str, CacheBug] = {
    "positions_restart": CacheBug("mlx-lm#93"),
    "positions_counted_twice": CacheBug("tiny-llm#46"),
    "one_position_too_low": CacheBug(""),
    "last_key_overwritten": CacheBug("onnxruntime-genai#2354"),
    "values_one_late": CacheBug(""),
    "only_the_first_layer": CacheBug(""),
    "causal_from_the_first_key": CacheBug("pytorch#144858"),
    "past_ignored": CacheBug("LLMs-from-scratch#697"),
    "own_key_hidden": CacheBug("cs249r_book#1953"),
    "empty_slots_visible": CacheBug("transformers#30414"),
    "future_of_the_chunk": CacheBug("", Settings(chunk=4)),
    "padding_visible": CacheBug("TransformerLens#1005", Settings(padding=2)),
    "padding_counted": CacheBug("unsloth#3699", Settings(padding=2)),
    "window_one_too_long": CacheBug("mlx-lm#390", Settings(window=8)),
    "evicted_too_early": CacheBug("LLMs-from-scratch#1013", Settings(chunk=4, window=8)),
    "newest_evicted": CacheBug("", Settings(window=8)),
    "slot_as_position": CacheBug("mlx-vlm#1715", Settings(window=8)),
    "rejected_drafts_stay": CacheBug("mlx-lm#1109", Settings(drafts=2)),
    "rewound_too_far": CacheBug("mlx-lm#1109", Settings(drafts=2)),
    STAYS: CacheBug("vllm-mlx#385"),
}
