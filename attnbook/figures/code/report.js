// The paragraphs that report a run of the reader's code.
/** @import { RunResult } from "../shared/types" */
import { fill } from "../shared/messages.js";
import CODE from "./messages.json" with { type: "json" };

/** The paragraphs that report a run. @param {RunResult} answer */
export function paragraphsOf(answer) {
  if (answer.stopped) return [CODE.stopped[answer.stopped]];
  if (answer.error) {
    const { line, error } = answer;
    const where = line ? fill(CODE.error_in_line, { line, error }) : error;
    return answer.advice ? [where, answer.advice] : [where];
  }
  const [first, ...rest] = answer.verdict ?? [];
  if (!answer.line) return [first, ...rest];
  return [first, fill(CODE.verdict_in_line, { line: answer.line, verdict: rest[0] }), ...rest.slice(1)];
}
