// The reader's own function in this figure: called at each change, and drawn in place of the layer's.
/** @import { RunResult, Model, ReaderFunction } from "../shared/types" */
/** @import { OwnRow, Traits } from "./types" */
import { make, withCode } from "../shared/elements.js";
import { canLoadScript } from "../shared/lazy_scripts.js";
import { fill } from "../shared/messages.js";
import { listenForFunction, listenInNotebook } from "../shared/reader_code.js";
import { lengthOf } from "./formulas.js";
import TEXT from "./messages.json" with { type: "json" };

/** Each pair of query and key of an example. @param {Model<Traits>} model @param {number} example */
function pairs(model, example) {
  const [queries, keys] = [model.get("query_labels"), model.get("key_labels")];
  return queries.flatMap((_, q) => keys.map((__, k) => ({ example, q, k })));
}

/**
 * The calls of the reader's attention for a query: with the values, and then with values that are 1 for
 * one key and 0 for the others. The result of the second call is its weights.
 * @param {Model<Traits>} model @param {number} example @param {number} query @param {number} length
 */
function attentionCalls(model, example, query, length) {
  const { queries, keys } = model.get("written");
  const values = model.get("values")[example];
  const one = values.map((_, i) => values.map((__, j) => Number(i === j)));
  // Dividing all vectors by the root of the temperature divides the dot product and the squared distance by the temperature.
  const root = Math.sqrt(model.get("temperature"));
  const cooled = (/** @type {number[]} */ vector) => vector.map((x) => x / root);
  const vectors = [cooled(queries[example][query]), keys[example].map(cooled)];
  return [values, one].map((each) => [...vectors, each, length]);
}

/** The arguments of each call: for each row of weights, else for each pair. @param {Model<Traits>} model */
export function callsOf(model) {
  const { draws, queries, keys, more } = model.get("written");
  const examples = model.get("scores").map((_, example) => example);
  const [queryLabels, keyLabels] = [model.get("query_labels"), model.get("key_labels")];
  if (draws === "score") {
    return examples.flatMap((e) => pairs(model, e).map(({ q, k }) => [queries[e][q], keys[e][k], ...more]));
  }
  if (draws === "mask") {
    const sizes = [queryLabels.length, keyLabels.length];
    return examples.flatMap((e) => pairs(model, e).map(({ q, k }) => [q, k, ...sizes]));
  }
  if (draws === "attention") {
    return examples.flatMap((e) => queryLabels.flatMap((_, q) => attentionCalls(model, e, q, lengthOf(model, e, q))));
  }
  return examples.flatMap((e) =>
    queryLabels.map((_, q) => {
      const length = lengthOf(model, e, q);
      const scores = model.get("scores")[e][q].map((score) => score / model.get("temperature"));
      // A softmax need not accept an empty list: it gets one score then.
      return draws === "weights" ? [scores, length] : [scores.slice(0, Math.max(length, 1))];
    }),
  );
}

/** Describe the first value that cannot be drawn. @param {Model<Traits>} model @param {unknown[]} returned */
export function describeValue(model, returned) {
  const count = model.get("key_labels").length;
  const odd = returned
    .flatMap((one) => (Array.isArray(one) ? one : [one]))
    .find((one) => !isNumber(one) && !isBool(one));
  if (odd === undefined) {
    return model.get("written").draws === "attention"
      ? TEXT.no_number_for_each_component
      : fill(TEXT.no_number_for_each_key, { count });
  }
  if (odd === null) return "None";
  const { number, kind } = /** @type {{number?: string, kind?: string}} */ (odd);
  return number ?? (kind ? fill(TEXT.a_kind, { kind }) : TEXT.a_list);
}

/** @param {unknown} value */
const isBool = (value) => typeof value === "boolean";

/** Whether something can be drawn as a number. @param {unknown} value @returns {value is number} */
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/**
 * The returned values as rows, one for each query of each example; null if they cannot be drawn.
 * @param {Model<Traits>} model @param {unknown[]} returned
 * @returns {OwnRow[][] | null}
 */
