// The words of a search, marked where its hit leads: whole words, and not within figures and formulas,
// which would not survive that.
{
  const LETTER = "[\\p{L}\\p{N}_]";
  const LEFT_OUT = "figure, .katex, svg, script, style, button, select, textarea, .headerlink, [data-attnbook-view]";

  /** @param {string} text */
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

  /** Mark each match in an element. @param {Element} element @param {RegExp} pattern */
  function mark(element, pattern) {
    const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    /** @type {Text[]} */
    const texts = [];
    while (walker.nextNode()) texts.push(/** @type {Text} */ (walker.currentNode));
    for (const text of texts.filter((each) => !each.parentElement?.closest(LEFT_OUT))) {
      // From the end, so that a match is still where it was.
      for (const { 0: word, index } of [...text.data.matchAll(pattern)].reverse()) {
        const found = text.splitText(index);
        found.splitText(word.length);
        const marked = document.createElement("span");
        marked.className = "highlighted"; // Sphinx's key Escape ends it
        found.replaceWith(marked);
        marked.append(found);
      }
    }
  }

  // What was searched, once: results.js adds it to the address.
  const address = new URL(location.href);
  const words = (address.searchParams.get("found") ?? "").split(" ").filter(Boolean);
  if (words.length) {
    address.searchParams.delete("found");
    history.replaceState(history.state, "", address);
  }
  // Of an object of the API, its entry.
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)))?.closest("dl.py, article section");
  const opened = place ?? document.querySelector("article");
  if (opened && words.length) {
    const forms = `(?:${words.map(escaped).join("|")})(?:s|es|d|ed|ing)?`;
    mark(opened, new RegExp(`(?<!${LETTER})${forms}(?!${LETTER})`, "giu"));
  }
}
