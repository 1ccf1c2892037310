// Comfort for the book's pages: theme, full screen, the chapters on a phone, copying code. Pages are whole without it.
"use strict";
(() => {
  const root = document.documentElement;
  const find = (selector, from = document) => from.querySelector(selector);

  // Theme: as the system has it, until the reader chooses.
  const theme = find(".button.theme");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => theme.setAttribute("aria-label", `Theme: ${isDark() ? "dark" : "light"}`);
  theme.hidden = false;
  name();
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* a page in a folder may have no storage */ }
    name();
  });

  // The search comes when somebody turns to its box, by the mouse, by / or by Ctrl-K.
  const search = find(".bar .search input");
  const bring = () => {
    if (find("script[src*='search.min.js']")) return;
    const script = document.createElement("script");
    script.src = `${root.dataset.content_root}_static/search/search.min.js`;
    document.head.append(script);
  };
  search.addEventListener("focus", bring);
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    const asked = (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey)
      || (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey);
    if (!asked) return;
    event.preventDefault();
    search.focus();
    search.select();
  });

  const full = find(".button.full-screen");
  if (document.fullscreenEnabled) {
    full.hidden = false;
    full.addEventListener("click", () => document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
  }

  // Code that is folded is shown and hidden together, for those who read it.
  const code = find(".button.code"), folds = document.querySelectorAll("details.code");
  const unfold = (open) => {
    code.setAttribute("aria-pressed", open);
    for (const fold of folds) fold.open = open;
  };
  if (folds.length) {
    code.hidden = false;
    unfold(root.dataset.code === "shown");
    code.addEventListener("click", () => {
      const open = root.dataset.code !== "shown";
      if (open) root.dataset.code = "shown";
      else delete root.dataset.code;
      try { open ? localStorage.setItem("code", "shown") : localStorage.removeItem("code"); } catch { /* as above */ }
      unfold(open);
    });
  }

  // A guess comes before the answer: a box that asks for one says what is right, where more of it stands, and opens the answer
  // below, when it has it. It is kept in this browser. An answer that is folded is still found by the browser's own search, if
  // this knows "until-found", and opened by a link to something in it.
  document.querySelectorAll(".predict:has(.options):has(.where)").forEach((box, number) => {
    const place = `guess ${location.pathname.split("/").pop()} ${number + 1}`;
    const where = find(".where", box), directions = [...where.childNodes], lists = [...box.querySelectorAll(".options")];
    const none = lists.map(() => null);
    const answer = box.nextElementSibling?.matches(".the-answer") ? box.nextElementSibling : null;
    let skipped = false;
    let guesses = none;
    try { guesses = JSON.parse(localStorage.getItem(place)) ?? none; } catch { /* as above */ }
    const offered = lists.map((list) => [...list.children].map((option) => option.textContent.trim()));
    const right = lists.map((list) => find(".right", list)?.textContent.trim());
    const verdicts = lists.map((list) => {
      const verdict = document.createElement("p");
      verdict.className = "verdict";
      verdict.setAttribute("aria-live", "polite");
      list.after(verdict);
      return verdict;
    });
    const fits = guesses.length === lists.length && guesses.every((one, i) => one === null || offered[i].includes(one));
    if (!fits) guesses = none; // kept from when the box had other questions or options
    const button = (text, act) => {
      const node = document.createElement("button");
      node.type = "button";
      node.append(...text);
      node.addEventListener("click", act);
      return node;
    };
    const skip = button(["Skip the guess"], () => { reveal(!skipped); skip.focus(); });
    const reveal = (open) => { skipped = open; show(); };
    const show = () => {
      const known = !guesses.includes(null);
      lists.forEach((list, i) => list.querySelectorAll("button").forEach((option) => {
        option.setAttribute("aria-pressed", option.textContent.trim() === guesses[i]);
        option.disabled = known;
      }));
      verdicts.forEach((verdict, i) => { verdict.textContent = !known ? "" : guesses[i] === right[i] ? "✓ Right." : `✗ Not quite: the answer is “${right[i]}”.`; });
      const ask = `Choose, and the box says what is right${answer ? " and opens the answer below" : ""}.`;
      where.replaceChildren(...(known ? directions : [ask]));
      if (answer) {
        const open = known || skipped;
        if (open) answer.removeAttribute("hidden");
        else answer.setAttribute("hidden", "until-found");
        skip.textContent = open ? "Fold the answer" : "Skip the guess";
        skip.setAttribute("aria-expanded", open);
        where.append(...(known ? [" The short answer is open below."] : [" ", skip]));
      }
      if (known) where.append(" ", button(["Guess again"], () => guess(none)));
    };
    const guess = (now) => {
      [guesses, skipped] = [now, skipped && now !== none];
      try { localStorage.setItem(place, JSON.stringify(guesses)); } catch { /* as above */ }
      show();
      if (guesses === none) find("button", box).focus();
      else if (!guesses.includes(null)) find("a, button", where).focus();
    };
    lists.forEach((list, i) => {
      for (const item of list.children) {
        const option = button((item.querySelector(":scope > p") ?? item).childNodes, () => guess(guesses.map((known, j) => j === i ? option.textContent.trim() : known)));
        item.replaceChildren(option);
      }
    });
    where.setAttribute("aria-live", "polite");
    if (answer) {
      answer.id ||= `answer-${number + 1}`;
      skip.setAttribute("aria-controls", answer.id);
      answer.addEventListener("beforematch", () => reveal(true));
      const land = () => {
        const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
        if (!answer.hidden || !answer.contains(target)) return;
        reveal(true);
        target.scrollIntoView();
      };
      addEventListener("hashchange", land);
      requestAnimationFrame(land);
    }
    show();
    addEventListener("beforeprint", () => where.replaceChildren(...directions));
    addEventListener("afterprint", show);
  });
  delete root.dataset.answers; // from here on each box has its own

  // An answer that is a number or a few letters is judged here as `check` judges it in the notebook.
  const number = (text) => text.split("/").map(Number).reduce((above, below) => above / below);
  const numbers = (text) => text.replace(/[[\]()]/g, "").replace(/\s*%/g, "%").split(/[,;\s]+/).filter(Boolean)
    .map((one) => one.endsWith("%") ? number(one.slice(0, -1)) / 100 : number(one));
  const spelled = (text) => text.replace(/√/g, "sqrt").replace(/[\s,_"'()[\]-]/g, "").toLowerCase();
  const letters = (text) => /^[a-f]+$/.test(spelled(text));
  const judge = (given, { answer, form, tolerance, mistakes }) => {
    const text = given.trim().replace(/−/g, "-"), values = numbers(text);
    const same = (value) => typeof value === "string" ? spelled(text) === spelled(value)
      : [value].flat().length === values.length
        && [value].flat().every((one, i) => Math.abs(values[i] - one) <= 1e-9 + tolerance * Math.abs(one));
    if (same(answer)) return "✓ Right.";
    const known = mistakes.find(([mistake]) => same(mistake));
    if (known) return `✗ ${known[1]}`;
    if (typeof answer !== "string" && (values.length !== [answer].flat().length || values.some(Number.isNaN)))
      return `✗ The answer is ${form}.`;
    if (typeof answer === "string" && !(letters(answer) && letters(text))) return `✗ Not yet: ${text} is not the right answer. Expected: ${form}.`;
    if (typeof answer !== "number") return `✗ Not yet: ${text} is not the right answer.`;
    const near = Math.abs(values[0] - answer) <= Math.min(20 * tolerance, 0.2) * Math.abs(answer)
      ? `, by little: the answer is wanted to within ${tolerance} of itself` : "";
    return `✗ Not yet: ${text} is too ${values[0] > answer ? "large" : "small"}${near}.`;
  };
  for (const form of document.querySelectorAll("form.answer")) {
    form.hidden = false;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      find("output", form).textContent = judge(form.elements.given.value, JSON.parse(form.dataset.known));
    });
  }

  // On paper solutions stand at the end of the chapter, where nobody reads them while thinking about the exercise.
  const moved = [];
  addEventListener("beforeprint", () => {
    for (const article of document.querySelectorAll("article")) {
      const solutions = [...article.querySelectorAll("details")].filter((fold) => find("summary", fold).textContent === "Solution");
      if (!solutions.length) continue;
      const end = document.createElement("section");
      end.className = "solutions";
      end.id = `${article.id}solutions`;
      end.innerHTML = "<h2>Solutions</h2>";
      article.append(end);
      for (const solution of solutions) {
        const place = document.createElement("p");
        place.innerHTML = `<a href="#${end.id}">The solution is at the end of the chapter.</a>`;
        solution.replaceWith(place);
        const title = document.createElement("p"); // no heading: the exercise's is one, and a PDF has a bookmark for each
        title.className = "exercise";
        title.textContent = find("h2, h3", place.closest("section")).firstChild.textContent;
        end.append(title, solution);
        moved.push([place, solution]);
      }
    }
  });
  addEventListener("afterprint", () => {
    for (const [place, solution] of moved.splice(0)) place.replaceWith(solution);
    for (const end of document.querySelectorAll(".solutions")) end.remove();
  });

  // The chapters slide over the page on a narrow screen; without the script the button jumps to them, below the text.
  const menu = find(".button.menu"), chapters = find("#chapters");
  const show = (open) => {
    root.classList.toggle("menu-open", open);
    menu.setAttribute("aria-expanded", open);
    if (open) (find(".current > a", chapters) || find("a", chapters)).focus();
  };
  root.classList.add("scripted");
  menu.setAttribute("aria-expanded", "false");
  menu.setAttribute("aria-controls", "chapters");
  menu.addEventListener("click", (event) => { event.preventDefault(); show(!root.classList.contains("menu-open")); });
  menu.addEventListener("keydown", (event) => { if (event.key === " ") { event.preventDefault(); menu.click(); } });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && root.classList.contains("menu-open")) { show(false); menu.focus(); }
  });
  document.addEventListener("click", ({ target }) => {
    if (target.closest("#chapters a") || !target.closest("#chapters, .menu")) show(false);
  });

  for (const block of document.querySelectorAll("div.highlight")) {
    const button = document.createElement("button");
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(find("pre", block).innerText);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(find("pre", block));
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    block.append(button);
  }

  // The link of a heading copies its address as well.
  const notice = document.createElement("span");
  notice.className = "copied";
  notice.setAttribute("aria-live", "polite");
  find("main").append(notice);
  for (const link of document.querySelectorAll("article .headerlink")) {
    link.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(link.href);
      } catch { return; /* a page in a folder may have no clipboard; the address is in the bar */ }
      link.after(notice);
      notice.textContent = "Copied";
      setTimeout(() => { notice.textContent = ""; }, 2000);
    });
  }

  // What a link leads to stands in a card, and the cards in a script that comes when somebody first points at what has one. A tap
  // that is there before the script is its own.
  const pointing = ["pointerover", "focusin", "pointerdown"];
  let cards, finger = false;
  const point = ({ target, pointerType }) => {
    if (pointerType) finger = pointerType === "touch"; // a tap moves the focus, too
    if (cards || !target.closest?.("article :is(a.internal, math[data-symbol])")) return;
    cards = document.createElement("script");
    cards.src = `${root.dataset.content_root}cards.js`;
    const done = () => {
      for (const kind of pointing) document.removeEventListener(kind, point);
      document.removeEventListener("click", wait, true);
    };
    cards.onload = done;
    cards.onerror = () => { done(); window.tapped?.click(); };
    document.head.append(cards);
  };
  const wait = (event) => {
    const link = finger && cards && event.target.closest("article a.internal");
    if (!link) return;
    event.preventDefault();
    window.tapped = link;
  };
  for (const kind of pointing) document.addEventListener(kind, point);
  document.addEventListener("click", wait, true);

  const current = find(".current > a", chapters);
  if (current) requestAnimationFrame(() => { chapters.scrollTop = current.offsetTop - chapters.offsetTop - chapters.clientHeight / 3; });

  // What scrolls sideways is reached by the keyboard, too, and shows that there is more. It is measured where a page is laid out anyway.
  // Not only a box may change its size, but also what is in it, as where letters arrive late.
  const boxes = new Set(document.querySelectorAll("pre, .sdpa-table-wrap, .table-wrap, div.math, .formula, :is(p, dd):has(> math, > .together)"));
  const reach = new ResizeObserver((changes) => {
    const touched = changes.flatMap(({ target }) => [target, target.parentElement]).filter((box) => boxes.has(box));
    // Whether a table is wide is asked of it as it stands unpinned: else its pinned column, which is narrower, would answer for it.
    for (const box of touched) box.classList.remove("pinned", "scrolls");
    const wide = touched.map((box) => box.scrollWidth > box.clientWidth);
    touched.forEach((box, i) => box.classList.toggle("pinned", wide[i]));
    const scrolls = touched.map((box) => box.scrollWidth > box.clientWidth);
    touched.forEach((box, i) => {
      if (scrolls[i]) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
      box.classList.toggle("scrolls", scrolls[i]);
    });
  });
  for (const box of boxes) for (const part of [box, box.firstElementChild]) if (part) reach.observe(part);

  // Where the reader is, in the page's own contents.
  const links = document.querySelectorAll(".contents > ul > li > ul > li > a"); // those that are shown
  const entries = new Map([...links].map((a) => [a.hash.slice(1), a]));
  const inView = new Set();
  const seen = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) inView[isIntersecting ? "add" : "delete"](target.id);
    const here = [...entries.keys()].findLast((id) => inView.has(id)); // none above the first section
    for (const [id, a] of entries) {
      if (id === here) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  for (const id of entries.keys()) {
    const section = id && document.getElementById(id);
    if (section) seen.observe(section);
  }
})();
