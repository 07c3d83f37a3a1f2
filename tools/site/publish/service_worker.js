// Keeps the book in this browser, once its reader has asked for that (static/take_along.js). Each build has
// a store of its own: it is complete before the browser starts a new build's worker, which removes the others.
{
  const SCOPE = registration.scope;
  const PREFIX = `attnbook ${SCOPE} `;
  const STORE = PREFIX + BOOK.build;
  const COMPLETE = new URL("complete", SCOPE).href; // names no file: it is stored last
  const AT_ONCE = 6; // requests
  const files = BOOK.files.map(([name, hash, bytes]) => ({ address: new URL(name, SCOPE).href, hash, bytes }));
  const addresses = new Set(files.map(({ address }) => address));
  const channel = new BroadcastChannel(PREFIX);
  /** What is still to be stored. @type {typeof files} */
  let queue = [];
  let isStoring = false;
  let isSilent = false; // while an older build is shown, and once the reader removes the book
  /** The new build's worker that was asked to start. @type {ServiceWorker | null} */
  let asked = null;

  /** Tell the open pages how many bytes are left to store, or null: nothing is stored. @param {{left: number | null, failed?: string}} state */
  const tell = (state) => isSilent || channel.postMessage({ isStoring, ...state });
  const bytesOf = (/** @type {typeof files} */ some) => some.reduce((sum, { bytes }) => sum + bytes, 0);

  /** The files that are not stored. @param {Cache} store */
  async function missing(store) {
    const stored = new Set((await store.keys()).map(({ url }) => url));
    return files.filter(({ address }) => !stored.has(address));
  }

  /** Store a file of this very build, from an older build's store or from the site. @param {Cache} store @param {typeof files[0]} file */
  async function keep(store, { address, hash }) {
    for (const find of [() => caches.match(address), () => fetch(address, { cache: "no-cache" })]) {
      const response = await find();
      const content = (await response?.arrayBuffer()) ?? new ArrayBuffer(0);
      const digest = [...new Uint8Array(await crypto.subtle.digest("SHA-256", content))];
      const found = digest.map((byte) => byte.toString(16).padStart(2, "0")).join("");
      // A new response, because a browser shows no page from one that was redirected.
      if (found.startsWith(hash)) return store.put(address, new Response(content, { headers: response?.headers }));
    }
    throw new TypeError(address); // the site has another build by now; as if the network were lost
  }

  /** Store so many files, less those that are there. @param {number} count */
  async function storeFirst(count) {
    if (isStoring) return;
    isStoring = true;
    /** @type {number | null} */
    let left = null;
    try {
      const store = await caches.open(STORE);
      const lacking = await missing(store);
      left = bytesOf(lacking);
      queue = lacking.filter((file) => files.indexOf(file) < count);
      const storeNext = async () => {
        for (let file = queue.shift(); file; file = queue.shift()) {
          await keep(store, file).catch((error) => {
            queue = [];
            throw error;
          });
          left = Number(left) - file.bytes;
          tell({ left });
        }
      };
      const runs = await Promise.allSettled(Array.from({ length: AT_ONCE }, storeNext));
      const broken = runs.find((run) => run.status === "rejected");
      if (broken) throw broken.reason;
      if (left === 0) await store.put(COMPLETE, new Response());
      isStoring = false;
      tell({ left });
    } catch (error) {
      isStoring = false;
      const failed = error instanceof TypeError ? "lost" : "refused";
      const isGone = failed === "refused" && !registration.active && (await caches.delete(STORE).catch(() => true));
      tell({ left: isGone ? null : left, failed });
      throw error;
    }
  }

  /** @param {Request} request @param {string} address */
  async function answer(request, address) {
    const { waiting } = registration;
    // A new build starts between two pages of the only tab, which asks again for the second one.
    if (request.mode === "navigate" && waiting && waiting !== asked && (await clients.matchAll()).length < 2) {
      asked = waiting;
      waiting.postMessage("start");
      return new Response("", { headers: { "Content-Type": "text/html", Refresh: "0" } });
    }
    const find = (/** @type {string} */ each) => caches.match(each, { cacheName: STORE });
    const [stored, isComplete] = await Promise.all([address, COMPLETE].map(find));
    if (stored && isComplete) return stored;
    // An incomplete book is for readers without a network: the site may have another build by now.
    return fetch(request).catch(() => stored ?? Response.error());
  }

  addEventListener("install", (/** @type {any} */ event) => {
    isSilent = Boolean(registration.active);
    event.waitUntil(storeFirst(isSilent ? files.length : BOOK.first));
  });
  addEventListener("activate", (/** @type {any} */ event) => {
    const remove = (/** @type {string} */ name) => name.startsWith(PREFIX) && name !== STORE && caches.delete(name);
    event.waitUntil(caches.keys().then((names) => Promise.all(names.map(remove))));
  });
  addEventListener("message", (/** @type {any} */ event) => {
    const { data } = event;
    if (data === "start") skipWaiting();
    isSilent = data === "stop";
    if (isSilent) queue = [];
    if (data === "all") event.waitUntil(storeFirst(files.length).catch(() => {}));
    if (data === "report")
      event.waitUntil(
        caches
          .open(STORE)
          .then(missing)
          .then((some) => tell({ left: bytesOf(some) })),
      );
  });
  addEventListener("fetch", (/** @type {any} */ event) => {
    const { method, url } = event.request;
    const { origin, pathname } = new URL(url);
    const address = origin + pathname.replace(/\/$/, "/index.html");
    if (method === "GET" && addresses.has(address)) event.respondWith(answer(event.request, address));
  });
}
