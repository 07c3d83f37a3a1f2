"""Attention layers, built the way attention is explained: score, weigh, pool."""

from attnbook._version import __version__
from attnbook.attention import Attention
from attnbook.layers import AdditiveAttention, DotProductAttention, MLPAttention
from attnbook.masking import checked, length_mask
from attnbook.pooling import kernel_pool, pool
from attnbook.scoring import (
    additive_score,
    bilinear_score,
    dot_score,
    gaussian_score,
    scaled_dot_score,
)
from attnbook.weighting import masked_softmax

__all__ = [
    "AdditiveAttention",
    "Attention",
    "DotProductAttention",
    "MLPAttention",
    "__version__",
    "additive_score",
    "bilinear_score",
    "checked",
    "dot_score",
    "gaussian_score",
    "kernel_pool",
    "length_mask",
    "masked_softmax",
    "pool",
    "scaled_dot_score",
]
