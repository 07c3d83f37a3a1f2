"""The shape X-ray: what it shows is what the layer makes, line by line."""

from __future__ import annotations

import html
import re
import weakref

import pytest
import torch
from torch import nn

from attnbook import (
    AdditiveAttention,
    DotProductAttention,
    MLPAttention,
    additive_score,
    bilinear_score,
    dot_score,
    gaussian_score,
    kernel_pool,
    masked_softmax,
    pool,
    scaled_dot_score,
)
from attnbook.tracing import Trace, trace
from attnbook.tracing.page import STYLE
from tests.cases import FirstPartAttention, make
from tests.project.test_architecture import modules_after
from tests.tools.pictures.test_draw import DARK_PAGE, LIGHT_PAGE, contrast
from tests.tracing.additive import Additive

TUPLES = [(2, 3, 5, 7), (5, 2, 3, 11), (1, 4, 9, 6)]  # batch, queries, keys, size
each_size = pytest.mark.parametrize(("batch", "queries", "keys", "size"), TUPLES)


class Small(nn.Module):
    """A layer for hand work."""

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


def found(x_ray, text):
    """The one line that holds a text."""
    (line,) = [line for line in x_ray.lines if text in line.source]
    return line


def notes(line):
    return [text for _, text in line.notes]


def test_a_small_layer_is_shown_as_worked_by_hand():
    x_ray = trace(Small(), torch.ones(2, 7, 5), sizes={"batch": 2, "keys": 7, "size": 5})

    assert repr(x_ray) == "\n".join(
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
            "Sizes: batch=2, keys=7, size=5. Told by their number alone: size. "
            "Names hold with batch=3, keys=11 too.",
        ]
    )


def test_a_line_is_data_too():
    line = found(trace(Small(), torch.ones(2, 7, 5)), "sums = self.project")

    assert (line.number, line.passes) == (5, 1)
    assert line.made == (("sums", (2, 7)),)
    assert line.parts == (("self.project(vectors)", (2, 7, 3)),)


def test_without_sizes_shapes_are_numbers():
    x_ray = trace(Small(), torch.ones(2, 7, 5))

    assert "sums (2, 7)\n" in repr(x_ray)
    assert "Sizes" not in repr(x_ray)


def test_what_a_layer_prints_is_printed_once(capsys):
    def layer(x):
        print("here")  # noqa: T201 - as learners do
        return x

    trace(layer, torch.ones(2, 7), sizes={"batch": 2})

    assert capsys.readouterr().out == "here\n"


LAYERS = {
    "dot": lambda _: DotProductAttention(0.5),
    "additive": lambda size: AdditiveAttention(size, size, 17),
    "older name": lambda size: MLPAttention(size, size, 17),
    "a subclass": lambda _: FirstPartAttention(),
}


def attention_inputs(batch, queries, keys, size, heads=()):
    return (
        torch.randn(batch, *heads, queries, size),
        torch.randn(batch, *heads, keys, size),
        torch.randn(batch, *heads, keys, 13),
    )


@each_size
@pytest.mark.parametrize("heads", [(), (19,)], ids=["one head", "heads"])
@pytest.mark.parametrize("name", LAYERS)
def test_the_lines_of_our_layers_show_the_shapes_they_make(name, heads, batch, queries, keys, size):
    inputs = attention_inputs(batch, queries, keys, size, heads)
    x_ray = trace(LAYERS[name](size), *inputs, torch.full((batch,), keys - 1))
    front = (batch, *heads)
    true = {
        "queries": (*front, queries, size),
        "keys": (*front, keys, size),
        "values": (*front, keys, 13),
        "valid_lens": (batch,),
        "scores": (*front, queries, keys),
        "weights": (*front, queries, keys),
        "output": (*front, queries, 13),
        "return": (*front, queries, 13),
    }
    made = [made for line in x_ray.lines for made in line.made if made.name in true]

    assert x_ray.error is None
    assert {name for name, _ in made} >= {"queries", "keys", "values", "valid_lens", "return"}
    assert made == [(name, true[name]) for name, _ in made]


@each_size
@pytest.mark.parametrize("heads", [(), (19,)], ids=["one head", "heads"])
@pytest.mark.parametrize("name", LAYERS)
def test_the_scores_of_our_layers_are_seen(name, heads, batch, queries, keys, size):
    score = LAYERS[name](size).score
    x_ray = trace(score, *attention_inputs(batch, queries, keys, size, heads)[:2])

    assert x_ray.shapes["queries"] == (batch, *heads, queries, size)
    assert x_ray.shapes["return"] == (batch, *heads, queries, keys)


@each_size
def test_the_lines_of_our_functions_show_the_shapes_they_make(batch, queries, keys, size):
    q, k, v = attention_inputs(batch, queries, keys, size)
    scores, lengths = torch.randn(batch, queries, keys), torch.ones(batch)

    def returned(function, *inputs):
        return trace(function, *inputs).shapes["return"]

    for score in (dot_score, scaled_dot_score, gaussian_score):
        assert returned(score, q, k) == (batch, queries, keys)
    assert returned(bilinear_score, q, k, torch.ones(size, size)) == (batch, queries, keys)
    assert returned(additive_score, q, k, torch.ones(size)) == (batch, queries, keys)
    assert returned(masked_softmax, scores, lengths) == (batch, queries, keys)
    assert returned(pool, scores, v) == (batch, queries, 13)
    assert returned(kernel_pool, q, k, v, 2.0) == (batch, queries, 13)


