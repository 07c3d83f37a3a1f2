// The alignment figure: a translation, and where the model attended before each of its characters.
/** @import { RenderContext, FigureTraits } from "../shared/types" */
/** @import { Translated } from "./types" */
import { maskedSoftmax } from "../shared/attention.js";
import { selectBox } from "../shared/controls.js";
import { make, put, stretched } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import SHARED from "../shared/messages.json" with { type: "json" };
import { mountFigure, setterOf } from "../shared/mount.js";
import { textBands } from "../shared/text_bands.js";
import TEXT from "./messages.json" with { type: "json" };
import { goldOf, goldPath, optionName, otherOutput, sentence, weightInside } from "./steps.js";

/** @typedef {FigureTraits & {translations: Translated[], date: number, step: number}} Traits */

/** The last step of a translation, or the one wanted. @param {number} step @param {Translated} shown */
function within(step, { output }) {
  return Math.max(0, Math.min(step, output.length - 1));
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
  const bands = textBands({
    onStep: (step) => choose(model.get("date"), step),
    otherName: TEXT.expected,
    note: SHARED.full_column,
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
      bands.element.classList.toggle("plain-text", !Object.keys(shown.spans).length);
    }
    drawn = date;
    const { text, output, scores, fields } = shown;
    const span = output.length ? goldOf(shown, step) : null;
    const inside = span
      ? { name: fill(TEXT.inside_bracket, { field: fields[step] }), weight: weightInside(weights[step], span) }
      : { name: TEXT.no_bracket, weight: "" };
    bands.paint({
      ...{ text, output, scores, weights, step, span, details: fields, field: fields[step] },
      sentence: sentence(shown, weights, step),
      other: otherOutput(shown),
      inside: [inside],
    });
  };
  return mountFigure(context, { elements: [choice, bands.element], traits: ["date", "step"], paint }).close;
}

export default { render: drawAlignment };
