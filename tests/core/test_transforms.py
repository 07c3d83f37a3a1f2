"""The layers under what PyTorch does to layers: compile, export, autocast, copy, save."""

import copy
import io
import math
import pickle
import shutil

import pytest
import torch
from torch import nn
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from attnbook import DotProductAttention, checked, kernel_pool, masked_softmax
from tests.cases import (
    LAYERS,
    MASKS,
    PER_EXAMPLE,
    WITHOUT_WEIGHTS,
    every_layer,
    every_mask,
    make,
    output_size,
)

WITHOUT = [name + WITHOUT_WEIGHTS for name in LAYERS]
pytestmark = pytest.mark.usefixtures("every_path")


@pytest.fixture(autouse=True)
def _fresh_compiler():
    yield
    torch.compiler.reset()


# torch.compile


COMPILED = [
    *((name, "all keys", ()) for name in LAYERS),
    *((name, mask, (2,)) for name in ("dot", "additive") for mask in ("per example", "per query")),
    *(("multi-head", mask, ()) for mask in ("per example", "per query")),
    *((name, mask, ()) for name in (*LAYERS, *WITHOUT) for mask in ("causal", "causal, per query")),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "mask", "heads"), COMPILED)
def test_a_compiled_layer_in_one_graph_gives_the_same(name, mask, heads, device):
    layer = make(name).to(device)
    compiled = torch.compile(make(name).to(device), fullgraph=True, backend="aot_eager")
    inputs = [torch.randn(2, *heads, *size) for size in ((3, 5), (7, 5), (7, 11))]
    results = []
    for attend in (layer, compiled):
        leaves = [tensor.to(device).requires_grad_() for tensor in copy.deepcopy(inputs)]
        output = attend(*leaves, **MASKS[mask])
        output.square().sum().backward()
        gradients = [leaf.grad for leaf in (*leaves, *attend.parameters())]
        results.append([output.detach(), *gradients])
        if attend.keep_weights:
            results[-1].append(attend.attention_weights)
    for left, right in zip(*results, strict=True):
        assert torch.allclose(left, right, atol=1e-5)


@every_layer
def test_a_compiled_layer_in_training_drops_weights(name, qkv):
    compiled = torch.compile(make(name, dropout=1.0), fullgraph=True, backend="aot_eager")
    assert (compiled(*qkv) == 0).all()
    assert torch.allclose(compiled.attention_weights.sum(-1), torch.ones(()))


@every_layer
def test_a_second_call_compiles_nothing_anew(name, qkv):
    counter = CompileCounter()
    compiled = torch.compile(make(name), fullgraph=True, backend=counter)
    for _ in range(3):
        compiled(*qkv, PER_EXAMPLE)
    assert counter.frame_count == 1


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="the default compiler needs g++")
@every_layer
def test_the_default_compiler_gives_the_same(name, qkv, device):
    inputs = [tensor.to(device) for tensor in qkv]
    layer = make(name).to(device)
    compiled = torch.compile(layer, fullgraph=True)
    expected = layer(*inputs, PER_EXAMPLE)
    assert torch.allclose(compiled(*inputs, PER_EXAMPLE), expected, atol=1e-5)


OUT_OF_RANGE = torch.tensor([99.0, -3.0, math.nan])
AS_IF = torch.tensor([7, 0, 0])


def three_examples():
    torch.manual_seed(5)
    return torch.randn(3, 2, 5), torch.randn(3, 7, 5), torch.randn(3, 7, 11)


@every_layer
def test_compiled_past_the_end_means_all_keys_and_below_zero_or_nan_none(name):
    layer = make(name)
    compiled = torch.compile(make(name), fullgraph=True, backend="aot_eager")
    inputs = three_examples()
    assert torch.allclose(compiled(*inputs, OUT_OF_RANGE), layer(*inputs, AS_IF), atol=1e-6)
    assert torch.allclose(compiled.attention_weights, layer.attention_weights, atol=1e-6)


