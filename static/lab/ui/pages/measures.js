// The measures of two sets of runs side by side: what differs, with intervals, and the choice of the runs.
import { onNewColours } from "../../draw/palette.js";
import { request } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { signal } from "../store/state.js";
import { chartCards, drawCharts } from "../parts/chart_cards.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Chart } from "../parts/chart_cards.js" */

/**
 * @typedef {{ charts: Chart[], missing: string[], behind: string[], is_paired: boolean }} Found `missing`: branches without tables;
 *   `behind`: those that have gone on since
 */

/** @type {Signal<Found | null>} */
const found = signal(null);
/** @type {Signal<{ what?: string, todo?: string } | null>} */
const refused = signal(null);

/** Ticks all runs of an era on a side, and no others. */
document.querySelector("form.pick-runs")?.addEventListener("change", (event) => {
  const chosen = event.target;
  if (!(chosen instanceof HTMLSelectElement) || !chosen.value) return;
  const name = chosen.dataset.side === "A" ? "left" : "right";
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll(`form.pick-runs input[name=${name}]`)))
    box.checked = box.dataset.era === chosen.value;
});

class HwMeasures extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    onNewColours(() => this.requestUpdate());
    this.#load();
  }

  async #load() {
    try {
      found.value = await (await request(`/api/compare/measures.json?${this.dataset.query}`)).json();
    } catch (error) {
      if (!(error instanceof Object && "what" in error)) throw error;
      refused.value = /** @type {{ what?: string, todo?: string }} */ (error);
    }
  }

  updated() {
    drawCharts(this, found.value?.charts ?? []);
  }

  /** Branches whose tables have to be made, or made anew: their pages do it. @param {string} text @param {string[]} branches */
  #named(text, branches) {
    if (!branches.length) return "";
    return html`<p class="message warn"><span>${t(text, { n: branches.length })}
      ${branches.slice(0, 20).map((one) => html`<a href="/r/${one}/analytics">${one}</a> `)}</span></p>`;
  }

  render() {
    if (refused.value) return html`<p class="message bad" role="alert"><b>${refused.value.what}</b><span>${refused.value.todo}</span></p>`;
    if (!found.value) return html`<p class="dim">${t("empty.loading")}</p>`;
    const { charts, missing, behind, is_paired: isPaired } = found.value;
    const file = (/** @type {string} */ measure) => `/api/compare/measures/${measure}.csv?${this.dataset.query}`;
    return html`${this.#named("compare.missing", missing)}${this.#named("compare.behind", behind)}
      ${charts.length ? html`<p class="dim" role="status">${t(isPaired ? "compare.paired" : "compare.not_paired")}</p>`
        : missing.length ? "" : html`<p role="status">${t("compare.same_measures")}</p>`}
      <div class="cards-of-charts">${chartCards(charts, { saved: "measures", file })}</div>`;
  }
}
customElements.define("hw-measures", HwMeasures);
