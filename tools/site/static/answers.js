// Folded answers: a prediction that is answered opens its own, one switch opens all, and so does
// a link that leads into one.

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

function openForLink() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let fold = target?.closest("details"); fold; fold = fold.parentElement?.closest("details")) fold.open = true;
  if (target?.closest("details")) target.scrollIntoView();
}

addEventListener("hashchange", openForLink);
addEventListener("load", openForLink);

for (const button of document.querySelectorAll(".attnbook-all-answers button")) {
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(open));
    for (const fold of document.querySelectorAll("details.sd-dropdown")) {
      /** @type {HTMLDetailsElement} */ (fold).open = open;
    }
  });
}
