// Mounts the live figures of a page from the state that the run saved: no kernel, no server.
// A classic script, and modules opened from Blob URLs, because `file://` allows nothing else.
(() => {
  "use strict";

  /** @typedef {(model: object, value: any) => void} Listener */

  /** Whether two values of a trait are equal; all of them are JSON. @param {any} a @param {any} b */
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  /** The model that anywidget promises to a module, without a kernel. */
  class Model {
    /** @type {[string, Listener][]} */
    #listeners = [];
    #state;

    /** @param {Record<string, any>} state */
    constructor(state) {
      this.#state = state;
    }
    /** @param {string} name */
    get(name) {
      return this.#state[name];
    }
    /** @param {string} name @param {any} value */
    set(name, value) {
      const changed = !same(this.#state[name], value);
      this.#state[name] = value;
      if (changed) for (const event of [`change:${name}`, "change"]) this.#notify(event, value);
    }
    /** @param {string} event @param {Listener} listener */
    on(event, listener) {
      this.#listeners = [...this.#listeners, [event, listener]];
    }
    /** An argument that is left out matches all. @param {string?} event @param {Listener?} listener */
    off(event = null, listener = null) {
      this.#listeners = this.#listeners.filter(
        ([name, known]) => (event ?? name) !== name || (listener ?? known) !== known,
      );
    }
    save_changes() {}
    send() {}
    /** @param {string} event @param {any} value */
    #notify(event, value) {
      for (const [name, listener] of this.#listeners) if (name === event) listener(this, value);
    }
  }

  /** The message for a reader whose figure could not start. @param {any} error */
  function explain(error) {
    const reason = String(error?.message ?? error)
      .trim()
      .replace(/\.$/, "");
    return fill(TEXT.figure_did_not_start, { reason });
  }

  /** Call `make` once for each name. @template T @param {(name: string) => T} make */
  function once(make) {
    /** @type {Map<string, T>} */
    const things = new Map();
    return (/** @type {string} */ name) => {
      const thing = things.get(name) ?? make(name);
      things.set(name, thing);
      return thing;
    };
  }

  /** The states of the figures in a script of the page. */
  const readStates = once((selector) => {
    try {
      return JSON.parse(document.querySelector(selector)?.textContent ?? "");
    } catch {
      throw new Error("its saved state cannot be read");
    }
  });

  const load = once((name) => {
    const found = window.attnbookModules?.[name];
    if (!found) throw new Error("its program is missing");
    const url = URL.createObjectURL(new Blob([found.esm], { type: "text/javascript" }));
    return import(url).finally(() => URL.revokeObjectURL(url));
  });

  /** A figure's model and what draws it; two views of one figure share them. */
  const start = once(async (id) => {
    const state = readStates("script.attnbook-state")[id];
    if (!state) throw new Error("its saved state is missing");
    const { default: exported } = await load(state.module);
    const widget = typeof exported === "function" ? await exported() : exported;
    if (!widget?.render) throw new Error("its program draws nothing");
    const model = new Model(state);
    await widget.initialize?.({ model });
    return { model, widget };
  });

  const isPrinted = new Promise((done) => addEventListener("beforeprint", done, { once: true }));
  /** @type {Promise<unknown>} */
  let line = Promise.resolve();

  /** Wait for a task of its own: between two figures, the browser can answer the reader. A printer does not wait. */
  function waitForTurn() {
    line = line.then(() => Promise.race([isPrinted, new Promise((done) => setTimeout(done))]));
    return line;
  }

  /** Replace the numbers of a figure by the live figure, or explain why it could not start. @param {HTMLElement} view */
  async function mount(view) {
    const still = [...view.childNodes];
    const el = document.createElement("div");
    try {
      const { model, widget } = await start(view.dataset.attnbookView ?? "");
      await waitForTurn();
      view.append(el); // before it is drawn, so that it can be measured
      const cleanUp = await widget.render({ model, el });
      still.forEach((node) => node.remove());
      // A page that may be shown again from the cache still has its figures.
      addEventListener("pagehide", (event) => event.persisted || cleanUp?.());
    } catch (error) {
      el.remove();
      const line = Object.assign(document.createElement("p"), { textContent: explain(error) });
      line.setAttribute("role", "status");
      view.append(line);
    }
  }

  // One style for all modules: for each one that is added, the browser sorts all rules again.
  const css = Object.values(window.attnbookModules ?? {}).map((module) => module.css);
  document.head.append(Object.assign(document.createElement("style"), { textContent: css.join("\n") }));
  /** @type {NodeListOf<HTMLElement>} */
  const views = document.querySelectorAll("[data-attnbook-view]");
  /** Whether all sections are hidden: folds.js will close them. */
  const areHidden = () => document.documentElement.dataset.deeper === "closed";

  /** @param {HTMLElement} view */
  const isFolded = (view) =>
    view.closest("details:not([open])") ?? (areHidden() && view.closest("details.attnbook-section"));

  // Folded figures start when they are unfolded, or one by one when a reader is there and the browser is idle.
  const folded = new Set([...views].filter(isFolded));
  for (const view of views) if (!folded.has(view)) mount(view);

  /** @param {HTMLElement} view */
  async function mountFolded(view) {
    if (folded.delete(view)) await mount(view);
  }

  // Not those of an answer that is still closed in a section that was opened.
  addEventListener("toggle", () => [...folded].filter((view) => !isFolded(view)).forEach(mountFolded), true);
  addEventListener("beforeprint", () => [...folded].forEach(mountFolded));
  addEventListener("attnbook-reader", async () => {
    // On a busy machine no idle time may come: then they start all the same.
    const idle = () => new Promise((done) => (window.requestIdleCallback ?? setTimeout)(done, { timeout: 1000 }));
    for (const view of folded) await idle().then(() => mountFolded(view));
  });
})();
