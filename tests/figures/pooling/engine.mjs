// Runs the pooling figure's own module for test_engine.py: JSON in, JSON out.
import { readFileSync } from "node:fs";

const { module, jobs } = JSON.parse(readFileSync(0, "utf-8"));
const figure = await import(module);

/** The least that a model must do for the pure functions. */
const model = (traits) => ({ get: (name) => traits[name] });

/** Every position of each slider with the other at rest, then the given pairs of positions. */
function moves({ state, pairs }) {
  const steps = figure.stepsOf(model(state));
  const query = (at) => figure.queryAt(state.axis, at);
  const all = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
  return [
    ...all(0, steps.queries).map((at) => ({ query: query(at), width: state.width })),
    ...all(0, steps.widths).map((at) => ({ query: state.query, width: state.widths[at] })),
    ...pairs.map(([q, w]) => ({
      query: query(Math.floor(q * (steps.queries + 1))),
      width: state.widths[Math.floor(w * (steps.widths + 1))],
    })),
  ];
}

function answer(job) {
  const rows = moves(job).map((move) => figure.rowOf(model({ ...job.state, ...move })));
  const { widths } = job.state;
  const at = widths.map((width) => figure.stepOf(widths, width));
  return { at, rows, sweep: figure.sweep(model(job.state)) };
}

const answers = {
  names: Object.keys(figure),
  jobs: jobs.map(answer),
  ticks: jobs.flatMap(({ ranges = [] }) => ranges.map((range) => figure.ticks(...range))),
  sharing: jobs.flatMap(({ weights = [] }) => weights.map(figure.sharing)),
};
// JSON has no NaN; Python reads the bare word, and a broken sum does not look like a missing one.
const told = (_, v) => (typeof v === "number" && !Number.isFinite(v) ? "NaN" : v);
process.stdout.write(JSON.stringify(answers, told).replaceAll('"NaN"', "NaN"));
