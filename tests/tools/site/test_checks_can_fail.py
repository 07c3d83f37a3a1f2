"""Each check of the pages finds its fault."""

from __future__ import annotations

import pytest

from tests.tools.site.site_checks import (
    ENFORCED,
    NARROW,
    axe_findings,
    measure,
    opened,
)

pytestmark = pytest.mark.weekly  # these test the checks, which rarely change

GOOD = '<!DOCTYPE html><html lang="en"><title>Good</title><link rel="icon" href="data:,">{}</html>'
GROW = "new ResizeObserver(([{ target }]) => target.prepend(document.createElement('br')))"
LINE = '<line x1="5" x2="{x2}" y1="5" y2="5" stroke="red" style="stroke-linecap: {cap}"/>'
DOTS = [("round", 5), ("square", 5), ("butt", 5), ("round", 5.001)]  # two of them are flat
BAD = f"""
<style>main {{ color: #222 }}</style>
<main>
  <h1>a</h1><h1>b</h1>
  <section aria-label="numbers"></section><section aria-label="numbers"></section>
  <table><tr><th></th></tr></table><p class=search-button>a</p><form class=bd-search>b</form>
  <p id="far" style="width: 500px">far</p>
  <svg aria-hidden="true">{"".join(LINE.format(cap=cap, x2=x2) for cap, x2 in DOTS)}</svg>
  <select id="small" style="height: 20px"></select>
  <figure class="attnbook-picture"><svg width="80" viewBox="0 0 100 100" aria-hidden="true">
    <text y="20" style="font-size: 12px">tiny</text></svg></figure>
  <div class="pst-scrollable-table-container" style="overflow: auto; width: 9px">table</div>
  <div class="highlight"><pre style="overflow: auto; width: 9px">code</pre></div>
  <img alt="x" src="http://example.org/x.png"><img alt="x" src="gone.png">
</main>
<script>
  console.warn("a warning"); console.error("an error"); {GROW}.observe(document.body);
  const stop = new AbortController(); setTimeout(() => stop.abort());
  fetch("page.html?late", {{ signal: stop.signal }}).catch(() => {{}});
  throw Error("an exception");
</script>
"""


@pytest.fixture
def show(browser, serve, tmp_path):
    """A function that reads a small page with this body."""

    def go(body: str):
        (tmp_path / "page.html").write_text(GOOD.format(body))
        with opened(browser, serve(tmp_path) + "page.html", NARROW) as (page, record):
            measure(page, record)
            record.findings = axe_findings(page, last=True)
        return record

    return go


def test_every_fault_of_a_bad_page_is_found(show):
    record = show(BAD)
    for complaint in ("a warning", "an error", "an exception", "ResizeObserver"):
        assert any(complaint in line for line in record.complaints)
    assert record.foreign("http://127.0.0.1") == ["http://example.org/x.png"]
    # A request that the page no longer waits for is none of them.
    foreign, missing = sorted(record.failures, key=lambda line: line.startswith("404 "))
    assert foreign == "http://example.org/x.png"
    assert missing.endswith("gone.png")
    assert any(url.endswith("?late") for url in record.requests)
    assert (len(record.headings), len(record.searches), len(record.flat_dots)) == (2, 2, 2)
    assert record.scroll_width > NARROW
    assert "far" in record.overflow
    found = [line.partition(" ")[0] for line in record.hard_on_a_phone]
    assert found == ["target", "label", "table", "code"]
    for rule in ENFORCED:
        assert any(finding.startswith(rule) for finding in record.findings)
