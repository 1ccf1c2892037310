/** What a result shows of a section: the words that were found, and those around them, formulas as people read them. */
import { words as stems } from "./words.js";

const LENGTH = 36; // words
const WORD = /^[\p{L}\d√_]+$/u;
const SYMBOL = /^([√\d]*\p{L}?)_([\p{L}\d]*)$/u; // and no name in code, as std_q

/** A text in pieces, `{text, isMatch}`. */
export function marked(text, words) {
  const wanted = new Set(words);
  return text.split(/([\p{L}\d√_]+)/u).map((piece, i) => ({
    text: piece,
    isMatch: i % 2 === 1 && stems(piece).some((stem) => wanted.has(stem)),
  }));
}

/** The pieces of the stretch that holds most of the words, each counted once. */
export function excerpt(text, words) {
  const pieces = marked(text, words);
  const last = Math.max(0, pieces.length - 2 * LENGTH);
  let best = 0;
  let most = -1;
  for (let from = 0; from <= last; from += 2) {
    if (from && !pieces[from + 1]?.isMatch) continue;
    const matches = pieces.slice(from, from + 2 * LENGTH).filter((piece) => piece.isMatch);
    const distinct = new Set(matches.map((piece) => stems(piece.text)[0])).size;
    if (distinct > most) [best, most] = [from, distinct];
  }
  const from = Math.max(0, Math.min(last, best - LENGTH / 2));
  const stretch = pieces.slice(from && from + 1, from + 2 * LENGTH); // without the mark before its first word
  const dots = { text: "… ", isMatch: false };
  return [...(from ? [dots] : []), ...stretch, ...(from < last ? [{ ...dots, text: " …" }] : [])];
}

/**
 * The same with indices and exponents, `{text, isMatch, level}`: `level` has a "^" or a "_" for each step up or down, so that of
 * e^(2σ^2) 2σ is at "^" and the last 2 at "^^". What a bracket behind such a step encloses stands there without the bracket.
 */
export function typeset(pieces) {
  const parts = pieces.flatMap(({ text, isMatch }) =>
    WORD.test(text) ? { text, isMatch } : [...text].map((sign) => ({ text: sign, isMatch: false })),
  );
  const set = [];
  const put = (text, isMatch, level) => {
    const before = set.at(-1);
    if (before?.level === level && before.isMatch === isMatch) before.text += text;
    else if (text) set.push({ text, isMatch, level });
  };
  const brackets = []; // those that are open: the level outside of one that is not shown
  let level = "";
  let step = ""; // one that waits for a word or a bracket
  parts.forEach(({ text, isMatch }, i) => {
    const [, symbol, index] = SYMBOL.exec(text) ?? [];
    if (text === "^") step = "^";
    else if (text === "(" && step && closes(parts, i)) {
      brackets.push(level);
      level += step;
      step = "";
    } else if (text === ")" && typeof brackets.at(-1) === "string") level = brackets.pop();
    else {
      if (text === "(" && brackets.length) brackets.push(null);
      if (text === ")" && brackets.length) brackets.pop();
      put(symbol ?? text, isMatch, level + step);
      step = "";
      if (index) put(index, isMatch, `${level}_`);
      else if (index === "") step = "_";
    }
  });
  return set;
}

/** Whether the bracket that opens at a place is closed behind it. */
function closes(parts, from) {
  let open = 0;
  for (const { text } of parts.slice(from)) {
    open += (text === "(") - (text === ")");
    if (!open) return true;
  }
  return false;
}
