// “Take the book along”, at the foot of a page: keep it in this browser, or remove it. Nothing is fetched before
// the reader asks; then a service worker (publish/service_worker.js) stores the book, and tells all open pages.
(() => {
  const fold = document.querySelector(".attnbook-along");
  const { serviceWorker } = navigator;
  const root = new URL(document.documentElement.dataset.content_root ?? "./", location.href).href;
  const PREFIX = `attnbook ${root} `; // of the stores, as in the worker
  const channel = new BroadcastChannel(PREFIX);
  const status = document.createElement("p");
  const progress = document.createElement("progress");
  const [keepButton, removeButton] = [keep, remove].map((act) => {
    const button = document.createElement("button");
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  });
  let isWanted = false;
  let isRemoved = false; // then the worker may still answer an earlier question
  status.setAttribute("role", "status");
  progress.setAttribute("aria-label", TEXT.keep_progress);
  progress.max = BYTES;
  removeButton.textContent = TEXT.keep_remove;

  /** @param {number} bytes */
  const megabytes = (bytes) => (bytes / 1e6).toFixed(1);

  /** The sentence for a state. @param {number | null} left @param {boolean} isStoring @param {string} [failed] */
  function describe(left, isStoring, failed) {
    const size = megabytes(BYTES);
    if (failed) return failed === "lost" ? TEXT.keep_lost : TEXT.keep_refused;
    if (left === null) return fill(TEXT.keep_offer, { size });
    if (left === 0) return TEXT.book_is_stored;
    return isStoring
      ? fill(TEXT.storing, { size })
      : fill(TEXT.stored_in_part, { size, done: megabytes(BYTES - left) });
  }

  /** @param {{left?: number | null, isStoring?: boolean, failed?: string}} state `left`: bytes, or null if nothing is stored */
  function show({ left = null, isStoring = false, failed }) {
    const text = describe(left, isStoring, failed);
    if (status.textContent !== text) status.textContent = text;
    progress.hidden = !isStoring;
    progress.value = BYTES - (left ?? BYTES);
    keepButton.textContent = left === null ? TEXT.keep_offline : TEXT.keep_continue;
    keepButton.hidden = isStoring || left === 0;
    removeButton.hidden = left === null;
  }

  async function keep() {
    [isWanted, isRemoved] = [true, false];
    show({ left: BYTES, isStoring: true });
    try {
      await serviceWorker.register(`${root}service_worker.js`);
      const { active } = await serviceWorker.ready; // the short path is stored by now
      if (isWanted) active?.postMessage("all");
    } catch (error) {
      show({ failed: error instanceof TypeError ? "lost" : "refused" });
    }
  }

  /** The workers of this book, not of a site around it: those that store, wait or answer. */
  async function workers() {
    const registration = await serviceWorker.getRegistration(root);
    const { installing, waiting, active, scope } = registration ?? {};
    return { registration, all: scope === root ? [installing, waiting, active] : [] };
  }
  const stores = async () => (await caches.keys()).filter((name) => name.startsWith(PREFIX));

  async function remove() {
    [isWanted, isRemoved] = [false, true];
    const { registration, all } = await workers();
    for (const worker of all) worker?.postMessage("stop");
    if (all.length) await registration?.unregister();
    for (const name of await stores()) await caches.delete(name);
    channel.postMessage({});
    show({});
  }

  /** What is stored since an earlier visit; the worker that answers tells how much. */
  async function showStored() {
    const active = (await workers()).all.at(-1);
    if (active) active.postMessage("report");
    else if ((await stores()).length) show({ left: BYTES, failed: "lost" });
  }

  channel.addEventListener("message", ({ data }) => isRemoved || show(data));
  fold?.append(status, progress, keepButton, removeButton);
  show({});
  showStored().catch(() => {}); // where the browser refuses to store, nothing is stored
})();
