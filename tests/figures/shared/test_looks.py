"""Layout and accessibility of figures of every kind, all on one page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import attnbook
from attnbook.figures import (
    CostFigure,
    HeadsFigure,
    MaskFigure,
    ScalingFigure,
    ShapeFigure,
    TranslatorFigure,
)
from attnbook.figures.shared.base import Figure
from attnbook.masking.interop import MaskRules
from tests.figures.alignment import cases as alignment
from tests.figures.attention.cases import CASES, Case
from tests.figures.attention.drag_handles import OwnScore, moved_figure
from tests.figures.cost.cases import exact
from tests.figures.online.cases import figure_of
from tests.figures.pooling.cases import CASES as POOLING
from tests.figures.position.cases import CASES as POSITION
from tests.figures.prediction.cases import CASES as PREDICTION
from tests.figures.scaling.cases import CASES as SCALING
from tests.figures.shape.cases import trace_case
from tests.figures.shared.page import PAPER, TEXT, harness, layout_problems, open_figure
from tests.figures.translator.page import HEBREW, LONG, MONTH
from tests.tools.site.site_checks import JUDGED, OF_LOOK, UNFOLD, axe_findings, change_view

SCORED = attnbook.DotProductAttention()
QUERIES = {"query_labels": ["light east", "north", "south-west"]}


def change(figure: Figure, **traits: Any) -> Figure:
    """Set traits of a figure, and return it."""
    for name, value in traits.items():
        setattr(figure, name, value)
    return figure


def many_queries() -> Figure:
    keys, lens = CASES["most_keys"]().keys[:, :64], CASES["most_keys"]().valid_lens // 5
    return Case(SCORED, keys, keys.clone(), keys.clone(), lens).figure()


WRONG = {"numbers": "0, 0", "number": "0", "choice": "(1, 7, 3)"}
USUAL = 2  # figures of each kind in the usual run; with `--full` all
FIGURES: dict[str, list[Callable[[], Figure]]] = {
    "alignment": [
        lambda case=case, date=date, step=step: change(
            alignment.figure_of(case), date=date, step=step
        )
        for case, date, step in (
            ("strings", 4, 7),
            ("book", alignment.LOCALES.index("he"), 6),
            *(("failing", 0, 1), ("wordy", 1, 12), ("nothing", 1, 0)),
        )
    ],
    "attention": [
        *(lambda name=name: CASES[name]().figure() for name in ("additive", "huge_scores")),
        *(lambda name=name: CASES[name]().figure() for name in ("planar", "nearest", "most_keys")),
        many_queries,
    ],
    "attention, moved": [
        lambda: moved_figure(SCORED, **QUERIES),
        lambda: moved_figure(SCORED, "scores", **QUERIES),
        lambda: moved_figure(OwnScore(), **QUERIES),
    ],
    "cost": [
        lambda: CostFigure(exact(), batch=64, queries=4096, keys=4096, size=1024, mode="training"),
        lambda: CostFigure(exact(), layer="dot"),
    ],
    "heads": [
        lambda: HeadsFigure(removed=[(0, 1)], focus=(0, 1)),
        lambda: HeadsFigure(text="abcdefgh" * 4, focus=(0, 0)),
        lambda: HeadsFigure(text="p"),
        lambda: HeadsFigure("copying-one-layer", "abcabcabc", focus=(0, 1)),
    ],
    "mask": [
        lambda: MaskFigure(24, 32, causal="last", back=9, library="encoder"),
        lambda: MaskFigure(
            goal=MaskRules(6, 6, causal="last", back=2),
            groups=["predicate"],
            written="(q >= k) & (q - k <= 3)",
        ),
        lambda: MaskFigure(causal="last", back=2, documents=[0, 0, 0, 1, 1, 1]),
        lambda: MaskFigure(2, causal="first", start=2, library="flex"),
    ],
    "online": [
        lambda case=case, step=step, corrected=corrected: change(
            figure_of(case), step=step, corrected=corrected
        )
        for case, step, corrected in (
            ("the most", 32, True),
            ("the chapter's", 3, False),
            ("a small last block", 2, True),
        )
    ],
    "pooling": [
        POOLING[name] for name in ("noisy", "far_from_zero", "most_keys", "two", "tiny_width")
    ],
    "position": [POSITION[name] for name in ("the largest", "rotary", "sinusoidal", "one hand")],
    "prediction": [
        lambda name=name, done=done: change(PREDICTION[name](), tried=[WRONG[name]], done=done)
        for name, done in (("numbers", "shown"), ("choice", ""), ("number", ""))
    ],
    "scaling": [
        lambda case=case: ScalingFigure(*SCALING[case]())
        for case in ("the largest", "the smallest", "huge scores")
    ],
    "shape": [
        lambda case=case, step=step: change(ShapeFigure(trace_case(case)), step=step)
        for case, step in (("heads", 21), ("kinds", 14), ("heads", 6), ("failing", 4), ("pairs", 4))
    ],
    "translator": [
        lambda: TranslatorFigure(text=LONG, hidden=[*range(13)]),
        lambda: TranslatorFigure(examples=["9. März 1987", HEBREW], hidden=MONTH),
        lambda: TranslatorFigure("small", text="9"),
    ],
}


CHOOSE_THEME = """([theme, background, color]) => {
    document.documentElement.dataset.theme = theme;
    Object.assign(document.body.style, { background, color });
}"""


@pytest.fixture(scope="module")
def shown(browser, serve, tmp_path_factory, request):
    """A page with figures of all kinds, unfolded: the tab, and the name of each."""
    most = None if request.config.getoption("--full") else USUAL
    made = {
        f"{kind}-{index}": make()
        for kind, makers in FIGURES.items()
        for index, make in enumerate(makers[:most])
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


def test_figures_fit_their_column_have_large_enough_text_and_axe_finds_nothing(shown, save_picture):
    tab, names = shown
    figures = tab.locator("figure[data-attnbook-figure]").all()
    for width, scheme in JUDGED:
        show(tab, width, scheme)
        for name, figure in zip(names, figures, strict=True):
            save_picture(figure, f"{name}-{width}-{scheme}")
            assert layout_problems(figure) == [], (name, width, scheme)
    for width, scheme in reversed(JUDGED):
        show(tab, width, scheme)
        assert axe_findings(tab, None if scheme == "light" else OF_LOOK, last=True) == []
