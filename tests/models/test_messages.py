"""Each public function of the models refuses wrong arguments with a message of attnbook."""

import copy
import math
import traceback
from datetime import date, datetime
from pathlib import Path

import pytest
import torch
from torch import nn

import attnbook
from attnbook.models.checkpoint_files import read_notes
from attnbook.models.training import Bar, Pairs, Plan, fit, make_batch, masked_loss, train
from attnbook.models.transformer import checkpoints as decoders
from attnbook.models.transformer import grading as heads
from attnbook.models.transformer.block import Block, FeedForward
from attnbook.models.transformer.config import DecoderConfig
from attnbook.models.transformer.decoder import Decoder, make_lines
from attnbook.models.transformer.removal import without_heads
from attnbook.models.transformer.repeats import Repeat, make_repeats
from attnbook.models.translator import checkpoints, dates, grading
from attnbook.models.translator.config import Config
from attnbook.models.translator.encoders import ConvolutionalEncoder, RecurrentEncoder
from attnbook.models.translator.model import Translator
from attnbook.models.vocabulary import Vocabulary

LETTERS, DAY = Vocabulary("abc"), dates.write_date(date(1987, 3, 9), "en")
NORM = {"norm": [("group", 'norm must be one of "layer", "rms", or None, got \'group\'')]}
DECODER = Decoder(LETTERS, DecoderConfig(num_hiddens=8))
TRANSLATOR = Translator(LETTERS, Vocabulary("0123456789-"), Config(num_hiddens=14))
READER = Translator(Vocabulary(DAY.text), Vocabulary("0123456789-"), Config(num_hiddens=14))
BLOCK, NETWORK = Block(8, 2, 12), FeedForward(8, 12)
LINES = make_lines(DECODER, ["abc", "ca"])
ENCODED = TRANSLATOR.encode(*TRANSLATOR.read(["ab", "c"]))
TOKENS, LENGTHS = torch.full((2, 5), 3), torch.tensor([5, 2])
STATES, LAST = torch.ones(2, 14), torch.tensor([3, 4])
WEIGHTS, X = torch.eye(5), torch.ones(2, 5, 8)
TRANSLATED, REPEATS = READER.translate([DAY.text]), [Repeat("abcabca", 0, 3)]
STORED = Path(checkpoints.__file__).parent / "small.safetensors"
NOWHERE, TORCHS = "/nowhere/model", nn.TransformerEncoderLayer(8, 2, 12, norm_first=True)
SHORT = Plan(epochs=1)
ENTRIES = {"name": [("x", "name must be one of .*, got 'x'"), (3, "name must be one of .*, got 3")]}
DEVICE = {"device": [("gpu", "device must be one that torch knows, got 'gpu'")]}
NO_SEEDS = ("x", None, 1.0, True)
WHOLE_SEED = [(seed, f"seed must be a whole number, got {seed!r}") for seed in NO_SEEDS]
SEED = {"seed": [*WHOLE_SEED, (2**64, r"seed must lie in \[-2")]}


def sizes(*names):
    return {
        name: [(0, f"{name} must be at least 1, got 0"), (2.0, f"{name} must be a whole .*got 2.0")]
        for name in names
    }


def flags(*names):
    return {name: [(3, f"{name} must be True or False, got 3")] for name in names}


def lists(*names):
    return {name: [(3, f"{name} must be a list of .*, got int")] for name in names}


def some(name, *more):
    wrong = [([3], f"{name} must be a list of .*got 3 at"), ([], f"{name} must hold at least one")]
    return {name: [*lists(name)[name], *wrong, *more]}


def kind(name, a):
    return {name: [(3, f"{name} must be an? {a}, got int")]}


DROPOUT = {"dropout": [("x", "dropout must be a number"), (2, r"dropout must lie in \[0, 1\]")]}
TEXTS = {
    "texts": [
        ("abc", "texts must be a list of strings, got one string; put it in a list"),
        (None, "texts must be a list of strings, got NoneType"),
        ([3], "text must be a string, got int"),
        ([""], "text must hold at least one character"),
        (["ab?"], "text must hold characters of the vocabulary, got '[?]'"),
        (["a" * 257], "text must hold at most 256 characters, got 257; pass a part of it$"),
    ]
}
SOME_TEXTS = {"texts": [*TEXTS["texts"], ([], "texts must hold at least one, got none")]}


