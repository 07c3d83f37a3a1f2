"""What a page says of where it comes from, a link to its copy, and the address to share.

Without the address of a repository there is no button, and without that of the site nothing that
needs it (`sharing`).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError

from tools import repository_address
from tools.site import TEXT
from tools.site.page_tree import colab_copy, root_of

CARDS = "_static/cards"
WIDTH, HEIGHT = 1200, 630  # pixels of a card; what the networks that show cards ask for
LOST = "404"  # the page that a server shows in place of one that is not there
SITEMAP, ROBOTS = "sitemap.xml", "robots.txt"
SHARED = re.compile(
    r'<link rel="canonical"[^>]*>|<meta (?:property="og:|name="(?:description|twitter:))[^>]*>'
)


def site_address() -> str:
    """The address of the published site; empty if the environment does not name it.

    Raises:
        ConfigError: the address is not valid.
    """
    try:
        return repository_address.site_address()
    except ValueError as error:
        raise ConfigError(str(error)) from error


def describe_origin(app: Sphinx, config: Config) -> None:
    """Write at each page's foot what it was built from, and link to the repository if there is one.

    A site without answers has no link: the repository, its Colab copies and the pages for
    editing contain the answers.
    """
    options: dict[str, Any] = config.html_theme_options
    root = root_of(app)
    origin = TEXT("draft") if config.book_draft else repository_address.describe_commit(root)
    options["extra_footer"] = f"<p>{origin} {TEXT('licences')}</p>"
    address = repository_address.repository_address(root) if config.book_answers else ""
    options["repository_url"] = address
    for button in ("use_repository_button", "use_edit_page_button", "use_issues_button"):
        options[button] = bool(address)


def add_colab_button(app: Sphinx, page: str, context: dict[str, Any]) -> None:
    """Add a link to the menu of a notebook's page that opens its Colab copy."""
    address = colab_copy(app, page)
    if address and context.get("page_source_suffix") == ".ipynb":
        button = {"type": "link", "url": address, "tooltip": TEXT("run_in_colab")}
        context["header_buttons"].insert(0, button)


def shared_tags(html: str) -> str:
    """The tags of a page for previews, for another page that redirects to it."""
    return "".join(f"{tag}\n" for tag in SHARED.findall(html))


def drop_addresses(app: Sphinx) -> None:
    """Remove what an earlier build, for a known address, left in the same folder."""
    if site_address():
        return
    for name in (SITEMAP, ROBOTS, f"{LOST}.html"):
        Path(app.outdir, name).unlink(missing_ok=True)
    shutil.rmtree(Path(app.outdir, CARDS), ignore_errors=True)
