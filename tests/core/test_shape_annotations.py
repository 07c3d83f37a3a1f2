"""The shapes in the signatures are right: jaxtyping and beartype check them in a run."""

import json
import subprocess
import sys

import pytest

from tools import ROOT

# Only readers and type checkers use the annotations. Here, in a process of its own, the package is
# imported as a type checker sees it.
CHECKED_IMPORT = """
import itertools, typing
import beartype, jaxtyping, torch
typing.TYPE_CHECKING = True
with jaxtyping.install_import_hook("attnbook", "beartype.beartype"):
    import attnbook
typing.TYPE_CHECKING = False
"""

EVERY_SHAPE = """
from tests.core.random_calls import make_call
for seed in range(100):
    call = make_call(seed)
    call.layer(*call.leaves, call.options["valid_lens"], causal=call.options["causal"])
    if call.layer.keep_weights:
        call.layer.attention_weights
calls = 0
for heads, batch, queries, keys in itertools.product(((), (5,)), (0, 2), (0, 3), (0, 7)):
    shape = (batch, *heads, queries, keys)
    q = torch.ones(batch, *heads, queries, 11)
    k = torch.ones(batch, *heads, keys, 11)
    v = torch.ones(batch, *heads, keys, 13)
    projected = torch.ones(batch, *heads, keys, 17)
    per_query = (torch.arange(batch * queries) % (keys + 1)).reshape(batch, queries)
    for lens in (torch.arange(batch) * keys // 2, per_query, per_query.float()):
        attnbook.masked_softmax(torch.ones(shape), lens)
        attnbook.kernel_pool(q, k, v, 2.0, lens)
        attnbook.masking.padding.zero_hidden(k, attnbook.length_mask(lens, shape, "cpu"))
        calls += 1
    attnbook.kernel_pool(q, k, v)
    attnbook.pool(torch.ones(shape), v)
    if queries <= keys:
        attnbook.causal_mask(shape)
    layer = attnbook.MLPAttention(11, 11, 17, 0.5)
    layer(q, k, v)
    layer.attend(q, layer.project_keys(k), v)
    layer.score(q, k)
    attnbook.rotary_encoding(q)
    attnbook.rotary_encoding(q, torch.arange(queries))
    attnbook.rotary_encoding(q, per_query, layout="halves", base=7.0, size=4)
    attnbook.sinusoidal_encoding(torch.arange(queries), 11)
    attnbook.sinusoidal_encoding(per_query, 11)
    at = {"query_positions": per_query, "key_positions": torch.arange(keys)}
    attnbook.causal_mask(shape, **at)
    attnbook.window_mask(shape, 2, **at)
    of_keys = torch.ones(batch, keys)
    about = {"query_documents": torch.arange(queries), "key_documents": of_keys.long()}
    attnbook.position_mask(*at.values(), shape, valid=of_keys.bool(), window=2, **about)
    if heads:
        attnbook.DotProductAttention()(q, k[:, :1], v[:, :1])
    if not heads:
        attnbook.merge_heads(attnbook.split_heads(q, 11))
    attnbook.dot_score(q, k)
    attnbook.scaled_dot_score(q, k)
    attnbook.gaussian_score(q, k, torch.tensor(2.0))
    attnbook.bilinear_score(q, projected, torch.ones(11, 17))
    attnbook.additive_score(q, k, torch.ones(11))
attnbook.convert_layout(torch.ones(12, 5), 2, "halves")
attnbook.rotary_frequencies(8)
x = torch.ones(2, 3, 5)
shared = attnbook.MultiHeadAttention(
    5, 5, 5, 7, 6, num_kv_heads=2, head_size=4, rotary=attnbook.rotary_encoding
)
shared(x, x, x, causal=True, positions=torch.arange(3))
shared(x, x, x, causal=True, positions=torch.arange(6).reshape(2, 3))
cache = attnbook.KeyValueCache(1, 2, 2, 4, 4, window=3, sinks=1)
shared.requires_grad_(False)
for given in ({}, {"valid": torch.ones(3).bool(), "documents": torch.zeros(2, 3).long()}):
    with cache.step(3, **given):
        shared(x, x, x, cache=cache.layer(0))
cache.positions, cache.valid, cache.documents, cache.lengths, cache.next_positions
cache.reorder(torch.tensor([1, 0, 1])), cache.repeat(2), cache.reorder([0, 1])
cache.rewind(0), cache.rewind([0, 0]), cache.rewind(torch.tensor([0, 0]))
cache.copy().load_state_dict(cache.state_dict())
plain = attnbook.MultiHeadAttention(5, 5, 5, 7, 6, num_kv_heads=2, head_size=4)
for valid in (None, torch.ones(3).bool(), torch.ones(2, 3).bool()):
    plain.attend(x[:, :1], plain.project_keys(x, x, valid))
print("calls:", calls)
"""
WRONG_SHAPES = [
    "attnbook.dot_score(torch.ones(2, 3, 5), torch.ones(4, 7, 5))",
    "attnbook.masked_softmax(torch.ones(2, 3, 7), torch.ones(3))",
    "attnbook.DotProductAttention()(*[torch.ones(2, 3, 5)] * 2, torch.ones(2, 4, 5))",
]
# Runs each program, and gives its output and its error.
TRY_EACH = """
import contextlib, io, json, sys, traceback
results = {}
for program in json.load(sys.stdin):
    printed, error = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            exec(program)
        except Exception:
            error = traceback.format_exc()
    results[program] = [printed.getvalue(), error]
print(json.dumps(results))
"""


@pytest.fixture(scope="module")
def results():
    """What each program prints, and its error, where the shapes are checked."""
    done = subprocess.run(
        [sys.executable, "-c", CHECKED_IMPORT + TRY_EACH],
        cwd=ROOT,
        input=json.dumps([EVERY_SHAPE, *WRONG_SHAPES]),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_every_public_function_has_its_annotated_shapes(results):
    assert results[EVERY_SHAPE] == ["calls: 48\n", ""]  # 16 sizes, 3 kinds of lengths


@pytest.mark.parametrize("program", WRONG_SHAPES)
def test_a_shape_that_differs_from_its_annotation_is_detected(results, program):
    assert "TypeCheckError" in results[program][1]