@each_size
def test_every_pair_of_the_additive_score_is_seen(batch, queries, keys, size):
    x_ray = trace(Additive(size, size, 17), *attention_inputs(batch, queries, keys, size))

    assert x_ray.shapes["features"] == (batch, queries, keys, 17)
    assert x_ray.shapes["self.attention_weights"] == (batch, queries, keys)
    parts = {shape for line in x_ray.lines for _, shape in line.parts}
    assert parts >= {(batch, queries, 1, 17), (batch, 1, keys, 17), (batch, queries, keys, 1)}


def double(x):
    return x * 2


def loop(items, once=False):
    total = items[0]
    for item in items:
        total = torch.cat([total, item])
        if once:
            break
    return total


def test_a_loop_shows_its_first_pass_and_how_many_there_were():
    x_ray = trace(loop, torch.ones(3, 2))

    assert notes(found(x_ray, "for item")) == ["item (2,)", "3 passes"]
    assert found(x_ray, "torch.cat").passes == 3
    assert notes(found(x_ray, "torch.cat"))[0] == "total (4,), in the last pass (8,)"
    assert "1 pass" in notes(found(trace(loop, torch.ones(3, 2), once=True), "for item"))


def test_a_branch_that_is_not_taken_has_no_shapes():
    x_ray = trace(loop, torch.ones(3, 2))

    assert notes(found(x_ray, "break")) == ["not run"]
    assert found(x_ray, "break").passes == 0
    assert "not run" not in notes(found(trace(loop, torch.ones(3, 2), once=True), "break"))


def test_an_exception_stands_at_its_line_with_the_shapes_so_far():
    x_ray = trace(Small(), torch.ones(2, 7, 5), torch.ones(3))

    assert isinstance(x_ray.error, RuntimeError)
    assert notes(found(x_ray, "sums * mask"))[0].startswith("RuntimeError: The size of tensor a")
    assert notes(found(x_ray, "sums = self.project"))[0] == "sums (2, 7)"
    assert found(x_ray, "return sums").made == ()


def test_an_exception_inside_what_is_followed_stands_there():
    x_ray = trace(Small(), torch.ones(2, 7, 4), follow="project")

    assert notes(found(x_ray, "sums = self.project")) == ["RuntimeError in project: Linear.forward"]
    assert "cannot be multiplied" in " ".join(notes(found(x_ray, "F.linear(")))


def test_a_call_that_does_not_fit_the_arguments_stands_at_the_first_line():
    x_ray = trace(Small(), torch.ones(2, 7, 5), torch.ones(1), 3)

    assert isinstance(x_ray.error, TypeError)
    assert "positional arguments" in " ".join(notes(found(x_ray, "def forward")))


def test_an_address_in_an_exception_is_not_shown():
    def fail(x):
        raise ValueError(f"{object()} for {x.dim()} axes is no tensor")

    assert "at 0x…> for 1 axes is no tensor" in repr(trace(fail, torch.ones(1)))


@pytest.mark.parametrize("text", ["word " * 1000, "x" * 5000, "\n".join("y" * 1000)])
def test_of_a_long_exception_only_the_beginning_is_shown(text):
    def fail(x):
        raise ValueError(text, x)

    shown = [text for line in trace(fail, torch.ones(1)).lines for text in notes(line)]
    said = "".join(shown)
    assert "ValueError: " in said
    assert said.endswith("…")
    assert 200 < len(said) <= len("x (1,)") + 301


def test_an_exception_of_300_characters_is_shown_whole():
    text = "z" * (300 - len("ValueError: "))

    def fail(x):
        raise ValueError(text + "z" * (len(x) - 1))

    said = repr(trace(fail, torch.ones(1)))
    assert said.count("z") == len(text) + 1  # one is in the source
    assert "…" not in said
    assert repr(trace(fail, torch.ones(2))).endswith("…")


MADE = []


def test_an_exception_holds_no_tensors():
    def layer(x):
        made = x + 1
        MADE.append(weakref.ref(made))
        raise ValueError("too late")

    x_ray = trace(layer, torch.ones(2))

    assert str(x_ray.error) == "too late"
    assert MADE[0]() is None


def test_an_interrupt_is_not_an_exception_of_the_layer():
    def interrupted(x):
        raise KeyboardInterrupt(x)

    code = interrupted.__code__
    with pytest.raises(KeyboardInterrupt):
        trace(interrupted, torch.ones(1))
    assert interrupted.__code__ is code


def test_only_the_first_call_of_what_is_followed_is_shown():
    def half(x):
        return x[::2]

    def layer(x):
        return half(half(x))

    text = repr(trace(layer, torch.ones(8), follow="half"))

    assert "half, the first of 2 calls\ndef half(x):        x (8,)\n" in text
    assert text.count("def half") == 1


