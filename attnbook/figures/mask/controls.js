// The native controls of the mask figure, in groups; each sets rules of the model.
/** @import { Model } from "../shared/types" */
/** @import { Group, Rules, Traits } from "./types" */
import { selectBox, slider } from "../shared/controls.js";
import { make, put } from "../shared/elements.js";
import { fill } from "../shared/messages.js";
import { setterOf } from "../shared/mount.js";
import { BY_FIELD, collectFromForms } from "./forms.js";
import TEXT from "./messages.json" with { type: "json" };
import { rulesOf } from "./rules.js";

/** A control, and a function that shows the current rules. @typedef {{element: HTMLElement, paint: (rules: Rules) => void}} Control */
/** @typedef {(changes: Partial<Rules>) => void} Set */

/** The rules at other sizes; numbers past the end are clamped. @param {Rules} rules @param {Partial<Rules>} sizes @returns {Partial<Rules>} */
export function resizeRules(rules, sizes) {
  const num_keys = sizes.num_keys ?? Math.max(rules.num_keys, sizes.num_queries ?? 0);
  const num_queries = Math.min(sizes.num_queries ?? rules.num_queries, num_keys);
  const resized = collectFromForms(rules, ({ resize }, given) => resize?.(given, num_keys) ?? []);
  return Object.assign({ num_queries, num_keys }, ...resized);
}

/** The first key of each document except the first. @param {number[] | null} documents */
export function boundariesOf(documents) {
  return (documents ?? []).flatMap((one, k, all) => (k && one !== all[k - 1] ? [k] : []));
}

/** The document of each key. @param {number[]} boundaries @param {number} count @returns {number[] | null} */
export function documentsOf(boundaries, count) {
  const inside = [...new Set(boundaries)].filter((at) => at < count);
  if (!inside.length) return null;
  return Array.from({ length: count }, (_, k) => inside.filter((at) => at <= k).length);
}

/**
 * A slider for one number; its range follows the rules.
 * @param {string} name @param {(rules: Rules) => [low: number, high: number, now: number, text: string]} where
 * @param {(value: number) => void} onInput @returns {Control}
 */
function number(name, where, onInput) {
  const control = slider(name, { min: 0, max: 1, step: 1 }, onInput);
  const element = make("div", { class: "mask-setting" }, control.label, control.input);
  /** @param {Rules} rules */
  const paint = (rules) => {
    const [min, max, now, text] = where(rules);
    put(control.input, { min, max });
    control.set(now, text);
  };
  return { element, paint };
}

/** @param {Model<Traits>} model @param {Set} set */
function sizes(model, set) {
  const most = 32;
  return /** @type {const} */ (["num_queries", "num_keys"]).map((name) =>
    number(
      name,
      (rules) => [1, most, rules[name], String(rules[name])],
      (value) => set(resizeRules(rulesOf(model), { [name]: value })),
    ),
  );
}

/** A slider for each number of a group's forms; at one end of its range there is no rule. @param {Model<Traits>} model @param {Set} set @param {Group} group */
function limits(model, set, group) {
  return formsIn(group).flatMap(({ fields, off = "", isOffAtZero }) =>
    /** @type {("window" | "ahead")[]} */ (fields).map((name) => {
      const least = name === "window" ? 1 : 0; // a window counts the query's own key
      const mostOf = (/** @type {Rules} */ rules) => Math.max(rules.num_keys, rules[name] ?? 0);
      const endOf = (/** @type {Rules} */ rules) => (isOffAtZero ? 0 : mostOf(rules));
      return number(
        name,
        (rules) => [least, mostOf(rules), rules[name] ?? endOf(rules), String(rules[name] ?? off)],
        (value) => set({ [name]: value === endOf(rulesOf(model)) ? null : value }),
      );
    }),
  );
}

/** The order; a prefix is one of the choices, because it excludes the others. @param {Model<Traits>} model @param {Set} set */
function order(model, set) {
  const choice = selectBox(TEXT.order, TEXT.orders, (value) => {
    const prefix = value === "prefix" ? Math.min(2, model.get("num_keys")) : null;
    set({ prefix, causal: value === "last" || value === "first" ? value : null });
  });
  const length = number(
    "prefix",
    ({ prefix, num_keys }) => [0, num_keys, prefix ?? 0, String(prefix ?? 0)],
    (prefix) => set({ prefix }),
  );
  /** @param {Rules} rules */
  const paint = (rules) => {
    choice.value = rules.prefix === null ? (rules.causal ?? "none") : "prefix";
    length.element.hidden = rules.prefix === null;
    length.paint(rules);
  };
  return [
    { element: make("div", { class: "mask-order" }, choice), paint },
    { element: length.element, paint: () => {} },
  ];
}

/** The first key of each document; a boundary pushes the next ones on. @param {Model<Traits>} model @param {Set} set */
function documents(model, set) {
  const count = Math.max(2, boundariesOf(model.get("documents")).length);
  return Array.from({ length: count }, (_, i) => {
    const control = number(
      fill(TEXT.document, { number: i + 1 }),
      (rules) => {
        const found = boundariesOf(rules.documents);
        const text = found[i] ? String(found[i]) : TEXT.no_document;
        return [found[i - 1] ?? 1, rules.num_keys, found[i] ?? rules.num_keys, text];
      },
      (value) => {
        const found = boundariesOf(model.get("documents"));
        const moved = [...found.slice(0, i), value, ...found.slice(i + 1).map((at) => Math.max(at, value + 1))];
        set({ documents: documentsOf(moved, model.get("num_keys")) });
      },
    );
    /** @param {Rules} rules */
    const paint = (rules) => {
      control.element.hidden = i > boundariesOf(rules.documents).length;
      control.paint(rules);
    };
    return { element: control.element, paint };
  });
}

/** @type {{name: Group, title: string, make: (model: Model<Traits>, set: Set, group: Group) => Control[]}[]} */
const GROUPS = [
  { name: "padding", title: TEXT.padding_title, make: limits },
  { name: "order", title: TEXT.order_title, make: order },
  { name: "window", title: TEXT.window_title, make: limits },
  { name: "documents", title: TEXT.documents_title, make: documents },
  { name: "sizes", title: TEXT.sizes_title, make: sizes },
];

/** @param {Group} group */
const formsIn = (group) => BY_FIELD.filter((form) => form.group === group);

/** The controls of the figure's groups, and a function that shows the current rules. @param {Model<Traits>} model */
export function controlsOf(model) {
  const set = setterOf(model);
  const shown = GROUPS.filter(({ name }) => model.get("groups").includes(name));
  const groups = shown.map(({ name, title, make: makeControls }) => {
    const controls = makeControls(model, set, name);
    const parts = name === "sizes" ? ["num_queries", "num_keys"] : formsIn(name).flatMap(({ fields }) => fields);
    const legend = make("legend", { text: title });
    const element = make("fieldset", {}, legend, ...controls.map((control) => control.element));
    return { name, parts, element, controls };
  });
  /** @param {Rules} rules */
  const paint = (rules) => groups.forEach(({ controls }) => controls.forEach((control) => control.paint(rules)));
  return { groups, paint };
}
