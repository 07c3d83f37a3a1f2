"""The reader's attention inside the story model, in node: its answers are those of torch."""

from __future__ import annotations

import math
from contextlib import ExitStack

import pytest
import torch
from torch.nn.functional import normalize, one_hot

from attnbook import gaussian_score
from attnbook.figures import InsideFigure
from attnbook.figures.tokens.packing import decoder_of, pack_model
from attnbook.figures.tokens.writing import write
from attnbook.models.transformer.stages import replace_stage
from attnbook.models.transformer.stories import answers, make_stories
from attnbook.practice import LIST_TASKS
from attnbook.practice.parts import STAGES, part_of
from tests.figures.code.interpreters import PACKAGE, PROGRAM, as_typed, scripts
from tests.figures.shared.node import run_in_node, write_module
from tools.models.stories import unseen_stories

# Every program answers every story; the attention is code for Python, or one in JavaScript.
ANSWER = """
import { readFileSync } from "node:fs";
const job = JSON.parse(readFileSync(0, "utf-8"));
const { module, helper, script, folder, packed, texts, programs } = job;
const figure = await import(module);
const model = figure.opened(packed).last;
const right = async (calls) => calls.map(([query, keys, values, count]) => {
    const scores = keys.slice(0, count).map((key) => figure.scaledScore(query, key));
    return figure.pool(figure.maskedSoftmax(scores), values.slice(0, count));
});
const ask = script && await (await import(helper)).startPython(script, folder);
const inPython = (program) => async (calls) =>
    figure.outputsOf(ask({ ...program, called: "attention", calls }), calls[0][2][0].length);
const all = [];
for (const program of programs) {
    const attend = program ? inPython(program) : right;
    const answers = [];
    for (const text of texts) {
        const words = await figure.answerWith(model, text.split(" "), attend)
            .catch((error) => [error.message]);
        answers.push(words.join(" "));
    }
    all.push(answers);
}
process.stdout.write(JSON.stringify(all));
"""
NAME = "story"
TEN = make_stories(10, sentences=(2, 2), seed=3)
SOME, LENGTH = TEN[:4], len(TEN[0].text.split())  # of all ten


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """A function that gives the answers of each program to stories."""
    path = write_module(str(InsideFigure._esm), tmp_path_factory.mktemp("inside"))

    def go(programs, stories=TEN):
        python = {"script": str(scripts() / "python.js"), "folder": str(PACKAGE)}
        return run_in_node(
            ANSWER,
            path,
            **(python if any(programs) else {"script": "", "folder": ""}),
            helper=PROGRAM.as_uri(),
            packed=pack_model(NAME),
            texts=[story.text for story in stories],
            programs=programs,
        )

    return go


def program(code="", **parts):
    """What the figure sends to Python: the book's attention and stages, but for those given."""
    names = (*STAGES[1:], "scaled-score-by-hand")
    books = {(part := part_of(name))["called"]: part["code"] for name in names}
    chosen = {**books, **parts}
    chosen.setdefault("score", f"{chosen['scaled_score']}\n\nscore = scaled_score\n")
    return {"code": code or part_of("attention-from-parts")["code"], "parts": chosen}


def test_with_right_attention_the_answers_are_those_of_write_whatever_the_length(ask):
    stories = unseen_stories(60)
    [found] = ask([None], stories)
    expected = [write(NAME, story.text).answer for story in stories]
    assert found == [" ".join(answer) for answer in expected]


# The mistakes, as a reader types them and in torch


def typed(task, bug):
    return as_typed(LIST_TASKS[task], LIST_TASKS[task].bugs[bug].function)


def score(bug):
    return program(scaled_score=typed("scaled-score-by-hand", bug))


def joined(bug):
    return program(typed("attention-from-parts", bug))


def weigh(scores, visible):
    return scores.masked_fill(~visible, -math.inf).softmax(-1).nan_to_num(0)


