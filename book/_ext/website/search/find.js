/**
 * Finds the places of the book that answer a question, best first.
 *
 * A place has names, which are its heading and its entries of the book's index, and a text. It counts by BM25 over both. That is
 * multiplied by the part of the question that the place holds, plus how nearly one of its names is the question, which both go
 * from 0 to 1. And it is halved for each step that the place is away from an explanation: once for what repeats or proves, and
 * twice for records that are looked up.
 */
import { near, spelt, stem, words } from "./words.js";

// BM25’s usual constants: how soon a word that is repeated counts no more, and how much a long text is held against it.
const K = 1.2;
const B = 0.75;

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

/**
 * A function from a question to what it finds, `{entry, words}`: `words` are the stems by which the entry was found.
 * Each group of `synonyms` is a word by itself, which texts and questions get wherever they hold one of its phrases.
 */
export function finder({ pages, entries, synonyms }) {
  const places = entries.map(([page, anchor, heading, terms, text, distance]) => ({
    url: `${pages[page][0]}#${anchor}`,
    page: pages[page][1],
    heading: heading || anchor,
    names: [heading || anchor, ...terms],
    text,
    weight: 2 ** -distance,
  }));
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
  const groups = (phrases) => phrases.map(({ group }) => group);
  const termsOf = (text) => {
    const stems = words(text);
    return [...stems, ...groups(held(stems))];
  };
  /** The terms by which two names are compared: a phrase that has a group is that, and not its words. */
  const named = (stems) => {
    const meant = longest(held(stems));
    const covered = new Set(meant.flatMap(({ from, to }) => stems.slice(from, to + 1)));
    return new Set([...stems, ...groups(meant)].filter((term) => !covered.has(term)));
  };

  /** Where each term stands: by place, how often in its names and in its text. */
  const postings = new Map();
  const lengths = places.map(({ names, text }, id) =>
    [new Set(names.flatMap(termsOf)), termsOf(text)].map((terms, field) => {
      for (const term of terms) {
        if (!postings.has(term)) postings.set(term, new Map());
        const at = postings.get(term);
        if (!at.has(id)) at.set(id, [0, 0]);
        at.get(id)[field] += 1;
      }
      return terms.size ?? terms.length;
    }),
  );
  const usual = [0, 1].map((field) => sum(lengths.map((both) => both[field])) / places.length);
  const rarity = (term) => Math.log(1 + places.length / (postings.get(term)?.size ?? 1));
  const rarities = (terms) => sum([...terms].map(rarity));
  /** How much a term says of a place, by how often it stands in its names and in its text. */
  const says = (counts, id) => {
    const often = sum(
      counts.map((n, field) => n / (1 - B + (B * lengths[id][field]) / usual[field])),
    );
    return (often * (K + 1)) / (often + K);
  };

  const known = new Set([...postings.keys(), ...synonyms.flat().flatMap(words)]);
  let vocabulary; // once a word is asked for that the book doesn’t have
  /** The stem of a word; one that the book doesn’t have may be the beginning of another, or a slip of the fingers. */
  const nearest = (word) => {
    if (known.has(stem(word))) return stem(word);
    vocabulary ??= [
      ...new Set(
        [...places.flatMap((place) => [...place.names, place.text]), ...synonyms.flat()].flatMap(
          spelt,
        ),
      ),
    ];
    return stem(near(word, vocabulary));
  };
  const compared = places.map(({ names }) => names.map((name) => named(words(name))));

  return (question) => {
    const stems = spelt(question).map(nearest);
    const asked = named(stems);
    /** How much a name is the question: what both say over what either says, 1 if they are the same. */
    const alike = (name) => {
      const common = rarities([...name].filter((term) => asked.has(term)));
      return common / rarities(new Set([...name, ...asked])) || 0;
    };
    const scores = new Map();
    for (const term of new Set([...stems, ...groups(longest(held(stems)))]))
      for (const [id, counts] of postings.get(term) ?? []) {
        const one = scores.get(id) ?? { score: 0, terms: [] };
        one.score += rarity(term) * says(counts, id);
        one.terms.push(term);
        scores.set(id, one);
      }
    /** How much of the question a place holds. */
    const holds = (terms) => rarities(terms.filter((term) => asked.has(term))) / rarities(asked);
    // The name of an object, as code has it, is asked for to look it up.
    const called = /\w\w_\w\w|[a-z][A-Z]/.test(question) && `.${question.trim()}`;
    return [...scores]
      .map(([id, { score, terms }]) => ({
        entry: places[id],
        words: terms.flatMap((term) => (term[0] === "=" ? wordsOf(term) : [term])),
        score:
          called && places[id].heading.endsWith(called)
            ? Infinity
            : score * places[id].weight * (holds(terms) + Math.max(...compared[id].map(alike))),
      }))
      .sort((a, b) => b.score - a.score);
  };
}
