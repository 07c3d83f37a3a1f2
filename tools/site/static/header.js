// The header: its menu closes, and a figure fills the screen, for the last row of a lecture hall.
{
  /** @type {HTMLDetailsElement | null} */
  const menu = document.querySelector(".attnbook-menu");

  addEventListener("click", ({ target }) => {
    if (menu?.open && target instanceof Element && (!menu.contains(target) || target.closest(".attnbook-full-screen")))
      menu.open = false;
  });
  menu?.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary")?.focus();
  });

  const MARGIN = 24; // pixels around a figure in full screen

  /** How much of an element's height is in sight; negative for none. @param {Element} element */
  function heightInSight(element) {
    const { top, bottom, height } = element.getBoundingClientRect();
    return height ? Math.min(bottom, innerHeight) - Math.max(top, 0) : Number.NEGATIVE_INFINITY;
  }

  /** Show the figure in view in full screen, as large as it fits. */
  async function showFullScreen() {
    /** @type {NodeListOf<HTMLElement>} */
    const views = document.querySelectorAll(".attnbook-view");
    const [view] = [...views].sort((a, b) => heightInSight(b) - heightInSight(a));
    const figure = view?.firstElementChild;
    if (!figure) return;
    const { width, height } = figure.getBoundingClientRect();
    await view.requestFullscreen();
    const room = Math.min((innerWidth - 2 * MARGIN) / width, (innerHeight - 2 * MARGIN) / height);
    view.style.setProperty("--zoom", `${Math.max(1, room)}`);
    view.style.setProperty("--width", `${width}px`);
  }

  document.querySelector(".attnbook-full-screen")?.addEventListener("click", showFullScreen);
  addEventListener("keydown", ({ key, target, ctrlKey, metaKey, altKey }) => {
    const isField =
      target instanceof Element && target.closest("input:not([type=range]), textarea, select, [contenteditable]");
    if (key.toLowerCase() !== "f" || isField || ctrlKey || metaKey || altKey) return;
    if (document.fullscreenElement) document.exitFullscreen();
    else showFullScreen();
  });
}
