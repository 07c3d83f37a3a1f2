"""Causality: no output or gradient depends on later positions, however large they are."""

import pytest
import torch

from tests.cases import (
    PER_EXAMPLE,
    WITH_OR_WITHOUT_WEIGHTS,
    WITHOUT_WEIGHTS,
    all_close,
    make,
)

pytestmark = pytest.mark.usefixtures("every_path")

KEYS = 7
every_way = pytest.mark.parametrize(
    "name", [*WITH_OR_WITHOUT_WEIGHTS, "a subclass", "multi-head with bias"]
)
LENGTHS = {
    "all keys": None,
    "per example": PER_EXAMPLE,
    "per query": torch.tensor([[0, 1, 2, 7, 4, 5, 7], [3, 6, 7, 0, 7, 7, 6]]),
}
every_length = pytest.mark.parametrize("lengths", LENGTHS)
# Rounding may depend on what shares a block, or a kernel's call, with it.
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


def inputs_for(num_queries, dtype=torch.float64):
    generator = torch.Generator().manual_seed(7)
    shapes = (num_queries, 5), (KEYS, 5), (KEYS, 11)
    return [
        torch.randn(2, *shape, generator=generator, dtype=torch.float64).to(dtype)
        for shape in shapes
    ]


def lengths_for(lengths, num_queries):
    valid_lens = LENGTHS[lengths]
    if valid_lens is None or valid_lens.dim() == 1:
        return valid_lens
    return valid_lens[:, -num_queries:]


def change_future(inputs, past, future, which=(0, 1, 2)):
    """Copy inputs, and change everything after the first `past` queries."""
    copies = [tensor.clone() for tensor in inputs]
    seen = KEYS - inputs[0].shape[-2] + past
    for index in which:
        later = copies[index][..., seen if index else past :, :]
        later.copy_(future * torch.randn_like(later).sign())
    return copies


def find_past(layer, inputs, past, valid_lens):
    """Compute outputs, gradients and weights of the first `past` queries."""
    leaves = [tensor.clone().requires_grad_() for tensor in inputs]
    layer.zero_grad()
    torch.manual_seed(11)  # dropout drops the same
    output = layer(*leaves, valid_lens, causal=True)[..., :past, :]
    output.square().sum().backward()
    found = [*(leaf.grad for leaf in (*leaves, *layer.parameters())), output.detach()]
    if layer.keep_weights:
        found.append(layer.attention_weights[..., :past, :])
    return found


def check_future_is_hidden(layer, inputs, valid_lens, future):
    """Fail if anything before a position changes with, or depends on, later positions."""
    num_queries = inputs[0].shape[-2]
    for past in range(1, num_queries):
        other = change_future(inputs, past, future)
        before, after = (find_past(layer, some, past, valid_lens) for some in (inputs, other))
        seen = KEYS - num_queries + past
        for gradient, start in zip(after[:3], (past, seen, seen), strict=True):
            assert not gradient[..., start:, :].any()
        assert all_close(before, after, TOLERANCE[inputs[0].dtype])


@pytest.mark.few(8)
@every_way
@pytest.mark.parametrize("queries", [KEYS, 3])
@every_length
@pytest.mark.parametrize(
    ("training", "dropout"),
    [(True, 0.0), (True, 0.5), (False, 0.5)],
    ids=["train", "train with dropout", "eval"],
)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_later_positions_change_nothing_before_them(
    name, queries, lengths, training, dropout, dtype
):
    layer = make(name, dropout=dropout, dtype=dtype).train(training)
    inputs, valid_lens = inputs_for(queries, dtype), lengths_for(lengths, queries)
    # In float32 the product of two numbers of 1e30 is infinite.
    for future in (1.0, 1e30 if dtype == torch.float64 else 1e15):
        check_future_is_hidden(layer, inputs, valid_lens, future)


@pytest.mark.few(8)
@pytest.mark.parametrize("name", ["dot", "dot" + WITHOUT_WEIGHTS])
@every_length
@pytest.mark.parametrize(("which", "share"), [(1, 1 / 64), (2, 1)], ids=["keys", "values"])
def test_the_largest_numbers_at_later_positions_change_nothing(name, lengths, which, share, dtype):
    # A key's product with a query that sees it must not be infinite.
    layer, inputs = make(name), inputs_for(KEYS, dtype)
    other = change_future(inputs, 4, share * torch.finfo(dtype).max, [which])
    before, after = (
        find_past(layer, some, 4, lengths_for(lengths, KEYS)) for some in (inputs, other)
    )
    tolerance = 1e-5 if dtype.itemsize > 2 else 5e-2
    assert all(tensor.isfinite().all() for tensor in after)
    assert all_close((x.float() for x in before), (x.float() for x in after), tolerance)


@pytest.mark.parametrize("name", ["dot", "dot without weights"])
def test_an_infinite_key_reaches_only_the_queries_that_see_it(name):
    q, k, v = inputs_for(3)
    layer = make(name)
    expected = layer(q, k, v, causal=True)
    k[:, -1] = torch.inf
    found = layer(q, k, v, causal=True)
    torch.testing.assert_close(found[:, :-1], expected[:, :-1])
