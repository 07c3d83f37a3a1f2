"""The Chromium of this machine, for programs that open pages; it reaches this machine only."""

from __future__ import annotations

import shutil
from typing import Any

from playwright.sync_api import Browser, BrowserType

QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
# Requests to other machines fail at once.
ONLY_THIS_MACHINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def on_path(*, whole: bool = True) -> str | None:
    """The path of an installed Chromium, if there is one.

    Args:
        whole: Whether it must be the browser that readers have; see `launch`.
    """
    names = [*([] if whole else ["chromium-headless-shell"]), "chromium", "google-chrome"]
    return next(filter(None, map(shutil.which, names)), None)


def launch(
    chromium: BrowserType,
    *,
    whole: bool = False,
    **options: Any,  # noqa: ANN401 - Playwright's own
) -> Browser:
    """Start the one on PATH, else Playwright's own.

    Args:
        chromium: Playwright's Chromium.
        whole: Whether it must be the browser that readers have. It takes twice as long to open a
            page as the headless shell, and caches the pages that one leaves.
        options: Playwright's other options.

    Raises:
        playwright.sync_api.Error: there is none, or it does not start.
    """
    path = on_path(whole=whole)
    return chromium.launch(executable_path=path, args=[*QUIET, ONLY_THIS_MACHINE], **options)
