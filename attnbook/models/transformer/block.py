"""The Transformer's block: attention between positions, then a small network at each of them."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING

import torch.nn.functional as F
from torch import nn

from attnbook.checks import check_axes, check_dropout, check_flag, check_size
from attnbook.models.checks import check_vectors
from attnbook.models.transformer.config import FEED_FORWARDS, NORMS, check_word, choice
from attnbook.multihead import MultiHeadAttention
from attnbook.torch_private import ENCODER_STEPS
from attnbook.torch_weights import check_from_torch, check_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from jaxtyping import Bool, Float, Shaped
    from torch import Tensor

    from attnbook.cache import LayerCache

# The parts of torch's layer besides its attention.
PARTS: dict[type[nn.Module], tuple[str, ...]] = {
    nn.Linear: ("linear1", "linear2"),
    nn.LayerNorm: ("norm1", "norm2"),
    nn.Dropout: ("dropout", "dropout1", "dropout2"),
}


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}
EPSILON = 1e-6  # of RMSNorm, in any dtype; torch's own depends on it


def make_norm(kind: str | None, size: int) -> nn.Module:
    """Make the norm of that name: LayerNorm, RMSNorm, or none, which changes nothing."""
    if kind is None:
        return nn.Identity()
    return nn.RMSNorm(size, eps=EPSILON) if kind == "rms" else nn.LayerNorm(size)


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, at each position alone.

    Args:
        num_hiddens: the size of what comes in and goes out, at least 1.
        ffn_hiddens: the numbers between the two layers, at least 1.
        activation: "relu", or "gelu".

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Source: Vaswani et al. (2017), section 3.3; Hendrycks and Gimpel (2016) for GELU.

    Example:
        >>> from attnbook.models.transformer.block import FeedForward
        >>> FeedForward(num_hiddens=8, ffn_hiddens=32)(torch.ones(2, 3, 8)).shape
        torch.Size([2, 3, 8])
    """

    def __init__(self, num_hiddens: int, ffn_hiddens: int, activation: str = "relu") -> None:
        check_size("num_hiddens", num_hiddens)
        check_size("ffn_hiddens", ffn_hiddens)
        check_word("activation", activation, tuple(ACTIVATIONS))
        super().__init__()
        self.inner = nn.Linear(num_hiddens, ffn_hiddens)
        self.activation = activation
        self.outer = nn.Linear(ffn_hiddens, num_hiddens)

    def forward(self, x: Float[Tensor, "*batch hiddens"]) -> Float[Tensor, "*batch hiddens"]:
        """Change each vector by itself; the shape stays.

        Raises:
            TypeError, ValueError: `x` has vectors of another size or dtype.
        """
        check_vectors(x, self.inner)
        return self.outer(ACTIVATIONS[self.activation](self.inner(x)))  # type: ignore[no-any-return]

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers, which see Any in nn.Module


class SwiGLU(nn.Module):
    """A feed-forward whose inner numbers are multiplied by a gate: SiLU of another linear layer.

    outer(silu(gate(x)) * inner(x)), at each position alone, without biases.

    Args:
        num_hiddens: the size of what comes in and goes out, at least 1.
        ffn_hiddens: the numbers inside, at least 1.

    Raises:
        TypeError, ValueError: a size is out of its range.

    Source: Shazeer (2020), with the names of Llama's parts: gate, up (our inner), down (our outer).

    Example:
        >>> from attnbook.models.transformer.block import SwiGLU
        >>> SwiGLU(num_hiddens=8, ffn_hiddens=32)(torch.ones(2, 3, 8)).shape
        torch.Size([2, 3, 8])
    """

    def __init__(self, num_hiddens: int, ffn_hiddens: int) -> None:
        check_size("num_hiddens", num_hiddens)
        check_size("ffn_hiddens", ffn_hiddens)
        super().__init__()
        self.gate = nn.Linear(num_hiddens, ffn_hiddens, bias=False)
        self.inner = nn.Linear(num_hiddens, ffn_hiddens, bias=False)
        self.outer = nn.Linear(ffn_hiddens, num_hiddens, bias=False)

    def forward(self, x: Float[Tensor, "*batch hiddens"]) -> Float[Tensor, "*batch hiddens"]:
        """Change each vector by itself; the shape stays.

        Raises:
            TypeError, ValueError: `x` has vectors of another size or dtype.
        """
        check_vectors(x, self.inner)
        return self.outer(F.silu(self.gate(x)) * self.inner(x))  # type: ignore[no-any-return]

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers, which see Any in nn.Module


