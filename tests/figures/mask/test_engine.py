"""What the mask figure makes in the page: the mask, the reader's own, the names of mistakes."""

from __future__ import annotations

import pytest
import torch

from attnbook.figures import MaskFigure
from attnbook.masking.interop import MaskRules
from tests.figures.code.interpreters import in_micropython
from tests.figures.mask.cases import BY_TABLE, ON_TENSORS, chosen, setting
from tests.figures.mask.engine import run
from tests.figures.shared.node import with_fault

# The mask


def unlike(asked, shown):
    """The settings whose mask is not ours."""
    return [
        one["rules"]
        for one, page in zip(asked, shown, strict=True)
        if page["mask"] != one["visible"]
    ]


def test_the_page_draws_our_mask_for_each_rule_and_200_joins(asked, shown):
    assert len(asked) == 220
    assert unlike(asked, shown) == []


def test_the_words_below_it_are_those_of_the_text(asked, shown):
    for one, page in list(zip(asked, shown, strict=True))[::3]:
        rules = one["rules"]
        figure = MaskFigure(**rules)
        figure.table = one["own"] and [[*row] for row in one["own"]["table"]]
        figure.static_text = "\n".join(figure._lines())
        assert page["counted"] in repr(figure)
        assert page["emptied"] in repr(figure)
        assert bool(page["emptied"]) == (not all(map(any, one["visible"])))


# A rule of the reader's own


MORE_BY_TABLE = [
    "q >= k & q - k < 3", "q >", "", "(q >= k", "q >= k)", "q", "7 < 8", "q >= 1.5", "qk > 1",
    "q + (k > 1)", "-(k > 1)", "~k", "k >= 0 if q else 1", "(q >= k) & 1", "(q, k)", "k ** 2 > q",
    "'q' > k", "q / k > 1", "lambda: k", "k > 1 or q", "q => k", "5k > 1", "q > 2",
]  # fmt: skip


def test_what_tensors_run_as_it_stands_is_known(page):
    more = ["~k > q", "(((k)) < ((4)))", "q&k == 0", " k  <  q ", "(q < k) == (k < 1)"]
    texts = [*ON_TENSORS, *BY_TABLE, *MORE_BY_TABLE, *more]
    expected = [True] * 8 + [False] * (len(BY_TABLE) + len(MORE_BY_TABLE))
    expected += [True, True, True, True, False]
    found = page(texts=texts)["vectorized"]
    assert dict(zip(texts, found, strict=True)) == dict(zip(texts, expected, strict=True))


NO_TABLE = [
    ({"given": [[[1, 0, 1], [1, 2, 1]]]}, "It gives 2 for q=2, k=1: a mask is of True and False."),
    ({"given": [[[1, None], [1, 2]]]}, "It gives None for q=1, k=1: a mask is of True and False."),
    ({"given": [[[[], 0], [1, 2]]]}, "It gives a list for q=1, k=0: a mask is of True and False."),
    ({"given": [[[{"kind": "str"}]]]}, "It gives a str for q=1, k=0: a mask is of True and False."),
    ({"error": "NameError: name 'x' isn't", "line": 4}, "NameError: name 'x' isn't"),
    ({"stopped": "limit"}, "It did not end within two seconds, and was stopped."),
    ({"stopped": "broken"}, "It took all of Python’s memory, and was stopped."),
]


def test_an_answer_becomes_a_table_or_a_sentence(page):
    rules = chosen(MaskRules(2, 3))
    rows = [[True, False, True], [0, 1, -2]]
    answers = [{"text": "k", "rules": rules, "answer": answer} for answer, _ in NO_TABLE]
    expected = [{"table": None, "error": error} for _, error in NO_TABLE]
    assert page(answers=answers)["tables"] == expected
    right = {"text": "k > q", "rules": rules, "answer": {"given": [rows]}}
    [found] = page(answers=[right])["tables"]
    assert found == {"table": [[True, False, True], [False, True, False]], "error": ""}
    mixed = {"text": "~(k > q) and k", "rules": rules, "answer": {"given": [rows]}}
    [found] = page(answers=[mixed])["tables"]
    assert found["table"] is None
    assert "write `not`" in found["error"]


def test_the_pages_python_gives_what_the_notebooks_gives(page):
    rules = MaskRules(4, 6, documents=(0, 0, 1, 1, 1, 2))
    texts = [*ON_TENSORS, *BY_TABLE]
    asked = [{"text": text, "rules": chosen(rules)} for text in texts]
    programs = page(programs=asked)["programs"]
    answers = in_micropython([{"code": p, "called": "rows", "calls": [[]]} for p in programs])
    found = page(answers=[a | {"answer": b} for a, b in zip(asked, answers, strict=True)])
    tables = [{"table": evaluated_rows(text, rules), "error": ""} for text in texts]
    assert found["tables"] == tables


# Mistakes that have a name

