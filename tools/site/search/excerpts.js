// The search page: Sphinx draws the places that `find.js` finds, and quotes them. Sphinx
// would fetch each page, which a browser refuses in a folder; so their text is in a script.
(() => {
  "use strict";

  const { find, foundWords, corrected, typedWords } = attnbookFind;
  const root = document.documentElement.dataset.content_root ?? "";
  const typed = (new URLSearchParams(location.search).get("q") ?? "").trim();
  const { fetch } = window;
  const quote = Search.makeSearchSummary;
  /** @type {Place[]} */
  let hits = [];
  let query = typed;

  window.fetch = async (address, options) => {
    const page = String(address).slice(root.length);
    return Object.hasOwn(attnbookPages, page) ? new Response(page) : fetch(address, options);
  };

  /** @param {string} text */
  const escaped = (text) => text.replace(/[&<>]/g, (sign) => `&#${sign.charCodeAt(0)};`);

  Search._parseQuery = (text) => {
    const words = new Set(typedWords(corrected(text, 1)));
    try {
      localStorage.setItem("found words", [...words].join(" ")); // found.js marks them, not Sphinx
    } catch {
      // Where nothing can be stored, nothing is marked.
    }
    return [text, words, new Set(), words, new Set()];
  };

  Search._performSearch = (text) => {
    document.getElementById("search-progress")?.replaceChildren();
    query = corrected(text.trim(), 1);
    hits = find(query);
    // Sphinx draws the last one first.
    return hits.toReversed().map(({ page, anchor, title, pageTitle, kind, score }) => {
      const shown = title === pageTitle ? title : `${pageTitle} > ${title}`;
      return [page.replace(/\.html$/, ""), escaped(shown), kind === "page" ? "" : `#${anchor}`, null, score, page];
    });
  };

  /** The text of a place. @param {string} page @param {string} anchor */
  Search.htmlToText = (page, anchor) =>
    hits.find((hit) => hit.page === page && (anchor ? `#${hit.anchor}` === anchor : hit.kind === "page"))?.text ?? "";

  // Sphinx quotes the last of these that is in the text: without any, the beginning.
  /** @param {string} page @param {Set<string>} _words @param {string} anchor */
  Search.makeSearchSummary = (page, _words, anchor) =>
    quote(page, ["", ...foundWords(query, Search.htmlToText(page, anchor)).toReversed()], anchor);

  // Sphinx's messages.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: Sphinx replaces it.
  const HITS = "Search finished, found ${resultCount} page(s) matching the search query.";
  const NO_HITS =
    "Your search did not match any documents. Please make sure that all words are spelled correctly and that you've selected enough categories.";

  function explainHits() {
    const places = fill(TEXT.places, { count: hits.length });
    return query === typed ? fill(TEXT.found, { places }) : fill(TEXT.found_other_words, { typed, places, query });
  }

  function explainNoHits() {
    if (!typed) return TEXT.nothing_typed;
    if (typed.includes("\\")) return fill(TEXT.formula_not_found, { typed });
    if (!typedWords(typed).length) return fill(TEXT.words_of_every_page, { typed });
    const better = corrected(typed, 2);
    return better === typed ? fill(TEXT.not_found, { typed }) : fill(TEXT.did_you_mean, { typed, better });
  }

  document.getElementById("attnbook-search-hint")?.toggleAttribute("hidden", Boolean(typed));
  Object.defineProperty(Documentation.TRANSLATIONS, HITS, { get: explainHits });
  Object.defineProperty(Documentation.TRANSLATIONS, NO_HITS, { get: explainNoHits });
})();
