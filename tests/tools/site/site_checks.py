"""What is asked of every page, as functions that also run on a page made to fail."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

WIDE, NARROW = 1280, 360
# How pages and figures are judged: what is there depends on the width, and colours on the scheme.
JUDGED = [(WIDE, "light"), (NARROW, "dark")]
# The rules of axe that depend on the look. The others ask for names, roles and order, which are
# the same in every look, so they are asked of a page or a figure once.
OF_LOOK = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]

# Rules that axe takes for advice, and this book for rules: a screen reader lists landmarks by name.
ALSO_JUDGED = {"landmark-unique", "empty-table-header"}

# axe findings of the theme that cannot be mended here: (rule, part of the element) -> why.
EXCEPTIONS: dict[tuple[str, str], str] = {}

OVERFLOW = """() => [...document.querySelectorAll('main *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && e.offsetParent
        && !e.closest('pre, .math, table, .bd-sidebar-secondary'))
    .slice(0, 3).map(e => e.outerHTML.slice(0, 80)).join(' | ')"""
SEEN = """selector => [...document.querySelectorAll(selector)]
    .filter(e => e.checkVisibility({visibilityProperty: true}))
    .map(e => (e.innerText || e.className).trim())"""
# What is drawn of it is its two ends, and WebKit stretches those of a line without any length.
FLAT_DOTS = """() => [...document.querySelectorAll('svg line')]
    .filter(e => getComputedStyle(e).strokeLinecap !== 'butt' && e.getTotalLength() === 0)
    .map(e => e.outerHTML)"""
# What a finger cannot hit (24 px, WCAG 2.5.8), labels of pictures below 11 px, tables and code of
# the text that scroll sideways. A box with a label is as large as both.
HARD_ON_A_PHONE = """() => {
    const seen = (selector) => [...document.querySelectorAll(selector)]
        .filter(e => e.checkVisibility({visibilityProperty: true}));
    const size = ({ width, height }) => [width, height].map(side => side.toFixed(1)).join(' × ');
    const targets = seen('main :is(button, select, input, summary, textarea)')
        .map(e => [e, (e.matches('[type=radio], [type=checkbox]') && e.closest('label') || e)])
        .map(([e, hit]) => [e, hit.getBoundingClientRect()])
        .filter(([, box]) => box.width && Math.min(box.width, box.height) < 23.9)
        .map(([e, box]) => `target ${e.localName}.${e.className}: ${size(box)} px`);
    const labels = seen('main figure.attnbook-picture text')
        .map(e => [e, e.getScreenCTM()])
        .map(([e, at]) => [e, parseFloat(getComputedStyle(e).fontSize) * Math.hypot(at.a, at.b)])
        .filter(([, height]) => height < 10.9)
        .map(([e, height]) => `label “${e.textContent.trim()}”: ${height.toFixed(1)} px`);
    const tables = seen('main .pst-scrollable-table-container')
        .filter(e => e.scrollWidth > e.clientWidth + 1)
        .map(e => `table “${e.innerText.slice(0, 30)}”: ${e.scrollWidth} px in ${e.clientWidth}`);
    const code = seen('main div.highlight pre')
        .filter(e => e.scrollWidth > e.clientWidth + 1)
        .map(e => `code “${e.innerText.slice(0, 30)}”: ${e.scrollWidth} px in ${e.clientWidth}`);
    return [...targets, ...labels, ...tables, ...code];
}"""
# An error without an exception, a ResizeObserver's for one, is no "pageerror".
TELL_ERRORS = """addEventListener('error', event =>
    event.error || console.error(`window error: ${event.message}`))"""
# Most of a page's words are code, formulas and names that look like others of their page. Of those
# that look alike, with all that lies around them, the first is judged; the others get a mark. In
# a figure, where words may lie on what does not hold them, each is judged, but for its tables.
MARK_ALIKE = """() => {
    const known = new Map([[null, '']]), judged = new Set();
    const look = (e) => {
        if (!known.has(e)) {
            const s = getComputedStyle(e);
            const own = [s.color, s.backgroundColor, s.backgroundImage, s.fontSize, s.fontWeight,
                s.opacity, s.textShadow, s.position];
            known.set(e, own + '|' + look(e.parentElement));
        }
        return known.get(e);
    };
    for (const word of document.querySelectorAll('main *')) {
        if (word.closest('svg, button, table, [data-attnbook-figure]')?.matches(':not(table)'))
            continue;
        word.toggleAttribute('data-alike', judged.has(look(word)));
        judged.add(look(word));
    }
}"""
ONE_OF_EACH = "axe.configure({rules: [{id: 'color-contrast', selector: '*:not([data-alike])'}]})"
# Not "preload": axe would look for the theme's style sheets in the wrong folder.
RUN = """(only) => axe.run({
    resultTypes: ['violations'], preload: false,
    ...(only ? {runOnly: only} : {rules: {'target-size': {enabled: true}}}),
})"""
UNFOLD = "() => document.querySelectorAll('main details').forEach(e => { e.open = true })"


@dataclass
class Visit:
    """What happened when a page was opened, and what stood on it."""

    complaints: list[str] = field(default_factory=list)  # console warnings, errors, exceptions
    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # requests that brought nothing
    title: str = ""
    headings: list[str] = field(default_factory=list)
    searches: list[str] = field(default_factory=list)
    elements: int = 0
    scroll_width: int = 0
    overflow: str = ""
    flat_dots: list[str] = field(default_factory=list)
    hard_on_a_phone: list[str] = field(default_factory=list)
    icon: str = ""  # its address
    findings: list[str] = field(default_factory=list)  # axe, serious and critical

    def foreign(self, home: str) -> list[str]:
        """The requests that left the site."""
        own = (home, "data:", "blob:", "file:")
        return [url for url in self.requests if not url.startswith(own)]


@contextmanager
def opened(
    browser: Browser, url: str, width: int = WIDE, scheme: str = "light", **options: Any
) -> Iterator[tuple]:
    """A page, freshly loaded with an empty cache, and the record of its loading."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        **{"reduced_motion": "reduce"} | options,
    )
    page, visit = watched(context)
    try:
        page.goto(url, wait_until="networkidle")
        yield page, visit
    finally:
        context.close()


