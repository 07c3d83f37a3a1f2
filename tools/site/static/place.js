// Reload, Back and `make chapter` show a page where the reader left it, and a link shows its section.
// The browser would scroll by so many pixels, before the figures have their heights.
{
  const KEY = `place ${location.pathname}`;
  const FRAMES = 30; // for which a position is restored after all figures have started
  const ACTS = ["wheel", "touchmove", "pointerdown", "keydown"];
  /** @typedef {{section: string, block: number, top: number, unfolded: boolean[]}} Position */

  const BLOCKS = ":scope > :not(section, .attnbook-section), :scope > .attnbook-section > :not(section, summary)";
  const blocksOf = (/** @type {Element} */ section) => [...section.querySelectorAll(BLOCKS)];
  const folds = () => [...document.querySelectorAll("article details")].filter((fold) => !fold.closest("figure"));

  /** Whether all figures outside of closed folds have started, or explain why not. */
  const isSettled = () =>
    document.readyState === "complete" &&
    [...document.querySelectorAll("[data-attnbook-view]")].every(
      (view) => view.querySelector("figure, [role=status]") || !view.checkVisibility(),
    );

  /** The first block below the bar at the top of the window. @returns {Position | null} */
  function findPosition() {
    const bar = document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
    const unfolded = folds().map((fold) => fold.hasAttribute("open"));
    for (const section of document.querySelectorAll("article section[id]")) {
      if (section.getBoundingClientRect().bottom <= bar) continue; // its blocks may have no layout now
      for (const [block, element] of blocksOf(section).entries()) {
        const { top, bottom, height } = element.getBoundingClientRect();
        if (height && bottom > bar) return { section: section.id, block, top, unfolded };
      }
    }
    return null;
  }

  /** Scroll to the position that the reader left. @param {Position} position */
  function restore({ section, block, top, unfolded }) {
    for (const [i, fold] of folds().entries()) if (unfolded[i]) fold.setAttribute("open", "");
    const parent = document.getElementById(section);
    const blocks = parent ? blocksOf(parent) : [];
    const element = blocks[Math.min(block, blocks.length - 1)];
    if (element) holdStill(element, top);
  }

  /** Show what the page's address leads to, below the bar at the top of the window. */
  function showTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target?.checkVisibility()) return; // folds.js has opened the folds around it
    target.scrollIntoView({ behavior: "instant" });
    holdStill(target, target.getBoundingClientRect().top);
  }

  /**
   * Hold an element at its position while parts of the page change their heights, until the reader acts.
   * @param {Element} element @param {number} top
   */
  function holdStill(element, top) {
    const ends = new AbortController();
    for (const act of ACTS)
      addEventListener(act, () => ends.abort(), { signal: ends.signal, passive: true, capture: true });
    history.scrollRestoration = "manual";
    // Not by a ResizeObserver: figures have their own, and a browser would call that a loop.
    let frames = FRAMES;
    const align = () => {
      if (frames && !ends.signal.aborted) {
        scrollBy({ top: element.getBoundingClientRect().top - top, behavior: "instant" });
        if (isSettled()) frames -= 1;
      } else if (document.readyState === "complete") {
        // Not sooner, or the browser would restore its own scroll position, even if the reader has scrolled.
        history.scrollRestoration = "auto";
        ends.abort();
        return;
      }
      requestAnimationFrame(align);
    };
    align();
  }

  addEventListener("pagehide", () => {
    sessionStorage.setItem(KEY, JSON.stringify(findPosition()));
  });

  // A link within the page: sections between here and there have no layout yet (site.css).
  addEventListener("click", ({ target }) => {
    /** @type {HTMLAnchorElement | null} */
    const link = target instanceof Element ? target.closest("a[href^='#']") : null;
    if (link) setTimeout(() => location.href === link.href && showTarget()); // after the browser's own jump
  });

  const [visit] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  /** @type {Position | null} */
  const left = JSON.parse(sessionStorage.getItem(KEY) ?? "null"); // where nothing is stored, as layout.html has it
  if (left && visit && visit.type !== "navigate") restore(left);
  else if (location.hash) showTarget();
}
