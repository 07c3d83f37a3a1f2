"""The colours of figures, plots and pictures: contrast, and distances for all colour visions."""

from __future__ import annotations

import re
from itertools import combinations, pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex

from attnbook import figures
from attnbook.colors import DARK, LIGHT, css_variables, mix
from attnbook.colors import KEYS as KEY_COLORS
from attnbook.display import BLUE
from tests.tools.pictures.test_draw import DARK_PAGE, LIGHT_PAGE, contrast
from tools import ROOT
from tools.pictures import svg_shapes
from tools.site.publish.cards import WEIGHTS

PAGES = {"light": LIGHT_PAGE, "dark": DARK_PAGE}
KEYS = [f"--key-{i}" for i in range(8)]
each_theme = pytest.mark.parametrize("theme", PAGES)

# Machado, Oliveira and Fernandes (2009), severity 1.0, on linear RGB.
SIGHTS = {
    "usual": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
# A just noticeable difference is about 2.3; colours of small areas that do not touch can be
# distinguished from about 10 on. Neighbouring keys, whose parts touch, must differ more.
APART, NEIGHBOURS_APART = 12, 25


def colours(theme: str) -> dict[str, str]:
    """The variables of a theme."""
    return {f"--{name}": value for name, value in (LIGHT if theme == "light" else DARK).items()}


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE Lab under D65 of linear RGB."""
    to_xyz = np.array(
        [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
         [0.0193339, 0.1191920, 0.9503041]]
    )  # fmt: skip
    x, y, z = (
        np.cbrt(t) if t > 216 / 24389 else (24389 / 27 * t + 16) / 116
        for t in to_xyz @ rgb / [0.95047, 1, 1.08883]
    )
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def distance(first: str, second: str, sight: str = "usual") -> float:
    """CIE76 distance of two colours for this colour vision."""
    seen = [lab(np.clip(np.array(SIGHTS[sight]) @ linear(c), 0, 1)) for c in (first, second)]
    return float(np.linalg.norm(seen[0] - seen[1]))


@each_theme
@pytest.mark.parametrize(
    "name", [*KEYS, "--key-first", "--key-last", "--ink-blue", "--ink", "--line"]
)
def test_the_colours_of_a_picture_have_contrast_with_the_page(theme, name):
    assert contrast(colours(theme)[name], PAGES[theme]) >= 3


@each_theme
@pytest.mark.parametrize("name", ["--ink", "--quiet", "--error", *KEYS])
def test_text_has_contrast_with_the_page_and_with_the_grey_ground(theme, name):
    named, style = colours(theme), (ROOT / "tools/site/static/site.css").read_text("utf-8")
    (share,) = re.findall(r"color-mix\(in srgb, var\(--paint\) (\d+)%, var\(--ink\)\)", style)
    text = mix(named[name], int(share) / 100, named["--ink"]) if name in KEYS else named[name]
    assert all(contrast(text, ground) >= 4.5 for ground in (PAGES[theme], named["--ground"]))


@each_theme
@pytest.mark.parametrize("sight", SIGHTS)
def test_colours_of_keys_differ_and_those_of_neighbours_and_of_the_ends_differ_more(theme, sight):
    named = colours(theme)
    pairs = dict.fromkeys(combinations(KEYS, 2), APART)
    pairs |= dict.fromkeys(pairwise(KEYS), NEIGHBOURS_APART) | {("--key-first", "--key-last"): 40}
    far = {(a, b): distance(named[a], named[b], sight) for a, b in pairs}
    assert {pair: apart for pair, apart in far.items() if apart < pairs[pair]} == {}


SCALE = [0, 0.25, 0.5, 0.75, 1]


@each_theme
@pytest.mark.parametrize("sight", SIGHTS)
def test_quarters_of_a_weight_differ_and_a_larger_weight_has_more_contrast(theme, sight):
    named = colours(theme)
    shades = [mix(named["--weight"], weight, named["--ground"]) for weight in SCALE]
    assert all(distance(*pair, sight) >= 10 for pair in pairwise(shades))
    contrasts = [contrast(shade, named["--ground"]) for shade in shades]
    assert contrasts == sorted(contrasts)


@each_theme
@pytest.mark.parametrize("sight", SIGHTS)
def test_signs_differ_from_each_other_and_halves_of_either_from_zero(theme, sight):
    ground, *ends = (colours(theme)[name] for name in ("--ground", "--negative", "--positive"))
    assert distance(*ends, sight) >= 40
    halves = [mix(end, 0.5, ground) for end in ends]
    assert distance(*halves, sight) >= NEIGHBOURS_APART
    assert all(distance(half, ground, sight) >= NEIGHBOURS_APART for half in halves)


def test_figures_plots_and_pictures_take_the_same_colours():
    for name in figures.__all__:
        css = str(getattr(figures, name)._css)
        assert css.startswith(css_variables(".attnbook-figure"))
        assert not re.search(r"#[0-9a-f]{3}", css.removeprefix(css_variables(".attnbook-figure")))
    assert LIGHT.keys() == DARK.keys()
    assert [*svg_shapes.KEY_COLORS] == [*KEY_COLORS[:4]]
    assert LIGHT["weight"] == BLUE
    ends = [to_hex(WEIGHTS(end)) for end in (0.0, 1.0)]
    assert ends == [LIGHT["ground"], LIGHT["weight"]]
