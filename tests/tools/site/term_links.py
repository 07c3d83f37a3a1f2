"""The links to terms of the glossary, and the meanings that they should show."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

TERM, BUBBLE = "a[data-meaning]", ".term-meaning"
LINK = re.compile(r"<a\b([^>]*)><span class=\"[^\"]*\bstd-term\b")
# The first paragraph of each meaning, less cited works and the drawn copy of each formula.
MEANINGS = """() => Object.fromEntries([...document.querySelectorAll('.glossary dt')].map(term => {
    let meaning = term.nextElementSibling;
    while (meaning.tagName !== 'DD') meaning = meaning.nextElementSibling;
    const text = meaning.querySelector('p').cloneNode(true);
    const unread = '.bibtex-citation, .katex-html, annotation';
    for (const part of text.querySelectorAll(unread)) part.remove();
    return [term.id, text.textContent];
}))"""
# TeX, or remains of a citation.
ODD = re.compile(r"[\\${}\[\]\u2061]|  | [.,;:)]")
# The fault in the position of a meaning, if there is one.
OUTSIDE = """() => {
    const box = document.querySelector('.term-meaning').getBoundingClientRect();
    const { clientWidth: width, scrollWidth } = document.documentElement;
    const fits = box.width > 50 && box.left >= 0 && box.right <= width && box.top >= 0
        && box.bottom <= innerHeight && scrollWidth <= width;
    return fits ? '' : JSON.stringify([box, width, scrollWidth]);
}"""
# Each term of a page in turn, as the keyboard comes to it; and whether the term is left uncovered.
EACH_OUTSIDE = f"""() => {{
    const wrong = [];
    for (const term of document.querySelectorAll('{TERM}')) {{
        if (!term.checkVisibility({{visibilityProperty: true}})) continue;
        term.focus();
        const box = document.querySelector('{BUBBLE}')?.getBoundingClientRect();
        const covers = line => box.top < line.bottom && box.bottom > line.top
            && box.left < line.right && box.right > line.left;
        const fault = !box ? 'shows nothing' : ({OUTSIDE})()
            || ([...term.getClientRects()].slice(0, 1).some(covers) ? 'covers its term' : '');
        if (fault) wrong.push(`${{term.textContent}}: ${{fault}}`);
    }}
    return wrong;
}}"""


def links(html: str) -> list[tuple[str, str | None]]:
    """Of each link to a term: the term's id, and the meaning that the link carries."""
    found = []
    for attributes in LINK.findall(html):
        values = dict(re.findall(r'([\w-]+)="([^"]*)"', attributes))
        meaning = values.get("data-meaning")
        found.append((values["href"].partition("#")[2], unescape(meaning) if meaning else None))
    return found


def bare(text: str) -> str:
    """A text without spaces, and with superscripts and subscripts as plain characters."""
    signs = unicodedata.normalize("NFKC", text).replace("⊤", "T")
    return re.sub(r"[\s_\u2061]", "", signs)


def links_with_wrong_meaning(html: str, meanings: dict[str, str]) -> list[tuple[str, str | None]]:
    """The links of a page whose meaning differs from the glossary's."""
    return [
        (term, meaning)
        for term, meaning in links(html)
        if not meaning or ODD.search(meaning) or bare(meaning) != bare(meanings[term])
    ]
