// The search page quotes the pages that it finds. Sphinx would fetch each of them, which a browser
// refuses in a folder; so their text comes as a script, and stands in for what would be fetched.
(() => {
  "use strict";

  const pages = window.attnbookPages;
  const root = document.documentElement.dataset.content_root ?? "";
  const query = new URLSearchParams(location.search).get("q") ?? "";
  const words = splitQuery(query.toLowerCase()).filter((word) => !stopwords.includes(word));
  const { fetch } = window;
  const quote = Search.makeSearchSummary;

  window.fetch = async (address, options) => {
    const page = String(address).slice(root.length);
    return Object.hasOwn(pages, page) ? new Response(page) : fetch(address, options);
  };

  /** What a page says from a place on. @param {string} page @param {string} anchor */
  Search.htmlToText = (page, anchor) => {
    const place = pages[page].findIndex(([id]) => `#${id}` === anchor);
    return pages[page]
      .slice(Math.max(place, 0))
      .map(([, text]) => text)
      .join(" ");
  };

  // A stem need not stand in the text: that of "key" is "kei". Else the quote is the beginning.
  /** @param {string} page @param {string[]} stems @param {string} anchor */
  Search.makeSearchSummary = (page, stems, anchor) => quote(page, ["", ...stems, ...words], anchor);

  // "constructor" is no word of the book, and yet every object has one.
  const plain = { __proto__: null, hasOwnProperty: Object.prototype.hasOwnProperty };
  const { setIndex } = Search;
  Search.setIndex = (index) => {
    for (const words of /** @type {const} */ (["terms", "titleterms"])) Object.setPrototypeOf(index[words], plain);
    setIndex(index);
  };
})();
