// Sentences that a reader sees: `messages.json` of each folder has them, for JavaScript and Python.

/** @typedef {string | {one: string, other: string}} Message one sentence, or one for each plural form */

/**
 * A sentence with its fields filled in; `count` selects a plural form. Python: `attnbook/messages.py`.
 * @param {Message} message @param {Record<string, string | number>} fields
 */
export function fill(message, fields) {
  const text = typeof message === "string" ? message : message[fields.count === 1 ? "one" : "other"];
  return text.replace(/\{(\w+)\}/g, (_, name) => String(fields[name]));
}
