// A list of chapters: what is done in each of them, and where the reader stopped.
(() => {
  const store = /** @type {import("../../../attnbook/figures/shared/types").Progress} */ (window.attnbookProgress);
  const isRead = (/** @type {string} */ page) => store.isDone(`read/${page}/-`);

  /** How many items of each kind are done, in words. @param {string[]} items */
  function countDone(items) {
    const [predictions, tasks] = ["prediction/", "task/"].map((kind) => {
      const names = items.filter((name) => name.startsWith(kind));
      return { done: names.filter((name) => store.isDone(name)).length, count: names.length };
    });
    return [
      ...(predictions.count ? [fill(TEXT.predictions_done, predictions)] : []),
      ...(tasks.count ? [fill(TEXT.tasks_done, tasks)] : []),
    ];
  }

  /** What is done in a chapter, in words; empty if nothing is. @param {string} page @param {string[]} items */
  function describe(page, items) {
    if (!isRead(page) && !items.some((item) => store.isDone(item))) return "";
    return ["", ...(isRead(page) ? [TEXT.chapter_read] : []), ...countDone(items)].join(" · ");
  }

  /** The link to where the reader stopped, if that page is still part of the book. */
  function continuation() {
    try {
      const { page, section, title } = JSON.parse(store.read("last/-/-") ?? "");
      /** @type {NodeListOf<HTMLAnchorElement>} */
      const links = document.querySelectorAll(".bd-links a.internal");
      const chapterLink = [...links].find((link) => store.pageOf(link) === page);
      if (!chapterLink) return null;
      const link = document.createElement("a");
      link.href = section ? `${chapterLink.href}#${encodeURIComponent(section)}` : chapterLink.href;
      const chapter = chapterLink.firstChild?.textContent?.trim() ?? "";
      const inSection = () => fill(TEXT.continue_in_section, { chapter, section: title });
      link.textContent = title ? inSection() : fill(TEXT.continue_in_chapter, { chapter });
      return link;
    } catch {
      return null; // nothing is stored, or nothing that can be read
    }
  }

  /** @param {Element} list @param {Element?} started where the chapters that the reader has begun move to */
  function show(list, started) {
    /** @type {Record<string, string[]>} */
    const items = JSON.parse(list.querySelector("script")?.textContent ?? "{}");
    const [totals, next, begun] = ["p", "p", "ul"].map((tag) => document.createElement(tag));
    totals.className = "attnbook-totals";
    next.className = "attnbook-continue";
    list.prepend(next);
    started?.replaceChildren(totals, next, begun);
    const entries = [...list.querySelectorAll("li")].map((entry) => {
      const link = entry.querySelector("a");
      const done = document.createElement("span");
      done.className = "attnbook-done";
      link?.parentElement?.append(done);
      return { page: link ? store.pageOf(link) : "", done, entry, left: entry.parentElement };
    });
    const paint = () => {
      for (const { page, done } of entries) done.textContent = describe(page, items[page] ?? []);
      const count = entries.length;
      const read = fill(TEXT.chapters_read, { done: entries.filter(({ page }) => isRead(page)).length, count });
      totals.textContent = [read, ...countDone([...new Set(Object.values(items).flat())])].join(" · ");
      // An entry that is moved loses the focus.
      const isMoved = entries.some(({ done, entry }) => begun.contains(entry) !== Boolean(done.textContent));
      if (started && isMoved) {
        for (const { left } of entries) left?.replaceChildren();
        for (const { done, entry, left } of entries) (done.textContent ? begun : left)?.append(entry);
      }
      const link = continuation();
      next.replaceChildren(...(link ? [link] : []));
      next.hidden = !link;
    };
    store.follow(paint);
    paint();
  }

  const started = document.querySelector(".attnbook-started");
  for (const list of document.querySelectorAll(".attnbook-path")) show(list, started);
})();
