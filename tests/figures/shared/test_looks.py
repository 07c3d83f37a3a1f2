"""Layout and accessibility of several figures of each kind."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import cache

import pytest

import attnbook
from attnbook.figures import CostFigure, HeadsFigure, MaskFigure, TranslatorFigure
from attnbook.figures.shared.base import Figure
from attnbook.masking.interop import MaskRules
from tests.figures.alignment import cases as alignment
from tests.figures.attention.cases import CASES, Case
from tests.figures.attention.drag_handles import OwnScore, moved_figure
from tests.figures.cost.cases import exact
from tests.figures.shared.page import layout_problems, together
from tests.figures.translator.page import HEBREW, LONG, MONTH
from tests.tools.site.site_checks import JUDGED

SCORED = attnbook.DotProductAttention()
QUERIES = {"query_labels": ["light east", "north", "south-west"]}


def alignment_at(case: str, date: int, step: int) -> Figure:
    figure = alignment.figure_of(case)
    figure.date, figure.step = date, step
    return figure


def many_queries() -> Figure:
    keys, lens = CASES["most_keys"]().keys[:, :64], CASES["most_keys"]().valid_lens // 5
    return Case(SCORED, keys, keys.clone(), keys.clone(), lens).figure()


ATTENTION = ("planar", "additive", "nearest", "most_keys", "huge_scores")
FIGURES: dict[str, list[Callable[[], Figure]]] = {
    "alignment": [
        lambda case=case: alignment_at(*case)
        for case in (
            *(("book", alignment.LOCALES.index(locale), 6) for locale in ("de", "he", "ja")),
            *(("failing", 0, 1), ("strings", 4, 7), ("wordy", 1, 12), ("nothing", 1, 0)),
        )
    ],
    "attention": [
        *(lambda name=name: CASES[name]().figure() for name in ATTENTION),
        many_queries,
    ],
    "attention, moved": [
        lambda: moved_figure(SCORED, **QUERIES),
        lambda: moved_figure(SCORED, "scores", **QUERIES),
        lambda: moved_figure(OwnScore(), **QUERIES),
    ],
    "cost": [
        lambda: CostFigure(exact(), batch=16, size=256),
        lambda: CostFigure(exact(), layer="dot"),
        lambda: CostFigure(exact(), batch=64, queries=4096, keys=4096, size=1024, mode="training"),
    ],
    "heads": [
        lambda: HeadsFigure(removed=[(0, 1)], focus=(0, 1)),
        lambda: HeadsFigure(text="abcdefgh" * 4, focus=(0, 0)),
        lambda: HeadsFigure(text="p"),
        lambda: HeadsFigure(step=0, removed=[(1, 0), (1, 1)]),
        lambda: HeadsFigure("copying-one-layer", "abcabcabc", focus=(0, 1)),
    ],
    "mask": [
        lambda: MaskFigure(causal="last", back=2, documents=[0, 0, 0, 1, 1, 1]),
        lambda: MaskFigure(2, causal="first", start=2, library="flex"),
        lambda: MaskFigure(written="q >= k and k != 1", library="multihead", valid_len=4),
        lambda: MaskFigure(
            goal=MaskRules(6, 6, causal="last", back=2),
            groups=["predicate"],
            written="(q >= k) & (q - k <= 3)",
        ),
        lambda: MaskFigure(24, 32, causal="last", back=9, library="encoder"),
    ],
    "translator": [
        lambda: TranslatorFigure(examples=["9. März 1987", HEBREW], hidden=MONTH),
        lambda: TranslatorFigure(hidden=[*range(12)]),
        lambda: TranslatorFigure(text=HEBREW, hidden=[3]),
        lambda: TranslatorFigure(text=LONG, hidden=[*range(13)]),
        lambda: TranslatorFigure("small", text="9"),
    ],
}


each_kind = pytest.mark.parametrize("kind", FIGURES)


@pytest.fixture(scope="module")
def show(browser, serve, tmp_path_factory):
    """A function that opens the figures of a kind on one page, once for each view."""
    with ExitStack() as pages:

        @cache
        def open_kind(kind):
            figures = [make() for make in FIGURES[kind]]
            for figure in figures:
                figure.action = "Drag `it`: what happens, and how many of the numbers change?"
                figure.caption = "A caption."
            folder = tmp_path_factory.mktemp("looks")
            return pages.enter_context(together(browser, serve, folder, figures))

        yield lambda kind, *view: open_kind(kind)(*view)


@pytest.mark.parametrize(("width", "scheme"), JUDGED)
@each_kind
def test_figures_fit_their_column_and_their_text_is_large_enough(
    show, save_picture, kind, width, scheme
):
    page = show(kind, width, scheme)
    for index in range(page.count):
        save_picture(page.figure(index), f"{kind}-{index}-{width}-{scheme}")
        assert layout_problems(page.figure(index)) == [], index


# axe takes seconds for each page; `--full` runs it on all.
@pytest.mark.few(7)
@pytest.mark.parametrize(("width", "scheme"), JUDGED)
@each_kind
def test_axe_finds_nothing(show, kind, width, scheme):
    page = show(kind, width, scheme)
    assert page.findings == [[]] * page.count
