"""How figures call the reader's code and draw its results, in node."""

from __future__ import annotations

import random

import pytest
import torch

import attnbook
from attnbook.figures import AttentionFigure, CodeTask
from tests.figures.attention.cases import traits
from tests.figures.shared.node import run_in_node, write_module

PROGRAM = """
import { readFileSync } from "node:fs";
const { module, state, jobs } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);
const results = jobs.map(({ returned, answer, ...moved }) => {
    const model = { get: (name) => ({ ...state, ...moved })[name] };
    if (answer) return figure.paragraphsOf(answer);
    if (!returned) return figure.callsOf(model);
    const rows = figure.rowsOf(model, returned);
    return rows && rows.map((queries, example) => queries.map((own, query) => {
        const { weights, output, visible, scores } = figure.rowOf(model, example, query, own);
        return { weights, output, visible, scores };
    }));
});
process.stdout.write(JSON.stringify(results));
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A function that runs jobs with a figure's module."""

    def go(figure, jobs):
        path = write_module(str(figure._esm), tmp_path_factory.mktemp("code"))
        return run_in_node(PROGRAM, path, state=traits(figure), jobs=jobs)

    return go


def two_examples(task, **options):
    rng = torch.Generator().manual_seed(3)
    queries, keys, values = (torch.randn(2, n, 2, generator=rng) for n in (3, 4, 4))
    lens = torch.tensor([4, 2])
    figure = AttentionFigure(
        attnbook.dot_score, queries, keys, values, lens, written=task, **options
    )
    return figure, (queries, keys, values, lens)


def test_a_score_is_called_for_each_pair_with_the_layers_weights(run):
    figure, (queries, keys, *_) = two_examples(
        "additive-score-by-hand", written_with=[torch.eye(2)]
    )
    [calls] = run(figure, [{}])
    pairs = [(example, q, k) for example in range(2) for q in range(3) for k in range(4)]
    for (example, query, key), call in zip(pairs, calls, strict=True):
        vectors = queries[example, query], keys[example, key]
        assert torch.tensor(call[:2]).allclose(torch.stack(vectors))
        assert call[2] == [[1, 0], [0, 1]]


def test_a_masked_softmax_is_called_for_each_row_with_temperature_and_length(run):
    figure, (queries, keys, *_) = two_examples("masked-softmax-by-hand")
    scores = (queries @ keys.mT).reshape(6, 4)
    first, moved = run(figure, [{}, {"temperature": 2.0, "valid_lens": [1, 0]}])
    assert [length for _, length in first] == [4, 4, 4, 2, 2, 2]
    assert [length for _, length in moved] == [1, 1, 1, 0, 0, 0]
    assert torch.tensor([row for row, _ in first]).allclose(scores, atol=1e-6)
    assert torch.tensor([row for row, _ in moved]).allclose(scores / 2, atol=1e-6)


def test_a_softmax_is_called_with_the_visible_scores_or_one_score_if_none_is_visible(run):
    figure, _ = two_examples("softmax-by-hand")
    empty, returned = {"valid_lens": [4, 0]}, [[0.25] * 4] * 3 + [[1.0]] * 3
    calls, empty_calls, rows = run(figure, [{}, empty, {**empty, "returned": returned}])
    assert [len(scores) for (scores,) in calls] == [4, 4, 4, 2, 2, 2]
    assert [len(scores) for (scores,) in empty_calls] == [4, 4, 4, 1, 1, 1]
    assert rows[1][2]["weights"] == [0, 0, 0, 0]


def test_a_mask_rule_is_called_for_each_pair_of_positions(run):
    figure, _ = two_examples("causal-rule-by-hand")
    [calls] = run(figure, [{}])
    assert calls == [[q, k, 3, 4] for _ in range(2) for q in range(3) for k in range(4)]


def test_the_results_of_any_mask_of_the_reader_equal_torch(run):
    dice = random.Random(0)  # noqa: S311 - any numbers will do
    figure, _ = two_examples("causal-rule-by-hand")
    jobs = [
        {
            "returned": [dice.random() < 0.6 for _ in range(24)],
            "valid_lens": [dice.randint(0, 4), dice.randint(0, 4)],
        }
        for _ in range(20)
    ]
    scores = torch.tensor(figure.scores, dtype=torch.float64)
    values = torch.tensor(figure.values, dtype=torch.float64)
    for job, rows in zip(jobs, run(figure, jobs), strict=True):
        lens = attnbook.length_mask(torch.tensor(job["valid_lens"]), (2, 3, 4))
        visible = torch.tensor(job["returned"]).reshape(2, 3, 4) & lens
        weights = scores.masked_fill(~visible, -torch.inf).softmax(-1).nan_to_num(0)
        check(rows, weights, values)
        assert [[row["visible"] for row in example] for example in rows] == visible.tolist()


