// The translation in three bands: what is written, the text with its weights, and all steps.
/** @import { Seen } from "./types" */
import { columnsFor, isRightToLeft, visible } from "../shared/characters.js";
import { decimals, slider } from "../shared/controls.js";
import { make, put, suppressShortcuts } from "../shared/elements.js";
import { cellsByShade } from "../shared/heatmap.js";
import { peakOf, probable } from "./words.js";

const [MOST_WIDE, MOST_NARROW] = [28, 12]; // buttons in a row: on a page, on a phone
const [LONGEST, LONG] = [32, 16]; // characters of the small picture that have names: on a page, on a phone

/** @param {string} text */
const letter = (text) => make("bdi", { text: visible(text) });

/** A part of the figure with its name. @param {string} name @param {Element} note @param {...Element} content */
function band(name, note, ...content) {
  const heading = make("div", { class: "stage-name" }, make("b", { text: name }), note);
  const picture = make("div", { class: "stage-picture" }, ...content);
  return make("div", { class: "stage", role: "group", "aria-label": name }, heading, picture);
}

/** The output over the slider of its steps; above, the output with nothing hidden, if it differs. @param {(step: number) => void} onChoose */
export function outputBand(onChoose) {
  const [before, row] = [make("div", { class: "before-row" }), make("div", { class: "output-row" })];
  const sure = make("div", { class: "probability-row", "aria-hidden": true }); // the buttons' names have them
  const control = slider("step", { min: 0, max: 0, step: 1 }, onChoose);
  const inside = make("div", { class: "written", dir: "ltr" }, before, row, sure, control.input);
  const element = band("Output", control.label, make("div", { class: "scroll" }, inside));
  let drawn = "";
  /** @param {Seen} seen */
  const build = ({ reading: { output, probabilities }, whole }) => {
    const differs = output.join("") !== whole.join("");
    const buttons = output.map((written, step) => {
      const changed = differs && written !== whole[step];
      const probability = probable(probabilities[step]);
      const name = `step ${step}: “${written}”, probability ${probability}${changed ? `, was “${whole[step] ?? "nothing"}”` : ""}`;
      // Not focusable, because the slider reaches the same steps by keyboard.
      const attributes = { type: "button", tabindex: -1, class: changed ? "changed" : null, "aria-label": name };
      const button = make("button", attributes, letter(written));
      button.addEventListener("click", () => onChoose(step));
      return button;
    });
    row.replaceChildren(...buttons);
    const percents = output.map((_, step) => make("bdi", { text: (100 * probabilities[step]).toFixed(0) }));
    sure.replaceChildren(...percents, make("small", { text: output.length ? "in %" : "" }));
    const note = make("small", { text: "before" });
    before.replaceChildren(...whole.map(letter), note);
    before.classList.toggle("same", !differs);
    inside.style.setProperty("--steps", String(output.length));
    inside.style.setProperty("--cells", String(Math.max(1, output.length, whole.length)));
    put(control.input, { max: Math.max(0, output.length - 1) });
    suppressShortcuts(row);
  };
  /** @param {Seen} seen @param {number} step */
  const paint = (seen, step) => {
    const { output, probabilities } = seen.reading;
    const now = JSON.stringify([output, seen.whole, probabilities]);
    if (now !== drawn) build(seen);
    drawn = now;
    control.set(step, output.length ? `${step}, “${output[step]}”` : "none");
    [...row.children].forEach((button, i) =>
      i === step ? button.setAttribute("aria-current", "step") : button.removeAttribute("aria-current"),
    );
  };
  return { element, paint };
}

/** A character of the text: a button that hides it, under a bar for its weight. @param {string} text @param {number} position @param {() => void} onToggle */
function column(text, position, onToggle) {
  const [bar, peakName] = [make("span", { class: "bar" }), make("span", { class: "peak-name" })];
  const track = make("span", { class: "track", "aria-hidden": true }, bar, peakName);
  const name = `hide character ${position}, “${visible(text)}”`;
  // Not focusable, because the range and the box below do the same by keyboard.
  const button = make("button", { type: "button", tabindex: -1, "aria-label": name }, track, letter(text));
  button.addEventListener("click", onToggle);
  /** @param {number} weight @param {boolean} peak @param {boolean} gone */
  const paint = (weight, peak, gone) => {
    // Not its height, which would lay out the page again.
    put(bar, { style: `scale: 1 ${weight.toFixed(4)}` });
    put(peakName, { text: peak ? decimals(weight) : "" });
    put(button, { "aria-pressed": gone, class: peak ? "column peak" : "column" });
  };
  return { element: button, paint };
}

