// A list of chapters: what is done in each of them, and where the reader stopped.
(() => {
  const store = /** @type {import("../../../attnbook/figures/shared/types").Progress} */ (window.attnbookProgress);
  /** What is done in a chapter, in words; empty if nothing is. @param {string} page @param {string[]} items */
  function describe(page, items) {
    const isRead = store.isDone(`read/${page}/-`);
    const done = items.filter((item) => store.isDone(item));
    if (!isRead && !done.length) return "";
    /** How many are done, and of how many. @param {string} kind */
    const counts = (kind) => {
      const [some, count] = [done, items].map((names) => names.filter((name) => name.startsWith(`${kind}/`)).length);
      return { done: some, count };
    };
    const [predictions, tasks] = [counts("prediction"), counts("task")];
    return [
      isRead ? TEXT.chapter_read : "",
      predictions.count ? fill(TEXT.predictions_done, predictions) : "",
      tasks.count ? fill(TEXT.tasks_done, tasks) : "",
    ]
      .filter(Boolean)
      .join(" · ");
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

  /** @param {Element} list */
  function show(list) {
    /** @type {Record<string, string[]>} */
    const items = JSON.parse(list.querySelector("script")?.textContent ?? "{}");
    const next = document.createElement("p");
    next.className = "attnbook-continue";
    list.prepend(next);
    const entries = [...list.querySelectorAll("li")].map((entry) => {
      const link = entry.querySelector("a");
      const done = document.createElement("span");
      done.className = "attnbook-done";
      link?.parentElement?.append(done);
      return { page: link ? store.pageOf(link) : "", done };
    });
    const paint = () => {
      for (const { page, done } of entries) {
        const text = describe(page, items[page] ?? []);
        done.textContent = text && ` · ${text}`;
      }
      const link = continuation();
      next.replaceChildren(...(link ? [link] : []));
      next.hidden = !link;
    };
    store.follow(paint);
    paint();
  }

  for (const list of document.querySelectorAll(".attnbook-path")) show(list);
})();
