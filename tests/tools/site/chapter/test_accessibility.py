"""Pictures without a text alternative."""

from __future__ import annotations

from docutils import nodes
from docutils.utils import new_document

from tools.site.chapter.accessibility import check_pictures, logger


def test_a_picture_without_words_is_noticed_unless_it_is_hidden_on_purpose(monkeypatch):
    lines = []
    monkeypatch.setattr(logger, "warning", lambda text, *values, **_: lines.append(text % values))
    page = new_document("page")
    named = '<img alt="x"><svg role="img" aria-label="x"></svg><svg aria-hidden="true"></svg>'
    for html in ("<img src=a.png>", '<img src=a.png alt="">', "<img alt>", "<svg></svg>", named):
        page += nodes.raw("", html, format="html")
    page += [nodes.image(uri="none"), nodes.image(uri="empty", alt=" "), nodes.image(alt="x")]
    check_pictures(page)
    tags = [f"<{tag}> without alt or aria-label" for tag in ("img", "img", "img", "svg")]
    pictures = [f"picture without alt text: {name}" for name in ("none", "empty")]
    assert lines == pictures + tags
