/** The search page: what is typed there, or came with the address, is looked for at once. */
import { excerpt, marked } from "./excerpt.js";
import { finder } from "./find.js";

const SHOWN = 20;

const form = document.querySelector(".search-page");
const box = form.querySelector("input");
const count = document.querySelector("#search-count");
const results = document.querySelector("#search-results");

/** The finder, once somebody asks: the index is larger than any page. */
let finding;
const load = () =>
  (finding ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "searchindex.js";
    script.onload = () => resolve(finder(window.SEARCH_INDEX));
    script.onerror = () => reject(new Error("searchindex.js was not loaded"));
    document.head.append(script);
  }));

/** An element that holds pieces of text, those that were found in a <mark>; d_k has an index there, and x^2 an exponent. */
function element(tag, name, pieces) {
  const made = document.createElement(tag);
  made.className = name;
  pieces.forEach(({ text, found }, i) => {
    const raised = pieces[i - 1]?.text.endsWith("^");
    const piece = document.createElement(raised ? "sup" : found ? "mark" : "span");
    const [, base, index] = /^(|[√\d]*\p{L})_([\p{L}\d]+)$/u.exec(text) ?? [text, text];
    piece.textContent = base.replace(/\^$/, "");
    if (index) piece.append(Object.assign(document.createElement("sub"), { textContent: index }));
    made.append(piece);
  });
  return made;
}

function item({ entry, words }) {
  const link = document.createElement("a");
  link.href = entry.url;
  if (entry.heading !== entry.page) {
    link.append(element("span", "chapter", marked(entry.page, [])), " › ");
  }
  link.append(element("span", "heading", marked(entry.heading, words)));
  const made = document.createElement("li");
  made.append(link, element("p", "excerpt", excerpt(entry.text, words)));
  return made;
}

async function show(question) {
  const found = question ? (await load())(question) : [];
  if (question !== box.value.trim()) return; // more has been typed since
  const shown = found.slice(0, SHOWN);
  results.replaceChildren(...shown.map(item));
  results.dataset.question = question;
  if (!question) count.textContent = "";
  else if (!found.length) count.textContent = `Nothing in the book matches “${question}”.`;
  else if (found.length > SHOWN) count.textContent = `The first ${SHOWN} of ${found.length} places`;
  else count.textContent = found.length === 1 ? "One place" : `${found.length} places`;
}

box.addEventListener("input", () => {
  const question = box.value.trim();
  show(question);
  history.replaceState(null, "", `?${new URLSearchParams({ q: question })}`);
});
box.value = new URLSearchParams(location.search).get("q") ?? "";
show(box.value.trim());
