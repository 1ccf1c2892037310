/**
 * What is found while somebody types: the first places in a list below the box of the header, and all on the search page.
 *
 * The page has little to do with it. Index and finder come when somebody turns to a box, and the finder runs in a worker: from a
 * folder one may be made of a text only, which stands here for WORKER.
 */
/* global WORKER */

const SUGGESTED = 6;
const LISTED = 20;
const root = document.documentElement.dataset.content_root;

let worker;
const waiting = [];
/** The worker, which has the index. */
const load = () =>
  (worker ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}searchindex.js`;
    script.onload = () => {
      const url = URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" }));
      const worker = new Worker(url);
      worker.onmessage = ({ data }) => waiting.shift()(data);
      worker.postMessage(window.SEARCH_INDEX);
      delete window.SEARCH_INDEX; // the worker has it
      resolve(worker);
    };
    script.onerror = () => reject(new Error("searchindex.js was not loaded"));
    document.head.append(script);
  }));

/** What is found, in the order in which it was asked for. */
async function ask(asked, limit) {
  if (!asked) return { asked, count: 0, places: [] };
  const ready = await load();
  return new Promise((resolve) => {
    waiting.push(resolve);
    ready.postMessage({ asked, limit });
  });
}

const TAGS = { "^": "sup", _: "sub" };

/** An element that holds pieces of text, those that were found in a <mark>, indices and exponents where they belong. */
function element(tag, name, pieces) {
  const node = document.createElement(tag);
  node.className = name;
  for (const { text, isMatch, level } of pieces) {
    let place = node;
    for (const step of level) {
      const inner = document.createElement(TAGS[step]);
      place.append(inner);
      place = inner;
    }
    if (isMatch) place.append(Object.assign(document.createElement("mark"), { textContent: text }));
    else place.append(text);
  }
  return node;
}

const title = ({ page, heading }) => [
  ...(page.length ? [element("span", "chapter", page), " › "] : []),
  element("span", "heading", heading),
];

/** The box of the header, a combobox: arrows choose among the first places, Enter opens one, or the search page. */
function suggest(form) {
  const box = form.querySelector("input");
  const list = document.createElement("ul");
  list.id = "suggestions";
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Places in the book");
  const status = document.createElement("p");
  status.className = "status";
  status.setAttribute("role", "status");
  form.append(list, status);
  const set = (name, value) => box.setAttribute(name, value);
  set("role", "combobox");
  set("aria-autocomplete", "list");
  set("aria-controls", list.id);
  let chosen = -1;
  const choose = (i) => {
    const options = [...list.children];
    chosen = i;
    options.forEach((option, j) => option.setAttribute("aria-selected", i === j));
    options[i]?.scrollIntoView({ block: "nearest" });
    if (options[i]) set("aria-activedescendant", options[i].id);
    else box.removeAttribute("aria-activedescendant");
  };
  const show = (open) => {
    list.hidden = !open;
    set("aria-expanded", open);
    choose(-1);
  };
  const go = (option) => {
    show(false);
    location.href = option.dataset.url;
  };
  show(false);

  async function look() {
    const { asked, places } = await ask(box.value.trim(), SUGGESTED);
    if (asked !== box.value.trim()) return; // more has been typed since
    list.replaceChildren(
      ...places.map((place, i) => {
        const option = document.createElement("li");
        option.id = `suggestion-${i}`;
        option.setAttribute("role", "option");
        option.dataset.url = root + place.url;
        option.append(...title(place));
        return option;
      }),
    );
    list.dataset.question = asked;
    show(places.length > 0 && document.activeElement === box);
    status.textContent = !asked
      ? ""
      : places.length
        ? `${places.length} suggestions`
        : "Nothing found";
  }
  box.addEventListener("input", look);
  box.addEventListener("focus", look);
  box.addEventListener("blur", () => show(false));
  box.addEventListener("keydown", (event) => {
    const all = list.children.length;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && all) {
      event.preventDefault();
      const next = chosen + step;
      if (list.hidden) show(true);
      choose(next < -1 ? all - 1 : next === all ? -1 : next);
    } else if (event.key === "Enter" && chosen >= 0 && !list.hidden) {
      event.preventDefault();
      go(list.children[chosen]);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault(); // else the box would be emptied
      show(false);
    }
  });
  list.addEventListener("mousedown", (event) => event.preventDefault()); // the box keeps the focus
  list.addEventListener("click", ({ target }) => go(target.closest("li")));
  if (document.activeElement === box) look();
}

/** The search page: what is typed there, or came with the address, is looked for at once. */
function answer(form) {
  const box = form.querySelector("input");
  const count = document.querySelector("#search-count");
  const results = document.querySelector("#search-results");

  const item = (place) => {
    const link = document.createElement("a");
    link.href = root + place.url;
    link.append(...title(place));
    const result = document.createElement("li");
    result.append(link, element("p", "excerpt", place.excerpt));
    return result;
  };
  async function show(question) {
    const reply = await ask(question, LISTED);
    if (question !== box.value.trim()) return; // more has been typed since
    results.replaceChildren(...reply.places.map(item));
    results.dataset.question = question;
    if (!question) count.textContent = "";
    else if (!reply.count) count.textContent = `Nothing in the book matches “${question}”.`;
    else if (reply.count > LISTED)
      count.textContent = `The first ${LISTED} of ${reply.count} places`;
    else count.textContent = reply.count === 1 ? "One place" : `${reply.count} places`;
  }
  box.addEventListener("focus", load);
  box.addEventListener("input", () => {
    const question = box.value.trim();
    show(question);
    history.replaceState(null, "", `?${new URLSearchParams({ q: question })}`);
  });
  box.value = new URLSearchParams(location.search).get("q") ?? "";
  show(box.value.trim());
}

suggest(document.querySelector(".bar .search"));
const form = document.querySelector(".search-page");
if (form) answer(form);
else load();
