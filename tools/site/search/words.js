// Words of texts as the search compares them: the build indexes the book with them (index.mjs), and the
// search page what is typed. Sphinx's stemmer is in language_data.js.
globalThis.attnbookWords = (() => {
  "use strict";

  const stemmer = new Stemmer();
  /** @type {Map<string, string>} */
  const stems = new Map();

  /** @param {string} word */
  function stem(word) {
    const found = stems.get(word) ?? stemmer.stemWord(word);
    stems.set(word, found);
    return found;
  }

  /** The words of a text as they are written. @param {string} text @returns {string[]} */
  const wordsIn = (text) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];

  /** The parts of a name: of `valid_lens` and of `ValidLens`, "valid" and "lens". @param {string} name */
  function partsOf(name) {
    const parts = name
      .replace(/(\p{Ll})(\p{Lu})/gu, "$1_$2")
      .split("_")
      .filter(Boolean);
    return parts.length > 1 ? parts.map((part) => part.toLowerCase()) : [];
  }

  /** The stems of a text's words and of the parts of its names. @param {string} text */
  const stemsIn = (text) =>
    wordsIn(text)
      .flatMap((word) => [word.toLowerCase(), ...partsOf(word)])
      .map(stem);

  /** @param {string[]} items @returns {Map<string, number>} */
  function count(items) {
    const counts = new Map();
    for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
    return counts;
  }

  /** @param {string} name */
  const lastName = (name) => name.slice(name.lastIndexOf(".") + 1);

  /** What a place's heading is searched by: for an object its last name.
   * @param {{ kind: string, title: string, labels: string }} place */
  const headingOf = ({ kind, title, labels }) =>
    stemsIn([kind === "object" ? lastName(title) : title, labels].join(" "));

  /** The part of the index that has a word or a stem: they begin with the same letter. @param {string} word */
  const partOf = (word) => `words-${/^[a-z]/i.test(word) ? word[0].toLowerCase() : "other"}`;

  return { count, headingOf, lastName, partOf, partsOf, stem, stemsIn, wordsIn };
})();
