"""Every public function refuses wrong values of each argument with our message, not torch's."""

from functools import cache, partial

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import attnbook
from attnbook.display import heatmap
from attnbook.masking import interop
from tests.cases import PER_EXAMPLE, are_unchanged, copy_with_versions

ones = torch.ones
SHAPE = (2, 3, 7)
QUERIES_AND_KEYS = {"queries": ones(2, 3, 5), "keys": ones(2, 7, 5)}
VALUES = {"values": ones(2, 7, 11)}
HIDDEN = {"valid_lens": PER_EXAMPLE, "causal": False, "mask": ones(3, 7).bool()}
BIAS = {"bias": ones(3, 7)}
CALL = QUERIES_AND_KEYS | VALUES | HIDDEN | BIAS
OF_LAYER = {"dropout": 0.0, "keep_weights": True}
SCALE = {"scale": 0.5}
# A valid call of everything that takes arguments. The argument `device` is left out: torch checks
# it.
GOOD = {
    "DotProductAttention": OF_LAYER | SCALE,
    "AdditiveAttention": {"key_size": 5, "query_size": 5, "num_hiddens": 8} | OF_LAYER,
    "MLPAttention": {"key_size": 5, "query_size": 5, "units": 8} | OF_LAYER,
    "MultiHeadAttention": {
        **dict.fromkeys(("key_size", "query_size", "value_size", "num_hiddens"), 8),
        **{"num_heads": 2, "bias": False} | OF_LAYER | SCALE,
    },
    "additive_score": QUERIES_AND_KEYS | {"weight": ones(5)},
    "bilinear_score": QUERIES_AND_KEYS | {"weight": ones(5, 5)},
    "dot_score": QUERIES_AND_KEYS,
    "scaled_dot_score": QUERIES_AND_KEYS | SCALE,
    "gaussian_score": QUERIES_AND_KEYS | {"width": 1.0},
    "kernel_pool": QUERIES_AND_KEYS | VALUES | {"width": 1.0, "valid_lens": PER_EXAMPLE},
    "pool": {"weights": ones(2, 3, 7)} | VALUES,
    "masked_softmax": {"scores": ones(2, 3, 7)} | HIDDEN,
    "causal_mask": {"shape": SHAPE},
    "length_mask": {"valid_lens": PER_EXAMPLE, "shape": SHAPE},
    "start_mask": {"starts": PER_EXAMPLE, "shape": SHAPE},
    "prefix_mask": {"prefix_lens": PER_EXAMPLE, "shape": SHAPE},
    "document_mask": {"documents": torch.arange(7), "shape": SHAPE},
    "window_mask": {"shape": SHAPE, "window": 3, "ahead": 0},
    "position_mask": {
        "query_positions": torch.arange(3),
        "key_positions": torch.arange(7),
        "shape": SHAPE,
        "valid": ones(7).bool(),
        "query_documents": torch.arange(3),
        "key_documents": torch.arange(7),
        "window": 2,
        "sinks": 1,
    },
    "fingerprint": {"function": scaled_dot_product_attention, "name": None},
    "split_heads": {"vectors": ones(2, 3, 8), "num_heads": 2},
    "merge_heads": {"heads": ones(2, 2, 3, 4)},
    "sinusoidal_encoding": {"positions": 5, "size": 4, "dtype": torch.float32},
    "rotary_encoding": {"vectors": ones(2, 3, 8), "positions": torch.arange(3), "size": 4}
    | {"base": 10.0, "layout": "halves"},
    "rotary_frequencies": {"size": 8, "base": 10.0, "scaling": "llama3", "factor": 2.0}
    | {"original_length": 100, "slow_turns": 1.0, "fast_turns": 4.0},
    "convert_layout": {"weights": ones(8, 5), "num_heads": 2, "to": "halves", "size": 2},
}
ADDITIVE = attnbook.AdditiveAttention(5, 5, 8)
OTHERS = {
    "a call of dot": (attnbook.DotProductAttention(), CALL),
    "a call of dot without weights": (
        attnbook.DotProductAttention(keep_weights=False),
        QUERIES_AND_KEYS | VALUES | HIDDEN,
    ),
    "a call of additive": (ADDITIVE, CALL),
    "a call of many heads": (attnbook.MultiHeadAttention(5, 5, 11, 8, 2), CALL),
    "project_keys": (ADDITIVE.project_keys, {"keys": ones(2, 7, 5)}),
    "attend": (
        ADDITIVE.attend,
        {"queries": ones(2, 3, 5), "projected_keys": ones(2, 7, 8)} | VALUES | HIDDEN | BIAS,
    ),
    "MaskRules": (
        interop.MaskRules,
        {"num_queries": 3, "num_keys": 7, "valid_len": 2, "start": 0, "causal": "last"}
        | {"window": 3, "ahead": 0, "documents": (0,) * 7, "prefix": None, "table": None},
    ),
    "visible_pairs": (
        partial(attnbook.visible_pairs, lambda x: x),
        {"tokens": ones(3, 4), "vocab_size": 9, "replacements": 1, "batch_size": 4, "seed": 0},
    ),
    "heatmap": (heatmap, {"weights": ones(3, 7)}),
}
CALLS = {name: (getattr(attnbook, name), given) for name, given in GOOD.items()} | OTHERS

