// The page “Your progress”: copy it, save what this browser stores to a file, load it, delete it.
(() => {
  const store = /** @type {import("../../../attnbook/figures/shared/types").Progress} */ (window.attnbookProgress);
  const controls = document.querySelector(".attnbook-your-progress");
  if (!controls) return;
  const FORMAT = "attnbook progress";
  const ITEM = /^(prediction|task|code|before|read|last)\/[^/]+\/[^/]+$/;
  const book = document.title.split(" — ").at(-1) ?? "";

  /** Why a file is not loaded: a sentence for the reader. */
  class Refusal extends Error {}

  /** @param {string} text @param {() => void} onClick */
  function button(text, onClick) {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = text;
    element.addEventListener("click", onClick);
    return element;
  }

  /** @param {string} text */
  const showMessage = (text) => {
    status.textContent = text;
  };

  /** What the page shows of it, a line for each chapter. */
  function asText() {
    const blocks = [...document.querySelectorAll(".attnbook-started, .attnbook-path")].map((block) => [
      block.closest("section")?.querySelector("h2")?.firstChild,
      ...block.querySelectorAll(".attnbook-totals, li"),
    ]);
    const texts = blocks.map((lines) => lines.map((line) => line?.textContent?.trim()).join("\n"));
    return [document.title, ...texts].join("\n\n");
  }

  async function copy() {
    copied.value = asText();
    try {
      await navigator.clipboard.writeText(copied.value);
      showMessage(TEXT.progress_copied);
    } catch {
      copied.hidden = false;
      copied.select();
      showMessage(TEXT.copy_by_hand);
    }
  }

  function save() {
    const items = Object.fromEntries(store.items().map((item) => [item, store.read(item)]));
    const text = JSON.stringify({ format: FORMAT, version: store.version, book, site: store.site, items }, null, 1);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "attention-progress.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still ask where to save it
    showMessage(TEXT.progress_saved);
  }

  /** The items of a file. @param {string} text @returns {[item: string, text: string][]} */
  function itemsOf(text) {
    /** @type {any} */
    let file;
    try {
      file = JSON.parse(text);
    } catch {
      throw new Refusal(TEXT.file_is_no_progress);
    }
    if (file?.format !== FORMAT) throw new Refusal(TEXT.file_is_no_progress);
    if (file.version > store.version) {
      throw new Refusal(TEXT.file_is_newer);
    }
    if (file.book !== book) throw new Refusal(fill(TEXT.file_is_of_other_book, { book: file.book }));
    const items = Object.entries(file.items ?? {});
    if (file.version !== store.version || !items.every(([item, text]) => ITEM.test(item) && typeof text === "string")) {
      throw new Refusal(TEXT.file_is_damaged);
    }
    return items;
  }

  /**
   * Add what is in a file to what is stored; what is stored here is never overwritten, only completed.
   * @param {[item: string, text: string][]} items
   */
  function merge(items) {
    let [added, lost] = [0, 0];
    /** Tasks with other code here. @type {Set<string>} */
    const other = new Set();
    /** @param {string} item @param {string} text */
    const add = (item, text) => {
      if (store.write(item, text)) added += 1;
      else lost += 1;
    };
    // Code first: if other code is here, “Bring back” shows the file’s code, not its older version.
    const isCode = (/** @type {[string, string]} */ [item]) => Number(item.startsWith("code/"));
    for (const [item, text] of [...items].sort((a, b) => isCode(b) - isCode(a))) {
      const [kind, name] = item.split("/");
      const here = store.read(item);
      if (here === null || (!store.isDone(item) && store.isDone(item, text))) add(item, text);
      else if (kind === "code" && here !== text) {
        const before = `before/${name}/-`;
        if (store.read(before) === null) add(before, text);
        else if (store.read(before) !== text) other.add(name);
      } else if (kind === "before" && here !== text) other.add(name);
    }
    return [
      fill(TEXT.items_loaded, { count: added }),
      other.size ? fill(TEXT.other_code_stays, { count: other.size }) : "",
      lost ? TEXT.not_all_stored : "",
    ]
      .filter(Boolean)
      .join(" ");
  }

  async function load() {
    const [file] = input.files ?? [];
    if (!file) return;
    try {
      showMessage(merge(itemsOf(await file.text())));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      showMessage(fill(TEXT.nothing_changed, { reason: error.message }));
    }
    input.value = ""; // so that the same file can be chosen again
  }

  const status = document.createElement("p");
  status.setAttribute("role", "status");
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,application/json";
  input.addEventListener("change", load);
  const label = document.createElement("label");
  label.append(TEXT.load_from_file, input);

  const copied = document.createElement("textarea"); // where the browser lets no page copy
  copied.hidden = copied.readOnly = true;
  copied.rows = 6;
  copied.ariaLabel = TEXT.progress_as_text;

  const question = document.createElement("dialog");
  const text = document.createElement("p");
  text.id = "attnbook-delete";
  text.textContent = TEXT.delete_question;
  question.setAttribute("aria-labelledby", text.id);
  const yes = button(TEXT.delete_everything, () => {
    store.clear();
    question.close();
    showMessage(TEXT.everything_deleted);
  });
  const cancel = button(TEXT.cancel, () => question.close());
  cancel.autofocus = true;
  question.append(text, yes, cancel);

  controls.replaceChildren(
    button(TEXT.copy_as_text, copy),
    button(TEXT.save_to_file, save),
    label,
    button(TEXT.open_delete_question, () => question.showModal()),
    question,
    status,
    copied,
  );
})();
