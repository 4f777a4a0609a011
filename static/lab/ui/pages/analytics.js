// The page with the charts of a run: draws what is stored, has the tables brought up to the run, and seeks the replay on a click.
import { onNewColours } from "../../draw/palette.js";
import { request, here } from "../store/api.js";
import { HwElement, html, repeat } from "../kit/element.js";
import { has, t } from "../kit/i18n.js";
import { signal } from "../store/state.js";
import { colour, inked, themed } from "../parts/plots.js";

/** @import { Json, JsonObject, PlotlyApi } from "../parts/plots.js" */
/** @import { Signal } from "@preact/signals-core" */
/** @import { Refusal } from "../../core/live/socket.js" */

/**
 * @typedef {{ state: "queued" | "running" | "done" | "failed", progress: number, stage: string, error: Partial<Refusal> | null,
 *             published?: number }} Job `published`: how many builds it has published so far
 * @typedef {{ data: Json, layout: JsonObject & { height?: number }, note?: string,
 *   table: Table }} Figure as Plotly has it, but for colours, which
 *   are names of the theme's
 * @typedef {{ columns: string[], rows: Json[][], count: number }} Table what a chart of stored tables is made of; `count` rows, of
 *   which the first are here
 * @typedef {{ made_to: number, last_seq: number, figures: Record<string, Figure>, internal: number,
 *             damage: { from_seq: number, to_seq: number, reason: string }[] }} Stored `internal`: the number of partitions of
 *   Kafka's own topics
 * @typedef {HTMLElement & { on: (event: "plotly_click", follow: (click: { points: { customdata: number | number[] }[] }) =>
 *   void) => void }} Plot
 */

const POLL_MS = 400;
/** Of a figure that does not say its own. */
const PLOT_HEIGHT = 300;
/** Charts whose x axis is not the time of the run. */
const BY_OTHERS = new Set(["latency", "failovers", "isr_churn"]);

/** @type {Job} */
const QUEUED = { state: "queued", progress: 0, stage: "", error: null };
/** Are the partitions of Kafka's own topics drawn, too? */
const withInternal = signal(false);
/** The charts; null until they have come. @type {Signal<Stored | null>} */
const stored = signal(null);
/** The job that brings the tables up to the run; null before the first one. @type {Signal<Job | null>} */
const job = signal(null);

/** Shows why the job failed, if that is known. @param {unknown} error */
function fail(error) {
  if (!(error instanceof Object && "what" in error)) throw error;
  job.value = { ...QUEUED, state: "failed", error: /** @type {Partial<Refusal>} */ (error) };
}

/** Draws the charts with or without Kafka's own topics. */
async function toggleInternal() {
  withInternal.value = !withInternal.value;
  try {
    await load();
  } catch (error) {
    fail(error);
  }
}

/** Draws what is stored at once, however old, and has the tables brought up to the run if it has gone on. */
async function start() {
  job.value = null;
  try {
    await load();
    if (stored.value && stored.value.made_to < stored.value.last_seq) await buildTables();
  } catch (error) {
    fail(error);
  }
}

async function load() {
  stored.value = await (await request(`${here.api}/analytics/tables.json${withInternal.value ? "?internal=1" : ""}`)).json();
}

