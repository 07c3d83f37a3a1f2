"""The cache made by hand: right without a bug, and each bug is one that can be found."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
import torch

from attnbook.figures import CacheFigure
from attnbook.figures.cache.bugs import BUGS, STAYS, Settings
from attnbook.figures.cache.figure import RANGES
from attnbook.figures.cache.measuring import make_pairs, make_sequences, second_answers
from attnbook.figures.cache.reading import Recomputed
from attnbook.figures.cache.writing import write
from attnbook.figures.tokens.packing import decoder_of
from attnbook.models.vocabulary import SPECIAL
from tools.models.stories import unseen_stories

CLOSE = 1e-10
MODELS = ("copying", "story")
MENU = [bug for bug in BUGS if bug != STAYS]  # for a text alone


def tokens_of(name, count=3):
    """Texts of one length."""
    if name == "copying":
        texts = [text[:12] for text in make_sequences(count, seed=5)]
    else:
        stories = [story.text for story in unseen_stories(200)]
        longest = max(map(len, map(str.split, stories)))
        texts = [text for text in stories if len(text.split()) == longest][:count]
    return torch.tensor([decoder_of(name).vocabulary.encode(text) for text in texts])


def random_settings(rng):
    return Settings(*(rng.randint(0, most) for most in RANGES.values()))


def numbers(steps):
    """All numbers of all steps, in one row."""
    return torch.cat([part.flatten() for step in steps for part in (step.logits, step.outputs)])


@pytest.mark.parametrize("name", MODELS)
def test_without_a_bug_and_a_window_it_writes_what_the_decoder_writes_with_its_own_cache(name):
    model, prompts = decoder_of(name), tokens_of(name)
    texts = [model.vocabulary.decode(row) for row in prompts.tolist()]
    written, _ = write(model, prompts, 6, Settings(chunk=5, padding=3, drafts=2))
    whole = model.generate(texts, 6)
    assert [model.vocabulary.encode(text)[-6:] for text in whole] == written.tolist()


@pytest.mark.parametrize("name", MODELS)
def test_without_a_bug_cached_equals_recomputed_for_random_settings(name):
    model, prompts = decoder_of(name), tokens_of(name)
    rng = Random(2)  # noqa: S311 - settings to test with, no secrets
    for _ in range(8):
        settings = random_settings(rng)
        written, steps = write(model, prompts, 6, settings)
        whole = Recomputed(model, torch.cat([prompts, written], dim=1), settings)
        for at, step in enumerate(steps, prompts.shape[1] - 1):
            assert (step.logits - whole.logits[:, at]).abs().max() < CLOSE, settings
            for layer, outputs in enumerate(whole.outputs):
                assert (step.outputs[layer] - outputs[:, :, at]).abs().max() < CLOSE, settings


def test_without_a_window_recomputing_is_the_decoder_s_own_pass():
    model, prompts = decoder_of("story"), tokens_of("story")
    with torch.no_grad():
        expected = model(prompts)[..., SPECIAL:]
    found = Recomputed(model, prompts, Settings()).logits
    assert (found - expected).abs().max() < CLOSE


@pytest.mark.parametrize("name", MODELS)
def test_with_its_settings_each_bug_changes_numbers_and_each_in_its_own_way(name):
    model, prompts = decoder_of(name), tokens_of(name)
    everything = Settings(chunk=4, padding=2, window=8, sinks=1, drafts=2)
    found = {bug: numbers(write(model, prompts, 6, everything, bug)[1]) for bug in MENU}
    for one, other in combinations(MENU, 2):
        assert (found[one] - found[other]).abs().max() > 1e-6, (one, other)
    for bug in MENU:
        if (name, bug) == ("story", "padding_counted"):
            continue  # rotary scores depend on differences of positions only
        shown = BUGS[bug].shows
        right, wrong = (numbers(write(model, prompts, 6, shown, it)[1]) for it in ("", bug))
        assert (right - wrong).abs().max() > 1e-3, bug


def test_the_second_user_s_answer_is_right_unless_the_first_one_s_tokens_stay():
    pairs = make_pairs(40)
    assert second_answers(pairs, "") == [pair.second.answer for pair in pairs]
    with_bug = second_answers(pairs, STAYS)
    leaks = [answer for pair, answer in zip(pairs, with_bug, strict=True) if answer == pair.leak]
    assert len(leaks) > 4
    for pair in pairs:
        assert pair.first.moves[0] == pair.second.moves[0]
        assert pair.leak != pair.second.answer


def test_the_text_does_not_name_a_hidden_bug():
    figure = CacheFigure(bug="past_ignored")
    assert "past ignored" in repr(figure)
    figure.hidden = True
    assert "past ignored" not in repr(figure)
