"""The figures' Python half: what they refuse, what they say, and traits that move both ways."""

from __future__ import annotations

import copy
import re
import subprocess
import sys

import ipywidgets
import pytest
import torch
import traitlets

import attnbook
from attnbook.figures import AttentionFigure
from attnbook.figures.shared.base import numbers
from tests.figures.attention.cases import CASES, TRAITS, differ, toy, traits, truth

NAN, INFINITE = float("nan"), float("inf")


def inputs(**changes):
    """A layer that can be shown, with these arguments changed."""
    rng = torch.Generator().manual_seed(0)
    arguments = {
        "layer": attnbook.DotProductAttention(),
        "queries": torch.randn(2, 3, 5, generator=rng),
        "keys": torch.randn(2, 7, 5, generator=rng),
        "values": torch.randn(2, 7, 11, generator=rng),
        "valid_lens": torch.tensor([7, 2]),
    }
    return arguments | changes


def filled(shape, place, number):
    tensor = torch.zeros(shape)
    tensor[place] = number
    return tensor


# Refusals


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        (
            {"queries": torch.zeros(3, 5)},
            ValueError,
            "queries must have shape (batch, [heads,] num_queries, query_size), got (3, 5)",
        ),
        (
            {"keys": torch.zeros(2, 7, 4)},
            ValueError,
            "keys must have query_size=5 numbers in the last axis, got 4 in shape (2, 7, 4)",
        ),
        (
            {"keys": torch.zeros(1, 7, 5)},
            ValueError,
            "keys must have the batch and heads of queries, (2,), got (1,) in shape (1, 7, 5)",
        ),
        (
            {"values": torch.zeros(2, 5, 11)},
            ValueError,
            "values must have one row per key, num_keys=7, got 5 in shape (2, 5, 11)",
        ),
        (
            {"values": torch.zeros(3, 7, 11)},
            ValueError,
            "values must have the batch and heads of keys, (2,), got (3,) in shape (3, 7, 11)",
        ),
        (
            {"queries": torch.zeros(2, 3, 5, dtype=torch.long)},
            TypeError,
            "queries must hold floating-point numbers, got torch.int64",
        ),
        (
            {"queries": [[[1.0]]]},
            TypeError,
            "queries must be a tensor, got list",
        ),
        (
            {
                "queries": torch.zeros(2, 1, 3, 5),
                "keys": torch.zeros(2, 1, 7, 5),
                "values": torch.zeros(2, 1, 7, 11),
            },
            ValueError,
            "a figure shows one head, got four axes; pass queries[:, 0] and so on",
        ),
        (
            {"queries": torch.zeros(2, 0, 5)},
            ValueError,
            "a figure needs at least 1 of queries, got 0",
        ),
        (
            {"keys": torch.zeros(2, 0, 5), "values": torch.zeros(2, 0, 11)},
            ValueError,
            "a figure needs at least 1 of keys, got 0",
        ),
        (
            {name: torch.zeros(0, 7, 5) for name in ("queries", "keys", "values")},
            ValueError,
            "a figure needs at least 1 of examples, got 0",
        ),
        (
            {"values": torch.zeros(2, 7, 0)},
            ValueError,
            "a figure needs at least 1 of value_size, got 0",
        ),
        (
            {"keys": torch.zeros(2, 300, 5), "values": torch.zeros(2, 300, 11)},
            ValueError,
            "a figure shows at most 256 of keys, got 300; show a part of it",
        ),
        (
            {"queries": torch.zeros(2, 300, 5)},
            ValueError,
            "a figure shows at most 256 of queries, got 300; show a part of it",
        ),
        (
            {name: torch.zeros(9, 7, 5) for name in ("queries", "keys", "values")},
            ValueError,
            "a figure shows at most 8 of examples, got 9; show a part of it",
        ),
        (
            {"queries": filled((2, 3, 5), (1, 2, 0), NAN)},
            ValueError,
            "scores must be finite, got nan at index (1, 2, 0)",
        ),
        (
            {"layer": lambda queries, _: queries.new_full((2, 3, 7), INFINITE)},
            ValueError,
            "scores must be finite, got inf at index (0, 0, 0)",
        ),
        (
            {"values": filled((2, 7, 11), (1, 3, 10), -INFINITE)},
            ValueError,
            "values must be finite, got -inf at index (1, 3, 10)",
        ),
        (
            {"layer": lambda queries, _: queries},
            ValueError,
            "scores must have shape (batch, [heads,] num_queries, num_keys) = (2, 3, 7), "
            "got (2, 3, 5)",
        ),
        ({"layer": lambda *_: 1.0}, TypeError, "scores must be a tensor, got float"),
        (
            {"layer": attnbook.Attention()},
            NotImplementedError,
            "Attention must define score(queries, keys)",
        ),
        (
            {"valid_lens": torch.tensor([7, 8])},
            ValueError,
            "valid_lens must lie in [0, num_keys=7], got 8 at index (1,)",
        ),
        (
            {"valid_lens": torch.tensor([-1, 2])},
            ValueError,
            "valid_lens must lie in [0, num_keys=7], got -1 at index (0,)",
        ),
        (
            {"valid_lens": torch.tensor([NAN, 2])},
            ValueError,
            "valid_lens must lie in [0, num_keys=7], got nan at index (0,)",
        ),
        (
            {"valid_lens": torch.tensor([1.5, 2])},
            ValueError,
            "valid_lens must be whole numbers, got 1.5 at index (0,)",
        ),
        (
            {"valid_lens": [7, 2]},
            TypeError,
            "valid_lens must be a tensor of whole numbers, got list",
        ),
        (
            {"valid_lens": torch.tensor([True, False])},
            TypeError,
            "valid_lens must hold whole numbers, got torch.bool",
        ),
        (
            {"valid_lens": torch.tensor([7, 2, 1])},
            ValueError,
            "valid_lens must have shape (batch=2,) or (batch=2, num_queries=3), got (3,)",
        ),
        (
            {"key_labels": ["a", "b"]},
            ValueError,
            "key_labels must name 7, got 2: ['a', 'b']",
        ),
        (
            {"query_labels": ["a", "b", "c", "d"]},
            ValueError,
            "query_labels must name 3, got 4: ['a', 'b', 'c', 'd']",
        ),
        (
            {"example_labels": ["head 0"]},
            ValueError,
            "example_labels must name 2, got 1: ['head 0']",
        ),
        ({"causal": 1}, TypeError, "causal must be True or False, got 1"),
    ],
)
def test_a_figure_that_cannot_be_shown_is_refused_in_one_sentence(changes, error, message):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        AttentionFigure(**inputs(**changes))


