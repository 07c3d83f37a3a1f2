"""The links that lead to terms of the glossary, and what they should say."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

LINK = re.compile(r"<a\b([^>]*)><span class=\"[^\"]*\bstd-term\b")
# The first paragraph of each meaning, less cited works and the drawn twin of each formula.
MEANINGS = """() => Object.fromEntries([...document.querySelectorAll('.glossary dt')].map(term => {
    let meaning = term.nextElementSibling;
    while (meaning.tagName !== 'DD') meaning = meaning.nextElementSibling;
    const text = meaning.querySelector('p').cloneNode(true);
    const unread = '.bibtex-citation, .katex-html, annotation';
    for (const part of text.querySelectorAll(unread)) part.remove();
    return [term.id, text.textContent];
}))"""
# TeX, or what a cited work left behind.
ODD = re.compile(r"[\\${}\[\]\u2061]|  | [.,;:)]")


def links(html: str) -> list[tuple[str, str | None]]:
    """Of each link to a term: the term's id, and the meaning that the link carries."""
    found = []
    for attributes in LINK.findall(html):
        values = dict(re.findall(r'([\w-]+)="([^"]*)"', attributes))
        told = values.get("data-meaning")
        found.append((values["href"].partition("#")[2], unescape(told) if told else None))
    return found


def bare(text: str) -> str:
    """A text less spaces and without regard to what stands below or above the line."""
    signs = unicodedata.normalize("NFKC", text).replace("⊤", "T")
    return re.sub(r"[\s_\u2061]", "", signs)


def untold(html: str, meanings: dict[str, str]) -> list[tuple[str, str | None]]:
    """The links of a page that do not say what the glossary says."""
    return [
        (term, told)
        for term, told in links(html)
        if not told or ODD.search(told) or bare(told) != bare(meanings[term])
    ]
