// What is folded: answers, and the sections below the line. A prediction that is answered opens its
// answer, a switch opens all answers or all sections, and a link opens what it leads into.

// The sections are written open; layout.html hides them before the first paint, unless the reader
// wants to see all of them.
{
  const SECTIONS = "deeper"; // next to "mode", where the theme stores what a reader prefers
  /** @type {NodeListOf<HTMLDetailsElement>} */
  const sections = document.querySelectorAll("details.attnbook-section");
  const page = document.documentElement;
  const allSections = document.querySelector(".attnbook-divider button");

  /** @param {boolean} areOpen */
  function showSections(areOpen) {
    for (const section of sections) section.open = areOpen;
    allSections?.setAttribute("aria-pressed", String(areOpen));
  }

  showSections(page.getAttribute("data-deeper") !== "closed"); // in full, as in site.css: see purge.mjs
  page.removeAttribute("data-deeper");
  allSections?.addEventListener("click", () => {
    const areOpen = allSections.getAttribute("aria-pressed") !== "true";
    showSections(areOpen);
    localStorage.setItem(SECTIONS, areOpen ? "open" : "closed");
  });
  for (const section of sections) {
    section.previousElementSibling?.addEventListener("click", ({ target }) => {
      if (!(target instanceof Element && target.closest("a"))) section.open = !section.open;
    });
  }
}

/** The folded answer that belongs to a prediction: it comes next. @param {EventTarget | null} target */
function answerTo(target) {
  const next = target instanceof Element && target.closest(".cell")?.nextElementSibling;
  return next instanceof HTMLDetailsElement && next.matches(".attnbook-answer") ? next : null;
}

/** The prediction before a hidden answer, if it is alive and still without an answer. @param {Element} answer */
function openQuestion(answer) {
  const figure = answer.previousElementSibling?.querySelector('[data-attnbook-figure="prediction"]');
  return figure instanceof HTMLElement && !figure.dataset.done ? figure : null;
}

// What was answered before is open before the figures are there, so that nothing moves later.
for (const view of document.querySelectorAll(`[data-attnbook-item^="prediction/"]`)) {
  const answer = answerTo(view);
  if (answer && window.attnbookProgress?.isDone(view.getAttribute("data-attnbook-item") ?? "")) answer.open = true;
}

addEventListener("attnbook-answered", ({ target }) => {
  const answer = answerTo(target);
  if (answer && target instanceof HTMLElement && target.dataset.done) answer.open = true;
});

addEventListener("click", (event) => {
  const answer = event.target instanceof Element ? event.target.closest("summary")?.parentElement : null;
  if (!(answer instanceof HTMLDetailsElement) || answer.open || !answer.matches(".attnbook-hidden-answer")) return;
  const question = openQuestion(answer);
  if (!question) return;
  event.preventDefault();
  /** @type {HTMLElement | null} */
  const first = question.querySelector("button:not([aria-disabled='true']), input");
  first?.focus();
});

/** Open the folds around what an anchor leads to, or the section that it names. @param {string} hash */
function openFor(hash) {
  const target = document.getElementById(decodeURIComponent(hash.slice(1)));
  /** @type {HTMLDetailsElement | null | undefined} */
  let fold = target?.querySelector(":scope > details.attnbook-section") ?? target?.closest("details");
  if (!fold) return null;
  for (; fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  return target;
}

openFor(location.hash);
addEventListener("hashchange", () => openFor(location.hash)?.scrollIntoView());
// Before the browser jumps there.
addEventListener("click", ({ target }) => {
  const link = target instanceof Element && target.closest("a[href^='#']");
  if (link instanceof HTMLAnchorElement) openFor(link.hash);
});

for (const button of document.querySelectorAll(".attnbook-all-answers")) {
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(open));
    for (const fold of document.querySelectorAll("details.sd-dropdown")) {
      /** @type {HTMLDetailsElement} */ (fold).open = open;
    }
  });
}
