"""The book without a network: stored by the browser, or as one zip.

Both have the pages and the files that these name, and not the maps, styles and fonts that no
browser loads.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import zlib
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from sphinx.application import Sphinx
from sphinx.config import Config

from tools import table_of_contents
from tools.repository_address import git
from tools.site import TEXT
from tools.site.assets.finish import pages
from tools.site.assets.minify import minify
from tools.site.page_tree import root_of
from tools.site.publish.publishing import LOST

WORKER = "service_worker.js"  # at the root, because a worker serves the pages below its folder
SCRIPT = "_static/take_along.js"
# Scripts that other scripts name; search.js loads the parts of its index.
BY_SCRIPTS = (SCRIPT, "search/*.js")
NAMED = re.compile(r'\b(?:src|href)="([^"#?:]+)|url\(["\']?(?!data:)([^"\')#?]+)')
# Pages come by themselves, such fonts are for browsers that store none, and no zip is in itself.
LEFT_OUT = (".html", ".ttf", ".zip")
FOLD = '<details class="attnbook-along"{hidden}>'
# Written and removed once the pages are there: where there is no zip, no link leads to it.
LINKED = re.compile(FOLD.format(hidden="(?: hidden)?") + r"(<summary>.*?</summary>)(?:<p>.*?</p>)?")
TIME = (1980, 1, 1, 0, 0, 0)  # the first that a zip can store: the same book is the same bytes


def add_fold(config: Config) -> None:
    """Add a part to each page's foot, which `site.js` shows where a browser can keep pages."""
    if not config.book_draft:
        start = FOLD.format(hidden=" hidden")
        fold = f"{start}<summary>{TEXT('take_along')}</summary></details>\n"
        config.html_theme_options["extra_footer"] = fold + config.html_theme_options["extra_footer"]


def files_named_in(site: Path, name: str) -> Iterator[str]:
    """The files other than pages that a page or a style sheet names."""
    for groups in NAMED.findall((site / name).read_text("utf-8")):
        path = posixpath.join(posixpath.dirname(name), unquote("".join(groups)))
        target = posixpath.normpath(path)
        if (site / target).is_file() and not target.endswith(LEFT_OUT):
            yield target


def with_files(site: Path, names: Iterable[str]) -> list[str]:
    """These pages and scripts, and the files that they name."""
    found = [*names]
    for name in found:  # also those that are added meanwhile
        if name.endswith((".html", ".css")):
            found += sorted({*files_named_in(site, name)} - {*found})
    return found


def files_of(site: Path, path: Iterable[str]) -> tuple[list[str], int]:
    """The files of a book, those of the short path first; and how many these are."""
    first = with_files(site, [*path, SCRIPT])
    files = sorted([*pages(site), *(file for each in BY_SCRIPTS for file in site.glob(each))])
    others = [file.relative_to(site).as_posix() for file in files if file.stem != LOST]
    return [*dict.fromkeys([*first, *with_files(site, others)])], len(first)


def write_worker(site: Path, path: Iterable[str]) -> list[str]:
    """Write the script that keeps the book, with the list of its files; returns their names."""
    names, first = files_of(site, path)
    texts = {name: (site / name).read_bytes() for name in names}
    sizes = {name: len(zlib.compress(text)) for name, text in texts.items()}
    button = texts[SCRIPT].replace(b"BYTES", str(sum(sizes.values())).encode())
    (site / SCRIPT).write_bytes(button)
    texts[SCRIPT] = button
    files = [
        [name, hashlib.sha256(text).hexdigest()[:16], sizes[name]] for name, text in texts.items()
    ]
    listed = json.dumps(files, separators=(",", ":"))
    book = {"build": hashlib.sha256(listed.encode()).hexdigest()[:16], "first": first}
    (program,) = minify([("js", Path(__file__).with_name(WORKER).read_text("utf-8"))])
    script = f"self.BOOK = {{...{json.dumps(book)}, files: {listed}}};\n{program}"
    (site / WORKER).write_text(script, "utf-8")
    return names


def name_of_zip(title: str, root: Path) -> str:
    """The name of a book's zip, without its ending: the title and the commit, or the version."""
    commit = git(root, "rev-parse", "--short=10", "HEAD") or version("attnbook")
    changed = "-changed" if git(root, "status", "--porcelain", "-uno") else ""
    return f"{re.sub(r'[^a-z0-9]+', '-', title.lower()).strip('-')}-{commit}{changed}"


def write_zip(site: Path, name: str, files: Iterable[str]) -> Path:
    """Write these files of a site into a zip at its root: in one folder, always the same bytes."""
    path = site / f"{name}.zip"
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=9) as book:
        for file in sorted(files):
            entry = ZipInfo(f"{name}/{file}", TIME)
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o100644 << 16  # a file that anyone may read
            book.writestr(entry, (site / file).read_bytes())
    return path


def link(site: Path, book: Path | None) -> None:
    """Link each page to the zip, or to none."""
    for page in pages(site):
        text, line = page.read_text("utf-8"), ""
        found = LINKED.search(text)
        if not found or page.stem == LOST:
            continue
        if book:
            root = "../" * (len(page.relative_to(site).parts) - 1)
            address = f'<a href="{root}{book.name}">{TEXT("download_book")}</a>'
            size = f"{book.stat().st_size / 1e6:.1f}"
            line = f"<p>{TEXT('how_to_unzip', download=address, size=size)}</p>"
        fold = FOLD.format(hidden="" if line else " hidden") + found[1] + line
        if fold != found[0]:
            page.write_text(text.replace(found[0], fold), "utf-8")


def forget_zip(app: Sphinx) -> None:
    """Remove the zip of the build before and the links to it."""
    site = Path(app.outdir)
    link(site, None)
    for old in site.glob("*.zip"):
        old.unlink()


def finish(app: Sphinx) -> None:
    """Write the worker, and with `make zip` the zip, whose own pages cannot link to it."""
    if app.config.book_draft:
        return
    site, root = Path(app.outdir), root_of(app)
    path = [f"{page}.html" for page in table_of_contents.short_path(root)]
    names = write_worker(site, path)
    if app.config.book_zip:
        link(site, write_zip(site, name_of_zip(app.config.project, root), [*names, WORKER]))
        write_worker(site, path)  # the pages have changed
