/** Finds the sections that answer a question, best first. */
import MiniSearch from "minisearch";
import { words } from "./words.js";

const HEADING = 12; // how much more an entry counts if the question is its heading, and not in its text alone
const COVERED = 0.3; // how much a word of the question counts in a phrase that has a group: the group stands for it

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

  /** The stems of a text, the groups of which it holds a phrase, and the stems of these phrases, if longer than a word. */
  const read = (text) => {
    const stems = words(text);
    const held = stems.flatMap((stem, i) =>
      (phrases.get(stem) ?? [])
        .filter(({ rest }) => rest.every((word, j) => stems[i + 1 + j] === word))
        .map(({ rest, group }) => ({ group, covered: rest.length ? [stem, ...rest] : [] })),
    );
    const covered = new Set(held.flatMap(({ covered }) => covered));
    return { terms: [...stems, ...held.map(({ group }) => group)], covered };
  };
  const tokenize = (text) => read(text).terms;

  const frequency = new Map();
  const unknown = (term) => !frequency.has(term);
  /** How much words say together: a rare one more than several that stand everywhere. */
  const rarity = (terms) => {
    let sum = 0;
    for (const term of terms) sum += Math.log(1 + entries.length / (frequency.get(term) ?? 1)) ** 2;
    return sum;
  };

  const index = new MiniSearch({
    fields: ["terms"],
    stringifyField: (terms) => terms,
    tokenize: (terms) => terms,
    processTerm: (term) => term,
    searchOptions: {
      tokenize,
      bm25: { k: 1.2, b: 0.3, d: 0.5 },
      // a word that the book doesn't have may be the beginning of one, or a slip of the fingers
      prefix: unknown,
      fuzzy: (term) => unknown(term) && (term.length > 6 ? 2 : term.length > 3 && 1),
    },
  });
  const headings = entries.map(({ heading }) => new Set(tokenize(heading)));
  index.addAll(
    entries.map(({ heading, page, text }, id) => {
      const terms = [heading, page, text].flatMap(tokenize);
      for (const term of new Set(terms)) frequency.set(term, (frequency.get(term) ?? 0) + 1);
      return { id, terms };
    }),
  );

  return (question) => {
    const { terms: wanted, covered } = read(question);
    const counting = (terms) => terms.filter((term) => !covered.has(term));
    const asked = rarity(new Set(counting(wanted)));
    const rank = ({ id, score, queryTerms, terms }) => {
      const common = rarity(counting(terms).filter((term) => headings[id].has(term)));
      const alike = common / (asked + rarity(headings[id]) - common || 1);
      const answered = rarity(counting(queryTerms)) / asked;
      return score * entries[id].weight * answered * (1 + HEADING * alike);
    };
    return index
      .search(question, { boostTerm: (term) => (covered.has(term) ? COVERED : 1) })
      .map((result) => ({
        entry: entries[result.id],
        words: result.terms.flatMap((term) => (term[0] === "=" ? wordsOf(term) : term)),
        score: rank(result),
      }))
      .sort((a, b) => b.score - a.score);
  };
}
