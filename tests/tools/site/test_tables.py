"""Wide tables of the text: a table on a wide page, stacked rows on a phone."""

from __future__ import annotations

import pytest

from tests.tools.site.site_checks import NARROW, WIDE, opened

# The first row of the first wide table, as it is displayed.
FIRST_ROW = """() => document.querySelector('table.attnbook-stacked tbody tr').innerText
    .split(/[\\n\\t]+/).map(text => text.trim()).filter(Boolean)"""


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_on_a_phone_each_cell_of_a_wide_table_is_a_line_that_names_its_column(browser, home, width):
    with opened(browser, f"{home}chapters/mask-table.html", width) as (page, _):
        table = page.locator("table.attnbook-stacked").first
        heads = table.locator("thead :is(th, td)").all_text_contents()  # the first may name nothing
        row = page.evaluate(FIRST_ROW)
    assert len(row) == len(heads) > 3
    named = [cell.startswith(f"{head}: ") for cell, head in zip(row[1:], heads[1:], strict=True)]
    assert {*named} == {width == NARROW}
