// Reload, Back and `make chapter` show a page where the reader left it. The browser would restore
// how many pixels it was scrolled, before the figures have their heights.
{
  const KEY = `place ${location.pathname}`;
  const FRAMES = 30; // that a place is kept still after all figures have started
  const ACTS = ["wheel", "touchmove", "pointerdown", "keydown"];
  /** @typedef {{section: string, block: number, top: number, unfolded: boolean[]}} Place */

  const blocksOf = (/** @type {Element} */ section) =>
    [...section.children].filter((child) => child.tagName !== "SECTION");
  const folds = () => [...document.querySelectorAll("article details")].filter((fold) => !fold.closest("figure"));

  /** Whether all figures have started, or say why not. */
  const isSettled = () =>
    document.readyState === "complete" &&
    [...document.querySelectorAll("[data-attnbook-view]")].every((view) => view.querySelector("figure, [role=status]"));

  /** The first block below the bar at the top of the window. @returns {Place | null} */
  function findPlace() {
    const bar = document.querySelector(".bd-header-article")?.getBoundingClientRect().bottom ?? 0;
    const unfolded = folds().map((fold) => fold.hasAttribute("open"));
    for (const section of document.querySelectorAll("article section[id]")) {
      for (const [block, element] of blocksOf(section).entries()) {
        const { top, bottom, height } = element.getBoundingClientRect();
        if (height && bottom > bar) return { section: section.id, block, top, unfolded };
      }
    }
    return null;
  }

  /** Show a place and keep it still while parts of the page change their heights, until the reader acts. @param {Place} place */
  function hold({ section, block, top, unfolded }) {
    for (const [i, fold] of folds().entries()) if (unfolded[i]) fold.setAttribute("open", "");
    const parent = document.getElementById(section);
    const blocks = parent ? blocksOf(parent) : [];
    const element = blocks[Math.min(block, blocks.length - 1)];
    if (!element) return;
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
        // Not sooner, or the browser would restore the pixels, even if the reader has scrolled.
        history.scrollRestoration = "auto";
        ends.abort();
        return;
      }
      requestAnimationFrame(align);
    };
    align();
  }

  addEventListener("pagehide", () => {
    sessionStorage.setItem(KEY, JSON.stringify(findPlace()));
  });

  const [visit] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType("navigation"));
  /** @type {Place | null} */
  const left = JSON.parse(sessionStorage.getItem(KEY) ?? "null"); // where nothing is stored, as layout.html has it
  if (left && visit && visit.type !== "navigate") hold(left);
}
