// The mask figure: rules, the mask that they make, and the code for each library.
/** @import { Model, RenderContext } from "../shared/types" */
/** @import { Library, Rules, RulesMask, Traits } from "./types" */
import { arrangeControls, folds } from "../shared/arrangement.js";
import { make, put } from "../shared/elements.js";
import { batchPaints, mountFigure, setterOf } from "../shared/mount.js";
import { readout } from "../shared/pointing.js";
import { controlsOf } from "./controls.js";
import { FIELDS } from "./forms.js";
import TEXT from "./messages.json" with { type: "json" };
import { pairPointing } from "./pair_pointing.js";
import { codeBox, mapLegend, maskTable, pairsMap } from "./pieces.js";
import { ownOf, ownRule } from "./reader_function.js";
import {
  compareMasks,
  describeCounts,
  describeEach,
  describeEmptyRows,
  describePair,
  intersection,
  rulesOf,
  tableOf,
  visibleOf,
} from "./rules.js";

const TRAITS = [...FIELDS, "predicate", "table", "error", "library", "mistakes"];

/** What the figure compares the rules' mask with. @param {Model<Traits>} model @param {Rules} rules @returns {RulesMask | null} */
function otherOf(model, rules) {
  const [goal, observed] = [model.get("goal"), model.get("observed")];
  if (goal) return { rules: goal, mask: visibleOf(goal) };
  return observed && { rules, mask: observed };
}

/** The code to copy; it folds unless the action asks for it. @param {Model<Traits>} model @param {boolean} isAsked */
function codeOf(model, isAsked) {
  if (!model.get("groups").includes("code")) return null;
  return codeBox((library) => setterOf(model)({ library: /** @type {Library} */ (library) }), isAsked);
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {RenderContext<Traits>} context */
function drawMask(context) {
  const { model } = context;
  const [goal, compares] = [model.get("goal"), Boolean(model.get("goal") ?? model.get("observed"))];
  const titles = goal ? [TEXT.yours, TEXT.wanted] : [TEXT.rules, TEXT.observed];
  const asksCode = /[`“]code[`”]/.test(model.get("action"));
  const controls = controlsOf(model);
  const own = model.get("groups").includes("predicate") ? ownRule(model) : null;
  const code = codeOf(model, asksCode);
  const map = pairsMap(compares ? titles[0] : "", (pair) => pointed.point(pair));
  const target = compares ? pairsMap(titles[1]) : null;
  const [legend, answer, table] = [mapLegend(compares), readout(), maskTable()];
  const [empty, verdict] = ["mask-empty", "mask-verdict"].map((name) => make("p", { class: name, role: "status" }));

  const groups = own ? [...controls.groups, { name: "predicate", element: own.element }] : controls.groups;
  const { first, more } = arrangeControls(model.get("action"), groups, asksCode ? [] : model.get("main"));
  const maps = make("div", { class: "mask-maps" }, ...(target ? [target.element] : []), map.element);
  const results = make("div", { class: "mask-results" }, answer.element, ...(compares ? [verdict] : []), empty);
  const right = make("div", {}, maps, legend.element, results);
  const top = make("div", { class: "mask-top" }, make("div", { class: "mask-controls" }, ...first), right);
  const [codeFirst, codeLater] = [asksCode, !asksCode].map((here) => (here && code ? [code.element] : []));
  const body = make("div", {}, ...codeFirst, top, folds(...more, ...codeLater, table.element));
  const paint = () => {
    const rules = rulesOf(model);
    const mask = intersection(visibleOf(rules), tableOf(model));
    const pair = pointed.now(rules);
    controls.paint(rules);
    const [shown, other] = [{ rules, mask }, otherOf(model, rules)];
    map.paint(shown, other, pair);
    if (other) target?.paint(other, shown, pair);
    legend.paint(rules);
    answer.set(pair.query === null ? describeCounts(mask) : describePair(rules, tableOf(model), pair));
    put(empty, { text: describeEmptyRows(rules, mask) });
    own?.paint();
    code?.paint(model.get("library"), rules, ownOf(model));
    answer.add(asksCode && code ? code.meaning() : describeEach(rules, mask));
    table.paint(rules, mask);
    pointed.light(pair);
    if (other) put(verdict, { code: compareMasks(model, mask, other.mask) });
  };
  const { soon, stop } = batchPaints(paint); // several rules may be set at once
  const pointed = pairPointing(body, () => rulesOf(model), soon);
  const { close } = mountFigure(context, {
    elements: [body],
    traits: TRAITS,
    paint,
    onChange: soon,
    extraClass: compares ? "compares" : "",
  });
  return () => {
    close();
    stop();
    own?.close();
  };
}

export default { render: drawMask };