@pytest.mark.parametrize(
    ("trait", "value", "message"),
    [
        ("valid_lens", [7, 8], "valid_lens must lie in [0, num_keys=7], got 8 at index (1,)"),
        ("valid_lens", [-1, 2], "valid_lens must lie in [0, num_keys=7], got -1 at index (0,)"),
        ("valid_lens", [1.5, 2], "valid_lens must be whole numbers, got 1.5 at index (0,)"),
        ("valid_lens", [NAN, 2], "valid_lens must lie in [0, num_keys=7], got nan at index (0,)"),
        ("valid_lens", [True, False], "valid_lens must hold whole numbers, got torch.bool"),
        ("valid_lens", [None, 2], "dtype"),
        ("valid_lens", ["two", "one"], "str"),
        ("valid_lens", [[1], [2, 3]], "length"),
        (
            "valid_lens",
            [1],
            "valid_lens must have shape (batch=2,) or (batch=2, num_queries=3), got (1,)",
        ),
        (
            "valid_lens",
            [],
            "valid_lens must have shape (batch=2,) or (batch=2, num_queries=3), got (0,)",
        ),
        ("valid_lens", [[1, 2, 3]] * 2, "valid_lens must keep its shape, got (2, 3)"),
        ("valid_lens", 3, "expected a list"),
        ("temperature", 0.05, "should not be less than 0.1"),
        ("temperature", 10.5, "should not be greater than 10.0"),
        ("temperature", NAN, "temperature must lie in [0.1, 10], got nan"),
        ("temperature", INFINITE, "should not be greater than 10.0"),
        ("temperature", "warm", "expected a float"),
        ("query", 3, "query must lie in [0, num_queries=3), got 3"),
        ("query", -1, "should not be less than 0"),
        ("query", 1.5, "expected an int"),
    ],
)
def test_a_trait_refuses_what_no_slider_can_show_and_stays(trait, value, message):
    figure = AttentionFigure(**inputs())
    before = traits(figure)
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        setattr(figure, trait, value)
    assert traits(figure) == before


