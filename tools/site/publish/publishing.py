"""What the book has once it is published: a button to its copies, and addresses to share.

Without the address of a repository there is no button, and without that of the site nothing that
needs it (`sharing`).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

from tools import repository_address
from tools.site import TEXT

CARDS = "_static/cards"
LOST = "404"  # the page that a server shows in place of one that is not there
SITEMAP, ROBOTS = "sitemap.xml", "robots.txt"
BUTTON = {
    "type": "link",
    "text": "Colab",
    "tooltip": TEXT("run_in_colab"),
    "icon": "fas fa-play",
    "label": "colab-button",
    "classes": "d-inline-flex align-items-center gap-1 fs-6",
}
SHARED = re.compile(
    r'<link rel="canonical"[^>]*>|<meta (?:property="og:|name="(?:description|twitter:))[^>]*>'
)


def add_colab_button(context: dict[str, Any], page: str, repository: str) -> None:
    """Add a button to a notebook's page that opens its Colab copy."""
    address = repository_address.colab_address(repository, page.removeprefix("chapters/"))
    if address and context.get("page_source_suffix") == ".ipynb":
        context["header_buttons"].insert(0, BUTTON | {"url": address})


def shared_tags(html: str) -> str:
    """The tags of a page for previews, for another page that redirects to it."""
    return "".join(f"{tag}\n" for tag in SHARED.findall(html))


def drop_addresses(app: Sphinx) -> None:
    """Remove what an earlier build, for a known address, left in the same folder."""
    for name in (SITEMAP, ROBOTS, f"{LOST}.html"):
        Path(app.outdir, name).unlink(missing_ok=True)
    shutil.rmtree(Path(app.outdir, CARDS), ignore_errors=True)


def setup(app: Sphinx) -> None:
    """Add the button; and, if the environment names the site, what needs its address.

    Raises:
        ConfigError: the environment's address of the site is not valid.
    """
    # After the theme has begun its list of buttons.
    app.connect(
        "html-page-context",
        lambda app, page, _, context, _tree: add_colab_button(
            context, page, app.config.html_theme_options.get("repository_url", "")
        ),
        priority=502,
    )
    try:
        site = repository_address.site_address()
    except ValueError as error:
        raise ConfigError(str(error)) from error
    if site:
        app.setup_extension("tools.site.publish.sharing")
    else:
        app.connect("builder-inited", drop_addresses)
