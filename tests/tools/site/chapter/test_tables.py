"""Wide tables of the text: a table on a wide page, stacked rows on a phone."""

from __future__ import annotations

from tests.tools.site.site_checks import NARROW, WIDE, change_view, open_page
from tools.site.chapter.tables import break_names
from tools.site.search.parts import text_by_id

# The first row of the first wide table, as it is displayed.
FIRST_ROW = """() => document.querySelector('table.attnbook-stacked tbody tr').innerText
    .split(/[\\n\\t]+/).map(text => text.trim()).filter(Boolean)"""


# Whether no table is wider than what is around it.
FITS = """() => [...document.querySelectorAll('table.attnbook-stacked')]
    .every(table => table.offsetWidth <= table.parentElement.offsetWidth)"""


def test_on_a_phone_each_cell_of_a_wide_table_is_a_line_that_names_its_column(browser, home):
    with open_page(browser, f"{home}chapters/mask-table.html") as (page, _):
        table = page.locator("table.attnbook-stacked").first
        heads = table.locator("thead :is(th, td)").all_text_contents()  # the first may name nothing
        for width in (WIDE, NARROW):
            change_view(page, width, "light")
            row = page.evaluate(FIRST_ROW)
            assert len(row) == len(heads) > 3
            cells = zip(row[1:], heads[1:], strict=True)
            named = {cell.startswith(f"{head}: ") for cell, head in cells}
            assert named == {width == NARROW}
            assert page.evaluate(FITS)


def test_names_in_a_table_break_after_points_only_and_are_read_as_one():
    code = '<code><span class="pre">nn.TransformerEncoderLayer</span> <span class="pre">a_b</span>'
    table = f'<article><table class="table"><td>{code}</code></td></table>'
    whole = f"{table}<p>{code}</code></p></article>"
    context = {"body": whole}
    break_names(context)
    broken = context["body"]
    cell, _, text = broken.partition("<p>")
    assert cell == table.replace("nn.", "nn.<wbr>")
    assert text == whole.partition("<p>")[2]
    assert text_by_id(broken) == text_by_id(whole)