def test_lengths_per_query_keep_their_shape():
    figure = AttentionFigure(**inputs(valid_lens=torch.ones(2, 3, dtype=torch.long)))
    with pytest.raises(traitlets.TraitError, match=r"^valid_lens must keep its shape, got \(2,\)$"):
        figure.valid_lens = [1, 2]
    figure.valid_lens = [[0, 1, 7], [2, 3, 4]]
    assert figure.valid_lens == [[0, 1, 7], [2, 3, 4]]


def test_without_anywidget_the_reader_is_told_what_to_install():
    code = (
        "import sys; sys.modules['anywidget'] = None\n"
        "import attnbook\n"
        "try: import attnbook.figures\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "attnbook.figures needs anywidget: pip install 'attnbook[figures]'\n"


def test_the_layers_do_not_load_anywidget():
    code = "import attnbook, sys; print('anywidget' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# What a figure holds


@pytest.mark.parametrize("name", [name for name in CASES if not name.startswith("huge")])
def test_a_figure_holds_the_numbers_of_its_layer(name, device):
    case = CASES[name]()
    figure = case.figure()
    if device.type == "cuda":
        if isinstance(case.layer, torch.nn.Module):
            case.layer.to(device)
        moved = [t.to(device) for t in (case.queries, case.keys, case.values, case.valid_lens)]
        figure = AttentionFigure(case.layer, *moved, mask=case.mask)
    with torch.no_grad():
        scores = getattr(case.layer, "score", case.layer)(
            case.queries.to(device), case.keys.to(device)
        )
    weights = attnbook.masked_softmax(scores, case.valid_lens, mask=case.mask)
    output = attnbook.pool(weights, case.values.to(device))
    assert not differ(figure.scores, scores, 1e-7)
    assert not differ(figure.values, case.values, 1e-7)
    assert figure.valid_lens == case.valid_lens.tolist()
    assert not differ(figure.output.tolist(), output, 1e-5)


def test_only_a_few_vectors_of_two_numbers_are_kept_for_arrows():
    names = ("planar", "additive", "toy")  # two numbers, more than two, ten keys
    arrows = {name: len(CASES[name]().figure().query_vectors) for name in names}
    assert arrows == {"planar": 1, "additive": 0, "toy": 0}


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_stored_number_is_the_number_of_the_layer(dtype):
    tensor = torch.tensor([0.1, 1 / 3, -12345.678], dtype=torch.float64).to(dtype)
    assert torch.equal(torch.tensor(numbers("values", tensor), dtype=dtype), tensor)


def test_no_lengths_means_all_keys():
    assert AttentionFigure(**inputs(valid_lens=None)).valid_lens == [7, 7]


def test_whole_floats_are_lengths_and_become_whole_numbers():
    figure = AttentionFigure(**inputs(valid_lens=torch.tensor([7.0, 2.0])))
    assert repr(figure.valid_lens) == "[7, 2]"
    figure.valid_lens = [1.0, 3]
    assert repr(figure.valid_lens) == "[1, 3]"


def test_making_a_figure_changes_nothing_of_the_callers():
    arguments = inputs(layer=attnbook.AdditiveAttention(5, 5, 3, dropout=0.5))
    layer = arguments["layer"]
    tensors = [arguments[name] for name in ("queries", "keys", "values")]
    for tensor in tensors:
        tensor.requires_grad_()
    layer(**{name: arguments[name] for name in ("queries", "keys", "values", "valid_lens")})
    weights, before = layer.attention_weights, copy.deepcopy((tensors, layer.state_dict()))
    noise = torch.get_rng_state()
    AttentionFigure(**arguments)
    assert layer.training
    assert layer.attention_weights is weights
    assert torch.equal(torch.get_rng_state(), noise)
    assert all(torch.equal(old, new) for old, new in zip(before[0], tensors, strict=True))
    assert all(torch.equal(old, layer.state_dict()[name]) for name, old in before[1].items())
    assert all(tensor.grad is None for tensor in tensors)
    assert arguments["valid_lens"].tolist() == [7, 2]


def test_a_figure_does_not_follow_its_tensors():
    arguments = inputs()
    figure = AttentionFigure(**arguments)
    before = traits(figure)
    for name in ("queries", "keys", "values", "valid_lens"):
        arguments[name].zero_()
    assert traits(figure) == before


@pytest.mark.parametrize("name", CASES)
def test_weights_and_output_follow_the_traits(name):
    figure = CASES[name]().figure()
    figure.temperature = 2.5
    figure.valid_lens = (torch.tensor(figure.valid_lens) // 2).tolist()
    weights, output = truth(traits(figure), figure.valid_lens, 2.5)
    assert not differ(figure.attention_weights.tolist(), weights, 1e-15)
    assert not differ(figure.output.tolist(), output, 1e-15)


def test_the_formula_is_the_layers_or_the_readers():
    assert CASES["additive"]().figure().formula == attnbook.AdditiveAttention.formula
    assert CASES["nearest"]().figure().formula == "-‖q - k‖"
    assert CASES["function"]().figure().formula == "score(q, k)"
    assert CASES["function"]().figure(formula="-d²/2").formula == "-d²/2"


# What a figure says


def test_the_text_tells_the_toy_example():
    assert repr(toy().figure()) == (
        "AttentionFigure: scores q · k / √d\n"
        "example 0: valid_lens 2\n"
        "  query 0: weights [0.500, 0.500, 0, 0, 0, 0, 0, 0, 0, 0], "
        "output [2.000, 3.000, 4.000, 5.000]\n"
        "example 1: valid_lens 6\n"
        "  query 0: weights [0.167, 0.167, 0.167, 0.167, 0.167, 0.167, 0, 0, 0, 0], "
        "output [10.000, 11.000, 12.000, 13.000]"
    )


def told(line: str, name: str) -> list[float]:
    """The numbers that a line tells after a name."""
    found = re.search(rf"{name} \[(.*?)\]", line)
    return [float(part) for part in found[1].split(", ")] if found else []


def test_the_text_tells_what_the_layer_itself_computes():
    case = CASES["additive"]()
    lines = [line for line in repr(case.figure()).splitlines() if line.startswith("  query")]
    with torch.no_grad():
        output = case.layer(case.queries, case.keys, case.values, case.valid_lens, mask=case.mask)
    for line, weights, out in zip(
        lines, case.layer.attention_weights.flatten(0, 1), output.flatten(0, 1), strict=True
    ):
        assert told(line, "weights") == pytest.approx(weights.tolist(), abs=6e-4)
        assert told(line, "output") == pytest.approx(out.tolist(), abs=6e-4)


def test_the_text_of_an_empty_row_is_plain_zeros():
    figure = CASES["planar"]().figure()
    assert repr(figure).endswith("  query 2: weights [0, 0, 0, 0, 0], output [0]")


def test_the_text_breaks_off_after_sixteen_queries_and_numbers_and_says_so():
    figure = AttentionFigure(
        attnbook.DotProductAttention(),
        torch.zeros(1, 19, 3),
        torch.zeros(1, 17, 3),
        torch.zeros(1, 17, 1),
    )
    lines = repr(figure).splitlines()
    assert len(lines) == 2 + 16 + 1
    assert lines[2] == f"  query 0: weights [{'0.059, ' * 16}and 1 more], output [0]"
    assert lines[-1] == "  and 3 more queries"


def test_the_text_names_queries_and_temperature():
    figure = CASES["planar"]().figure(query_labels=["who", "what", "where"])
    figure.temperature = 0.5
    assert repr(figure).startswith("AttentionFigure: scores q · k / √d, temperature 0.5\n")
    assert "  what: weights" in repr(figure)


def test_the_text_names_examples_and_changes_nothing_else():
    named = toy().figure(example_labels=["head 0: colour", "head 1: shape"])
    plain = repr(toy().figure())
    assert "\nhead 0: colour: valid_lens 2\n" in repr(named)
    told = plain.replace("example 0", "head 0: colour").replace("example 1", "head 1: shape")
    assert repr(named) == told
    named.valid_lens = [3, 0]
    assert "\nhead 1: shape: valid_lens 0\n" in repr(named)


@pytest.mark.parametrize(
    ("lens", "expected"),
    [
        (None, [[1, 2, 3, 4]] * 2),
        ([2, 4], [[1, 2, 2, 2], [1, 2, 3, 4]]),
        ([[4, 0, 4, 1]] * 2, [[1, 0, 3, 1]] * 2),
    ],
)
def test_a_causal_figure_starts_with_the_past_of_each_query(lens, expected):
    x = torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(0))
    lens = None if lens is None else torch.tensor(lens)
    layer = attnbook.DotProductAttention()
    figure = AttentionFigure(layer, x, x, x, lens, causal=True)
    assert figure.valid_lens == expected
    torch.testing.assert_close(figure.output.float(), layer(x, x, x, lens, causal=True))
    assert (figure.hidden, AttentionFigure(layer, x, x, x).hidden) == ("future", "padding")


def test_the_text_is_the_same_in_every_run():
    case = CASES["nearest"]()
    assert repr(case.figure()) == repr(case.figure())
    assert "0x" not in repr(case.figure())


def test_the_text_follows_lengths_and_temperature_but_not_the_focus():
    figure = toy().figure()
    first = repr(figure)
    figure.valid_lens = [1, 6]
    assert "query 0: weights [1.000, 0, 0, 0, 0, 0, 0, 0, 0, 0], output [0, 1.000" in repr(figure)
    figure.temperature = 3.0
    assert ", temperature 3" in repr(figure)
    figure.valid_lens, figure.temperature = [2, 6], 1.0
    assert repr(figure) == first


def test_a_notebook_stores_the_whole_text():
    figure = toy().figure()
    bundle = figure._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert data["text/plain"] == repr(figure)
    assert len(data["text/plain"]) > 110  # where anywidget would cut it
    assert "application/vnd.jupyter.widget-view+json" in data


# Traits


def test_traits_that_the_reader_moves_reach_python_and_back():
    state = toy().figure().get_state()
    assert set(TRAITS) <= set(state)
    figure = toy().figure()
    figure.set_state({"valid_lens": [3, 0], "temperature": 0.5})  # what a front end sends
    assert (figure.valid_lens, figure.temperature) == ([3, 0], 0.5)
    assert "example 1: valid_lens 0" in repr(figure)


def test_a_change_is_observed_once():
    figure, seen = toy().figure(), []
    figure.observe(lambda change: seen.append(change["new"]), "valid_lens")
    figure.valid_lens = [3, 6]
    figure.valid_lens = [3, 6]
    assert seen == [[3, 6]]


def test_an_ordinary_slider_can_be_linked_both_ways():
    figure, slider = CASES["function"]().figure(), ipywidgets.IntSlider(value=2, max=7)
    ends = (lambda number: [number], lambda lens: lens[0])
    link = traitlets.link((slider, "value"), (figure, "valid_lens"), transform=ends)
    assert figure.valid_lens == [2]
    slider.value = 4
    assert "example 0: valid_lens 4" in repr(figure)
    figure.valid_lens = [6]
    assert slider.value == 6
    link.unlink()


def test_a_figure_stands_in_a_box_beside_other_widgets():
    figure = toy().figure()
    box = ipywidgets.VBox([ipywidgets.IntSlider(), figure])
    assert box.children[1] is figure
