// Where this browser stores what its reader does: one entry for each item, so that two tabs do not
// overwrite each other. Figures and the scripts of the site use it; nothing leaves the page.
{
  const VERSION = 1;
  const site = new URL(document.documentElement.dataset.content_root ?? "./", location.href).pathname;
  const PREFIX = `attnbook/${VERSION}/${encodeURIComponent(site)}/`;
  const OLD = "attnbook: "; // how code was stored before: `attnbook: TASK` and `attnbook: TASK before`
  const CHANGES = ["storage", "focus", "pageshow", "attnbook-stored"];

  /** @param {string} key */
  const get = (key) => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  };

  /** Store a text, or remove it; returns whether that worked. @param {string} key @param {string | null} text */
  const set = (key, text) => {
    try {
      if (text === null) localStorage.removeItem(key);
      else localStorage.setItem(key, text);
      return true;
    } catch {
      return false;
    }
  };

  /** @param {string} start */
  const keysWith = (start) => {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(start));
    } catch {
      return [];
    }
  };

  /** The key under which code was stored before. @param {string} item */
  const oldKey = (item) => {
    const [kind, task] = item.split("/");
    if (kind === "code") return OLD + task;
    return kind === "before" ? `${OLD}${task} before` : null;
  };

  /** Old entries that this page shows, because they could not be moved. @type {Set<string>} */
  const unmoved = new Set();
  let isWarned = false;

  /** Show once on a page, after an element, that nothing is stored. @param {Element} element */
  const warnOnce = (element) => {
    if (isWarned) return;
    isWarned = true;
    const line = document.createElement("p");
    line.className = "attnbook-not-stored";
    line.setAttribute("role", "alert");
    line.textContent = TEXT.not_stored;
    element.after(line);
  };

  /** @param {string} item */
  const read = (item) => {
    const old = oldKey(item);
    return get(PREFIX + item) ?? (old && unmoved.has(old) ? get(old) : null);
  };

  /** @param {string} item @param {string | null} text @param {Element?} element */
  const write = (item, text, element = null) => {
    const [before, old] = [read(item), oldKey(item)];
    const isStored = set(PREFIX + item, text);
    if (isStored && old && unmoved.delete(old)) set(old, null);
    if (isStored && before !== text) dispatchEvent(new Event("attnbook-stored"));
    if (!isStored && element) warnOnce(element);
    return isStored;
  };

  // An old entry goes only once the new one is there. If both are there, a page that was open since
  // before has written the old one: it is newer, and “Bring back” shows the other.
  for (const old of keysWith(OLD)) {
    const [, task, isBefore] = /^attnbook: (.+?)( before)?$/.exec(old) ?? [];
    const [item, before] = [`${isBefore ? "before" : "code"}/${task}/-`, `before/${task}/-`];
    const isBeforeFree = get(PREFIX + before) === null && get(`${old} before`) === null;
    const [text, other] = [get(old), get(PREFIX + item)];
    const isFree = other === null || other === text;
    if (isFree) unmoved.add(old);
    if (isFree || (!isBefore && isBeforeFree && write(before, other))) {
      if (write(item, text)) set(old, null);
    }
  }

  window.attnbookProgress = {
    site,
    version: VERSION,
    pageOf({ pathname }) {
      const name = pathname.startsWith(site) ? pathname.split("/").at(-1) : "";
      return (name ?? "").replace(/\.html$/, "");
    },
    read,
    write,
    isDone(item, text = read(item)) {
      if (text === null || !item.startsWith("prediction/")) return text !== null;
      try {
        return Boolean(JSON.parse(text).done);
      } catch {
        return false;
      }
    },
    items: () => keysWith(PREFIX).map((key) => key.slice(PREFIX.length)),
    clear() {
      for (const key of [...keysWith(PREFIX), ...keysWith(OLD)]) set(key, null);
      dispatchEvent(new Event("attnbook-stored"));
    },
    follow(update) {
      for (const name of CHANGES) addEventListener(name, update);
      return () => {
        for (const name of CHANGES) removeEventListener(name, update);
      };
    },
  };
}
