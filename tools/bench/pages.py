"""Measure the built pages in a browser: their size, and the time until their figures respond.

They are compared with the same chapter in plain Jupyter Book, with html-manager from local files.
Both are opened in turn, each time with a new browser profile, so their ratio does not depend on
the speed of the machine: once without a limit of the connection, and once over a simulated phone
connection.
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
from tools.bench.browser import PHONE, chromium, compress, open_new_page, serve, time_to_response
from tools.table_of_contents import pages

SITE = ROOT / "_build" / "html"
WORK = ROOT / "_build" / "stock"
STOCK_CHAPTER = "masked-softmax"
PACKAGES = ("requirejs@2.3.7", "@jupyter-widgets/html-manager@1.0.15")
LOADS, ROUNDS = 5, 7
Row = dict[str, float | str]


def weight(browser: Browser, site: Path, url: str, name: str) -> Row:
    """The size of a first visit to a page: kilobytes after gzip -6, and requests."""
    with open_new_page(browser) as (page, requested):
        page.goto(f"{url}{name}.html", wait_until="networkidle")
        if has_figures(site, name):
            page.evaluate("window.slider")
        # The browser loads the icon without an event of the page.
        icons = page.locator('link[rel~="icon"]').evaluate_all("all => all.map(one => one.href)")
    urls = {url for url in [*requested, *icons] if not url.startswith(("data:", "blob:"))}
    files = [site / unquote(urlsplit(url).path.lstrip("/")) for url in urls if url.startswith(url)]
    size = sum(len(compress(file)) for file in files if file.is_file())
    hosts = {urlsplit(url).netloc for url in urls if not url.startswith(url)}
    return {"KB": size / 1000, "requests": float(len(urls)), "other hosts": float(len(hosts))}


def has_figures(site: Path, name: str) -> bool:
    """Whether a built page has an interactive figure, ours or html-manager's."""
    html = (site / f"{name}.html").read_text("utf-8")
    return "data-attnbook-view" in html or "widget-view+json" in html


def page_row(name: str) -> Row:
    """One page of the built book."""
    require_book()
    with chromium() as browser, serve(SITE) as url:
        row = weight(browser, SITE, url, name)
        if has_figures(SITE, name):
            loads = [time_to_response(browser, f"{url}{name}.html") for _ in range(LOADS)]
            row["alive ms"] = statistics.median(loads)
        return row


def require_book() -> None:
    """Exit if there is no finished book."""
    if not (SITE.parent / ".made-from").exists():
        sys.exit("There is no finished book to measure: run `make book` first.")


def fetch_stock() -> Path:
    """Download the packages that stock pages load from a CDN; gives their folder."""
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
    """Render the chapter with stock Jupyter Book and local files of html-manager."""
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
    """The stock page: its size, and how much later than ours it responds."""
    require_book()
    stock = build_stock()
    with chromium() as browser, serve(SITE) as url, serve(stock) as stock_url:
        row = weight(browser, stock, stock_url, STOCK_CHAPTER)
        ours = f"{url}chapters/{STOCK_CHAPTER}.html"
        theirs = f"{stock_url}{STOCK_CHAPTER}.html"
        for name, network in (("local", None), ("phone", PHONE)):
            row |= compare(browser, ours, theirs, name, network)
    return row


def compare(
    browser: Browser, ours: str, theirs: str, name: str, network: dict[str, Any] | None
) -> Row:
    """Open two pages in turn: both times to the first response, and their ratio."""
    rounds = [
        [time_to_response(browser, address, network) for address in (ours, theirs)]
        for _ in range(ROUNDS)
    ]
    low, middle, high = statistics.quantiles([b / a for a, b in rounds], n=4)
    return {
        f"{name}: alive ms": statistics.median(b for _, b in rounds),
        f"{name}: ours ms": statistics.median(a for a, _ in rounds),
        f"{name}: times slower": middle,
        f"{name}: quartiles": f"{low:.2f} to {high:.2f}",
    }


def measurement_of(name: str) -> Callable[[], Row]:
    """The measurement of one page."""
    return lambda: page_row(name)


def rows() -> dict[str, Callable[[], Row]]:
    """The rows of this file by name."""
    by_name = {f"page-{Path(name).name}": measurement_of(name) for name in pages()}
    return by_name | {"page-stock": stock_row}
