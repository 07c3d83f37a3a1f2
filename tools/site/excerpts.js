// The search page quotes the pages that it finds. Sphinx would fetch each of them, which a browser
// refuses in a folder; so their text is in a script, which replaces the requests.
(() => {
  "use strict";

  const pages = window.attnbookPages;
  const root = document.documentElement.dataset.content_root ?? "";
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const words = splitQuery(query.toLowerCase()).filter((word) => !stopwords.includes(word));
  const literal = query.trim().toLowerCase();
  // Sphinx finds parts of words: for "√d", each name with a "d" in it.
  const isLiteral = literal !== "" && splitQuery(literal).every((word) => word.length < 3);
  const { fetch } = window;
  const quote = Search.makeSearchSummary;

  window.fetch = async (address, options) => {
    const page = String(address).slice(root.length);
    return Object.hasOwn(pages, page) ? new Response(page) : fetch(address, options);
  };

  /** The text of a page from an anchor on. @param {string} page @param {string} anchor */
  Search.htmlToText = (page, anchor) => {
    const start = pages[page].findIndex(([id]) => `#${id}` === anchor);
    return pages[page]
      .slice(Math.max(start, 0))
      .map(([, text]) => text)
      .join(" ");
  };

  // A stem may not be in the text: that of "key" is "kei". Then the quote would be the beginning.
  /** @param {string} page @param {string[]} stems @param {string} anchor */
  Search.makeSearchSummary = (page, stems, anchor) =>
    quote(page, ["", ...stems, ...(isLiteral ? [literal] : words)], anchor);

  // A short query is searched as it is typed.
  const HEADING = 60; // characters at the beginning of a section

  /** The sections of a page that hold the query, those with it in their heading first. @param {string} page */
  function literalHits(page) {
    const found = pages[page]
      .map(([id, text]) => ({ id, at: text.toLowerCase().indexOf(literal) }))
      .filter(({ at }) => at >= 0);
    return found.sort((a, b) => Number(b.at < HEADING) - Number(a.at < HEADING));
  }

  const { _parseQuery } = Search;
  // Sphinx lists a page that has any short word of a query, even if it has none of the long ones.
  Search._parseQuery = (typed) => {
    const parsed = _parseQuery(typed);
    for (const words of parsed) {
      if (words instanceof Set) for (const word of words) if (word.length < 3) words.delete(word);
    }
    return parsed;
  };
  if (isLiteral) {
    Search._parseQuery = (typed) => [typed, new Set(), new Set(), new Set([literal]), new Set()];
    Search.performTermsSearch = () =>
      Search._index.docnames.flatMap((name, i) => {
        const [first, ...others] = literalHits(`${name}.html`);
        if (!first) return [];
        const score = (first.at < HEADING ? 1000 : 0) + others.length;
        const anchor = first.id && `#${first.id}`;
        return [[name, Search._index.titles[i], anchor, null, score, Search._index.filenames[i]]];
      });
  }

  // Sphinx's message for a search without hits.
  const NO_HITS =
    "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.";
  const MESSAGES = {
    common: (/** @type {string} */ typed) =>
      `“${typed}” did not match: such words are on every page. Add a word that names what you look for.`,
    similar: (/** @type {string} */ typed, /** @type {string} */ word) =>
      `“${typed}” did not match any page. Did you mean “${word}”?`,
    none: (/** @type {string} */ typed) =>
      `“${typed}” did not match any page. Check its spelling, or try another word.`,
  };

  /** How many letters differ between two words. @param {string} from @param {string} to */
  function distance(from, to) {
    let row = [...to, ""].map((_, i) => i);
    for (const [i, letter] of [...from].entries()) {
      const next = [i + 1];
      for (const [j, other] of [...to].entries()) {
        next.push(Math.min(row[j] + Number(letter !== other), row[j + 1] + 1, next[j] + 1));
      }
      row = next;
    }
    return row[to.length];
  }

  /** The word of the book most like this one, if one is; of several, the most frequent. @param {string} word */
  function mostSimilar(word) {
    /** @type {Map<string, number>} */
    const counts = new Map();
    for (const [, text] of Object.values(pages).flat()) {
      for (const each of text.toLowerCase().match(/\p{Letter}{3,}/gu) ?? [])
        counts.set(each, (counts.get(each) ?? 0) + 1);
    }
    const most = word.length < 5 ? 1 : 2;
    const near = [...counts]
      .filter(([other, count]) => count > 1 && Math.abs(other.length - word.length) <= most)
      .map(([other, count]) => ({ other, count, far: distance(word, other) }))
      .filter(({ far }) => far <= most)
      .sort((a, b) => a.far - b.far || b.count - a.count);
    return near[0]?.other;
  }

  function explainNoHits() {
    const typed = query.trim();
    if (!isLiteral && !words.length) return MESSAGES.common(typed);
    const better = words.map((word) => mostSimilar(word) ?? word).join(" ");
    return isLiteral || better === words.join(" ") ? MESSAGES.none(typed) : MESSAGES.similar(typed, better);
  }

  Object.defineProperty(Documentation.TRANSLATIONS, NO_HITS, { get: explainNoHits });

  // Every object has the property "constructor", which is no word of the book.
  const plain = { __proto__: null, hasOwnProperty: Object.prototype.hasOwnProperty };
  const { setIndex } = Search;
  Search.setIndex = (index) => {
    for (const words of /** @type {const} */ (["terms", "titleterms"])) Object.setPrototypeOf(index[words], plain);
    setIndex(index);
  };
})();
