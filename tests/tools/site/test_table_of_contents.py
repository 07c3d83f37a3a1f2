"""The contents of a page: the section that is read is marked, and a link closes the drawer."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.tools.site.site_checks import NARROW, open_page

# At each stop of a scroll down and up again: what stays marked other than the last heading above
# the line.
MISTAKES = """async () => {
    const links = [...document.querySelectorAll('nav.page-toc a')].filter(e => e.offsetParent);
    const headings = links.map(link => document.querySelector(`${link.hash} :is(h2, h3)`));
    const stops = [], end = document.documentElement.scrollHeight - innerHeight;
    for (let y = 0; y < end; y += 800) stops.push(y);
    const mistakes = [];
    const mistake = (y) => {
        const above = headings.filter(e => e.getBoundingClientRect().top <= 0.4 * innerHeight);
        const marked = [...document.querySelectorAll('nav.page-toc :is(a.active, [aria-current])')];
        const right = above.length
            ? marked.length === 1 && marked[0] === links[above.length - 1]
            : marked.length === 0;
        return !right && [y, above.at(-1)?.textContent, ...marked.map(e => e.hash)];
    };
    for (const y of [...stops, ...stops.toReversed()]) {
        scrollTo({ top: y, behavior: 'instant' });
        for (const start = performance.now(); mistake(y) && performance.now() - start < 10_000;)
            await new Promise(done => setTimeout(done, 20));
        if (mistake(y)) mistakes.push(mistake(y));
    }
    return [stops.length, mistakes];
}"""
MOUNTED = """() => [...document.querySelectorAll('[data-attnbook-view]')]
    .every(view => view.querySelector('figure'))"""


def test_the_section_whose_heading_is_the_last_above_the_line_is_marked(browser, home):
    with open_page(browser, f"{home}chapters/self-attention.html", 1600) as (tab, record):
        tab.locator("nav.page-toc a.nav-link").first.click()
        tab.wait_for_function("document.querySelector('nav.page-toc a.active')")
        stops, mistakes = tab.evaluate(MISTAKES)
        assert stops > 7
        assert mistakes == []
        assert record.complaints == []


def test_a_link_in_the_drawer_closes_it_and_a_button_can_be_clicked_through_a_label(browser, home):
    url = f"{home}chapters/self-attention.html"
    with open_page(browser, url, NARROW, has_touch=True) as (tab, record):
        tab.locator(".secondary-toggle").click()
        tab.locator("dialog[open] a", has_text="One word at a time").tap()
        tab.locator("dialog[open]").wait_for(state="detached")
        heading = tab.locator("#one-word-at-a-time h2")
        tab.wait_for_function("document.activeElement.matches('#one-word-at-a-time h2')")
        assert 0 <= heading.bounding_box()["y"] < 200

        tab.locator(".secondary-toggle").focus()
        label = tab.locator(".tooltip.show")
        label.wait_for()
        box, button = label.bounding_box(), tab.locator(".search-button:visible").bounding_box()
        assert box["x"] < button["x"] + button["width"], "it lies on the button"
        assert box["x"] + box["width"] > button["x"], "it lies on the button"
        tab.mouse.click(button["x"] + button["width"] / 2, button["y"] + button["height"] / 2)
        expect(tab.locator("dialog[open]")).to_have_count(1)
        assert record.complaints == []
