// What the search finds: places within pages. A place is a section, a glossary term or an object of
// the API. The index is in parts (index.mjs), which are loaded when a query needs them.
(() => {
  "use strict";

  const { headingOf, lastName, partOf, partsOf, stem, stemsIn, wordsIn } = attnbookWords;
  // Words of questions that are in Sphinx's list of stop words or should be.
  const QUESTION = new Set(
    `${stopwords.join(" ")} about accept an another any can do does each every from get give give has have how i me my need off one other our
    should so some than turn what when where which who whose why without work works would you your`.split(/\s+/),
  );
  // A word within a heading counts more than in the text, and one of the page's title a little.
  const IN_HEADING = 3;
  const IN_PAGE_TITLE = 0.7;
  const HITS = 50;
  const LEAST = 0.1; // of the best hit's score, named objects apart
  // How much each kind of place counts if a name is searched, a question, or neither.
  const WEIGHTS = {
    name: { object: 2.5, recipe: 2.5, term: 0.8, section: 1, page: 1 },
    question: { object: 0.8, recipe: 1.4, term: 1, section: 1.1, page: 1 },
    words: { object: 0.9, recipe: 1.3, term: 1.3, section: 1, page: 1 },
  };
  const NAMED = 3; // an object whose name is typed
  const ASIDE_WEIGHT = 0.6; // of pages that are not about attention, that only list names, or about the book's own machinery
  // Of a figure's methods, which are named like what they show.
  const FIGURE_METHOD_WEIGHT = 0.3;
  const FIGURE_METHOD = /^attnbook\.figures\.\w+\.\w/;
  const ASIDE =
    /^chapters\/(bibliography|teaching|your-progress|python-on-the-page|api|api-figures|api-training|api-translator|api-transformer|api-fast-paths)\.html$/;

  const LIKELY = 4; // words that may be meant while one is typed

  /** What has arrived, by name. @type {Map<string, any>} */
  const parts = new Map();

  /** What has been asked for: a reader types faster than parts arrive. @type {Map<string, Promise<void>>} */
  const asked = new Map();

  /** Load parts of the index, each once: scripts, as a browser fetches nothing from a folder. @param {string[]} names */
  function load(names) {
    for (const name of names) if (!asked.has(name)) asked.set(name, loadOne(name));
    return Promise.all(names.map((name) => asked.get(name)));
  }

  /** @param {string} name */
  async function loadOne(name) {
    const src = `${document.documentElement.dataset.content_root ?? ""}search/${name}.js`;
    const script = Object.assign(document.createElement("script"), { src });
    document.head.append(script);
    await new Promise((settle, fail) => {
      script.addEventListener("load", settle);
      script.addEventListener("error", () => {
        asked.delete(name); // the next search tries again
        fail(new Error(`${src} did not arrive`));
      });
    });
    parts.set(name, attnbookParts[name]);
  }

  /** All places, without their texts; set by the first search. @type {ReturnType<typeof makeIndex>} */
  let index;

  function makeIndex() {
    const { pages, places: rows, synonyms, names } = parts.get("places");
    /** @type {Place[]} */
    const places = rows.map(
      (/** @type {any[]} */ [page, anchor, title, kind, size, texts, labels], /** @type {number} */ at) => {
        const place = {
          at,
          page: pages[page][0],
          anchor,
          title,
          pageTitle: pages[page][1],
          kind,
          size,
          texts,
          labels,
          score: 0,
        };
        return { ...place, heading: headingOf(place), above: new Set(stemsIn(place.pageTitle)) };
      },
    );
    return {
      places,
      synonyms: Object.entries(/** @type {Record<string, string[]>} */ (synonyms)).sort(
        (a, b) => b[0].length - a[0].length,
      ),
      names: /** @type {string[]} */ (names),
      average: places.reduce((sum, { size }) => sum + size, 0) / places.length,
      objects: new Set(places.flatMap(({ kind, title }) => (kind === "object" ? [lastName(title).toLowerCase()] : []))),
      known: new Set(Object.keys(synonyms).flatMap(stemsIn)),
    };
  }

  /** Load the parts with these words; the book may have no word with such a letter. @param {string[]} words */
  const loadWords = (words) => load(words.map(partOf).filter((name) => index.names.includes(name)));

  /** Where a stem is, and how often there. @param {string} word @returns {Map<number, number>} */
  function placesOf(word) {
    const stems = parts.get(partOf(word))?.stems ?? {};
    const list = Object.hasOwn(stems, word) ? stems[word] : [];
    const found = new Map();
    for (let i = 0, at = 0; i < list.length; i += 2) {
      at += list[i];
      found.set(at, list[i + 1]);
    }
    return found;
  }

  /** The loaded words that the book has more than once, as they are written, and how often it has them. */
  const wordsOf = (/** @type {string[]} */ names) =>
    names.flatMap((name) => Object.entries(/** @type {Record<string, number>} */ (parts.get(name)?.words ?? {})));

  /** How many letters differ between two words; two that changed places are one. @param {string} from @param {string} to */
  function distance(from, to) {
    /** @type {number[]} */
    let before = [];
    let row = [...to, ""].map((_, i) => i);
    for (let i = 0; i < from.length; i++) {
      const next = [i + 1];
      for (let j = 0; j < to.length; j++) {
        let least = Math.min(row[j] + Number(from[i] !== to[j]), row[j + 1] + 1, next[j] + 1);
        if (i && j && from[i] === to[j - 1] && from[i - 1] === to[j]) least = Math.min(least, before[j - 1] + 1);
        next.push(least);
      }
      [before, row] = [row, next];
    }
    return row[to.length];
  }

  /** The word most like this one; of several, the most frequent. @param {string} word @param {number} most - letters that may differ */
  function mostSimilar(word, most) {
    return wordsOf([...parts.keys()])
      .filter(([other]) => other.length > 2 && Math.abs(other.length - word.length) <= most)
      .map(([other, times]) => ({ other, times, far: distance(word, other.toLowerCase()) }))
      .filter(({ far }) => far <= most)
      .sort((a, b) => a.far - b.far || b.times - a.times)[0]?.other;
  }

  /** The words that begin as this one does, the most frequent first. @param {string} start */
  const begunBy = (start) =>
    wordsOf([partOf(start)])
      .filter(([word]) => word.toLowerCase().startsWith(start))
      .sort((a, b) => b[1] - a[1])
      .slice(0, LIKELY)
      .map(([word]) => word);

  /** Whether the book or a synonym has this word, in some form; short ones and those with digits are not judged.
   * @param {string} word */
  const isKnown = (word) =>
    placesOf(stem(word)).size > 0 || index.known.has(stem(word)) || QUESTION.has(word) || /\d|^.{0,3}$/.test(word);

  /** The query with unknown words, other than commands of TeX, replaced by similar ones.
   * @param {string} query @param {number} most */
  const corrected = (query, most) =>
    query.replace(/(?<![\\\p{L}\p{N}_])[\p{L}\p{N}_]+/gu, (typed) => {
      const word = typed.toLowerCase();
      return isKnown(word) ? typed : (mostSimilar(word, most) ?? typed);
    });

  /** One way to write something. @param {string} text @returns {Way} */
  function way(text, weight = 1) {
    const words = wordsIn(text).map((word) => word.toLowerCase());
    return { stems: [...new Set(words.map(stem))], words, weight };
  }

  /** What is searched: for each thing typed, the ways to write it. @param {string} query @returns {Way[][]} */
  function thingsIn(query) {
    /** @type {Way[][]} */
    const things = [];
    let rest = query;
    for (const [typed, phrases] of index.synonyms) {
      const escaped = typed.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
      const whole = new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}s?(?![\\p{L}\\p{N}_])`, "iu");
      if (!whole.test(rest)) continue;
      rest = rest.replace(whole, " ");
      things.push([way(typed), ...phrases.map((phrase) => way(phrase))]);
    }
    for (const word of new Set(wordsIn(rest))) {
      const parts = partsOf(word);
      if (word.length < 2 || QUESTION.has(word.toLowerCase())) continue;
      things.push(parts.length ? [way(word), way(parts.join(" "), 0.6)] : [way(word)]);
    }
    return things;
  }

  /** Whether a word can only be a name of code; "RoPE" is none. @param {string} word */
  const isName = (word) => /\w[_.]\w|\p{Ll}{2}\p{Lu}/u.test(word);

  /** What kind of query it is. @param {string} query @returns {keyof typeof WEIGHTS} */
  function kindOf(query) {
    const words = query.trim().split(/\s+/);
    if (words.length === 1 && (isName(words[0]) || index.objects.has(words[0].toLowerCase()))) return "name";
    return query.includes("?") || words.length > 3 ? "question" : "words";
  }

  /** Whether a query is so short, such as "√d", that it is searched as it is typed. @param {string} query */
  const isShort = (query) =>
    wordsIn(query).every((word) => word.length < 3) && thingsIn(query).every((ways) => ways.length === 1);

  /** The places that fit a query, the best first. @param {string} query @param {Way[][]} things @returns {Place[]} */
  function rank(query, things) {
    const { places, average } = index;
    const lists = new Map(things.flat().flatMap((way) => way.stems.map((word) => [word, placesOf(word)])));
    const kind = kindOf(query);
    const weights = WEIGHTS[kind];
    const names = query.split(/[\s?,;]+/).filter((word) => kind === "name" || isName(word));
    const objects = new Set(names.map((name) => lastName(name).toLowerCase()));
    const typed = new Set(things.flatMap(([first]) => first.stems));
    /** @param {string} word */
    const rarity = (word) => Math.log(1 + places.length / (lists.get(word)?.size || 0.5));
    const worth = things.map(([first]) => Math.max(...first.stems.map(rarity)));
    const whole = worth.reduce((sum, each) => sum + each, 0);

    /** @param {Place} place */
    const isNamed = (place) => place.kind === "object" && objects.has(lastName(place.title).toLowerCase());

    const found = new Set([...lists.values()].flatMap((list) => [...list.keys()]));
    const hits = [...found].map((at) => {
      const place = places[at];
      const size = 0.5 + (0.5 * place.size) / average;
      /** @param {string} word */
      const scoreOf = (word) => {
        const times = lists.get(word)?.get(at) ?? 0;
        const heading = place.heading.includes(word) ? IN_HEADING / Math.sqrt(1 + place.heading.length / 4) : 0;
        const above = place.above.has(word) ? IN_PAGE_TITLE : 0;
        return times || heading ? rarity(word) * ((2 * times) / (times + size) + heading + above) : 0;
      };
      let score = 0;
      let covered = 0;
      things.forEach((ways, i) => {
        const best = Math.max(
          ...ways.map((way) => {
            const scores = way.stems.map(scoreOf);
            return scores.includes(0)
              ? 0
              : (way.weight * scores.reduce((sum, each) => sum + each, 0)) / Math.sqrt(scores.length);
          }),
        );
        score += best;
        if (best) covered += worth[i];
      });
      const heading = new Set(place.heading);
      if (heading.size === typed.size && [...typed].every((word) => heading.has(word))) score *= 1.5;
      if (isNamed(place)) score *= NAMED;
      if (FIGURE_METHOD.test(place.title)) score *= FIGURE_METHOD_WEIGHT;
      else if (ASIDE.test(place.page)) score *= ASIDE_WEIGHT;
      return { ...place, score: score * (covered / whole) ** 2 * weights[place.kind] };
    });
    hits.sort((a, b) => b.score - a.score || a.at - b.at);
    // Where a named object is used comes after it, however well its name fits.
    const best = hits.find((hit) => !isNamed(hit))?.score ?? 0;
    return hits.slice(0, HITS).filter(({ score }) => score > best * LEAST);
  }

  /** The places that hold a short query as it is typed, those with it in their heading first.
   * @param {string} query @param {boolean} inTitles - alone */
  function findLiterally(query, inTitles) {
    return index.places
      .map((place) => {
        const times = inTitles ? 0 : textOf(place).toLowerCase().split(query).length - 1;
        return { ...place, score: times + (place.title.toLowerCase().includes(query) ? 1000 : 0) };
      })
      .filter(({ score }) => score)
      .sort((a, b) => b.score - a.score)
      .slice(0, HITS);
  }

  /** What a query finds. While it is typed, its last word may go on, and a short one is searched in titles.
   * @param {string} typed @param {boolean} [typing] @returns {Promise<Found>} */
  async function find(typed, typing = false) {
    await load(["places"]);
    index ??= makeIndex();
    let query = typed.trim();
    const words = wordsIn(query.toLowerCase());
    await loadWords([
      ...words,
      ...thingsIn(query)
        .flat()
        .flatMap((way) => way.stems),
    ]);
    if (!query || isShort(query)) {
      if (!typing) await load(index.names.filter((name) => name.startsWith("texts-")));
      return {
        query,
        better: query,
        words: [query.toLowerCase()],
        hits: query ? findLiterally(query.toLowerCase(), typing) : [],
      };
    }
    const last = words.at(-1) ?? "";
    const meant = typing && /[\p{L}\p{N}_]$/u.test(query) ? begunBy(last) : [];
    if (!words.every((word) => isKnown(word) || (word === last && meant.length))) {
      await load(index.names.filter((name) => name.startsWith("words-")));
      query = meant.length ? query : corrected(query, 1);
    }
    const things = thingsIn(query);
    for (const ways of things) {
      if (ways[0].words.includes(last)) ways.push(...meant.map((word) => way(word)));
    }
    await loadWords(things.flat().flatMap((way) => way.stems));
    const hits = things.length ? rank(query, things) : [];
    const better = hits.length || !things.length ? query : corrected(query, 2);
    return { query, better, words: [...things.flatMap(([first]) => first.words), ...meant], hits };
  }

  /** The text of a place, once its part is there. @param {Place} place @returns {string} */
  const textOf = ({ texts, at }) => parts.get(`texts-${texts}`)?.[at] ?? "";

  /** Load the texts of some places. @param {Place[]} places */
  const loadTexts = (places) => load(places.map(({ texts }) => `texts-${texts}`));

  /** The words of a text that a query finds, as they are written there, for what was typed first.
   * @param {string} query @param {string} text */
  function foundWords(query, text) {
    if (isShort(query)) return [query];
    const words = [...new Set(wordsIn(text))];
    return thingsIn(query).flatMap((ways) => {
      const stems = new Set(ways.flatMap((each) => each.stems));
      return words.filter((word) => stemsIn(word).some((each) => stems.has(each))).slice(0, 1);
    });
  }

  window.attnbookFind = { find, foundWords, loadTexts, textOf };
})();