def watched(context: BrowserContext) -> tuple[Page, Visit]:
    """A new page, and the record of all that will happen on it."""
    page, visit = context.new_page(), Visit()
    page.add_init_script(TELL_ERRORS)
    page.on("console", lambda message: note_message(visit, message.type, message.text))
    page.on("pageerror", lambda error: visit.complaints.append(f"exception: {error}"))
    page.on("request", lambda request: visit.requests.append(request.url))
    page.on("requestfailed", lambda request: note_failure(visit, request.failure, request.url))
    page.on("response", lambda answer: note_answer(visit, answer.status, answer.url))
    return page, visit


def note_message(visit: Visit, kind: str, text: str) -> None:
    if kind in ("warning", "error"):
        visit.complaints.append(f"{kind}: {text}")


def note_failure(visit: Visit, why: str | None, url: str) -> None:
    # What was still on its way to a page that one leaves is no failure: its icon, say.
    if why != "net::ERR_ABORTED":
        visit.failures.append(url)


def note_answer(visit: Visit, status: int, url: str) -> None:
    if status >= 400:
        visit.failures.append(f"{status} {url}")


def look(page: Page, visit: Visit, *, judged: bool = True, only: list[str] | None = None) -> Visit:
    """Fill in what stands on an opened page, with every folded answer opened."""
    page.evaluate(UNFOLD)
    visit.title = page.title()
    visit.headings = page.evaluate(SEEN, "h1")
    visit.searches = page.evaluate(SEEN, ".search-button, .search-button-field, form.bd-search")
    visit.elements = page.evaluate("document.querySelectorAll('*').length")
    visit.scroll_width = page.evaluate("document.documentElement.scrollWidth")
    visit.overflow = page.evaluate(OVERFLOW)
    visit.flat_dots = page.evaluate(FLAT_DOTS)
    visit.hard_on_a_phone = page.evaluate(HARD_ON_A_PHONE)
    visit.icon = favicon(page)
    if judged:
        visit.findings = axe_findings(page, only)
    return visit


def axe_findings(page: Page, only: list[str] | None = None) -> list[str]:
    """Findings of axe that are serious, critical or of a rule in `ALSO_JUDGED`, less exceptions."""
    return [finding for finding, _ in axe_findings_with_places(page, only)]


def axe_findings_with_places(page: Page, only: list[str] | None = None) -> list[tuple[str, str]]:
    """The findings of axe, each with a selector of the element that it is about."""
    axe = Axe()
    page.evaluate(MARK_ALIKE)
    page.evaluate(axe.axe_script)
    page.evaluate(ONE_OF_EACH)
    violations = page.evaluate(RUN, only)["violations"]
    return [
        (
            f"{violation['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})",
            node["target"][0],
        )
        for violation in violations
        if violation["impact"] in ("serious", "critical") or violation["id"] in ALSO_JUDGED
        for node in violation["nodes"]
        if not any(violation["id"] == rule and part in node["html"] for rule, part in EXCEPTIONS)
    ]


class Anchors(HTMLParser):
    """The links, other files and ids of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, _tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids |= {name for name in (values.get("id"), values.get("name")) if name}
        self.targets += [target for key in ("href", "src") if (target := values.get(key))]


@cache
def anchors(page: Path) -> Anchors:
    return Anchors(page.read_text("utf-8"))


def dead_links(site: Path, page: Path) -> list[str]:
    """The links of a page that lead to no file or no place of the site."""
    return [target for target in anchors(page).targets if is_dead(site, page, target)]


def is_dead(site: Path, page: Path, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return False
    file = page if not parts.path else (page.parent / unquote(parts.path)).resolve()
    if not file.is_relative_to(site) or not file.is_file():
        return True
    has_ids = parts.fragment and file.suffix == ".html"
    return bool(has_ids and unquote(parts.fragment) not in anchors(file).ids)


@cache
def packed_size(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), compresslevel=6))


def packed_load(site: Path, home: str, requests: Iterable[str]) -> int:
    """The bytes of these requests when a server compresses each file with gzip -6."""
    paths = [urlsplit(url).path.lstrip("/") for url in requests if url.startswith(home)]
    return sum(packed_size(site / unquote(path)) for path in paths)


def favicon(page: Page) -> str:
    """The address of the page's icon."""
    link = page.query_selector('link[rel~="icon"]')
    return urljoin(page.url, link.get_attribute("href") or "") if link else ""


Opener = Callable[..., Visit]
