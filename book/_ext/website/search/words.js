/** Text as the words by which it is found. */

const EMPTY = new Set(
  (
    "a about actually after again all allow allows almost along also although always an and any anyone anything applied applies apply are " +
    "arent as ask asked asking asks at away barely basically be became because become becomes been before between bit but by calculate calculated " +
    "call called can cannot cant cause caused causes come comes coming compared compute computed could couldnt define defined definition did " +
    "didnt do does doesnt doing done dont during each else essentially ever example explain explained explanation find finding for found from " +
    "gave get gets getting give given gives giving go goes going got had handle handled handles happen happened happening happens has hasnt have " +
    "havent help helpful helps here how however i if in include includes instead into is isnt it its itself just keep keeps kind know known knows " +
    "let lets like lot lots made make makes making may maybe me might more most mostly much must my not now of often on one only or other our out " +
    "over people per perhaps please possible possibly purpose push pushes pushing put puts question quite rather really regarding represent " +
    "represents respect role said say says see seem seems seen should shouldnt show simply so some somebody someone something sometimes sort stay " +
    "stays still such sure take taken takes taking tell tells than thanks that the their them then there these they thing things this those to " +
    "together told too toward towards treat treated treats tried tries try trying two understand understanding up us use used uses using usually " +
    "versus very via vs want wants was wasnt way ways we were what when where whether which while who why will with within wont would wouldnt wrt " +
    "yet you your youre"
  ).split(" "),
);

const ENDINGS =
  /(?<=..)(?:ations?|ated|ates?|ating|ators?|ings?|ies|ied|edly|ed|ally|ly|en[ct]es?|ents?|an[ct]es?|ants?|ness|es|e|y|s)$/;

/** A word without its ending, so that scaled, scales and scaling are the same one; British spelling as American. */
export function stem(word) {
  if (word.length < 4 || /\d/.test(word)) return word;
  const american = word.replace(/is(e[ds]?|ers?|ing|ations?)$/, "iz$1").replace(/our$/, "or");
  const stripped = american.replace(ENDINGS, "");
  const root = stripped.length < 3 || /(?<!ne)ss$/.test(american) ? american : stripped;
  return root.replace(/([bdgmnprt])\1$/, "$1");
}

/** The stems of a text in its order. */
export const words = (text) => spelt(text).map(stem);

/** Roots, as signs and as the powers that code has for them, with their base if it is a name. */
const ROOTS = [
  ["sqrt", "√", "0?\\.5|1[/⁄]2"],
  ["cube root", "∛", "1[/⁄]3"],
  ["fourth root", "∜", "0?\\.25|1[/⁄]4"],
].map(([root, sign, power]) => [
  ` ${root} $1 `,
  new RegExp(`${sign}|([\\w.]*) *(?:\\*\\*|\\^) *\\(? *[-−]? *(?:${power})(?!\\d)\\)?`, "g"),
]);

/**
 * The words of a text in its order: √ is sqrt and so is ** -0.5, d_k is dk, pre-norm is pre, norm and prenorm, and scale= is an
 * argument.
 */
export function spelt(text) {
  const plain = ROOTS.reduce((all, [root, sign]) => all.replace(sign, root), text.normalize("NFKD"))
    .replace(/[\u0300-\u036f’']/g, "")
    .replace(/⊤/g, "T")
    .toLowerCase()
    .replace(/(?<=[a-z_]{2})=(?!=)/g, " argument ")
    .replace(/\b([a-z])_(?=[a-z\d])/g, "$1");
  const spellings = [];
  for (const [compound] of plain.matchAll(/[\p{L}\d]+(?:[-‐‑–][\p{L}\d]+)*/gu)) {
    const parts = compound.split(/[-‐‑–]/);
    spellings.push(...parts);
    if (parts.length > 1) spellings.push(parts.join(""));
  }
  return spellings.filter((word) => !EMPTY.has(word));
}

/** The word of a vocabulary that one that it lacks begins, the shortest, or is nearest to, by letters that are mistaken. */
export function near(word, vocabulary) {
  const begun = vocabulary.filter((other) => other.startsWith(word));
  if (begun.length) return begun.reduce((a, b) => (b.length < a.length ? b : a));
  let [best, least] = [word, word.length > 6 ? 2 : word.length > 3 ? 1 : 0];
  for (const other of vocabulary) {
    if (Math.abs(other.length - word.length) > least) continue;
    const far = distance(word, other);
    if (far < least || (far === least && best === word)) [best, least] = [other, far];
  }
  return best;
}

/** How many letters are added, left out, changed or swapped between two words. */
function distance(a, b) {
  let [before, row] = [[], [...Array(b.length + 1).keys()]];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] !== b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    [before, row] = [row, next];
  }
  return row[b.length];
}
