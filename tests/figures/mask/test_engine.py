"""What the mask figure makes in the page: the mask, the reader's own, the names of mistakes."""

from __future__ import annotations

import re
from typing import Any

from torch import Tensor

from attnbook.figures import MaskFigure
from attnbook.masking.interop import MaskRules
from tests.figures.code.interpreters import in_micropython
from tests.figures.mask.cases import BY_TABLE, ON_TENSORS, make_setting, page_rules


def test_the_page_draws_our_mask_and_counts_positions_for_rules_and_100_joins(settings, results):
    assert len(settings) == 120
    assert [page["mask"] for page in results] == [one["visible"] for one in settings]
    for one, page in zip(settings, results, strict=True):
        rules, padding = MaskFigure(**one["rules"]).rules, one["rules"].get("start") or 0
        expected = [
            None if key < padding else at for key, at in enumerate(rules.positions().tolist())
        ]
        assert page["positions"] == expected


def test_the_page_and_the_text_use_the_same_words(settings, results):
    for one, page in list(zip(settings, results, strict=True))[1::5]:
        figure = MaskFigure(**one["rules"])
        figure.table = one["own"] and [[*row] for row in one["own"]["table"]]
        text = "\n".join(figure._lines())
        assert page["counts"] in text
        assert page["emptyRows"] in text
        assert bool(page["emptyRows"]) == (not all(map(any, one["visible"])))


RULES_BY_WORDS = {
    "valid_len": ["valid_len"],
    "start": ["start"],
    "causal order": ["causal", "prefix"],
    "the window": ["window", "ahead"],
    "the documents": ["documents"],
}


def numbers_of(sentence: str) -> set[int]:
    """The keys that a sentence lists."""
    ranges = re.findall(r"(\d+)(?: to (\d+))?", sentence)
    return {key for low, high in ranges for key in range(int(low), int(high or low) + 1)}


def visible_by(rules: dict[str, Any], names: list[str]) -> Tensor:
    """The mask of these rules alone."""
    return MaskFigure(**{name: rules[name] for name in ["num_queries", "num_keys", *names]}).visible


def test_each_pair_is_explained_by_the_rules_that_hide_it(settings, results):
    for one, page in list(zip(settings, results, strict=True))[::4]:
        rules, table = one["rules"], one["own"] and one["own"]["table"]
        masks = {words: visible_by(rules, names) for words, names in RULES_BY_WORDS.items()}
        for row, (visible, sentences) in enumerate(zip(one["visible"], page["pairs"], strict=True)):
            query = row + rules["num_keys"] - rules["num_queries"]
            first = sentences[0].removeprefix(f"Query {query} sees ")
            assert numbers_of(first) == {key for key, it in enumerate(visible) if it}
            key = (3 * row + 1) % len(visible)
            why = sentences[1 + key].removeprefix(sentences[0])
            if visible[key]:
                assert why == ""
                continue
            reasons = why.removeprefix(f" Key {key} is hidden by ").removesuffix(".")
            expected = [words for words, mask in masks.items() if not mask[row, key]]
            if table and not table[row][key]:
                expected.append("your rule")
            assert sorted(re.split(", | and ", reasons)) == sorted(expected)


MORE_BY_TABLE = [
    "q >= k & q - k < 3", "q >", "", "(q >= k", "q >= k)", "q", "7 < 8", "q >= 1.5", "qk > 1",
    "q + (k > 1)", "-(k > 1)", "~k", "k >= 0 if q else 1", "(q >= k) & 1", "(q, k)", "k ** 2 > q",
    "'q' > k", "q / k > 1", "lambda: k", "k > 1 or q", "q => k", "5k > 1", "q > 2",
]  # fmt: skip


def test_the_page_knows_which_rules_run_on_tensors(run_module):
    more = ["~k > q", "(((k)) < ((4)))", "q&k == 0", " k  <  q ", "(q < k) == (k < 1)"]
    texts = [*ON_TENSORS, *BY_TABLE, *MORE_BY_TABLE, *more]
    expected = [True] * 8 + [False] * (len(BY_TABLE) + len(MORE_BY_TABLE))
    expected += [True, True, True, True, False]
    found = run_module(texts=texts)["vectorized"]
    assert dict(zip(texts, found, strict=True)) == dict(zip(texts, expected, strict=True))


TRUTHS = {"given": [[[True, False, True], [0, 1, -2]]]}
MASK = [[True, False, True], [False, True, False]]
TILDE = (
    "Python’s `~` inverts the bits of a number, so use it only with `&` and `|`: "
    "write `not`, or put each comparison in brackets."
)
ANSWERS = [  # a rule, Python's answer, and the table or the sentence that comes of it
    ("k > q", TRUTHS, MASK),
    ("~(k > q) and k", TRUTHS, TILDE),
    *(
        ("k", answer, sentence)
        for answer, sentence in [
            ({"given": [[[1, 0, 1], [1, 2, 1]]]}, "It gives 2 for q=2, k=1: "),
            ({"given": [[[1, None], [1, 2]]]}, "It gives None for q=1, k=1: "),
            ({"given": [[[[], 0], [1, 2]]]}, "It gives a list for q=1, k=0: "),
            ({"given": [[[{"kind": "str"}]]]}, "It gives a str for q=1, k=0: "),
            ({"error": "NameError: name 'x' isn't", "line": 4}, "NameError: name 'x' isn't"),
            ({"stopped": "limit"}, "It did not end within two seconds, and was stopped."),
            ({"stopped": "broken"}, "It took all of Python’s memory, and was stopped."),
        ]
    ),
]


