// The page of a study: a chart for each measure, with its sentence and its table.
import { onNewColours } from "../../draw/palette.js";
import { request } from "../store/api.js";
import { HwElement, html } from "../kit/element.js";
import { t } from "../kit/i18n.js";
import { signal } from "../store/state.js";
import { chartCards, drawCharts } from "../parts/chart_cards.js";

/** @import { Signal } from "@preact/signals-core" */
/** @import { Chart } from "../parts/chart_cards.js" */

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
    drawCharts(this, charts.value ?? []);
  }

  render() {
    if (failed.value) return html`<p class="message bad" role="alert">${t("studies.failed")}</p>`;
    return html`${chartCards(charts.value ?? [], { saved: this.dataset.slug ?? "" })}`;
  }
}
customElements.define("hw-study", HwStudy);