export function rowsOf(model, returned) {
  const { draws } = model.get("written");
  const [queries, count] = [model.get("query_labels").length, model.get("key_labels").length];
  const pairwise = draws === "score" || draws === "mask";
  /** @type {unknown[][]} */
  const rows = pairwise
    ? Array.from({ length: returned.length / count }, (_, i) => returned.slice(i * count, (i + 1) * count))
    : returned.map((row) => (Array.isArray(row) ? row : [null]));
  if (draws === "attention") return attentionRows(model, rows);
  const drawn = rows.map((row, i) => {
    if (draws === "mask") {
      return row.every((one) => isBool(one) || isNumber(one)) ? { sees: row.map(Boolean) } : null;
    }
    if (!row.every(isNumber)) return null;
    if (draws === "score") return { scores: row };
    if (draws === "weights") return row.length === count ? { weights: row } : null;
    const length = lengthOf(model, Math.floor(i / queries), i % queries);
    if (row.length !== Math.max(length, 1)) return null;
    return { weights: Array.from({ length: count }, (_, k) => (k < length ? row[k] : 0)) };
  });
  if (!drawn.every((row) => row !== null)) return null;
  return model.get("scores").map((_, e) => drawn.slice(e * queries, (e + 1) * queries));
}

/**
 * The outputs and the weights of a reader's attention; null if they cannot be drawn.
 * @param {Model<Traits>} model @param {unknown[][]} rows @returns {OwnRow[][] | null}
 */
function attentionRows(model, rows) {
  const values = model.get("values");
  const queries = model.get("query_labels").length;
  const sizes = [values[0][0].length, values[0].length];
  if (!rows.every((row, i) => row.length === sizes[i % 2] && row.every(isNumber))) return null;
  return values.map((_, e) =>
    Array.from({ length: queries }, (__, q) => {
      const [output, weights] = /** @type {number[][]} */ (rows.slice(2 * (e * queries + q)));
      return { output, weights };
    }),
  );
}

/** Draw what the reader's function returns, at each change. @param {Model<Traits>} model @param {() => void} paint */
export function ownFunction(model, paint) {
  const { task } = model.get("written");
  /** @type {ReaderFunction | null} */
  let written = null;
  /** @type {OwnRow[][] | null} */
  let rows = null;
  let runs = 0;
  const box = make("input", { type: "checkbox" });
  const name = make("span");
  const note = make("p", { class: "note", role: "status" });
  const element = make("div", { class: "reader-function" }, make("label", {}, box, name), note);
  const label = () => element.firstElementChild;

  const run = async () => {
    runs += 1;
    const thisRun = runs;
    if (!written || !box.checked) {
      rows = null;
      paint();
      return;
    }
    /** @type {RunResult} */
    const answer = await written.call(callsOf(model)).catch((error) => ({ error: String(error) }));
    if (thisRun !== runs) return; // a later change has called it again
    rows = answer.given ? rowsOf(model, answer.given) : null;
    const result = answer.given ? fill(TEXT.gives, { value: describeValue(model, answer.given) }) : TEXT.takes_too_long;
    const trouble = fill(TEXT.function_not_drawn, { name: written.called, why: answer.error ?? result });
    note.replaceChildren(...withCode(rows ? "" : trouble));
    paint();
  };
  const take = (/** @type {ReaderFunction} */ latest) => {
    written = latest;
    box.checked = true;
    label()?.removeAttribute("hidden");
    name.replaceChildren(...withCode(` ${fill(TEXT.draw_function, { name: latest.called })}`));
    run();
  };
  box.addEventListener("change", run);
  label()?.setAttribute("hidden", "");
  note.replaceChildren(...withCode(TEXT.function_not_run));
  const stop = canLoadScript("python") ? listenForFunction(task, take) : listenInNotebook(model, task, take);
  return {
    element,
    run,
    stop,
    /** @param {number} example @param {number} query @returns {OwnRow} */
    rowOf: (example, query) => rows?.[example][query] ?? {},
  };
}
