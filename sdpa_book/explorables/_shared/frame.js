/**
 * The frame around an explorable: labelled controls, a sentence that screen readers hear, and a state that lives in the address,
 * #growth:d_k=64,p=0.5.
 *
 * An explorable is an object: `title`, `prompt`, one sentence that says what to do, `controls` (see `addControl`), `panels` [name, title,
 * height, margin], and `update(app)`, which draws app.state into app.panels and returns `sentence`, the answer, which is shown and
 * announced, and may return another `prompt` for that state. `hint` {target} says what a reader can move first: a ring pulses three times
 * around what the selector `target` finds, a slider's thumb, a handle, a box or a letter. `forget(app)` clears what it kept of the reader's
 * way, before Reset; `also(changes, app)` returns what else changes when the reader changes that. The controls that `shares` names
 * stand alike in all figures of a page that share them, whichever is moved, and in those that come later. With `beside` the controls stand beside
 * the panels where there is room, with `below` under them; the answer stands last, or after the panel that `answerAfter` names.
 */
import * as d3 from "./d3.js";
import { addButtons, element, rich, show3, wantsCalm } from "./shared.js";

/** A value that a control can have, nearest to the one asked for; its default where that is none. */
function admissible(control, asked) {
  if (control.options) return asked in control.options ? asked : control.value;
  const x = Number(asked);
  if (asked === "" || !Number.isFinite(x)) return control.value;
  if (control.values)
    return control.values.reduce((best, v) => (Math.abs(v - x) < Math.abs(best - x) ? v : best));
  const stepped =
    Math.round(Math.min(control.max, Math.max(control.min, x)) / control.step) * control.step;
  return Number(stepped.toFixed(6));
}

const defaults = (spec) =>
  Object.fromEntries(spec.controls.map((control) => [control.name, control.value]));

/** What the page's figures share, by the names of controls, as it was last set; and those figures. */
const common = {};
const sharing = [];

/** Of that, what is shared by a figure that shares these. */
const inCommon = ({ shares = [] }) =>
  Object.fromEntries(Object.entries(common).filter(([name]) => shares.includes(name)));

/** Let all others follow where one of them stands. */
function share(app) {
  const news = app.shares.filter((name) => common[name] !== app.state[name]);
  for (const name of news) common[name] = app.state[name];
  if (news.length)
    for (const other of sharing.filter((other) => other !== app)) other.follow(inCommon(other));
}

const toHash = (name, state) =>
  `#${name}:${Object.entries(state)
    .map((pair) => pair.map(encodeURIComponent).join("="))
    .join(",")}`;

/** The state that an address names for this explorable, or null if it names none. */
function fromHash(name, spec) {
  const { hash } = location;
  if (!hash.startsWith(`#${name}:`)) return null;
  const pairs = hash
    .slice(name.length + 2)
    .split(",")
    .map((pair) => pair.split("=").map(decodeURIComponent));
  const asked = Object.fromEntries(pairs);
  return Object.fromEntries(
    spec.controls.map((c) => [c.name, c.name in asked ? admissible(c, asked[c.name]) : c.value]),
  );
}

/**
 * A labelled control. `{name, label, value}` and one of: `options` {value: text}, with `buttons` a button for each, or with `check` two of
 * which a box that is ticked means the second; `values`, a slider over these numbers; `min, max, step`, a slider between. `text` turns a
 * value into what is shown; `marks` are words under a slider, at equal distances from its beginning to its end. With `drawn` the control
 * is part of the drawing, which calls app.set itself. `group` is what this control and those behind it change: it stands before them,
 * where there is room.
 */
