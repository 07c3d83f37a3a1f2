"""Required arguments are shown as required: by inspect, by help(), and by a type checker."""

import copy
import inspect
import pickle
import pydoc
import re

import pytest
import torch
from mypy import api

from attnbook import AdditiveAttention, MLPAttention, MultiHeadAttention

END = "dropout: float = 0.0, *, keep_weights: bool = True"
SIGNATURES = {
    AdditiveAttention: f"key_size: int, query_size: int, num_hiddens: int, {END}",
    MLPAttention: f"key_size: int, query_size: int, units: int, {END}",
    MultiHeadAttention: "key_size: int, query_size: int, value_size: int, num_hiddens: int, "
    "num_heads: int, dropout: float = 0.0, bias: bool = False, *, keep_weights: bool = True",
}


def plain(text):
    """Remove quotes, margins and spaces, which tools and their versions set differently."""
    return re.sub(r"['|\s]", "", text)


@pytest.mark.parametrize("layer", SIGNATURES)
def test_inspect_and_help_show_the_same_signature_with_required_arguments(layer):
    expected = plain(SIGNATURES[layer])
    assert plain(str(inspect.signature(layer))).startswith(f"({expected}")
    text = plain(pydoc.render_doc(layer, renderer=pydoc.plaintext))
    assert f"class{layer.__name__}(" in text
    assert text.count(f"({expected}") == 1
    assert f"__init__(self,{expected}" in text


@pytest.mark.weekly  # mypy reads the types of torch for a minute
def test_a_type_checker_shows_it_too(tmp_path):
    names = [layer.__name__ for layer in SIGNATURES]
    lines = [f"from attnbook import {', '.join(names)}", *(f"reveal_type({it})" for it in names)]
    (file := tmp_path / "shown.py").write_text("\n".join(lines))
    output, errors, _ = api.run([str(file), "--cache-dir", str(tmp_path / "cache")])
    revealed = re.findall(r'Revealed type is "def \((.*)\) ->', output)
    # mypy shows a default as `int =`.
    expected = [re.sub(r"( =) [\w.]+", r"\1", it) for it in SIGNATURES.values()]
    assert len(revealed) == len(expected), output + errors
    for found, wanted in zip(revealed, expected, strict=True):
        assert plain(found.replace("builtins.", "")).startswith(plain(wanted))


@pytest.mark.parametrize("layer", SIGNATURES)
def test_layers_and_subclasses_can_be_copied_and_pickled(layer):
    sizes = [4] * (5 if layer is MultiHeadAttention else 3)
    made, x = layer(*sizes), torch.ones(1, 2, 4)
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):  # noqa: S301 - it is our own
        assert torch.equal(other(x, x, x), made(x, x, x))
    subclass = type("Mine", (layer,), {})
    assert subclass(*sizes).state_dict().keys() == made.state_dict().keys()
    with pytest.raises(TypeError, match=r"Mine takes \(key_size.*; query_size is missing"):
        subclass(4)