def tokens(axes, name="tokens"):
    return {
        name: [
            (torch.tensor(3), rf"{name} must have shape {axes}, got \(\)"),
            (TOKENS.float(), f"{name} must hold tokens, of dtype torch.int64, got torch.float32"),
            (TOKENS.to("meta"), f"{name} must be on the model's device cpu, got meta"),
            (TOKENS[:, :0], rf"{name} must hold at least one token, got shape \(2, 0\)"),
            (TOKENS + 99, rf"{name} must lie in \[0, \d+\), .*got 102 at index \(0, 0\)"),
            (-TOKENS, rf"{name} must lie in \[0, \d+\), .*got -3 at index \(0, 0\)"),
        ]
    }


READ = {
    **tokens(r"\(batch, num_keys\)"),
    "valid_lens": [
        (None, "valid_lens must be a tensor"),
        (LENGTHS[:, None], r"valid_lens must have shape \(batch\), got \(2, 1\)"),
        (LENGTHS[:1], r"valid_lens must have shape \(batch=2,\)"),
        (LENGTHS + 1, r"valid_lens must lie in \[0, num_keys=5\], got 6 at index \(0,\)"),
    ],
}


def state(name):
    return {
        name: [
            (3, f"{name} must be a tensor, got int"),
            (STATES[:, 1:], rf"{name} must have shape .* = \(2, 14\), got \(2, 13\)"),
            (STATES.double(), f"{name} must have the dtype of the model's weights, torch.float32"),
        ]
    }


def pairs(name):
    return {
        name: [
            (iter([]), f"{name} must hold at least one, got none"),
            (["ab"], rf"{name} must hold pairs \(text, target\), got 'ab' at index 0"),
            ([("ab?", "0")], "characters of the vocabulary, got '[?]'"),
            ([("ab", "0x")], "characters of the vocabulary, got 'x'"),
        ]
    }


def batch(name):
    single = Pairs(TOKENS, LENGTHS, TOKENS * 0)
    return {
        name: [
            (3, f"{name} must be a Batch, got int"),
            (single, f"{name} must hold at least one target, got 2 rows with none"),
        ]
    }


def square(at_least):
    return [
        (3, "weights must be a tensor of floating-point numbers, got int"),
        (WEIGHTS.long(), "weights must be a tensor of floating-point numbers, got torch.int64"),
        (WEIGHTS[1:], f"weights must be square, of at least {at_least} positions, got"),
        (WEIGHTS[:1, : at_least - 1], f"weights must be square, of at least {at_least} positions"),
    ]


TRAINED = kind("plan", "Plan") | {"report": [(3, "report must be a function, got int")]}
WITHOUT = {
    "heads": [
        (None, r"heads must be a list of \(layer, head\), got NoneType"),
        ([("a", 0)], r"heads must be \(layer, head\), two whole numbers, got \('a', 0\)"),
        *[([at], r"heads must be .* below \(2, 2\), got") for at in ((0, 2), (2, 0), (-1, 0))],
    ]
}
NOTES = {"notes": [(3, "notes must be a dict, got int")]}
PATH = {"path": [(3, "path must be a string or a Path, got int")]}
FILE = {"path": [*PATH["path"], (NOWHERE, "there is no checkpoint /nowhere/model")]}
DATES = some("dates")
OF_DATES = {"dates": [DAY]}
NO_GROUP = "starts must hold one of at most 13, the length of 'March 9, 1987'"

