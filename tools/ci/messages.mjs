// The messages that JavaScript uses, and the words that it writes itself: `node messages.mjs < files.json`,
// a list of [name, text]; the answer has for each name its `uses` of tables and its own `texts`.
/// <reference types="node" />
import { parse } from "acorn";
import { ancestor, full } from "acorn-walk";
import { json } from "node:stream/consumers";

const TABLES = new Set(["TEXT", "SHARED", "TOKENS", "CODE"]);
const SENTENCE = /[A-Za-z]{2,} [A-Za-z]{2,}/;
const WORD = /[A-Za-z]{2,}/;
// What a reader sees or hears, even if it is a single word.
const VISIBLE = /^(alt|aria-label|aria-valuetext|caption|label|note|placeholder|text|title)$/;
const INVISIBLE = /^(class|className|d|style|transform|viewBox|extraClass|sandbox|family)$/;
const NO_READER = /^(querySelector|querySelectorAll|closest|matches|matchMedia|add|remove|toggle|supports|get|Error)$/;

const nameOf = (node) => node.name ?? node.value ?? node.property?.name;
const textOf = (node) =>
  node.type === "TemplateLiteral" ? node.quasis.map((part) => part.value.cooked).join("{}") : node.value;

/** The keys of tables in a part of the program: [table, key]. */
function keysIn(part) {
  const keys = [];
  full(part, (node) => {
    if (node.type === "MemberExpression" && TABLES.has(node.object.name))
      keys.push([node.object.name, node.computed ? null : node.property.name]);
  });
  return keys;
}

/** The names of fields that are given to `fill`; null if some are spread. */
function fieldsOf(object) {
  if (object?.type !== "ObjectExpression") return null;
  if (object.properties.some((each) => each.type === "SpreadElement")) return null;
  return object.properties.map((each) => nameOf(each.key));
}

/** Whether people see a text, by what it is part of. */
function isVisible(node, ancestors) {
  const text = textOf(node);
  if (typeof text !== "string") return false;
  for (const [i, parent] of [...ancestors.slice(0, -1)].reverse().entries()) {
    if (parent.type === "ImportDeclaration") return false;
    if (parent.type === "Property") {
      const name = String(nameOf(parent.key));
      if (INVISIBLE.test(name)) return false;
      if (VISIBLE.test(name)) return WORD.test(text);
    }
    if (/^(Call|New)Expression$/.test(parent.type) && i === 0 && NO_READER.test(nameOf(parent.callee))) return false;
    if (/Function/.test(parent.type)) break;
  }
  return text !== "use strict" && SENTENCE.test(text.replace(/<[^>]*>/g, ""));
}

function inspect(text) {
  const program = parse(text, { ecmaVersion: "latest", sourceType: "module", locations: true });
  const [uses, texts, filled] = [[], [], new Set()];
  const look = (node, _state, ancestors) => {
    if (isVisible(node, ancestors)) texts.push({ line: node.loc.start.line, text: textOf(node) });
  };
  full(program, (node) => {
    if (node.type !== "CallExpression" || node.callee.name !== "fill") return;
    full(node.arguments[0], (part) => filled.add(part));
    const keys = keysIn(node.arguments[0]);
    if (keys.length) uses.push({ line: node.loc.start.line, keys, fields: fieldsOf(node.arguments[1]) });
  });
  full(program, (node) => {
    if (node.type === "MemberExpression" && TABLES.has(node.object.name) && !filled.has(node))
      uses.push({ line: node.loc.start.line, keys: keysIn(node), fields: [] });
  });
  ancestor(program, { Literal: look, TemplateLiteral: look });
  return { uses, texts };
}

const files = await json(process.stdin);
process.stdout.write(JSON.stringify(Object.fromEntries(files.map(([name, text]) => [name, inspect(text)]))));
