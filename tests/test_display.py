"""What chapters show has the right numbers, also as text, and is legible in both themes."""

from __future__ import annotations

import importlib
import re
import sys
import xml.etree.ElementTree as ET

import pytest
import torch
from matplotlib.textpath import TextPath

from attnbook import Attention, masked_softmax
from attnbook.colors import mix
from attnbook.display import (
    BLUE,
    CELL_STYLE,
    ON_DARK,
    ON_LIGHT,
    STRONG,
    STRONGEST,
    choose_device,
    draw,
    heatmap,
    new_figure,
    show_source,
)
from tests.tools.pictures.test_draw import PHONE_COLUMN, contrast

SVG = "{http://www.w3.org/2000/svg}"
WEIGHTS = torch.tensor([[0.25, 0.75, 0.0], [1.0, 0.0, 0.0]])


def drawing(picture):
    return ET.fromstring(picture.svg)  # noqa: S314 - our own file


@pytest.mark.parametrize(
    ("variable", "there", "expected"),
    [("cpu", True, "cpu"), ("cuda", True, "cuda"), (None, False, "cpu"), (None, True, "cuda")],
)
def test_the_device_is_that_of_the_variable_or_a_gpu_if_there_is_one(
    variable, there, expected, monkeypatch
):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.delenv("ATTNBOOK_DEVICE", raising=False)
    if variable is not None:
        monkeypatch.setenv("ATTNBOOK_DEVICE", variable)
    assert choose_device().type == expected


def test_an_unknown_or_missing_device_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setenv("ATTNBOOK_DEVICE", "tpu")
    with pytest.raises(ValueError, match="must be cpu or cuda, got 'tpu'"):
        choose_device()
    monkeypatch.setenv("ATTNBOOK_DEVICE", "cuda")
    with pytest.raises(RuntimeError, match="torch finds no CUDA device"):
        choose_device()


# Sources


def test_sources_are_shown_in_order_with_the_first_line_of_their_docstrings():
    source = repr(show_source(Attention.forward, masked_softmax))

    assert source.index("def forward") < source.index("def masked_softmax")
    assert '"""Turn scores into attention weights, giving padding exactly zero."""' in source
    assert "return weigh(scores, visible_keys(" in source
    assert "Returns:" not in source
    assert show_source(masked_softmax)._repr_markdown_().startswith("```python\ndef masked")


def test_shown_source_is_still_python_without_comments_for_linters_and_type_checkers():
    def two_docstrings():
        """Say something.

        And more of it.
        """

        def inner():
            """
            Begin late.

            At length.
            """  # noqa: D212
            return str(1)  # type: ignore[no-any-return]

        return inner()  # one more

    source = repr(show_source(two_docstrings))
    scope = {}
    exec(source, scope)  # noqa: S102 - the point of the test

    assert scope["two_docstrings"]() == "1"
    for text in ("And more", "At length", "noqa", "type: ignore"):
        assert text not in source
    for text in ('"""Begin late."""', "return str(1)\n", "# one more"):
        assert text in source


ONE_LINE = {
    "and more": 'def one(): """Say it.\n\n    At length.\n    """; return 7  # seven',
    "in two alphabets": 'def one(é="é"): """Say it.\n\n    At lengthé."""; return 7',
    "indented": 'def one(): # noqa: E501\n    """Say it.\n\n    At length.\n    """; return 7',
}


