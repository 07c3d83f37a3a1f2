"""Generation: the same texts with a cache and without, and each way of choosing a symbol."""

import io
import itertools
import math
import re
from dataclasses import replace

import pytest
import torch

from attnbook.models import progress_bar
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.decoder import Decoder
from attnbook.models.transformer.generating import Reader, Sampling, draw, probabilities
from attnbook.models.transformer.speculative import speculate
from attnbook.models.vocabulary import SPECIAL, Vocabulary

CONFIG = DecoderConfig(8, feed_forward="relu", ffn_hiddens=12, norm="layer")
LETTERS = Vocabulary("abcde")
TEXTS = ["abcabcd", "e", "dba", "bb"]


def make_model(config=CONFIG, seed=1, scale=3.0):
    """Make a decoder that prefers some symbols clearly."""
    model = Decoder(LETTERS, config, seed=seed).double().eval()
    model.output.weight.data *= scale
    return model


def make_draft():
    return make_model(DecoderConfig(num_hiddens=4, num_heads=1, num_layers=1), seed=2, scale=1.0)


# Scores with a cache


@pytest.mark.parametrize("max_length", [None, 12])
@pytest.mark.parametrize("positions", ["sinusoidal", "rotary"])
@torch.no_grad()
def test_a_text_read_in_parts_gets_the_scores_of_the_whole_text(max_length, positions):
    model = make_model(replace(CONFIG, positions=positions))
    tokens = torch.randint(SPECIAL, len(LETTERS), (3, 12))
    valid = torch.ones(3, 12, dtype=torch.bool)
    valid[0, :3] = valid[1, 5:7] = False  # padding on the left, and between real tokens
    cache = model.make_cache(3, max_length=max_length)
    ends = [0, 5, 6, 12]
    parts = [
        model(tokens[:, start:end], valid=valid[:, start:end], cache=cache)
        for start, end in itertools.pairwise(ends)
    ]
    found = torch.cat(parts, dim=1)
    assert torch.allclose(found[valid], model(tokens, valid=valid)[valid], atol=1e-12)
    assert cache.lengths.tolist() == [9, 10, 12]
    for row in range(3):
        expected = model(tokens[row : row + 1, valid[row]])
        assert torch.allclose(found[row, valid[row]], expected[0], atol=1e-12)


@torch.no_grad()
def test_given_positions_are_encoded_and_say_what_comes_first():
    model = make_model()
    tokens = torch.randint(SPECIAL, len(LETTERS), (2, 6))
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    shuffled = model(tokens[:, order], positions=order)
    assert torch.allclose(shuffled, model(tokens)[:, order], atol=1e-12)
    cache = model.make_cache(2)
    with cache.step(2, positions=order[:2]):  # a step that the caller opens
        model(tokens[:, order[:2]], cache=cache)
    # After position 3, which is not the last token's.
    assert cache.next_positions.tolist() == [
        4,
        4,
    ]
    assert cache.positions[cache.valid].tolist() == [3, 0, 3, 0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"valid": torch.ones(2, 3, dtype=torch.bool), "valid_lens": torch.tensor([1, 2])},
            "valid_lens must come without valid, positions and cache",
        ),
        ({"valid": torch.ones(2, 3)}, "valid must hold booleans, False for padding, got torch.flo"),
        ({"valid": torch.ones(2, 2) > 0}, r"valid must have shape \(num_queries=3,\) or"),
        ({"positions": torch.arange(4)}, r"positions must have shape \(num_queries=3,\)"),
        ({"cache": 3}, "cache must be a KeyValueCache, got int"),
        ({"cache": make_draft().make_cache(2)}, "a layer for each of 2 blocks, got 1"),
        (
            {"cache": make_model().make_cache(3)},
            "tokens must have the batch of the cache, 3, got 2",
        ),
    ],
)
def test_what_a_decoder_cannot_read_is_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make_model()(torch.full((2, 3), SPECIAL), **arguments)


