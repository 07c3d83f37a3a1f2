"""Where the Colab copies point, looked up in the built book."""

from __future__ import annotations

import re
from pathlib import Path

from tools import ROOT
from tools.copies.colab import Origin, write_copies

SITE = "https://reader.github.io/attention-book/"
ADDRESS = re.compile(rf'{SITE}([^)#\s"\\]+)(?:#([^)\s"\\]+))?')


def leads_nowhere(site: Path, path: str, anchor: str) -> bool:
    page = site / path
    return not page.is_file() or bool(anchor and f'id="{anchor}"' not in page.read_text("utf-8"))


def test_each_address_of_a_copy_is_a_place_in_the_published_book(site, tmp_path):
    origin = Origin(ROOT, "https://github.com/reader/attention-book", "0" * 40, SITE)
    texts = [path.read_text("utf-8") for path in write_copies(origin, tmp_path / "colab")]
    found = {place for text in texts for place in ADDRESS.findall(text)}

    assert len(found) > 50
    assert leads_nowhere(site, "chapters/notation.html", "term-nonsense")
    assert sorted(place for place in found if leads_nowhere(site, *place)) == []
