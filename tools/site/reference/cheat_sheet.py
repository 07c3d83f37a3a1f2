"""The cheat sheet: a style that only its page has, and a PDF of it, if there is a Chromium.

The page works without the PDF: it then has no link to it.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from playwright.sync_api import Browser, Error, sync_playwright
from sphinx.application import Sphinx
from sphinx.util import logging

from tools import chromium
from tools.site import TEXT
from tools.site.assets.styles import BUNDLE

PAGE, PDF, STYLE = "chapters/cheat-sheet", "cheat-sheet.pdf", "cheat_sheet.css"
DIGEST = "cheat-sheet.digest"  # among the doctrees: what the PDF was made from
PLACE = re.compile(r'(<p class="book-pdf">).*?(</p>)', re.DOTALL)
LINK = f'<a href="{PDF}" download>{TEXT("pdf_of_sheet")}</a>'
SHEET = re.compile(rb"/Type\s*/Page\b")
# Fonts differ from machine to machine. One whose letters are wide needs a smaller scale.
SCALES = (1.0, 0.97, 0.94, 0.91, 0.88, 0.85)

logger = logging.getLogger(__name__)


def print_page(browser: Browser, page: Path, paper: str = "A4") -> bytes:
    """Print a page of the built site as a PDF of one sheet.

    Raises:
        ValueError: it does not fit on one sheet.
    """
    tab = browser.new_page(color_scheme="light")
    tab.goto(page.absolute().as_uri())
    tab.evaluate("document.fonts.ready")
    for scale in SCALES:
        printed = tab.pdf(format=paper, landscape=True, scale=scale, tagged=True)
        if len(SHEET.findall(printed)) == 1:
            tab.close()
            return printed
    raise ValueError(f"{page.name} must fit on one sheet of {paper}, got more at {SCALES[-1]:.0%}")


def print_in_chromium(page: Path) -> bytes | None:
    """Print a page in this machine's Chromium; None if there is none that starts."""
    with sync_playwright() as playwright:
        try:
            browser = chromium.launch(playwright.chromium)
        except Error:
            return None
        with browser:
            return print_page(browser, page)


def with_link(html: str, *, linked: bool) -> str:
    """The page with a link to its PDF, or without one."""
    return PLACE.sub(lambda place: place[1] + (LINK if linked else "") + place[2], html)


def digest(site: Path, html: str) -> str:
    """A hash of what is printed."""
    styles = [(site / "_static" / name).read_bytes() for name in (BUNDLE, STYLE)]
    return hashlib.sha256(b"\0".join([html.encode(), *styles])).hexdigest()


def write_pdf(site: Path, stored: Path) -> bool:
    """Write the PDF of the built page, unless it is there and was made from the same page.

    Args:
        site: the folder of the built pages.
        stored: the file with the hash of what the PDF was made from.

    Returns:
        Whether there is one; without a Chromium, there is none.

    Raises:
        ValueError: the page does not fit on one sheet.
    """
    page = site / f"{PAGE}.html"
    pdf, html = page.with_name(PDF), with_link(page.read_text("utf-8"), linked=False)
    now = digest(site, html)
    if not (pdf.exists() and stored.exists() and stored.read_text() == now):
        pdf.unlink(missing_ok=True)
        if printed := print_in_chromium(page):
            pdf.write_bytes(printed)
            stored.write_text(now)
        else:
            logger.info("No Chromium starts, so the cheat sheet has no PDF to download.")
    page.write_text(with_link(html, linked=pdf.exists()), "utf-8")
    return pdf.exists()


def add_style(app: Sphinx, page: str) -> None:
    """Give the sheet its own style."""
    if page == PAGE:
        app.add_css_file(STYLE)


def finish(app: Sphinx) -> None:
    """Print the sheet, once the style of all pages is written."""
    site = Path(app.outdir)
    if not app.config.book_draft and (site / f"{PAGE}.html").exists():
        write_pdf(site, Path(app.doctreedir, DIGEST))
