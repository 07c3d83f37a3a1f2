"""The layers under `torch.func` and similar transforms, and with tensors without numbers."""

import copy
import pickle

import pytest
import torch
from torch.autograd import forward_ad
from torch.autograd.functional import hessian, jacobian
from torch.func import functional_call, grad, jacfwd, vmap

from tests.cases import (
    SOME_MASK,
    every_layer,
    every_layer_with_or_without_weights,
    make,
    random_qkv,
)

pytestmark = [pytest.mark.usefixtures("every_path"), pytest.mark.few(6)]
LENGTHS = torch.tensor([4, 0])


def for_one_example(layer):
    """Make a layer a function of one example, without an axis for the batch."""
    return lambda *example: layer(*(tensor[None] for tensor in example))[0]


def one_by_one(layer, *batches):
    return torch.stack([for_one_example(layer)(*example) for example in zip(*batches, strict=True)])


@pytest.mark.few(3)
@every_layer
def test_a_layer_can_be_copied_and_pickled_after_its_gradient_was_taken(name):
    layer, (queries, *others) = make(name, dtype=torch.float64), random_qkv(1)
    expected = layer(queries, *others, LENGTHS)
    grad(lambda queries: layer(queries, *others, LENGTHS).sum())(queries)
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):  # noqa: S301 - our own
        assert torch.allclose(copied(queries, *others, LENGTHS), expected)
        assert not copied.attention_weights.requires_grad


@pytest.mark.few(3)
@every_layer
def test_mapped_axes_come_first_in_the_weights_the_outermost_before_the_others(name):
    layer, (queries, keys, values) = make(name, dtype=torch.float64), random_qkv(3)
    three = torch.stack([queries, 2 * queries, 3 * queries], dim=1)
    over_three = vmap(for_one_example(layer), in_dims=(0, None, None))
    vmap(over_three)(three, keys, values)
    weights = layer.attention_weights.squeeze(2)
    assert weights.shape[:2] == (2, 3)
    layer(3 * queries, keys, values)
    assert torch.allclose(weights[:, 2], layer.attention_weights)


@every_layer_with_or_without_weights
def test_lengths_and_masks_can_be_mapped_over(name):
    layer, inputs = make(name, dtype=torch.float64), random_qkv(4)
    expected = one_by_one(layer, *inputs, LENGTHS)
    assert torch.allclose(vmap(for_one_example(layer))(*inputs, LENGTHS), expected)
    if layer.keep_weights:
        weights = layer.attention_weights
        layer(*inputs, LENGTHS)
        assert torch.allclose(weights.squeeze(1), layer.attention_weights)
    masks = torch.stack([SOME_MASK, SOME_MASK.roll(1, -1)])
    mapped = vmap(lambda mask: layer(*inputs, mask=mask))(masks)
    assert torch.allclose(mapped, torch.stack([layer(*inputs, mask=mask) for mask in masks]))


@pytest.mark.parametrize("name", ["additive", "multi-head", "additive without weights"])
@pytest.mark.parametrize("causal", [False, True])
def test_gradients_of_each_example_equal_those_of_the_example_on_its_own(name, causal):
    layer, inputs = make(name, dtype=torch.float64), random_qkv(5)
    parameters = dict(layer.named_parameters())

    def loss(parameters, *example):
        one = tuple(tensor[None] for tensor in example)
        return functional_call(layer, parameters, one, {"causal": causal}).square().sum()

    batch = (*inputs, LENGTHS)
    found = vmap(grad(loss), in_dims=(None, 0, 0, 0, 0))(parameters, *batch)
    for index, example in enumerate(zip(*batch, strict=True)):
        expected = torch.autograd.grad(loss(parameters, *example), list(parameters.values()))
        for left, right in zip(found.values(), expected, strict=True):
            assert torch.allclose(left[index], right)


@every_layer_with_or_without_weights
def test_a_vectorized_jacobian_and_hessian_equal_the_plain_ones(name):
    layer, (queries, *others) = make(name, dtype=torch.float64), random_qkv(7)
    queries = queries[:, :2]

    def attend(queries):
        return layer(queries, *others, LENGTHS)[:1, :, :3]

    def loss(queries):
        return attend(queries).square().sum()

    expected = jacobian(attend, queries)
    assert torch.allclose(jacobian(attend, queries, vectorize=True), expected)
    assert torch.allclose(jacfwd(attend)(queries), expected)
    with forward_ad.dual_level():
        dual = attend(forward_ad.make_dual(queries, torch.ones_like(queries)))
        slope = forward_ad.unpack_dual(dual).tangent
    assert torch.allclose(slope, expected.sum(dim=(-3, -2, -1)))
    assert torch.allclose(hessian(loss, queries, vectorize=True), hessian(loss, queries))


@pytest.mark.few(1)
@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # torch's own access
def test_a_new_layer_can_be_compiled_inside_a_transform():
    layer, (queries, *others) = make("additive", dtype=torch.float64), random_qkv(9)
    compiled = torch.compile(make("additive", dtype=torch.float64), backend="eager")
    found = vmap(for_one_example(compiled))(queries, *others)
    assert torch.allclose(found, one_by_one(layer, queries, *others))
    assert compiled.attention_weights.shape[0] == 2
    slope = grad(lambda queries: compiled(queries, *others).sum())(queries)
    assert slope.shape == queries.shape
    torch.compiler.reset()


@pytest.mark.few(3)
@every_layer
def test_weights_cannot_be_read_inside_vmap(name):
    layer, inputs = make(name, dtype=torch.float64), random_qkv(5)

    def mean_of_weights(*example):
        return for_one_example(layer)(*example).sum() + layer.attention_weights.mean()

    rule = "attention_weights must be read after torch.func.vmap, got a read within it"
    for function in (mean_of_weights, grad(mean_of_weights)):
        with pytest.raises(RuntimeError, match=rule):
            vmap(function)(*inputs)
    # One sample alone may read them.
    grad(mean_of_weights)(*(tensor[0] for tensor in inputs))
    assert layer.attention_weights.shape[0] == 1