# Of each function: right arguments, and wrong values with the message of each.
TABLE = [
    (Vocabulary, {"characters": "ab"},
     {"characters": [(3, "characters must be a string"), (["a"], "must be a string, got list"),
                     ("", "characters must hold at least one character, got ''")]}),
    (Vocabulary.of, {"texts": ["ab"]},
     lists("texts") | {"texts": [([3], "text must be a str, got int"), ([], "characters must")]}),
    (LETTERS.encode, {"text": "ab"}, {"text": [(3, "text must be a string, got int")]}),
    (LETTERS.decode, {"tokens": [3]},
     {"tokens": [(3, "tokens must be a list"), (["a"], "tokens must be a list of whole numbers"),
                 ([9], r"tokens must lie in \[0, 6\), got 9")]}),
    (Plan, {},
     sizes("epochs", "batch_size", "patience") | SEED
     | {"learning_rate": [("x", "learning_rate must be a number, got 'x'"),
                          (0, "learning_rate must be positive and finite, got 0"),
                          (math.nan, "learning_rate must be positive and finite, got nan")]}),
    (Bar, {}, {"stream": [(3, "stream must be a text stream, got int")]}),
    (masked_loss, {"scores": torch.ones(2, 5, 6), "targets": TOKENS},
     {"scores": [(3, "scores must be a tensor"), (TOKENS, r"scores must have shape \(batch, steps"),
                 (torch.ones(2, 5, 6).long(), "scores must hold floating-point")],
      "targets": [(3, "targets must be a tensor"), (TOKENS[:, 1:], r"= \(2, 5\), got \(2, 4\)"),
                  (TOKENS.int(), "targets must hold tokens, of dtype torch.int64, got torch.int32"),
                  (TOKENS + 9, r"targets must lie in \[0, 6\), .*got 12 at index \(0, 0\)")]}),
    (make_batch, {"model": TRANSLATOR, "pairs": [("ab", "0")]},
     kind("model", "Translator") | pairs("pairs")),
    (train, {"model": TRANSLATOR, "pairs": [("ab", "0")], "validation": [("a", "1")], "plan": SHORT,
             "report": None},
     kind("model", "Translator") | pairs("pairs") | pairs("validation") | TRAINED),
    (fit, {"model": DECODER, "learned": LINES, "judged": LINES, "plan": SHORT, "report": None},
     kind("model", "Module") | batch("learned") | batch("judged") | TRAINED),
    (read_notes, {"path": STORED}, FILE),
    # Translators
    (Config, {},
     sizes("embedding_size", "written_size", "num_hiddens", "score_hiddens", "max_steps") | DROPOUT
     | flags("attention") | {"encoder": [(3, "encoder must be one of recurrent, convolutional")]}),
    (Config, {"num_hiddens": 14}, {"num_hiddens": [(7, "num_hiddens must be even, got 7")]}),
    (RecurrentEncoder, {"vocab_size": 5, "embedding_size": 3, "num_hiddens": 2},
     sizes("vocab_size", "embedding_size")
     | {"num_hiddens": [(3, "num_hiddens must be even, got 3")]}),
    (ConvolutionalEncoder, {"vocab_size": 5, "embedding_size": 3, "num_hiddens": 3},
     sizes("num_hiddens")),
    (Translator, {"source": LETTERS, "target": LETTERS},
     kind("source", "Vocabulary") | kind("target", "Vocabulary") | kind("config", "Config") | SEED),
    (TRANSLATOR.read, {"texts": ["ab"]}, SOME_TEXTS),
    (TRANSLATOR.encode, {"tokens": TOKENS, "valid_lens": LENGTHS}, READ),
    (TRANSLATOR.first_state, {"encoded": ENCODED}, kind("encoded", "Encoded")),
    (TRANSLATOR.context, {"state": STATES, "encoded": ENCODED},
     state("state") | kind("encoded", "Encoded")),
    (TRANSLATOR.step, {"last": LAST, "state": STATES, "context": STATES},
     {"last": [(3, "last must be a tensor"), (TOKENS, r"last must have shape \(batch\), got"),
               (LAST + 99, r"last must lie in \[0, 14\), .*got 102 at index \(0,\)")]}
     | state("state") | state("context")),
    (TRANSLATOR.forward, {"tokens": TOKENS, "valid_lens": LENGTHS, "targets": TOKENS},
     {"targets": [(TOKENS[:1], r"targets must have shape \(batch, num_steps\) = \(2, 5\), got"),
                  (TOKENS + 99, "targets must lie")]}),
    (TRANSLATOR.translate, {"texts": ["ab"]},
     TEXTS | {"change": [(3, "change must be a function of weights and step, got int")]}),
    (dates.make_dates, {"train": 1, "validation": 1, "test": 1},
     sizes("train", "validation", "test")
     | {"seed": WHOLE_SEED,
        "locales": [(3, "locales must be a list of strings, got int"),
                    ([], r"locales must be a list of at least one locale, got \[\]"),
                    ("de", "locales must be a list of strings, got str"),
                    (["de", None], "locale must be a string, got NoneType")]}),
    (dates.write_date, {"date": date(1987, 3, 9), "locale": "de"},
     {"date": [("x", "date must be a datetime.date, got str"),
               (datetime(1987, 3, 9, 12), "date must be a datetime.date, got datetime"),
               (date(999, 12, 31), "date must lie in the years 1000 to 9999, got 0999-12-31")],
      "locale": [(3, "locale must be a string, got int")],
      "format": [(3, "format must be a string, got int"),
                 ("x", "format must be one of full, long, medium, short, got 'x'"),
                 ("short", "format must write all four digits of a year, got 'short'")]}),
    (dates.joined_pairs, OF_DATES,
     {"dates": DATES["dates"][:2], "seed": WHOLE_SEED} | sizes("most")),
    (checkpoints.book_model, {"name": "small"}, ENTRIES | DEVICE),
    (checkpoints.load_checkpoint, {"path": STORED}, FILE | DEVICE | kind("source", "Vocabulary")),
    (checkpoints.save_checkpoint, {"path": None, "model": TRANSLATOR},
     PATH | kind("model", "Translator") | NOTES),
    (grading.grade, OF_DATES | {"weights": grading.uniform([DAY])},
     DATES | {"weights": [(3, "weights must be a list of tensors"),
                          ([3], "weights must be a tensor, got int"),
                          ([WEIGHTS[0]], r"weights must have shape \(steps, 13\)"),
                          ([WEIGHTS], r"\(steps, 13\) for 'March 9, 1987', got \(5, 5\)"),
                          ([], "weights must hold 1, as many as dates, got 0")]}),
    (grading.diagonal, OF_DATES, {"dates": DATES["dates"][:2]}),
    (grading.exact_match, OF_DATES | {"translations": TRANSLATED},
     DATES | {"translations": [(3, "translations must be a list of Translation, got int"),
                               ([], "translations must hold 1, as many as dates, got 0")]}),
    (grading.exact_match_by_length, OF_DATES | {"translations": TRANSLATED},
     DATES | lists("translations") | {"starts": [(3, "starts must be a list of whole numbers"),
                                                 ([], NO_GROUP), ([14, 20], NO_GROUP)]}),
    (grading.gold_mask, OF_DATES | {"field": "day"},
     DATES | {"field": [("hour", "field must be one of year, month, day, got 'hour'")]}),
    (grading.effects, OF_DATES | {"model": READER}, DATES | kind("model", "Translator")),
    # Decoders
    (DecoderConfig, {},
     sizes("num_hiddens", "num_layers", "ffn_hiddens") | DROPOUT
     | flags("residual") | NORM
     | {"num_heads": [*sizes("num_heads")["num_heads"],
                      (5, "num_hiddens must be a multiple of num_heads=5")],
        "positions": [("absolute", 'positions must be one of "sinusoidal", "rotary", or None')],
        "feed_forward": [("relu", "feed_forward and ffn_hiddens must both be given, or neither"),
                         ("tanh", 'feed_forward must be one of "relu", "gelu", "swiglu", or')],
        "rotary_base": [(1, "rotary_base must be above 1 and finite, got 1"),
                        ("x", "rotary_base must be a number, got 'x'")]}),
    (FeedForward, {"num_hiddens": 3, "ffn_hiddens": 5}, sizes("num_hiddens", "ffn_hiddens")),
    (NETWORK.forward, {"x": X},
     {"x": [(3, "x must be a tensor, got int"), (torch.tensor(3.0), "x must have shape"),
            (X[..., 1:], "x must have num_hiddens=8 numbers in the last axis, got 7 in shape"),
            (X.double(), "x must have the dtype of the layer's weights, torch.float32, got")]}),
    (Block, {"num_hiddens": 8, "num_heads": 2},
     sizes("ffn_hiddens") | DROPOUT | flags("residual", "bias") | NORM
     | {"feed_forward": [("tanh", 'must be one of "relu", "gelu", "swiglu", got \'tanh\'')],
        "rotary": [(3, "rotary must be a function such as rotary_encoding, got 3")],
        "num_hiddens": [(2.0, "must be a whole number, got 2.0"), (0, "must be at least 1")],
        "num_heads": [(3, "num_hiddens must be a multiple of num_heads=3")],
        "keep_weights": []}),
    (BLOCK.forward, {"x": X},
     {"x": [(3, "x must be a tensor, got int"), (X[0], r"x must have shape \(batch, num_positions"),
            (X[..., 1:], "x must have num_hiddens=8 numbers in the last axis, got 7 in shape"),
            (X.double(), "x must have the dtype of the layer's weights, torch.float32, got")],
      "valid_lens": [(3, "valid_lens must be a tensor"), (LENGTHS + 1, "valid_lens must lie in")],
      "mask": [(3, "mask must be")]} | flags("causal")),
    (Block.from_torch, {"module": TORCHS}, {"module": [(3, "must be an nn.TransformerEncoder")]}),
    (Decoder, {"vocabulary": LETTERS},
     kind("vocabulary", "Vocabulary") | kind("config", "DecoderConfig") | SEED),
    (DECODER.forward, {"tokens": TOKENS},
     tokens(r"\(batch, num_positions\)") | {"valid_lens": [(3, "valid_lens must be a tensor of")]}),
    (DECODER.follow, {"texts": ["ab"]}, TEXTS),
    (DECODER.read_lines, {"texts": ["ab"]}, SOME_TEXTS),
    (DECODER.write, {"texts": ["ab"], "count": 3},
     TEXTS | {"count": [*sizes("count")["count"],
                        (300, "texts must leave room for count=300 more of at most 256 tokens")]}),
    (make_lines, {"model": DECODER, "texts": ["ab"]}, kind("model", "Decoder") | SOME_TEXTS),
    (make_repeats, {"count": 2},
     sizes("count", "length") | SEED
     | {"periods": [(3, "periods must be two whole numbers, got 3"),
                    ((5, 3), "shorter first"), ((0, 3), r"periods must lie in \[1, 16\]"),
                    ((4, 17), r"periods must lie in \[1, 16\], shorter first")]}),
    (without_heads, {"model": DECODER, "heads": [(0, 0)]}, kind("model", "Decoder") | WITHOUT),
    (heads.accuracy, {"model": DECODER, "repeats": REPEATS},
     kind("model", "Decoder") | some("repeats", ([Repeat("ab", 0, 2)], "must hold a copied"))),
    (heads.score_heads, {"model": DECODER, "repeats": REPEATS},
     kind("model", "Decoder") | some("repeats")),
    (heads.ablate_heads, {"model": DECODER, "repeats": REPEATS, "groups": [[(0, 1)]]},
     kind("model", "Decoder") | some("repeats")
     | {"groups": [(3, "groups must be a list of lists of heads"), ([3], "heads must be a list")]}),
    (heads.previous_score, {"weights": WEIGHTS}, {"weights": square(2)}),
    (heads.induction_score, {"weights": WEIGHTS, "text": "abcab"},
     {"weights": square(1), "text": [(3, "text must be a string"), ("ab", "weights must have 2")]}),
    (decoders.book_decoder, {"name": "copying"},
     ENTRIES | DEVICE
     | {"step": [(300.0, "step must be a whole number, got 300.0"), (7, "step must be one of 0")]}),
    (decoders.save_decoder, {"path": None, "model": DECODER, "snapshots": {0: {}}},
     PATH | kind("model", "Decoder") | NOTES
     | {"snapshots": [(3, "snapshots must be a Mapping"), ({}, "snapshots must hold at least")]}),
    (decoders.Snapshots, {"model": DECODER, "steps": [0], "total": 3},
     kind("model", "Decoder") | sizes("total")
     | {"steps": [(3, "steps must be a list of whole numbers"), (["a"], "steps must be a list")]}),
]  # fmt: skip


