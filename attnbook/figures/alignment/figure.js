// The alignment figure: a translation, and where the model attended before each of its characters.
/** @import { Place, Shown } from "../shared/types" */
/** @import { Translated } from "./types" */
import { make, put } from "../shared/elements.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { textBands } from "../shared/text_bands.js";
import { alignmentOf, goldBoxes, goldOf, optionName, otherOutput, sentence, weightInside } from "./steps.js";

/** @typedef {Shown & {translations: Translated[], date: number, step: number}} Traits */

/** The last step of a translation, or the one wanted. @param {number} step @param {Translated} shown */
function within(step, { output }) {
  return Math.max(0, Math.min(step, output.length - 1));
}

/**
 * Which text is shown, if there are several.
 * @param {Translated[]} translations
 * @param {(date: number) => void} onChoose
 */
function dateChoice(translations, onChoose) {
  const options = translations.map((shown, i) => make("option", { value: i, text: optionName(shown) }));
  const select = make("select", { "aria-label": "date" }, ...options);
  select.addEventListener("change", () => onChoose(Number(select.value)));
  const element = make("label", { class: "select-choice" }, make("span", { text: "date" }), select);
  element.hidden = translations.length === 1;
  const paint = (/** @type {number} */ date) => {
    select.value = String(date);
  };
  return { element, paint };
}

/** The gold span of each field, over the steps that write it. */
function goldOutlines() {
  const element = make("svg:svg", { class: "gold-boxes", preserveAspectRatio: "none", "aria-hidden": true });
  const paint = (/** @type {Translated} */ shown) => {
    put(element, { viewBox: `0 0 ${shown.text.length} ${Math.max(1, shown.output.length)}` });
    const boxes = goldBoxes(shown).map(({ field, x, y, width, height }) =>
      make("svg:path", { "data-field": field, d: `M${x} ${y}h${width}v${height}h${-width}z` }),
    );
    element.replaceChildren(...boxes);
  };
  return { element, paint };
}

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. @param {Place<Traits>} place */
function drawAlignment(place) {
  const { model } = place;
  const translations = model.get("translations");
  /** @param {number} date @param {number} step */
  const choose = (date, step) => setterOf(model)({ date, step: within(step, translations[date]) });
  const choice = dateChoice(translations, (date) => choose(date, model.get("step")));
  const outlines = goldOutlines();
  const anySpans = translations.some((shown) => Object.keys(shown.spans).length);
  const bands = textBands({
    onStep: (step) => choose(model.get("date"), step),
    otherName: "expected",
    note: "a full column is 1",
    most: [36, 24],
    mapNote: anySpans ? "outlined: gold spans" : "",
    over: [outlines.element],
  });
  /** @type {[number | null, number[][]]} */
  let [drawn, weights] = [null, []];
  const paint = () => {
    const date = model.get("date");
    const shown = translations[date];
    const step = within(model.get("step"), shown);
    choice.paint(date);
    if (drawn !== date) {
      weights = alignmentOf(shown);
      outlines.paint(shown);
    }
    drawn = date;
    const { text, output, scores, fields, spans } = shown;
    const span = output.length ? goldOf(shown, step) : null;
    const inside = span ? { name: `inside the ${fields[step]}`, weight: weightInside(weights[step], span) } : null;
    bands.paint({
      ...{ text, output, scores, weights, step, span, details: fields, field: fields[step] },
      sentence: sentence(shown, weights, step),
      other: otherOutput(shown),
      hasSpans: Object.keys(spans).length > 0,
      inside: [inside ?? { name: "no gold span", weight: "" }],
    });
  };
  return mountFigure(place, { elements: [choice.element, bands.element], traits: ["date", "step"], paint }).close;
}

export default { render: drawAlignment };
