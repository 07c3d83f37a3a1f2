// Runs the figure's own module for test_engine.py: JSON in, JSON out.
import { readFileSync } from "node:fs";

const { module, jobs } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);

/** The least that a model must do for the pure functions. */
const model = (traits) => ({ get: (name) => traits[name] });

/** Every row of every example. */
function rows(state, setting) {
  const temperature = figure.temperatureAt(setting.step);
  const traits = model({ ...state, ...setting, temperature });
  return state.scores.map((queries, example) =>
    queries.map((_, query) => {
      const { temperature: shown, weights, output } = figure.rowOf(traits, example, query);
      return { temperature: shown, weights, output };
    }),
  );
}

const answers = {
  names: Object.keys(figure),
  rows: jobs.map(({ state, settings }) => settings.map((setting) => rows(state, setting))),
};
// JSON has no NaN; Python reads the bare word, and a broken sum does not look like a missing one.
const told = (_, v) => (typeof v === "number" && !Number.isFinite(v) ? "NaN" : v);
process.stdout.write(JSON.stringify(answers, told).replaceAll('"NaN"', "NaN"));
