// The alignment figure: a translation, and where the model attended before each of its characters.
/** @import { Place, Shown } from "../shared/types" */
/** @import { Translated } from "./types" */
import { isRightToLeft } from "../shared/characters.js";
import { make, put, suppressShortcuts } from "../shared/elements.js";
import { mountFigure, setterOf } from "../shared/mount.js";
import { heatBand, outputBand, stepTable, textBand } from "./pieces.js";
import { alignmentOf, optionName, sentence } from "./steps.js";

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

/** Draw the figure into `el` and keep it in step with the model; returns a clean-up. @param {Place<Traits>} place */
function drawAlignment(place) {
  const { model } = place;
  const translations = model.get("translations");
  /** @param {number} date @param {number} step */
  const choose = (date, step) => setterOf(model)({ date, step: within(step, translations[date]) });
  const chooseStep = (/** @type {number} */ step) => choose(model.get("date"), step);
  const choice = dateChoice(translations, (date) => choose(date, model.get("step")));
  const [output, text, heat, table] = [outputBand(chooseStep), textBand(), heatBand(chooseStep), stepTable()];
  const readout = make("p", { class: "readout", "aria-live": "polite" });
  const elements = [choice.element, output.element, text.element, readout, heat.element, table.element];
  /** @type {[number | null, number[][]]} */
  let [drawn, weights] = [null, []];
  const build = (/** @type {Translated} */ shown, /** @type {Element} */ figure) => {
    weights = alignmentOf(shown);
    output.build(shown);
    text.build(shown, isRightToLeft(shown.text));
    heat.build(shown, weights);
    table.build(shown);
    suppressShortcuts(figure);
  };
  const paint = (/** @type {Element} */ figure) => {
    const date = model.get("date");
    const shown = translations[date];
    const step = within(model.get("step"), shown);
    if (drawn !== date) build(shown, figure);
    drawn = date;
    choice.paint(date);
    text.paint(weights, step);
    heat.paint(step);
    table.paint(weights, step);
    put(readout, { text: sentence(shown, weights, step) });
    output.paint(step); // last, because it measures the page
  };
  return mountFigure(place, { elements, traits: ["date", "step"], paint }).close;
}

export default { render: drawAlignment };
