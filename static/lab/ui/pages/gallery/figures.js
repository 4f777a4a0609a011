// Charts as the server describes them, of fixed numbers.

/** @import { Figure } from "../../parts/chart.js" */
/** @import { Chart } from "../../parts/chart_cards.js" */
/** @import { JsonObject } from "../../parts/plots.js" */

const SECONDS = Array.from({ length: 25 }, (_, n) => n);
const BROKERS = ["b1", "b2", "b3"];
const COLOURS = ["--leader", "--control", "--group"];
const TABLE = {
  columns: ["at_us", "broker", "offset"],
  heads: ["time of the event (µs)", "broker", "offset"],
  rows: SECONDS.slice(0, 6).map((s) => [s * 1_000_000, `b${1 + (s % 3)}`, s * 4]),
  count: SECONDS.length,
};

/** @type {JsonObject[]} */
const LINES = BROKERS.map((name, n) => ({
  type: "scatter", mode: "lines", name, x: SECONDS, y: SECONDS.map((s) => Math.max(0, s * (4 - n) - 6 * n)),
  line: { color: COLOURS[n], width: 2, shape: "hv" },
}));
/** @type {JsonObject[]} */
const BARS = [{
  type: "bar", orientation: "h", name: "p99", y: BROKERS, x: [12, 31, 8], marker: { color: "--control" }, showlegend: true,
}];

/** @param {JsonObject[]} data @param {string} x @param {string} y @param {number} height */
const layoutOf = (data, x, y, height) =>
  ({ height, xaxis: { title: x }, yaxis: { title: y }, showlegend: data.length > 1, barmode: "stack" });

/** Figures of a run or a class, lines and bars in turn. @param {...string} names @returns {Record<string, Figure>} */
export const figures = (...names) => Object.fromEntries(names.map((name, n) => {
  const data = n % 2 ? BARS : LINES;
  return [name, { data, layout: layoutOf(data, n % 2 ? "ms" : "s", n % 2 ? "" : "offset", 260), table: TABLE }];
}));

/** Charts of a study. @type {Chart[]} */
export const CHARTS = [
  { measure: "lost_records", title: "Lost acknowledged records", unit: "records",
    said: "With acks=1 a leader that crashes loses what its followers did not fetch.",
    figure: { data: LINES, layout: layoutOf(LINES, "s", "records", 260) }, table: TABLE },
  { measure: "latency", title: "Latency of produce requests", unit: "ms", said: "99 % of all requests are answered within this time.",
    figure: { data: BARS, layout: layoutOf(BARS, "ms", "", 260) }, table: TABLE },
];