LAST = MaskRules(6, 6, causal="last")
FEWER = MaskRules(2, 6, causal="last")
WINDOW = MaskRules(6, 6, causal="last", back=2)
LEFT = MaskRules(6, 6, start=2)
PACKED = MaskRules(6, 6, causal="last", documents=(0, 0, 0, 1, 1, 1))
NAMED = [
    (WINDOW, "(q >= k) & (q - k <= 3)", "One key too many"),
    (WINDOW, "(q >= k) & (q - k < 2)", "One key too few"),
    (WINDOW, "abs(q - k) < 3", "It looks ahead as far as `back`"),
    (WINDOW, "(q < k) | (q - k > 2)", "The other way round: True hides here"),
    (WINDOW, "0 < q - k < 3", "The query’s own key is hidden"),
    (WINDOW, "k - q < 3 and k >= q", "Queries and keys are exchanged"),
    (WINDOW, "q >= k or q - k < 3", ""),
    (LAST, "q > k", "The query’s own key is hidden"),
    (LAST, "q < k", "The other way round"),
    (LAST, "q >= k - 1", "One key too many: each query sees the next key"),
    (LAST, "q <= k", "Queries and keys are exchanged"),
    (FEWER, "q - 4 >= k", "Top-left"),
    (LEFT, "k < 4", "Right padding"),
    (LEFT, "k < 2", "Right padding"),
    (LEFT, "k > 2", "One key too many is hidden"),
    (LEFT, "k >= 1", "One key too few is hidden"),
    (MaskRules(6, 6, valid_len=4), "k >= 2", "Left padding"),
    (MaskRules(6, 6, valid_len=4), "k <= 4", "One key too many is visible"),
    (PACKED, "q >= k", "The documents see each other"),
    (PACKED, "documents[q] == documents[k]", "`causal` is missing"),
    (PACKED, "q >= k or documents[q] == documents[k]", "The rules are joined by “or”"),
    (PACKED, "q >= k and (q < 4) == (k < 4)", "Each document should begin one key sooner"),
    (MaskRules(6, 6, prefix=3), "q >= k", "The prefix is seen causally"),
    (MaskRules(6, 6, prefix=3), "q >= k or k <= 3", "One key of the prefix too many"),
    (MaskRules(6, 6, causal="last", valid_len=4), "q >= k", "`valid_len` is missing"),
    (MaskRules(3, 6, causal="first"), "q >= k", "It counts from the last key"),
]


def test_known_mistakes_are_named_and_unknown_ones_counted(page):
    judged = [
        {"rules": chosen(rules), "mask": evaluated_rows(text, rules)} for rules, text, _ in NAMED
    ]
    for (rules, text, name), found in zip(NAMED, page(judged=judged)["judged"], strict=True):
        mask = torch.tensor(evaluated_rows(text, rules))
        assert found["differ"] == int((mask != rules.visible()).sum()) > 0
        assert found["mistake"].startswith(name), text
        assert bool(found["mistake"]) == bool(name), (text, found["mistake"])


def evaluated_rows(text, rules):
    return [[*row] for row in setting(rules, text)["own"]["table"]]


def test_the_right_picture_is_no_mistake(page, asked):
    judged = [{"rules": one["rules"], "mask": one["visible"]} for one in asked if not one["own"]]
    found = page(judged=judged)["judged"]
    assert len(found) > 20
    assert all(each == {"differ": 0, "mistake": ""} for each in found)


def test_no_mistake_looks_like_the_right_mask_or_hides_all(page, asked):
    mistakes = page(settings=asked)["mistakes"]
    assert sum(map(len, mistakes)) > 1000
    for one, found in zip(asked, mistakes, strict=True):
        if not one["own"]:
            assert one["visible"] not in [mistake["mask"] for mistake in found]
        assert all(any(map(any, mistake["mask"])) for mistake in found)


def test_plain_pictures_have_a_name(page):
    texts = {
        "q >= k": "causal, counted from the last key",
        "q - k in (0, 1, 2)": "a window of 3 keys: back=2",
        "abs(q - k) < 2": "a window to both sides: back=1, ahead=1",
        "k < 4": "right padding: valid_len=4",
        "k > 1": "left padding: start=2",
        "k <= q or k < 3": "a prefix of 3",
        "True": "all pairs",
        "q * k % 3 == 1": "",
    }
    rules = MaskRules(6, 6)
    judged = [{"rules": chosen(rules), "mask": evaluated_rows(text, rules)} for text in texts]
    assert page(judged=judged)["named"] == [*texts.values()]


# Other sizes


def test_rules_fit_whatever_sizes_are_chosen(page, asked):
    settings = asked[::3]
    for one, moved in zip(settings, page(settings=settings)["resized"], strict=True):
        for num_keys, changes in zip((1, 2, 5, 13), moved, strict=True):
            rules = one["rules"] | changes
            assert rules["num_keys"] == num_keys
            MaskFigure(**rules)  # refuses what does not fit


# Faults

FAULTS = {
    "a start hides its own key": ("k >= Number(start)", "k > Number(start)"),
    "rules are joined by or": ("(q, k) => parts.every(({ sees", "(q, k) => parts.some(({ sees"),
    "the reader's rule is left out": ("sees && other[i][k]", "sees"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_these_tests_notice_that(tmp_path, asked, fault):
    module = with_fault(MaskFigure, FAULTS[fault])
    assert unlike(asked, run(module, tmp_path, settings=asked)["shown"])