class Block(nn.Module):
    """A block of attention and a feed-forward, each after a norm and added to its input (pre-norm).

    x = x + attention(norm(x)), then x = x + feed_forward(norm(x)). Each part but the
    attention can be left out, to see what it does.

    Args:
        num_hiddens: the size of a position's vector, at least 1.
        num_heads: how many heads; it must divide `num_hiddens`.
        ffn_hiddens: the numbers inside the feed-forward; None means no feed-forward.
        dropout: the share of what each part adds that is dropped in training, in [0, 1].
        norm: "layer" or "rms", the norm of each part's input, or None; True means "layer".
        residual: whether a part's output is added to its input, or replaces it.
        bias: whether the attention's four projections add a learned bias.
        keep_weights: whether `attention.attention_weights` can be read after a call.
        feed_forward: "relu" or "gelu", its activation, or "swiglu".
        rotary: of the attention, as in `MultiHeadAttention`.

    Raises:
        TypeError, ValueError: an argument is out of its range.

    Source: Vaswani et al. (2017), section 3.1; the norm comes first, as in Xiong et al. (2020).
    RMSNorm is that of Zhang and Sennrich (2019).

    Example:
        >>> from attnbook.models.transformer.block import Block
        >>> block = Block(num_hiddens=8, num_heads=2, ffn_hiddens=32)
        >>> block(torch.ones(2, 3, 8), causal=True).shape
        torch.Size([2, 3, 8])
    """

    def __init__(  # noqa: PLR0913 - each part can be left out
        self,
        num_hiddens: int,
        num_heads: int,
        ffn_hiddens: int | None = None,
        dropout: float = 0.0,
        *,
        norm: str | bool | None = "layer",
        residual: bool = True,
        bias: bool = False,
        keep_weights: bool = True,
        feed_forward: str = "relu",
        rotary: Callable[[Tensor, Tensor], Tensor] | None = None,
    ) -> None:
        check_dropout(dropout)
        norm = choice("norm", norm, NORMS)
        check_flag("residual", residual)
        check_word("feed_forward", feed_forward, FEED_FORWARDS)
        super().__init__()
        size = num_hiddens
        self.attention = MultiHeadAttention(
            size, size, size, size, num_heads, bias=bias, keep_weights=keep_weights, rotary=rotary
        )
        self.feed_forward: FeedForward | SwiGLU | None = None
        if ffn_hiddens is not None:
            gated = feed_forward == "swiglu"
            self.feed_forward = (
                SwiGLU(size, ffn_hiddens) if gated else FeedForward(size, ffn_hiddens, feed_forward)
            )
        self.attention_norm = make_norm(norm, size)
        self.feed_forward_norm = make_norm(norm if ffn_hiddens else None, size)
        self.dropout = nn.Dropout(dropout)
        self.residual = residual

    def forward(
        self,
        x: Float[Tensor, "batch positions hiddens"],
        valid_lens: Shaped[Tensor, "batch *positions"] | None = None,
        *,
        causal: bool = False,
        mask: Bool[Tensor, "*axes positions positions"] | None = None,
        positions: Shaped[Tensor, "... positions"] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "batch positions hiddens"]:
        """Let the positions see each other, then change each by itself.

        Args:
            x: `(batch, num_positions, num_hiddens)`.
            valid_lens, causal, mask: which positions may be seen, as in `MultiHeadAttention`.
            positions: of the vectors, for `causal` and `rotary`, as there.
            cache: of this block's attention, whose step has these positions.

        Returns:
            The same shape.

        Raises:
            TypeError, ValueError, RuntimeError: `x` has other axes, or vectors of another size or
                dtype; or as `MultiHeadAttention.forward`.
        """
        self._check(x)
        normed = self.attention_norm(x)
        found = self.attention(
            normed,
            normed,
            normed,
            valid_lens,
            causal=causal,
            mask=mask,
            positions=positions,
            cache=cache,
        )
        x = self._add(x, found)
        if self.feed_forward is not None:
            x = self._add(x, self.feed_forward(self.feed_forward_norm(x)))
        return x

    if TYPE_CHECKING:
        __call__ = forward  # for type checkers, which see Any in nn.Module

    def _check(self, x: Tensor) -> None:
        check_axes("x", x, "(batch, num_positions, num_hiddens)")
        if type(self.attention_norm) in (nn.LayerNorm, nn.RMSNorm, nn.Identity):
            check_vectors(x, getattr(self.attention, "W_q", self.attention))

    def _add(self, x: Tensor, found: Tensor) -> Tensor:
        found = self.dropout(found)
        return x + found if self.residual else found

    @classmethod
    def from_torch(cls, module: nn.TransformerEncoderLayer) -> Block:
        """Make a block with a copy of the weights of torch's `nn.TransformerEncoderLayer`.

        In eval mode it computes what `module` does, but the batch is always the first axis. In
        training torch also drops inside the feed-forward and from the weights.

        Frozen weights stay frozen, and each part keeps its dtype and device.

        Raises:
            TypeError: `module` is no `nn.TransformerEncoderLayer`, or computes something else: by
                a method of its own, by hooks, or by a replaced part.
            ValueError: it normalises after adding, or has another activation than ReLU.
        """
        kind = nn.TransformerEncoderLayer
        check_from_torch("module", module, kind, *ENCODER_STEPS)
        if not module.norm_first:
            raise ValueError("module must have norm_first=True, got norm_first=False")
        if not (module.activation is F.relu or type(module.activation) is nn.ReLU):
            raise ValueError("module must have the activation relu, got another")
        for part, names in PARTS.items():
            for name in names:
                check_part(f"module.{name}", getattr(module, name), part)
        check_from_torch("module.self_attn", module.self_attn, nn.MultiheadAttention)
        attention = MultiHeadAttention.from_torch(module.self_attn)
        attention.attention.dropout.p = 0.0
        sizes = module.linear1.in_features, attention.num_heads, module.linear1.out_features
        block = cls(*sizes, module.dropout1.p)
        block.attention = attention
        # Deep copies keep each part's dtype, device, frozen weights and missing biases.
        feed_forward = FeedForward(*sizes[::2])
        feed_forward.inner, feed_forward.outer = map(deepcopy, (module.linear1, module.linear2))
        block.feed_forward = feed_forward
        block.attention_norm, block.feed_forward_norm = map(deepcopy, (module.norm1, module.norm2))
        return block.train(module.training)
