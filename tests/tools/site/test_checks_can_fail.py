"""Each check of the pages notices the fault that it is there for."""

from __future__ import annotations

import pytest

from tests.tools.site.site_checks import NARROW, dead_links, look, opened, packed_load

GOOD = '<!DOCTYPE html><html lang="en"><title>Good</title><link rel="icon" href="data:,">{}</html>'


@pytest.fixture
def show(browser, serve, tmp_path):
    """A function that looks at a small page with this body."""

    def go(body: str, width: int = NARROW):
        (tmp_path / "page.html").write_text(GOOD.format(body))
        with opened(browser, serve(tmp_path) + "page.html", width) as (page, record):
            return look(page, record)

    return go


def test_a_good_page_passes_every_check(show):
    record = show("<main><h1>Good</h1><button class='search-button'>Search</button></main>")
    assert (
        record.complaints + record.failures + record.findings + record.foreign("http://127") == []
    )
    assert (record.title, record.headings, record.searches) == ("Good", ["Good"], ["Search"])
    assert record.scroll_width <= NARROW


@pytest.mark.parametrize("call", ["console.warn('x')", "console.error('x')", "throw Error('x')"])
def test_a_complaint_in_the_console_is_noticed(show, call):
    assert "x" in show(f"<script>{call}</script>").complaints[0]


def test_an_error_without_an_exception_is_noticed(show):
    grow = "new ResizeObserver(([{ target }]) => target.prepend(document.createElement('br')))"
    record = show(f"<p>x</p><script>{grow}.observe(document.querySelector('p'))</script>")
    assert "ResizeObserver" in record.complaints[0]


def test_a_request_to_another_host_is_noticed_and_goes_nowhere(show):
    record = show('<img alt="x" src="http://example.org/x.png">')
    assert record.foreign("http://127.0.0.1") == ["http://example.org/x.png"]
    assert record.failures == ["http://example.org/x.png"]


def test_a_missing_file_is_noticed(show):
    assert show('<img alt="x" src="gone.png">').failures[0].startswith("404 ")


def test_what_a_page_no_longer_waits_for_is_no_failure(show):
    stop = "const stop = new AbortController(); setTimeout(() => stop.abort());"
    ask = "fetch('page.html?late', { signal: stop.signal }).catch(() => {})"
    record = show(f"<script>{stop}{ask}</script>")
    assert record.requests[-1].endswith("?late")
    assert record.failures == []


def test_pale_text_is_noticed(show):
    findings = show('<main><p style="color:#bbb;background:#fff">pale</p></main>').findings
    assert "color-contrast" in findings[0]


def test_pale_text_in_a_folded_answer_is_noticed(show):
    pale = '<p style="color:#bbb;background:#fff">pale</p>'
    findings = show(f"<main><details><summary>Answer</summary>{pale}</details></main>").findings
    assert "color-contrast" in findings[0]


# A word among others that look like those before it, until something makes it pale.
WORD = "<span class='word'>word</span> "


@pytest.mark.parametrize(
    "pale",
    [
        "<span class='word' style='color:#bbb'>pale</span>",
        "<span class='word' style='background:#555'>pale</span>",
        f"<b style='background:#555'>{WORD}</b>",
        f"<b style='opacity:0.4'>{WORD}</b>",
        f"<b style='color:#bbb'>{WORD}</b>",
    ],
)
def test_one_pale_word_among_many_is_noticed(show, pale):
    for block in ("<pre>{}</pre>", "<table><tr><td>{}</table>"):
        text = block.format(WORD * 9 + pale + WORD * 9)
        findings = show(f"<style>main {{ color: #222 }}</style><main>{text}</main>").findings
        assert [finding.partition(":")[0] for finding in findings] == ["color-contrast"]


def test_every_word_on_a_pale_ground_of_a_figure_is_judged(show):
    words = "<i style='position:absolute;background:#555;width:4em;z-index:-1'>&nbsp;</i>" + WORD
    figure = f"<figure data-attnbook-figure='x'><p>{WORD}</p><p>{words}</p></figure>"
    findings = show(f"<style>main {{ color: #222 }}</style><main>{figure}</main>").findings
    assert [finding.partition(":")[0] for finding in findings] == ["color-contrast"]


def test_a_page_wider_than_a_phone_is_noticed(show):
    record = show('<main><p id="far" style="width:500px">far</p></main>')
    assert record.scroll_width > NARROW
    assert "far" in record.overflow


def test_two_headings_and_two_searches_are_noticed(show):
    record = show("<h1>a</h1><h1>b</h1><p class=search-button>a</p><form class=bd-search>b</form>")
    assert (len(record.headings), len(record.searches)) == (2, 2)


@pytest.mark.parametrize(
    ("cap", "x2", "flat"),
    [
        ("round", 5, 1),
        ("square", 5, 1),
        ("butt", 5, 0),
        ("round", 5.001, 0),
    ],
)
def test_a_dot_that_is_a_line_without_length_is_noticed(show, cap, x2, flat):
    line = f'<line x1="5" x2="{x2}" y1="5" y2="5" stroke="red" style="stroke-linecap: {cap}"/>'
    assert len(show(f'<svg aria-hidden="true">{line}</svg>').flat_dots) == flat


@pytest.mark.parametrize("target", ["gone.html", "#gone", "b.html#gone", "../outside.html"])
def test_a_dead_link_is_noticed(tmp_path, target):
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "outside.html").touch()
    (site / "a.html").write_text(f'<p id="here"></p><a href="{target}">x</a>')
    (site / "b.html").write_text('<p id="there"></p><a href="a.html#here">x</a>')
    assert dead_links(site, site / "a.html") == [target]
    assert dead_links(site, site / "b.html") == []


def test_a_heavy_load_is_noticed(tmp_path):
    (tmp_path / "noise.bin").write_bytes(bytes(range(256)) * 2)
    one = packed_load(tmp_path, "http://x/", ["http://x/noise.bin"])
    assert one > 256
    assert packed_load(tmp_path, "http://x/", ["http://x/noise.bin"] * 3) == 3 * one
