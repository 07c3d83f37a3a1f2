// Steps: Back, Next and Play next to a slider.
import { button, slider } from "./controls.js";
import { make, put } from "./elements.js";
import SHARED from "./messages.json" with { type: "json" };

const PACE = 900; // ms for each step of Play

/** @param {string} name of the slider @param {(step: number) => void} onStep @param {number} max the last step */
export function stepper(name, onStep, max = 0) {
  let [step, last, timer] = [0, max, 0];
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    put(play, { text: SHARED.play });
  };
  const go = (/** @type {number} */ to) => {
    if (to >= 0 && to <= last && to !== step) onStep(to);
  };
  const control = slider(name, { min: 0, max, step: 1 }, (to) => {
    stop();
    onStep(to);
  });
  // Never disabled: a disabled button would lose the focus.
  const [back, next] = [SHARED.back, SHARED.next].map((text, i) =>
    button(text, () => {
      stop();
      go(step + (i ? 1 : -1));
    }),
  );
  const play = button(SHARED.play, () => {
    if (timer) {
      stop();
      return;
    }
    if (step === last) go(0);
    put(play, { text: SHARED.stop });
    timer = window.setInterval(() => {
      // Nobody watches a figure that has left the page; at the last step `paint` stops.
      if (!element.isConnected || still.matches) stop();
      else go(step + 1);
    }, PACE);
  });
  const element = make("div", { class: "stepper" }, back, next, play, control.label, control.input);
  /** @param {number} now @param {string} text what the slider says @param {number} [end] the last step */
  const paint = (now, text, end = last) => {
    [step, last] = [now, end];
    put(control.input, { max: end });
    control.set(now, text);
    put(back, { "aria-disabled": now <= 0 });
    put(next, { "aria-disabled": now >= end });
    play.hidden = still.matches || end < 2;
    if (now >= end) stop();
  };
  return { element, input: control.input, label: control.label, paint, stop };
}
