"""Each figure refuses wrong arguments, and values of its traits that no control can choose."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
import torch
import traitlets

from attnbook import DotProductAttention, dot_score
from attnbook.costs.generation import GPT_OSS_20B
from attnbook.figures import (
    AttentionFigure,
    CacheFigure,
    CostFigure,
    HeadsFigure,
    MaskFigure,
    OnlineSoftmaxFigure,
    PoolingFigure,
    PositionFigure,
    ScalingFigure,
    TranslatorFigure,
)
from attnbook.masking.interop import MaskRules
from tests.figures.attention.cases import traits
from tests.figures.attention.drag_handles import KEYS, moved_figure
from tests.figures.heads.page import STEPS
from tests.figures.online.cases import figure_of
from tests.figures.pooling.cases import column, few
from tests.figures.scaling.cases import random
from tests.figures.story.page import make as story

NAN, INFINITE = math.nan, math.inf
MOST, LEAST = "a figure shows at most", "a figure needs at least"
OBSERVED = "observed must be rows of booleans, got"
SIZED = "observed must be num_queries=6 rows of num_keys=6 booleans, got"


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape)


def attention(**changes: Any) -> AttentionFigure:
    arguments = {"layer": DotProductAttention(), "queries": zeros(2, 3, 5), "keys": zeros(2, 7, 5)}
    return AttentionFigure(**(arguments | {"values": zeros(2, 7, 11)} | changes))


def movable(**changes: Any) -> AttentionFigure:
    arguments = {"queries": zeros(2, 3, 2), "keys": zeros(2, 5, 2), "values": zeros(2, 5, 1)}
    return attention(**({"movable": "vectors"} | arguments | changes))


def online(scores: Any, values: Any, block: Any = 1) -> OnlineSoftmaxFigure:
    return OnlineSoftmaxFigure(scores, values, block)


def pooling(**changes: Any) -> PoolingFigure:
    return PoolingFigure(**({"keys": column(1, 2, 5), "values": column(3, 5, 4)} | changes))


def scaling(queries: Any, keys: Any = None) -> ScalingFigure:
    return ScalingFigure(queries, zeros(1, 5, 8) if keys is None else keys)


BIG = zeros(1, 2, 2).double() + 1e200
OF_HEADS = [
    ("text", "", f"{LEAST} 1 of tokens, got 0"),
    ("text", "a" * 33, f"{MOST} 32 of tokens, got 33; show a part of it"),
    ("text", "abq", "text must hold characters of the vocabulary, got 'q'"),
    ("step", 1, f"step must be one of {', '.join(map(str, STEPS))}, got 1"),
    ("focus", [2, 0], "focus must be (layer, head) below (2, 2), got (2, 0)"),
    ("removed", [[0, 1]] * 2, "removed must hold each head once, got [[0, 1], [0, 1]]"),
]
OF_TRANSLATOR = [
    ("text", "9" * 65, f"{MOST} 64 of characters, got 65; show a part of it"),
    ("text", "9!", "text must hold characters of the vocabulary, got '!'"),
    ("hidden", [12], "hidden must hold positions in [0, len(text)=12), got 12"),
    ("hidden", [3, 3], "hidden must hold each position at most once, got [3, 3]"),
]
OF_STORY = [
    ("moves", [], f"{LEAST} 1 of sentences, got 0"),
    ("moves", [["anna", "park"], ["anna", "school"]] * 5, f"{MOST} 8 of sentences, got 10"),
    ("moves", [["eve", "park"]], "moves must have one of anna, ben, carla, dan and one of garden,"),
    ("moves", [["anna", "moon"]], "moves must have one of anna, ben, carla, dan and one of garden"),
    (
        "moves",
        [["anna", "park"], ["ben", "park"], ["anna", "park"]],
        "moves must not lead to where somebody is, got ['anna', 'park'] at index 2",
    ),
    ("who", "dan", "who must be in the story, one of anna, ben, carla, got 'dan'"),
    ("word", 6, "word must lie in [0, 6), got 6"),
]
# A figure, its arguments, and the start of the message.
ARGUMENTS: list[tuple[Any, dict[str, Any], str]] = [
    (attention, {"queries": zeros(2, 0, 5)}, f"{LEAST} 1 of queries, got 0"),
    (attention, {"queries": zeros(2, 300, 5)}, f"{MOST} 256 of queries, got 300"),
    (attention, dict.fromkeys(("queries", "keys", "values"), zeros(9, 7, 5)), f"{MOST} 8 of exam"),
    (
        attention,
        dict.fromkeys(("queries", "keys", "values"), zeros(2, 1, 7, 5)),
        "a figure shows one head, got four axes; pass queries[:, 0] and so on",
    ),
    (attention, {"layer": lambda q, _: q.new_full((2, 3, 7), NAN)}, "scores must be finite, got"),
    (attention, {"layer": lambda q, _: q}, "scores must have shape"),
    (attention, {"layer": lambda *_: 1.0}, "scores must be a tensor"),
    (attention, {"values": zeros(2, 7, 1) - INFINITE}, "values must be finite, got -inf at index"),
    (attention, {"valid_lens": torch.tensor([7, 8])}, "valid_lens must lie in [0, num_keys=7]"),
    (attention, {"key_labels": ["a", "b"]}, "key_labels must name 7, got 2"),
    (attention, {"example_labels": ["head 0"]}, "example_labels must name 2, got 1"),
    (movable, {"movable": "keys"}, "movable must be 'vectors' or 'scores', got 'keys'"),
    (
        movable,
        {"queries": zeros(2, 3, 3), "keys": zeros(2, 5, 3)},
        "vectors that move must have 2 numbers, got 3 and 3",
    ),
    (
        movable,
        {"keys": zeros(2, 9, 2), "values": zeros(2, 9, 1)},
        f"{MOST} 8 of keys that move, got 9; show a part of it",
    ),
    (
        movable,
        {"movable": "scores", "written": "scores-by-hand"},
        "movable must be '' where something is written, got 'scores'",
    ),
    (CacheFigure, {"name": "no"}, "name must be one of copying"),
    (CacheFigure, {"text": "gz"}, "text must hold characters"),
    (CacheFigure, {"text": "a" * 17}, f"{MOST} 16 of characters, got 17; show a part of it"),
    (CacheFigure, {"bug": "slow"}, "bug must be empty or one of positions_restart, "),
    (CacheFigure, {"settings": {"window": 17}}, "window must lie in [0, 16], got 17"),
    (CacheFigure, {"settings": {"chunk": 1.5}}, "chunk must be a whole number, got 1.5"),
    (
        CacheFigure,
        {"focus": (2, 0)},
        "focus must be a layer in [0, 2) and a head in [0, 2), got [2, 0]",
    ),
    (CostFigure, {"model": GPT_OSS_20B}, "model must have no window and no experts, got ModelSi"),
    (CostFigure, {"length": 8}, "length must lie in [16, 131072], got 8"),
    (HeadsFigure, {"name": "no"}, "name must be one of copying"),
    (
        HeadsFigure,
        {"name": "story"},
        "name must be a decoder of characters, got 'story', a decoder ",
    ),
    (HeadsFigure, {"text": 3}, "text must be a string, got int"),
    (MaskFigure, {"num_queries": 0}, f"{LEAST} 1 of num_queries, got 0"),
    (MaskFigure, {"num_keys": 33}, f"{MOST} 32 of num_keys, got 33; show a part of it"),
    (MaskFigure, {"num_queries": 7}, f"{MOST} num_keys=6 queries"),
    (MaskFigure, {"valid_len": 7}, "valid_len must lie in [0, num_keys=6], got 7"),
    (MaskFigure, {"causal": "last", "prefix": 2}, "causal must be None with a prefix"),
    (MaskFigure, {"groups": ["rows"]}, "groups must be some of sizes, padding, order, window, doc"),
    (MaskFigure, {"goal": MaskRules(6, 5)}, "goal must have num_queries=6 and num_keys=6, got 6"),
    (MaskFigure, {"goal": MaskRules(1, 1, table=((True,),))}, "goal must be made of rules"),
    (
        MaskFigure,
        {"goal": MaskRules(6, 6), "observed": []},
        "observed must be None if there is a g",
    ),
    (
        MaskFigure,
        {"observed": zeros(6, 6)},
        f"{OBSERVED} Tensor of shape (6, 6) and dtype tor",
    ),
    (MaskFigure, {"observed": "all"}, f"{OBSERVED} 'all'"),
    (MaskFigure, {"observed": zeros(2, 6) > 0}, f"{SIZED} 2 of [6]"),
    (MaskFigure, {"observed": [[True] * 6] * 5 + [[False]]}, f"{SIZED} 6 of [1, 6]"),
    (online, {"scores": zeros(3), "values": zeros(5, 2)}, "values must have num_keys=3 rows, got"),
    (online, {"scores": zeros(33), "values": zeros(33, 1)}, f"{MOST} 32 of keys, got 33"),
    (online, {"scores": zeros(3), "values": zeros(3, 5)}, f"{MOST} 3 of numbers in a value, got 5"),
    (online, {"scores": zeros(3), "values": zeros(3, 1), "block": 5}, "block must lie in [1, num_"),
    (online, {"scores": zeros(1) + NAN, "values": zeros(1, 1)}, "scores must be finite, got nan"),
    (
        online,
        {"scores": zeros(2), "values": zeros(2, 1).double() + 1.7e308},
        "sums of the absolute values must be finite, got inf at index (0,)",
    ),
    (
        online,
        {"scores": torch.tensor([-1e308, 1e308], dtype=torch.float64), "values": zeros(2, 1)},
        "scores must lie a finite distance apart, got -1e+308 and 1e+308",
    ),
    (online, {"scores": zeros(3).long(), "values": zeros(3, 1)}, "scores must hold floating-point"),
    (pooling, {"keys": zeros(1, 3, 2)}, "keys must have shape (1, num_keys, 1), got (1, 3, 2)"),
    (pooling, {"values": zeros(1, 5, 1)}, "values must have one row per key, num_keys=3, got 5"),
    (pooling, {"values": column(3, 5, 4).double()}, "values must have the dtype of keys, torch.fl"),
    (pooling, {"keys": column(1), "values": column(2)}, f"{LEAST} 2 of keys, got 1"),
    (pooling, {"keys": column(0, NAN, 1)}, "keys must be finite, got nan at index (0, 1, 0)"),
    (pooling, {"width": 0}, "width must be positive and finite, got 0"),
    (pooling, {"width": torch.ones(2)}, "width must be one number, got shape (2,)"),
    (pooling, {"width": 1e-200}, "scores must be finite at every position of the sliders, got"),
    (pooling, {"query": NAN}, "query must be finite, got nan"),
    (pooling, {"query": True}, "query must be one number, got True"),
    (pooling, {"truth": lambda x: x - INFINITE}, "truth must be finite, got -inf at index"),
    (pooling, {"truth": lambda _: 1.0}, "truth must return one number per key, 201, got float"),
    (PositionFigure, {"size": 7}, "size must be even, two numbers for each pair, got 7"),
    (PositionFigure, {"size": 18}, f"{MOST} 16 of numbers in a vector, got 18; show a part of it"),
    (PositionFigure, {"size": 8, "positions": 1025}, f"{MOST} 1024 of positions, got 1025"),
    (PositionFigure, {"size": 8.0}, "size must be a whole number, got 8.0"),
    (
        PositionFigure.rotary,
        {"query": zeros(4), "key": zeros(6)},
        "key must have the size of query",
    ),
    (PositionFigure.rotary, {"query": BIG[0, 0], "key": BIG[0, 0]}, "dot products must be finite"),
    (scaling, {"queries": zeros(1, 2, 3, 8), "keys": zeros(1, 2, 5, 8)}, "a figure shows one head"),
    (scaling, {"queries": zeros(2, 3, 8), "keys": zeros(2, 5, 8)}, f"{MOST} 1 of examples, got 2"),
    (scaling, {"queries": zeros(1, 33, 8)}, f"{MOST} 32 of queries, got 33; show a part of it"),
    (scaling, {"queries": zeros(1, 3, 8), "keys": zeros(1, 1, 8)}, f"{LEAST} 2 of keys to share"),
    (scaling, {"queries": zeros(1, 3, 8).half()}, "keys must have the dtype of queries, torch.fl"),
    (scaling, {"queries": zeros(1, 3, 12), "keys": zeros(1, 5, 12)}, "size must be a power of two"),
    (scaling, {"queries": BIG, "keys": BIG}, "scores must be finite, got inf at index (0, 0, 0)"),
    *((story, {name: value}, message) for name, value, message in OF_STORY),
    (story, {"moves": ["anna"]}, "moves must be pairs of a name and a place, got 'anna' at index"),
    (story, {"moves": "anna"}, "moves must be a list of pairs, got str"),
    (story, {"word": 1.0}, "word must be a whole number, got 1.0"),
    (story, {"name": "copying"}, "name must be a story model with heads that find places, got 'c"),
    (story, {"name": "no"}, "name must be one of copying"),
    (
        TranslatorFigure,
        {"name": "recurrent"},
        "a page reads translators with encoder='convolutional'",
    ),
    (
        TranslatorFigure,
        {"examples": ["9", "?"]},
        "text must hold characters of the vocabulary, got",
    ),
    (TranslatorFigure, {"examples": ["9"] * 65}, f"{MOST} 64 of examples, got 65"),
    (TranslatorFigure, {"text": 3}, "text must be a string, got int"),
]
# A figure, one of its traits, a value, and a part of the message.
TRAITS: list[tuple[Any, str, Any, str]] = [
    (attention, "valid_lens", [7, 8], "valid_lens must lie in [0, num_keys=7], got 8"),
    (attention, "valid_lens", [1.5, 2], "valid_lens must be whole numbers"),
    (attention, "valid_lens", [True, False], "valid_lens must hold whole numbers"),
    (attention, "valid_lens", [[1], [2, 3]], "length"),
    (attention, "valid_lens", [[1, 2, 3]] * 2, "valid_lens must keep its shape, got (2, 3)"),
    (attention, "temperature", 0.05, "should not be less than 0.1"),
    (attention, "temperature", NAN, "temperature must lie in [0.1, 10], got nan"),
    (attention, "query", 3, "query must lie in [0, num_queries=3), got 3"),
    (lambda: moved_figure(dot_score), "query_vectors", [[[1.0, 2.0]]], "must keep its shape (2, 3"),
    (lambda: moved_figure(dot_score), "key_vectors", [[["far"]]], "str"),
    (lambda: moved_figure(dot_score), "key_vectors", (99 * KEYS).tolist(), "must lie in ["),
    (lambda: moved_figure(dot_score, "scores"), "scores", [[[NAN] * 5] * 3] * 2, "must lie in ["),
    (CostFigure, "batch", 3, "batch must be a power of two, got 3"),
    (CostFigure, "num_layers", 0, "num_layers must lie in [1, 128], got 0"),
    (CostFigure, "num_kv_heads", 64, "num_kv_heads must be at most num_heads=32, got 64"),
    (CostFigure, "num_heads", 4, "num_kv_heads must be at most num_heads=4, got 8"),
    *((HeadsFigure, *row) for row in OF_HEADS),
    (HeadsFigure, "query", 18, "query must lie in [0, tokens=18), got 18"),
    (lambda: MaskFigure(causal="last"), "start", -1, "start must lie in [0, num_keys=6], got -1"),
    (lambda: MaskFigure(causal="last"), "num_keys", 5, f"{MOST} num_keys=5 queries"),
    (lambda: MaskFigure(causal="last"), "prefix", 2, "causal must be None with a prefix"),
    (lambda: MaskFigure(causal="last"), "documents", [0, 1], "documents must"),
    (lambda: figure_of("the chapter's"), "step", 4, "step must lie in [0, blocks=3], got 4"),
    (few, "query", NAN, "query must be finite, got nan"),
    (few, "query", 1e200, "scores must be finite at every position of the sliders, got query 1e+2"),
    (few, "width", 0.0, "width must be positive and finite, got 0.0"),
    (lambda: PositionFigure(8), "start", 101, "start must lie in [0, 100], got 101"),
    (lambda: PositionFigure(8), "distance", -25, "distance must lie in [-24, 24], got -25"),
    (lambda: ScalingFigure(*random(3, 5, 8)), "d", 3, "d must be one of [1, 2, 4, 8], got 3"),
    (lambda: ScalingFigure(*random(3, 5, 8)), "query", 3, "query must lie in [0, num_queries=3)"),
    *((story, *row) for row in OF_STORY),
    *((TranslatorFigure, *row) for row in OF_TRANSLATOR),
    (TranslatorFigure, "step", 16, "step must lie in [0, max_steps=16), got 16"),
]


@pytest.mark.parametrize(("make", "arguments", "message"), ARGUMENTS)
def test_wrong_arguments_raise_an_error_of_one_sentence(make, arguments, message):
    errors = (TypeError, ValueError, traitlets.TraitError)
    with pytest.raises(errors, match=f"^{re.escape(message)}") as found:
        make(**arguments)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(("make", "trait", "value", "message"), TRAITS)
def test_setting_a_trait_out_of_range_raises_and_changes_nothing(make, trait, value, message):
    figure = make()
    before = traits(figure)
    with pytest.raises(traitlets.TraitError, match=re.escape(message)):
        setattr(figure, trait, value)
    assert traits(figure) == before
