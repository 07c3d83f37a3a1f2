// The contents of a page, next to it or in a drawer: the section that is read is marked.
(() => {
  "use strict";

  // The section that is read is the one whose heading is the last above a line, at 40 % of the
  // window's height: all that is above it counts, however far.
  const ABOVE_LINE = "1000000px 0px -60% 0px";

  /** The heading that a link of the contents leads to. @param {HTMLAnchorElement} link */
  function headingOf(link) {
    const target = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    return target?.querySelector(":is(h1, h2, h3, h4, h5, h6)") ?? target;
  }

  /** @type {NodeListOf<HTMLAnchorElement>} */
  const links = document.querySelectorAll("nav.page-toc a[href^='#']");
  const headings = [...links].map(headingOf);
  /** @type {Set<Element | null>} */
  const above = new Set();

  const mark = () => {
    const read = links[headings.findLastIndex((heading) => above.has(heading))] ?? null;
    for (const link of links) {
      link.classList.toggle("active", link === read);
      if (link === read) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
      const entry = link.closest("li");
      entry?.classList.toggle("active", entry.contains(read));
    }
  };

  const watch = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) above.add(target);
        else above.delete(target);
      }
      mark();
    },
    { rootMargin: ABOVE_LINE },
  );
  for (const heading of headings) if (heading) watch.observe(heading);

  // A link in a drawer closes it, and then the section that it leads to has the focus.
  /** @type {NodeListOf<HTMLDialogElement>} */
  const drawers = document.querySelectorAll("#pst-primary-sidebar-modal, #pst-secondary-sidebar-modal");
  for (const drawer of drawers) {
    drawer.addEventListener("click", ({ target }) => {
      const link = target instanceof Element ? target.closest("a") : null;
      if (!link) return;
      const focus = () => {
        const heading = link.hash && headingOf(link);
        if (!(heading instanceof HTMLElement)) return;
        heading.tabIndex = -1;
        heading.focus({ preventScroll: true });
        heading.scrollIntoView();
      };
      // The theme returns the focus to the button that opened the drawer, which may scroll the page.
      drawer.addEventListener("close", focus, { once: true });
      drawer.close();
    });
  }
})();