def known(scores):
    """The keys that are known when the query is computed: all of the text, then one more each."""
    n = scores.shape[-1]
    return torch.arange(n) < torch.arange(1, n + 1).clamp(min=LENGTH)[:, None]


def dot(queries, keys):
    return queries @ keys.mT


class KeysPooled:
    """Keys in place of values."""

    def score(self, queries, keys):
        self.keys = keys
        return dot(queries, keys) / math.sqrt(keys.shape[-1])

    def pool(self, weights, _):
        return weights @ self.keys


KEYS = KeysPooled()
MISTAKES = {
    "the Gaussian score": (program(score=part_of(STAGES[0])["code"]), {"score": gaussian_score}),
    "root forgotten": (score("root forgotten"), {"score": dot}),
    "divided by d": (
        score("divided by the length"),
        {"score": lambda q, k: dot(q, k) / q.shape[-1]},
    ),
    "cosine": (
        score("cosine"),
        {"score": lambda q, k: dot(normalize(q, dim=-1), normalize(k, dim=-1))},
    ),
    "first component": (
        score("the first component only"),
        {"score": lambda q, k: dot(q[..., :1], k[..., :1]) / math.sqrt(q.shape[-1])},
    ),
    "a minus before the sum": (
        score("a minus before the sum"),
        {"score": lambda q, k: -dot(q, k) / math.sqrt(q.shape[-1])},
    ),
    "never divided": (
        program(masked_softmax=typed("masked-softmax-by-hand", "never divided")),
        {"weigh": lambda s, v: (s - s.masked_fill(~v, -math.inf).amax(-1, True)).exp() * v},
    ),
    "softmax twice": (
        joined("softmax twice"),
        {"weigh": lambda s, v: weigh(weigh(s, v), v)},
    ),
    "best key only": (
        joined("the best key only"),
        {"weigh": lambda s, v: one_hot(weigh(s, v).argmax(-1), s.shape[-1]).to(s)},
    ),
    "nothing hidden": (
        joined("nothing hidden"),
        {"weigh": lambda s, v: weigh(s, known(s).expand(v.shape))},
    ),
    "one key too few": (
        joined("one key too few"),
        {"weigh": lambda s, v: weigh(s, v.tril(-1))},
    ),
    "divided by the number of keys": (
        joined("divided by the number of keys"),
        {"pool": lambda w, v: w @ v / known(w).sum(-1, keepdim=True)},
    ),
    "keys are pooled": (joined("keys are pooled"), {"score": KEYS.score, "pool": KEYS.pool}),
}


@pytest.fixture(scope="module")
def found(ask):
    """The answers with each mistake, in MicroPython, to some of the stories."""
    return dict(zip(MISTAKES, ask([wrong for wrong, _ in MISTAKES.values()], SOME), strict=True))


def test_right_code_in_micropython_gives_the_models_own_answers(ask):
    assert ask([program()]) == [[story["answer"] for story in InsideFigure(TEN, name=NAME).stories]]


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gives_the_answers_that_it_gives_in_torch(name, found):
    model = decoder_of(NAME)
    with ExitStack() as stack:
        for stage, function in MISTAKES[name][1].items():
            stack.enter_context(replace_stage(model, stage, function))
        assert found[name] == answers(model, SOME)


def test_what_the_model_cannot_use_is_refused_with_a_reason(ask):
    return_weights, endless, half = (
        program(f"def attention(query, keys, values, valid_len):\n    {line}")
        for line in ("return keys[0][:3]", "return None", "return [float('nan')] * len(query)")
    )
    broken = program("def attention(query, keys, values, valid_len):\n    return nothing")
    huge = program("def attention(query, keys, values, valid_len):\n    return [1e308] * 8")
    answers = [each[0] for each in ask([return_weights, endless, half, broken, huge], TEN[:1])]
    assert answers[0].endswith("one for each component of a value, and it returns a list of 3.")
    assert answers[1].endswith("and it returns None.")
    assert answers[2].lower().endswith("and it returns nan.")
    assert answers[3].startswith("Line 2: NameError")
    assert answers[4] == ""
