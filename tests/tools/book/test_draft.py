"""A page of `make chapter` in a browser: it reloads after a build, at the same position."""

from __future__ import annotations

import pytest

from tools import ROOT
from tools.book.server import BUILD, address, show, start_server

FOLD = "<details><summary>Answer</summary><p style='height: 700px'>A half each.</p></details>"
POSITION = (ROOT / "tools" / "site" / "static" / "place.js").read_text("utf-8")
# Each build has more height above the text being read; the figure's height is set after loading.
PAGE = f"""<!DOCTYPE html><title>t</title><article><section id="s">{2 * FOLD}
<p style="height: {{high}}px">{{text}}</p><div data-attnbook-view="figure-0"></div>
</section><section id="read"><p>first</p><p id="here" style="height: 5000px">here</p></section>
</article><script>{POSITION.replace("{", "{{").replace("}", "}}")}</script><script>
addEventListener("load", () => requestAnimationFrame(() => {{{{
  document.querySelector("[data-attnbook-view]").innerHTML =
    "<figure style='height: 900px'></figure>";
}}}}));
</script>"""
TOP = "document.querySelector('#here').getBoundingClientRect().top"


@pytest.fixture
def write(tmp_path):
    """A function that shows a build whose page has this text; and the page's address."""
    server = start_server(tmp_path)

    def write(number: int, text: str) -> str:
        build = tmp_path / str(number)
        build.mkdir()
        (build / "index.html").write_text(PAGE.format(high=300 * number, text=text), "utf-8")
        show(server, build)
        return address(server)

    yield write
    server.shutdown()
    server.server_close()


def test_a_page_reloads_only_after_a_new_build_and_restores_its_position_and_answers(
    browser, write
):
    tab = browser.new_page(viewport={"width": 800, "height": 600})
    tab.goto(write(1, "before"))
    tab.locator("summary").nth(1).click()
    tab.locator("figure").wait_for()
    tab.evaluate("document.querySelector('#here').scrollIntoView()")
    tab.evaluate("scrollBy(0, 400)")
    assert tab.evaluate(TOP) == -400
    tab.evaluate("document.title = 'mine'")
    for _ in range(3):  # the page has read the first responses before it asks again
        with tab.expect_response(f"**{BUILD}"):
            pass
    assert tab.title() == "mine"

    write(2, "after")
    tab.get_by_text("after").wait_for()
    tab.locator("figure").wait_for()
    tab.wait_for_function(f"{TOP} === -400")
    are_open = "[...document.querySelectorAll('details')].map((fold) => fold.open)"
    assert tab.evaluate(are_open) == [False, True]
    tab.close()