@pytest.mark.parametrize("text", ONE_LINE.values(), ids=ONE_LINE)
def test_other_code_on_the_line_of_a_docstring_is_shown(text, tmp_path, monkeypatch):
    (tmp_path / "written.py").write_text(text + "\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "written", raising=False)
    original = importlib.import_module("written").one
    source = repr(show_source(original))
    scope = {}
    exec(source, scope)  # noqa: S102 - the point of the test
    assert scope["one"].__doc__ == "Say it."
    assert scope["one"]() == original()
    assert "length" not in source
    assert ("# seven" in source) == ("# seven" in text)


# Heatmaps


def test_the_text_of_a_heatmap_has_its_numbers():
    picture = heatmap(WEIGHTS, query_labels=["a", "b"], title="Where queries attend")

    assert repr(picture).splitlines() == [
        "Where queries attend",
        "   key 0  key 1  key 2",
        "a  0.250  0.750      0",
        "b  1.000      0      0",
    ]
    assert "a: 0.250, 0.750, 0; b: 1.000, 0, 0" in picture.alt
    # An exact zero is written differently from a small number.
    small = heatmap(torch.tensor([[1e-9, 0.0]]))
    assert repr(small).splitlines()[-1].split()[-2:] == ["0.000", "0"]


def test_every_number_of_a_heatmap_is_legible_on_a_light_and_on_a_dark_page():
    assert dict(re.findall(r"--(\w+): ([^;]+);", CELL_STYLE.split("@media")[0])) == ON_DARK
    for weight in torch.linspace(0, 1, 201).tolist():
        ink = "top" if weight >= STRONGEST else "high" if weight >= STRONG else "low"
        for colors in (ON_LIGHT, ON_DARK):
            assert contrast(colors[ink], mix(colors["weight"], weight, colors["ground"])) >= 4.5


def test_a_cell_is_as_strong_as_its_weight_on_a_ground_of_its_own():
    picture = heatmap(torch.tensor([[0.125, 0.5, 0.875, 1.0]]))
    for strength in ("; opacity: 0.125", "; opacity: 0.5", "; opacity: 0.875", '"'):
        assert f"fill: var(--weight, {BLUE}){strength}" in picture.svg
    for name, times in {"ground": 1, "low": 2, "high": 1, "top": 1}.items():
        assert picture.svg.count(f"var(--{name}, {ON_LIGHT[name]})") == times


@pytest.mark.parametrize("count", [1, 8, 9])
def test_the_text_of_a_heatmap_has_11_px_at_least_on_a_phone(count):
    picture = heatmap(torch.full((2, count), 0.125))
    html = picture._repr_html_()
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', picture.svg)[1])
    least = re.search(r"min-width: (\d+)px", html)
    pixels = max(min(PHONE_COLUMN, width * 4 / 3), float(least[1]) if least else 0)
    assert 12 * pixels / width >= 10.95
    assert bool(least) == ('tabindex="0" style="overflow-x: auto"' in html) == (count > 8)


@pytest.mark.parametrize("count", range(1, 11))
def test_numbers_and_names_of_columns_never_touch(count):
    picture = heatmap(torch.full((2, count), 0.888))
    ends: dict[str, float] = {}
    for text in drawing(picture).iter(f"{SVG}text"):
        if re.match(r"key \d|0\.", text.text):
            middle, row = float(text.get("x")), text.get("y")
            half = TextPath((0, 0), text.text, 12).get_extents().width / 2
            assert middle - half > ends.get(row, 0) + 2
            ends[row] = middle + half
    assert len(ends) == 3


def test_a_picture_has_nothing_that_differs_between_processors():
    def picture(noise):
        figure, axes = new_figure(width=2, height=1)
        axes.plot([0, 1, 2], [noise, 0.5 + noise, 1 - noise])
        axes.set(ylim=(0, 1))
        return draw(figure, alt="a line").svg

    assert picture(1e-9) == picture(-1e-9)
    assert not re.search(r"[ \"(]-0(\.0*)?[ \"\n]", picture(-1e-9))
    assert not re.search(r"\d\.\d{4}", picture(-1e-9))


@pytest.mark.parametrize(("columns", "numbered"), [(10, True), (11, False)])
def test_the_numbers_of_a_wide_heatmap_are_only_in_its_description(columns, numbered):
    picture = heatmap(torch.full((2, columns), 0.125))
    drawn = [text.text for text in drawing(picture).iter(f"{SVG}text")]
    assert drawn.count("0.12") == (2 * columns if numbered else 0)
    assert picture._repr_html_().count("0.125") >= 2 * columns
    assert repr(picture).count("0.125") == 2 * columns
    # Without numbers, a scale says what the shades mean.
    assert ("weight 0" in drawn) != numbered


# Pictures


def line_picture(alt="a line", **labels):
    figure, axes = new_figure(width=4, height=1)
    axes.plot([0, 1], [0, 1], label="a line", clip_on=True)
    axes.legend()
    axes.set(**labels)
    return draw(figure, alt=alt)


def test_all_text_of_a_picture_takes_the_color_and_font_of_the_page():
    picture = line_picture("A line <that> rises", xlabel="across", ylabel="up", title="title")

    styles = {text.text: text.get("style") for text in drawing(picture).iter(f"{SVG}text")}
    assert {"a line", "across", "up", "title"} <= {*styles}
    assert all("fill: currentColor" in style for style in styles.values())
    assert "font-family" not in picture.svg
    # It has no rule for other elements of its page.
    for each in (picture, heatmap(WEIGHTS)):
        assert "<style" not in each.svg
        assert drawing(each).get("stroke-linejoin") == "round"
    assert 'aria-label="A line &lt;that&gt; rises"' in picture._repr_html_()


def test_drawing_twice_gives_the_same_bytes_and_another_picture_shares_no_ids():
    one, again, other = (line_picture(title=title).svg for title in ("one", "one", "two"))
    assert one == again
    names, others = (set(re.findall(r' id="([^"]+)"', svg)) for svg in (one, other))
    assert names
    assert names & others == set()


def test_a_label_is_always_plain_text():
    labels = ["$x$", "a_b", "<script>", "你好"]
    picture = heatmap(torch.ones(1, 4), key_labels=labels, title="<script>")

    texts = ["".join(text.itertext()) for text in drawing(picture).iter(f"{SVG}text")]
    assert [texts.count(label) for label in labels] == [1, 1, 2, 1]
    assert "<script>" not in picture._repr_html_()


@pytest.mark.parametrize(
    ("weights", "labels", "sentence"),
    [
        (torch.tensor([[0.5, 1.5]]), {}, r"must lie in \[0, 1\], got 1.5 at index \(0, 1\)"),
        (torch.tensor([[float("nan")]]), {}, "got nan"),
        (torch.zeros(33, 2), {}, r"1 to 32 rows and columns, got \[33, 2\]"),
        (WEIGHTS[None], {}, r"\(num_queries, num_keys\), got \(1, 2, 3\)"),
        (WEIGHTS, {"query_labels": ["a"]}, "query_labels must name"),
        (WEIGHTS, {"key_labels": list("abcd")}, "key_labels must name"),
    ],
)
def test_invalid_weights_are_refused_by_a_heatmap(weights, labels, sentence):
    with pytest.raises(ValueError, match=sentence):
        heatmap(weights, **labels)
