"""Encoders turn a text into one state per character, and one for the whole text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from attnbook.checks import check_axes, check_size
from attnbook.masking.lengths import lengths_for_queries
from attnbook.models.checks import look_up

if TYPE_CHECKING:
    from jaxtyping import Float, Int

KERNEL, LAYERS = 3, 2


def _check_sizes(vocab_size: int, embedding_size: int, num_hiddens: int) -> None:
    check_size("vocab_size", vocab_size)
    check_size("embedding_size", embedding_size)
    check_size("num_hiddens", num_hiddens)


def check_even(name: str, size: int) -> None:
    """Refuse a size that two directions cannot share."""
    if size % 2:
        raise ValueError(f"{name} must be even, got {size}")


def _look_up(
    tokens: Tensor, valid_lens: Tensor, embedding: nn.Module
) -> tuple[Float[Tensor, "batch keys size"], Int[Tensor, "batch 1 1"]]:
    """Give each token its vector, and the lengths `(batch, 1, 1)`; refuse what no encoder reads."""
    vectors = look_up("tokens", tokens, "(batch, num_keys)", embedding)
    check_axes("valid_lens", valid_lens, "(batch)")
    shape = tokens.shape[0], 1, tokens.shape[1]
    return vectors, lengths_for_queries("valid_lens", valid_lens, shape, tokens.device)


def _pack(vectors: Tensor, lengths: Tensor) -> PackedSequence:
    if not len(vectors):
        shape = tuple(vectors.shape[:2])
        raise ValueError(f"tokens must hold at least one text, got shape {shape}")
    # torch cannot pack an empty text: its length counts as 1 here, and its state is cleared later.
    at_least_one = lengths.flatten().long().clamp_min(1).cpu()
    return pack_padded_sequence(vectors, at_least_one, batch_first=True, enforce_sorted=False)


class RecurrentEncoder(nn.Module):
    """A bidirectional GRU: each state has read the whole text, most of all its neighbourhood.

    The state for the whole text is made of both directions' last states.

    Args:
        vocab_size: how many different tokens a text may hold.
        embedding_size: size of a character's vector.
        num_hiddens: size of a state, even, half of it for each direction.

    Source: Bahdanau, Cho and Bengio (2015), section 3.2; with torch's GRU, whose reset
    gate acts after the product with the hidden state.

    Example:
        >>> from attnbook.models.translator.encoders import RecurrentEncoder
        >>> encoder = RecurrentEncoder(vocab_size=10, embedding_size=4, num_hiddens=6)
        >>> tokens, valid_lens = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([3, 2])
        >>> states, whole = encoder(tokens, valid_lens)
        >>> states.shape, whole.shape
        (torch.Size([2, 3, 6]), torch.Size([2, 6]))
    """

    def __init__(self, vocab_size: int, embedding_size: int, num_hiddens: int) -> None:
        _check_sizes(vocab_size, embedding_size, num_hiddens)
        check_even("num_hiddens", num_hiddens)
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.gru = nn.GRU(embedding_size, num_hiddens // 2, batch_first=True, bidirectional=True)

    def forward(
        self, tokens: Int[Tensor, "batch keys"], valid_lens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch keys hiddens"], Float[Tensor, "batch hiddens"]]:
        """Give the states of each character, zeros on padding, and that of the whole text.

        Raises:
            TypeError, ValueError: `tokens` or `valid_lens` has other axes, another dtype or a
                value out of its range; or there is no token.
        """
        vectors, lengths = _look_up(tokens, valid_lens, self.embedding)
        packed, (forwards, backwards) = self.gru(_pack(vectors, lengths))
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=tokens.shape[1])
        empty = lengths == 0
        whole = torch.cat([forwards, backwards], dim=-1)
        return states.masked_fill(empty, 0.0), whole.masked_fill(empty[:, 0], 0.0)


class ConvolutionalEncoder(nn.Module):
    """Two convolutions: each state has read two characters to either side, and no more.

    The state for the whole text is the mean of its states.

    Args:
        vocab_size: how many different tokens a text may hold.
        embedding_size: size of a character's vector.
        num_hiddens: size of a state.

    Source: Gehring, Auli, Grangier and Dauphin (2017), "A Convolutional Encoder Model for
    Neural Machine Translation"; without their residuals, positions and second stack, and
    with ReLU for tanh.

    Example:
        >>> from attnbook.models.translator.encoders import ConvolutionalEncoder
        >>> encoder = ConvolutionalEncoder(vocab_size=10, embedding_size=4, num_hiddens=6)
        >>> tokens, valid_lens = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([3, 2])
        >>> states, whole = encoder(tokens, valid_lens)
        >>> states.shape, whole.shape
        (torch.Size([2, 3, 6]), torch.Size([2, 6]))
    """

    def __init__(self, vocab_size: int, embedding_size: int, num_hiddens: int) -> None:
        _check_sizes(vocab_size, embedding_size, num_hiddens)
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        sizes = [embedding_size, *[num_hiddens] * (LAYERS - 1)]
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, num_hiddens, KERNEL, padding=KERNEL // 2) for size in sizes
        )

    def forward(
        self, tokens: Int[Tensor, "batch keys"], valid_lens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch keys hiddens"], Float[Tensor, "batch hiddens"]]:
        """Give the states of each character, zeros on padding, and that of the whole text.

        Raises:
            TypeError, ValueError: `tokens` or `valid_lens` has other axes, another dtype or a
                value out of its range; or there is no token.
        """
        vectors, lengths = _look_up(tokens, valid_lens, self.embedding)
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        # (batch, 1, keys): a convolution wants the sizes before the positions
        visible = positions < lengths
        states = vectors.transpose(1, 2) * visible
        for convolution in self.convolutions:
            # Without the mask a bias would fill the padding, and the next layer would see it.
            states = convolution(states).relu() * visible
        return states.transpose(1, 2), states.sum(-1) / lengths[:, 0].clamp_min(1)


ENCODERS = {"recurrent": RecurrentEncoder, "convolutional": ConvolutionalEncoder}