def test_a_module_is_followed_and_its_twin_is_not():
    x_ray = trace(Additive(5, 5, 17), *attention_inputs(2, 3, 7, 5), follow="W_k")

    assert "W_k: Linear.forward" in repr(x_ray)
    assert found(x_ray, "def forward(self, input").made == (("input", (2, 7, 5)),)


def test_all_modules_are_followed_on_request():
    shown = repr(trace(Additive(5, 5, 17), *attention_inputs(2, 3, 7, 5), follow=True))

    assert all(f"{name}: Linear.forward" in shown for name in ("W_q", "W_k", "w_v"))


def test_what_is_followed_but_not_called_is_said():
    x_ray = trace(loop, torch.ones(3, 2), follow="found")

    assert repr(x_ray).endswith("\n\nNot called: found.")


def test_a_name_that_nothing_has_is_refused():
    with pytest.raises(ValueError, match=r"follow must name .* got 'W_z'; inside it are .*W_k"):
        trace(make("additive"), torch.ones(1), follow=["W_z"])


def test_that_error_lists_methods_and_functions_too():
    with pytest.raises(ValueError, match=r"inside it are self_attn, .*, _sa_block, _ff_block$"):
        trace(nn.TransformerEncoderLayer(4, 2), torch.ones(1), follow="zz")
    with pytest.raises(ValueError, match=r"got 'zz'; inside it are double$"):
        trace(lambda x: double(x).sum(), torch.ones(1), follow="zz")
    with pytest.raises(ValueError, match=r"got 'zz'; inside it are none$"):
        trace(loop, torch.ones(1), follow="zz")


@pytest.mark.parametrize("follow", [3, [3], None, ["double", 3]])
def test_what_is_no_name_cannot_be_followed(follow):
    message = f"follow must be a name or several names, got {follow!r}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        trace(double, torch.ones(1), follow=follow)


@pytest.mark.parametrize("thing", [torch.tanh, len, 3, nn.Linear])
def test_what_is_not_written_in_python_is_refused(thing):
    with pytest.raises(TypeError, match="what can be traced is Python whose source can be read"):
        trace(thing, torch.ones(1))


def test_a_function_without_a_source_is_refused():
    scope = {}
    exec("def hidden(x): return x", scope)  # noqa: S102 - the point of the test

    with pytest.raises(TypeError, match="hidden has no source that can be read"):
        trace(scope["hidden"], torch.ones(1))


def test_a_source_that_was_changed_since_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "changing.py"
    file.write_text("def layer(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    import changing  # noqa: PLC0415 - it is made here

    assert trace(changing.layer, torch.ones(3)).error is None
    for text in ("def layer(x):\n    return x + 2.5\n", "\ndef layer(x):\n    return x + 1\n", "("):
        file.write_text(text)
        with pytest.raises(TypeError, match="layer is not what its source says now"):
            trace(changing.layer, torch.ones(3))


def pre(x_ray):
    """The text that a page shows."""
    inside = re.search(r"<pre.*?>(.*)</pre>", x_ray._repr_html_(), re.DOTALL)[1]
    return html.unescape(re.sub(r"<[^>]+>", "", inside))


def test_the_page_shows_the_text():
    def layer(x):
        y = x[x < 3]  # <b> & "so"
        return y @ torch.ones(7)

    x_ray = trace(layer, torch.ones(2, 5), sizes={"batch": 2})

    assert isinstance(x_ray, Trace)
    assert pre(x_ray) == repr(x_ray)
    assert "<b> & " in repr(x_ray)
    assert '<span class="error note">RuntimeError' in x_ray._repr_html_()
    assert '<pre role="group" tabindex="0" aria-label="Shapes in layer">' in x_ray._repr_html_()


def test_no_name_is_read_as_markup():
    x_ray = trace(lambda x: x + 1, torch.ones(2), sizes={"<b>": 2})

    assert pre(x_ray) == repr(x_ray)
    assert "<lambda>\n" in repr(x_ray)
    assert "Sizes: <b>=2." in repr(x_ray)


def test_it_loads_no_compiler_and_no_notebook():
    program = (
        "import torch\nfrom attnbook.tracing import trace\ntrace(torch.nn.ReLU(), torch.ones(2))"
    )
    loaded = modules_after(program)

    assert "attnbook.tracing" in loaded
    assert not loaded & {"torch._dynamo", "IPython", "matplotlib"}


def test_the_page_loads_nothing():
    assert not re.search(r"url\(|@import|https?:", STYLE)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_the_colours_are_legible_in_both_themes(theme):
    colours = dict(re.findall(r"(--\w+): (#\w{6});", STYLE.split("\nhtml[")[theme]))

    assert set(colours) == {"--ink", "--quiet", "--made", "--error", "--ground"}
    ground = colours.pop("--ground")
    assert contrast(ground, (LIGHT_PAGE, DARK_PAGE)[theme]) < 1.3
    assert all(contrast(colour, ground) >= 4.5 for colour in colours.values())