/** The text, a column for each character. @param {(position: number, gone: boolean) => void} onHide */
export function textBand(onHide) {
  const columns = make("div", { class: "columns", dir: "ltr", role: "group", "aria-label": "characters of the text" });
  const note = make("p", { class: "note" });
  const hint = make("span", { text: "weight of each character at this step; click one to hide it" });
  const element = band("Text", hint, columns, note);
  /** @type {ReturnType<typeof column>[]} */
  let parts = [];
  let [drawn, hidden] = ["", /** @type {number[]} */ ([])];
  /** @param {string[]} text */
  const build = (text) => {
    parts = text.map((each, i) => column(each, i, () => onHide(i, !hidden.includes(i))));
    columns.replaceChildren(...parts.map((part) => part.element));
    const sizes = [MOST_WIDE, MOST_NARROW].map((most) => columnsFor(text.length, most));
    put(columns, { style: `--wide: ${sizes[0]}; --narrow: ${sizes[1]}` });
    const reordered = "Written from right to left; here its characters are in reading order, from left to right.";
    put(note, { text: isRightToLeft(text) ? reordered : "" });
    suppressShortcuts(columns);
  };
  /** @param {Seen} seen @param {number} step */
  const paint = ({ reading }, step) => {
    const weights = reading.weights[step] ?? [];
    const peak = peakOf(weights);
    hidden = reading.hidden;
    if (drawn !== reading.text.join("")) build(reading.text);
    drawn = reading.text.join("");
    parts.forEach((part, i) => part.paint(weights[i] ?? 0, i === peak, hidden.includes(i)));
  };
  /** Mark the character that the controls below point at. @param {number} position */
  const point = (position) => parts.forEach((part, i) => part.element.toggleAttribute("data-pointed", i === position));
  return { element, paint, point };
}

/** All steps: a row each over the characters of the text. @param {(step: number) => void} onChoose */
export function mapBand(onChoose) {
  const [letters, names] = ["heat-text", "heat-names"].map((name) => make("div", { class: name }));
  const shades = Array.from({ length: 100 }, (_, i) =>
    make("svg:path", { class: "shade-path", "fill-opacity": (i + 1) / 100, "data-shade": i + 1 }),
  );
  const cells = make("svg:svg", { preserveAspectRatio: "none" }, ...shades);
  const mark = make("div", { class: "heat-mark" });
  const rows = make("div", { class: "heat-rows" }, names, make("div", { class: "heat-picture" }, cells, mark));
  const whole = make("div", { class: "heatmap", dir: "ltr", "aria-hidden": true }, letters, rows);
  const note = make("span", { text: "a row for each character of the output" });
  const element = band("All steps", note, whole);
  let count = 0;
  rows.addEventListener("click", ({ clientY }) => {
    const box = rows.getBoundingClientRect();
    const step = Math.floor((count * (clientY - box.top)) / box.height);
    if (step >= 0 && step < count) onChoose(step);
  });
  /** @param {Element} parent @param {string[]} texts */
  const fill = (parent, texts) => {
    while (parent.children.length > texts.length) parent.lastElementChild?.remove();
    while (parent.children.length < texts.length) parent.append(make("bdi"));
    [...parent.children].forEach((each, i) => put(each, { text: visible(texts[i]) }));
  };
  /** @param {Seen} seen @param {number} step */
  const paint = ({ reading: { text, hidden, output, weights } }, step) => {
    count = output.length;
    element.hidden = !count;
    if (!count) return;
    fill(letters, text);
    fill(names, output);
    [...letters.children].forEach((each, i) => put(each, { class: hidden.includes(i) ? "gone" : "" }));
    [...names.children].forEach((each, i) => put(each, { class: i === step ? "chosen" : "" }));
    const found = cellsByShade(weights);
    shades.forEach((path, i) => {
      const squares = (found.get(i + 1) ?? []).map(([x, y]) => `M${x} ${y}h1v1h-1z`);
      put(path, { d: squares.join("") });
    });
    put(cells, { viewBox: `0 0 ${text.length} ${count}` });
    put(whole, {
      style: `--rows: ${count}; --count: ${text.length}`,
      class: text.length > LONGEST ? "heatmap longest" : text.length > LONG ? "heatmap long" : "heatmap",
    });
    put(mark, { style: `--at: ${step}` });
  };
  return { element, paint };
}
