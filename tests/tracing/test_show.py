"""A trace is a table of what the layer makes, line by line."""

from __future__ import annotations

import re
import weakref

import pytest
import torch
from torch import nn

from attnbook.tracing import trace
from attnbook.tracing.show import MOST_ROWS
from tests.cases import make
from tests.tracing.lines import results_at


class Small(nn.Module):
    """A layer whose trace is written by hand below."""

    def __init__(self):
        super().__init__()
        self.project = nn.Linear(5, 3)

    def forward(self, vectors, mask=None):
        """Not shown."""
        # Shown.

        sums = self.project(vectors).sum(dim=-1)  # a row each
        if mask is not None:
            sums = sums * mask
        return sums, vectors.mT @ vectors


def test_a_small_layer_is_shown_as_worked_by_hand():
    result = trace(Small(), torch.ones(2, 7, 5), sizes={"batch": 2, "keys": 7, "size": 5})

    assert repr(result) == "\n".join(
        [
            "Small.forward",
            "   1  vectors                                   (batch, keys, size)",
            "   5  self.project(vectors)                     (batch, keys, 3)",
            "   5  sums = self.project(vectors).sum(dim=-1)  (batch, keys)",
            "   8  vectors.mT                                (batch, size, keys)",
            "   8  return sums                               (batch, keys)",
            "   8  return vectors.mT @ vectors               (batch, size, size)",
            "",
            "Sizes: batch=2, keys=7, size=5. Matched by number only: size. "
            "Names hold with batch=3, keys=11 too.",
        ]
    )


def double(x):
    return x * 2


def loop(items, once=False):
    total = items[0]
    for item in items:
        total = torch.cat([total, item])
        if once:
            break
    return total


def test_a_loop_shows_its_first_pass_and_the_shape_of_its_last():
    result, once = (trace(loop, torch.ones(3, 2), once=once) for once in (False, True))

    assert results_at(result, "total = torch.cat") == ["(4,), in the last pass (8,)"]
    assert results_at(once, "total = torch.cat") == ["(4,)"]
    assert [it.name for it in once.steps].count("item") == 1


# Exceptions


def test_an_exception_is_in_the_last_row_after_the_shapes_so_far():
    result = trace(Small(), torch.ones(2, 7, 5), torch.ones(3))

    assert isinstance(result.error, RuntimeError)
    assert results_at(result, "sums = self.project") == ["(2, 7)"]
    assert results_at(result, "sums = sums * mask")[0].startswith("RuntimeError: The size of t")
    assert results_at(result, "return sums") == []


def test_an_exception_in_a_followed_function_is_shown_there():
    result = trace(Small(), torch.ones(2, 7, 4), follow="project")

    passed = "RuntimeError in project: Linear.forward"
    assert results_at(result, "sums = self.project") == [passed]
    assert "mat1 and mat2 shapes cannot be multiplied" in results_at(result, "F.linear(")[0]


def test_a_long_exception_is_cut():
    def layer(_):
        raise ValueError("word " * 1000)

    *_, last = repr(trace(layer, torch.ones(1))).splitlines()
    assert repr(trace(layer, torch.ones(1))).count("\n") == 7
    assert last.endswith("word …")


MADE = []


def test_the_exception_of_a_trace_keeps_no_tensors_alive():
    def layer(x):
        made = x + 1
        MADE.append(weakref.ref(made))
        raise ValueError("too late")

    result = trace(layer, torch.ones(2))

    assert str(result.error) == "too late"
    assert MADE[0]() is None


# What is followed


def test_only_the_first_call_of_a_followed_function_is_shown():
    def half(x):
        return x[::2]

    def layer(x):
        return half(half(x))

    result = trace(layer, torch.ones(8), follow="half")

    assert "half, the first of 2 calls\n   1  x  " in repr(result)
    assert results_at(result, "return x[::2]") == ["(4,)"]


def test_a_followed_function_that_is_not_called_is_named():
    text = repr(trace(loop, torch.ones(3, 2), follow="results_at"))
    assert text.endswith("\n\nNot called: results_at.")


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (make("additive"), r"follow must name .* got 'zz'; the modules inside are .*W_k"),
        (loop, r"got 'zz'; the modules inside are none$"),
    ],
)
def test_an_unknown_name_to_follow_is_refused_with_a_list_of_known_ones(layer, message):
    with pytest.raises(ValueError, match=message):
        trace(layer, torch.ones(1), follow=["zz"])


@pytest.mark.parametrize("follow", [None, ["double", 3]])
def test_follow_refuses_other_things_than_names(follow):
    message = f"follow must be a name or several names, got {follow!r}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        trace(double, torch.ones(1), follow=follow)


# The page


def test_the_page_has_a_row_for_each_step_and_marks_nothing_in_the_code():
    def layer(x):
        y = x[x < 3]  # <b>
        return y @ torch.ones(7)

    result = trace(layer, torch.ones(2, 5), sizes={"<i>": 2})
    page = result._repr_html_()

    rows = re.findall(r'<tr class="(.*?)"><td>(.*?)</td><td><code>(.*?)</code></td><td>', page)
    assert rows == [
        ("", "1", "x"),
        ("part", "2", "x &lt; 3"),
        ("", "2", "y = x[x &lt; 3]"),
        ("part", "3", "torch.ones(<wbr>7)"),
        ("error", "3", "return y @ torch.ones(<wbr>7)"),
    ]
    assert "<td>(&lt;i&gt;, 5)</td>" in page
    assert "RuntimeError: " in page
    assert "<details>" not in page  # a short table


@pytest.mark.browser
def test_a_long_table_folds_its_parts_and_fits_a_phone_and_paper(browser):
    def layer(x):
        for _ in range(1):
            a = x.clone().neg().exp().log().neg().exp().log() + 1
            b = (a @ torch.ones(5, 3)).unsqueeze(0).expand(3, -1, -1).softmax(-1).transpose(-2, -1)
        return a, b

    result = trace(layer, torch.ones(2, 5), sizes={"a_long_name": 2, "another_long_name": 5})
    parts = sum(step.part for step in result.steps)
    assert len(result.steps) > MOST_ROWS
    with browser.new_page(viewport={"width": 360, "height": 740}) as tab:
        tab.set_content(f"<meta name=viewport content='width=device-width'>{result._repr_html_()}")
        rows = tab.locator("tbody tr:has(td)")
        count = "rows => rows.filter(row => row.checkVisibility()).length"
        assert rows.evaluate_all(count) == len(result.steps) - parts
        tab.get_by_text(f"{parts} more rows: parts of lines").click()
        assert rows.evaluate_all(count) == len(result.steps)
        assert tab.evaluate("document.documentElement.scrollWidth") <= 360
        tab.locator("summary").click()
        tab.emulate_media(media="print")
        assert rows.evaluate_all(count) == len(result.steps)
