"""The pictures in img/: they are up to date, self-contained and readable on both pages."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET
from typing import NamedTuple

import pytest

from attnbook.colors import DARK, LIGHT
from tools import BUDGETS, ROOT
from tools.pictures import draw
from tools.pictures.arithmetic import format_number

DRAWN = (
    "additive-score blocks broadcast favicon heads heads-that-copy logo lookup "
    "marks padding rooms seeing transformer-block translator"
).split()
SVG = "{http://www.w3.org/2000/svg}"
LIGHT_PAGE, DARK_PAGE = "#ffffff", "#14181e"
PHONE_COLUMN = 328  # px of text column on a phone of 360 px
GLYPH = 0.58  # of an em, on average, in DejaVu Sans, the widest of the usual system fonts
CELL = r"M([\d.]+) ([\d.]+)h([\d.]+)v18h-[\d.]+z"
WEIGHT = r"M([\d.]+) ([\d.]+)v-([\d.]+)h[\d.]+V[\d.]+z"  # its y is its foot
each_picture = pytest.mark.parametrize("name", DRAWN)


def contrast(first: str, second: str) -> float:
    """WCAG's contrast ratio of two "#rrggbb"."""

    def luminance(color: str) -> float:
        parts = channels(color)
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def channels(color: str) -> list[float]:
    return [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]


def inverted(color: str) -> str:
    """A colour of a picture on a dark page of the site, by the filter of its style sheet."""
    style = (ROOT / "tools" / "site" / "static" / "site.css").read_text("utf-8")
    (amount,) = map(float, re.findall(r"invert\(([\d.]+)\) hue-rotate\(180deg\)", style))
    parts = [amount - (2 * amount - 1) * part for part in channels(color)]
    light = sum(share * part for share, part in zip((0.213, 0.715, 0.072), parts, strict=True))
    turned = (min(1, max(0, 2 * light - part)) for part in parts)
    return "#" + "".join(f"{round(255 * part):02x}" for part in turned)


def picture(name: str) -> ET.Element:
    return ET.parse(ROOT / "img" / f"{name}.svg").getroot()  # noqa: S314 (our own file)


def labels(root: ET.Element) -> list[tuple[ET.Element, ET.Element]]:
    """Each text with its box."""
    groups = [(group, group.find(f"{SVG}rect")) for group in root.iter(f"{SVG}g")]
    return [
        (text, rect)
        for group, rect in groups
        if rect is not None
        for text in group.iter(f"{SVG}text")
    ]


def fills(root: ET.Element, rect: ET.Element) -> list[str]:
    """The colours a box shows: one, or all those of its pattern."""
    fill = rect.attrib["fill"]
    if not fill.startswith("url(#"):
        return [fill]
    pattern = root.find(f".//{SVG}pattern[@id='{fill[5:-1]}']")
    assert pattern is not None
    return [part.attrib["fill"] for part in pattern]


def written(name: str) -> list[str]:
    return [text.text or "" for text in picture(name).iter(f"{SVG}text")]


def numbers(name: str) -> list[str]:
    return [word for word in written(name) if re.fullmatch(r"−?[\d.]*\d", word)]


def parsed(text: str) -> float:
    return float(text.replace("−", "-"))


def dot(left: list[float], right: list[float]) -> float:
    return sum(a * b for a, b in zip(left, right, strict=True))


