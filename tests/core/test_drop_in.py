"""Code written for the textbook's layers runs on ours with only its import changed."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

import attnbook
from tests.cases import all_close

pytestmark = pytest.mark.usefixtures("every_path")

# A textbook module: right in ordinary cases, though it fills with a finite number.


def textbook_masked_softmax(scores, valid_lens):
    if valid_lens is None:
        return scores.softmax(dim=-1)
    rows = scores.reshape(-1, scores.shape[-1])
    by_example = valid_lens.dim() == 1
    lengths = valid_lens.repeat_interleave(scores.shape[1]) if by_example else valid_lens.flatten()
    padding = torch.arange(scores.shape[-1]) >= lengths[:, None]
    return rows.masked_fill(padding, -1e6).reshape(scores.shape).softmax(dim=-1)


class TextbookAdditiveAttention(nn.Module):
    def __init__(self, key_size, query_size, num_hiddens, dropout):
        super().__init__()
        self.W_k = nn.Linear(key_size, num_hiddens, bias=False)
        self.W_q = nn.Linear(query_size, num_hiddens, bias=False)
        self.w_v = nn.Linear(num_hiddens, 1, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, queries, keys, values, valid_lens):
        pairs = self.W_q(queries)[:, :, None, :] + self.W_k(keys)[:, None, :, :]
        scores = self.w_v(pairs.tanh()).squeeze(-1)
        self.attention_weights = textbook_masked_softmax(scores, valid_lens)
        return torch.bmm(self.dropout(self.attention_weights), values)


textbook = SimpleNamespace(AdditiveAttention=TextbookAdditiveAttention)


# A caller. `d2l` is the module that it has imported.


class Decoder(nn.Module):
    """Attends to the encoder's states, one step at a time, and stores the weights."""

    def __init__(self, d2l, vocabulary=11, size=6):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, size)
        self.attention = d2l.AdditiveAttention(
            key_size=size, query_size=size, num_hiddens=size, dropout=0.1
        )
        self.rnn = nn.GRU(2 * size, size, batch_first=True)
        self.dense = nn.Linear(size, vocabulary)
        self.weights = []

    def forward(self, tokens, memory, memory_valid_lens):
        hidden, outputs = memory.mean(dim=1)[None], []
        for step in self.embedding(tokens).unbind(dim=1):
            query = hidden[-1].unsqueeze(1)
            context = self.attention(query, memory, memory, memory_valid_lens)
            output, hidden = self.rnn(torch.cat((context, step.unsqueeze(1)), dim=-1), hidden)
            outputs.append(output)
            self.weights.append(self.attention.attention_weights)
        return self.dense(torch.cat(outputs, dim=1))


@pytest.mark.parametrize(
    "valid_lens",
    [None, torch.tensor([2, 5]), torch.tensor([2.0, 5.0])],
    ids=["none", "integers", "whole-number floats"],
)
def test_a_decoder_runs_and_learns_the_same_with_only_its_import_changed(valid_lens):
    found = []
    for d2l in (textbook, attnbook):
        torch.manual_seed(3)
        decoder = Decoder(d2l)
        decoder.attention.dropout.p = 0.0
        tokens, memory = torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.randn(2, 5, 6)
        output = decoder(tokens, memory, valid_lens)
        output.square().mean().backward()
        gradients = [parameter.grad for parameter in decoder.parameters()]
        found.append([output, *gradients, torch.stack(decoder.weights)])
    assert all_close(*found, 1e-6)


def test_a_saved_textbook_layer_loads_into_ours():
    theirs = TextbookAdditiveAttention(3, 2, 5, 0.1).eval()
    ours = attnbook.AdditiveAttention(3, 2, 5, 0.1).eval()
    ours.load_state_dict(theirs.state_dict())
    inputs = torch.randn(2, 4, 2), torch.randn(2, 7, 3), torch.randn(2, 7, 11)
    lens = torch.tensor([3, 7])
    assert torch.allclose(ours(*inputs, lens), theirs(*inputs, lens), atol=1e-6)
    theirs.load_state_dict(ours.state_dict())


@pytest.mark.parametrize("positional", [True, False])
def test_the_older_name_takes_units(positional):
    names = {"key_size": 3, "query_size": 2, "units": 8, "dropout": 0.1}
    layer = attnbook.MLPAttention(*names.values()) if positional else attnbook.MLPAttention(**names)
    assert isinstance(layer, attnbook.AdditiveAttention)
    assert layer.W_k.weight.shape == (8, 3)
    assert layer.W_q.weight.shape == (8, 2)
    assert layer.w_v.weight.shape == (1, 8)
    assert layer.dropout.p == 0.1
    assert layer.keep_weights
    assert not attnbook.MLPAttention(**names, keep_weights=False).keep_weights