@every_layer
def test_checked_refuses_in_a_compiled_layer_and_then_lets_it_run_on(name):
    compiled = torch.compile(make(name), fullgraph=True, backend="aot_eager")
    inputs = three_examples()
    output = compiled(*inputs, OUT_OF_RANGE)
    weights = compiled.attention_weights
    rule = r"valid_lens must lie in \[0, num_keys=7\], got 99.0"
    with pytest.raises(ValueError, match=rule), checked():
        compiled(*inputs, OUT_OF_RANGE)
    assert compiled.attention_weights is weights
    assert torch.equal(compiled(*inputs, OUT_OF_RANGE), output)


def test_compiled_kernel_pooling_gives_the_same(qkv):
    compiled = torch.compile(kernel_pool, fullgraph=True, backend="aot_eager")
    expected = kernel_pool(*qkv, 2.0, PER_EXAMPLE)
    assert torch.allclose(compiled(*qkv, 2.0, PER_EXAMPLE), expected, atol=1e-6)


# torch.export

every_export = pytest.mark.parametrize("strict", [True, False], ids=["strict", "non-strict"])


@pytest.mark.slow
@every_layer
@every_mask
@every_export
def test_an_exported_layer_gives_the_same_and_leaves_the_layer_alone(name, mask, strict, qkv):
    layer = make(name).eval()
    expected = layer(*qkv, **mask)
    weights = layer.attention_weights
    program = torch.export.export(layer, qkv, mask, strict=strict)
    assert torch.allclose(program.module()(*qkv, **mask), expected, atol=1e-6)
    assert layer.attention_weights is weights
    assert not isinstance(layer.attention_weights, FakeTensor)
    assert torch.equal(layer(*qkv, **mask), expected)


@pytest.mark.slow
@every_layer
@every_export
def test_an_exported_layer_takes_other_batches_queries_and_keys(name, strict, qkv):
    layer = make(name).eval()
    batch, queries, keys = (
        torch.export.Dim(d, min=2, max=64) for d in ("batch", "queries", "keys")
    )
    shapes = ({0: batch, 1: queries}, {0: batch, 1: keys}, {0: batch, 1: keys}, {0: batch})
    program = torch.export.export(
        layer, (*qkv, PER_EXAMPLE), dynamic_shapes=shapes, strict=strict
    ).module()
    inputs = torch.randn(13, 2, 5), torch.randn(13, 17, 5), torch.randn(13, 17, 11)
    valid_lens = torch.arange(13)
    assert torch.allclose(program(*inputs, valid_lens), layer(*inputs, valid_lens), atol=1e-6)


@every_layer
@every_export
def test_exported_past_the_end_means_all_keys_and_below_zero_or_nan_none(name, strict):
    layer = make(name).eval()
    inputs = three_examples()
    program = torch.export.export(layer, (*inputs, torch.zeros(3)), strict=strict).module()
    assert torch.allclose(program(*inputs, OUT_OF_RANGE), layer(*inputs, AS_IF), atol=1e-6)


# Autocast


@every_layer
def test_autocast_mixes_dtypes_that_are_refused_outside(name, qkv):
    queries, keys, values = qkv
    mixed = queries, keys.bfloat16(), values
    layer = make(name)
    expected = layer(*qkv, PER_EXAMPLE)
    with torch.autocast("cpu", torch.bfloat16):
        output = layer(*mixed, PER_EXAMPLE)
    assert torch.allclose(output.float(), expected, atol=5e-2)
    assert (layer.attention_weights[0, ..., 4:] == 0).all()
    assert (layer.attention_weights[1] == 0).all()
    with pytest.raises(TypeError, match="keys must have the dtype of queries"):
        layer(*mixed, PER_EXAMPLE)


@every_layer
def test_autocast_trains(name, qkv):
    layer = make(name)
    queries = qkv[0].requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        loss = layer(queries, *qkv[1:], PER_EXAMPLE).float().square().sum()
    loss.backward()
    assert all(leaf.grad.isfinite().all() for leaf in (queries, *layer.parameters()))


