// The keyboard's way through a page: the focus, the stops of Tab, and the key "/".
(() => {
  "use strict";

  // The theme takes the focus from these buttons when they are pressed.
  /** @type {NodeListOf<HTMLButtonElement>} */
  const toolbar = document.querySelectorAll(".bd-header-article button");
  for (const button of toolbar) button.blur = () => {};

  /** @param {EventTarget} target @returns {target is HTMLButtonElement} */
  const isCopyButton = (target) => target instanceof HTMLButtonElement && target.matches(".copybtn");

  // To copy, clipboard.js moves the focus to a field, which it then removes.
  addEventListener("click", (event) => {
    event.composedPath().find(isCopyButton)?.focus({ preventScroll: true });
  });

  // The copy buttons of a section are one stop of the Tab key; the arrow keys move between them.
  /** @type {Record<string, number>} */
  const BY_KEY = { ArrowUp: -1, ArrowDown: 1 };

  /** @param {HTMLButtonElement[]} buttons of one section */
  function shareOneStop(buttons) {
    buttons.forEach((button, i) => {
      button.tabIndex = i ? -1 : 0;
      if (buttons.length > 1) button.setAttribute("aria-description", TEXT.other_code_of_section);
      button.addEventListener("focus", () => {
        for (const other of buttons) other.tabIndex = other === button ? 0 : -1;
      });
      button.addEventListener("keydown", (event) => {
        const next = buttons[i + (BY_KEY[event.key] ?? Number.NaN)];
        if (!next) return;
        event.preventDefault();
        next.focus();
      });
    });
  }

  // Apart in an answer that folds, which hides all of its own or none.
  /** @type {Map<Element | null, HTMLButtonElement[]>} */
  const bySection = new Map();
  /** @type {NodeListOf<HTMLButtonElement>} */
  const copyButtons = document.querySelectorAll(".copybtn");
  for (const button of copyButtons) {
    const section = button.closest("details, section");
    bySection.set(section, [...(bySection.get(section) ?? []), button]);
  }
  for (const buttons of bySection.values()) shareOneStop(buttons);

  // Sphinx's key "/" focuses the first search field, which is in a closed dialog on most pages.
  Documentation.focusSearchBar = () => {
    /** @type {NodeListOf<HTMLInputElement>} */
    const fields = document.querySelectorAll("input[name=q]");
    const visible = [...fields].find((field) => field.checkVisibility());
    visible?.focus();
    visible?.select();
    /** @type {HTMLElement | null} */
    const button = document.querySelector(".search-button__button");
    if (!visible) button?.click();
  };
})();
