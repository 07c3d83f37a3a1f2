"""The code that the mask figure offers: each snippet is executed, and makes the mask shown."""

from __future__ import annotations

import warnings

import pytest
import torch

from attnbook.figures import MaskFigure
from attnbook.figures.mask.figure import LIBRARIES
from attnbook.interop import MaskRules, for_encoder_layer, for_sdpa, for_transformers
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
@pytest.mark.parametrize("part", range(4))
def test_every_snippet_of_flex_attention_makes_exactly_the_mask_shown(asked, shown, part):
    wrong, count = wrong_snippets("flex", asked[part::4], shown[part::4])
    assert (wrong, count) == ([], len(asked[part::4]))


def test_some_snippets_of_flex_attention_are_tried_at_once(asked, shown):
    assert wrong_snippets("flex", asked[::40], shown[::40]) == ([], 6)


@pytest.mark.parametrize("library", ["attnbook", "sdpa", "sdpa_float", "multihead", "encoder"])
def test_a_snippet_of_other_rules_would_be_noticed(asked, shown, library):
    moved = [asked[-1], *asked[:-1]]
    same_sizes = [
        (one, page)
        for one, other, page in zip(moved, asked, shown, strict=True)
        if one["visible"] != other["visible"]
        and len(one["visible"]) == len(other["visible"])
        and len(one["visible"][0]) == len(other["visible"][0])
    ]
    wrong, count = wrong_snippets(library, *zip(*same_sizes, strict=True))
    assert len(wrong) == count > 0


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


def code_of(page, library, rules, text=""):
    [one] = page(settings=[setting(rules, text)])["shown"]
    return one["snippets"][LIBRARIES.index(library)].get("code")


def test_the_shortest_words_are_found(page):
    def last(library, rules, text=""):
        return code_of(page, library, rules, text).splitlines()[-1]

    causal, none = MaskRules(6, 6, causal="last"), MaskRules(6, 6)
    assert last("attnbook", none) == "output = layer(queries, keys, values)"
    assert last("attnbook", causal) == "output = layer(queries, keys, values, causal=True)"
    assert code_of(page, "attnbook", causal).count("\n") == 3
    assert last("sdpa", causal).endswith("(queries, keys, values, is_causal=True)")
    assert last("sdpa", MaskRules(2, 6, causal="last")).endswith("attn_mask=mask)")
    assert last("sdpa", MaskRules(2, 6, causal="first")).endswith("is_causal=True)")
    assert "window_mask(shape, back=2)" in code_of(
        page, "attnbook", MaskRules(6, 6, causal="last", back=2)
    )
    padded = last("multihead", MaskRules(6, 6, start=2))
    assert padded.endswith("values, key_padding_mask=~real)")
    assert "\n# True hides here" in code_of(page, "multihead", MaskRules(6, 6, start=2))
    assert "    return (q >= k) & (q - k < 3)" in code_of(page, "flex", none, ON_TENSORS[0])
    assert "    return table[q, k]" in code_of(page, "flex", none, BY_TABLE[0])
    assert "    return table[q - 4, k]" in code_of(page, "flex", MaskRules(2, 6), BY_TABLE[0])


@pytest.mark.parametrize("library", ["sdpa", "sdpa_float", "multihead", "encoder", "flex"])
def test_a_snippet_serves_two_examples_as_well(page, library):
    rules = MaskRules(6, 6, valid_len=5, causal="last", start=1)
    names = tensors(6, 6) | GIVEN[library](6, 6, "")
    names = {
        name: torch.cat([given, given]) if torch.is_tensor(given) else given
        for name, given in names.items()
    }
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
        exec(code_of(page, library, rules), names)  # noqa: S102 - what the figure offers to copy
    first, second = names["output"]
    assert torch.allclose(first[1:], second[1:], atol=1e-6)


def test_is_causal_stands_only_where_our_contract_has_it(asked, shown):
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


CODE_FAULTS = {
    "multihead": ('attn_mask"}=~visible', 'attn_mask"}=visible'),
    "encoder": ("key_padding_mask=~real", "key_padding_mask=real"),
    "sdpa": ("attn_mask=${added", "attn_mask=~${added"),
    "sdpa_float": ("masked_fill(~mask, -torch.inf)", "masked_fill(~mask, 1)"),
    "attnbook": ('ahead === 0 ? ""', 'ahead === 1 ? ""'),
    "transformers": ("row.map(Number)", "row.map((sees) => 1 - Number(sees))"),
}


@pytest.mark.parametrize("library", CODE_FAULTS)
def test_code_that_says_something_else_is_noticed(tmp_path, asked, library):
    module = with_fault(MaskFigure, CODE_FAULTS[library])
    shown = run(module, tmp_path, settings=asked)["shown"]
    assert wrong_snippets(library, asked, shown)[0]
