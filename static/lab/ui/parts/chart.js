// A chart of stored tables: its sentence, the figure, and its facts as a table and as files.
import { onNewColours } from "../../draw/palette.js";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { inked, themed } from "./plots.js";

/** @import { Json, JsonObject, PlotlyApi } from "./plots.js" */

/**
 * @typedef {{ columns: string[], rows: Json[][], count: number }} Table what a chart of stored tables is made of; `count` rows, of
 *   which the first are here
 * @typedef {{ data: Json, layout: JsonObject & { height?: number }, note?: string,
 *   table: Table }} Figure as Plotly has it, but for colours, which are names of the theme's
 * @typedef {HTMLElement & { on: (event: "plotly_click", follow: (click: { points: { customdata: Json }[] }) => void) => void }} Plot
 */

/** Of a figure that does not say its own. */
const PLOT_HEIGHT = 300;

export class HwChart extends HwElement {
  static properties = { name: {}, files: {}, saved: {}, parquet: { type: Boolean }, figure: { attribute: false },
    playhead: { attribute: false }, follow: { attribute: false } };

  #listens = false;

  constructor() {
    super();
    this.name = "";
    /** Where the rows are as files: what is before `/<name>.csv`. */
    this.files = "";
    /** What the file with the picture is called. */
    this.saved = "";
    /** Are the rows there as Parquet, too? */
    this.parquet = false;
    /** @type {Figure} */
    this.figure = { data: [], layout: {}, table: { columns: [], rows: [], count: 0 } };
    /** A line at an instant; null without one. @type {JsonObject | null} */
    this.playhead = null;
    /** What a click on a mark does, given what the mark carries. @type {(mark: Json) => void} */
    this.follow = () => {};
  }

  connectedCallback() {
    super.connectedCallback();
    onNewColours(() => this.requestUpdate());
  }

  updated() {
    const plot = /** @type {Plot} */ (this.querySelector(".plot"));
    const { data, layout } = this.figure;
    // When the window is resized, Plotly takes the height of its container.
    plot.style.height = `${layout.height ?? PLOT_HEIGHT}px`;
    const { Plotly } = /** @type {{ Plotly: PlotlyApi }} */ (/** @type {unknown} */ (globalThis));
    Plotly.react(plot, inked(data), themed(layout, this.playhead), {
      displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", modeBarButtons: [["toImage", "resetScale2d"]],
    });
    if (this.#listens) return;
    this.#listens = true;
    plot.on("plotly_click", ({ points: [{ customdata }] }) => this.follow(customdata));
  }

  render() {
    return html`<section class="chart card">
      <h2>${t(`analytics.${this.name}`)}<small>${t(`analytics.${this.name}_unit`)}</small></h2>
      <p class="dim chart-said">${t(`analytics.${this.name}_said`)}</p><div class="plot"></div>
      ${this.figure.note ? html`<p class="dim chart-said">${this.figure.note}</p>` : ""}
      ${this.#table(this.figure.table)}
    </section>`;
  }

  /** Saves the chart as a vector image. */
  #saveSvg() {
    const { Plotly } = /** @type {{ Plotly: PlotlyApi }} */ (/** @type {unknown} */ (globalThis));
    const plot = /** @type {HTMLElement} */ (this.querySelector(".plot"));
    void Plotly.downloadImage(plot, { format: "svg", filename: this.saved, width: plot.clientWidth, height: plot.clientHeight });
  }

  /** The facts of the chart, and all of them as a file. @param {Table} table */
  #table({ columns, rows, count }) {
    /** @param {Json} value */
    const cell = (value) => (value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
    return html`<details class="facts-table"><summary>${t("analytics.table", { n: count })}</summary>
      <p class="row"><a class="link" href="${this.files}/${this.name}.csv" download>${t("analytics.csv")}</a>
        ${this.parquet ? html`<a class="link" href="${this.files}/${this.name}.parquet" download>${t("analytics.parquet")}</a>` : ""}
        <button class="link" @click=${() => this.#saveSvg()}>${t("analytics.svg")}</button></p>
      <div class="wide" tabindex="0" role="region" aria-label=${t(`analytics.${this.name}`)}><table>
        <thead><tr>${columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
        <tbody>${rows.map((row) => html`<tr>${row.map((value) => html`<td class="mono">${cell(value)}</td>`)}</tr>`)}</tbody>
      </table></div>
      ${rows.length < count ? html`<p class="dim">${t("analytics.first_rows", { n: rows.length })}</p>` : ""}
    </details>`;
  }
}
customElements.define("hw-chart", HwChart);
