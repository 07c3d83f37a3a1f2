// What is too wide scrolls, and the keyboard must reach it. The theme does this for all but formulas, and
// measures all of them after each change of a page; `finish.py` tells it not to. A part is measured when
// the browser has computed its size anyway: when it appears, is resized, or its content changes.
{
  const SCROLLING = "pre, .cell_output > .output, .pst-scrollable-table-container";
  const PARTS = `${SCROLLING}, .katex-display`;
  // Those of closed answers wait until these are opened.
  const UNFOLDED = `:is(${PARTS}):not(details:not([open]) *)`;

  /** @param {Iterable<HTMLElement>} all */
  function measure(all) {
    const parts = [...all];
    // All are measured before one is changed: else the browser would compute the layout again for each.
    const scroll = parts.map(
      (part) =>
        part.scrollWidth > part.clientWidth || (part.matches(SCROLLING) && part.scrollHeight > part.clientHeight),
    );
    parts.forEach((part, i) => {
      part.tabIndex = scroll[i] ? 0 : -1;
    });
  }

  const sizes = new ResizeObserver((entries) =>
    measure(entries.map(({ target }) => /** @type {HTMLElement} */ (target))),
  );

  /** Measure a part now and whenever its size changes. @param {Element} part */
  function observe(part) {
    sizes.unobserve(part); // to observe it again measures it again
    sizes.observe(part);
  }

  for (const part of document.querySelectorAll(PARTS)) observe(part);
  // An answer may be opened where nothing has a size yet.
  addEventListener(
    "toggle",
    ({ target }) => target instanceof Element && measure(target.querySelectorAll(UNFOLDED)),
    true,
  );
  const changes = new MutationObserver((records) => {
    /** What `closest` would find; a figure changes many texts at once. @type {Map<Node | null, Element | null>} */
    const around = new Map([[null, null]]);
    const find = (/** @type {Node | null} */ node) => {
      if (!around.has(node))
        around.set(node, node instanceof Element && node.matches(PARTS) ? node : find(node?.parentElement ?? null));
      return around.get(node) ?? null;
    };
    for (const part of new Set(records.map(({ target }) => find(target)))) if (part) observe(part);
    for (const node of records.flatMap(({ addedNodes }) => [...addedNodes])) {
      if (!(node instanceof Element)) continue;
      for (const part of node.querySelectorAll(PARTS)) observe(part);
      if (node.matches(PARTS)) observe(node);
    }
  });
  changes.observe(document.body, { subtree: true, childList: true });
}

// On paper: the light theme, with all sections and hidden answers open; other answers stay as they are. After
// printing, all is restored.
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
    const closed = document.querySelectorAll("main details:is(.attnbook-section, .attnbook-hidden-answer):not([open])");
    folded = [...closed];
    for (const answer of folded) answer.open = true;
  });

  addEventListener("afterprint", () => {
    page.theme = theme ?? "";
    for (const answer of folded) answer.open = false;
  });
}

// The sidebar shows what it showed before, else the entry of this page. The theme would do so only once
// the reader moves.
const SIDEBAR_TOP = "sidebar-scroll-top"; // the theme's key; it stores the position when the page is left
const sidebar = matchMedia("(min-width: 992px)").matches ? document.querySelector("div.bd-sidebar") : null;
if (sidebar) {
  const entry = [...document.querySelectorAll(".bd-docs-nav .active")].at(-1)?.getBoundingClientRect();
  const before = sessionStorage.getItem(SIDEBAR_TOP);
  if (before) sidebar.scrollTop = Number.parseInt(before, 10);
  else if (entry && entry.top > innerHeight / 2)
    sidebar.scrollTop = entry.top - sidebar.getBoundingClientRect().top - sidebar.clientHeight / 4;
}

// The scripts of menus, search and copy buttons start in their order at the first sign of a reader,
// who misses nothing before: they take the time of the figures. A click on a button before they have
// started is repeated then.
const SEARCHES = document.getElementById("search-results"); // the search page
const SIGNS = ["pointermove", "pointerdown", "click", "wheel", "scroll", "keydown"];
if (!SEARCHES) SIGNS.push("focusin"); // its field has the focus without a reader
/** @type {HTMLElement | null | undefined} */
let clickedEarly;
const LEAVING = 3000; // milliseconds

/** @param {MouseEvent} event */
function rememberClick({ target, defaultPrevented }) {
  if (target instanceof Element && !defaultPrevented) clickedEarly = target.closest("button.btn");
}

/** Ctrl+K does what the button does. @param {KeyboardEvent} event */
function rememberKey(event) {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey) || SEARCHES) return;
  event.preventDefault();
  clickedEarly = document.querySelector(".search-button-field, .search-button");
}

function repeatClick() {
  removeEventListener("click", rememberClick);
  removeEventListener("keydown", rememberKey);
  clickedEarly?.click();
}

/** Load scripts, which run in their order; tells whether all have arrived. @param {HTMLScriptElement[]} scripts */
async function load(scripts) {
  const arrivals = scripts.map(({ src }) => {
    const script = Object.assign(document.createElement("script"), { src, async: false });
    document.head.append(script);
    return new Promise((settle) => {
      script.addEventListener("load", () => settle(true));
      script.addEventListener("error", () => settle(false));
    });
  });
  return (await Promise.all(arrivals)).every(Boolean);
}

async function startLateScripts() {
  for (const sign of SIGNS) removeEventListener(sign, startLateScripts);
  dispatchEvent(new Event("attnbook-reader"));
  // The theme scrolls the sidebar to where it was; fonts may have moved it since the page was loaded.
  if (sidebar) sessionStorage.setItem(SIDEBAR_TOP, `${sidebar.scrollTop}`);
  /** @type {HTMLScriptElement[]} */
  const scripts = Array.from(document.querySelectorAll('script[type="text/late"]'));
  const isNeeded = (/** @type {HTMLScriptElement} */ { dataset }) => "needed" in dataset;
  // If one does not arrive, the page may be about to be left: those that need it wait, so that they log no error.
  if (!(await load(scripts.filter(isNeeded)))) await new Promise((settle) => setTimeout(settle, LEAVING));
  await load(scripts.filter((late) => !isNeeded(late)));
  repeatClick();
}

addEventListener("click", rememberClick);
addEventListener("keydown", rememberKey);
for (const sign of SIGNS) addEventListener(sign, startLateScripts, { passive: true });

// The search of a page starts when its field gets the focus; the search page has its script.
/** @param {FocusEvent} event */
function startSearch({ target }) {
  if (!(target instanceof Element && target.matches(".bd-search input"))) return;
  removeEventListener("focusin", startSearch);
  const src = `${document.documentElement.dataset.content_root}search/search.js`;
  load([Object.assign(document.createElement("script"), { src })]);
}

if (!SEARCHES) addEventListener("focusin", startSearch);

// “Take the book along” is at the foot of a page where the browser can store pages. Its script comes once it is opened.
{
  /** @type {HTMLDetailsElement | null} */
  const fold = document.querySelector(".attnbook-along");
  const src = `${document.documentElement.dataset.content_root}_static/take_along.js`;
  const start = async () => {
    fold?.removeEventListener("toggle", start);
    const hasArrived = await load([Object.assign(document.createElement("script"), { src })]);
    if (!hasArrived) fold?.addEventListener("toggle", start);
  };
  if (fold && "serviceWorker" in navigator && location.protocol.startsWith("http")) {
    fold.hidden = false;
    fold.addEventListener("toggle", start);
  }
}
