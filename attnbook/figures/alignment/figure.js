// The alignment figure: a translation, and where the model attended before each of its characters.
/** @import { Box, Ends, RenderContext, FigureTraits } from "../shared/types" */
/** @import { Translated } from "./types" */
import { maskedSoftmax } from "../shared/attention.js";
import { selectBox } from "../shared/controls.js";
import { make, put, stretched } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import TOKENS from "../tokens/messages.json" with { type: "json" };
import { outputTokens, textTokens } from "../tokens/rows.js";
import { tokenView } from "../tokens/view.js";
import TEXT from "./messages.json" with { type: "json" };
import { goldOf, goldPath, optionName, otherOutput, sentence, weightInside } from "./steps.js";

/** @typedef {FigureTraits & {translations: Translated[], date: number, step: number}} Traits */

/** The last step of a translation, or the one wanted. @param {number} step @param {Translated} shown */
function within(step, { output }) {
  return Math.max(0, Math.min(step, output.length - 1));
}

/** A bracket below tokens, for each line of them. @param {Box[]} boxes */
function bracketOf(boxes) {
  const lines = [...new Set(boxes.map((box) => box.bottom))].map((bottom) =>
    boxes.filter((box) => box.bottom === bottom),
  );
  const d = lines.map((line) => {
    const [{ left, bottom }, { right }] = [line[0], line[line.length - 1]];
    return `M${left + 2} ${bottom + 2}v4H${right - 2}v-4`;
  });
  const { left, right, bottom } = boxes[Math.floor((boxes.length - 1) / 2)];
  return { d: d.join(""), x: (left + right) / 2, y: bottom + 18 };
}

/** A bracket below the gold span. */
function goldBracket() {
  const [path, text] = [make("svg:path"), make("svg:text")];
  const element = make("svg:g", { class: "token-bracket" }, path, text);
  let [ends, name] = [/** @type {Ends | null} */ (null), ""];
  /** @param {Box[]} keys */
  const paint = (keys) => {
    const { d, x, y } = ends && keys.length ? bracketOf(keys.slice(...ends)) : { d: null, x: 0, y: 0 };
    put(path, { d });
    put(text, { x, y, text: ends ? name : "" });
  };
  const set = (/** @type {Ends | null} */ span, /** @type {string} */ field) => {
    [ends, name] = [span, field];
  };
  return { element, paint, set };
}

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. @param {RenderContext<Traits>} context */
function drawAlignment(context) {
  const { model } = context;
  const translations = model.get("translations");
  /** @param {number} date @param {number} step */
  const choose = (date, step) => setterOf(model)({ date, step: within(step, translations[date]) });
  const names = translations.map(optionName);
  const select = selectBox(TEXT.date, names, (date) => choose(Number(date), model.get("step")));
  const choice = make("label", { class: "select-choice" }, make("span", { text: TEXT.date }), select);
  choice.hidden = translations.length === 1;
  const outline = make("svg:path");
  const outlines = stretched(null, "heat-outlines gold-spans", outline);
  const anySpans = translations.some((shown) => Object.keys(shown.spans).length);
  const bracket = goldBracket();
  const view = tokenView({
    marks: anySpans ? bracket : undefined,
    onQuery: (step) => choose(model.get("date"), step),
    names: { source: SHARED.characters_of_text, target: SHARED.bands_output, above: TEXT.expected },
    most: [36, 24],
    mapNote: anySpans ? TEXT.boxes : "",
    over: [outlines],
  });
  /** @type {[number | null, number[][]]} */
  let [drawn, weights] = [null, []];
  const paint = () => {
    const date = model.get("date");
    const shown = translations[date];
    const step = within(model.get("step"), shown);
    select.value = String(date);
    if (drawn !== date) {
      weights = shown.scores.map((row) => maskedSoftmax(row));
      put(outlines, { viewBox: `0 0 ${shown.text.length} ${Math.max(1, shown.output.length)}` });
      put(outline, { d: goldPath(shown) });
    }
    drawn = date;
    const { text, output, scores, fields } = shown;
    const ends = output.length ? goldOf(shown, step) : null;
    const inside = ends
      ? { name: fill(TEXT.inside_bracket, { field: fields[step] }), weight: weightInside(weights[step], ends) }
      : { name: TEXT.no_bracket, weight: "" };
    bracket.set(ends, fields[step]);
    view.paint({
      source: textTokens(text, false),
      target: outputTokens(output, { other: otherOutput(shown), otherName: TEXT.expected, details: fields }),
      heads: [[{ scores, weights }]],
      headAt: [0, 0],
      query: step,
      queryName: fill(TOKENS.step, { step }),
      sentence: sentence(shown, weights, step),
      details: fields[step],
      inside: [inside],
    });
  };
  return mountFigure(context, { elements: [choice, view.element], traits: ["date", "step"], paint }).close;
}

export default { render: drawAlignment };
