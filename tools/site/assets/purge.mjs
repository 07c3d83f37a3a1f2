// Removes from a style sheet what the built site cannot use: `node purge.mjs SITE < all.css > used.css`.
// A rule stays if each name in it is in some page's markup, or anywhere in some script, because
// menus, dialogs, the search and figures add elements to a page.
/// <reference types="node" />
import { transform } from "esbuild";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { PurgeCSS } from "purgecss";

const TAG = /<([a-z][\w-]*)((?:\s+[^\s=>/]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]*))?)*)/gi;
const ATTRIBUTE = /([^\s=>/]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]*)))?/g;

// Names that a script joins from parts: Bootstrap's tooltips.
const JOINED = [/^bs-tooltip-/];

/** The names in a page's tags, without its text. @param {string} html */
function inMarkup(html) {
  const found = { tags: new Set(), classes: new Set(), ids: new Set() };
  const attributes = { names: new Set(), values: new Set() };
  for (const [, tag, attributeText] of html.matchAll(TAG)) {
    found.tags.add(tag.toLowerCase());
    for (const [, name, ...quoted] of attributeText.matchAll(ATTRIBUTE)) {
      const value = quoted.find((each) => each !== undefined) ?? "";
      attributes.names.add(name.toLowerCase());
      if (name === "class") for (const each of value.split(/\s+/)) found.classes.add(each);
      else if (name === "id") found.ids.add(value);
      else attributes.values.add(value);
    }
  }
  return {
    tags: [...found.tags],
    classes: [...found.classes],
    ids: [...found.ids],
    attributes: { names: [...attributes.names], values: [...attributes.values] },
    undetermined: [],
  };
}

/** The words of a script, each of which may be a name. @param {string} script */
const inScript = (script) => [...new Set(script.match(/[\w-]+/g))];

const [, , site] = process.argv;
const files = (await readdir(site, { recursive: true })).sort().map((name) => join(site, name));
const content = files.filter((name) => /\.(html|js)$/.test(name) && !name.includes("/locales/"));
// A figure's own style is in its script, and so are the variables that it takes from the page.
const scripts = await Promise.all(content.filter((name) => name.endsWith(".js")).map((name) => readFile(name, "utf-8")));
const variables = scripts.flatMap((script) => script.match(/--[\w-]+/g) ?? []);

const [{ css }] = await new PurgeCSS().purge({
  content,
  css: [{ raw: await text(process.stdin) }],
  extractors: [
    { extractor: inMarkup, extensions: ["html"] },
    { extractor: inScript, extensions: ["js"] },
  ],
  variables: true,
  safelist: { standard: JOINED, variables: [...new Set(variables)] },
});
const { code } = await transform(css.replaceAll(/@charset[^;]*;/g, ""), {
  loader: "css",
  minify: true,
  charset: "utf8",
  legalComments: "none", // licenses.txt has them
});
process.stdout.write(code);
