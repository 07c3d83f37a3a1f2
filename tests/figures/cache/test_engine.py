"""The cache figure's model, run in node: what Python computes, for each bug."""

from __future__ import annotations

from random import Random

import pytest
import torch

from attnbook.figures import CacheFigure
from attnbook.figures.cache.bugs import BUGS, STAYS, Settings
from attnbook.figures.cache.figure import COUNTS
from attnbook.figures.cache.measuring import PROMPT, make_pairs, make_sequences, share_right
from attnbook.figures.cache.reading import compute_stored
from attnbook.figures.tokens.packing import decoder_of, pack_model
from tests.figures.cache.test_writing import MENU, random_settings, tokens_of
from tests.figures.shared.node import ask_module

STEPS = """
const model = figure.opened(packed).last;
return tasks.map(([task, focus]) => figure.stepsOf(model, task, focus));
"""
SHARE = """
const model = figure.opened(packed).last;
const right = texts.map((text) => {
    const given = { text: text.slice(0, prompt), count: prompt, ...task };
    const { steps } = figure.writeCached(model, given);
    return steps.filter(({ token }, i) => token === text[prompt + i]).length;
});
return right.reduce((sum, count) => sum + count, 0) / (prompt * texts.length);
"""
SENTENCES = """
const step = (token, expected, numbers) => ({
    token, expected, query: "q", position: 3, slots: [
        { kind: "real", token: "a", position: 3, order: 0 }, { kind: "free" }],
    own: { weights: [1, 0] }, differences: { scores: 0, weights: numbers, outputs: 0, logits: 0 },
});
const quiz = (...given) => figure.describeQuiz("past_ignored", ...given, 3);
return {
    tokens: figure.describeTokens({
        steps: [step("a", "a", 0), step("b", "c", 0.5)], withoutBug: "ac" }),
    same: figure.describeTokens({ steps: [step("a", "a", 0), step("b", "b", 0)] }),
    numbers: [1e-9, 0.25].map((size) => figure.describeNumbers(step("a", "a", size), 5)),
    needs: [{}, { chunk: 4, window: 8 }].map((shows) => figure.describeNeeds(shows)),
    step: figure.describeStep(step("a", "a")),
    quiz: [quiz(true, []), quiz(true, ["own_key_hidden"]), quiz(true, ["own_key_hidden", "x"]),
        quiz(false, ["past_ignored"]), quiz(false, ["a", "b", "c"]), quiz(false, [])],
    refusals: ["", "a z", "a b a"].map((typed) => figure.refusal(typed, "words", ["a", "b"], 2)),
};
"""
FEW = {"copying": 4, "story": 2}


def cases(name):
    """Settings and bugs, with texts of the model and a head."""
    symbols = decoder_of(name).vocabulary.symbols
    texts = [[symbols[i - 3] for i in row] for row in tokens_of(name, FEW[name]).tolist()]
    rng = Random(1)  # noqa: S311 - settings to test with, no secrets
    settings = [
        (Settings(), ""),
        (Settings(chunk=3, padding=2, window=8, sinks=2, drafts=2), ""),
        *((BUGS[bug].shows, bug) for bug in MENU),
        *((random_settings(rng), bug) for bug in MENU),
    ]
    for i, (how, bug) in enumerate(settings):
        yield texts[i % len(texts)], "", how, bug, (i % 2, i % decoder_of(name).config.num_heads)
    if name == "story":
        pair = make_pairs(1)[0]
        for bug in ("", STAYS):
            yield pair.second.text.split(), pair.first.text, Settings(), bug, (1, 3)


@pytest.mark.parametrize("name", ["copying", "story"])
def test_each_bug_and_setting_gives_the_numbers_of_python(name):
    vocabulary = decoder_of(name).vocabulary
    count = COUNTS[vocabulary.kind]
    given = [*cases(name)]
    tasks = [
        [{"text": text, "first": first.split(), "count": count, "bug": bug,
          "settings": settings.as_dict()}, focus]
        for text, first, settings, bug, focus in given
    ]  # fmt: skip
    answers = ask_module(CacheFigure, STEPS, packed=pack_model(name), tasks=tasks)
    for found, (text, first, settings, bug, focus) in zip(answers, given, strict=True):
        joined = vocabulary.join(text)
        expected = compute_stored(name, joined, count, settings, bug, first, focus)
        assert found["firstAnswer"] == expected["first_answer"]
        assert found["withoutBug"] == expected["without_bug"]
        for step, stored in zip(found["steps"], expected["steps"], strict=True):
            what = (bug, settings)
            slots = [
                [*(slot[key] for key in ("kind", "position", "order", "token")),
                 int(slot["isStale"])]
                for slot in step["slots"]
            ]  # fmt: skip
            assert slots == stored["slots"], what
            for key in ("query", "position", "token", "expected"):
                assert step[key] == stored[key], what
            for part in ("own", "again"):
                for key in ("scores", "output"):
                    ours = pytest.approx(stored[part][key], rel=2e-3, abs=1e-4)
                    assert step[part][key] == ours, what
            for key, apart in stored["differences"].items():
                assert step["differences"][key] == pytest.approx(apart, rel=2e-3, abs=1e-6), what


@pytest.mark.few(4)
@pytest.mark.parametrize("bug", ["", *MENU])
def test_the_shares_of_right_tokens_that_the_chapter_prints_are_those_of_the_page(bug):
    sequences = make_sequences(200)
    settings = BUGS[bug].shows if bug else Settings()
    task = {"bug": bug, "settings": settings.as_dict()}
    given = {"texts": [[*text] for text in sequences], "task": task, "prompt": PROMPT}
    found = ask_module(CacheFigure, SHARE, packed=pack_model("copying"), **given)
    assert found == pytest.approx(share_right(sequences, bug, settings), abs=1e-12)


def test_what_it_says():
    found = ask_module(CacheFigure, SENTENCES)
    assert found["tokens"] == (
        "Tokens that differ from recomputing: 1 of 2. Numbers first differ at step 1. "
        "Without the bug: ac."
    )
    assert found["same"] == "All 2 tokens are as recomputed."
    same, other = found["numbers"]
    assert same == "At step 5 all numbers are equal, up to rounding."
    assert "weights 0.250" in other
    assert found["step"].startswith(
        "The query “q” at position 3 attends most to “a” in slot 0 (100 %)"
    )
    assert found["needs"][0] == ""
    assert found["needs"][1].endswith("now set: `chunk` 4 and `window` 8.")
    start, once, twice, right, over, silent = found["quiz"]
    assert start.startswith("A bug is hidden.")
    assert once.startswith("Not “own key hidden”.")
    assert once.endswith("2 guesses are left.")
    assert twice.endswith("One guess is left.")
    assert right.startswith("Yes: past ignored. Press Next")
    assert over.startswith("It was: past ignored. ")
    assert silent == ""
    assert found["refusals"][0] == "Type at least one token."
    assert "“z”" in found["refusals"][1]
    assert "at most 2 tokens, not 3" in found["refusals"][2]


def test_python_stores_few_digits_of_numbers_that_are_close():
    whole = compute_stored("copying", "gbdkafcdkafc", 12, Settings())
    differences = torch.tensor([[*step["differences"].values()] for step in whole["steps"]])
    assert differences.max() < 1e-9
