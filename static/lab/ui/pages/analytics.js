// The page with the charts of a run: draws what is stored, has the tables brought up to the run, and seeks the replay on a click.
import { request, here } from "../store/api.js";
import { HwElement, html, repeat } from "../kit/element.js";
import { has, t } from "../kit/i18n.js";
import { signal } from "../store/state.js";
import { jobCard } from "../parts/chart.js";
import { colour } from "../parts/plots.js";

/** @import { Json, JsonObject } from "../parts/plots.js" */
/** @import { Figure, Job } from "../parts/chart.js" */
/** @import { Signal } from "@preact/signals-core" */
/** @import { Refusal } from "../../core/live/socket.js" */

/**
 * @typedef {{ made_to: number, last_seq: number, figures: Record<string, Figure>, internal: number,
 *             damage: { from_seq: number, to_seq: number, reason: string }[] }} Stored `internal`: the number of partitions of
 *   Kafka's own topics
 */

const POLL_MS = 400;
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

/** The number of the job that goes on. */
let building = "";

/** Ends the job; what it has published stays. */
async function cancel() {
  if (building) await request(`${here.api}/analytics/tables/${building}/cancel`, {});
}

/** Follows the job. What it has published by then is drawn while it goes on. */
async function buildTables() {
  job.value = QUEUED;
  building = "";
  const { job: id } = await (await request(`${here.api}/analytics/tables/start`, {})).json();
  building = id;
  for (;;) {
    /** @type {Job} */
    const now = await (await request(`${here.api}/analytics/tables/${id}.json`)).json();
    const isNew = now.published !== job.value.published;
    if (isNew || now.state === "done") await load();
    job.value = now;
    if (now.state === "done" || now.state === "failed" || now.state === "cancelled") return;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** A line at the instant that the lab showed when the page was opened from it; null without one. @returns {JsonObject | null} */
function playhead() {
  const t = Number.parseFloat(new URLSearchParams(location.search).get("t") ?? "");
  return Number.isNaN(t) ? null
    : { type: "line", xref: "x", x0: t, x1: t, yref: "paper", y0: 0, y1: 1, line: { color: colour("--select"), width: 1.2 } };
}

/** Opens the lab at the instant of a mark. @param {Json} mark */
function seek(mark) {
  const at_us = Array.isArray(mark) ? mark[0] : mark;
  if (typeof at_us === "number" && Number.isFinite(at_us)) location.assign(`${here.page}?t=${(at_us / 1e6).toFixed(6)}`);
}

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

  render() {
    if (!stored.value) return job.value ? jobCard(job.value, t("analytics.building"), start, cancel) : html``;
    const { made_to: made, last_seq: last, figures: drawn, damage } = stored.value;
    const names = Object.keys(drawn);
    return html`${job.value ? jobCard(job.value, t("analytics.building"), start, cancel) : ""}
      ${damage.map(({ from_seq, to_seq, reason }) => html`<p class="message warn">${t(has(`analytics.damage.${reason}`)
        ? `analytics.damage.${reason}` : "analytics.damage", { from: from_seq, to: to_seq, reason })}</p>`)}
      ${names.length ? html`<p class="row"><span class="dim" role="status">${t("analytics.click")}
        ${made ? t("analytics.as_of", { made, last }) : ""}</span><span class="spacer"></span>${this.#internal()}</p>` : ""}
      <div class="charts">${repeat(names, (name) => name,
        (name) => html`<hw-chart .name=${name} .figure=${drawn[name]} .files=${`${here.api}/analytics/tables`} .parquet=${true}
          .saved=${`${here.run}-${here.branch}-${name}`} .playhead=${BY_OTHERS.has(name) ? null : playhead()}
          .follow=${seek}></hw-chart>`)}</div>`;
  }
}
customElements.define("hw-analytics", HwAnalytics);
