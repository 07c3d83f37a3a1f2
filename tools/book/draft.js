// `make chapter` serves each page with this: a new build shows itself. site/static/place.js then
// shows the place where the writer was.
{
  const { build } = /** @type {HTMLScriptElement} */ (document.currentScript).dataset;

  const poll = setInterval(async () => {
    const shown = await fetch("/the-build").then(
      (answer) => answer.text(),
      () => build,
    );
    if (shown === build) return;
    clearInterval(poll);
    location.reload();
  }, 400);
}