TENSORS = {
    "one number": torch.tensor(1.0),
    "one axis": ones(7),
    "five axes": ones(1, 1, 1, 1, 1),
    "integers": ones(2, 7, 5).long(),
    "booleans": ones(2, 7, 5).bool(),
    "complex": ones(2, 7, 5).cfloat(),
    "double": ones(2, 7, 5).double(),
}
MADE = {"sparse": torch.Tensor.to_sparse, "meta": lambda tensor: tensor.to("meta")}
FORMS = {"vectors": ones(2, 3, 5), "lengths": PER_EXAMPLE, "a mask": ones(3, 7).bool()}
JAGGED = {
    "nested vectors": [ones(7, 5)] * 2,
    "nested lengths": [torch.tensor([4]), torch.tensor([1, 2])],
    "nested masks": [ones(3, 7).bool()] * 2,
}
MORE = {
    **{repr(thing): thing for thing in (None, 5, -1, 2.5, float("nan"), True, "x", int)},
    **{repr(thing): thing for thing in ([1.0], [[1], [2, 3]], (1, 2), (2, 3, 7, "x"), (2, -3, 7))},
    **TENSORS,
    **{f"{how} {form}": make(x) for how, make in MADE.items() for form, x in FORMS.items()},
    "an array": np.ones((2, 7, 5)),
    "many numbers": ones(99, 99),
    "many tensors": [ones(99, 99)] * 99,
    "a long list": [[[0.5] * 99] * 99] * 99,
    "a long text": "x" * 9999,
    "a layer": torch.nn.Sequential(*[torch.nn.Identity()] * 99),
    "any object": object(),
}


@cache
def bad_values():
    """Values of all kinds; the first nested tensor imports much of torch, so not at the top."""
    jagged = {
        form: torch.nested.nested_tensor(x, layout=torch.jagged) for form, x in JAGGED.items()
    }
    return MORE | jagged


@pytest.mark.parametrize("name", CALLS)
def test_a_valid_call_is_accepted(name):
    function, given = CALLS[name]
    function(**given)


@pytest.mark.parametrize(
    ("name", "argument"),
    [(name, argument) for name, (_, given) in CALLS.items() for argument in given],
)
def test_a_wrong_argument_is_refused_with_our_own_message(name, argument):
    function, given = CALLS[name]
    tensors = [x for x in given.values() if isinstance(x, torch.Tensor)]
    before, refused = copy_with_versions(tensors), []
    for kind, thing in bad_values().items():
        try:
            function(**given | {argument: thing})
        except (TypeError, ValueError) as error:
            refused.append(kind)
            message = str(error)
            # The message may name another argument that no longer fits this one.
            names = [f"{one} must " for one in (argument, *given)] + [f"{argument}_labels"]
            names += ["num_hiddens must be a multiple of num_heads", "Attention takes (key_size"]
            assert any(one in message for one in names), (kind, message)
            assert len(message) < 700, (kind, message)
            assert "\n" not in message
    assert refused
    assert are_unchanged(tensors, before)


def test_every_public_function_is_in_the_table():
    # What a cache refuses is in a table of its own, in tests/cache.
    caches = {"CrossCache", "KeyValueCache", "LayerCache"}
    without = {"Attention", "__version__", "checked", "visible_pairs", *caches}
    assert {*attnbook.__all__} - without == {*GOOD}
