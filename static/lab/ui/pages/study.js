// The page of a study: a chart for each measure, with its sentence and its table.
import { onNewColours } from "../../draw/palette.js";
import { request } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { signal } from "../store/state.js";
import { inked, themed } from "../parts/plots.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Json, JsonObject, PlotlyApi } from "../parts/plots.js" */

/**
 * @typedef {{ measure: string, title: string, unit: string, said: string, figure: { data: Json, layout: JsonObject & { height: number } },
 *             table: { columns: string[], rows: (string | number)[][] } }} Chart
 */

/** The charts; null until they have come. @type {Signal<Chart[] | null>} */
const charts = signal(null);
const failed = signal(false);

class HwStudy extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    onNewColours(() => this.requestUpdate());
    this.#load();
  }

  async #load() {
    try {
      charts.value = (await (await request(`/api/studies/${this.dataset.slug}.json`)).json()).charts;
    } catch {
      failed.value = true;
    }
  }

  updated() {
    const { Plotly } = /** @type {{ Plotly: PlotlyApi }} */ (/** @type {unknown} */ (globalThis));
    for (const [place, plot] of [.../** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll(".plot"))].entries()) {
      const { data, layout } = /** @type {Chart[]} */ (charts.value)[place].figure;
      plot.style.height = `${layout.height}px`;
      Plotly.react(plot, inked(data), themed(layout, null), {
        displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", modeBarButtons: [["toImage", "resetScale2d"]],
      });
    }
  }

  render() {
    if (failed.value) return html`<p class="message bad" role="alert">${t("studies.failed")}</p>`;
    return html`${(charts.value ?? []).map(({ title, unit, said, table }) => html`<section class="chart card">
      <h2>${title}<small>${unit}</small></h2>
      <p class="dim chart-said">${said}</p><div class="plot"></div>
      <details class="facts-table"><summary>${t("analytics.table", { n: table.rows.length })}</summary>
        <div class="wide" tabindex="0" role="region" aria-label=${title}><table>
          <thead><tr>${table.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
          <tbody>${table.rows.map((row) => html`<tr>${row.map((value) => html`<td class="mono">${value}</td>`)}</tr>`)}</tbody>
        </table></div></details>
    </section>`)}`;
  }
}
customElements.define("hw-study", HwStudy);
