// Figures of Plotly in the colours and fonts of the theme.
import { readColours } from "../../draw/palette.js";

/**
 * @typedef {{ [key: string]: Json } | Json[] | string | number | boolean | null} Json
 * @typedef {{ [key: string]: Json }} JsonObject
 * @typedef {{ react: (host: Element, data: Json, layout: JsonObject, config: JsonObject) => void,
 *             relayout: (host: Element, change: JsonObject) => void,
 *             downloadImage: (host: Element, how: JsonObject) => Promise<string> }} PlotlyApi
 */

/** @returns {PlotlyApi} */
export const plotly = () => /** @type {{ Plotly: PlotlyApi }} */ (/** @type {unknown} */ (globalThis)).Plotly;

/** What every chart may do. @type {JsonObject} */
export const CONFIG = {
  displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", modeBarButtons: [["resetScale2d"]],
};

export const PICTURES = /** @type {const} */ (["png", "svg"]);

/** Saves a chart as a picture. @param {HTMLElement} plot @param {"png" | "svg"} format @param {string} name */
export function savePicture(plot, format, name) {
  void plotly().downloadImage(plot, { format, filename: name, width: plot.clientWidth, height: plot.clientHeight });
}

/** Without this Plotly cuts a legend at half of the height of the plot. */
const MAX_LEGEND_PX = 1_000;

/** The colour that a name ("--leader") has in the theme. @param {string} name */
export const colour = (name) => readColours(document.body, [name.slice(2)])[name.slice(2)];

/** A copy of a figure's part in which names of colours ("--leader") are those of the theme. @param {Json} part @returns {Json} */
export function inked(part) {
  if (typeof part === "string") return part.startsWith("--") ? colour(part) : part;
  if (Array.isArray(part)) return part.map(inked);
  if (part === null || typeof part !== "object") return part;
  return inkedObject(part);
}

/** @param {JsonObject} part @returns {JsonObject} */
function inkedObject(part) {
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, inked(value)]));
}

/**
 * What every chart shares: backgrounds, grid and fonts of the theme.
 * @param {JsonObject} layout
 * @param {JsonObject[]} shapes what is drawn over and behind the marks
 * @returns {JsonObject}
 */
export function themed(layout, shapes) {
  /** @param {JsonObject} [own] @returns {JsonObject} */
  const axis = (own = {}) => ({
    gridcolor: colour("--line"), linecolor: colour("--line2"), zeroline: false, ...own,
    tickfont: { family: "JetBrains Mono, monospace", size: 10, color: colour("--ink3") },
    title: { text: own.title ?? "", font: { size: 10.5, color: colour("--ink3") } },
  });
  const axes = Object.keys(layout).filter((key) => /^[xy]axis\d*$/.test(key));
  const notes = /** @type {JsonObject[]} */ (layout.annotations ?? []);
  const annotations = notes.map((note) => ({ ...note, font: { color: colour("--ink3"), .../** @type {JsonObject} */ (note.font) } }));
  return {
    ...inkedObject(layout), shapes: /** @type {Json} */ (inked(shapes)),
      ...Object.fromEntries(axes.map((key) => [key, axis(/** @type {JsonObject} */ (layout[key]))])), annotations,
    // A click anywhere means the nearest point.
    hoverdistance: -1, autosize: true, margin: { l: 46, r: 8, t: 8, b: 38, .../** @type {JsonObject} */ (layout.margin) },
    paper_bgcolor: colour("--panel"), plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "Inter, sans-serif", size: 11, color: colour("--ink2") },
    hoverlabel: { bgcolor: colour("--raise2"), font: { color: colour("--ink"), size: 11 } },
    legend: {
      orientation: "h", y: 1, yanchor: "bottom", x: 0, maxheight: MAX_LEGEND_PX, font: { size: 10.5 },
      .../** @type {JsonObject} */ (layout.legend),
    },
  };
}
