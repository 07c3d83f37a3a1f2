"""Layout and accessibility of figures of every kind, all on one page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import attnbook
from attnbook.costs.generation import LLAMA_3_70B
from attnbook.figures import (
    CacheFigure,
    CostFigure,
    HeadsFigure,
    MaskFigure,
    ScalingFigure,
    TranslatorFigure,
    WritingFigure,
)
from attnbook.figures.cache.bugs import STAYS
from attnbook.figures.shared.base import Figure
from attnbook.masking.interop import MaskRules
from tests.figures.attention.cases import CASES
from tests.figures.attention.drag_handles import moved_figure
from tests.figures.cache.page import FIRST, SECOND
from tests.figures.online.cases import figure_of
from tests.figures.pooling.cases import CASES as POOLING
from tests.figures.position.cases import CASES as POSITION
from tests.figures.prediction.cases import CASES as PREDICTION
from tests.figures.scaling.cases import CASES as SCALING
from tests.figures.shared.page import PAPER, TEXT, harness, layout_problems, open_figure
from tests.figures.story.page import make as story
from tests.figures.story.page import random_stories
from tests.figures.translator.page import HEBREW, LONG, MONTH
from tests.figures.writing.page import RIGHT, STORY
from tests.tools.site.site_checks import JUDGED, OF_LOOK, UNFOLD, axe_findings, change_view

SCORED = attnbook.DotProductAttention()
QUERIES = {"query_labels": ["light east", "north", "south-west"]}


def change(figure: Figure, **traits: Any) -> Figure:
    """Set traits of a figure, and return it."""
    for name, value in traits.items():
        setattr(figure, name, value)
    return figure


FIGURES: dict[str, list[Callable[[], Figure]]] = {
    "attention": [lambda: CASES["additive"]().figure(), lambda: CASES["huge_scores"]().figure()],
    "attention, moved": [
        lambda: moved_figure(SCORED, **QUERIES),
        lambda: moved_figure(SCORED, "scores", **QUERIES),
    ],
    "cache": [
        lambda: CacheFigure(
            bug="rejected_drafts_stay", settings={"drafts": 3, "padding": 2}, step=4
        ),
        lambda: CacheFigure(name="story", text=SECOND, first=FIRST, bug=STAYS, step=4),
    ],
    "cost": [
        lambda: CostFigure(LLAMA_3_70B, length=131_072, batch=256, bytes_each=4),
    ],
    "heads": [
        lambda: HeadsFigure(removed=[(0, 1)], focus=(0, 1)),
        lambda: HeadsFigure(text="abcdefgh" * 4, focus=(0, 0)),
    ],
    "mask": [
        lambda: MaskFigure(24, 32, causal="last", window=10, library="encoder"),
        lambda: MaskFigure(
            goal=MaskRules(6, 6, causal="last", window=3),
            groups=["predicate"],
            written="(q >= k) & (q - k <= 3)",
        ),
    ],
    "online": [lambda: change(figure_of("the most"), step=32)],
    "pooling": [POOLING["far_from_zero"]],
    "position": [POSITION["the largest"], POSITION["rotary"]],
    "prediction": [
        lambda: change(PREDICTION["numbers"](), tried=["0, 0"], done="shown"),
        lambda: change(PREDICTION["choice"](), tried=["(1, 7, 3)"]),
    ],
    "scaling": [lambda: ScalingFigure(*SCALING["the largest"]())],
    "story": [story, lambda: story(**random_stories(1, sentences=8)[0])],
    "translator": [
        lambda: TranslatorFigure(text=LONG, hidden=[*range(13)]),
        lambda: TranslatorFigure(examples=["9. März 1987", HEBREW], hidden=MONTH),
    ],
    "writing": [lambda: WritingFigure(STORY, step=4, right=RIGHT)],
}


CHOOSE_THEME = """([theme, background, color]) => {
    document.documentElement.dataset.theme = theme;
    Object.assign(document.body.style, { background, color });
}"""


@pytest.fixture(scope="module")
def page(browser, serve, tmp_path_factory):
    """A page with figures of all kinds, unfolded: the tab, and the name of each."""
    made = {
        f"{kind}-{index}": make()
        for kind, makers in FIGURES.items()
        for index, make in enumerate(makers)
    }
    for figure in made.values():
        figure.action = "Drag `it`: what happens, and how many of the numbers change?"
        figure.caption = "A caption."
    folder = tmp_path_factory.mktemp("looks")
    (folder / "page.html").write_text(harness([*made.values()]), "utf-8")
    opening = open_figure(browser, f"{serve(folder)}page.html", reduced_motion="reduce")
    with opening as (tab, record):
        tab.evaluate("ready")
        tab.evaluate(UNFOLD)
        yield tab, [*made]
        assert record.complaints == []


def show(tab, width, scheme):
    tab.evaluate(CHOOSE_THEME, [scheme, PAPER[scheme], TEXT[scheme]])
    change_view(tab, width, scheme)


def test_figures_fit_their_column_have_large_enough_text_and_axe_finds_nothing(page, save_picture):
    tab, names = page
    figures = tab.locator("figure[data-attnbook-figure]").all()
    for width, scheme in JUDGED:
        show(tab, width, scheme)
        for name, figure in zip(names, figures, strict=True):
            save_picture(figure, f"{name}-{width}-{scheme}")
            assert layout_problems(figure) == [], (name, width, scheme)
    for width, scheme in reversed(JUDGED):
        show(tab, width, scheme)
        assert axe_findings(tab, None if scheme == "light" else OF_LOOK, last=True) == []