def check(rows, weights, values):
    ours = torch.tensor([[row["weights"] for row in example] for example in rows])
    assert torch.allclose(ours.double(), weights, atol=1e-6)
    outputs = torch.tensor([[row["output"] for row in example] for example in rows])
    assert torch.allclose(outputs.double(), weights @ values, atol=1e-6)


def test_the_readers_weights_are_drawn_unchanged(run):
    figure, (*_, values, _) = two_examples("masked-softmax-by-hand")
    returned = [[0.5, 0.5, 0.5, -0.5]] * 6
    [rows] = run(figure, [{"returned": returned}])
    check(rows, torch.tensor(returned).double().reshape(2, 3, 4), values.double())
    plain, _ = two_examples("softmax-by-hand")
    [rows] = run(plain, [{"returned": [[1, 2, 3, 4]] * 3 + [[1, 2]] * 3}])
    assert rows[1][0]["weights"] == [1, 2, 0, 0]


def test_an_attention_is_called_with_values_and_with_values_of_0_and_1_for_its_weights(run):
    figure, (queries, keys, values, _) = two_examples("attention-from-parts")
    moved = {"temperature": 4.0, "valid_lens": [1, 0]}
    first, cooled = run(figure, [{}, moved])
    assert len(first) == 2 * 2 * 3
    for number, (query, own_keys, own_values, length) in enumerate(first):
        example = number // 6
        assert torch.tensor(query).allclose(queries[example, number % 6 // 2])
        assert torch.tensor(own_keys).allclose(keys[example])
        expected = torch.eye(4) if number % 2 else values[example]
        assert torch.tensor(own_values, dtype=torch.float32).allclose(expected)
        assert length == [4, 2][example]
    assert [call[3] for call in cooled] == [1] * 6 + [0] * 6
    assert torch.tensor(cooled[0][0]).allclose(queries[0, 0] / 2)
    assert torch.tensor(cooled[0][1]).allclose(keys[0] / 2)


def test_the_readers_attention_is_drawn_unchanged(run):
    figure, _ = two_examples("attention-from-parts")
    returned = [[[float(i), 1.0], [0.1 * i, 0.2, 0.3, 0.4]] for i in range(6)]
    [rows] = run(figure, [{"returned": [each for pair in returned for each in pair]}])
    pairs = [row for example in rows for row in example]
    assert [[row["output"], row["weights"]] for row in pairs] == returned


SHARES = [[0.5, 0.5, 0, 0]] * 5


@pytest.mark.parametrize(
    ("task", "returned"),
    [
        ("score-by-hand", [[1.0] * 23 + [last] for last in (None, {"number": "NaN"}, [1.0])]),
        ("masked-softmax-by-hand", [[*SHARES, last] for last in ([0.5, 0.5], 0.5, [0.5, "a"] * 2)]),
        ("softmax-by-hand", [[[0.5] * 5] * 6]),
        ("attention-from-parts", [[[1, 2], last] * 6 for last in ([1, 2], None, [0, 0, 0, "a"])]),
        ("attention-from-parts", [[[1], [0.5, 0.5, 0, 0]] * 6]),
        ("causal-rule-by-hand", [[True] * 23 + [last] for last in (None, {"kind": "str"})]),
    ],
)
def test_results_that_cannot_be_drawn_are_refused(run, task, returned):
    figure, _ = two_examples(task)
    assert run(figure, [{"returned": each} for each in returned]) == [None] * len(returned)


def test_a_run_is_reported_in_paragraphs(run):
    reports = run(
        CodeTask("softmax-by-hand"),
        [
            {"answer": answer}
            for answer in (
                {"stopped": "limit"},
                {"stopped": "asked"},
                {"stopped": "broken"},
                {"error": "SyntaxError: invalid syntax", "line": 2},
                {"error": "There is no function."},
                {"verdict": ["✓ right."], "line": None},
                {"verdict": ["✗ not yet.", "It raises.", "To fix it."], "line": 4},
            )
        ],
    )
    assert "did not end within two seconds" in reports[0][0]
    assert reports[1] == ["Stopped."]
    assert "memory" in reports[2][0]
    assert reports[3:] == [
        ["Line 2: SyntaxError: invalid syntax"],
        ["There is no function."],
        ["✓ right."],
        ["✗ not yet.", "Line 4. It raises.", "To fix it."],
    ]
