/** What a result shows of a section: the words that were found, and those around them. */
import { words as stems } from "./words.js";

const LENGTH = 36; // words

/** A text in pieces, `{text, found}`. */
export function marked(text, words) {
  const wanted = new Set(words);
  return text.split(/([\p{L}\d√_]+)/u).map((piece, i) => ({
    text: piece,
    found: i % 2 === 1 && stems(piece).some((stem) => wanted.has(stem)),
  }));
}

/** The pieces of the stretch that holds most of the words, each counted once. */
export function excerpt(text, words) {
  const pieces = marked(text, words);
  const last = Math.max(0, pieces.length - 2 * LENGTH);
  let best = 0;
  let most = -1;
  for (let from = 0; from <= last; from += 2) {
    if (from && !pieces[from + 1]?.found) continue;
    const found = pieces.slice(from, from + 2 * LENGTH).filter((piece) => piece.found);
    const distinct = new Set(found.map((piece) => stems(piece.text)[0])).size;
    if (distinct > most) [best, most] = [from, distinct];
  }
  const from = Math.max(0, Math.min(last, best - LENGTH / 2));
  const stretch = pieces.slice(from && from + 1, from + 2 * LENGTH); // without the mark before its first word
  const dots = { text: "… ", found: false };
  return [...(from ? [dots] : []), ...stretch, ...(from < last ? [{ ...dots, text: " …" }] : [])];
}
