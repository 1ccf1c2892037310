/** The parts of D3 that the explorables draw with. */
export { axisBottom, axisLeft } from "d3-axis";
export { drag } from "d3-drag";
export { format } from "d3-format";
export { scaleBand, scaleLinear, scaleLog } from "d3-scale";
export { pointer, select } from "d3-selection";
export { line } from "d3-shape";