function addControl(app, parent, control) {
  if (control.drawn) return;
  if (control.buttons) return void addChoice(app, parent, control);
  const id = `explorable-${app.name}-${control.name}`;
  if (control.group) {
    app.group = `${id}-group`;
    parent.classList.add("explorable-grouped");
    parent.append(element("p", { class: "explorable-group", id: app.group }, control.group));
  }
  const text = control.text ?? ((value) => show3(value));
  const label = element("label", { for: id }, rich(control.label));
  const box = element("div", { class: "explorable-control" }, label);
  let input;
  if (control.check) {
    const [off, on] = Object.keys(control.options);
    input = element("input", { id, type: "checkbox" });
    input.addEventListener("change", () => app.set({ [control.name]: input.checked ? on : off }));
    app.synchronise.push(() => (input.checked = app.state[control.name] === on));
    box.classList.add("explorable-check");
    box.prepend(input);
  } else {
    const { values, marks } = control;
    const [min, max, step] = values
      ? [0, values.length - 1, 1]
      : [control.min, control.max, control.step];
    input = element("input", { id, type: "range", min, max, step });
    const output = element("output", { for: id });
    input.addEventListener("input", () =>
      app.set({
        [control.name]: values ? values[input.value] : Number(input.value),
      }),
    );
    // A finger that turns out to scroll the page has moved nothing.
    let before;
    input.addEventListener("pointerdown", () => (before = app.state[control.name]));
    input.addEventListener("pointercancel", () => app.set({ [control.name]: before }));
    app.synchronise.push(() => {
      const value = app.state[control.name];
      input.value = values ? values.indexOf(value) : value;
      input.setAttribute("aria-valuetext", text(value));
      output.textContent = text(value);
    });
    box.append(output, input);
    if (marks) {
      const words = marks.map((mark) => element("span", {}, mark));
      box.append(element("div", { class: "explorable-marks", "aria-hidden": "true" }, ...words));
    }
  }
  if (app.group) input.setAttribute("aria-describedby", app.group);
  parent.append(box);
}

/** A button for each option, of which one is pressed. */
function addChoice(app, parent, { name, label, options }) {
  const values = Object.keys(options);
  const choices = values.map((value) => [options[value], () => app.set({ [name]: value })]);
  const buttons = addButtons(parent, label, choices);
  app.synchronise.push(() =>
    values.forEach((value, i) =>
      buttons[i].setAttribute("aria-pressed", value === app.state[name]),
    ),
  );
}

/** A drawing area that follows the width it is given. */
function addPanel(app, parent, [name, title, height, margin]) {
  const svg = d3
    .select(document.createElementNS("http://www.w3.org/2000/svg", "svg"))
    .attr("height", height);
  const heading = element("p", { class: "explorable-panel-title" }, rich(title));
  const box = element(
    "div",
    { class: "explorable-panel", "data-panel": name },
    heading,
    svg.node(),
  );
  parent.append(box);
  let width = 320; // px, of a drawing that has not been seen yet
  app.panels[name] = {
    svg,
    height,
    natural: height,
    heading,
    margin: { top: 22, right: 12, bottom: 40, left: 40, ...margin },
    /** That of the box, or the last that it had where it is not shown, as on paper: a drawing needs room for its margins. */
    get width() {
      return (width = box.clientWidth || width);
    },
    /** What the drawing shows, for those who do not see it; `role` "group" where it holds handles. */
    describe(text, role = "img") {
      svg.attr("role", role).attr("aria-label", text);
    },
    /** Ranges of the inner area: [left, right] and [bottom, top]. */
    get xRange() {
      return [this.margin.left, this.width - this.margin.right];
    },
    get yRange() {
      this.follows = true; // the height that it has now
      return [this.height - this.margin.bottom, this.margin.top];
    },
  };
}

