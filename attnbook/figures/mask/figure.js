// The mask figure: rules, the mask that they make, and the code for each library.
/** @import { Place } from "../shared/types" */
/** @import { Library, Traits } from "./types" */
import { make, put, withCode } from "../shared/elements.js";
import { batchPaints, mountFigure, setterOf } from "../shared/mount.js";
import { compareWithGoal } from "./common_mistakes.js";
import { controlsOf } from "./controls.js";
import { codeBox, maskTable, matrix } from "./pieces.js";
import { ownOf, ownRule } from "./reader_function.js";
import { describeCounts, describeEmptyRows, intersection, rulesOf, tableOf, visibleOf } from "./rules.js";

const TRAITS = [
  ...["num_queries", "num_keys", "valid_len", "start", "causal", "back", "ahead", "documents", "prefix"],
  ...["predicate", "table", "error", "library"],
];

/** How a mask compares with the goal, in words. @param {ReturnType<typeof compareWithGoal>} found */
export function verdictOn({ differ, mistake }) {
  if (!differ) return "✓ This is the picture.";
  return `Not yet: ${differ} ${differ === 1 ? "pair differs" : "pairs differ"}. ${mistake}`.trim();
}

/** Draw the figure into `el` and repaint it when the model changes; returns a clean-up. @param {Place<Traits>} context */
function drawMask(context) {
  const { model } = context;
  const goal = model.get("goal");
  const wanted = goal && visibleOf(goal);
  const has = (/** @type {"predicate" | "code"} */ name) => model.get("groups").includes(name);
  const controls = controlsOf(model);
  const own = has("predicate") ? ownRule(model) : null;
  const code = has("code")
    ? codeBox((library) => setterOf(model)({ library: /** @type {Library} */ (library) }))
    : null;
  const [picture, table] = [matrix(goal ? "Yours" : ""), maskTable()];
  const target = goal ? matrix("Wanted") : null;
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const [empty, verdict] = [make("p", { class: "mask-empty" }), make("p", { class: "mask-verdict", role: "status" })];
  const pictures = make("div", { class: "mask-pictures" }, ...(target ? [target.element] : []), picture.element);
  const key = `■ visible, · hidden, □ the query’s own key${goal ? ", dashed: differs from the wanted one" : ""}`;
  const legend = make("small", { class: "mask-legend", text: key });
  const left = make("div", {}, pictures, legend, readout, ...(goal ? [verdict] : []), empty);
  const top = make("div", { class: "mask-top" }, left, controls.element);
  const middle = [own, code].flatMap((part) => (part ? [part.element] : []));
  let shown = "";
  const paint = () => {
    const rules = rulesOf(model);
    const mask = intersection(visibleOf(rules), tableOf(model));
    controls.paint(rules);
    picture.paint(rules, mask, wanted);
    if (goal) target?.paint(goal, visibleOf(goal), null);
    put(readout, { text: describeCounts(mask) });
    put(empty, { text: describeEmptyRows(rules, mask) });
    own?.paint();
    code?.paint(model.get("library"), rules, ownOf(model));
    table.paint(rules, mask);
    if (!goal) return;
    const now = verdictOn(compareWithGoal(mask, goal));
    if (now !== shown) verdict.replaceChildren(...withCode(now));
    shown = now;
  };
  const { soon, stop } = batchPaints(paint); // several rules may be set at once
  const { close } = mountFigure(context, {
    elements: [top, ...middle, table.element],
    traits: TRAITS,
    paint,
    onChange: soon,
    extraClass: goal ? "with-goal" : "",
  });
  return () => {
    close();
    stop();
    own?.close();
  };
}

export default { render: drawMask };