def test_an_answer_becomes_a_table_or_a_sentence(run_module):
    rules = page_rules(MaskRules(2, 3))
    answers = [{"text": text, "rules": rules, "answer": answer} for text, answer, _ in ANSWERS]
    for (_, _, expected), found in zip(ANSWERS, run_module(answers=answers)["tables"], strict=True):
        if expected == MASK:
            assert found == {"table": MASK, "error": ""}
        else:
            gives = "a mask holds True or False." * expected.startswith("It gives")
            assert found == {"table": None, "error": expected + gives}


def test_the_pages_python_gives_what_the_notebooks_gives(run_module):
    rules = MaskRules(4, 6, documents=(0, 0, 1, 1, 1, 2))
    texts = [*ON_TENSORS, *BY_TABLE]
    questions = [{"text": text, "rules": page_rules(rules)} for text in texts]
    programs = run_module(programs=questions)["programs"]
    answers = in_micropython([{"code": p, "called": "rows", "calls": [[]]} for p in programs])
    found = run_module(answers=[a | {"answer": b} for a, b in zip(questions, answers, strict=True)])
    tables = [{"table": evaluate_rows(text, rules), "error": ""} for text in texts]
    assert found["tables"] == tables


WINDOW = MaskRules(6, 6, causal="last", window=3)
REACHED = ("✓ This is the picture.", "✓ These rules give the observed map.")
LARGE = "One key too many: `window=3` counts the query’s own key and 2 before it."
SMALL = "One key too few: `window=4` counts the query’s own key and 3 before it."
MISSING = "`valid_len` is missing: the other rules hold."
LONG = "One key too many is visible: a length of 5 ends before key 5."
COMPARED = [  # rules, in how many pairs they differ from the window's, and the mistake in each case
    ({"causal": "last", "window": 3}, 0, "", ""),
    ({"causal": "last", "window": 4}, 3, LARGE, SMALL),
    ({"valid_len": 1, "causal": "last"}, 15, "", ""),
    ({"documents": (0, 1, 1, 1, 1, 1)}, 15, "", ""),
    ({"causal": "last", "window": 3, "valid_len": 4}, 3, "", MISSING),
    ({"causal": "last", "window": 3, "valid_len": 5}, 1, "", LONG),
]


def test_the_page_and_the_text_count_what_differs_and_name_the_mistake(run_module):
    window = WINDOW.visible().tolist()
    figures = [
        MaskFigure(**rules, **other)
        for rules, *_ in COMPARED
        for other in ({"goal": WINDOW}, {"observed": window})
    ]
    compared = [
        {"traits": figure.get_state(), "mask": figure.visible.tolist(), "other": window}
        for figure in figures
    ]
    verdicts = iter(run_module(compared=compared)["verdicts"])
    texts = (repr(figure).splitlines()[-1] for figure in figures)
    for _, count, *mistakes in COMPARED:
        pairs = "1 pair differs" if count == 1 else f"{count} pairs differ"
        starts = (f"Not yet: {pairs}.", f"{pairs} from the observed map.") if count else REACHED
        for start, mistake in zip(starts, mistakes, strict=True):
            verdict, text = next(verdicts), next(texts)
            assert verdict == f"{start} {mistake}".strip()
            assert text == (f"{pairs} from it. {mistake}".strip() if count else start[2:])


def evaluate_rows(text, rules):
    return [[*row] for row in make_setting(rules, text)["own"]["table"]]


def test_plain_pictures_have_a_name(run_module):
    texts = {
        "q >= k": "causal, counted from the last key",
        "q - k in (0, 1, 2)": "a window of 3 keys",
        "abs(q - k) < 2": "a window to both sides: window=2, ahead=1",
        "k < 4": "right padding: valid_len=4",
        "k > 1": "left padding: start=2",
        "k <= q or k < 3": "a prefix of 3",
        "True": "all pairs",
        "q * k % 3 == 1": "",
    }
    rules = MaskRules(6, 6)
    masks = [{"rules": page_rules(rules), "mask": evaluate_rows(text, rules)} for text in texts]
    assert run_module(masks=masks)["names"] == [*texts.values()]


def test_a_written_rule_has_a_name_or_is_the_rules_that_are_set(run_module):
    figures = [
        (
            MaskFigure(causal="last", written="k <= q"),
            "(58 %). It gives the same mask as the rules.",
        ),
        (MaskFigure(causal="last", written="q - k in (0, 1)"), "(31 %). It is a window of 2 keys."),
        (
            MaskFigure(causal="last", written="k < q"),
            "Your rule alone: 15 of 36 pairs are visible (42 %).",
        ),
        (MaskFigure(written="q >= k"), "It is causal, counted from the last key."),
        (MaskFigure(goal=WINDOW, written="q >= k"), ""),
        (MaskFigure(observed=WINDOW.visible(), written="q >= k"), ""),
    ]
    written = [figure.get_state() for figure, _ in figures]
    for (_, end), found in zip(figures, run_module(written=written)["written"], strict=True):
        assert found.endswith(end)
        assert bool(found) == bool(end)


def test_rules_fit_at_all_sizes_that_can_be_chosen(settings, results):
    for one, page in list(zip(settings, results, strict=True))[::8]:
        for num_keys, changes in zip((1, 2, 5, 13), page["resized"], strict=True):
            rules = one["rules"] | changes
            assert rules["num_keys"] == num_keys
            MaskFigure(**rules)  # refuses what does not fit
