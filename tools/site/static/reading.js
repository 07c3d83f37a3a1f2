// Which chapters are read: ticks in the contents, and a button at the end of a chapter's core. A core
// also counts as read once its end was in sight and the reader stayed for a fifth of its minutes.
(() => {
  const store = /** @type {import("../../../attnbook/figures/shared/types").Progress} */ (window.attnbookProgress);
  const SHARE = 1 / 5; // of the minutes of a core
  const LINE = 0.4; // of the window's height: the section that is read begins above it
  const LAST = "last/-/-";
  /** @type {HTMLMetaElement | null} */
  const meta = document.querySelector("meta[name=attnbook-page]");
  const page = meta?.content ?? "";

  /** @param {string} name */
  const itemOf = (name) => `read/${name}/-`;

  function paintTicks() {
    /** @type {NodeListOf<HTMLAnchorElement>} */
    const links = document.querySelectorAll(".bd-links a.internal");
    for (const link of links) {
      const tick = link.querySelector(".attnbook-tick");
      const name = store.pageOf(link);
      const isRead = name !== "" && store.isDone(itemOf(name));
      if (tick && !isRead) tick.remove();
      if (tick || !isRead) continue;
      const newTick = document.createElement("span");
      newTick.className = "attnbook-tick";
      newTick.innerHTML = ' <span aria-hidden="true">✓</span><span class="visually-hidden"></span>';
      if (newTick.lastElementChild) newTick.lastElementChild.textContent = TEXT.is_read;
      link.append(newTick);
    }
  }

  /** The button of a chapter, and what marks it without the button. */
  function watchChapter() {
    const divider = document.querySelector(".attnbook-divider");
    const article = document.querySelector("article section") ?? document.querySelector("article");
    const end = document.createElement("div");
    const button = document.createElement("button");
    const announcement = document.createElement("div");
    let [isRead, isStored] = [store.isDone(itemOf(page)), true];
    end.className = "attnbook-read";
    button.type = "button";
    announcement.className = "visually-hidden";
    announcement.setAttribute("role", "status");
    end.append(button, announcement);
    if (divider) divider.before(end);
    else article?.append(end);

    const paint = () => {
      button.textContent = isRead ? TEXT.read_already : TEXT.mark_as_read;
      button.classList.toggle("is-read", isRead);
      paintTicks();
    };
    /** @param {boolean} now */
    const mark = (now) => {
      isRead = now;
      isStored = store.write(itemOf(page), now ? "1" : null, end);
      announcement.textContent = now ? TEXT.chapter_is_read : TEXT.chapter_is_not_read;
      paint();
    };
    let isPressed = false; // then the reader decides
    button.addEventListener("click", () => {
      isPressed = true;
      mark(!isRead);
    });
    store.follow(() => {
      if (isStored) isRead = store.isDone(itemOf(page));
      paint();
    });
    paint();

    /** @type {HTMLElement | null} */
    const minutes = document.querySelector(".attnbook-minutes[data-core]");
    const needed = Number(minutes?.dataset.core) * 60_000 * SHARE;
    if (needed > 0 && !isRead) watchTime(end, needed, () => isRead || isPressed || mark(true));
  }

  /**
   * Call once when an element was in sight and the page was shown for so long.
   * @param {Element} end @param {number} needed in milliseconds @param {() => void} done
   */
  function watchTime(end, needed, done) {
    let [isSeen, spent, timer] = [false, 0, 0];
    /** @type {number | null} */
    let since = null; // while the page is shown
    const check = () => {
      clearTimeout(timer);
      const now = performance.now();
      if (since !== null) spent += now - since;
      since = document.visibilityState === "visible" ? now : null;
      if (!isSeen || since === null) return;
      if (spent < needed) timer = window.setTimeout(check, needed - spent);
      else {
        document.removeEventListener("visibilitychange", check);
        done();
      }
    };
    const sight = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      isSeen = true;
      sight.disconnect();
      check();
    });
    document.addEventListener("visibilitychange", check);
    check();
    sight.observe(end);
  }

  /** Store where the reader is, for “Continue where you stopped”. */
  function rememberPosition() {
    // The first is the page; those within a closed one have no position.
    const sections = [...document.querySelectorAll("article section[id]")]
      .slice(1)
      .filter((section) => !section.closest("details:not([open])"));
    const section = sections.findLast((each) => each.getBoundingClientRect().top < LINE * innerHeight);
    const title = section?.querySelector("h2, h3, h4")?.firstChild?.textContent ?? "";
    store.write(LAST, JSON.stringify({ page, section: section?.id ?? "", title }));
  }

  if (page) {
    watchChapter();
    if (!document.querySelector(".attnbook-path")) {
      document.addEventListener("visibilitychange", () => {
        if (document.visibilityState === "hidden") rememberPosition();
      });
      // Of several tabs that are closed, only the one in front is where the reader stopped.
      addEventListener("pagehide", () => {
        if (document.visibilityState === "visible") rememberPosition();
      });
    }
  } else {
    store.follow(paintTicks);
    paintTicks();
  }
})();