/** Put an explorable in the place of a figure's picture; where it stands already, bring it to the state of the address. */
export function start(figure, spec) {
  const name = figure.dataset.explorable;
  if (figure.explorable) {
    figure.explorable.readAddress();
    return;
  }
  const app = (figure.explorable = {
    name,
    state: defaults(spec),
    shares: spec.shares ?? [],
    panels: {},
    synchronise: [],
    memory: {},
  });

  const controls = (app.controls = element("div", {
    class: "explorable-controls",
  }));
  const panels = element("div", { class: "explorable-panels" });
  if (spec.panelWidth) panels.style.setProperty("--ex-panel-width", spec.panelWidth);
  const spoken = element("div", {
    class: "explorable-spoken",
    "aria-live": "polite",
    role: "status",
  });
  const link = element("a", {}, "Link to this setting");
  const { alone, chapter } = figure.dataset; // this figure's page for lectures, or there its chapter; a notebook has no address for either
  const addressed = Boolean(alone ?? chapter);
  const other = element("a", {}, alone ? "For a lecture" : "Back to the chapter");
  const reset = element("button", { type: "button" }, "Reset");
  const title = element(
    "p",
    { class: "explorable-title", id: `explorable-${name}-title` },
    rich(spec.title),
  );
  const prompt = element("p", { class: "explorable-prompt" });
  const answer = element("p", { class: "explorable-sentence" });
  const box = element("div", {
    class: "explorable-app",
    role: "group",
    "aria-labelledby": title.id,
  });
  if (spec.beside) box.classList.add("explorable-beside");
  box.append(
    title,
    prompt,
    ...(spec.below ? [panels, controls] : [controls, panels]),
    answer,
    element("div", { class: "explorable-foot" }, ...(addressed ? [link, other] : []), reset),
    spoken,
  );

  let frame = 0;
  let timer = 0;
  const draw = () => {
    frame = 0;
    app.synchronise.forEach((synchronise) => synchronise());
    const { sentence = "", prompt: task = spec.prompt ?? "" } = spec.update(app);
    prompt.replaceChildren(rich(task));
    answer.replaceChildren(rich(sentence));
    link.href = toHash(name, app.state);
    other.href = (alone ?? chapter) + link.getAttribute("href");
    app.placeHint?.();
    figure.dataset.state = link.getAttribute("href");
    app.sentence = sentence
      .replaceAll(/[_^{}]/g, " ")
      .replaceAll("  ", " ")
      .trim();
  };
  const redraw = (app.redraw = () => (frame ||= requestAnimationFrame(draw)));
  /** Draw now what waits for the next frame: a key that follows fast moves on from what the last one set. */
  app.settle = () => {
    if (!frame) return;
    cancelAnimationFrame(frame);
    draw();
  };

  /** Speak, and write the address, once nothing moves any more. */
  const conclude = () => {
    if (frame) {
      timer = setTimeout(conclude, 100);
      return;
    }
    spoken.textContent = app.sentence;
    if (addressed) history.replaceState(history.state, "", toHash(name, app.state));
  };

  /** Change some of the state, and redraw. */
  app.follow = (asked) => {
    const changes = { ...spec.also?.(asked, app), ...asked };
    for (const control of spec.controls) {
      if (control.name in changes)
        app.state[control.name] = admissible(control, changes[control.name]);
    }
    redraw();
  };

  /** The same for the reader: other figures follow at once, and this one concludes when the reader pauses. */
  app.set = (asked) => {
    app.follow(asked);
    share(app);
    clearTimeout(timer);
    timer = setTimeout(conclude, 500);
  };

  app.readAddress = () => {
    const asked = fromHash(name, spec);
    if (!asked) return;
    Object.assign(app.state, asked);
    share(app);
    redraw();
    const calm = wantsCalm();
    figure.scrollIntoView({
      behavior: calm ? "auto" : "smooth",
      block: "start",
    });
  };

  if (app.shares.length) {
    sharing.push(app);
    app.follow(inCommon(app));
  }
  for (const control of spec.controls) addControl(app, controls, control);
  reset.addEventListener("click", () => {
    spec.forget?.(app);
    app.set(defaults(spec));
  });
  const still = figure.querySelector(".explorable-static");
  if (still) {
    still.hidden = true;
    still.before(box);
  } else figure.prepend(box);
  spec.panels.forEach((panel) => addPanel(app, panels, panel));
  if (spec.answerAfter) panels.querySelector(`[data-panel=${spec.answerAfter}]`).after(answer);
  draw();
  new ResizeObserver(redraw).observe(panels);
  const inSlide = chapter && new URLSearchParams(location.search).has("slide");
  if (inSlide) serveSlide(figure);
  else if (spec.hint && !wantsCalm() && !fromHash(name, spec))
    showHint(app, figure, box, spec.hint);
  if (chapter) fillScreen(app, figure, inSlide);
  app.readAddress();
}

const THUMB = 16; // px, of a slider

