"""`visible_pairs`: against masks that are known, with noise, and what it refuses."""

from functools import partial

import pytest
import torch
from torch import nn

from attnbook import DotProductAttention, causal_mask, visible_pairs, window_mask
from attnbook.masking.interop import MaskRules
from attnbook.visibility import compare

COUNT = 7
LAYER = DotProductAttention(keep_weights=False)


def rng(seed):
    return torch.Generator().manual_seed(seed)


def words(count=COUNT, dtype=torch.float64):
    return torch.randn(count, 4, generator=rng(0), dtype=dtype) / 2


def attend(*masks):
    """A model of vectors: attention with each mask."""

    def model(x):
        for mask in masks:
            x = x + LAYER(x, x, x, mask=mask)
        return x

    return model


def attend_from(queries, mask, x):
    """An attention whose queries are fixed, so that its map is the mask alone."""
    return LAYER(queries.expand(len(x), -1, -1), x, x, mask=mask)


@pytest.mark.parametrize("seed", range(100))
def test_a_map_is_the_mask_and_of_layers_their_product(seed):
    masks = list(torch.rand(3, COUNT, COUNT, generator=rng(seed)) < 0.35)
    for mask in masks:
        found = visible_pairs(partial(attend_from, words(), mask), words())
        assert torch.equal(found, mask)
        assert compare(found, mask).first is None
    for layers in (masks[1:], masks):
        reached = torch.eye(COUNT)
        for mask in layers:
            reached = (mask | torch.eye(COUNT).bool()).float() @ reached
        found = visible_pairs(attend(*layers), words())
        assert torch.equal(found, reached > 0)
        assert compare(found, layers).first is None


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_rounding_is_not_seen_and_influence_is(dtype):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).to(dtype).eval()
    hidden, seen = ~causal_mask((1, COUNT, COUNT))[0], 0
    state = torch.get_rng_state()
    for seed in range(10):
        for parameter in layer.parameters():
            nn.init.normal_(parameter, std=0.3, generator=rng(seed))
        x = torch.randn(COUNT, 8, generator=rng(seed)).to(dtype)
        found = visible_pairs(lambda x: layer(x, src_mask=hidden), x)
        assert not (found & hidden).any()
        seen += int(found.sum())
    assert torch.equal(torch.get_rng_state(), state)
    # bfloat16 has three digits: a few weights are too small for them.
    assert seen >= 10 * int((~hidden).sum()) * (0.95 if dtype == torch.bfloat16 else 1)


class Words(nn.Module):
    """A model of ids with dropout, as those of `transformers` are called."""

    def __init__(self):
        super().__init__()
        self.vectors = nn.Embedding(20, 4, dtype=torch.float64)
        self.drop = nn.Dropout(0.5)
        self.frozen = nn.Dropout(0.5).eval()
        self.config = type("Config", (), {"vocab_size": 20})

    def forward(self, *, input_ids, use_cache=True):
        assert use_cache is False
        if input_ids.max() >= 20:
            raise RuntimeError("no such word")
        x = self.drop(self.vectors(input_ids))
        return {"loss": x.mean(), "logits": LAYER(x, x, x, causal=True)}


def test_a_model_of_ids_is_called_in_evaluation_mode_which_is_put_back():
    model = Words()
    ids = torch.arange(COUNT)
    assert torch.equal(visible_pairs(model, ids), causal_mask((1, COUNT, COUNT))[0])
    assert (model.training, model.drop.training, model.frozen.training) == (True, True, False)
    with pytest.raises(RuntimeError, match="no such word"):
        visible_pairs(model, ids, vocab_size=999)
    assert (model.training, model.drop.training, model.frozen.training) == (True, True, False)


def test_no_more_texts_than_allowed_are_run_at_once():
    sizes = []

    def model(ids):
        sizes.append(len(ids))
        x = torch.stack([ids, ids**2], -1).double()
        return x.cumsum(1)

    found = visible_pairs(model, torch.arange(50), replacements=2, batch_size=9)
    assert torch.equal(found, causal_mask((1, 50, 50))[0])
    assert max(sizes) == 9
    assert sum(sizes) == 2 * 2 + 50 * 2 + 2 * -(-100 // 7)


def experts(x):
    """One expert of a capacity of two tokens: which tokens it takes depends on the batch."""
    order = x.sum(-1).flatten().topk(2).indices
    taken = torch.zeros(x.shape[:2]).flatten().index_fill(0, order, 1).reshape(*x.shape[:2], 1)
    return x + taken


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda x: x + torch.rand_like(x), "the same output for the same batch"),
        (lambda x: (x - x.mean(0)) / (x.std(0) + 1), "treat the texts of a batch separately"),
        (experts, "treat the texts of a batch separately"),
        (lambda x: x.mean(1), "one row of numbers for each of 7 positions"),
        (lambda x: x / (x - x[:, :1]), r"NaN or infinity at positions \[0\]"),
        (lambda x: x > 0, "one row of numbers"),
        ("attention", "one row of numbers"),
    ],
)
def test_what_no_map_can_be_made_of_is_refused(function, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        visible_pairs(function, words())


@pytest.mark.parametrize(
    ("tokens", "options", "problem"),
    [
        (torch.zeros(0, 4), {}, "tokens must be ids or vectors"),
        (torch.zeros(2, 3, 4), {}, "tokens must be ids or vectors"),
        (torch.ones(3).bool(), {}, "tokens must be ids or vectors"),
        (torch.zeros(3, dtype=torch.long), {}, "vocab_size must be at least 2"),
        (torch.arange(5), {"vocab_size": 3}, "tokens must be below vocab_size=3"),
        (torch.zeros(3, 4), {"batch_size": 2}, "batch_size must be a whole number of at least 3"),
        (torch.zeros(3, 4), {"replacements": 0}, "replacements must be a whole number"),
    ],
)
def test_wrong_arguments_are_refused(tokens, options, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        visible_pairs(lambda x: x, tokens, **options)


def test_padding_is_hidden_by_a_function_around_the_model():
    real = torch.tensor([True] * 5 + [False] * 2)
    found = visible_pairs(lambda x: LAYER(x, x, x, mask=real.expand(COUNT, -1)), words())
    assert torch.equal(found, real | torch.eye(COUNT).bool())  # and its own, by its query
    assert compare(found, MaskRules(COUNT, COUNT, valid_len=5)).first is None


def test_two_layers_with_a_window_reach_further():
    window = window_mask((1, 8, 8), 3)[0]
    found = visible_pairs(attend(window, window), words(8))
    assert torch.equal(found, window_mask((1, 8, 8), 5)[0])
    assert compare(found, [window, window]).first is None
