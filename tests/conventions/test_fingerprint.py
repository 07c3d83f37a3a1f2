"""`fingerprint`: how functions are called, what is reported, and what is refused."""

import json
import math

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from attnbook import DotProductAttention, MultiHeadAttention, fingerprint
from attnbook.__main__ import main
from attnbook.conventions.caller import LAYOUTS
from attnbook.conventions.fingerprint import PROBES, TEXT


def attend(queries, keys, values, mask=None):
    """The copy that is found everywhere, with its fill of -1e9."""
    scores = queries @ keys.transpose(-2, -1) / math.sqrt(queries.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return scores.softmax(-1) @ values


TORCH = fingerprint(scaled_dot_product_attention, name="torch")
COPY = fingerprint(attend, name="yours")


def test_torchs_kernel_and_its_layer_disagree_about_true_and_empty_rows():
    layer = fingerprint(nn.MultiheadAttention(8, 2), name="layer")
    assert layer.differences(TORCH)[0] == (
        "layer hides keys where a mask is True; torch keeps keys where a mask is True."
    )
    assert (layer.answers["empty_row"], TORCH.answers["empty_row"]) == ("nan", "zero")
    assert TORCH.answers["causal"] == "from_first_key"


def test_a_layer_with_projections_is_as_the_one_without():
    layers = DotProductAttention(), MultiHeadAttention(6, 6, 6, 6, 2)
    one, other = (fingerprint(layer) for layer in layers)
    assert one.differences(other) == []
    assert one.answers["causal"] == "from_last_key"


@pytest.mark.parametrize("axes", LAYOUTS)
def test_a_function_of_any_axes_is_called(axes):
    into, back = LAYOUTS[axes]

    def function(queries, keys, values, mask=None):
        assert queries.dim() == len(axes.split(","))
        tensors = [{4: back, 3: back, 2: back}[it.dim()](it) for it in (queries, keys, values)]
        return into(attend(*tensors, mask))

    found = fingerprint(function, name="yours")
    assert axes in found.call
    assert found.differences(COPY) == []


def test_arguments_are_passed_by_their_names_in_any_order():
    def function(value, key, query, *, attn_mask):
        mask = torch.tensor(True) if attn_mask is None else attn_mask
        return attend(query, key, value, mask), "weights"

    assert fingerprint(function, name="yours").differences(COPY) == []


def test_a_function_of_one_size_and_dtype_is_called():
    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(8, 8, dtype=torch.float64)

        def forward(self, q, k, v):
            return attend(q, k, v) + 0 * self.gate(v).mean()

    layer = Layer()
    found = fingerprint(layer)
    assert found.answers["scale"] == "one_over_root_of_size"
    assert layer.gate.weight.dtype == torch.float64
    assert layer.training


def test_scores_that_are_no_dot_products_have_no_scale():
    def function(queries, keys, values):
        return (-(torch.cdist(queries, keys) ** 2)).softmax(-1) @ values

    found = fingerprint(function)
    assert (found.answers["scale"], found.answers["soft_cap"]) == ("other", "undecided")


def test_what_is_found_can_be_printed_and_stored():
    text = str(COPY)
    assert [line.split()[0] for line in text.splitlines()[1::2]] == [*COPY.answers]
    assert "gives the mean of all values for a query without keys" in text
    stored = json.loads(json.dumps(COPY.as_dict()))
    assert stored["findings"]["hidden_weight"]["value"] == -1e9
    assert COPY.differences(COPY) == []
    (line,) = [it for it in COPY.differences(TORCH) if "a query without keys;" in it]
    assert line.startswith("yours gives the mean of all values for a query without keys; torch ")


def test_each_property_has_a_name_and_each_phrase_a_property():
    properties = [probe.__name__ for probe in PROBES]
    assert [*TEXT.group("properties")] == [*COPY.answers]
    assert {*properties} == {*COPY.answers}
    for phrase in {*TEXT.group("phrases")} - {"undecided", "no_argument"}:
        assert any(phrase.startswith(f"{name}_") for name in properties), phrase


def test_random_numbers_of_the_caller_stay():
    state = torch.get_rng_state()
    fingerprint(scaled_dot_product_attention)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (3, "function must be a function or a layer, got 3"),
        (lambda it: it, "write an adapter"),
        (lambda *tensors: tensors[0].mean(), "has shape"),
    ],
)
def test_what_cannot_be_called_is_refused(function, message):
    with pytest.raises(TypeError, match=message):
        fingerprint(function)


def test_the_command_prints_one_function_and_the_differences_of_two(capsys):
    kernel = "torch.nn.functional:scaled_dot_product_attention"
    assert main(["fingerprint", kernel]) == 0
    assert "divides scores by √size" in capsys.readouterr().out
    assert main(["fingerprint", kernel, kernel]) == 0
    assert capsys.readouterr().out == "no differences\n"
    assert main(["fingerprint", "torch:nothing"]) == 1
    assert "torch:nothing" in capsys.readouterr().out
