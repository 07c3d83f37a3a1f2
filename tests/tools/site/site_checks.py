"""The checks of every page, as functions that also run on a page made to fail."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from html import unescape
from os.path import normpath
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page

WIDE, NARROW = 1280, 360
# The two views in which pages and figures are tested: layout depends on the width, and colours on
# the scheme.
JUDGED = [(WIDE, "light"), (NARROW, "dark")]
# The rules of axe whose result depends on the view. The others check names, roles and order, which
# are the same in both views, so they run once for each page or figure.
OF_LOOK = ["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]

# Rules that axe reports as minor and this book enforces: a screen reader lists landmarks by name.
ENFORCED = {"landmark-unique", "empty-table-header"}
OVERFLOW = """() => [...document.querySelectorAll('main *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && e.offsetParent
        && !e.closest('pre, .math, table, .bd-sidebar-secondary'))
    .slice(0, 3).map(e => e.outerHTML.slice(0, 80)).join(' | ')"""
VISIBLE = """selector => [...document.querySelectorAll(selector)]
    .filter(e => e.checkVisibility({visibilityProperty: true}))
    .map(e => (e.innerText || e.className).trim())"""
SEARCH = ".search-button, .search-button-field, form.bd-search"
# A dot drawn as a line of length 0: WebKit stretches the two ends of such a line.
FLAT_DOTS = """() => [...document.querySelectorAll('svg line')]
    .filter(e => getComputedStyle(e).strokeLinecap !== 'butt' && e.getTotalLength() === 0)
    .map(e => e.outerHTML)"""
# What a line must not end within: words in tables, a minus and its name in code, and a formula or
# code and the mark after it. And what scrolls sideways: tables, and on a wide screen short code.
TORN = """() => {
    const range = document.createRange(), found = [];
    const lines = (node, start, end) => {
        range.setStart(node, start);
        range.setEnd(node, end);
        return [...range.getClientRects()].filter(box => box.width);
    };
    const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node; node = texts.nextNode()) {
        const around = node.parentElement, before = node.previousSibling;
        if (around.closest('.katex, svg, [data-attnbook-figure]')) continue;
        const parts = around.closest('table') ? /\\w+/g : /(?<![\\w)\\]])-\\w+/g;
        const inCode = around.closest('table, code') ? node.data : '';
        for (const { 0: part, index } of inCode.matchAll(parts)) {
            const tops = lines(node, index, index + part.length).map(box => Math.round(box.top));
            if (new Set(tops).size > 1) found.push(`“${part}” breaks`);
        }
        if (!/^[.,;:!?)]/.test(node.data) || !before?.matches?.('.math, code')) continue;
        const [mark] = lines(node, 0, 1);
        const last = [...before.querySelectorAll('.base')].at(-1) ?? before;
        if (mark && mark.left < [...last.getClientRects()].at(-1).left)
            found.push(`“${node.data.slice(0, 9)}” after ${before.textContent} begins a line`);
    }
    for (const minus of document.querySelectorAll('main pre .o')) {
        const name = minus.textContent === '-' && minus.checkVisibility() && minus.nextSibling;
        if (!name?.getClientRects || !/^\\w/.test(name.textContent)) continue;
        if (name.getClientRects()[0].top > minus.getClientRects()[0].bottom)
            found.push(`the minus of ${name.textContent} ends a line`);
    }
    const wide = (selector) => [...document.querySelectorAll(selector)]
        .filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1)
        .map(e => [e.innerText, `${e.scrollWidth} px in ${e.clientWidth}`]);
    found.push(...wide('main .pst-scrollable-table-container')
        .map(([text, size]) => `table “${text.slice(0, 30)}”: ${size}`));
    found.push(...wide('main div.highlight pre')
        .filter(([text]) => innerWidth < 600 || !/.{81}/.test(text))
        .map(([text, size]) => `code “${text.slice(0, 30)}”: ${size}`));
    return found;
}"""
# Controls below 24 px (WCAG 2.5.8), labels of pictures below 11 px, and formulas that do not show
# that they scroll. A check box is as large as its label.
HARD_ON_A_PHONE = """() => {
    const visible = (selector) => [...document.querySelectorAll(selector)]
        .filter(e => e.checkVisibility({visibilityProperty: true}));
    const size = ({ width, height }) => [width, height].map(side => side.toFixed(1)).join(' × ');
    const targets = visible('main :is(button, select, input, summary, textarea)')
        .map(e => [e, (e.matches('[type=radio], [type=checkbox]') && e.closest('label') || e)])
        .map(([e, hit]) => [e, hit.getBoundingClientRect()])
        .filter(([, box]) => box.width && Math.min(box.width, box.height) < 23.9)
        .map(([e, box]) => `target ${e.localName}.${e.className}: ${size(box)} px`);
    const labels = visible('main figure.attnbook-picture text')
        .map(e => [e, e.getScreenCTM()])
        .map(([e, at]) => [e, parseFloat(getComputedStyle(e).fontSize) * Math.hypot(at.a, at.b)])
        .filter(([, height]) => height < 10.9)
        .map(([e, height]) => `label “${e.textContent.trim()}”: ${height.toFixed(1)} px`);
    const formulas = visible('main .katex-display')
        .filter(e => e.scrollWidth > e.clientWidth + 1)
        .filter(e => !getComputedStyle(e).backgroundAttachment.includes('local'))
        .map(e => `formula “${e.textContent.slice(0, 30)}” has no shadow`);
    return [...targets, ...labels, ...formulas];
}"""
# Some errors, such as those of a ResizeObserver, raise no exception and are no "pageerror".
REPORT_ERRORS = """addEventListener('error', event =>
    event.error || console.error(`window error: ${event.message}`))"""
# Waits until figures have started, and fonts and the page's late scripts have arrived; the late
# scripts start at the reader's first action, imitated here.
READY = """async () => {
    dispatchEvent(new Event('focusin'));
    const all = (selector) => [...document.querySelectorAll(selector)];
    const isReady = () => document.fonts.status === 'loaded'
        && all('[data-attnbook-view]:has(> .attnbook-static)')
            .every(view => view.querySelector('[role=status]'))
        && ('bootstrap' in window || !document.querySelector('script[src*="bootstrap"]'));
    for (const start = performance.now(); performance.now() - start < 30_000 && !isReady();)
        await new Promise(done => setTimeout(done, 20));
}"""
# Most words of a page are code, formulas and names with the same style. Of the elements whose style
# and whose ancestors' styles are equal, the first is tested; the others are marked as repeated. In
# a figure or a picture, where text may overlap other elements, the styles of all elements below the
# middle of the text must be equal, too.
MARK_REPEATED = """() => {
    const styles = new Map([[null, 0]]), numbers = new Map(), boxes = new Map(), tested = new Set();
    const numberOf = (text) => numbers.get(text) ?? numbers.set(text, numbers.size + 1).size;
    const styleOf = (e) => {
        if (!styles.has(e)) {
            const s = getComputedStyle(e);
            const own = [s.color, s.backgroundColor, s.backgroundImage, s.fontSize, s.fontWeight,
                s.opacity, s.textShadow, s.position, s.fill];
            styles.set(e, numberOf(`${own} in ${styleOf(e.parentElement)}`));
        }
        return styles.get(e);
    };
    const boxesIn = (figure) => {
        const list = () => [...figure.querySelectorAll('*')]
            .map(e => [e, e.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
        if (!boxes.has(figure)) boxes.set(figure, list());
        return boxes.get(figure);
    };
    const below = (e, figure) => {
        const { left, top, width, height } = e.getBoundingClientRect();
        const [x, y] = [left + width / 2, top + height / 2];
        return boxesIn(figure).filter(([other, box]) => box.left <= x && x <= box.right
            && box.top <= y && y <= box.bottom && !e.contains(other))
            .map(([other]) => styleOf(other));
    };
    const hasText = (e) => [...e.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    const block = (link) => link.closest('p, li, td, dt, dd, div, main');
    const isAlone = (e) =>
        e.matches('a') && block(e).textContent.trim() === e.textContent.trim();
    for (const e of document.querySelectorAll('main *')) {
        const part = e.closest('svg, button, table, [data-attnbook-figure]');
        const mayOverlap = part && !part.matches('table') && hasText(e);
        const figure = mayOverlap && (e.closest('[data-attnbook-figure]') ?? part);
        const key = [isAlone(e), styleOf(e), figure ? below(e, figure) : ''].join(' ');
        e.toggleAttribute('data-repeated', tested.has(key));
        tested.add(key);
    }
}"""
ONE_OF_EACH = """axe.configure({rules: [
    {id: 'color-contrast', selector: '*:not([data-repeated])'},
    {id: 'link-in-text-block', selector: 'a[href]:not([data-repeated])'},
]})"""
# Axe takes time for each element of a page, so most rows of the figures' tables, repeated formulas
# and the spans of repeated words of code are removed; the text of these words stays.
REMOVE_REPEATED = """() => {
    for (const row of document.querySelectorAll('[data-attnbook-figure] tbody tr:nth-child(n+5)'))
        if (!row.querySelector(':scope :not([data-repeated])')) row.remove();
    for (const formula of document.querySelectorAll('main .katex-html'))
        if (!formula.querySelector(':not([data-repeated])')) formula.remove();
    const elsewhere = 'svg, button, .katex, [data-attnbook-figure]';
    for (const word of document.querySelectorAll('main span[data-repeated]')) {
        const names = word.getAttributeNames().join();
        const isPlain = names === 'class,data-repeated' && !word.childElementCount;
        if (isPlain && !word.closest(elsewhere)) word.replaceWith(word.textContent);
    }
}"""
# With "preload" axe would request the theme's style sheets from the wrong folder. Two rules
# are off by default.
RUN = """(only) => axe.run({
    resultTypes: ['violations'], preload: false,
    ...(only ? {runOnly: only} : {rules: Object.fromEntries(
        ['target-size', 'label-content-name-mismatch'].map(name => [name, {enabled: true}]))}),
})"""
# Storage may be refused.
OPEN_SECTIONS = "try { localStorage.setItem('deeper', 'open') } catch {}"
UNFOLD = "() => document.querySelectorAll('main details').forEach(e => { e.open = true })"
# Figures adapt to a new width one frame later.
SETTLE = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const { documentElement: root } = document;
    const size = () => [root.clientWidth, root.scrollWidth, root.scrollHeight].join();
    for (let before = '', i = 0; before !== size() && i < 100; i++) {
        before = size();
        await frame();
        await frame();
    }
}"""


@dataclass
class Visit:
    """What happened when a page was opened."""

    complaints: list[str] = field(default_factory=list)  # console warnings, errors, exceptions
    requests: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # requests that failed

    def foreign(self, home: str) -> list[str]:
        """The requests that left the site."""
        own = (home, "data:", "blob:", "file:")
        return [url for url in self.requests if not url.startswith(own)]


@contextmanager
def open_page(
    browser: Browser,
    url: str,
    width: int = WIDE,
    scheme: str = "light",
    *,
    closed: bool = False,
    **options: Any,
) -> Iterator[tuple]:
    """A page, loaded with an empty cache, and the record of what happens on it."""
    context = browser.new_context(
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
        **{"reduced_motion": "reduce"} | options,
    )
    page, visit = watch_page(context, closed=closed)
    try:
        page.goto(url)
        if options.get("java_script_enabled", True):
            page.evaluate(READY)
        yield page, visit
    finally:
        context.close()


def watch_page(context: BrowserContext, *, closed: bool = False) -> tuple[Page, Visit]:
    """A new page, and the record of what will happen on it.

    Its reader wants all sections open, unless they are closed, as for a new reader.
    """
    page, visit = context.new_page(), Visit()
    page.add_init_script(REPORT_ERRORS)
    if not closed:
        page.add_init_script(OPEN_SECTIONS)
    page.on("console", lambda message: note_message(visit, message.type, message.text))
    page.on("pageerror", lambda error: visit.complaints.append(f"exception: {error}"))
    page.on("request", lambda request: visit.requests.append(request.url))
    page.on("requestfailed", lambda request: note_failure(visit, request.failure, request.url))
    page.on("response", lambda response: note_response(visit, response.status, response.url))
    return page, visit


def note_message(visit: Visit, kind: str, text: str) -> None:
    if kind in ("warning", "error"):
        visit.complaints.append(f"{kind}: {text}")


def note_failure(visit: Visit, why: str | None, url: str) -> None:
    # A request of a page that was left is no failure.
    if why != "net::ERR_ABORTED":
        visit.failures.append(url)


def note_response(visit: Visit, status: int, url: str) -> None:
    if status >= 400:
        visit.failures.append(f"{status} {url}")


def change_view(page: Page, width: int, scheme: str, *, script: bool = True) -> None:
    """Give an open page another width and colour scheme.

    Args:
        script: Whether the page has JavaScript; without it no animation frame ever comes.
    """
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    if script:
        page.evaluate(SETTLE)


def layout_faults(page: Page, width: int) -> list[str]:
    """What is wrong with the parts and sizes of a page, as it is and with everything unfolded."""
    found = faults_in_sight(page, width)
    page.evaluate(UNFOLD)
    return found + faults_in_sight(page, width)


def faults_in_sight(page: Page, width: int) -> list[str]:
    found = page.evaluate(FLAT_DOTS) + page.evaluate(TORN)
    if page.locator("#pst-back-to-top").count():
        found.append("the theme's button covers the text")
    for part in ("h1", SEARCH):
        visible = page.evaluate(VISIBLE, part)
        if len(visible) != 1:
            found.append(f"{part}: {visible}")
    if page.evaluate("document.documentElement.scrollWidth") > width:
        found.append(f"wider than {width} px: {page.evaluate(OVERFLOW)}")
    if width == NARROW:
        found += page.evaluate(HARD_ON_A_PHONE)
    return found


# A section that is far away has no layout; axe would see its parts overlap what follows.
LAID_OUT = "article section section { content-visibility: visible !important }"


def axe_findings(page: Page, only: list[str] | None = None, *, last: bool = False) -> list[str]:
    """Findings of axe that are serious, critical or of a rule in `ENFORCED`.

    Args:
        only: The rules to run; all by default.
        last: Whether no other check of this page follows, so that axe may take repeated elements
            off it.
    """
    axe = Axe()
    page.add_style_tag(content=LAID_OUT)
    page.evaluate(SETTLE)
    page.evaluate(MARK_REPEATED)
    if last:
        page.evaluate(REMOVE_REPEATED)
    page.evaluate(axe.axe_script)
    page.evaluate(ONE_OF_EACH)
    violations = page.evaluate(RUN, only)["violations"]
    return [
        f"{violation['id']}: {node['html'][:200]} ({node['failureSummary'][:300]})"
        for violation in violations
        if violation["impact"] in ("serious", "critical") or violation["id"] in ENFORCED
        for node in violation["nodes"]
    ]


@cache
def anchors(page: Path) -> tuple[list[str], set[str]]:
    """The links and other files of a page that we built, where text has no quotes; and its ids."""
    html = page.read_text("utf-8")
    targets = [unescape(target) for target in re.findall(r'\s(?:href|src)="([^"]*)"', html)]
    return targets, {*map(unescape, re.findall(r'\s(?:id|name)="([^"]*)"', html))}


def dead_links(site: Path, page: Path) -> list[str]:
    """The links of a page whose file or anchor does not exist on the site."""
    return [target for target in anchors(page)[0] if is_dead(site, page, target)]


def is_dead(site: Path, page: Path, target: str) -> bool:
    parts = urlsplit(target)
    if parts.scheme or parts.netloc:
        return False
    file = page if not parts.path else Path(normpath(page.parent / unquote(parts.path)))
    if not file.is_relative_to(site) or not file.is_file():
        return True
    has_ids = parts.fragment and file.suffix == ".html"
    return bool(has_ids and unquote(parts.fragment) not in anchors(file)[1])


@cache
def packed_size(file: Path) -> int:
    return len(gzip.compress(file.read_bytes(), compresslevel=6))


def packed_load(site: Path, home: str, requests: Iterable[str]) -> int:
    """The bytes of these requests when a server compresses each file with gzip -6."""
    paths = [urlsplit(url).path.lstrip("/") for url in requests if url.startswith(home)]
    return sum(packed_size(site / unquote(path)) for path in paths)
