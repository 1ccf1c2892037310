/** What the explorables share. The page's loader adds this script and then that of an explorable, `Explorable`. */
import { colourSheet } from "./data.js";
import { start as begin } from "./frame.js";

export * as d3 from "./d3.js";
export * as data from "./data.js";
export * as handles from "./handles.js";
export * as math from "./math.js";
export * as shared from "./shared.js";

const style = document.createElement("style");
style.textContent = colourSheet();
document.head.append(style);

export const start = (figure) => {
  const { explorable: name } = figure.dataset;
  begin(figure, window.Explorable[name][name]);
};