/** A ring around what can be moved: it pulses once that is in view, and goes for good after three times or at the first touch. */
function showHint(app, figure, box, { target }) {
  const ring = element("span", {
    class: "explorable-hint",
    "aria-hidden": "true",
  });
  const place = () => {
    const part = box.querySelector(target);
    ring.hidden = !part;
    if (!part) return;
    const framed = part.querySelector(".ring") ?? part;
    const at = framed.getBoundingClientRect();
    const around = box.getBoundingClientRect();
    const zoom = around.width / box.offsetWidth; // on a page of its own
    let [left, width, height] = [at.left - around.left, at.width, at.height].map((x) => x / zoom);
    const middle = (at.top - around.top) / zoom + height / 2;
    const { type, value, min, max } = part;
    if (type === "range") {
      left += ((value - min) / (max - min)) * (width - THUMB);
      width = THUMB;
    }
    if (type === "range" || type === "checkbox") height = width; // a box or a thumb is as high as wide, its element higher
    const by = part === framed ? 5 : 0; // a handle's own ring stands off already
    const sides = {
      left: left - by,
      top: middle - height / 2 - by,
      width: width + 2 * by,
      height: height + 2 * by,
    };
    for (const [side, length] of Object.entries(sides)) ring.style[side] = `${length}px`;
    ring.style.borderRadius = Math.abs(width - height) < 4 && type !== "checkbox" ? "50%" : "7px";
  };
  const seen = new IntersectionObserver(
    ([{ isIntersecting }]) => isIntersecting && ring.classList.add("explorable-pulse"),
    { threshold: 1 },
  );
  const resized = new ResizeObserver(place);
  const stop = () => {
    ring.remove();
    seen.disconnect();
    resized.disconnect();
    app.placeHint = null;
  };
  ring.addEventListener("animationend", stop);
  for (const event of ["pointerdown", "keydown", "input"])
    figure.addEventListener(event, stop, { once: true, capture: true });
  box.append(ring);
  app.placeHint = place;
  resized.observe(box);
  seen.observe(ring);
}

/** A presenter's keys, and a clicker's. */
const TURNS = /^(Arrow\w+|Page\w+|Home|End|Escape|[ .b])$/;

/** In a slide what one presses keeps no focus, and keys that turn slides go to reveal.js, unless the reader came to a control by Tab. */
function serveSlide(figure) {
  figure.classList.add("in-slide");
  const free = () =>
    setTimeout(() => {
      document.activeElement.blur();
      parent.focus();
    });
  for (const event of ["pointerup", "click"]) figure.addEventListener(event, free);
  addEventListener("keydown", (event) => {
    const { key, keyCode: code, target } = event;
    const used = event.defaultPrevented || target.matches("input, button");
    if (!TURNS.test(key) || (used && !key.startsWith("Page"))) return;
    event.preventDefault();
    parent.postMessage(JSON.stringify({ method: "triggerKey", args: [code] }), "*");
    free();
  });
}

/** On a page of its own a figure gets the width at which it can be magnified most, and fills the window; a slide wants its letters large. */
function fillScreen(app, figure, inSlide) {
  const [across, down] = [() => innerWidth - (inSlide ? 72 : 16), () => innerHeight - 16];
  const height = () => figure.getBoundingClientRect().height;
  const magnified = (width) => {
    figure.style.width = `${width}px`;
    return Math.min(across() / width, down() / height());
  };
  const stretch = (panel, by) => panel.svg.attr("height", (panel.height = panel.natural + by));
  /** Drawings as low as letters of a slide need, which is 1280 px wide. */
  const lower = () => {
    const panels = Object.values(app.panels).filter(({ follows }) => follows);
    panels.forEach((panel) => stretch(panel, 0));
    const zoom = (1.4 * innerWidth) / 1280;
    figure.style.width = `${across() / zoom}px`;
    const rows = new Set(panels.map(({ heading }) => heading.offsetTop)).size;
    const over = Math.max(0, height() - down() / zoom) / rows;
    panels.forEach((panel) => stretch(panel, -Math.min(over, 0.35 * panel.natural)));
    app.redraw();
  };
  const fit = () => {
    figure.style.zoom = 1;
    if (inSlide) lower();
    const widths = [700, 900, 1100, 1300, 1600].filter((width) => width <= across());
    if (!widths.length) return void (figure.style.width = "");
    const most = Math.max(1, ...widths.map(magnified));
    figure.style.width = `${across() / most}px`;
    figure.style.zoom = most;
  };
  addEventListener("resize", fit);
  new ResizeObserver(fit).observe(figure.querySelector(".explorable-app")); // data may come late
}
