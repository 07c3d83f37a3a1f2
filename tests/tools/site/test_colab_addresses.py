"""The links of the Colab copies exist in the built book."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tools.site.site_checks import anchors
from tools import ROOT
from tools.copies.colab import Origin, write_copies

SITE = "https://reader.github.io/attention-book/"
ADDRESS = re.compile(rf'{SITE}([^)#\s"\\]+)(?:#([^)\s"\\]+))?')


def is_missing(site: Path, path: str, anchor: str) -> bool:
    page = site / path
    return not page.is_file() or bool(anchor and anchor not in anchors(page).ids)


def test_each_address_of_a_copy_exists_in_the_published_book(site, tmp_path):
    origin = Origin(ROOT, "https://github.com/reader/attention-book", "0" * 40, SITE)
    texts = [path.read_text("utf-8") for path in write_copies(origin, tmp_path / "colab")]
    found = {target for text in texts for target in ADDRESS.findall(text)}

    assert len(found) > 50
    assert is_missing(site, "chapters/notation.html", "term-nonsense")
    assert sorted(target for target in found if is_missing(site, *target)) == []
