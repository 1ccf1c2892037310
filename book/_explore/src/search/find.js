/**
 * Finds the sections that answer a question, best first.
 *
 * A section counts by BM25, in which two neighbouring words are a word, too, and so are the titles of the papers cited.
 * That is multiplied by the part of the question that it answers, where what only its page answers counts by half.
 * It is multiplied by how much its heading is the question, in the same words and the same order, and by the weight of the
 * entry, which is small for what is looked up and for what repeats; or by how much one of its keywords is the question;
 * or by how much of the question its heading and keywords have together.
 * And it is multiplied by how much its page has of all that was found: a chapter about the question comes before a remark.
 */
import MiniSearch from "minisearch";
import { spelt, stem, words } from "./words.js";

const HEADING = 20; // how much more an entry counts if the question is its heading, and not in its text alone
const KEYWORD = 16; // the same for that of its keywords which is most like the question
const TOGETHER = 8; // the same for its heading and all of its keywords together, of which each may have a part of the question
const WHOLE = 4; // the power by which these fall behind with what they lack
const COVERED = 0.3; // how much a word of the question counts in a phrase that has a group: the group stands for it
const PAIR = 0.25; // how much two words next to each other count, in that order, besides each by itself
const CITED = 0.3; // how much the words of a title count that a section cites, and those of its keywords by themselves
const PAGE = 0.5; // how much an answer counts that stands on the page, but not in the section
const PLAIN = 0.7; // the power of BM25, below 1 since long sections have many words that are in any question
const MISSING = 2; // the power by which an entry falls behind with what it leaves unanswered

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
  /** Of a phrase within a longer one, as d_head in 1/d_head, the longer one is meant. */
  const within = (a, b) => b.from <= a.from && a.to <= b.to && b.to - b.from > a.to - a.from;
  const longest = (phrases) => phrases.filter((a) => !phrases.some((b) => within(a, b)));
  /** The stems of phrases that have a group, which stands for them. */
  const coveredBy = (phrases, stems) =>
    new Set(phrases.flatMap(({ from, to }) => stems.slice(from, to + 1)));
  const isPair = (term) => term.includes(" ");

  const frequency = new Map();
  /** How much words say together: a rare one more than one that stands everywhere. */
  const rarity = (terms) => {
    let sum = 0;
    for (const term of terms) {
      const rare = Math.log(1 + entries.length / (frequency.get(term) ?? 1)) ** 2;
      sum += isPair(term) ? PAIR * rare : rare;
    }
    return sum;
  };

  const index = new MiniSearch({
    fields: ["heading", "keywords", "text", "cited"],
    stringifyField: (terms) => terms,
    tokenize: (terms) => terms,
    processTerm: (term) => term,
    searchOptions: {
      tokenize: (joined) => joined.split("\n"),
      boost: { keywords: CITED, cited: CITED },
      bm25: { k: 1.2, b: 0.6, d: 0.5 },
    },
  });
  /** What a section is called: its terms, and those that count if the question has others. */
  const name = (text) => {
    const stems = words(text);
    const meant = longest(held(stems));
    const covered = coveredBy(meant, stems);
    const counting = terms(stems, meant).filter((term) => !covered.has(term));
    return { terms: new Set(read(text)), counting: new Set(counting) };
  };
  const headings = entries.map(({ heading }) => name(heading));
  const keywordsOf = entries.map(({ keywords = [] }) => keywords.map(name));
  const named = []; // the terms of all names of an entry that has keywords
  index.addAll(
    entries.map((entry, id) => {
      const [text, cited] = [entry.text, entry.cited].map(read);
      const heading = [...headings[id].terms];
      const keywords = [...new Set(keywordsOf[id].flatMap(({ terms }) => [...terms]))];
      named.push(new Set(keywords.length ? [...heading, ...keywords] : []));
      for (const term of new Set([...heading, ...keywords, ...text]))
        frequency.set(term, (frequency.get(term) ?? 0) + 1);
      return { id, heading, keywords, text, cited };
    }),
  );
  for (const name of [...headings, ...keywordsOf.flat()]) name.length = rarity(name.counting);

  const known = new Set([...frequency.keys(), ...synonyms.flat().flatMap(words)]);
  let vocabulary; // once a word is asked for that the book doesn’t have
  const everyWord = () => {
    const all = entries.flatMap(({ heading, keywords = [], text }) =>
      [heading, ...keywords, text].flatMap(spelt),
    );
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
    const subject = question
      .replace(/^what (?:do|does) (.+) mean\b|\bmeaning of\b/i, "$1")
      .replace(/(?<=\w )in (?:an? |the )?transformers?\b/i, ""); // which all of the book is about
    const stems = spelt(subject).map(nearest);
    const meant = longest(held(stems));
    const covered = coveredBy(meant, stems);
    const wanted = terms(stems, meant);

    const counting = (terms) => new Set(terms.filter((term) => !covered.has(term)));
    const single = (terms) => rarity(counting(terms.filter((term) => !isPair(term))));
    const asked = rarity(counting(wanted));
    const found = index.search(wanted.join("\n"), {
      boostTerm: (term) => (isPair(term) ? PAIR : covered.has(term) ? COVERED : 1),
    });
    const onPage = new Map();
    for (const { id, queryTerms } of found) {
      const { page } = entries[id];
      onPage.set(page, [...new Set([...(onPage.get(page) ?? []), ...queryTerms])]);
    }
    for (const [page, terms] of onPage) onPage.set(page, single(terms));
    const score = ({ id, score, queryTerms }) => {
      const { page, weight } = entries[id];
      const shared = (terms) => rarity(counting(queryTerms.filter((term) => terms.has(term))));
      /** How much a name is the question: what both say over what either says, 1 if they are the same. */
      const alike = ({ terms, length }) => {
        const common = shared(terms);
        return common / (asked + Math.max(0, length - common) || 1);
      };
      const headed = weight * (1 + HEADING * alike(headings[id]));
      const keyed = KEYWORD * Math.max(0, ...keywordsOf[id].map(alike));
      const together = TOGETHER * (shared(named[id]) / asked || 0) ** WHOLE;
      const answered = PAGE * onPage.get(page) + (1 - PAGE) * single(queryTerms);
      return score ** PLAIN * (answered / single(wanted)) ** MISSING * (headed + keyed + together);
    };
    const scored = found.map((result) => ({
      entry: entries[result.id],
      words: result.terms.flatMap((term) => (term[0] === "=" ? wordsOf(term) : term.split(" "))),
      score: score(result),
    }));
    const pages = new Map();
    for (const { entry, score } of scored)
      pages.set(entry.page, (pages.get(entry.page) ?? 0) + score);
    const most = Math.max(...pages.values());
    // The name of an object, as code has it, is asked for to look it up.
    const called = /\w\w_\w\w|[a-z][A-Z]/.test(question) && `.${question.trim()}`;
    for (const result of scored) {
      const named = called && result.entry.heading.endsWith(called);
      result.score *= named ? Infinity : 1 + pages.get(result.entry.page) / most;
    }
    return scored.sort((a, b) => b.score - a.score);
  };
}
