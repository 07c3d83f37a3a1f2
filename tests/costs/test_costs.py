"""What attention costs: counted by hand, and against tensors."""

from __future__ import annotations

import pytest
import torch

from attnbook import MultiHeadAttention
from attnbook.costs import counting
from attnbook.costs.counting import key_value_bytes, numbers_written, projection_parameters
from attnbook.scoring import additive_score, dot_score


def test_the_numbers_written_are_those_of_each_step():
    x, y = torch.ones(3, 1), torch.ones(1, 5)
    assert numbers_written(lambda: torch.tanh(x + y)) == 15 + 15
    assert numbers_written(lambda x, y: torch.tanh(x + y), x, y) == 15 + 15
    assert numbers_written(lambda: torch.var_mean(x)) == 2
    assert numbers_written(lambda: None) == 0


def test_a_view_writes_nothing_and_a_change_in_place_writes_what_it_changes():
    x = torch.ones(3, 5)
    assert numbers_written(lambda: x.expand(7, 3, 5).transpose(1, 2)) == 0
    assert numbers_written(x.exp_) == 15
    assert numbers_written(lambda: torch.exp(x[:2], out=torch.empty(2, 5))) == 10
    several = [torch.ones(3, 5), torch.ones(7)]
    assert numbers_written(torch._foreach_add_, several, 1) == 15 + 7
    assert numbers_written(torch._foreach_add, several, several) == 15 + 7
    assert numbers_written(torch._foreach_copy_, several, several) == 15 + 7


def test_the_additive_formula_writes_its_hidden_units_twice():
    queries, keys, weight = torch.ones(2, 3, 7), torch.ones(2, 5, 7), torch.ones(7)
    assert numbers_written(additive_score, queries, keys, weight) == 2 * 210 + 30
    assert numbers_written(dot_score, queries, keys) == 30


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_parameters_of_shared_heads_are_those_of_the_layer(kv_heads, bias):
    layer = MultiHeadAttention(11, 11, 11, 11, 6, bias=bias, num_kv_heads=kv_heads, head_size=3)
    counted = projection_parameters(11, 6, 3, kv_heads, bias=bias)
    assert counted == sum(it.numel() for it in layer.parameters())


def test_keys_and_values_of_shared_heads_need_as_many_bytes_as_their_tensors():
    keys = torch.ones(1, 2, 7, 3, dtype=torch.bfloat16)
    assert key_value_bytes(7, 2, 3, layers=5, bytes_each=2) == 5 * 2 * keys.nbytes


@pytest.mark.parametrize(
    ("count", "error", "message"),
    [
        (
            lambda: projection_parameters(11, 0, 3),
            ValueError,
            "num_heads must be at least 1, got 0",
        ),
        (lambda: key_value_bytes(7, 2, 3, layers=2.0), TypeError, "layers must be a whole number"),
    ],
)
def test_a_size_that_is_no_whole_number_from_1_on_is_refused(count, error, message):
    with pytest.raises(error, match=message):
        count()


def test_a_torch_that_shows_no_operations_is_refused(monkeypatch):
    monkeypatch.setattr(counting, "SHOWS_OPERATIONS", False)
    with pytest.raises(RuntimeError, match=r"numbers_written needs a torch that .* got torch 2"):
        numbers_written(torch.neg, torch.ones(1))
