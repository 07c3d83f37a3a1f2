"""What every figure is asked: its files need no others, and a page without a kernel can show it."""

from __future__ import annotations

import re

import pytest

from attnbook import figures
from tests.figures.alignment import cases as alignment
from tests.figures.attention.cases import toy, traits
from tests.figures.online import cases as online
from tests.figures.pooling.cases import CASES as POOLING
from tests.figures.position.cases import CASES as POSITION
from tests.figures.prediction.cases import CASES as PREDICTION
from tests.figures.scaling.cases import by_hand
from tests.figures.shape.cases import heads
from tools.site.live import check_mountable

KINDS = [getattr(figures, name) for name in figures.__all__]
EXAMPLES = {
    "alignment": lambda: alignment.figure_of("failing"),
    "attention": lambda: toy().figure(),
    "code": lambda: figures.CodeTask("softmax-by-hand"),
    "cost": figures.CostFigure,
    "heads": lambda: figures.HeadsFigure(caption="A caption."),
    "mask": lambda: figures.MaskFigure(caption="A caption."),
    "online": lambda: online.figure_of("the chapter's"),
    "pooling": POOLING["few"],
    "position": POSITION["sinusoidal"],
    "position, rotary": POSITION["rotary"],
    "prediction": PREDICTION["choice"],
    "scaling": by_hand,
    "shape": lambda: figures.ShapeFigure(heads()),
    "translator": lambda: figures.TranslatorFigure(caption="A caption."),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_shipped_module_needs_no_other_file(kind):
    text = str(kind._esm)
    assert not re.search(r"^\s*(import\b|export .* from ['\"])", text, flags=re.MULTILINE)
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"@import|url\(", str(kind._css))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_page_without_a_kernel_can_mount_it(name):
    figure = EXAMPLES[name]()
    check_mountable({"model_name": "AnyModel", "state": figure.get_state()}, repr(figure))
    assert traits(figure)["kind"] == name.partition(",")[0]


def test_each_kind_has_an_example():
    assert {type(make()).__name__ for make in EXAMPLES.values()} == {*figures.__all__}
