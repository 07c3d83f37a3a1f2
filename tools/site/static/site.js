// What is too wide scrolls, and the keyboard must reach it. The theme does this for all but formulas,
// later and one by one, and then finds nothing to change.
// Parts of closed answers wait until these are opened: to measure one of them, the browser computes
// its style and its layout, and then forgets both. `finish.py` tells the theme the same.
const UNFOLDED = ":not(details:not([open]) *)";
const SCROLLING = "pre, .cell_output > .output, .pst-scrollable-table-container";

function makeScrollingPartsFocusable() {
  /** @type {NodeListOf<HTMLElement>} */
  const parts = document.querySelectorAll(`:is(.katex-display, ${SCROLLING})${UNFOLDED}`);
  // All are measured before one is changed: else the browser would compute the layout again for each.
  const scroll = [...parts].map(
    (part) => part.scrollWidth > part.clientWidth || (part.matches(SCROLLING) && part.scrollHeight > part.clientHeight),
  );
  parts.forEach((part, i) => {
    part.tabIndex = scroll[i] ? 0 : -1;
  });
}

addEventListener("load", makeScrollingPartsFocusable);
addEventListener("resize", makeScrollingPartsFocusable);
addEventListener("toggle", makeScrollingPartsFocusable, true);

// On paper: the light theme with hidden answers open; other answers stay as they are. After printing, all is restored.
{
  const page = document.documentElement.dataset;
  /** @type {string | undefined} */
  let theme;
  /** @type {HTMLDetailsElement[]} */
  let folded = [];

  addEventListener("beforeprint", () => {
    theme = page.theme;
    page.theme = "light";
    /** @type {NodeListOf<HTMLDetailsElement>} */
    const closed = document.querySelectorAll("main details.attnbook-hidden-answer:not([open])");
    folded = [...closed];
    for (const answer of folded) answer.open = true;
  });

  addEventListener("afterprint", () => {
    page.theme = theme ?? "";
    for (const answer of folded) answer.open = false;
  });
}

// The scripts of menus, search and copy buttons start late: in their order, once the page is there
// and the browser is idle. A click on a button before that is repeated then.
/** @type {HTMLElement | null | undefined} */
let clickedEarly;

/** @param {MouseEvent} event */
function rememberClick({ target, defaultPrevented }) {
  if (target instanceof Element && !defaultPrevented) clickedEarly = target.closest("button.btn");
}

function repeatClick() {
  removeEventListener("click", rememberClick);
  clickedEarly?.click();
}

function startLateScripts() {
  /** @type {NodeListOf<HTMLScriptElement>} */
  const scripts = document.querySelectorAll('script[type="text/late"]');
  for (const late of scripts) {
    const script = document.createElement("script");
    script.async = false;
    script.src = late.src;
    document.head.append(script);
    if (late === scripts[scripts.length - 1]) script.addEventListener("load", repeatClick);
  }
}

addEventListener("click", rememberClick);
if ("requestIdleCallback" in window) requestIdleCallback(startLateScripts, { timeout: 400 });
else setTimeout(startLateScripts, 100);