def test_positions_are_given_once_where_a_step_is_open():
    model = make_model()
    cache = model.make_cache(1)
    message = "positions and valid must be given to the step that is open"
    with pytest.raises(ValueError, match=message), cache.step(1):
        model(torch.tensor([[SPECIAL]]), positions=torch.tensor([0]), cache=cache)
    assert cache.lengths.tolist() == [0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_model_writes_under_autocast_with_a_cache_what_it_writes_without(dtype):
    model = make_model().float()
    with torch.autocast("cpu", dtype=dtype):
        texts = model.write(TEXTS, 9)
        assert texts == model.generate(TEXTS, 9, cache=False)
        tokens, cache = torch.tensor([LETTERS.encode("abcabcd")]), model.make_cache(1)
        with torch.no_grad():
            parts = [model(part, cache=cache) for part in tokens.split([4, 1, 2], dim=1)]
    assert cache.layer(0).keys.dtype == torch.float32
    scores = model(tokens)
    assert (torch.cat(parts, dim=1) - scores).abs().max() < 0.05 * scores.abs().max()


# Ways of choosing


WAYS = {
    "likeliest": {},
    "until a symbol": {"stop": "c"},
    "until two symbols": {"stop": "dd"},
    "drawn": {"temperature": 1.0, "seed": 3},
    "of the first two": {"temperature": 2.0, "seed": 3, "top_k": 2},
    "of a share": {"temperature": 1.5, "seed": 4, "top_p": 0.6},
    "drawn until a symbol": {"temperature": 1.0, "seed": 5, "stop": "d"},
    "beams": {"beams": 3},
    "beams until a symbol": {"beams": 4, "stop": "b"},
}


@pytest.mark.parametrize("way", WAYS)
def test_texts_are_the_same_with_a_cache_and_without(way):
    model = make_model()
    texts = model.generate(TEXTS, 9, **WAYS[way])
    assert texts == model.generate(TEXTS, 9, cache=False, **WAYS[way])
    for text, start in zip(texts, TEXTS, strict=True):
        stop, added = WAYS[way].get("stop"), text[len(start) :]
        assert text.startswith(start)
        assert len(added) == 9 or added.endswith(stop)
        assert stop is None or stop not in added[:-1]


@pytest.mark.parametrize("way", [way for way in WAYS if "seed" not in WAYS[way]])
def test_a_text_is_continued_in_a_batch_as_on_its_own(way):
    model = make_model()
    expected = [model.generate([text], 6, **WAYS[way])[0] for text in TEXTS]
    assert model.generate(TEXTS, 6, **WAYS[way]) == expected


def test_what_is_drawn_depends_on_the_seed_and_not_on_the_other_texts():
    model, drawn = make_model(), {"temperature": 1.0}
    first = model.generate(TEXTS, 8, seed=1, **drawn)
    others = ["abcabcd", "aaaaaaaaaaaa", "dba", "c"]
    again = model.generate(others, 8, seed=1, **drawn)
    assert [first[0], first[2]] == [again[0], again[2]]
    assert first != model.generate(TEXTS, 8, seed=2, **drawn)
    torch.manual_seed(7)
    state = torch.get_rng_state()
    model.generate(TEXTS, 8, seed=1, **drawn)
    model.write(TEXTS, 8)
    assert torch.equal(torch.get_rng_state(), state)
    unseeded = model.generate(TEXTS, 8, **drawn)
    torch.manual_seed(7)
    assert model.generate(TEXTS, 8, **drawn) == unseeded


def likelihood(model, text, start):
    """The logarithm of the probability of what was added, from the whole text at once."""
    scores = model(torch.tensor([LETTERS.encode(text)]))[0, :, SPECIAL:].log_softmax(-1)
    return sum(scores[i - 1, LETTERS.encode(text[i])[0] - SPECIAL] for i in range(start, len(text)))


@torch.no_grad()
def test_with_enough_beams_the_likeliest_of_all_texts_is_found():
    model = make_model(scale=1.5)
    every = ["".join(added) for added in itertools.product("abcde", repeat=3)]
    for start in TEXTS:
        best = max(every, key=lambda added: likelihood(model, start + added, len(start)))
        assert model.generate([start], 3, beams=25) == [start + best]
        # A text that has ended stays a candidate, and gets no further characters.
        ended = {re.match(r"[^b]*b?", added)[0] for added in every}
        best = max(ended, key=lambda added: likelihood(model, start + added, len(start)))
        assert model.generate([start], 3, beams=25, stop="b") == [start + best]
    # One beam is the greedy choice, and two find a likelier text than it for some start.
    assert model.generate(TEXTS, 4, beams=1) == model.write(TEXTS, 4)
    starts = ["".join(start) for start in itertools.product("abcde", repeat=2)]
    pairs = zip(model.write(starts, 4), model.generate(starts, 4, beams=2), strict=True)
    gains = [likelihood(model, two, 2) - likelihood(model, one, 2) for one, two in pairs]
    assert max(gains) > 0.01


def test_drawn_symbols_have_the_probabilities_of_the_scores():
    scores = torch.tensor([[0.1, 0.4, 0.2, 0.3]]).log()
    table = {
        (0.0, None, None): [0, 1, 0, 0],
        (1.0, None, None): [0.1, 0.4, 0.2, 0.3],
        (0.5, None, None): [1 / 30, 16 / 30, 4 / 30, 9 / 30],  # squares, divided by their sum
        (1.0, 2, None): [0, 4 / 7, 0, 3 / 7],
        (1.0, None, 0.5): [0, 4 / 7, 0, 3 / 7],
        (1.0, None, 0.4): [0, 1, 0, 0],
        (1.0, None, 1.0): [0.1, 0.4, 0.2, 0.3],
        (1.0, 3, 0.5): [0, 4 / 7, 0, 3 / 7],  # 0.4 of 0.9 is less than half
        (1.0, 9, None): [0.1, 0.4, 0.2, 0.3],
    }
    for sampling, expected in table.items():
        found = probabilities(scores, Sampling(*sampling))[0]
        assert torch.allclose(found, torch.tensor(expected).double(), atol=1e-7)
        numbers = (torch.arange(2100).double() + 0.5) / 2100
        drawn = torch.bincount(torch.tensor([draw(found, it) for it in numbers]), minlength=4)
        assert torch.allclose(drawn / 2100, found.float(), atol=1e-3)
    # Of equal scores the first comes first; the ends of [0, 1) draw no impossible symbol.
    assert probabilities(torch.ones(1, 3), Sampling(1.0, 1, None)).tolist() == [[1, 0, 0]]
    impossible_at_both_ends = torch.tensor([0.0, 0.5, 0.5, 0.0]).double()
    numbers = torch.tensor([0.0, math.nextafter(1, 0)], dtype=torch.float64)
    assert [draw(impossible_at_both_ends, it) for it in numbers] == [1, 2]


REFUSED = {
    "count": [(0, "count must be at least 1, got 0"), (250, "room for count=250 more")],
    "cache": [(1, "cache must be True or False, got 1")],
    "temperature": [
        (-1.0, "temperature must be at least 0 and finite, got -1.0"),
        (math.nan, "temperature must be at least 0 and finite, got nan"),
        ("hot", "temperature must be a number, got 'hot'"),
    ],
    "top_k": [(0, "top_k must be at least 1, got 0"), (2, "left out at temperature=0")],
    "top_p": [(0.0, r"top_p must lie in \(0, 1\], got 0.0"), (True, "top_p must be a number")],
    "beams": [(0, "beams must be at least 1, got 0")],
    "stop": [
        ("", "^stop must be None or a text that can be written: text must hold at least one"),
        ("x", "^stop must be None or .* of the vocabulary, got 'x'"),
        (3, "^stop must be None or .* must be a string, got int"),
    ],
    "report": [("x", "report must be None or a function of one number, got 'x'")],
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_way_of_choosing_out_of_its_range_is_refused(name):
    for value, message in REFUSED[name]:
        with pytest.raises((TypeError, ValueError), match=message):
            make_model().generate(TEXTS, **{"count": 3, name: value})


def test_what_excludes_each_other_is_refused():
    with pytest.raises(ValueError, match=r"temperature must be 0 with beams=2, got 1\.0"):
        make_model().generate(TEXTS, 3, beams=2, temperature=1.0)
    with pytest.raises(ValueError, match=r"seed must lie in"):
        make_model().generate(TEXTS, 3, temperature=1.0, seed=2**64)


@pytest.mark.parametrize("cache", [True, False])
@torch.no_grad()
def test_scores_that_are_not_finite_are_refused_where_they_occur(cache):
    model = make_model()
    reader = Reader(model, 2, cache=cache)
    first, second, third = (LETTERS.encode(letter)[0] for letter in "abc")
    assert reader.read([[first], [second, first]]).isfinite().all()
    attend = model.blocks[1].forward
    model.blocks[1].forward = lambda x, *given, **named: torch.cat(
        [attend(x, *given, **named)[:, :-1], torch.full_like(x[:, -1:], math.nan)], dim=1
    )
    with pytest.raises(ValueError, match="scores must be finite, got nan at step 2 of 'bac'"):
        reader.read([[], [third]])


# Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_is_drawn_on_a_terminal_where_it_takes_longer_than_two_seconds(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now[0])
    texts = {}
    for stream in (Terminal(), io.StringIO()):
        bar = progress_bar.LateBar(stream)
        for seconds, share in ((1.9, 0.25), (2.1, 0.5), (3.0, 1.0)):
            now[0] = 100 + seconds
            bar(share)
        texts[type(stream)] = stream.getvalue()
        now[0] = 100.0
    assert texts[io.StringIO] == ""
    assert re.findall(r"\d+%", texts[Terminal]) == ["50%"]
    assert texts[Terminal].endswith("\r")
    assert "\n" not in texts[Terminal]


def test_a_report_gets_the_share_of_all_texts(monkeypatch):
    monkeypatch.setattr("attnbook.models.transformer.decoder.BATCH", 3)
    model = make_model()
    for way in ({}, {"beams": 2}):
        shares = []
        model.generate(TEXTS, 2, report=shares.append, **way)
        assert shares == [3 / 8, 6 / 8, 7 / 8, 1.0]
        # The first symbol that each text gets ends all of them.
        shares, text = [], TEXTS[:1]
        stop = model.generate(text, 1, **way)[0][-1]
        model.generate(text, 9, stop=stop, report=shares.append, **way)
        assert shares[-1] == 1.0, way


# Speculative decoding


@pytest.mark.parametrize("drafts", [1, 2, 4, 9])
def test_a_draft_changes_no_text_of_the_likeliest_symbols(drafts):
    model = make_model()
    for draft in (make_draft(), make_model()):
        found = speculate(model, draft, TEXTS, 9, drafts=drafts)
        assert found.texts == model.write(TEXTS, 9)
        assert found.calls <= 9


def test_a_draft_that_is_right_saves_calls():
    model = make_model()
    found = speculate(model, make_model(), TEXTS, 10, drafts=4)
    assert (found.calls, found.drafted, found.accepted) == (2, 32, 32)
    assert speculate(model, make_draft(), [], 10) == ([], 0, 0, 0)


def difference(drawn, expected):
    """Pearson's chi-squared, over the texts that are expected at least five times."""
    often = {text: n for text, n in expected.items() if n >= 5}
    assert len(often) > 10
    return sum((drawn.count(text) - n) ** 2 / n for text, n in often.items()), len(often)


@torch.no_grad()
def test_drafted_symbols_have_the_probabilities_of_the_model():
    model, draft, count = make_model(scale=1.5), make_draft(), 3000
    expected = {
        added: count * math.exp(likelihood(model, "ab" + added, 2))
        for added in map("".join, itertools.product("abcde", repeat=3))
    }
    options = {"temperature": 1.0, "seed": 1}
    found = speculate(model, draft, ["ab"] * count, 3, drafts=2, **options)
    chi, texts = difference([text[2:] for text in found.texts], expected)
    # With as many degrees of freedom, 1 of 1,000 exact methods has more.
    limit = texts + 3.1 * math.sqrt(2 * texts) + 7
    assert chi < limit
    assert 0.2 < found.accepted / found.drafted < 0.95
    # What the draft itself writes has other probabilities.
    theirs = draft.generate(["ab"] * count, 3, **options)
    assert difference([text[2:] for text in theirs], expected)[0] > 2 * limit


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": 3}, "model must be a Decoder, got int"),
        ({"draft": 3}, "draft must be a Decoder, got int"),
        ({"draft": Decoder(Vocabulary("ab"))}, r"draft must have the vocabulary of model, Voc"),
        ({"count": 0}, "count must be at least 1, got 0"),
        ({"count": 255}, "texts must leave room for count=255 more"),
        ({"drafts": 0}, "drafts must be at least 1, got 0"),
        ({"temperature": -1}, "temperature must be at least 0 and finite, got -1"),
    ],
)
def test_what_cannot_be_drafted_is_refused(arguments, message):
    given = {"model": make_model(), "draft": make_draft(), "texts": TEXTS, "count": 3}
    with pytest.raises((TypeError, ValueError), match=message):
        speculate(**(given | arguments))
