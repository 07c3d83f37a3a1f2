"""Attention layers, built the way attention is explained: score, weigh, pool."""

from importlib import import_module
from typing import TYPE_CHECKING

from attnbook._version import __version__
from attnbook.attention import Attention
from attnbook.cache import CrossCache, KeyValueCache, LayerCache
from attnbook.heads import merge_heads, split_heads
from attnbook.layers import AdditiveAttention, DotProductAttention, MLPAttention
from attnbook.masking.masks import causal_mask, length_mask
from attnbook.masking.rules import (
    document_mask,
    position_mask,
    prefix_mask,
    start_mask,
    window_mask,
)
from attnbook.multihead import MultiHeadAttention
from attnbook.pooling import kernel_pool, pool
from attnbook.position import (
    convert_layout,
    rotary_encoding,
    rotary_frequencies,
    sinusoidal_encoding,
)
from attnbook.reading import checked
from attnbook.scoring import (
    additive_score,
    bilinear_score,
    dot_score,
    gaussian_score,
    scaled_dot_score,
)
from attnbook.weighting import masked_softmax

if TYPE_CHECKING:
    from attnbook.conventions import fingerprint
    from attnbook.visibility import visible_pairs

__all__ = [
    "AdditiveAttention",
    "Attention",
    "CrossCache",
    "DotProductAttention",
    "KeyValueCache",
    "LayerCache",
    "MLPAttention",
    "MultiHeadAttention",
    "__version__",
    "additive_score",
    "bilinear_score",
    "causal_mask",
    "checked",
    "convert_layout",
    "document_mask",
    "dot_score",
    "fingerprint",
    "gaussian_score",
    "kernel_pool",
    "length_mask",
    "masked_softmax",
    "merge_heads",
    "pool",
    "position_mask",
    "prefix_mask",
    "rotary_encoding",
    "rotary_frequencies",
    "scaled_dot_score",
    "sinusoidal_encoding",
    "split_heads",
    "start_mask",
    "visible_pairs",
    "window_mask",
]
# Imported at their first use, so that `import attnbook` stays fast.
LATER = {"fingerprint": "attnbook.conventions", "visible_pairs": "attnbook.visibility"}


def __getattr__(name: str) -> object:
    if name not in LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(LATER[name]), name)
