"""Stories, the model that answers questions about them, and its attention with changed parts."""

import copy
import random

import pytest
import torch
from safetensors.torch import load_file

from attnbook import gaussian_score, scaled_dot_score
from attnbook.models.transformer.checkpoints import (
    FOLDER,
    book_decoder,
    decoder_steps,
    read_notes,
)
from attnbook.models.transformer.stages import replace_stage, weigh_lists
from attnbook.models.transformer.stories import (
    NAMES,
    PLACES,
    Story,
    answers,
    draw_moves,
    make_stories,
    share_right,
    window_of,
)
from attnbook.practice import parts
from attnbook.selftest import oracle
from tools.models.grade_stories import CAUSAL, lines_are_causal
from tools.models.stories import (
    CONFIG,
    OTHER_WORDS,
    STORIES,
    StoryRecipe,
    make_rows,
    unseen_stories,
)


@pytest.fixture(scope="module")
def model():
    return book_decoder("story")


def test_nobody_goes_where_they_are_and_the_latest_place_is_the_answer():
    for story in make_stories(200):
        at = {}
        for who, place in story.moves:
            assert who in NAMES
            assert place in PLACES
            assert at.get(who) != place
            at[who] = place
        assert story.answer == f"{story.who} is in the {at[story.who]} ."
    assert make_stories(5) == make_stories(9)[:5]


@pytest.mark.parametrize("sentences", [(0, 2), (3, 2), (2, 2.0), 4])
def test_numbers_of_sentences_out_of_range_are_refused(sentences):
    with pytest.raises((TypeError, ValueError), match="sentences must be"):
        make_stories(3, sentences)


def test_the_model_answers_stories_that_it_has_not_seen(model):
    stories = unseen_stories(500)
    right = [a == s.answer for a, s in zip(answers(model, stories), stories, strict=True)]
    assert sum(right) >= 0.995 * len(stories)
    assert share_right(model, stories) >= 0.995


@pytest.mark.parametrize("name", STORIES)
def test_a_story_model_matches_its_recipe_and_is_stored_in_float16(name):
    path = FOLDER / f"{name}.safetensors"
    notes, model = read_notes(path), book_decoder(name)
    assert model.config == CONFIG
    assert notes["seed"] == STORIES[name].seed
    assert decoder_steps(name) == [notes["steps"]]
    assert {weight.dtype for weight in load_file(path).values()} == {torch.float16}
    assert {weight.dtype for weight in model.state_dict().values()} == {torch.float32}


def test_a_line_leads_to_the_word_that_decides_the_answer(model):
    heads = [tuple(head) for head in read_notes(FOLDER / "story.safetensors")["heads"]]
    lines = lines_are_causal(model, unseen_stories(500), heads)
    assert lines.thickest >= CAUSAL
    assert lines.others <= 1 - CAUSAL


def test_uniform_heads_would_fail_the_test_of_the_lines(model):
    blurred = copy.deepcopy(model)
    for attention in blurred.attentions:
        attention.W_q.weight.data.zero_()
    lines = lines_are_causal(blurred, unseen_stories(100), [(1, 0)])
    assert lines.thickest < CAUSAL


def test_without_attention_and_with_near_words_only_it_guesses(model):
    stories = unseen_stories(200)
    for count in (0, 2):
        with window_of(model, count):
            assert share_right(model, stories) < 0.4
    with window_of(model, 100):
        assert share_right(model, stories[:20]) == 1
    assert answers(model, stories[:1]) == [stories[0].answer]


@pytest.mark.parametrize("count", [-1, 1.5, True])
def test_a_window_that_is_no_count_is_refused(model, count):
    with pytest.raises((TypeError, ValueError), match="count must be"), window_of(model, count):
        pass


def weigh_plainly(scores, visible):
    return scores.masked_fill(~visible, -torch.inf).softmax(-1)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("score", oracle.scaled_dot_score),
        ("weigh", weigh_plainly),
        ("pool", lambda weights, values: weights @ values),
    ],
)
def test_a_stage_written_plainly_changes_nothing(model, name, function):
    model = model.double()
    tokens, _ = model.read_lines([Story([("anna", "park"), ("ben", "school")], "ben").text])
    expected = model(tokens)
    with replace_stage(model, name, function):
        assert torch.allclose(model(tokens), expected, atol=1e-12)
    assert torch.equal(model(tokens), expected)
    model.float()


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("score", gaussian_score),
        ("weigh", lambda scores, visible: weigh_plainly(0 * scores, visible)),
        ("pool", lambda weights, values: (weights @ values).flip(-1)),
    ],
)
def test_a_replaced_stage_is_used_with_a_cache_too_and_a_window_refuses_one(model, name, function):
    texts = [story.text for story in unseen_stories(20)]
    own = model.write(texts, 6)
    with replace_stage(model, name, function):
        changed = [model.generate(texts, 6, cache=cache) for cache in (True, False)]
    assert changed[0] == changed[1] != own
    with window_of(model, 2), pytest.raises(ValueError, match="must be left out with a cache"):
        model.write(texts, 6)


