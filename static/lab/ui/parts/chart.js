// A chart of stored tables: its sentence, the figure, and its facts as a table and as files.
import { onNewColours } from "../../draw/palette.js";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { CONFIG, PICTURES, colour, inked, plotly, savePicture, themed } from "./plots.js";

/** @import { Json, JsonObject } from "./plots.js" */

/**
 * @typedef {{ columns: string[], heads: string[], rows: Json[][], count: number }} Table what a chart of stored tables is made of:
 *   `count` rows, of which the first are here; `heads` say what the columns are, with their units
 * @typedef {{ data: Json, layout: JsonObject & { height?: number }, note?: string,
 *   table: Table }} Figure as Plotly has it, but for colours, which are names of the theme's
 * @typedef {{ points: { customdata: Json, xaxis?: { p2d?: (px: number) => unknown } }[], event?: MouseEvent }} Click
 * @typedef {HTMLElement & { on: (event: "plotly_click" | "plotly_afterplot", follow: (click: Click) => void) => void }} Plot
 */

/** Charts of a run whose x axis is not the time of the run. */
const BY_OTHERS = new Set(["latency", "failovers", "isr_churn"]);
/** Whether a chart of a run can have a playhead. @param {string} name */
export const isByTime = (name) => !BY_OTHERS.has(name);

/** A line at an instant of a chart's x axis. @param {number} x @returns {JsonObject} */
export const lineAt = (x) => ({ type: "line", xref: "x", x0: x, x1: x, yref: "paper", y0: 0, y1: 1,
  line: { color: colour("--select"), width: 1.2 } });

/** For a figure without its own. */
const PLOT_HEIGHT = 300;
/** Of the legend, for which the height of every figure has room. */
const LEGEND_PX = 50;

/** Digits after the point of a number that is no integer; those of the file are complete. */
const CELL_DIGITS = 4;

/** The text of a value in the table of a chart. @param {Json} value */
function cellText(value) {
  if (value === null) return "";
  if (typeof value === "number") return String(Number(value.toFixed(CELL_DIGITS)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export class HwChart extends HwElement {
  static properties = { name: {}, files: {}, saved: {}, parquet: { type: Boolean }, figure: { attribute: false },
    playhead: { attribute: false }, shades: { attribute: false }, follow: { attribute: false } };

  #listens = false;
  /** By how much the legend is higher than `LEGEND_PX`: it has more lines in a narrow window. */
  #higher = 0;
  /** Whether more than the playhead has to be drawn again: the height or the colours, which are not properties of the element. */
  #isStale = false;

  constructor() {
    super();
    this.name = "";
    /** Where the rows are as files: what is before `/<name>.csv`. */
    this.files = "";
    /** What the file with the picture is called. */
    this.saved = "";
    /** Whether the rows can also be downloaded as Parquet. */
    this.parquet = false;
    /** @type {Figure} */
    this.figure = { data: [], layout: {}, table: { columns: [], heads: [], rows: [], count: 0 } };
    /** A line at an instant; null without one. @type {JsonObject | null} */
    this.playhead = null;
    /** What is drawn behind the marks. @type {JsonObject[]} */
    this.shades = [];
    /**
     * What a click on a mark does, given what the mark carries and where on the x axis it was.
     * @type {(mark: Json, x: number | null) => void}
     */
    this.follow = () => {};
  }

  connectedCallback() {
    super.connectedCallback();
    onNewColours(() => this.#drawAgain());
  }

  /** @param {Map<string, unknown>} changed */
  updated(changed) {
    const plot = /** @type {Plot} */ (this.querySelector(".plot"));
    const { data, layout } = this.figure;
    const height = (layout.height ?? PLOT_HEIGHT) + this.#higher;
    // When the window is resized, Plotly takes the height of its container.
    plot.style.height = `${height}px`;
    if (this.#listens && !this.#isStale && changed.size === 1 && changed.has("playhead")) {
      plotly().relayout(plot, { shapes: inked(this.#shapes()) });
      return;
    }
    this.#isStale = false;
    plotly().react(plot, inked(data), themed({ ...layout, height }, this.#shapes()), CONFIG);
    if (this.#listens) return;
    this.#listens = true;
    this.#fit(plot);
    plot.on("plotly_afterplot", () => this.#fit(plot));
    plot.on("plotly_click", (click) => this.follow(click.points[0].customdata, this.#x(plot, click)));
  }

  /** Gives the legend the height that it needs, so that the marks keep theirs. @param {Plot} plot */
  #fit(plot) {
    const legend = plot.querySelector(".legend .bg")?.getBoundingClientRect().height ?? 0;
    const higher = Math.max(0, Math.ceil(legend - LEGEND_PX));
    if (higher === this.#higher) return;
    this.#higher = higher;
    this.#drawAgain();
  }

  /** Draws the whole figure with the next update, also if the playhead moves before it. */
  #drawAgain() {
    this.#isStale = true;
    this.requestUpdate();
  }

  /** The position of a click on the x axis; null if it is not a number. @param {Plot} plot @param {Click} click */
  #x(plot, { points: [{ xaxis }], event }) {
    const area = plot.querySelector(".nsewdrag")?.getBoundingClientRect();
    const x = area && event && xaxis?.p2d?.(event.clientX - area.left);
    return typeof x === "number" ? x : null;
  }

  #shapes() {
    return this.playhead ? [...this.shades, this.playhead] : this.shades;
  }

  render() {
    return html`<section class="chart card">
      <h2>${t(`analytics.${this.name}`)}<small>${t(`analytics.${this.name}_unit`)}</small></h2>
      <p class="dim chart-said">${t(`analytics.${this.name}_said`)}</p><div class="plot"></div>
      ${this.figure.note ? html`<p class="dim chart-said">${this.figure.note}</p>` : ""}
      ${this.#table(this.figure.table)}
    </section>`;
  }

  /** @param {"png" | "svg"} format */
  #save(format) {
    savePicture(/** @type {HTMLElement} */ (this.querySelector(".plot")), format, this.saved);
  }

  /** The facts of the chart, and all of them as a file. @param {Table} table */
  #table({ columns, heads, rows, count }) {
    return html`<details class="facts-table"><summary>${t("analytics.table", { n: count })}</summary>
      <p class="row"><a class="link" href="${this.files}/${this.name}.csv" download>${t("analytics.csv")}</a>
        ${this.parquet ? html`<a class="link" href="${this.files}/${this.name}.parquet" download>${t("analytics.parquet")}</a>` : ""}
        ${PICTURES.map((format) => html`<button class="link" @click=${() => this.#save(format)}>${t(`analytics.${format}`)}</button>`)}</p>
      <div class="wide" tabindex="0" role="region" aria-label=${t(`analytics.${this.name}`)}><table>
        <thead><tr>${columns.map((name, place) => html`<th scope="col">
          ${heads[place]}<small class="mono">${name}</small></th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${row.map((value) => html`<td class="mono">${cellText(value)}</td>`)}</tr>`)}</tbody>
      </table></div>
      ${rows.length < count ? html`<p class="dim">${t("analytics.first_rows", { n: rows.length })}</p>` : ""}
    </details>`;
  }
}
customElements.define("hw-chart", HwChart);
