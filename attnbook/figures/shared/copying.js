// A button that copies code.
import { make, put } from "./elements.js";
import SHARED from "./messages.json" with { type: "json" };

/** Copy the text of an element; where the browser forbids it, select it. @param {HTMLElement} element */
async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.textContent ?? "");
    return SHARED.copied;
  } catch {
    getSelection()?.selectAllChildren(element);
    return SHARED.copy_by_hand;
  }
}

/** The button, and what became of it. @param {HTMLElement} shown the element whose text it copies */
export function copyButton(shown) {
  const button = make("button", { type: "button", class: "control", text: SHARED.copy });
  const status = make("small", { role: "status" });
  button.addEventListener("click", async () => put(status, { text: await copyText(shown) }));
  return { button, status };
}
