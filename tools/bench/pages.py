"""Measure the built pages in a browser: their weight, and when their figures are alive.

Beside them stands the same chapter as stock Jupyter Book shows it, with html-manager from
local files. Both are opened in turn, each time by a fresh browser profile, so their ratio
means the same on a slow and on a fast machine: once as fast as this machine serves them, and
once over a simulated phone connection, which is how most readers meet them.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import anywidget
from playwright.sync_api import Browser

from tools import ROOT
from tools.bench.browser import PHONE, chromium, fresh, packed, served, time_to_life
from tools.table_of_contents import pages

SITE = ROOT / "_build" / "html"
WORK = ROOT / "_build" / "stock"
STOCK_CHAPTER = "welcome"
PACKAGES = ("requirejs@2.3.7", "@jupyter-widgets/html-manager@1.0.15")
LOADS, ROUNDS = 5, 7
Row = dict[str, float | str]


def weight(browser: Browser, site: Path, home: str, name: str) -> Row:
    """What a first visit to a page loads: kilobytes as gzip -6 packs each file, and requests."""
    with fresh(browser) as (page, asked):
        page.goto(f"{home}{name}.html", wait_until="networkidle")
        if has_figures(site, name):
            page.evaluate("window.slider")
        # The icon is loaded by the browser's frame, which tells nobody.
        icons = page.locator('link[rel~="icon"]').evaluate_all("all => all.map(one => one.href)")
    urls = {url for url in [*asked, *icons] if not url.startswith(("data:", "blob:"))}
    own = [site / unquote(urlsplit(url).path.lstrip("/")) for url in urls if url.startswith(home)]
    size = sum(len(packed(file)) for file in own if file.is_file())
    hosts = {urlsplit(url).netloc for url in urls if not url.startswith(home)}
    return {"KB": size / 1000, "requests": float(len(urls)), "other hosts": float(len(hosts))}


def has_figures(site: Path, name: str) -> bool:
    """Whether a built page shows a living figure, ours or html-manager's."""
    html = (site / f"{name}.html").read_text("utf-8")
    return "data-attnbook-view" in html or "widget-view+json" in html


def page_row(name: str) -> Row:
    """One page of the built book."""
    require_book()
    with chromium() as browser, served(SITE) as home:
        row = weight(browser, SITE, home, name)
        if has_figures(SITE, name):
            loads = [time_to_life(browser, f"{home}{name}.html") for _ in range(LOADS)]
            row["alive ms"] = statistics.median(loads)
        return row


def require_book() -> None:
    """Stop without a book to measure."""
    if not (SITE.parent / ".made-from").exists():
        sys.exit("There is no finished book to measure: run `make book` first.")


def fetch_stock() -> Path:
    """Fetch what stock pages load from a CDN; returns the folder of packages."""
    modules = WORK / "node_modules"
    if not modules.exists():
        WORK.mkdir(parents=True, exist_ok=True)
        (WORK / "package.json").write_text('{"private": true}')
        npm = Path(sys.executable).parent / "npm"
        options = ("--ignore-scripts", "--legacy-peer-deps", "--silent")
        command = [str(npm), "install", *options, *PACKAGES]
        subprocess.run(command, cwd=WORK, check=True)
    return modules


STOCK_CONFIG = {
    "title": "Stock",
    "only_build_toc_files": True,
    "execute": {"execute_notebooks": "force", "timeout": 120},
    "bibtex_bibfiles": ["references.bib"],
    "parse": {"myst_enable_extensions": ["amsmath", "colon_fence", "deflist", "dollarmath"]},
    "sphinx": {
        "config": {
            "html_extra_path": ["vendor"],
            "nb_ipywidgets_js": {f"../{n}.js": {} for n in ("paths", "require", "embed-amd")},
        }
    },
}


def build_stock() -> Path:
    """Render the chapter by stock Jupyter Book, html-manager's files beside it."""
    modules, book = fetch_stock(), WORK / "book"
    shutil.rmtree(book, ignore_errors=True)
    vendor = book / "vendor"
    vendor.mkdir(parents=True)
    for target, source in {
        book / f"{STOCK_CHAPTER}.ipynb": ROOT / "chapters" / f"{STOCK_CHAPTER}.ipynb",
        book / "references.bib": ROOT / "chapters" / "references.bib",
        vendor / "require.js": modules / "requirejs" / "require.js",
        vendor / "embed-amd.js": modules / "@jupyter-widgets/html-manager/dist/embed-amd.js",
        vendor / "anywidget.js": Path(anywidget.__file__).parent / "nbextension" / "index.js",
    }.items():
        shutil.copy(source, target)
    (vendor / "paths.js").write_text('var require = {paths: {anywidget: "anywidget"}};')
    (book / "_config.yml").write_text(json.dumps(STOCK_CONFIG))
    (book / "_toc.yml").write_text(json.dumps({"format": "jb-book", "root": STOCK_CHAPTER}))
    program = Path(sys.executable).parent / "jupyter-book"
    subprocess.run([str(program), "build", "-q", str(book)], check=True, capture_output=True)
    return book / "_build" / "html"


def stock_row() -> Row:
    """The stock page, its weight, and how much later than ours it is alive."""
    require_book()
    stock = build_stock()
    with chromium() as browser, served(SITE) as home, served(stock) as stock_home:
        row = weight(browser, stock, stock_home, STOCK_CHAPTER)
        ours = f"{home}chapters/{STOCK_CHAPTER}.html"
        theirs = f"{stock_home}{STOCK_CHAPTER}.html"
        for name, network in (("local", None), ("phone", PHONE)):
            row |= compared(browser, ours, theirs, name, network)
    return row


def compared(
    browser: Browser, ours: str, theirs: str, name: str, network: dict[str, Any] | None
) -> Row:
    """Open two pages in turn: both times to life, and their ratio round by round."""
    rounds = [
        [time_to_life(browser, address, network) for address in (ours, theirs)]
        for _ in range(ROUNDS)
    ]
    low, middle, high = statistics.quantiles([b / a for a, b in rounds], n=4)
    return {
        f"{name}: alive ms": statistics.median(b for _, b in rounds),
        f"{name}: ours ms": statistics.median(a for a, _ in rounds),
        f"{name}: times slower": middle,
        f"{name}: quartiles": f"{low:.2f} to {high:.2f}",
    }


def measured_by(name: str) -> Callable[[], Row]:
    """The measurement of one page."""
    return lambda: page_row(name)


def rows() -> dict[str, Callable[[], Row]]:
    """The rows of this file by name."""
    named = {f"page-{Path(name).name}": measured_by(name) for name in pages()}
    return named | {"page-stock": stock_row}