@pytest.mark.parametrize(
    ("name", "on_lists", "on_tensors"),
    [
        ("score", parts.score, gaussian_score),
        ("score", parts.scaled_score, scaled_dot_score),
        ("weigh", parts.masked_softmax, weigh_plainly),
        (
            "pool",
            lambda w, v: [sum(w) * v[0][0]] * len(v[0]),
            lambda w, v: v[..., :1, :1] + 0 * w @ v,
        ),
        (
            "attention",
            parts.attention,
            lambda q, k, v, visible: weigh_plainly(gaussian_score(q, k), visible) @ v,
        ),
    ],
    ids=["distance", "scaled", "weights", "pool", "attention"],
)
def test_a_stage_on_lists_computes_what_the_same_on_tensors_does(model, name, on_lists, on_tensors):
    model = model.double()
    tokens, _ = model.read_lines([story.text for story in make_stories(2, sentences=(3, 3))])
    logits = []
    for function in (on_lists, on_tensors):
        with replace_stage(model, name, function):
            logits.append(model(tokens))
    assert torch.allclose(*logits, atol=1e-12)
    model.float()


def test_weights_on_lists_need_visible_keys_that_come_first():
    visible = torch.tensor([[[[True, False, True]]]])
    with pytest.raises(ValueError, match="take a length, so visible keys must come first"):
        weigh_lists(parts.masked_softmax, torch.zeros(1, 1, 1, 3), visible)


def test_another_score_changes_answers_and_stages_are_replaced_together(model):
    stories = unseen_stories(50)
    with replace_stage(model, "score", gaussian_score):
        wrong = answers(model, stories)
        with replace_stage(model, "weigh", weigh_plainly):
            assert answers(model, stories) == wrong
    assert wrong != [story.answer for story in stories]
    assert share_right(model, stories) == 1


def test_a_stage_that_does_not_exist_is_refused_and_all_is_put_back_after_an_error(model):
    before = [heads.attention for heads in model.attentions]
    with pytest.raises(
        ValueError, match="name must be one of score, weigh, pool, attention, got 'mask'"
    ):
        replace_stage(model, "mask", abs).__enter__()
    with pytest.raises(TypeError, match="function must be callable, got 3"):
        replace_stage(model, "pool", 3).__enter__()
    for wrong, reason in (
        (lambda *_: 1 / 0, "lists of one query; ZeroDivisionError: division by zero"),
        (lambda *_: None, "with lists: TypeError: .*NoneType"),
        (lambda weights, _: weights.no, "with tensors: .*'Tensor'.*; with lists: .*'list'"),
    ):
        with replace_stage(model, "pool", wrong), pytest.raises(TypeError, match=reason):
            answers(model, make_stories(1))
    assert [heads.attention for heads in model.attentions] == before


def test_rows_of_training_hold_stories_questions_and_the_loss_of_their_answers():
    vocabulary = StoryRecipe().model().vocabulary
    for sentences, questions in ((2, 1), (5, 3)):
        rows = make_rows(vocabulary, random.Random(3), sentences, 4)  # noqa: S311 - no secret
        for tokens, targets, weights in zip(*map(torch.Tensor.tolist, rows), strict=True):
            words = vocabulary.decode([tokens[0], *targets]).split(" ")
            counted = [word for word, weight in zip(words[1:], weights, strict=True) if weight]
            at = {words[6 * i]: words[6 * i + 4] for i in range(sentences)}
            asked = [words[i + 2] for i, word in enumerate(words) if word == "where"]
            assert len(asked) == questions
            expected = " ".join(f"{who} is in the {at[who]} ." for who in asked)
            assert " ".join(counted) == expected
            assert sorted(set(weights)) == [0, pytest.approx(OTHER_WORDS), 1]
            assert weights.count(1) == questions


def test_the_first_stories_of_training_are_about_different_people():
    for seed in range(20):
        moves = draw_moves(random.Random(seed), 2, distinct=True)  # noqa: S311 - no secret
        assert moves[0][0] != moves[1][0]


def test_training_by_mastery_ends_with_notes_and_leaves_a_trained_model():
    recipe, shares = StoryRecipe(most_steps=3, batch_size=2), []
    model = recipe.model()
    before = {name: part.clone() for name, part in model.state_dict().items()}
    assert recipe.train(model, shares.append) == {"steps": 3, "mastered": {}}
    assert shares == [1 / 3, 2 / 3, 1]
    assert not model.training
    assert any(not torch.equal(before[name], part) for name, part in model.state_dict().items())
