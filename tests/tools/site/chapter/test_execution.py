"""What a build needs before it executes a chapter."""

from __future__ import annotations

import re
import sys

import pytest
from sphinx.errors import ExtensionError

from tools import ROOT
from tools.site.chapter.execution import need_package


def test_without_the_package_a_build_names_the_line_of_the_readme_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "attnbook", None)
    with pytest.raises(ExtensionError, match=r"^attnbook, .* is not installed") as refused:
        need_package()
    (line,) = re.findall(r"`(.*)`", str(refused.value))
    assert f"`{line}`" in (ROOT / "README.md").read_text("utf-8")