def call(function, arguments):
    """Call it; a context manager only begins its work when it is entered."""
    result = function(**arguments)
    if function is without_heads:
        with result:
            pass


@pytest.fixture
def right(tmp_path):
    def copy_arguments(given):
        given = {k: copy.deepcopy(v) if k == "model" else v for k, v in given.items()}
        return given | ({"path": tmp_path / "new"} if given.get("path", "") is None else {})

    return copy_arguments


def name_case(value):
    return value.__qualname__ if callable(value) else ""


@pytest.mark.parametrize(("function", "given", "wrong"), TABLE, ids=name_case)
def test_a_wrong_argument_is_refused_with_a_message_of_attnbook(function, given, wrong, right):
    call(function, right(given))
    for name, values in wrong.items():
        for value, message in values:
            with pytest.raises((TypeError, ValueError, FileNotFoundError), match=message) as raised:
                call(function, right(given) | {name: value})
            where = traceback.extract_tb(raised.tb)[-1].filename
            assert Path(where).is_relative_to(Path(attnbook.__file__).parent), (name, value)


@pytest.mark.parametrize(("function", "given", "wrong"), TABLE, ids=name_case)
def test_a_message_about_a_large_argument_is_one_short_line(function, given, wrong, right):
    for name in wrong:
        for value in (torch.ones(99, 99), [torch.ones(99, 99)] * 99, [(0.5, 0.5)] * 99):
            try:
                call(function, right(given) | {name: value})
            except Exception as error:
                text = str(error)
                assert len(text) < 700, (name, text)
                assert "\n" not in text, (name, text)
