// What the search finds: places within pages. A place is a section, a glossary term or an object of
// the API. `excerpts.py` writes the pages' texts and the synonyms; Sphinx's index has the titles.
(() => {
  "use strict";

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
    /^chapters\/(bibliography|teaching|your-progress|python-on-the-page|api|api-figures|api-models|api-fast-paths)\.html$/;

  const stemmer = new Stemmer();
  /** @type {Map<string, string>} */
  const stems = new Map();

  /** @param {string} word */
  function stem(word) {
    const found = stems.get(word) ?? stemmer.stemWord(word);
    stems.set(word, found);
    return found;
  }

  /** The words of a text as they are written. @param {string} text @returns {string[]} */
  const wordsIn = (text) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];

  /** The parts of a name: of `valid_lens` and of `ValidLens`, "valid" and "lens". @param {string} name */
  function partsOf(name) {
    const parts = name
      .replace(/(\p{Ll})(\p{Lu})/gu, "$1_$2")
      .split("_")
      .filter(Boolean);
    return parts.length > 1 ? parts.map((part) => part.toLowerCase()) : [];
  }

  /** A text's words and the parts of its names, in lower case. @param {string} text */
  const termsIn = (text) => wordsIn(text).flatMap((word) => [word.toLowerCase(), ...partsOf(word)]);

  /** @param {string} text */
  const stemsIn = (text) => termsIn(text).map(stem);

  /** @param {string[]} items @returns {Map<string, number>} */
  function count(items) {
    const counts = new Map();
    for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
    return counts;
  }

  /** By page and anchor, what begins there: its title, and the kind of the API's objects. */
  function beginnings() {
    const { docnames, titles, alltitles, objects, objnames } = Search._index;
    /** @type {Map<string, Map<string, { title: string, kind: string }>>} */
    const found = new Map(docnames.map((name, i) => [`${name}.html`, new Map([["", { title: titles[i], kind: "" }]])]));
    /** @param {number} page @param {string} anchor @param {{ title: string, kind: string }} what */
    const add = (page, anchor, what) => found.get(`${docnames[page]}.html`)?.set(anchor, what);
    for (const [title, places] of Object.entries(alltitles)) {
      for (const [page, anchor] of places) if (anchor) add(page, anchor, { title, kind: "" });
    }
    for (const [prefix, members] of Object.entries(objects)) {
      for (const [page, type, , anchor, name] of members) {
        const title = prefix ? `${prefix}.${name}` : name;
        const kind = objnames[type][1];
        if (kind !== "module") add(page, anchor || title, { title, kind });
      }
    }
    return found;
  }

  /** All places of the book, in its order. */
  function readPlaces() {
    const known = beginnings();
    /** @type {Place[]} */
    const places = [];
    for (const [page, parts] of Object.entries(attnbookPages)) {
      const here = known.get(page);
      const pageTitle = here?.get("")?.title ?? "";
      for (const [id, text] of parts) {
        const begun = here?.get(id);
        if (begun || id.startsWith("term-")) {
          // A term's text begins with the term: as many signs as its id has.
          const title = begun?.title ?? text.slice(0, id.length - "term-".length);
          const section = page.endsWith("/recipes.html") ? "recipe" : "section";
          const kind = !id ? "page" : begun?.kind ? "object" : begun ? section : "term";
          places.push({ page, anchor: id, title, pageTitle, kind, ids: [], text: "", score: 0 });
        }
        const place = places[places.length - 1];
        place.ids.push(id);
        place.text = `${place.text} ${text}`.trim();
      }
    }
    return places.filter(({ kind, text }) => text || kind === "page");
  }

  /** What ranking needs to know of each place, and how frequent each word is. */
  function makeIndex() {
    const places = readPlaces().map((place) => {
      const body = count(stemsIn(place.text));
      // The short name of a recipe, such as `recipe-left-padding`, is searched like its title.
      const labels = place.ids.filter((id) => id.startsWith("recipe-")).map((id) => id.slice("recipe-".length));
      const heading = stemsIn([place.kind === "object" ? lastName(place.title) : place.title, ...labels].join(" "));
      const size = [...body.values()].reduce((sum, times) => sum + times, 0);
      return { ...place, body, heading, above: new Set(stemsIn(place.pageTitle)), size };
    });
    const typed = Object.keys(attnbookSynonyms);
    return {
      places,
      average: places.reduce((sum, { size }) => sum + size, 0) / places.length,
      frequency: count(places.flatMap(({ body, heading }) => [...new Set([...body.keys(), ...heading])])),
      objects: new Set(places.flatMap(({ kind, title }) => (kind === "object" ? [lastName(title).toLowerCase()] : []))),
      known: new Set(typed.flatMap(stemsIn)),
      // A word that is there once may be a typing error of ours; those of synonyms count twice.
      words: count([...places.map(({ text }) => text), ...typed, ...typed].flatMap(wordsIn)),
    };
  }

  /** @param {string} name */
  const lastName = (name) => name.slice(name.lastIndexOf(".") + 1);

  /** @type {ReturnType<typeof makeIndex> | undefined} */
  let index;
  const getIndex = () => {
    index ??= makeIndex();
    return index;
  };

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

  /** The word most like this one that the book has more than once; of several, the most frequent.
   * @param {string} word @param {number} most - letters that may differ */
  function mostSimilar(word, most) {
    return [...getIndex().words]
      .filter(([other, times]) => times > 1 && other.length > 2 && Math.abs(other.length - word.length) <= most)
      .map(([other, times]) => ({ other, times, far: distance(word, other.toLowerCase()) }))
      .filter(({ far }) => far <= most)
      .sort((a, b) => a.far - b.far || b.times - a.times)[0]?.other;
  }

  /** Whether the book or a synonym has this word, in some form; short ones and those with digits are not judged.
   * @param {string} word */
  function isKnown(word) {
    const { frequency, known } = getIndex();
    return frequency.has(stem(word)) || known.has(stem(word)) || QUESTION.has(word) || /\d|^.{0,3}$/.test(word);
  }

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
    const longestFirst = Object.entries(attnbookSynonyms).sort((a, b) => b[0].length - a[0].length);
    for (const [typed, phrases] of longestFirst) {
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
    if (words.length === 1 && (isName(words[0]) || getIndex().objects.has(words[0].toLowerCase()))) return "name";
    return query.includes("?") || words.length > 3 ? "question" : "words";
  }

  /** Whether a query is so short, such as "√d", that it is searched as it is typed. @param {string} query */
  const isShort = (query) =>
    wordsIn(query).every((word) => word.length < 3) && thingsIn(query).every((ways) => ways.length === 1);

  /** The places that fit a query, the best first. @param {string} query @returns {Place[]} */
  function find(query) {
    if (!query.trim()) return [];
    if (isShort(query)) return findLiterally(query.trim().toLowerCase());
    const { places, frequency, average } = getIndex();
    const things = thingsIn(query);
    if (!things.length) return [];
    const kind = kindOf(query);
    const weights = WEIGHTS[kind];
    const names = query.split(/[\s?,;]+/).filter((word) => kind === "name" || isName(word));
    const objects = new Set(names.map((name) => lastName(name).toLowerCase()));
    const typed = new Set(things.flatMap(([first]) => first.stems));
    /** @param {string} word */
    const rarity = (word) => Math.log(1 + places.length / (frequency.get(word) ?? 0.5));
    const worth = things.map(([first]) => Math.max(...first.stems.map(rarity)));
    const whole = worth.reduce((sum, each) => sum + each, 0);

    /** @param {Place} place */
    const isNamed = (place) => place.kind === "object" && objects.has(lastName(place.title).toLowerCase());

    const hits = places.map((place) => {
      const size = 0.5 + (0.5 * place.size) / average;
      /** @param {string} word */
      const scoreOf = (word) => {
        const times = place.body.get(word) ?? 0;
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
    hits.sort((a, b) => b.score - a.score);
    // Where a named object is used comes after it, however well its name fits.
    const best = hits.find((hit) => !isNamed(hit))?.score ?? 0;
    return hits.slice(0, HITS).filter(({ score }) => score > best * LEAST);
  }

  /** The places that hold a short query as it is typed, those with it in their heading first. @param {string} query @returns {Place[]} */
  function findLiterally(query) {
    return getIndex()
      .places.map((place) => {
        const times = place.text.toLowerCase().split(query).length - 1;
        return { ...place, score: times && times + (place.title.toLowerCase().includes(query) ? 1000 : 0) };
      })
      .filter(({ score }) => score)
      .sort((a, b) => b.score - a.score)
      .slice(0, HITS);
  }

  /** What is typed, without words that say nothing, to be marked in the hits. @param {string} query */
  const typedWords = (query) =>
    isShort(query) ? [query.trim().toLowerCase()] : thingsIn(query).flatMap(([first]) => first.words);

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

  window.attnbookFind = { foundWords, find, corrected, typedWords };
})();
