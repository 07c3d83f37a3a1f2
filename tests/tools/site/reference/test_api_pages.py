"""The pages of the API: the index, tables of shapes, and links to what explains a name."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace

import attnbook
from attnbook.figures import AttentionFigure
from tools.site.reference.api import call, imports, rooms
from tools.site.reference.api_entries import (
    axes,
    check_explained,
    logger,
    shapes,
    shorten_signature,
    write_entry,
)

NAMES = [name for room in rooms() for name in room.names]
LINK = re.compile(r'<li><p><a class="reference internal" href="(api-[\w-]+)\.html#([\w.]+)"')
REQUIRED = {
    "MultiHeadAttention": ["key_size", "query_size", "value_size", "num_hiddens", "num_heads"],
    "MLPAttention": ["key_size", "query_size", "units"],
    "masked_softmax": ["scores"],
}


def text_of(html):
    """The text of a piece of HTML, in one line."""
    return " ".join(re.sub(r"<[^>]*>", "", html).split())


def entry(site, name):
    """The HTML of an entry of the built book."""
    (page,) = [room.page for room in rooms() if name in room.names]
    html = (site / f"{page}.html").read_text("utf-8")
    return html.partition(f'id="{name}"')[2].partition('<dl class="py ')[0]


def test_the_index_lists_every_public_name_once_and_leads_to_its_page(site):
    html = (site / "chapters" / "api.html").read_text("utf-8")
    listed = [(f"chapters/{page}", name) for page, name in LINK.findall(html)]
    assert listed == [(room.page, name) for room in rooms() for name in room.names]
    assert len({*NAMES}) == len(NAMES) > len(attnbook.__all__)


SECTIONS = [names for room in rooms() for names in room.sections.values()]


def test_a_line_for_each_module_imports_its_names_and_says_that_there_are_more():
    for names in SECTIONS:
        for line in imports(names):
            exec(line.removesuffix(", …"), {})  # noqa: S102 - our own line
    assert imports(["a.b.C", "a.d", "a.b.e"]) == ["from a.b import C, e", "from a import d"]
    assert imports(["a.b", "a.c", "a.d"]) == ["from a import b, c, …"]


def test_the_index_shows_how_names_are_imported_and_a_layer_is_called(site):
    text = text_of((site / "chapters" / "api.html").read_text("utf-8"))
    for names in SECTIONS:
        for line in imports(names):
            assert line in text
    for layer in (attnbook.DotProductAttention, attnbook.AdditiveAttention):
        given = inspect.signature(layer.forward).replace(return_annotation=inspect.Signature.empty)
        plain = [it.replace(annotation=it.empty) for it in given.parameters.values()][1:]
        assert f"layer{given.replace(parameters=plain)}" in text


def test_a_required_argument_has_no_default_and_an_entry_links_what_explains_it(site):
    for name, required in REQUIRED.items():
        arguments = call(f"attnbook.{name}").strip("()").split(", ")
        assert [it for it in arguments if "=" not in it and it != "*"] == required
    signature = text_of(entry(site, "attnbook.MultiHeadAttention").partition("</dt>")[0])
    for argument in REQUIRED["MultiHeadAttention"]:
        assert f"{argument}: int," in signature
    assert "dropout: float = 0.0," in signature
    explained = entry(site, "attnbook.masked_softmax").partition("Explained in: ")[2]
    assert 'href="masked-softmax.html#' in explained


def test_the_table_of_shapes_has_each_tensor_and_what_is_returned():
    scores = "(batch, *heads, queries, keys)"
    found = {argument: (names, dtype) for argument, names, dtype in shapes(attnbook.masked_softmax)}
    assert found["scores"] == (scores, "float")
    assert found["valid_lens"] == ("(batch,) or (batch, queries)", "whole numbers, or None")
    assert found[""] == (scores, "float")
    assert {*found} - {""} <= {*inspect.signature(attnbook.masked_softmax).parameters}
    assert "causal" not in found
    assert [argument for argument, *_ in shapes(AttentionFigure.attention_weights)] == [""]


def test_axes_are_shown_as_a_shape_and_a_signature_leaves_them_to_the_table():
    assert axes("... keys") == "(…, keys)"
    assert axes("#batch *ones num_keys") == "(batch or 1, *ones, num_keys)"
    lens = "Int[Tensor, 'batch'] | Int[Tensor, 'batch queries']"
    assert shorten_signature(f"(lens: {lens})") == "(lens: Tensor)"
    text = "(q: Float[Tensor, 'batch *heads'], *, mask: Bool[Tensor, \"keys\"] | None = None)"
    assert shorten_signature(text) == "(q: Tensor, *, mask: Tensor | None = None)"
    assert shorten_signature(None) is None


DOCSTRING = """Average.

Source: someone (2015),
on two lines.

Raises:
    ValueError: it is wrong.

Example:
    >>> 1 + 1
    2

Args:
    x: a number.

More about it."""


def test_the_parts_of_an_entry_have_one_order(tmp_path):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "explained.toml").write_text(
        '"attnbook.f" = "masks#a-window"\n'
        'see_also = [["attnbook.f", "attnbook.pool"], ["a.b", "a.c"]]'
    )

    def average(x): ...

    average.__annotations__ = {"x": 'Float[Tensor, "batch"]'}
    lines = DOCSTRING.splitlines()
    noted = []
    app = SimpleNamespace(srcdir=tmp_path, env=SimpleNamespace(note_dependency=noted.append))
    write_entry(app, "function", "attnbook.f", average, lines)
    assert noted == ["chapters/explained.toml"]  # when it changes, Sphinx reads the page again
    parts = [
        "Average.", "More about it.", "Args:", "    x: a number.", "   * - ``x``", "Example:",
        "    >>> 1 + 1", "Raises:", "Source: someone (2015),", "on two lines.",
        ":explained:`masks#a-window`", "See also: :py:obj:`~attnbook.pool`",
    ]  # fmt: skip
    assert [line for line in lines if line in parts] == parts
    assert "     - ``(batch,)``" in lines


PAGE = """# API: layers

.. autofunction:: attnbook.pool
.. autofunction:: attnbook.dot_score
"""
EXPLAINED = """"attnbook.pool" = "second#a-section"
"attnbook.no_such_name" = "second#a-section"
see_also = [["attnbook.pool", "attnbook.other"]]
"""


def test_a_name_without_a_section_that_explains_it_is_warned_of(tmp_path, monkeypatch):
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "api-layers.md").write_text(PAGE)
    (tmp_path / "chapters" / "explained.toml").write_text(EXPLAINED)
    (tmp_path / "_toc.yml").write_text("format: jb-book\nroot: chapters/api-layers\n")
    config = SimpleNamespace(external_toc_path="_toc.yml")
    lines = []
    monkeypatch.setattr(logger, "warning", lambda text, *values: lines.append(text % values))
    check_explained(SimpleNamespace(srcdir=tmp_path, config=config))
    assert sorted(line.partition(" names ")[2] for line in lines) == [
        "attnbook.no_such_name, which no page of the API lists",
        "attnbook.other, which no page of the API lists",
        "no section that explains attnbook.dot_score",
    ]
