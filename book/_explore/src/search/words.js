/** Text as the words by which it is found. */

const EMPTY = new Set(
  (
    "a about after all also an and any are as at be because been before between but by can compared could define defined definition did do does doing " +
    "done during each example explain explained explanation for from get gets give had has have how i if in into is it its itself just may me might more " +
    "most much must my not of on one only or other our out over per question regarding respect should show so some still such than that the their " +
    "them then there these they this those to together two up us use used uses using versus via vs was we were what when where whether which while who why " +
    "will with would wrt you your"
  ).split(" "),
);

const ENDINGS =
  /(?<=..)(?:ations?|ated|ates?|ating|ators?|ings?|ies|ied|edly|ed|ally|ly|es|e|y|s)$/;

/** A word without its ending, so that scaled, scales and scaling are the same one; British spelling as American. */
export function stem(word) {
  if (word.length < 4 || /\d/.test(word)) return word;
  const american = word.replace(/is(e[ds]?|ers?|ing|ations?)$/, "iz$1").replace(/our$/, "or");
  const stripped = american.replace(ENDINGS, "");
  const kept = stripped.length < 3 || american.endsWith("ss") ? american : stripped;
  return kept.replace(/([bdgmnprt])\1$/, "$1");
}

/** The stems of a text in its order: √ is sqrt, d_k is dk, and pre-norm is pre, norm and prenorm. */
export function words(text) {
  const plain = text
    .normalize("NFKD")
    .replace(/[\u0300-\u036f’']/g, "")
    .replace(/√/g, " sqrt ")
    .replace(/⊤/g, "T")
    .toLowerCase()
    .replace(/\b([a-z])_(?=[a-z\d])/g, "$1");
  const found = [];
  for (const [compound] of plain.matchAll(/[\p{L}\d]+(?:[-‐‑–][\p{L}\d]+)*/gu)) {
    const parts = compound.split(/[-‐‑–]/);
    found.push(...parts);
    if (parts.length > 1) found.push(parts.join(""));
  }
  return found.filter((word) => !EMPTY.has(word)).map(stem);
}
