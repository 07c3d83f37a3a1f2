"""A trace shows what the layer makes, line by line."""

from __future__ import annotations

import html
import re
import weakref

import pytest
import torch
from torch import nn

from attnbook.tracing import Trace, trace
from attnbook.tracing.show import STYLE
from tests.cases import make
from tests.tools.pictures.test_draw import DARK_PAGE, LIGHT_PAGE, contrast
from tests.tracing.lines import find_line, notes


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
            f"{'def forward(self, vectors, mask=None):':61}vectors (batch, keys, size)",
            "    # Shown.",
            "    sums = self.project(vectors).sum(dim=-1)  # a row each   sums (batch, keys)",
            f"{'':61}· self.project(vectors) (batch, keys, 3)",
            "    if mask is not None:",
            f"{'        sums = sums * mask':61}not run",
            f"{'    return sums, vectors.mT @ vectors':61}sums (batch, keys)",
            f"{'':61}vectors.mT @ vectors (batch, size, size)",
            f"{'':61}· vectors.mT (batch, size, keys)",
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


def test_a_loop_shows_its_first_pass_and_a_branch_that_is_not_taken_no_shapes():
    result, once = (trace(loop, torch.ones(3, 2), once=once) for once in (False, True))

    assert notes(find_line(result, "for item")) == ["item (2,)", "3 passes"]
    assert "1 pass" in notes(find_line(once, "for item"))
    assert notes(find_line(result, "torch.cat"))[0] == "total (4,), in the last pass (8,)"
    assert notes(find_line(result, "break")) == ["not run"]
    assert "not run" not in notes(find_line(once, "break"))


# Exceptions


def test_an_exception_is_shown_at_its_line_with_the_shapes_so_far():
    result = trace(Small(), torch.ones(2, 7, 5), torch.ones(3))

    assert isinstance(result.error, RuntimeError)
    assert notes(find_line(result, "sums * mask"))[0].startswith(
        "RuntimeError: The size of tensor a"
    )
    assert notes(find_line(result, "sums = self.project"))[0] == "sums (2, 7)"
    assert notes(find_line(result, "return sums")) == ["not run"]


def test_an_exception_in_a_followed_function_is_shown_there():
    result = trace(Small(), torch.ones(2, 7, 4), follow="project")

    assert notes(find_line(result, "sums = self.project")) == [
        "RuntimeError in project: Linear.forward"
    ]
    assert "cannot be multiplied" in " ".join(notes(find_line(result, "F.linear(")))


def test_a_long_exception_is_cut():
    def layer(_):
        raise ValueError("word " * 1000)

    texts = notes(find_line(trace(layer, torch.ones(1)), "raise"))
    assert len(texts) == 6
    assert texts[0] == "ValueError: word word word word word word word word word"
    assert texts[-1].endswith("word …")


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

    text = repr(trace(layer, torch.ones(8), follow="half"))

    assert "half, the first of 2 calls\ndef half(x):        x (8,)\n" in text
    assert text.count("def half") == 1


def test_a_followed_function_that_is_not_called_is_named():
    text = repr(trace(loop, torch.ones(3, 2), follow="find_line"))
    assert text.endswith("\n\nNot called: find_line.")


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


def pre(result):
    """Read the text of a page."""
    inside = re.search(r"<pre.*?>(.*)</pre>", result._repr_html_(), re.DOTALL)[1]
    return html.unescape(re.sub(r"<[^>]+>", "", inside))


def test_the_page_shows_the_text():
    def layer(x):
        y = x[x < 3]  # <b> & "so"
        return y @ torch.ones(7)

    result = trace(layer, torch.ones(2, 5), sizes={"<i>": 2})

    assert isinstance(result, Trace)
    assert pre(result) == repr(result)
    assert "<b> & " in repr(result)
    assert '<span class="error note">RuntimeError' in result._repr_html_()
    assert '<pre role="group" tabindex="0" aria-label="Shapes in layer">' in result._repr_html_()


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_the_colors_are_legible_in_both_themes(theme):
    colours = dict(re.findall(r"(--\w+): (#\w{6});", STYLE.split("\nhtml[")[theme]))

    assert set(colours) == {"--ink", "--quiet", "--made", "--error", "--ground"}
    ground = colours.pop("--ground")
    assert contrast(ground, (LIGHT_PAGE, DARK_PAGE)[theme]) < 1.3
    assert all(contrast(colour, ground) >= 4.5 for colour in colours.values())
