// `make chapter` serves each page with this: a new build shows itself where the writer is.
// The browser restores how far the page was scrolled; what was unfolded, this does.
{
  const { build } = /** @type {HTMLScriptElement} */ (document.currentScript).dataset;
  const key = `unfolded ${location.pathname}`;
  const folds = [...document.querySelectorAll("details")];
  const unfolded = JSON.parse(sessionStorage.getItem(key) ?? "[]");
  for (const [i, fold] of folds.entries()) fold.open ||= unfolded[i] ?? false;
  sessionStorage.removeItem(key);

  const poll = setInterval(async () => {
    const shown = await fetch("/the-build").then(
      (answer) => answer.text(),
      () => build,
    );
    if (shown === build) return;
    clearInterval(poll);
    sessionStorage.setItem(key, JSON.stringify(folds.map((fold) => fold.open)));
    location.reload();
  }, 400);
}
