// Runs the figure's own module for tests/test_engine.py: JSON in, JSON out.
import { readFileSync } from "node:fs";

const { module, jobs } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);

/** The least that a model must do for the pure functions. */
const model = (traits) => ({ get: (name) => traits[name] });

/** How fast each weight rises with its own score. */
function slopes({ weights, temperature }) {
  const rise = (i) => weights.map((_, j) => Number(i === j));
  return weights.map((_, i) => figure.softmaxGradient(weights, rise(i), temperature)[i]);
}

/** Every row of every example, with what flows back from `upstream` numbers of its output. */
function rows(state, setting, upstream) {
  const temperature = figure.temperatureAt(setting.step);
  const traits = model({ ...state, ...setting, temperature });
  return state.scores.map((queries, example) =>
    queries.map((_, query) => {
      const row = figure.rowOf(traits, example, query);
      const back = figure.poolGradient(row.weights, row.values, upstream);
      return {
        temperature: row.temperature,
        weights: row.weights,
        output: row.output,
        slopes: slopes(row),
        toScores: figure.softmaxGradient(row.weights, back.weights, row.temperature),
        toValues: back.values,
      };
    }),
  );
}

const answers = {
  names: Object.keys(figure),
  rows: jobs.map(({ state, settings, upstream }) => settings.map((s) => rows(state, s, upstream))),
};
// JSON has no NaN; Python reads the bare word, and a broken sum does not look like a missing one.
const told = (_, v) => (typeof v === "number" && !Number.isFinite(v) ? "NaN" : v);
process.stdout.write(JSON.stringify(answers, told).replaceAll('"NaN"', "NaN"));
