"""Compiled, exported and traced programs, called with other sizes, lengths and masks."""

import pytest
import torch
from torch import nn
from torch.export import Dim
from torch.fx.experimental.proxy_tensor import make_fx

from attnbook import sinusoidal_encoding, window_mask
from tests.cases import all_close, every_layer, gradients, make, with_or_without_weights

pytestmark = [pytest.mark.usefixtures("every_path"), pytest.mark.slow]

# (batch, queries, keys); a layer that recompiled for each would give up at the ninth.
SIZES = [(2, 3, 7), (3, 5, 5), (4, 2, 6), (5, 7, 9), (2, 6, 6), (3, 4, 11)]
SIZES += [(6, 3, 3), (7, 9, 12), (8, 5, 8), (9, 2, 13), (2, 11, 14)]
FORMS = {
    "no mask": None,
    "queries, keys": "nm",
    "batch, one, keys": "b1m",
}
every_form = pytest.mark.parametrize("form", FORMS)
every_rule = pytest.mark.parametrize("rule", ["all keys", "lengths", "causal"])


@pytest.fixture(autouse=True)
def _fresh_compiler():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def call(form, rule, sizes, seed=0):
    """Make the inputs and options of a call; each axis of a mask has its size, or 1."""
    batch, queries, keys = sizes
    rng = torch.Generator().manual_seed(seed)
    inputs = [
        torch.randn(batch, number, size, generator=rng, dtype=torch.float64)
        for number, size in ((queries, 5), (keys, 5), (keys, 11))
    ]
    options = {}
    if FORMS[form]:
        shape = [{"b": batch, "n": queries, "m": keys, "1": 1}[axis] for axis in FORMS[form]]
        options["mask"] = torch.rand(shape, generator=rng) < 0.6
    if rule == "lengths":
        options["valid_lens"] = torch.randint(keys + 1, (batch,), generator=rng)
    if rule == "causal":
        options["causal"] = True
    return inputs, options


@pytest.mark.few(3)
@every_layer
@with_or_without_weights
@every_form
@every_rule
@pytest.mark.parametrize("learns", [False, True])
def test_a_compiled_layer_takes_any_sizes(name, keep_weights, form, rule, learns):
    layer = make(name, dtype=torch.float64, keep_weights=keep_weights)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for sizes in SIZES:
        inputs, options = call(form, rule, sizes)
        if learns:
            found, expected = (gradients(one, inputs, **options) for one in (compiled, layer))
        else:
            with torch.no_grad():
                found, expected = ([one(*inputs, **options)] for one in (compiled, layer))
        assert all_close(found, expected)


class TakesTensorsOnly(nn.Module):
    """A layer whose call takes only tensors, as torch.jit.trace requires."""

    def __init__(self, layer, options):
        super().__init__()
        self.layer, self.options = layer, options

    def forward(self, queries, keys, values, *tensors):
        rest = iter(tensors)
        named = {name: one is True or next(rest) for name, one in self.options.items()}
        return self.layer(queries, keys, values, **named)


@pytest.mark.few(3)
@every_layer
@with_or_without_weights
@every_form
@every_rule
@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("trace", [torch.jit.trace, make_fx], ids=["jit", "fx"])
@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning", "ignore:.*torch.jit")
def test_a_traced_layer_takes_other_numbers_lengths_and_masks(
    name, keep_weights, form, rule, learns, trace
):
    layer = make(name, dtype=torch.float64, keep_weights=keep_weights).eval()
    for sizes in SIZES[:2]:
        (inputs, options), (others, other_options) = (call(form, rule, sizes, s) for s in (1, 2))
        tensors, other_tensors = (
            [one for one in some.values() if one is not True] for some in (options, other_options)
        )
        with torch.set_grad_enabled(learns):
            called = TakesTensorsOnly(layer, options)
            if trace is make_fx:
                traced = make_fx(called)(*inputs, *tensors)
            else:
                traced = trace(called, (*inputs, *tensors))
            found = traced(*others, *other_tensors)
        expected = layer(*others, **other_options)
        assert torch.allclose(found, expected, rtol=1e-12, atol=1e-12)


class MadeFromSize(nn.Module):
    def forward(self, x):
        number = x.shape[0]
        window = window_mask((1, number, number), number - 2)
        return sinusoidal_encoding(number, 6), window


@pytest.mark.few(1)
def test_encodings_and_masks_can_be_exported_with_a_dynamic_size():
    shapes = {"x": {0: Dim("number", min=4, max=64)}}
    program = torch.export.export(
        MadeFromSize(), (torch.ones(7),), dynamic_shapes=shapes, strict=False
    ).module()
    for number in (4, 9, 20):
        found, expected = (one(torch.ones(number)) for one in (program, MadeFromSize()))
        assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))
