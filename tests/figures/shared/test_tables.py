"""The tables behind pictures: a cell's exact number goes where a word takes its place."""

from tests.figures.shared.node import in_node
from tools import ROOT

# As much of a page as a cell needs.
PROGRAM = """
import { readFileSync } from "node:fs";
const { module } = JSON.parse(readFileSync(0, "utf8"));
class Cell extends Map {
  setAttribute(name, value) { this.set(name, value); }
  removeAttribute(name) { this.delete(name); }
  append() {}
}
const seen = [];
globalThis.document = { createElement: () => (seen.push(new Cell()), seen.at(-1)) };
const { tableRow } = await import(module);
const row = tableRow(1);
const [cell] = seen.filter((one) => !one.has("scope"));
const found = [0.25, "none", 0.5].map((content) => {
  row.set("a", [content]);
  return [cell.textContent, cell.get("data-value") ?? null];
});
console.log(JSON.stringify(found));
"""


def test_a_number_that_becomes_a_word_leaves_no_number_behind():
    module = ROOT / "attnbook" / "figures" / "shared" / "tables.js"
    assert in_node(PROGRAM, module) == [["0.250", "0.25"], ["none", None], ["0.500", "0.5"]]
