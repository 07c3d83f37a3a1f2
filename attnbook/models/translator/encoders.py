"""Encoders read a text and leave one state per character, and one for all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

if TYPE_CHECKING:
    from jaxtyping import Float, Int

KERNEL, LAYERS = 3, 2


class RecurrentEncoder(nn.Module):
    """A bidirectional GRU: each state has read the whole text, most of all its neighbourhood.

    The state for all of the text is where both directions end.

    Args:
        vocab_size: how many different tokens a text may hold.
        embedding_size: size of a character's vector.
        num_hiddens: size of a state, even, half of it for each direction.

    Source: Bahdanau, Cho and Bengio (2015), section 3.2; with torch's GRU, whose reset
    gate acts after the product with the hidden state.
    """

    def __init__(self, vocab_size: int, embedding_size: int, num_hiddens: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.gru = nn.GRU(embedding_size, num_hiddens // 2, batch_first=True, bidirectional=True)

    def forward(
        self, tokens: Int[Tensor, "batch keys"], valid_lens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch keys hiddens"], Float[Tensor, "batch hiddens"]]:
        """Give the states of each character, zeros on padding, and that of the whole text."""
        packed = pack_padded_sequence(
            self.embedding(tokens), valid_lens.cpu(), batch_first=True, enforce_sorted=False
        )
        packed, (forwards, backwards) = self.gru(packed)
        states, _ = pad_packed_sequence(packed, batch_first=True, total_length=tokens.shape[1])
        return states, torch.cat([forwards, backwards], dim=-1)


class ConvolutionalEncoder(nn.Module):
    """Two convolutions: each state has read two characters to either side, and no more.

    The state for all of the text is the mean of its states.

    Args:
        vocab_size: how many different tokens a text may hold.
        embedding_size: size of a character's vector.
        num_hiddens: size of a state.

    Source: Gehring, Auli, Grangier and Dauphin (2017), "A Convolutional Encoder Model for
    Neural Machine Translation"; without their residuals, positions and second stack, and
    with ReLU for tanh.
    """

    def __init__(self, vocab_size: int, embedding_size: int, num_hiddens: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        sizes = [embedding_size, *[num_hiddens] * (LAYERS - 1)]
        self.convolutions = nn.ModuleList(
            nn.Conv1d(size, num_hiddens, KERNEL, padding=KERNEL // 2) for size in sizes
        )

    def forward(
        self, tokens: Int[Tensor, "batch keys"], valid_lens: Int[Tensor, " batch"]
    ) -> tuple[Float[Tensor, "batch keys hiddens"], Float[Tensor, "batch hiddens"]]:
        """Give the states of each character, zeros on padding, and that of the whole text."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        # (batch, 1, keys): a convolution wants the sizes before the positions
        visible = (positions < valid_lens[:, None])[:, None]
        states = self.embedding(tokens).transpose(1, 2) * visible
        for convolution in self.convolutions:
            # Without the mask a bias would fill the padding, and the next layer would see it.
            states = convolution(states).relu() * visible
        return states.transpose(1, 2), states.sum(-1) / valid_lens[:, None]


ENCODERS = {"recurrent": RecurrentEncoder, "convolutional": ConvolutionalEncoder}
