"""The Chromium of this machine, for whatever looks at pages; it reaches this machine only."""

from __future__ import annotations

import shutil
from typing import Any

from playwright.sync_api import Browser, BrowserType

QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
# What a page asks of others fails at once.
ONLY_THIS_MACHINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"


def launch(chromium: BrowserType, **options: Any) -> Browser:  # noqa: ANN401 - Playwright's own
    """Start the one on PATH, else Playwright's own.

    Raises:
        playwright.sync_api.Error: there is none, or it does not start.
    """
    # Not chromium-headless-shell: it opens a page in half the time, but keeps none that one
    # leaves, and a test is about figures that come back.
    path = shutil.which("chromium") or shutil.which("google-chrome")
    return chromium.launch(executable_path=path, args=[*QUIET, ONLY_THIS_MACHINE], **options)
