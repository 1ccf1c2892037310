/**
 * The five explorables, and what they share: labelled controls, readouts that screen readers hear, and a state that lives in the
 * address, #growth:d_k=64,p=0.5. A classic script: it needs d3Explore and AttentionMath and sets `window.Explorables`.
 *
 * An explorable is an object: `title`, `controls` (see `addControl`), `readouts` [name, label, digits], `panels` [name, title,
 * height], and `update(app)`, which draws app.state into app.panels and returns the readouts' values and a sentence to announce.
 */
(function () {
  "use strict";

  const d3 = window.d3Explore;
  const math = window.AttentionMath;

  // ---------------------------------------------------------------- names, numbers, colours

  const DISTRIBUTION_LABELS = {
    normal: "normal",
    uniform: "uniform",
    rademacher: "Rademacher (±1)",
    laplace: "Laplace",
    student_t: "Student's t, 10 degrees",
  };

  const RESCALING_LABELS = {
    none: "1 (none)",
    sqrt_d_k: "√d_k",
    d_k: "d_k",
    k_total: "k_total",
    k_mean: "k_mean",
    k_rss: "k_rss",
    k_norm_4: "k_norm_4",
    n_sqrt_d_k: "n√d_k",
  };

  const SYMBOLS = {
    none: d3.symbolCircle,
    sqrt_d_k: d3.symbolSquare,
    d_k: d3.symbolTriangle,
    k_total: d3.symbolDiamond,
    k_mean: d3.symbolTriangle, // upside down
    k_rss: d3.symbolCross,
    k_norm_4: d3.symbolTimes,
    n_sqrt_d_k: d3.symbolStar,
  };

  const DASHES = { d_k: "6 4", k_mean: "6 4", k_rss: "8 3 2 3", k_norm_4: "2 3", n_sqrt_d_k: "6 4" };

  const colour = (name) => `var(--ex-${name})`;

  /** A number for reading: so many decimals, or a power of ten where they would show none of it; a true minus sign. */
  function show(x, digits = 2) {
    if (!Number.isFinite(x)) return "∞";
    const small = x !== 0 && Math.abs(x) < 0.5 * 10 ** -digits;
    if (small || Math.abs(x) >= 1e5) {
      const [mantissa, exponent] = x.toExponential(1).split("e");
      return `${mantissa}·10${superscript(Number(exponent))}`.replace("-", "−");
    }
    const text = x.toFixed(digits);
    return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−");
  }

  /** Three significant digits at any size. */
  const show3 = (x) => show(x, Math.max(0, 2 - Math.floor(Math.log10(Math.max(Math.abs(x), 0.001)))));

  const superscript = (exponent) => String(exponent).replace(/./g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));

  /** Counts with commas: 131,072. */
  const showCount = d3.format(",");

  // ---------------------------------------------------------------- pieces of a page

  /** An element with attributes and children; text may hold <i>, <sub> and <sup> through `rich`. */
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  /** "d_k^p" as nodes with sub- and superscripts; braces hold what is longer than a word. */
  function rich(text) {
    const nodes = document.createDocumentFragment();
    for (const [, plain, mark, braced, word] of text.matchAll(/([^_^]+)|([_^])(?:\{([^}]*)\}|(\w+))/g)) {
      nodes.append(plain ?? element(mark === "_" ? "sub" : "sup", {}, braced ?? word));
    }
    return nodes;
  }

  /** The same within an SVG text: the first "_" of a name lowers the rest of it. */
  function richText(text, content) {
    const [head, ...tail] = content.split("_");
    text.text(head);
    if (tail.length) text.append("tspan").attr("dy", 3).attr("font-size", "75%").text(tail.join(" "));
    return text;
  }

  /** The child <tag class=name> of a D3 selection, made if it is not there yet, so that drawing again keeps the focus. */
  function layer(parent, name, tag = "g") {
    const found = parent.select(`${tag}.${name}`);
    return found.empty() ? parent.append(tag).attr("class", name) : found;
  }

  /** As `layer`, and empty: for what no one can focus. */
  function fresh(parent, name) {
    const group = layer(parent, name);
    group.selectAll("*").remove();
    return group;
  }

  /** Axes with labels and a light grid. Options: x, y (scales), xLabel, yLabel, xTicks, yTicks (counts or values), formats. */
  function axes(panel, { x, y, xLabel, yLabel, xTicks = 5, yTicks = 5, xFormat, yFormat }) {
    const group = fresh(panel.svg, "axes");
    const draw = (axis, ticks, shape) => (Array.isArray(ticks) ? axis.tickValues(ticks) : axis.ticks(ticks)).tickFormat(shape).tickSizeOuter(0);
    const [left, right] = x.range();
    const [bottom, top] = y.range();
    if (yTicks !== 0) {
      const drawn = group.append("g").attr("class", "axis").attr("transform", `translate(${left},0)`);
      drawn.call(draw(d3.axisLeft(y), yTicks, yFormat).tickSize(4).tickPadding(4));
      drawn.selectAll(".tick").append("line").attr("class", "grid").attr("x2", right - left);
    }
    const drawn = group.append("g").attr("class", "axis").attr("transform", `translate(0,${bottom})`);
    drawn.call(draw(d3.axisBottom(x), xTicks, xFormat));
    if (xLabel) richAxisLabel(group, xLabel, (left + right) / 2, bottom + 34).attr("text-anchor", "middle");
    if (yLabel) richAxisLabel(group, yLabel, left - panel.margin.left + 2, top - 8);
    return group;
  }

  function richAxisLabel(group, text, x, y) {
    return richText(group.append("text").attr("class", "axis-label").attr("x", x).attr("y", y), text);
  }

  /** A rescaling's marker at (x, y). */
  function marker(parent, name, x, y, size = 70) {
    const turn = name === "k_mean" ? " rotate(180)" : "";
    return parent
      .append("path")
      .attr("d", d3.symbol(SYMBOLS[name], size)())
      .attr("transform", `translate(${x},${y})${turn}`)
      .style("fill", name === "k_norm_4" ? "none" : colour(name))
      .style("stroke", colour(name))
      .style("stroke-width", name === "k_norm_4" ? 2.5 : 1);
  }

  /** An arrow along a line, its head at the end. */
  function arrow(parent, [x1, y1], [x2, y2], stroke, width) {
    const length = Math.hypot(x2 - x1, y2 - y1);
    if (length < 1) return;
    const head = Math.min(4 + 2 * width, length);
    const [ux, uy] = [(x2 - x1) / length, (y2 - y1) / length];
    const [bx, by] = [x2 - head * ux, y2 - head * uy];
    parent.append("line").attr("x1", x1).attr("y1", y1).attr("x2", bx).attr("y2", by).style("stroke", stroke).style("stroke-width", width);
    const half = head * 0.45;
    const points = [[x2, y2], [bx - half * uy, by + half * ux], [bx + half * uy, by - half * ux]];
    parent.append("path").attr("d", `M${points.join("L")}Z`).style("fill", stroke);
  }

  // ---------------------------------------------------------------- state

  const powersOfTwo = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => 2 ** (first + i));

  /** A value that a control can have, nearest to the one asked for; its default where that is none. */
  function admissible(control, asked) {
    if (control.options) return asked in control.options ? asked : control.value;
    const x = Number(asked);
    if (asked === "" || !Number.isFinite(x)) return control.value;
    if (control.values) return control.values.reduce((best, v) => (Math.abs(v - x) < Math.abs(best - x) ? v : best));
    const stepped = Math.round(Math.min(control.max, Math.max(control.min, x)) / control.step) * control.step;
    return Number(stepped.toFixed(6));
  }

  const defaults = (spec) => Object.fromEntries(spec.controls.map((control) => [control.name, control.value]));

  const toHash = (name, state) => `#${name}:${Object.entries(state).map((pair) => pair.join("=")).join(",")}`;

  /** The state that an address names for this explorable, or null if it names none. */
  function fromHash(name, spec) {
    const hash = decodeURIComponent(location.hash);
    if (!hash.startsWith(`#${name}:`)) return null;
    const asked = Object.fromEntries(hash.slice(name.length + 2).split(",").map((pair) => pair.split("=")));
    return Object.fromEntries(spec.controls.map((c) => [c.name, c.name in asked ? admissible(c, asked[c.name]) : c.value]));
  }

  // ---------------------------------------------------------------- the frame around an explorable

  /**
   * A labelled control. `{name, label, value}` and one of: `options` {value: text}, a list to choose from; `values`, a slider over
   * these numbers; `min, max, step`, a slider between. `text` turns a value into what is shown. With `drawn` the control is part of
   * the drawing, which calls app.set itself.
   */
  function addControl(app, parent, control) {
    if (control.drawn) return;
    const id = `explorable-${app.name}-${control.name}`;
    const text = control.text ?? ((value) => show3(value));
    const label = element("label", { for: id }, rich(control.label));
    const box = element("div", { class: "explorable-control" }, label);
    let input;
    if (control.options) {
      const choices = Object.entries(control.options).map(([value, shown]) => element("option", { value }, shown));
      input = element("select", { id }, ...choices);
      input.addEventListener("change", () => app.set({ [control.name]: input.value }));
      app.synchronise.push(() => (input.value = app.state[control.name]));
      box.append(input);
    } else {
      const { values } = control;
      const [min, max, step] = values ? [0, values.length - 1, 1] : [control.min, control.max, control.step];
      input = element("input", { id, type: "range", min, max, step });
      const output = element("output", { for: id });
      input.addEventListener("input", () => app.set({ [control.name]: values ? values[input.value] : Number(input.value) }));
      app.synchronise.push(() => {
        const value = app.state[control.name];
        input.value = values ? values.indexOf(value) : value;
        input.setAttribute("aria-valuetext", text(value));
        output.textContent = text(value);
      });
      box.append(output, input);
    }
    parent.append(box);
  }

  /** A drawing area that follows the width it is given. */
  function addPanel(app, parent, [name, title, height, margin]) {
    const svg = d3.select(document.createElementNS("http://www.w3.org/2000/svg", "svg")).attr("height", height);
    const heading = element("p", { class: "explorable-panel-title" }, rich(title));
    const box = element("div", { class: "explorable-panel", "data-panel": name }, heading, svg.node());
    parent.append(box);
    app.panels[name] = {
      svg,
      height,
      heading,
      margin: { top: 22, right: 12, bottom: 40, left: 40, ...margin },
      get width() {
        return Math.max(200, box.clientWidth);
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
        return [height - this.margin.bottom, this.margin.top];
      },
    };
  }

  function start(figure) {
    const name = figure.dataset.explorable;
    const spec = registry[name];
    if (!spec) return;
    if (figure.explorable) {
      figure.explorable.readAddress();
      return;
    }
    const app = (figure.explorable = { name, state: defaults(spec), panels: {}, synchronise: [], memory: {} });

    const controls = element("div", { class: "explorable-controls" });
    const panels = element("div", { class: "explorable-panels" });
    if (spec.panelWidth) panels.style.setProperty("--ex-panel-width", spec.panelWidth);
    const readouts = element("dl", { class: "explorable-readouts" });
    const spoken = element("div", { class: "explorable-spoken", "aria-live": "polite", role: "status" });
    const link = element("a", {}, "Link to this setting");
    const reset = element("button", { type: "button" }, "Reset");
    app.formula = element("p", { class: "explorable-formula" });
    app.extra = element("div");
    const title = element("p", { class: "explorable-title", id: `explorable-${name}-title` }, rich(spec.title));
    const box = element("div", { class: "explorable-app", role: "group", "aria-labelledby": title.id });
    box.append(title, controls, panels, app.formula, readouts, app.extra, element("div", { class: "explorable-foot" }, link, reset), spoken);

    const shown = {};
    for (const [key, label] of spec.readouts) {
      shown[key] = element("dd", { "data-readout": key });
      readouts.append(element("div", {}, element("dt", {}, rich(label)), shown[key]));
    }

    let frame = 0;
    let timer = 0;
    const draw = () => {
      frame = 0;
      app.synchronise.forEach((synchronise) => synchronise());
      const { values, spoken: sentence } = spec.update(app);
      for (const [key, , digits] of spec.readouts) {
        shown[key].textContent = typeof values[key] === "string" ? values[key] : digits === undefined ? show3(values[key]) : show(values[key], digits);
        shown[key].dataset.value = values[key];
      }
      link.href = toHash(name, app.state);
      figure.dataset.state = link.getAttribute("href");
      app.sentence = sentence;
    };
    const redraw = () => (frame ||= requestAnimationFrame(draw));

    /** Change some of the state: redraw at once; speak, and write the address, when the reader pauses. */
    app.set = (changes) => {
      for (const control of spec.controls) {
        if (control.name in changes) app.state[control.name] = admissible(control, changes[control.name]);
      }
      redraw();
      clearTimeout(timer);
      timer = setTimeout(() => {
        spoken.textContent = app.sentence;
        history.replaceState(history.state, "", toHash(name, app.state));
      }, 500);
    };

    app.readAddress = () => {
      const asked = fromHash(name, spec);
      if (!asked) return;
      Object.assign(app.state, asked);
      redraw();
      const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
      figure.scrollIntoView({ behavior: calm ? "auto" : "smooth", block: "start" });
    };

    spec.controls.forEach((control) => addControl(app, controls, control));
    reset.addEventListener("click", () => app.set(defaults(spec)));
    const still = figure.querySelector(".explorable-static");
    if (still) {
      still.hidden = true;
      still.before(box);
    } else figure.prepend(box);
    spec.panels.forEach((panel) => addPanel(app, panels, panel));
    draw();
    new ResizeObserver(redraw).observe(panels);
    app.readAddress();
  }

  // ---------------------------------------------------------------- 1. growth

  const growth = {
    title: "Dot products grow: their distribution, raw and divided by d_k^p",
    controls: [
      { name: "d_k", label: "d_k, components of a query and a key", values: powersOfTwo(0, 9), value: 64, text: String },
      { name: "p", label: "p, the power of d_k that divides", min: 0, max: 1, step: 0.05, value: 0.5, text: (p) => p.toFixed(2) },
      { name: "components", label: "distribution of the components", options: DISTRIBUTION_LABELS, value: "normal" },
    ],
    readouts: [
      ["raw_std", "std of q·k, raw"],
      ["std", "std, divided"],
      ["variance", "variance, divided"],
      ["kurtosis", "excess kurtosis"],
    ],
    panels: [
      ["raw", "q·k, raw", 220, { left: 46 }],
      ["divided", "q·k / d_k^p", 220, { left: 46 }],
    ],
    update(app) {
      const { d_k: dK, p, components } = app.state;
      const raw = math.dotProductMoments(dK, 0, components);
      const divided = math.dotProductMoments(dK, p, components);
      drawDensity(app.panels.raw, app.state, 1, raw.std, 70, "key");
      drawDensity(app.panels.divided, app.state, dK ** p, divided.std, 7, "weights");
      const power = show(1 - 2 * p).replace(/\.?0+$/, "");
      app.formula.replaceChildren(rich(`Var(q·k / d_k^p) = d_k^{1 − 2p} = ${dK}^{${power}} = ${show3(divided.variance)}`));
      return {
        values: { raw_std: raw.std, std: divided.std, variance: divided.variance, kurtosis: divided.excessKurtosis },
        spoken: `Standard deviation ${show3(raw.std)} raw, ${show3(divided.std)} divided; variance ${show3(divided.variance)}.`,
      };
    },
  };

  /** The density of q·k / c with a bar of plus and minus one standard deviation, beside the normal density of the same variance. */
  function drawDensity(panel, { d_k: dK, components }, c, std, reach, role) {
    const x = d3.scaleLinear([-reach, reach], panel.xRange);
    const y = d3.scaleLinear([0, 0.56 / std], panel.yRange);
    axes(panel, { x, y, yLabel: "density", xLabel: c === 1 ? "q·k" : "q·k, divided", yTicks: 4 });
    const group = fresh(panel.svg, "densities");
    const [left, right] = x.range();
    const [bottom, top] = y.range();
    const inside = Math.min(reach, 5 * std);
    const normal = (at) => Math.exp(-((at / std) ** 2) / 2) / (std * Math.sqrt(2 * Math.PI));
    const limited = (at) => Math.max(top, y(at));
    const line = d3.line((point) => x(point[0]), (point) => limited(point[1]));
    if (components === "rademacher") {
      for (let sum = -dK; sum <= dK; sum += 2) {
        if (Math.abs(sum / c) > reach) continue;
        const height = math.dotProductDensity(sum, dK, components) * c;
        const stick = group.append("line").attr("x1", x(sum / c)).attr("x2", x(sum / c)).attr("y1", bottom).attr("y2", limited(height));
        stick.style("stroke", colour(role)).style("stroke-width", Math.max(1.2, Math.min(4, (x(2 / c) - x(0)) * 0.6)));
      }
    } else {
      const half = Array.from({ length: 121 }, (_, i) => (inside * Math.max(i, 0.05)) / 120);
      const heights = half.map((at) => math.dotProductDensity(at * c, dK, components) * c);
      const curve = [...half.map((at, i) => [-at, heights[i]]).reverse(), ...half.map((at, i) => [at, heights[i]])];
      group.append("path").attr("d", d3.area((point) => x(point[0]), bottom, (point) => limited(point[1]))(curve)).style("fill", colour(role)).style("opacity", 0.18);
      group.append("path").attr("d", line(curve)).style("fill", "none").style("stroke", colour(role)).style("stroke-width", 2);
    }
    const reference = Array.from({ length: 121 }, (_, i) => (inside * (i - 60)) / 60).map((at) => [at, normal(at)]);
    group.append("path").attr("d", line(reference)).style("fill", "none").style("stroke", "var(--ex-muted)").style("stroke-width", 1.2).style("stroke-dasharray", "4 3");
    const level = top + 6;
    const [from, to] = [Math.max(left, x(-std)), Math.min(right, x(std))];
    group.append("path").attr("d", `M${from},${level - 4}v8M${from},${level}H${to}M${to},${level - 4}v8`).style("stroke", "var(--ex-ink)").style("stroke-width", 1.5).style("fill", "none");
    const beside = to + 6 + 70 < right;
    const text = group.append("text").attr("class", "rim").attr("x", beside ? to + 6 : right).attr("y", beside ? level + 4 : level + 18);
    text.attr("text-anchor", beside ? "start" : "end").text(`±${show3(std)}`);
    panel.describe(`Density of the ${c === 1 ? "raw" : "divided"} dot product, from −${reach} to ${reach}: standard deviation ${show3(std)}. Dashed, the normal density of the same variance.`);
  }

  // ---------------------------------------------------------------- 2. saturation

  const TEMPERATURES = [0.1, 0.125, 0.16, 0.2, 0.25, 0.32, 0.4, 0.5, 0.63, 0.8, 1, 1.25, 1.6, 2, 2.5, 3.2, 4, 5, 6.3, 8, 10];
  const scoreControl = (j, value) => ({ name: `z${j}`, label: `score of key ${j}`, min: -10, max: 10, step: 0.1, value });
  const temperatureControl = { name: "T", label: "temperature T", values: TEMPERATURES, value: 1, text: String };

  const saturation = {
    title: "Softmax saturates: drag the scores, turn the temperature",
    controls: [...[2, 1, 0, -1].map((value, i) => ({ ...scoreControl(i + 1, value), drawn: true })), temperatureControl],
    readouts: [
      ["entropy", "entropy, nats", 3],
      ["effective", "effective keys, e^H", 2],
      ["effective2", "effective keys, 1/Σp²", 2],
      ["largest", "largest weight", 3],
      ["norm", "Jacobian, Frobenius norm", 3],
    ],
    panelWidth: "12.5rem",
    panels: [
      ["scores", "scores z: drag the handles, or arrow keys", 240, { left: 34, bottom: 26, top: 14 }],
      ["weights", "weights p = softmax(z/T)", 240, { left: 34, bottom: 26, top: 14 }],
      ["jacobian", "Jacobian diag(p) − pp^⊤", 240, { left: 34, bottom: 26, top: 14, right: 4 }],
    ],
    update(app) {
      const scores = [1, 2, 3, 4].map((j) => app.state[`z${j}`]);
      const p = math.softmax(scores, app.state.T);
      drawScores(app, scores);
      drawWeights(app.panels.weights, p);
      drawJacobian(app.panels.jacobian, math.jacobian(p));
      app.formula.replaceChildren(rich(`softmax([${scores.map((z) => show(z, 1)).join(", ")}] / ${app.state.T}) = [${p.map((x) => show(x, 3)).join(", ")}]`));
      const values = {
        entropy: math.entropy(p),
        effective: math.effectiveKeys(p),
        effective2: math.effectiveKeys(p, 2),
        largest: math.largestWeight(p),
        norm: math.jacobianNorm(p),
      };
      const spoken = `Weights ${p.map((x) => show(x)).join(", ")}. Entropy ${show(values.entropy)} nats, ${show(values.effective)} effective keys, Jacobian norm ${show(values.norm, 3)}.`;
      return { values, spoken };
    },
  };

  const keyScale = (panel, n) => d3.scaleBand(Array.from({ length: n }, (_, j) => j), panel.xRange).padding(0.3);

  /** Which number a key on the keyboard asks for, or null: arrows one step, page keys ten, Home and End the ends. */
  function fromKey(event, value, { min, max, step }) {
    const moves = { ArrowUp: step, ArrowRight: step, ArrowDown: -step, ArrowLeft: -step, PageUp: 10 * step, PageDown: -10 * step };
    if (event.key in moves) return value + moves[event.key];
    return { Home: min, End: max }[event.key] ?? null;
  }

  function drawScores(app, scores) {
    const panel = app.panels.scores;
    const x = keyScale(panel, scores.length);
    const y = d3.scaleLinear([-10, 10], panel.yRange);
    axes(panel, { x, y, xFormat: (j) => `key ${j + 1}`, yTicks: 5, xTicks: x.domain() });
    panel.describe(`Scores ${scores.map((z) => show(z, 1)).join(", ")}`, "group");
    const bars = fresh(panel.svg, "bars");
    scores.forEach((z, j) => {
      const bar = bars.append("rect").attr("x", x(j)).attr("width", x.bandwidth()).style("fill", colour("weights")).style("opacity", 0.35);
      bar.attr("y", Math.min(y(0), y(z))).attr("height", Math.abs(y(z) - y(0)));
    });
    bars.append("line").attr("x1", x.range()[0]).attr("x2", x.range()[1]).attr("y1", y(0)).attr("y2", y(0)).style("stroke", "var(--ex-muted)");
    const handles = layer(panel.svg, "handles").selectAll("g.explorable-handle").data(scores);
    const range = { min: -10, max: 10, step: 0.1 };
    const made = handles.enter().append("g").attr("class", "explorable-handle").attr("role", "slider").attr("tabindex", 0);
    made.attr("aria-label", (_, j) => `score of key ${j + 1}`).attr("aria-orientation", "vertical").attr("aria-valuemin", -10).attr("aria-valuemax", 10);
    made.append("rect").attr("class", "touch").style("fill", "transparent");
    made.append("circle").attr("class", "ring").attr("r", 12);
    made.append("circle").attr("r", 7).style("fill", colour("weights")).style("stroke", "var(--ex-ground)").style("stroke-width", 1.5);
    made.append("text").attr("class", "rim").attr("text-anchor", "middle");
    const merged = made.merge(handles);
    merged.attr("transform", (z, j) => `translate(${x(j) + x.bandwidth() / 2},${y(z)})`);
    merged.attr("aria-valuenow", (z) => z).attr("aria-valuetext", (z) => show(z, 1));
    merged.select("rect.touch").attr("x", -x.step() / 2).attr("width", x.step()).attr("y", -16).attr("height", 32);
    merged.select("text").attr("y", (z) => (z >= 0 ? -13 : 23)).text((z) => show(z, 1));
    merged.on("keydown", function (event, z) {
      const next = fromKey(event, z, range);
      if (next === null) return;
      event.preventDefault();
      app.set({ [`z${merged.nodes().indexOf(this) + 1}`]: next });
    });
    const dragged = d3.drag().container(panel.svg.node()).subject((event) => ({ x: event.x, y: event.y }));
    dragged.on("start", function () { this.focus({ preventScroll: true }); });
    dragged.on("drag", function (event) { app.set({ [`z${merged.nodes().indexOf(this) + 1}`]: y.invert(event.y) }); });
    merged.call(dragged);
  }

  function drawWeights(panel, p) {
    const x = keyScale(panel, p.length);
    const y = d3.scaleLinear([0, 1], panel.yRange);
    axes(panel, { x, y, xFormat: (j) => `key ${j + 1}`, xTicks: x.domain() });
    panel.describe(`Weights ${p.map((w) => show(w)).join(", ")}`);
    const bars = fresh(panel.svg, "bars");
    p.forEach((w, j) => {
      bars.append("rect").attr("x", x(j)).attr("width", x.bandwidth()).attr("y", y(w)).attr("height", y(0) - y(w)).style("fill", colour("weights"));
      const text = bars.append("text").attr("class", "rim").attr("x", x(j) + x.bandwidth() / 2).attr("y", y(w) - 5).attr("text-anchor", "middle");
      text.text(w < 0.005 ? "<0.01" : show(w));
    });
  }

  /** Cells from -1/4 to 1/4, the largest that an entry can be: orange below 0, purple above, pale near it. */
  function drawJacobian(panel, entries) {
    const n = entries.length;
    const side = Math.min(panel.xRange[1] - panel.xRange[0], panel.yRange[0] - panel.yRange[1]);
    const place = d3.scaleBand(Array.from({ length: n }, (_, j) => j), [0, side]).padding(0.04);
    const group = fresh(panel.svg, "cells").attr("transform", `translate(${panel.margin.left},${panel.margin.top})`);
    entries.forEach((row, i) => {
      const name = (at, x, y, anchor) => richAxisLabel(group, at, x, y).attr("text-anchor", anchor);
      name(`z_${i + 1}`, place(i) + place.bandwidth() / 2, side + 16, "middle");
      name(`p_${i + 1}`, -6, place(i) + place.bandwidth() / 2 + 4, "end");
      row.forEach((entry, j) => {
        const cell = group.append("rect").attr("class", "cell").attr("x", place(j)).attr("y", place(i)).attr("width", place.bandwidth()).attr("height", place.bandwidth());
        const share = Math.round(70 * Math.min(1, Math.sqrt(Math.abs(entry) / 0.25)));
        cell.style("fill", `color-mix(in srgb, ${colour(entry < 0 ? "key" : "weights")} ${share}%, var(--ex-panel))`);
        const text = group.append("text").attr("x", place(j) + place.bandwidth() / 2).attr("y", place(i) + place.bandwidth() / 2 + 4).attr("text-anchor", "middle");
        text.style("fill", share > 45 ? "var(--ex-ground)" : "var(--ex-ink)").text(show(entry + 0, 2).length > 5 ? "0.00" : show(entry));
      });
    });
    const rows = entries.map((row, i) => `row ${i + 1}: ${row.map((entry) => show(entry, 3)).join(", ")}`);
    panel.describe(`Jacobian of the weights by the scores, ${rows.join("; ")}`);
  }

  // ---------------------------------------------------------------- 3. @V

  const VALUES = [[-2, -1], [2.2, -0.6], [0.2, 2.2]];
  const pointRange = { min: -3, max: 3, step: 0.1 };

  const blend = {
    title: "Weights times V: the output stays in the hull of the values",
    controls: [
      ...[1.2, 0.8, -0.2].map((value, i) => ({ ...scoreControl(i + 1, value), text: (z) => show(z, 1) })),
      temperatureControl,
      ...VALUES.flatMap((v, i) => ["x", "y"].map((axis, c) => ({ name: `${axis}${i + 1}`, ...pointRange, value: v[c], drawn: true }))),
    ],
    readouts: [
      ["x", "output, x", 3],
      ["y", "output, y", 3],
      ["effective", "effective keys, e^H", 2],
      ["squares", "Σp², variance left", 3],
    ],
    panels: [["plane", "three values v, drag them or use arrow keys; the output o", 340, { left: 32, top: 10, bottom: 26 }]],
    update(app) {
      const scores = [1, 2, 3].map((j) => app.state[`z${j}`]);
      const values = [1, 2, 3].map((j) => [app.state[`x${j}`], app.state[`y${j}`]]);
      const p = math.softmax(scores, app.state.T);
      const output = math.blend(p, values);
      drawPlane(app, scores, values, p, output);
      const sum = p.map((w, j) => `${show(w, 3)} v_${j + 1}`).join(" + ");
      app.formula.replaceChildren(rich(`o = ${sum} = (${show(output[0])}, ${show(output[1])})`));
      return {
        values: { x: output[0], y: output[1], effective: math.effectiveKeys(p), squares: 1 / math.effectiveKeys(p, 2) },
        spoken: `Weights ${p.map((w) => show(w)).join(", ")}; output at ${show(output[0])}, ${show(output[1])}.`,
      };
    },
  };

  function drawPlane(app, scores, values, p, output) {
    const panel = app.panels.plane;
    const [bottom, top] = panel.yRange;
    const [left, right] = panel.xRange;
    const reach = (3.2 * (right - left)) / (bottom - top); // one unit is as long across as it is up
    const spread = Math.max(reach, 3.2);
    const x = d3.scaleLinear([-spread, spread], [left, right]);
    const y = d3.scaleLinear([(-spread * (bottom - top)) / (right - left), (spread * (bottom - top)) / (right - left)], [bottom, top]);
    axes(panel, { x, y, xTicks: 7, yTicks: 7 });
    const at = ([a, b]) => [x(a), y(b)];
    const group = fresh(panel.svg, "vectors");
    group.append("path").attr("d", `M${values.map(at).join("L")}Z`).style("fill", colour("value")).style("fill-opacity", 0.14).style("stroke", colour("value"));
    const path = Array.from({ length: 81 }, (_, i) => at(math.blend(math.softmax(scores, 10 ** (2.2 - i / 20)), values)));
    group.append("path").attr("d", d3.line()(path)).style("fill", "none").style("stroke", "var(--ex-muted)").style("stroke-width", 1.5).style("stroke-dasharray", "2 3");
    values.forEach((value) => arrow(group, at([0, 0]), at(value), colour("value"), 1.2));
    let end = [0, 0];
    values.forEach((value, j) => {
      const next = [end[0] + p[j] * value[0], end[1] + p[j] * value[1]];
      arrow(group, at(end), at(next), colour("weights"), 2.2);
      end = next;
    });
    values.forEach((value, j) => {
      const [dx, dy] = [Math.sign(value[0]) * 16, value[1] >= 0 ? -12 : 22];
      const label = group.append("text").attr("class", "rim").attr("x", x(value[0]) + dx).attr("y", y(value[1]) + dy);
      label.attr("text-anchor", "middle").text(`v${"₁₂₃"[j]}: ${show(p[j])}`);
    });
    group.append("circle").attr("cx", x(output[0])).attr("cy", y(output[1])).attr("r", 7).style("fill", colour("weights")).style("stroke", "var(--ex-ground)").style("stroke-width", 1.5);
    group.append("text").attr("class", "rim").attr("x", x(output[0]) + 11).attr("y", y(output[1]) - 8).style("font-weight", 700).text("o");
    const handles = layer(panel.svg, "handles").selectAll("g.explorable-handle").data(values);
    const made = handles.enter().append("g").attr("class", "explorable-handle").attr("role", "slider").attr("tabindex", 0);
    made.attr("aria-label", (_, j) => `value ${j + 1}, a point: left and right arrows move x, up and down move y`);
    made.attr("aria-valuemin", pointRange.min).attr("aria-valuemax", pointRange.max);
    made.append("circle").attr("r", 16).style("fill", "transparent");
    made.append("circle").attr("class", "ring").attr("r", 12);
    made.append("circle").attr("r", 7).style("fill", colour("value")).style("stroke", "var(--ex-ground)").style("stroke-width", 1.5);
    const merged = made.merge(handles).attr("transform", (value) => `translate(${at(value)})`);
    merged.attr("aria-valuenow", (value) => value[0]).attr("aria-valuetext", (value) => `x ${show(value[0], 1)}, y ${show(value[1], 1)}`);
    const number = (node) => merged.nodes().indexOf(node) + 1;
    merged.on("keydown", function (event, value) {
      const axis = /Up|Down/.test(event.key) ? 1 : 0;
      const next = fromKey(event, value[axis], pointRange);
      if (next === null) return;
      event.preventDefault();
      app.set({ [`${"xy"[axis]}${number(this)}`]: next });
    });
    const dragged = d3.drag().container(panel.svg.node()).subject((event) => ({ x: event.x, y: event.y }));
    dragged.on("start", function () { this.focus({ preventScroll: true }); });
    dragged.on("drag", function (event) {
      app.set({ [`x${number(this)}`]: x.invert(event.x), [`y${number(this)}`]: y.invert(event.y) });
    });
    merged.call(dragged);
    panel.describe(`Values at ${values.map(([a, b]) => `(${show(a, 1)}, ${show(b, 1)})`).join(", ")}; output at (${show(output[0])}, ${show(output[1])}). Dotted, the output's path from the highest temperature to the lowest.`, "group");
  }

  // ---------------------------------------------------------------- 4. alternative scalings

  const scalings = {
    title: "Alternative scalings: shape, evenness and gradient",
    controls: [
      { name: "rescaling", label: "divided by", options: RESCALING_LABELS, value: "sqrt_d_k" },
      { name: "components", label: "distribution of the components", options: DISTRIBUTION_LABELS, value: "normal" },
      { name: "n", label: "n, keys", values: powersOfTwo(2, 8), value: 32, text: String },
      { name: "d_k", label: "d_k, components", values: powersOfTwo(2, 8), value: 64, text: String },
    ],
    readouts: [
      ["divisor", "divisor, mean"],
      ["shape", "shape distance"],
      ["share", "entropy / ln n"],
      ["effective", "effective keys, 1/Σp²"],
      ["largest", "largest weight × n"],
      ["gradient", "gradient at q, median"],
    ],
    panelWidth: "13rem",
    panels: [
      ["shape", "shape: raw scores and weights, both with mean 0 and std 1", 250, { left: 30 }],
      ["evenness", "evenness: effective keys, of n", 250, { left: 64, top: 8 }],
      ["gradient", "gradient at the query, median", 250, { left: 64, top: 8 }],
    ],
    update(app) {
      const { rescaling, n } = app.state;
      const reports = compareRescalings(app.state, app.memory);
      const chosen = reports[rescaling];
      drawShape(app.panels.shape, chosen, rescaling);
      const all = (key) => Object.fromEntries(math.RESCALINGS.map((name) => [name, reports[name][key]]));
      const ticks = [1, ...(n >= 16 ? [Math.sqrt(n) | 0] : []), n];
      drawRows(app.panels.evenness, all("effective"), [1, n], ticks, rescaling, "effective keys");
      drawRows(app.panels.gradient, all("gradient"), [0.001, 30], [0.001, 0.01, 0.1, 1, 10], rescaling, "length, log scale");
      app.formula.replaceChildren(`Measured on ${chosen.rows} queries, ${chosen.sets} sets of ${n} keys, drawn anew for every n, d`, element("sub", {}, "k"), " and distribution from a fixed seed.");
      const spoken = `Divided by ${RESCALING_LABELS[rescaling]}: shape distance ${show3(chosen.shape)}, ${show3(chosen.effective)} effective keys of ${n}, median gradient ${show3(chosen.gradient)}.`;
      return { values: chosen, spoken };
    },
  };

  /** All rescalings on the same draws: 50 queries a set of keys, as many sets as about eight million products allow, at most 16. */
  function compareRescalings({ n, d_k: dK, components }, memory) {
    const setting = `${n} ${dK} ${components}`;
    if (memory.setting === setting) return memory.reports;
    const sets = Math.max(2, Math.min(16, Math.floor(8e6 / (50 * n * dK))));
    const drawn = Array.from({ length: sets }, (_, seed) =>
      math.sampleAttention({ queries: 50, n, dK, dV: 64, distribution: components, seed: seed + 1 }),
    );
    const reports = {};
    for (const name of math.RESCALINGS) {
      const parts = drawn.map((one) => math.report(one, name));
      const mean = (key) => parts.reduce((sum, part) => sum + part[key], 0) / sets;
      reports[name] = {
        sets,
        rows: 50 * sets,
        divisor: mean("divisor"),
        shape: mean("shapeDistance"),
        share: mean("entropyShare"),
        effective: mean("effectiveKeys"),
        largest: mean("largestTimesN"),
        gradient: math.median(parts.flatMap((part) => part.gradients)),
        raw: parts.flatMap((part) => [...math.standardise(part.raw)]),
        first: parts.flatMap((part) => [...math.standardise(part.first)]),
      };
    }
    Object.assign(memory, { setting, reports });
    return reports;
  }

  function drawShape(panel, { raw, first }, name) {
    const grid = Array.from({ length: 121 }, (_, i) => -3 + (8 * i) / 120);
    const curves = [math.kernelDensity(raw, grid), math.kernelDensity(first, grid)];
    const x = d3.scaleLinear([-3, 5], panel.xRange);
    const y = d3.scaleLinear([0, Math.max(0.6, ...curves.flat()) * 1.05], panel.yRange);
    axes(panel, { x, y, xTicks: 5, yTicks: 4, xLabel: "in standard deviations", yLabel: "density" });
    const group = fresh(panel.svg, "curves");
    const line = d3.line((_, i) => x(grid[i]), (value) => y(value));
    const styles = [["raw scores", "var(--ex-ink)", "1 3"], ["weights", colour(name), DASHES[name] ?? "none"]];
    curves.forEach((curve, i) => {
      const [label, stroke, dashes] = styles[i];
      group.append("path").attr("d", line(curve)).style("fill", "none").style("stroke", stroke).style("stroke-width", 2).style("stroke-dasharray", dashes);
      const [right, level] = [x.range()[1], panel.margin.top + 10 + 18 * i];
      group.append("line").attr("x1", right - 28).attr("x2", right).attr("y1", level).attr("y2", level).style("stroke", stroke).style("stroke-width", 2).style("stroke-dasharray", dashes);
      group.append("text").attr("class", "rim").attr("x", right - 34).attr("y", level + 4).attr("text-anchor", "end").text(label);
    });
    panel.describe(`Densities of the raw scores and of the weights of one key, each standardised; divided by ${RESCALING_LABELS[name]}.`);
  }

  /** One row a rescaling, its marker on a logarithmic axis; the chosen one on a band, with its number. */
  function drawRows(panel, values, domain, ticks, chosen, label) {
    const x = d3.scaleLog(domain, panel.xRange).clamp(true);
    const y = d3.scaleBand(math.RESCALINGS, [panel.yRange[1], panel.yRange[0]]);
    const bands = fresh(panel.svg, "bands");
    const scale = d3.scaleLinear([0, 1], panel.yRange);
    axes(panel, { x, y: scale, xTicks: ticks, yTicks: 0, xFormat: (value) => d3.format("~r")(value), xLabel: label });
    bands.append("rect").attr("x", 0).attr("width", panel.width).attr("y", y(chosen)).attr("height", y.bandwidth()).attr("rx", 3).style("fill", "var(--ex-panel)");
    const group = fresh(panel.svg, "rows");
    for (const name of math.RESCALINGS) {
      const [left, right] = x.range();
      const middle = y(name) + y.bandwidth() / 2;
      const weight = name === chosen ? 700 : 400;
      richText(group.append("text").attr("x", 4).attr("y", middle + 4).style("font-weight", weight), name === "none" ? "1" : RESCALING_LABELS[name]);
      group.append("line").attr("x1", left).attr("x2", right).attr("y1", middle).attr("y2", middle).style("stroke", "var(--ex-grid)");
      marker(group, name, x(values[name]), middle);
      if (name !== chosen) continue;
      const before = x(values[name]) > (left + right) / 2;
      const text = group.append("text").attr("class", "rim").attr("x", x(values[name]) + (before ? -10 : 10)).attr("y", middle + 4);
      text.attr("text-anchor", before ? "end" : "start").style("font-weight", 700).text(show3(values[name]));
    }
    panel.describe(`${label}: ${math.RESCALINGS.map((name) => `${RESCALING_LABELS[name]} ${show3(values[name])}`).join("; ")}`);
  }

  // ---------------------------------------------------------------- 5. the phase diagram

  const phases = {
    title: "The phase diagram: where each divisor stands, σ = √d_k / c",
    controls: [
      { name: "n", label: "n, keys", values: powersOfTwo(1, 20), value: 512, text: showCount },
      { name: "d_k", label: "d_k, components", values: powersOfTwo(0, 10), value: 64, text: String },
    ],
    readouts: [
      ["critical", "border σ_c = √(2 ln n)", 3],
      ["undivided", "σ/σ_c, undivided"],
      ["root", "σ/σ_c, divided by √d_k"],
      ["share", "keys left by the root, e^{−1/2}"],
    ],
    panels: [["plane", "standard deviation σ of the scores against the number of keys n", 330, { left: 44, right: 92, top: 24 }]],
    update(app) {
      const { n, d_k: dK } = app.state;
      const critical = math.criticalSigma(n);
      const sigmas = Object.fromEntries(math.RESCALINGS.map((name) => [name, Math.sqrt(dK) / math.typicalDivisor(name, n, dK)]));
      drawPhases(app.panels.plane, n, dK, sigmas);
      tabulate(app, n, sigmas);
      const ratio = sigmas.none / critical;
      const side = sigmas.none > critical ? "above the border, frozen" : "below the border";
      app.formula.replaceChildren(rich(`Undivided, σ = √${dK} = ${show(sigmas.none)} is ${show(ratio)} times σ_c = √(2 ln ${showCount(n)}) = ${show(critical)}: ${side}.`));
      const values = { critical, undivided: ratio, root: 1 / critical, share: Math.exp(-0.5) };
      return { values, spoken: `Border at ${show(critical)}. Undivided scores stand ${side}, at ${show(ratio)} times; divided by the root, at ${show(1 / critical)} times.` };
    },
  };

  function drawPhases(panel, n, dK, sigmas) {
    const x = d3.scaleLog([2, 2 ** 20], panel.xRange);
    const y = d3.scaleLog([0.01, 100], panel.yRange).clamp(true);
    const counts = panel.width < 450 ? [2, 2 ** 7, 2 ** 14, 2 ** 20] : [2, 16, 2 ** 7, 2 ** 10, 2 ** 14, 2 ** 17, 2 ** 20];
    const ground = fresh(panel.svg, "ground");
    const [left, right] = x.range();
    const [bottom, top] = y.range();
    const keys = Array.from({ length: 77 }, (_, i) => 2 ** (1 + i / 4));
    const border = keys.map((m) => [x(m), y(math.criticalSigma(m))]);
    ground.append("path").attr("d", d3.area((point) => point[0], top, (point) => point[1])(border)).style("fill", colour("none")).style("opacity", 0.16);
    axes(panel, { x, y, xLabel: "n, keys", yLabel: "σ", xTicks: counts, yTicks: [0.01, 0.1, 1, 10, 100], xFormat: d3.format(","), yFormat: d3.format("~r") });
    const group = fresh(panel.svg, "points");
    group.append("path").attr("d", d3.line()(border)).style("fill", "none").style("stroke", "var(--ex-ink)").style("stroke-width", 2);
    group.append("text").attr("class", "rim").attr("x", left + 8).attr("y", top + 16).text("frozen: a few keys");
    group.append("text").attr("class", "rim").attr("x", left + 8).attr("y", bottom - 8).text("even: a share of all keys");
    richText(group.append("text").attr("class", "rim").attr("x", left + 6).attr("y", y(math.criticalSigma(6)) - 12), "σ_c");
    group.append("line").attr("x1", x(n)).attr("x2", x(n)).attr("y1", bottom).attr("y2", top).style("stroke", "var(--ex-muted)").style("stroke-dasharray", "3 3");
    // Rescalings with the same sigma share a label; labels keep a line's distance, and a thin line leads to each.
    const places = new Map();
    for (const name of math.RESCALINGS) {
      const level = Math.round(y(sigmas[name]));
      places.set(level, [...(places.get(level) ?? []), name]);
      const path = keys.map((m) => [x(m), y(Math.sqrt(dK) / math.typicalDivisor(name, m, dK))]);
      group.append("path").attr("d", d3.line()(path)).style("fill", "none").style("stroke", colour(name)).style("opacity", 0.55).style("stroke-dasharray", DASHES[name] ?? "none");
    }
    const levels = [...places.keys()].sort((a, b) => a - b);
    const labels = levels.map((level, i, all) => ({ level, names: places.get(level), at: i ? Math.max(level, all[i - 1] + 15) : level }));
    for (let i = 1; i < labels.length; i++) labels[i].at = Math.max(labels[i].at, labels[i - 1].at + 15);
    for (let i = labels.length - 1, floor = bottom; i >= 0; i--, floor = labels[i + 1].at - 15) labels[i].at = Math.min(labels[i].at, floor);
    for (const { level, names, at } of labels) {
      names.forEach((name, i) => marker(group, name, x(n) + 6 * (i - (names.length - 1) / 2), level));
      group.append("path").attr("d", `M${x(n) + 10},${level}L${Math.max(right, x(n) + 10)},${at}h4`).style("fill", "none").style("stroke", "var(--ex-grid)");
      const text = group.append("text").attr("x", right + 8).attr("y", at + 4);
      names.forEach((name, i) => {
        const [head, ...tail] = (name === "none" ? "1" : RESCALING_LABELS[name]).split("_");
        text.append("tspan").attr("dy", i ? -3 : 0).text(`${i ? ", " : ""}${head}`);
        text.append("tspan").attr("dy", 3).attr("font-size", "75%").text(tail.join(" ") || "\u200b");
      });
    }
    panel.describe(`Border rising from ${show(math.criticalSigma(2))} at 2 keys to ${show(math.criticalSigma(2 ** 20))} at ${showCount(2 ** 20)}. At ${showCount(n)} keys: ${math.RESCALINGS.map((name) => `${RESCALING_LABELS[name]} at ${show3(sigmas[name])}`).join(", ")}. Points off the scale stand on its edge.`);
  }

  function tabulate(app, n, sigmas) {
    const head = element("tr", {}, ...["divided by", "σ", "σ/σ_c", "phase"].map((text) => element("th", { scope: "col" }, rich(text))));
    const rows = math.RESCALINGS.map((name) => {
      const ratio = sigmas[name] / math.criticalSigma(n);
      const phase = ratio > 1 ? "frozen" : ratio > 0.5 ? "crossover" : "even";
      const label = element("th", { scope: "row" }, rich((name === "none" ? "1 (none)" : RESCALING_LABELS[name]).replace("norm_4", "{norm 4}")));
      const row = element("tr", { "data-rescaling": name, "data-ratio": ratio, "data-sigma": sigmas[name] }, label);
      row.append(...[show3(sigmas[name]), show3(ratio), phase].map((text) => element("td", {}, text)));
      return row;
    });
    app.extra.replaceChildren(element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)));
  }

  const registry = { growth, saturation, blend, scalings, phases };
  window.Explorables = { start, names: Object.keys(registry) };
})();
