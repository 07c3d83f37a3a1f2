// A formula that is wider than its page scrolls; the keyboard must be able to do it.
function letWideFormulasTakeFocus() {
  for (const formula of document.querySelectorAll(".katex-display")) {
    formula.tabIndex = formula.scrollWidth > formula.clientWidth ? 0 : -1;
  }
}

addEventListener("load", letWideFormulasTakeFocus);
addEventListener("resize", letWideFormulasTakeFocus);
addEventListener("toggle", letWideFormulasTakeFocus, true);

// On paper: dark ink, and the folded answers open. Afterwards as it was.
{
  const page = document.documentElement.dataset;
  let theme = "";
  let folded = [];

  addEventListener("beforeprint", () => {
    theme = page.theme;
    page.theme = "light";
    folded = [...document.querySelectorAll("main details:not([open])")];
    for (const answer of folded) answer.open = true;
  });

  addEventListener("afterprint", () => {
    page.theme = theme;
    for (const answer of folded) answer.open = false;
  });
}

// Menus, search and copy buttons wait for the reader's hand: their scripts start in their order
// once the page is there and the browser has nothing better to do.
function startLateScripts() {
  for (const late of document.querySelectorAll('script[type="text/late"]')) {
    const script = document.createElement("script");
    script.async = false;
    script.src = late.src;
    document.head.append(script);
  }
}

if (window.requestIdleCallback) requestIdleCallback(startLateScripts, { timeout: 400 });
else setTimeout(startLateScripts, 100);
