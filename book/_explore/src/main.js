/** The explorables of the book; the page's loader starts them. */
import { blend } from "./blend.js";
import { budget } from "./budget.js";
import { colourSheet } from "./data.js";
import { depth } from "./depth.js";
import { start as begin } from "./frame.js";
import { growth } from "./growth.js";
import { heads } from "./heads.js";
import { online } from "./online.js";
import { phases } from "./phases.js";
import { power } from "./power.js";
import { row } from "./row.js";
import { saturation } from "./saturation.js";
import { scalings } from "./scalings.js";
import { variance } from "./variance.js";

export * as math from "./math.js"; // for the tests

const explorables = {
  growth,
  variance,
  saturation,
  blend,
  scalings,
  online,
  row,
  depth,
  phases,
  budget,
  power,
  heads,
};

const style = document.createElement("style");
style.textContent = colourSheet();
document.head.append(style);

export const start = (figure) => begin(figure, explorables[figure.dataset.explorable]);
