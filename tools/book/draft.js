// `make chapter` adds this script to each page, which reloads after a new build. Then
// site/static/place.js scrolls to the position where the writer was.
{
  const { build } = /** @type {HTMLScriptElement} */ (document.currentScript).dataset;

  const poll = setInterval(async () => {
    const newest = await fetch("/the-build").then(
      (response) => response.text(),
      () => build,
    );
    if (newest === build) return;
    clearInterval(poll);
    location.reload();
  }, 400);
}
