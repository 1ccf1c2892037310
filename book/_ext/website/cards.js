// Cards: what a link leads to, or what a symbol stands for, where the reader points. site.js loads this when somebody first does.
"use strict";
(() => {
  const { cards, notation } = DATA;
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const HAVE = "article a.internal, article math[data-symbol]";
  const card = document.createElement("div");
  card.id = "card";
  card.hidden = true;
  document.querySelector("main").append(card);
  let current = null; // the link or symbol whose card is there
  let timer, touched = false;

  /** What has a card at a place of the page, and the address that it leads to. */
  const pointed = (target) => {
    const subject = target?.closest?.(HAVE);
    if (!subject || subject.closest("h1, h2, h3, summary, button, .headerlink") || (subject.localName === "math" && subject.closest("a"))) return null;
    if (subject.localName === "a" && subject.pathname === location.pathname && !/^#(figure|table|term|symbol)-/.test(subject.hash)) return null;
    return cards[address(subject)] ? subject : null;
  };
  const address = (subject) => subject.localName === "math" ? notation + "#" + subject.dataset.symbol
    : decodeURI(new URL(subject.href, location.href).href.slice(root.href.length));

  /** The picture or the short table of a figure that stands on this page. */
  const onPage = (id) => {
    const there = id && document.getElementById(id), figure = there?.closest("figure");
    const whole = figure ? figure.querySelector("picture, img, svg") : there?.localName === "table" && there.rows.length < 10 ? there : null;
    const copy = whole?.cloneNode(true);
    for (const one of copy ? [copy, ...copy.querySelectorAll("*")] : []) one.removeAttribute("id");
    copy?.querySelector("caption")?.remove();
    copy?.classList.remove("explorable-static");
    return copy;
  };

  const fill = (subject, byTouch) => {
    const to = address(subject), { title, text, picture, src } = cards[to];
    const [page, id] = to.split("#"), here = new URL(page, root).pathname === location.pathname;
    card.innerHTML = (title ? `<p class="name">${title}</p>` : "") + `<p>${text}</p>`;
    const drawn = here ? onPage(id) : null;
    if (drawn) card.prepend(drawn);
    else if (picture) {
      card.insertAdjacentHTML("afterbegin", picture);
      card.firstChild.src = new URL(src, root).href;
    }
    for (const image of card.querySelectorAll("img")) [image.alt, image.loading] = ["", "eager"];
    for (const link of card.querySelectorAll("a")) link.tabIndex = byTouch ? 0 : -1; // a tooltip has no place to stop at
    if (byTouch) {
      const go = document.createElement("a");
      go.href = new URL(to, root).href;
      go.textContent = "Go there";
      go.className = "go";
      card.append(go);
    }
    card.setAttribute("role", byTouch ? "dialog" : "tooltip");
    byTouch ? card.setAttribute("aria-label", "About this") : card.removeAttribute("aria-label");
  };

  /** Below what it describes, or above where there is more room: never over it. */
  const place = (subject, x) => {
    const margin = 8, gap = 6, bar = document.querySelector(".bar").offsetHeight;
    const { top, bottom, left } = subject.getBoundingClientRect(), wide = document.documentElement.clientWidth;
    card.style.cssText = "";
    const below = innerHeight - bottom - gap - margin, above = top - bar - gap - margin;
    const under = below >= Math.min(card.offsetHeight, 320) || below >= above;
    card.style.maxHeight = `${Math.max(under ? below : above, 96)}px`;
    const start = Math.min(Math.max((x ?? left) - 24, margin), wide - card.offsetWidth - margin);
    card.style.left = `${start + scrollX}px`;
    card.style.top = `${scrollY + (under ? bottom + gap : top - gap - card.offsetHeight)}px`;
  };

  const hide = () => {
    clearTimeout(timer);
    current?.removeAttribute("aria-describedby");
    current = null;
    card.hidden = true;
  };
  const show = (subject, { byTouch = false, x } = {}) => {
    if (current === subject) return;
    hide();
    current = subject;
    subject.removeAttribute("title"); // the browser's own tooltip would stand over the card
    fill(subject, byTouch);
    card.hidden = false;
    place(subject, x);
    for (const image of card.querySelectorAll("img")) if (!image.complete) image.onload = () => current === subject && place(subject, x);
    if (!byTouch) subject.setAttribute("aria-describedby", "card");
  };
  const later = (act, wait) => {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  };

  document.addEventListener("pointerover", ({ target, pointerType, clientX }) => {
    if (pointerType === "touch") return;
    const subject = pointed(target);
    if (subject && subject !== current) later(() => show(subject, { x: clientX }), 180);
    else if (subject || card.contains(target)) clearTimeout(timer);
    else later(() => current === document.activeElement || hide(), 250);
  });
  document.addEventListener("focusin", ({ target }) => {
    const subject = pointed(target);
    if (subject && !touched && target.matches(":focus-visible")) show(subject);
    else if (!card.contains(target)) hide();
  });
  document.addEventListener("keydown", ({ key }) => { if (key === "Escape") hide(); });
  addEventListener("resize", hide);
  addEventListener("beforeprint", hide);

  // A finger: the first tap shows the card, a second one, or "Go there", follows the link.
  document.addEventListener("pointerdown", ({ pointerType }) => { touched = pointerType === "touch"; }, true);
  const tap = (event, subject) => {
    if (!subject) {
      if (!card.contains(event.target) || event.target.closest("a")) hide();
    } else if (subject !== current) {
      event.preventDefault();
      show(subject, { byTouch: true });
    }
  };
  document.addEventListener("click", (event) => {
    if (touched) tap(event, pointed(event.target));
    else if (event.target.closest("a")) hide();
    else if (pointed(event.target)) show(pointed(event.target), { x: event.clientX }); // a symbol
  }, true);

  // What the reader pointed at while this was loading.
  const { tapped } = window;
  if (tapped) {
    touched = true;
    const subject = pointed(tapped);
    if (subject) show(subject, { byTouch: true });
    else tapped.closest("a")?.click();
  } else {
    const subject = pointed([...document.querySelectorAll("article :hover")].at(-1)) ?? pointed(document.activeElement);
    if (subject && (subject !== document.activeElement || subject.matches(":focus-visible"))) show(subject);
  }
})();
