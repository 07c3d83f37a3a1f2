"""The code that the mask figure offers: each snippet is executed, and makes the mask shown."""

from __future__ import annotations

import warnings

import pytest
import torch

from attnbook.figures import MaskFigure
from attnbook.figures.mask.figure import LIBRARIES
from attnbook.masking.interop import MaskRules, for_encoder_layer, for_sdpa, for_transformers
from tests.figures.mask.cases import BY_TABLE, GIVEN, ON_TENSORS, executed, setting, tensors
from tests.figures.mask.engine import run
from tests.figures.shared.node import with_fault


def wrong_snippets(library, asked, shown):
    """The settings for which a snippet makes another mask, and how many were executed."""
    place, count, wrong = LIBRARIES.index(library), 0, []
    for one, page in zip(asked, shown, strict=True):
        snippet = page["snippets"][place]
        if "code" not in snippet:
            continue
        count += 1
        mask = executed(library, snippet["code"], one["rules"])
        if not torch.equal(mask, torch.tensor(one["visible"])):
            wrong.append(snippet["code"])
    return wrong, count


@pytest.mark.parametrize(
    ("library", "count"),
    [
        ("attnbook", 220), ("sdpa", 220), ("sdpa_float", 220), ("multihead", 220),
        ("encoder", 119), ("transformers", 14),
    ],
)  # fmt: skip
def test_every_snippet_makes_exactly_the_mask_shown(asked, shown, library, count):
    assert wrong_snippets(library, asked, shown) == ([], count)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_snippets_of_flex_attention_make_exactly_the_mask_shown(asked, shown, part):
    # Each takes as long as all others of a setting together: all rules alone, and some joins.
    both = [(each[:20] + each[20::10])[part::2] for each in (asked, shown)]
    assert wrong_snippets("flex", *both) == ([], 20)


CAN = {
    "encoder": for_encoder_layer,
    "transformers": for_transformers,
}


@pytest.mark.parametrize("library", CAN)
def test_a_library_that_cannot_say_it_is_one_that_our_contract_refuses(asked, shown, library):
    place = LIBRARIES.index(library)
    for one, page in zip(asked, shown, strict=True):
        documents = one["rules"]["documents"]
        table = one["own"] and one["own"]["table"]
        rules = MaskRules(
            **one["rules"] | {"documents": documents and tuple(documents), "table": table}
        )
        snippet = page["snippets"][place]
        if "code" in snippet:
            continue
        # What changes nothing at these sizes may be left out, and so may be said after all.
        assert snippet["cannot"].endswith(".")
        with pytest.raises(ValueError):  # noqa: PT011 - any refusal will do
            CAN[library](rules)


LAST, START, FEW = MaskRules(6, 6, causal="last"), MaskRules(6, 6, start=2), MaskRules(2, 6)
TWICE = MaskRules(6, 6, valid_len=5, causal="last", start=1)
FUNCTION = "F.scaled_dot_product_attention(queries, keys, values"
SHORTEST = [  # the end of a line for each, with the reader's own rule where there is one
    ("attnbook", MaskRules(6, 6), "", "\noutput = layer(queries, keys, values)\n"),
    ("attnbook", LAST, "", "\noutput = layer(queries, keys, values, causal=True)\n"),
    ("attnbook", MaskRules(6, 6, causal="last", back=2), "", "window_mask(shape, back=2)  #"),
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
def code_of(page):
    """The code for these rules, by library."""
    settings = [setting(rules, text) for _, rules, text, _ in SHORTEST] + [setting(TWICE)]
    return [
        {name: each.get("code") for name, each in zip(LIBRARIES, one["snippets"], strict=True)}
        for one in page(settings=settings)["shown"]
    ]


def test_the_shortest_words_are_found(code_of):
    for (library, *_, words), codes in zip(SHORTEST, code_of, strict=False):
        assert words in codes[library]
    assert code_of[1]["attnbook"].count("\n") == 3


@pytest.mark.parametrize("library", ["sdpa", "sdpa_float", "multihead", "encoder", "flex"])
def test_a_snippet_serves_two_examples_as_well(code_of, library):
    names = {
        name: torch.cat([given, given]) if torch.is_tensor(given) else given
        for name, given in (tensors(6, 6) | GIVEN[library](6, 6, "")).items()
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        exec(code_of[-1][library], names)  # noqa: S102 - what the figure offers to copy
    first, second = names["output"]
    assert torch.allclose(first[1:], second[1:], atol=1e-6)


def test_is_causal_is_used_only_where_our_contract_has_it(asked, shown):
    place = LIBRARIES.index("sdpa")
    for one, page in zip(asked, shown, strict=True):
        if "is_causal=True" in page["snippets"][place]["code"]:
            documents = one["rules"]["documents"]
            rules = one["rules"] | {"documents": documents and tuple(documents)}
            assert for_sdpa(MaskRules(**rules)) == {"is_causal": True}


def test_code_is_short_and_plain(shown):
    for page in shown:
        for snippet in page["snippets"]:
            assert snippet.get("code", "").isascii()
            lines = snippet.get("code", "").splitlines()
            assert all(len(line) < 110 or "torch.tensor" in line for line in lines)


FAULTS = {
    "encoder": ("key_padding_mask=~real", "key_padding_mask=real"),
    "sdpa": ("attn_mask=${added", "attn_mask=~${added"),
    "transformers": ("row.map(Number)", "row.map((sees) => 1 - Number(sees))"),
}


@pytest.mark.parametrize("library", FAULTS)
def test_other_code_is_noticed(tmp_path, asked, library):
    settings = asked[::4]
    shown = run(with_fault(MaskFigure, FAULTS[library]), tmp_path, settings=settings)["shown"]
    assert wrong_snippets(library, settings, shown)[0]
