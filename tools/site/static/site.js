// A formula that is wider than its page scrolls; the keyboard must be able to do it.
function letWideFormulasTakeFocus() {
  /** @type {NodeListOf<HTMLElement>} */
  const formulas = document.querySelectorAll(".katex-display");
  for (const formula of formulas) {
    formula.tabIndex = formula.scrollWidth > formula.clientWidth ? 0 : -1;
  }
}

addEventListener("load", letWideFormulasTakeFocus);
addEventListener("resize", letWideFormulasTakeFocus);
addEventListener("toggle", letWideFormulasTakeFocus, true);

// On paper: dark ink, and the folded answers open. Afterwards as it was.
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
    const closed = document.querySelectorAll("main details:not([open])");
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