/** Follows the job. What it has published by then is drawn while it goes on. */
async function buildTables() {
  job.value = QUEUED;
  const { job: id } = await (await request(`${here.api}/analytics/tables/start`, {})).json();
  for (;;) {
    /** @type {Job} */
    const now = await (await request(`${here.api}/analytics/tables/${id}.json`)).json();
    const isNew = now.published !== job.value.published;
    if (isNew || now.state === "done") await load();
    job.value = now;
    if (now.state === "done" || now.state === "failed") return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** A line at the instant that the lab showed when the page was opened from it; null without one. @returns {JsonObject | null} */
function playhead() {
  const t = Number.parseFloat(new URLSearchParams(location.search).get("t") ?? "");
  return Number.isNaN(t) ? null
    : { type: "line", xref: "x", x0: t, x1: t, yref: "paper", y0: 0, y1: 1, line: { color: colour("--select"), width: 1.2 } };
}

class HwChart extends HwElement {
  static properties = { name: {}, figure: { attribute: false } };

  #listens = false;

  constructor() {
    super();
    this.name = "";
    /** @type {Figure} */
    this.figure = { data: [], layout: {}, table: { columns: [], rows: [], count: 0 } };
  }

  connectedCallback() {
    super.connectedCallback();
    onNewColours(() => this.requestUpdate());
  }

  updated() {
    const plot = /** @type {Plot} */ (this.querySelector(".plot"));
    const { data, layout } = this.figure;
    // When the window's size changes Plotly takes the height of what it is in.
    plot.style.height = `${layout.height ?? PLOT_HEIGHT}px`;
    const { Plotly } = /** @type {{ Plotly: PlotlyApi }} */ (/** @type {unknown} */ (globalThis));
    Plotly.react(plot, inked(data), themed(layout, BY_OTHERS.has(this.name) ? null : playhead()), {
      displaylogo: false, responsive: true, showSendToCloud: false, plotlyServerURL: "", modeBarButtons: [["toImage", "resetScale2d"]],
    });
    if (this.#listens) return;
    this.#listens = true;
    plot.on("plotly_click", ({ points: [{ customdata }] }) => {
      const at_us = Array.isArray(customdata) ? customdata[0] : customdata;
      if (Number.isFinite(at_us)) location.assign(`${here.page}?t=${(at_us / 1e6).toFixed(6)}`);
    });
  }

  render() {
    const { table } = this.figure;
    return html`<section class="chart card">
      <h2>${t(`analytics.${this.name}`)}<small>${t(`analytics.${this.name}_unit`)}</small></h2>
      <p class="dim chart-said">${t(`analytics.${this.name}_said`)}</p><div class="plot"></div>
      ${this.figure.note ? html`<p class="dim chart-said">${this.figure.note}</p>` : ""}
      ${this.#table(table)}
    </section>`;
  }

  /** The chart as a file whose lines stay sharp at every size. */
  #saveSvg() {
    const { Plotly } = /** @type {{ Plotly: PlotlyApi }} */ (/** @type {unknown} */ (globalThis));
    const plot = /** @type {HTMLElement} */ (this.querySelector(".plot"));
    void Plotly.downloadImage(plot, { format: "svg", filename: `${here.run}-${here.branch}-${this.name}`, width: plot.clientWidth,
      height: plot.clientHeight });
  }

  /** The facts of the chart, and all of them as a file. @param {Table} table */
  #table({ columns, rows, count }) {
    /** @param {Json} value */
    const cell = (value) => (value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
    return html`<details class="facts-table"><summary>${t("analytics.table", { n: count })}</summary>
      <p class="row"><a class="link" href="${here.api}/analytics/tables/${this.name}.csv" download>${t("analytics.csv")}</a>
        <a class="link" href="${here.api}/analytics/tables/${this.name}.parquet" download>${t("analytics.parquet")}</a>
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

class HwAnalytics extends HwElement {
  connectedCallback() {
    super.connectedCallback();
    start();
  }

  #internal() {
    const internal = stored.value?.internal;
    if (!internal) return "";
    return html`<label class="row"><input type="checkbox" .checked=${withInternal.value} @change=${toggleInternal}>
      <span>${t("analytics.internal", { n: internal })}</span></label>`;
  }

  /** How far the job is, or why it failed. @param {Job} job */
  #job({ state, progress, stage, error }) {
    if (state === "done") return "";
    if (state === "failed")
      return html`<div class="message bad" role="alert">
        <b>${error?.what ?? t("analytics.failed")}</b><span>${error?.expected}</span><span>${error?.todo}</span>
        <span class="row"><button class="btn small" @click=${start}>${t("analytics.again")}</button></span>
      </div>`;
    const said = has(`analytics.stage.${stage}`) ? t(`analytics.stage.${stage}`) : t("analytics.queued");
    return html`<div class="card job">
      <b>${t("analytics.building")}</b>
      <progress max="1" value=${progress} aria-label=${t("analytics.building")}></progress>
      <span class="dim" role="status">${said} · ${Math.round(progress * 100)} %</span>
    </div>`;
  }

  render() {
    if (!stored.value) return job.value ? this.#job(job.value) : html``;
    const { made_to: made, last_seq: last, figures: drawn, damage } = stored.value;
    const names = Object.keys(drawn);
    return html`${job.value ? this.#job(job.value) : ""}
      ${damage.map(({ from_seq, to_seq, reason }) => html`<p class="message warn">${t(has(`analytics.damage.${reason}`)
        ? `analytics.damage.${reason}` : "analytics.damage", { from: from_seq, to: to_seq, reason })}</p>`)}
      ${names.length ? html`<p class="row"><span class="dim" role="status">${t("analytics.click")}
        ${made ? t("analytics.as_of", { made, last }) : ""}</span><span class="spacer"></span>${this.#internal()}</p>` : ""}
      <div class="charts">${repeat(names, (name) => name,
        (name) => html`<hw-chart .name=${name} .figure=${drawn[name]}></hw-chart>`)}</div>`;
  }
}
customElements.define("hw-analytics", HwAnalytics);
