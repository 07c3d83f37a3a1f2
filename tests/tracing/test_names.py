"""Names in place of sizes: only where one alone fits, and a second run agrees."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnbook import AdditiveAttention
from attnbook.tracing import trace
from attnbook.tracing.naming import fitting, other_sizes, resized
from tests.tracing.additive import Additive

SIZES = {"batch": 2, "heads": 3, "queries": 5, "keys": 7, "width": 33}


def shown(layer, *inputs, **options):
    """What stands beside the code, in one text."""
    x_ray = trace(layer, *inputs, **{"sizes": SIZES, **options})
    return " | ".join(text for line in x_ray.lines for _, text in line.notes)


def split(x):
    heads = x.reshape(2 if x.shape[0] == 2 else x.shape[0], -1, 3, 11)
    return heads.transpose(1, 2).flatten(0, 1)


def test_products_and_quotients_are_found():
    text = shown(split, torch.ones(2, 5, 33))

    assert "heads (batch, queries, heads, width/heads)" in text
    assert "return (batch*heads, queries, width/heads)" in text


def test_a_product_of_three_is_found():
    assert "return (batch*queries*keys, 11)" in shown(
        lambda x: x.reshape(-1, 11), torch.ones(2, 5, 7, 11)
    )


def test_a_size_that_two_names_fit_stays_a_number():
    sizes = {"batch": 2, "heads": 3, "width": 6}

    assert list(map(str, fitting(6, sizes))) == ["width", "batch*heads"]
    assert "return (batch, 6)" in shown(
        lambda x: x[:, None].expand(-1, 6), torch.ones(7), sizes=sizes | {"batch": 7, "size": 2}
    )


def test_a_size_that_no_name_fits_stays_a_number():
    assert fitting(13, SIZES) == []
    assert "return (batch, 13)" in shown(lambda x: x + 1, torch.ones(2, 13))


def test_an_axis_of_one_has_no_name():
    assert "return (1, batch)" in shown(
        lambda x: x[None], torch.ones(2), sizes={"batch": 2, "queries": 1}
    )


def test_a_name_that_fits_by_chance_is_rejected():
    assert str(fitting(6, SIZES)[0]) == "batch*heads"
    assert "return (batch, queries, 6)" in shown(
        lambda x: x[..., :1].expand(-1, -1, 6), torch.ones(2, 5, 33)
    )


def test_without_a_second_size_a_product_keeps_its_number_and_names_are_marked():
    def layer(x):
        return x[..., :1].expand(-1, -1, 6)

    x_ray = trace(layer, torch.ones(2, 5, 33), sizes=SIZES, vary=())
    marked = "Told by their number alone: batch, heads, queries, keys, width."
    assert "(batch, queries, 6)" in repr(x_ray)
    assert repr(x_ray).endswith(marked)


def test_four_times_a_size_is_not_called_by_a_name_that_is_four():
    sizes, x = {"batch": 3, "size": 8, "heads": 4}, torch.ones(3, 8)

    assert "return (batch, 32)" in shown(nn.Linear(8, 4 * 8), x, sizes=sizes)
    assert "return (batch, 32)" in shown(lambda x: x.repeat(1, 4), x, sizes=sizes)


def test_a_quotient_that_no_other_axis_explains_keeps_its_number():
    sizes, x = {"batch": 3, "width": 32, "heads": 4}, torch.ones(3, 32)
    layer = nn.Linear(32, 8)

    assert "return (batch, 8)" in shown(layer, x, sizes=sizes)
    assert "return (batch, heads, width/heads)" in shown(
        lambda x: x.unflatten(-1, (4, -1)), x, sizes=sizes, vary="batch"
    )


def test_a_constant_is_not_called_by_the_name_of_an_axis_that_may_grow():
    x_ray = trace(lambda x: (x, torch.zeros(8)), torch.ones(2, 8), sizes={"batch": 2, "size": 8})

    assert "x (batch, size)" in repr(x_ray)
    assert "torch.zeros(8) (8,)" in repr(x_ray)
    assert repr(x_ray).endswith("Sizes: batch=2, size=8. Names hold with batch=3, size=11 too.")


def test_a_name_that_parameters_fix_is_marked():
    x_ray = trace(nn.Linear(8, 7), torch.ones(2, 8), sizes={"batch": 2, "size": 8})

    assert "input (batch, size)" in repr(x_ray)
    assert "Told by their number alone: size. Names hold with batch=3 too." in repr(x_ray)


def test_another_size_that_takes_another_branch_confirms_no_name():
    def layer(x):
        if x.shape[1] == 8:
            return x * 2
        return x

    x_ray = trace(layer, torch.ones(2, 8), sizes={"batch": 2, "size": 8})

    assert "return (batch, size)" in repr(x_ray)
    assert "Told by their number alone: size." in repr(x_ray)


def test_a_name_that_no_input_has_holds_with_nothing():
    text = repr(trace(lambda x: x * 1.0, torch.ones(2), sizes={"batch": 2, "keys": 7}))

    assert text.endswith("Names hold with batch=3 too.")


def test_a_line_that_the_second_run_does_not_reach_keeps_its_numbers():
    def layer(x):
        if x.shape[0] == 2:
            return x + 1
        return x

    assert "return (2, 5)" in shown(layer, torch.ones(2, 5))


def test_another_number_of_axes_in_the_second_run_keeps_the_numbers():
    def layer(x):
        return x.flatten() if x.shape[0] == 2 else x

    assert "return (10,)" in shown(layer, torch.ones(2, 5))


def test_a_layer_that_runs_with_one_size_only_is_told_which():
    class Fixed(nn.Module):
        def __init__(self):
            super().__init__()
            self.positions = nn.Parameter(torch.ones(5, 33))

        def forward(self, queries):
            return queries + self.positions

    x_ray = trace(Fixed(), torch.ones(2, 5, 33), sizes=SIZES)

    assert x_ray.remark.startswith(
        "Runs with queries=5, but not with queries=11: RuntimeError: The"
    )
    assert repr(x_ray).endswith(x_ray.remark)
    assert "return (2, 5, 33)" in repr(x_ray)
    assert f'<span class="error">{x_ray.remark[:20]}' in x_ray._repr_html_()


def test_sizes_that_only_fail_together_are_named_together():
    def layer(queries, keys):
        return (queries + 1) if queries.shape[0] * keys.shape[0] < 80 else queries + keys

    remark = trace(layer, torch.ones(5), torch.ones(7), sizes={"queries": 5, "keys": 7}).remark

    assert remark.startswith("Runs with queries=5, keys=7, but not with queries=11, keys=13: Runt")


def additive(key_size, num_hiddens):
    """The layer with built-in sizes, which are right for keys of 2 and 8 hidden units."""
    inputs = torch.ones(3, 5, key_size), torch.ones(3, 7, key_size), torch.ones(3, 7, 11)
    sizes = {"batch": 3, "queries": 5, "keys": 7, "size": key_size, "num_hiddens": num_hiddens}
    return trace(Additive(key_size, key_size, num_hiddens, fixed=True), *inputs, sizes=sizes)


def error_of(x_ray):
    """The line that an exception stands at."""
    (line,) = [it for it in x_ray.lines if any(kind == "error" for kind, _ in it.notes)]
    return line


def test_a_projection_with_a_built_in_input_size_is_caught_at_its_line():
    line = error_of(additive(key_size=13, num_hiddens=8))

    assert "for_queries(queries)" in line.source
    assert "(15x13 and 2x8)" in " ".join(text for _, text in line.notes)


def test_a_score_with_a_built_in_number_of_hidden_units_is_caught_at_its_line():
    x_ray = additive(key_size=2, num_hiddens=16)
    line = error_of(x_ray)

    assert "self.w_v(features)" in line.source
    assert "x16 and 8x1)" in " ".join(text for _, text in line.notes)
    assert "features (batch, queries, keys, num_hiddens)" in repr(x_ray)


def test_the_same_layer_without_built_in_sizes_runs():
    layer = AdditiveAttention(13, 13, 16)
    inputs = torch.ones(3, 5, 13), torch.ones(3, 7, 13), torch.ones(3, 7, 11)

    assert trace(layer, *inputs).error is None
    assert additive(key_size=2, num_hiddens=8).error is None


def test_an_input_whose_axis_may_be_two_things_stops_the_second_run():
    x_ray = trace(lambda x: x + 1, torch.ones(5, 6), sizes={"batch": 2, "queries": 6, "heads": 3})

    assert x_ray.remark == "Sizes stay numbers: an input's axis of 6 may be queries or batch*heads."
    assert "return (5, 6)" in repr(x_ray)


def test_lengths_stay_valid_in_the_second_run():
    layer = AdditiveAttention(5, 5, 13)
    sizes = {"batch": 2, "queries": 3, "keys": 7}
    inputs = torch.ones(2, 3, 5), torch.ones(2, 7, 5), torch.ones(2, 7, 11)

    for lengths in (torch.tensor([7, 0]), torch.tensor([[7, 0, 1], [2, 3, 4]])):
        x_ray = trace(layer, *inputs, valid_lens=lengths, sizes=sizes)
        assert x_ray.remark == ""
        assert "return (batch, queries, 11)" in repr(x_ray)


def test_an_input_gets_its_other_size_by_repeating_its_own_numbers():
    tokens = torch.tensor([[4, 5], [6, 7]])
    larger = resized(tokens[:, :1], {"batch": 2}, {"batch": 5})

    assert larger.tolist() == [[4], [6], [4], [6], [4]]


def test_tokens_stay_in_the_vocabulary_in_the_second_run():
    x_ray = trace(nn.Embedding(5, 7), torch.tensor([[0, 4, 2]] * 2), sizes={"batch": 2, "steps": 3})

    assert "return (batch, steps, 7)" in repr(x_ray)


def test_inputs_in_tuples_lists_and_dictionaries_get_other_sizes_too():
    def layer(several, by_name):
        (one, two), three = several[0], by_name["three"]
        return one + two + three

    one = torch.ones(2)
    assert "return (batch,)" in shown(layer, [(one, one)], by_name={"three": one})


def test_one_tensor_given_twice_stays_one():
    def layer(queries, keys):
        return queries if queries is keys else queries[0]

    both = torch.ones(2, 5)
    assert "return (batch, queries)" in shown(layer, both, both)
    assert "return (queries,)" in shown(layer, both, both.clone())


def test_the_other_sizes_are_new_primes_not_much_larger():
    assert other_sizes(SIZES, {"batch", "queries", "keys"}) == SIZES | {
        "batch": 11,
        "queries": 13,
        "keys": 17,
    }


@pytest.mark.parametrize(
    ("sizes", "kind", "sentence"),
    [
        ({"batch": 2, "keys": 2}, ValueError, "sizes must be distinct, got batch=2 and keys=2"),
        ({"batch": 0}, ValueError, r"sizes\['batch'\] must be at least 1, got 0"),
        ({"batch": 2.0}, TypeError, r"sizes\['batch'\] must be a whole number, got 2.0"),
        ({"batch": True}, TypeError, "must be a whole number, got True"),
        ([2, 3], TypeError, r"sizes must be a dictionary like {'batch': 2}, got \[2, 3\]"),
        ({2: 2}, TypeError, "sizes must be a dictionary"),
        ({"": 2}, ValueError, "sizes must have names, got '' for 2"),
    ],
)
def test_sizes_that_are_no_sizes_are_refused(sizes, kind, sentence):
    with pytest.raises(kind, match=sentence):
        trace(split, torch.ones(2, 5, 33), sizes=sizes)


def test_one_name_may_stand_alone():
    text = shown(lambda x: x * 1.0, torch.ones(2, 5), vary="batch")

    assert "return (batch, queries)" in text
    x_ray = trace(split, torch.ones(2, 5, 33), sizes=SIZES, vary="queries")
    assert repr(x_ray).endswith("Names hold with queries=11 too.")


@pytest.mark.parametrize(
    ("vary", "kind", "sentence"),
    [
        ("foo", ValueError, "vary must name sizes, got 'foo'; the sizes are batch, keys"),
        (["keys", "foo"], ValueError, "vary must name sizes, got 'foo'"),
        (3, TypeError, "vary must be a name or several names, got 3"),
        ([3], TypeError, r"vary must be a name or several names, got \[3\]"),
    ],
)
def test_names_of_no_size_cannot_vary(vary, kind, sentence):
    with pytest.raises(kind, match=sentence):
        trace(split, torch.ones(2, 5, 33), sizes={"batch": 2, "keys": 7}, vary=vary)


def test_without_sizes_nothing_can_vary():
    with pytest.raises(ValueError, match="vary must name sizes, got 'batch'; the sizes are none"):
        trace(split, torch.ones(2, 5, 33), vary="batch")
