/**
 * Finds the sections that answer a question, best first.
 *
 * A section counts by BM25, in which two neighbouring words are a word, too, and so are the titles of the papers cited.
 * That is multiplied by how much its heading is the question, in the same words and the same order, and by the weight of the
 * entry, which is small for what is looked up and for what repeats.
 */
import MiniSearch from "minisearch";
import { spelt, stem, words } from "./words.js";

const HEADING = 20; // how much more an entry counts if the question is its heading, and not in its text alone
const PAIR = 0.25; // how much two words next to each other count, in that order, besides each by itself

/**
 * A function from a question to what it finds, `{entry, words}`: `words` are the stems by which the entry was found.
 * Each group of `synonyms` is a word by itself, which texts and questions get wherever they hold one of its phrases.
 */
export function finder({ entries, synonyms }) {
  const phrases = new Map(); // by their first word
  for (const [i, group] of synonyms.entries())
    for (const [first, ...rest] of group.map(words))
      phrases.set(first, [...(phrases.get(first) ?? []), { rest, group: `=${i}` }]);
  const wordsOf = (group) => synonyms[group.slice(1)].flatMap(words).filter((s) => s.length > 2);

  /** The phrases among stems that have a group, with their first and last place. */
  const held = (stems) =>
    stems.flatMap((stem, from) =>
      (phrases.get(stem) ?? [])
        .filter(({ rest }) => rest.every((word, j) => stems[from + 1 + j] === word))
        .map(({ rest, group }) => ({ group, from, to: from + rest.length })),
    );
  /** Of a phrase within a longer one, as d_head in 1/d_head, the longer one is meant. */
  const within = (a, b) => b.from <= a.from && a.to <= b.to && b.to - b.from > a.to - a.from;
  const longest = (phrases) => phrases.filter((a) => !phrases.some((b) => within(a, b)));
  /** The stems, the groups of phrases, and each two stems that are neighbours. */
  const terms = (stems, phrases) => [
    ...stems,
    ...phrases.map(({ group }) => group),
    ...stems.slice(1).map((stem, i) => `${stems[i]} ${stem}`),
  ];
  const read = (text) => {
    const stems = words(text);
    return terms(stems, held(stems));
  };
  /** The terms by which two names are compared: a phrase that has a group is that, and not its words. */
  const named = (stems) => {
    const meant = longest(held(stems));
    const covered = new Set(meant.flatMap(({ from, to }) => stems.slice(from, to + 1)));
    return new Set(terms(stems, meant).filter((term) => !covered.has(term)));
  };
  const isPair = (term) => term.includes(" ");

  const index = new MiniSearch({
    fields: ["heading", "text", "cited"],
    stringifyField: (terms) => terms,
    tokenize: (terms) => terms,
    processTerm: (term) => term,
    searchOptions: {
      tokenize: (joined) => joined.split("\n"),
      boostTerm: (term) => (isPair(term) ? PAIR : 1),
    },
  });
  const frequency = new Map();
  index.addAll(
    entries.map((entry, id) => {
      const [heading, text, cited] = [entry.heading, entry.text, entry.cited].map(read);
      for (const term of new Set([...heading, ...text]))
        frequency.set(term, (frequency.get(term) ?? 0) + 1);
      return { id, heading, text, cited };
    }),
  );
  /** How much words say together: a rare one more than one that stands everywhere. */
  const rarity = (terms) => {
    let sum = 0;
    for (const term of terms) {
      const rare = Math.log(1 + entries.length / (frequency.get(term) ?? 1)) ** 2;
      sum += isPair(term) ? PAIR * rare : rare;
    }
    return sum;
  };
  const headings = entries.map(({ heading }) => named(words(heading)));

  const known = new Set([...frequency.keys(), ...synonyms.flat().flatMap(words)]);
  let vocabulary; // once a word is asked for that the book doesn’t have
  const everyWord = () => {
    const all = entries.flatMap(({ heading, text }) => [heading, text].flatMap(spelt));
    const index = new MiniSearch({ fields: ["id"], tokenize: (word) => [word] });
    index.addAll([...new Set([...all, ...synonyms.flat().flatMap(spelt)])].map((id) => ({ id })));
    return index;
  };
  /** The stem of a word; one that the book doesn’t have may be the beginning of another, or a slip of the fingers. */
  const nearest = (word) => {
    if (known.has(stem(word))) return stem(word);
    const fuzzy = word.length > 6 ? 2 : word.length > 3 && 1;
    vocabulary ??= everyWord();
    return stem(vocabulary.search(word, { prefix: true, fuzzy })[0]?.id ?? word);
  };

  return (question) => {
    const stems = spelt(question).map(nearest);
    const asked = named(stems);
    /** How much a heading is the question: what both say over what either says, 1 if they are the same. */
    const alike = (heading) => {
      const common = rarity([...heading].filter((term) => asked.has(term)));
      return common / rarity(new Set([...heading, ...asked])) || 0;
    };
    // The name of an object, as code has it, is asked for to look it up.
    const called = /\w\w_\w\w|[a-z][A-Z]/.test(question) && `.${question.trim()}`;
    return index
      .search(terms(stems, longest(held(stems))).join("\n"))
      .map(({ id, score, terms }) => ({
        entry: entries[id],
        words: terms.flatMap((term) => (term[0] === "=" ? wordsOf(term) : term.split(" "))),
        score:
          called && entries[id].heading.endsWith(called)
            ? Infinity
            : score * entries[id].weight * (1 + HEADING * alike(headings[id])),
      }))
      .sort((a, b) => b.score - a.score);
  };
}