@every_layer
def test_a_compiled_layer_works_under_autocast(name, qkv):
    queries, keys, values = qkv
    layer = make(name)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    with torch.autocast("cpu", torch.bfloat16):
        expected = layer(queries, keys.bfloat16(), values, PER_EXAMPLE)
        output = compiled(queries, keys.bfloat16(), values, PER_EXAMPLE)
    assert torch.allclose(output, expected, atol=5e-2)


# Copying, saving, loading


@every_layer
@pytest.mark.parametrize("keep_weights", [True, False])
def test_a_copy_made_after_training_attends_alike_and_is_its_own(name, keep_weights, qkv):
    layer = make(name, dropout=0.5, keep_weights=keep_weights).train()
    layer(qkv[0].requires_grad_(), *qkv[1:]).sum().backward()
    for copied in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):  # noqa: S301 - our own
        assert torch.equal(copied.eval()(*qkv), layer.eval()(*qkv))
        for ours, theirs in zip(layer.parameters(), copied.parameters(), strict=True):
            assert ours is not theirs


def test_a_copy_keeps_the_weights_of_the_last_call(qkv):
    layer = make("additive")
    layer(*qkv)
    copied = copy.deepcopy(layer)
    assert torch.equal(copied.attention_weights, layer.attention_weights)
    assert copied.attention_weights is not layer.attention_weights


@every_layer
def test_a_saved_state_makes_another_layer_attend_alike(name, qkv):
    layer = make(name)
    file = io.BytesIO()
    torch.save(layer.state_dict(), file)
    file.seek(0)
    other = make(name)
    for parameter in other.parameters():
        nn.init.zeros_(parameter)
    other.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(other(*qkv), layer(*qkv))


def test_a_function_of_the_parameters_uses_those_it_is_given(qkv):
    layer = make("additive")
    zeros = {name: torch.zeros_like(value) for name, value in layer.named_parameters()}
    output = torch.func.functional_call(layer, zeros, qkv)
    # Nothing scores: every weight is 1/7.
    assert torch.allclose(output, qkv[2].mean(dim=1, keepdim=True).expand(2, 3, 11), atol=1e-6)


@every_layer
def test_inputs_need_not_be_contiguous(name, qkv):
    def scattered(tensor):
        wide = torch.full((*tensor.shape[:-1], 2 * tensor.shape[-1]), math.nan)
        wide[..., ::2] = tensor
        turned = wide[..., ::2].transpose(-2, -1).clone(memory_format=torch.contiguous_format)
        assert not turned.transpose(-2, -1).is_contiguous()
        return turned.transpose(-2, -1)

    layer = make(name)
    valid_lens = torch.stack([PER_EXAMPLE, PER_EXAMPLE], dim=1)[:, 0]
    assert not valid_lens.is_contiguous()
    output = layer(*(scattered(tensor) for tensor in qkv), valid_lens)
    assert torch.allclose(output, layer(*qkv, PER_EXAMPLE), atol=1e-6)


# Tensors without values


@every_layer
@every_mask
def test_shapes_can_be_worked_out_on_the_meta_device(name, mask, qkv):
    if "valid_lens" in mask:
        mask = {**mask, "valid_lens": mask["valid_lens"].to("meta")}
    output = make(name).to("meta")(*(tensor.to("meta") for tensor in qkv), **mask)
    assert output.shape == (2, 3, output_size(name))


def test_fake_tensors_without_lengths_work(qkv):
    with FakeTensorMode() as mode:
        output = DotProductAttention()(*(mode.from_tensor(tensor) for tensor in qkv))
    assert output.shape == (2, 3, 11)


def test_examples_can_be_mapped_over_without_lengths():
    scores = torch.randn(5, 2, 3, 7)
    assert torch.equal(torch.vmap(masked_softmax)(scores), torch.softmax(scores, -1))
