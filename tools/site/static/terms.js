// Shows what a term means next to it: on hover, on focus, and on a first tap; a second tap opens the
// glossary. In a browser without popovers a term is only a link.
(() => {
  "use strict";

  if (!("popover" in HTMLElement.prototype)) return;

  const TERM = "a[data-meaning]";
  const ARRIVING = 120; // ms: a pointer that only passes opens nothing
  const LEAVING = 300; // ms: a pointer may go from the term to its meaning
  const EDGE = 8; // px, to the window's sides
  const GAP = 4; // px, to the term; site.css bridges it for the pointer

  const bubble = document.createElement("span");
  bubble.className = "term-meaning";
  bubble.popover = "manual";
  const meaning = document.createElement("span");
  meaning.id = "term-meaning";
  meaning.role = "tooltip";
  const more = document.createElement("a");
  more.textContent = TEXT.in_the_glossary;

  /** @type {HTMLAnchorElement | null} */
  let shown = null;
  let tapped = false; // whether a tap has shown it
  let byFinger = false; // the last press
  let timer = 0;

  /** @param {number} ms @param {() => void} act */
  function later(ms, act) {
    clearTimeout(timer);
    timer = window.setTimeout(act, ms);
  }

  /** The term that an event is about. @param {Event} event */
  function termOf({ target }) {
    /** @type {HTMLAnchorElement | null} */
    const term = target instanceof Element ? target.closest(TERM) : null;
    return term;
  }

  /** @param {EventTarget | null} target */
  function isPart(target) {
    return target instanceof Node && (bubble.contains(target) || !!shown?.contains(target));
  }

  function hide() {
    clearTimeout(timer);
    if (!shown) return; // also when the focus leaves a bubble that is being removed
    shown.removeAttribute("aria-describedby");
    shown = null;
    tapped = false;
    bubble.remove();
  }

  // The bubble is right after its term in the document, so that reading and Tab come to it next.
  /** @param {HTMLAnchorElement} term @param {{ tap?: boolean, y?: number }} how */
  function show(term, { tap = false, y } = {}) {
    hide();
    shown = term;
    tapped = tap;
    meaning.textContent = term.dataset.meaning ?? "";
    more.href = term.href;
    bubble.replaceChildren(meaning, ...(tap ? [more] : []));
    term.after(bubble);
    term.setAttribute("aria-describedby", meaning.id);
    bubble.showPopover();
    position(term, y);
  }

  /** Above the line of the term that is pointed at, or below it. @param {Element} term @param {number} [y] */
  function position(term, y = Number.NaN) {
    const lines = [...term.getClientRects()];
    const line = lines.find(({ top, bottom }) => top <= y && y <= bottom) ?? lines[0];
    bubble.style.left = bubble.style.top = "0";
    const { left, top, width, height } = bubble.getBoundingClientRect();
    const rightmost = document.documentElement.clientWidth - EDGE - width;
    const above = line.top - GAP - height;
    bubble.style.left = `${Math.max(EDGE, Math.min(line.left, rightmost)) - left}px`;
    bubble.style.top = `${(above >= 0 ? above : line.bottom + GAP) - top}px`;
  }

  /** Once the pointer is gone, show the meaning of the term that has the focus, if one has. */
  function showFocused() {
    /** @type {HTMLAnchorElement | null} */
    const focused = document.querySelector(`${TERM}:focus-visible`);
    if (shown && focused) show(focused);
    else hide();
  }

  addEventListener("pointerover", (event) => {
    if (event.pointerType === "touch") return;
    const term = termOf(event);
    if (isPart(event.target)) clearTimeout(timer);
    else if (term) later(ARRIVING, () => show(term, { y: event.clientY }));
  });

  addEventListener("pointerout", (event) => {
    if (event.pointerType === "touch" || !(termOf(event) || isPart(event.target))) return;
    if (shown) later(LEAVING, showFocused);
    else clearTimeout(timer);
  });

  addEventListener("focusin", (event) => {
    const term = termOf(event);
    if (term?.matches(":focus-visible")) show(term);
  });

  addEventListener("focusout", ({ target, relatedTarget }) => {
    if (isPart(target) && !isPart(relatedTarget)) hide();
  });

  addEventListener("pointerdown", ({ pointerType, target }) => {
    byFinger = pointerType !== "mouse";
    if (!isPart(target)) hide();
  });

  addEventListener("click", (event) => {
    const term = termOf(event);
    // A click without a press is the keyboard's, or a screen reader's.
    if (term && byFinger && event.detail > 0 && !(tapped && term === shown)) {
      event.preventDefault();
      show(term, { tap: true, y: event.clientY });
    } else if (isPart(event.target) && (term || event.target === more)) later(0, hide);
  });

  addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    if (bubble.contains(document.activeElement)) shown?.focus();
    hide();
  });

  addEventListener("resize", () => {
    if (shown) position(shown);
  });
})();
