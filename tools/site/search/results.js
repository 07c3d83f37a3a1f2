// What a search has found: on the search page all of it, with the text around the words; on other pages,
// while a query is typed, the first places.
(() => {
  "use strict";

  const { find, foundWords, loadTexts, textOf } = attnbookFind;
  const root = document.documentElement.dataset.content_root ?? "";
  const page = document.getElementById("search-results");
  const QUOTED = 6; // hits whose texts are there before the first is drawn
  const IN_DIALOG = 8;
  const BEFORE = 120; // characters of a quote before the word found
  const LENGTH = 240;

  /** @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {string} name @param {(string | Node)[]} content */
  function element(tag, name, ...content) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    made.append(...content);
    return made;
  }

  /** The text around the first word that a query finds in it. @param {string} query @param {string} text */
  function quote(query, text) {
    const words = foundWords(query, text).map((word) => text.toLowerCase().indexOf(word.toLowerCase()));
    const first = Math.max(0, (words.find((at) => at >= 0) ?? 0) - BEFORE);
    const start = first && text.indexOf(" ", first) + 1;
    const rest = text.slice(start);
    const end = rest.length > LENGTH ? rest.lastIndexOf(" ", LENGTH) : rest.length;
    return `${start ? "… " : ""}${rest.slice(0, end)}${end < rest.length ? " …" : ""}`;
  }

  /** A link to a place; the page that opens marks the words (found.js). @param {Place} hit @param {string[]} words */
  function linkTo({ page: address, anchor, title, pageTitle, kind }, words) {
    const link = element("a", "", title === pageTitle ? title : `${pageTitle} > ${title}`);
    // In the address, and not in a storage: pages opened from a folder may not see at once what another stored.
    const found = new URLSearchParams({ found: words.join(" ") });
    link.href = `${root}${address}?${found}${kind === "page" ? "" : `#${anchor}`}`;
    return link;
  }

  /** @param {Found} found @param {string} typed */
  function explain({ hits, query, better, words }, typed) {
    const places = fill(TEXT.places, { count: hits.length });
    if (hits.length)
      return query === typed ? fill(TEXT.found, { places }) : fill(TEXT.found_other_words, { typed, places, query });
    if (!typed) return TEXT.nothing_typed;
    if (typed.includes("\\")) return fill(TEXT.formula_not_found, { typed });
    if (!words.length) return fill(TEXT.words_of_every_page, { typed });
    return better === typed ? fill(TEXT.not_found, { typed }) : fill(TEXT.did_you_mean, { typed, better });
  }

  /** Quote further hits before the reader gets to them. @type {WeakMap<Element, () => Promise<void>>} */
  const waiting = new WeakMap();
  const near = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        waiting.get(target)?.();
      }
    },
    { rootMargin: "300px" },
  );

  /** One hit of the search page. @param {Found} found @param {number} i */
  function itemFor({ hits, query, words }, i) {
    const text = element("p", "context");
    const item = element("li", "", linkTo(hits[i], words), text);
    const put = () => text.replaceChildren(quote(query, textOf(hits[i])));
    if (i < QUOTED) put();
    else {
      waiting.set(item, () => loadTexts([hits[i]]).then(put));
      near.observe(item);
    }
    return item;
  }

  let turn = 0;

  /** Search, and draw it unless something else has been typed by then.
   * @param {string} typed @param {boolean} typing @param {(found: Found) => (string | Node)[]} draw @param {Element} place */
  async function show(typed, typing, draw, place) {
    const mine = ++turn;
    let content;
    try {
      const found = await find(typed, typing);
      if (place === page) await loadTexts(found.hits.slice(0, QUOTED));
      content = draw(found);
    } catch {
      content = [element("p", "search-summary", TEXT.search_did_not_arrive)];
    }
    if (mine === turn) place.replaceChildren(...content);
  }

  /** @param {string} typed @param {boolean} typing */
  function fillPage(typed, typing) {
    document.getElementById("attnbook-search-hint")?.toggleAttribute("hidden", Boolean(typed));
    return show(
      typed,
      typing,
      (found) => {
        const summary = element("p", "search-summary", explain(found, typed));
        summary.setAttribute("role", "status");
        const foreign = /[^\P{L}\p{Script=Latin}\p{Script=Greek}]/u.test(typed)
          ? [element("p", "", TEXT.in_english)]
          : [];
        const list = element("ul", "search", ...found.hits.map((_, i) => itemFor(found, i)));
        return [element("h2", "", TEXT.search_results), summary, ...foreign, list];
      },
      /** @type {Element} */ (page),
    );
  }

  /** @param {HTMLInputElement} field */
  function fillDialog(field) {
    const form = /** @type {HTMLFormElement} */ (field.form);
    const place = form.nextElementSibling ?? element("div", "attnbook-found");
    form.after(place);
    return show(
      field.value,
      true,
      (found) => {
        const items = found.hits.slice(0, IN_DIALOG).map((hit) => element("li", "", linkTo(hit, found.words)));
        if (items.length) return [element("ul", "search", ...items)];
        const typed = field.value.trim();
        return typed ? [element("p", "search-summary", explain(found, typed))] : [];
      },
      place,
    );
  }

  addEventListener("input", ({ target }) => {
    if (!(target instanceof HTMLInputElement && target.matches(".bd-search input"))) return;
    if (!page || target.closest("dialog")) fillDialog(target);
    else {
      history.replaceState(null, "", `?q=${encodeURIComponent(target.value)}`);
      fillPage(target.value.trim(), true);
    }
  });

  const typed = (new URLSearchParams(location.search).get("q") ?? "").trim();
  if (page && location.search) {
    /** @type {NodeListOf<HTMLInputElement>} */
    const fields = document.querySelectorAll(".bd-search input");
    for (const field of fields) field.value ||= typed;
    fillPage(typed, false);
  }
  const open = document.querySelector("dialog[open] .bd-search input"); // typed before this script came
  if (open instanceof HTMLInputElement && open.value) fillDialog(open);
})();
