"""The code that the mask figure offers: each snippet is executed, and makes the mask shown."""

from __future__ import annotations

import json
import re
import warnings

import pytest
import torch

from attnbook.figures.mask.figure import LIBRARIES
from attnbook.masking.interop import MaskRules, for_encoder_layer, for_transformers
from tests.figures.mask.cases import (
    BY_TABLE,
    NAMES_FOR,
    ON_TENSORS,
    execute_snippet,
    make_setting,
    make_tensors,
)

NUM_FIRST = 20  # settings before the random joins
CONTRACTS = {"encoder": for_encoder_layer, "transformers": for_transformers}


@pytest.fixture(scope="module")
def cases(request, settings, results):
    """Each rule alone and a fifth of the joins, with `--full` all: settings and pages."""
    pairs = list(zip(settings, results, strict=True))
    return pairs[:NUM_FIRST] + pairs[NUM_FIRST :: 1 if request.config.getoption("--full") else 5]


def rules_of(setting):
    documents = setting["rules"]["documents"]
    table = setting["own"] and setting["own"]["table"]
    return MaskRules(
        **setting["rules"] | {"documents": documents and tuple(documents), "table": table}
    )


def run_snippets(library, cases):
    """Compare the masks of a library's snippets; return their number and the rules without one."""
    count, refused = 0, []
    for setting, page in cases:
        snippet = page["snippets"][LIBRARIES.index(library)]
        if "code" not in snippet:
            assert snippet["cannot"].endswith(".")
            refused.append(rules_of(setting))
            continue
        count += 1
        mask = execute_snippet(library, snippet["code"], setting["rules"])
        assert torch.equal(mask, torch.tensor(setting["visible"])), snippet["code"]
    return count, refused


@pytest.mark.parametrize("library", [name for name in LIBRARIES if name != "flex"])
def test_each_snippet_makes_exactly_the_mask_shown_or_our_contract_refuses_it(cases, library):
    count, refused = run_snippets(library, cases)
    equal = [page for setting, page in cases if len(setting["visible"]) == len(page["mask"][0])]
    assert count >= {"encoder": len(equal), "transformers": 5}.get(library, len(cases))
    for rules in refused:
        with pytest.raises(ValueError):  # noqa: PT011 - any refusal will do
            CONTRACTS[library](rules)


PADDED = [
    MaskRules(6, 6, start=2),
    MaskRules(6, 6, start=2, causal="last"),
    MaskRules(2, 6, start=3, causal="last"),
    MaskRules(6, 6, start=1, valid_len=5, causal="last"),
]


def test_code_for_transformers_gives_the_positions_of_the_queries(run_module):
    settings = [make_setting(rules) for rules in PADDED]
    pages = run_module(settings=settings)["results"]
    assert run_snippets("transformers", list(zip(settings, pages, strict=True))) == (4, [])
    for rules, page in zip(PADDED, pages, strict=True):
        code = page["snippets"][LIBRARIES.index("transformers")]["code"]
        found = re.search(r"position_ids = torch.tensor\(\[(\[.*\])\]\)\noutput", code)
        assert json.loads(found[1]) == rules.positions()[-rules.num_queries :].tolist()


@pytest.mark.slow
def test_snippets_of_flex_attention_make_exactly_the_mask_shown(cases, request):
    # Each takes as long as all others of a setting together.
    full = request.config.getoption("--full")
    some = cases[: NUM_FIRST : 1 if full else 5] + cases[NUM_FIRST::6]
    assert run_snippets("flex", some) == (len(some), [])


LAST, START, FEW = MaskRules(6, 6, causal="last"), MaskRules(6, 6, start=2), MaskRules(2, 6)
TWICE = MaskRules(6, 6, valid_len=5, causal="last", start=1)
FUNCTION = "F.scaled_dot_product_attention(queries, keys, values"
SHORTEST = [  # the end of a line for each, with the reader's own rule where there is one
    ("attnbook", MaskRules(6, 6), "", "\noutput = layer(queries, keys, values)\n"),
    ("attnbook", LAST, "", "\noutput = layer(queries, keys, values, causal=True)\n"),
    ("attnbook", MaskRules(6, 6, causal="last", window=3), "", "window_mask(shape, window=3)  #"),
    ("sdpa", LAST, "", f"{FUNCTION}, is_causal=True)\n"),
    ("sdpa", MaskRules(2, 6, causal="last"), "", f"{FUNCTION}, attn_mask=mask)\n"),
    ("sdpa", MaskRules(2, 6, causal="first"), "", f"{FUNCTION}, is_causal=True)\n"),
    ("multihead", START, "", "values, key_padding_mask=~real)\n"),
    ("multihead", START, "", "\n# True hides here"),
    ("flex", MaskRules(6, 6), ON_TENSORS[0], "    return (q >= k) & (q - k < 3)\n"),
    ("flex", MaskRules(6, 6), BY_TABLE[0], "    return table[q, k]\n"),
    ("flex", FEW, BY_TABLE[0], "    return table[q - 4, k]\n"),
]


@pytest.fixture(scope="module")
def snippets(run_module):
    """The code for the rules of `SHORTEST`, then for `TWICE`, by library."""
    settings = [make_setting(rules, text) for _, rules, text, _ in SHORTEST] + [make_setting(TWICE)]
    return [
        {name: each.get("code") for name, each in zip(LIBRARIES, page["snippets"], strict=True)}
        for page in run_module(settings=settings)["results"]
    ]


def test_the_shortest_code_is_found(snippets):
    for (library, *_, words), codes in zip(SHORTEST, snippets, strict=False):
        assert words in codes[library]
    assert snippets[1]["attnbook"].count("\n") == 3


@pytest.mark.parametrize("library", ["sdpa", "sdpa_float", "multihead", "encoder", "flex"])
def test_a_snippet_also_works_for_two_examples(snippets, library):
    names = {
        name: torch.cat([value, value]) if torch.is_tensor(value) else value
        for name, value in (make_tensors(6, 6) | NAMES_FOR[library](6, 6, "")).items()
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        exec(snippets[-1][library], names)  # noqa: S102 - what the figure offers to copy
    first, second = names["output"]
    assert torch.allclose(first[1:], second[1:], atol=1e-6)
