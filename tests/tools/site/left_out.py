"""The selectors that the one style sheet leaves out, to be matched against built pages."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from playwright.sync_api import Page

from tools.site.assets.styles import BUNDLE, join_styles

# Selectors as the browser parses them, without pseudo-classes of the pointer or the keyboard.
LEFT_OUT = r"""([whole, left]) => {
    const split = (selectors) => selectors.split(/,(?![^(]*\))/).map((one) => one.trim());
    const selectorsOf = (rules) => [...rules].flatMap((rule) =>
        [...split((rule.style?.length && rule.selectorText) || ''),
            ...selectorsOf(rule.cssRules ?? [])]);
    const selectors = (text) => {
        const sheet = new CSSStyleSheet();
        sheet.replaceSync(text);
        return selectorsOf(sheet.cssRules).map((one) => one.replace(pseudo, '')).filter(Boolean);
    };
    const pseudo = new RegExp('::?(before|after|marker|placeholder|hover|active|visited|target|'
        + 'checked|focus(-visible|-within)?)(?![\\w-])', 'g');
    const used = new Set(selectors(left));
    window.leftOut = [...new Set(selectors(whole))].filter((one) =>
        !used.has(one) && CSS.supports(`selector(${one})`));
    return window.leftOut.length;
}"""
MATCHING = "() => window.leftOut.filter((one) => document.querySelector(one))"


@cache
def styles(site: Path) -> list[str]:
    """All styles of the site, and the one style sheet."""
    return [join_styles(site / "_static"), (site / "_static" / BUNDLE).read_text("utf-8")]


def prepare(tab: Page, site: Path) -> None:
    """Give a page the list of selectors that its style sheet leaves out."""
    assert tab.evaluate(LEFT_OUT, styles(site)) > 1000
