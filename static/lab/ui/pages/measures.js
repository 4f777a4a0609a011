// The measures of two sets of runs side by side: differences with intervals, and the choice of the runs.
import { onNewColours } from "../../draw/palette.js";
import { request } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { signal } from "../store/state.js";
import { chartCards, drawCharts } from "../parts/chart_cards.js";
import { begin, progressCard } from "../parts/jobs.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Chart } from "../parts/chart_cards.js" */
/** @import { Following } from "../parts/jobs.js" */

/**
 * @typedef {{ charts: Chart[], missing: string[], behind: string[], is_paired: boolean }} Found `missing`: branches
 * without tables;
 *   `behind`: those with newer events
 */

/** @type {Signal<Found | null>} */
const found = signal(null);
/** @type {Signal<{ what?: string, todo?: string } | null>} */
const refused = signal(null);

/**
 * Progress of making tables: the number of the run, of how many, and its progress.
 * @type {Signal<{ at: number, count: number, progress: number } | null>}
 */
const making = signal(null);

/** Selects exactly the runs of an era on a side. */
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

  /** The job in progress. @type {Following | null} */
  #job = null;
  #isWanted = false;

  /** Requests the tables of some branches, one after the other, with low priority. @param {string[]} branches */
  async #make(branches) {
    refused.value = null;
    this.#isWanted = true;
    const count = branches.length;
    try {
      for (const [at, branch] of branches.entries()) {
        making.value = { at: at + 1, count, progress: 0 };
        ({ job: this.#job } = await begin(`/api/runs/${branch}/analytics/tables`, { priority: "build" }));
        const last = await this.#job?.end(({ progress }) => (making.value = { at: at + 1, count, progress }));
        if (last?.state === "failed") throw last.error;
        if (!this.#isWanted || last?.state === "cancelled") break;
      }
      await this.#load();
    } catch (error) {
      if (!(error instanceof Object && "what" in error)) throw error;
      refused.value = /** @type {{ what?: string, todo?: string }} */ (error);
    }
    [making.value, this.#job] = [null, null];
  }

  #cancel = () => {
    this.#isWanted = false;
    void this.#job?.cancel();
  };

  /** The progress of the tables, or the button that requests them. @param {string[]} branches */
  #maker(branches) {
    if (!making.value) return branches.length
      ? html`<p><button class="btn" @click=${() => this.#make(branches)}>${t("compare.make")}</button></p>` : "";
    const { at, count, progress } = making.value;
    return progressCard(t("compare.making", { at, count }), at - 1 + progress, count, "", this.#cancel);
  }

  updated() {
    drawCharts(this, found.value?.charts ?? []);
  }

  /** Branches whose tables have to be made or updated. @param {string} text @param {string[]} branches */
  #named(text, branches) {
    if (!branches.length) return "";
    return html`<p class="message warn"><span>${t(text, { n: branches.length })}
      ${branches.slice(0, 20).map((one) => html`<a href="/r/${one}/analytics">${one}</a> `)}</span></p>`;
  }

  render() {
    const { what, todo } = refused.value ?? {};
    const why = what ? html`<p class="message bad" role="alert"><b>${what}</b><span>${todo}</span></p>` : "";
    if (!found.value) return why || html`<p class="dim">${t("empty.loading")}</p>`;
    const { charts, missing, behind, is_paired: isPaired } = found.value;
    const file = (/** @type {string} */ measure) => `/api/compare/measures/${measure}.csv?${this.dataset.query}`;
    return html`${why}${this.#named("compare.missing", missing)}${this.#named("compare.behind", behind)}
      ${this.#maker([...missing, ...behind])}
      ${charts.length ? html`<p class="dim" role="status">${t(isPaired ? "compare.paired" : "compare.not_paired")}</p>`
        : missing.length ? "" : html`<p role="status">${t("compare.same_measures")}</p>`}
      <div class="cards-of-charts">${chartCards(charts, { saved: "measures", file })}</div>`;
  }
}
customElements.define("hw-measures", HwMeasures);
