"""Additive attention in plain steps, written without attnbook."""

from __future__ import annotations

from torch import nn


class Additive(nn.Module):
    """With the given sizes, or with the fixed sizes 2 and 8."""

    def __init__(self, key_size, query_size, num_hiddens, *, fixed=False):
        super().__init__()
        self.W_k = nn.Linear(2 if fixed else key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(2 if fixed else query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(8 if fixed else num_hiddens, 1, bias=False)

    def forward(self, queries, keys, values):
        for_queries, for_keys = (self.W_q, self.W_k)
        features = for_queries(queries)[:, :, None] + for_keys(keys)[:, None]
        features = features.tanh()
        self.attention_weights = self.w_v(features).squeeze(-1).softmax(-1)
        return self.attention_weights @ values
