// What is wider than its place scrolls; the keyboard must be able to do it. The theme does this for
// all but formulas, later and one by one, and then finds nothing to change.
const SCROLLING = "pre, .cell_output > .output, .pst-scrollable-table-container";

function letWhatScrollsTakeFocus() {
  /** @type {NodeListOf<HTMLElement>} */
  const parts = document.querySelectorAll(`.katex-display, ${SCROLLING}`);
  // All are measured before one is changed: else the page would be laid out anew for each.
  const scroll = [...parts].map(
    (part) => part.scrollWidth > part.clientWidth || (part.matches(SCROLLING) && part.scrollHeight > part.clientHeight),
  );
  parts.forEach((part, i) => {
    part.tabIndex = scroll[i] ? 0 : -1;
  });
}

addEventListener("load", letWhatScrollsTakeFocus);
addEventListener("resize", letWhatScrollsTakeFocus);
addEventListener("toggle", letWhatScrollsTakeFocus, true);

// On paper: dark ink, and what a prediction hides open; other answers stay as the reader left them. Afterwards as it was.
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

// Menus, search and copy buttons wait for the reader's hand: their scripts start in their order
// once the page is there and the browser has nothing better to do. What a hand asked for before
// they ran is done then.
/** @type {HTMLElement | null | undefined} */
let asked;

/** @param {MouseEvent} event */
function remember({ target, defaultPrevented }) {
  if (target instanceof Element && !defaultPrevented) asked = target.closest("button.btn");
}

function doWhatWasAsked() {
  removeEventListener("click", remember);
  asked?.click();
}

function startLateScripts() {
  /** @type {NodeListOf<HTMLScriptElement>} */
  const scripts = document.querySelectorAll('script[type="text/late"]');
  for (const late of scripts) {
    const script = document.createElement("script");
    script.async = false;
    script.src = late.src;
    document.head.append(script);
    if (late === scripts[scripts.length - 1]) script.addEventListener("load", doWhatWasAsked);
  }
}

addEventListener("click", remember);
if ("requestIdleCallback" in window) requestIdleCallback(startLateScripts, { timeout: 400 });
else setTimeout(startLateScripts, 100);