def edges(rect: ET.Element) -> tuple[float, float, float, float]:
    """A box's left, top, right and bottom."""
    x, y, width, height = (float(rect.attrib[key]) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


Box = tuple[str, ET.Element]


def rows(name: str, left: float = 0, right: float = math.inf) -> list[list[Box]]:
    """The boxes that begin between left and right: rows from the top, each from the left."""
    by_top: dict[float, list[Box]] = {}
    boxes = [(text.text or "", rect) for text, rect in labels(picture(name))]
    for text, rect in sorted(boxes, key=lambda box: edges(box[1])):
        if left <= edges(rect)[0] < right:
            by_top.setdefault(edges(rect)[1], []).append((text, rect))
    return [by_top[top] for top in sorted(by_top)]


def texts(row: list[Box]) -> list[str]:
    return [text for text, _ in row]


def parsed_row(row: list[Box]) -> list[float]:
    return [parsed(text) for text in texts(row)]


class Shape(NamedTuple):
    """A shape without text; `size` is the height of a weight's bar, and the width of any other."""

    x: float
    y: float
    size: float
    color: str


def shapes(name: str, pattern: str, top: float = 0, bottom: float = 1000) -> list[Shape]:
    """The shapes of a kind between two heights: from the top, each row from the left."""
    paths = picture(name).iter(f"{SVG}path")
    matches = ((re.fullmatch(pattern, path.attrib["d"]), path.attrib["fill"]) for path in paths)
    all_shapes = [Shape(*map(float, m.groups()), fill) for m, fill in matches if m]
    return sorted((s for s in all_shapes if top <= s.y < bottom), key=lambda s: (s.y, s.x))


def are_apart(first: tuple[float, ...], second: tuple[float, ...]) -> bool:
    across = first[2] <= second[0] or second[2] <= first[0]
    return across or first[3] <= second[1] or second[3] <= first[1]


def test_drawing_again_gives_the_same_bytes(tmp_path):
    draw.main(tmp_path)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert drawn == {f"{name}.svg": (ROOT / "img" / f"{name}.svg").read_bytes() for name in DRAWN}


@each_picture
def test_a_picture_has_a_title_and_a_description_with_its_numbers(name):
    root = picture(name)
    assert root.attrib["role"] == "img"
    parts = [root.find(f"{SVG}{tag}") for tag in ("title", "desc")]
    assert all(part is not None and part.text for part in parts)
    ids = [part.attrib["id"] for part in parts if part is not None]
    assert root.attrib["aria-labelledby"].split() == ids
    description = root.findtext(f"{SVG}desc") or ""
    described = {number.strip(".") for number in re.findall(r"−?[\d.]*\d", description)}
    assert set(numbers(name)) <= described


@each_picture
def test_a_picture_is_small_and_needs_no_other_file(name):
    text = (ROOT / "img" / f"{name}.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < BUDGETS["kilobytes"]["picture"] * 1000
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"href|<script|<style|<image|@import|@font-face|\son\w+=", text)
    assert set(re.findall(r"url\(([^)]*)\)", text)) <= {"#hatch"}


@each_picture
def test_every_text_has_contrast_to_its_box_and_every_shape_to_both_pages(name):
    root = picture(name)
    pairs = labels(root)
    assert len(pairs) == len(list(root.iter(f"{SVG}text")))
    for text, rect in pairs:
        for fill in fills(root, rect):
            assert contrast(text.attrib["fill"], fill) >= 4.5, text.text
            assert contrast(inverted(text.attrib["fill"]), inverted(fill)) >= 4.5, text.text

    shapes = [shape for tag in ("path", "circle") for shape in root.iter(f"{SVG}{tag}")]
    shapes += root.findall(f"{SVG}rect")
    assert shapes
    for shape in shapes:
        color = shape.attrib.get("stroke", shape.attrib["fill"])
        assert min(contrast(color, page) for page in (LIGHT_PAGE, DARK_PAGE)) >= 3, shape.attrib
        assert contrast(inverted(color), DARK_PAGE) >= 3, shape.attrib


def test_inverted_colours_of_keys_are_nearest_to_those_of_the_same_keys_in_dark_figures():
    names = [f"key-{i}" for i in range(8)]
    for name in names[:4]:  # those of pictures
        seen = inverted(LIGHT[name])
        distances = {each: math.dist(channels(seen), channels(DARK[each])) for each in names}
        assert min(distances, key=distances.get) == name


@each_picture
def test_text_has_twelve_pixels_on_a_phone_and_fits_its_box_which_covers_no_other(name):
    root = picture(name)
    width, size = float(root.attrib["viewBox"].split()[2]), float(root.attrib["font-size"])
    assert size * PHONE_COLUMN / width >= 12 or name == "rooms"  # for contributors on large screens
    for text, rect in labels(root):
        room = float(rect.attrib["x"]) + float(rect.attrib["width"]) - float(text.attrib["x"])
        room *= 1 if text.get("text-anchor") == "start" else 2
        assert len(text.text or "") * size * GLYPH <= room, text.text
    boxes = {edges(rect) for _, rect in labels(root)}
    for first, second in itertools.combinations(boxes, 2):
        assert are_apart(first, second), (first, second)


def test_a_printed_number_has_a_real_minus_sign_and_zero_has_none():
    assert [format_number(number) for number in (-2.5, -0.01, 0.96)] == ["−2.5", "0.0", "1.0"]
