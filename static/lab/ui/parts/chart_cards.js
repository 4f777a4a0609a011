// Charts that a server describes in full, each with its sentence and its table: cards, their drawing, and their files.
import { html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { CONFIG, PICTURES, inked, plotly, savePicture, themed } from "./plots.js";

/** @import { Json, JsonObject } from "./plots.js" */

/**
 * @typedef {string | number | null} Cell
 * @typedef {{ measure: string, title: string, unit: string, said: string, figure: { data: Json, layout: JsonObject & { height: number } },
 *             table: { columns: string[], heads: string[], rows: Cell[][] } }} Chart
 * @typedef {HTMLElement & { on?: (event: "plotly_click", follow: (click: { points: { customdata?: Json }[] }) => void) => void,
 *             dataset: DOMStringMap }} Plot
 */

/** Maximum number of rows of a table in the page; the file has all of them. */
const MAX_ROWS = 200;

/**
 * Draws the charts into the plots of their cards. A click on a dot that carries a branch opens its lab.
 * @param {Element} host @param {Chart[]} charts
 */
export function drawCharts(host, charts) {
  for (const [place, plot] of [.../** @type {NodeListOf<Plot>} */ (host.querySelectorAll(".plot"))].entries()) {
    const { data, layout } = charts[place].figure;
    plot.style.height = `${layout.height}px`;
    plotly().react(plot, inked(data), themed(layout, []), CONFIG);
    if (plot.dataset.follows) continue;
    plot.dataset.follows = "yes";
    plot.on?.("plotly_click", ({ points: [{ customdata }] }) => {
      if (typeof customdata === "string") location.assign(`/r/${customdata}`);
    });
  }
}

/** A picture of a chart as a file. @param {Event} event @param {"png" | "svg"} format @param {string} name */
function save(event, format, name) {
  const card = /** @type {HTMLElement} */ (/** @type {HTMLElement} */ (event.currentTarget).closest(".chart"));
  savePicture(/** @type {HTMLElement} */ (card.querySelector(".plot")), format, name);
}

/**
 * The cards. `file`: where a chart's rows are as CSV.
 * @param {Chart[]} charts @param {{ saved: string, file?: (measure: string) => string }} files
 */
export const chartCards = (charts, { saved, file }) => charts.map(({ measure, title, unit, said, table }) => html`
<section class="chart card">
  <h2>${title}<small>${unit}</small></h2>
  <p class="dim chart-said">${said}</p><div class="plot"></div>
  <details class="facts-table"><summary>${t("analytics.table", { n: table.rows.length })}</summary>
    <p class="row">${file ? html`<a class="link" href=${file(measure)} download>${t("analytics.csv")}</a>` : ""}
      ${PICTURES.map((format) => html`<button class="link"
        @click=${(/** @type {Event} */ event) => save(event, format, `${saved}-${measure}`)}>${t(`analytics.${format}`)}</button>`)}</p>
    <div class="wide" tabindex="0" role="region" aria-label=${title}><table>
      <thead><tr>${table.heads.map((head) => html`<th scope="col">${head}</th>`)}</tr></thead>
      <tbody>${table.rows.slice(0, MAX_ROWS).map((row) => html`<tr>${row.map((value) => html`<td
        class="mono">${value}</td>`)}</tr>`)}</tbody>
    </table></div>
    ${table.rows.length > MAX_ROWS ? html`<p class="dim">${t("analytics.first_rows", { n: MAX_ROWS })}</p>` : ""}</details>
</section>`);
