"""Cells of tables: a word replaces a number and its exact value."""

from tests.figures.shared.node import run_in_node
from tools import ROOT

# The part of the DOM that a cell needs.
PROGRAM = """
import { readFileSync } from "node:fs";
const { module } = JSON.parse(readFileSync(0, "utf8"));
class Cell extends Map {
  setAttribute(name, value) { this.set(name, value); }
  removeAttribute(name) { this.delete(name); }
  append() {}
}
const created = [];
globalThis.document = { createElement: () => (created.push(new Cell()), created.at(-1)) };
const { tableRow } = await import(module);
const row = tableRow(1);
const [cell] = created.filter((one) => !one.has("scope"));
const shown = [0.25, "none", 0.5].map((content) => {
  row.set("a", [content]);
  return [cell.textContent, cell.get("data-value") ?? null];
});
console.log(JSON.stringify(shown));
"""


def test_a_cell_that_changes_to_a_word_has_no_number():
    module = ROOT / "attnbook" / "figures" / "shared" / "tables.js"
    assert run_in_node(PROGRAM, module) == [["0.250", "0.25"], ["none", None], ["0.500", "0.5"]]
